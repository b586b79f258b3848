"""Legality written a second time, card by card, to hold the engine's masks against."""

from __future__ import annotations

import numpy as np

from pocket_uno_env.agents.scripted.policies import act_rows_unchecked
from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.engine.legality import is_legal, write_mask
from pocket_uno_env.row_kernels import step_rows
from pocket_uno_env.rules.actions import Move
from pocket_uno_env.rules.effects import Effect
from pocket_uno_env.rules.limits import NO_COLOR
from pocket_uno_env.rules.phases import End, Phase


@kernel
def _has(cards, card):
    return (cards[card // 64] >> np.uint64(card % 64)) & np.uint64(1) == 1


@kernel
def _holds(row, seat, card):
    return _has(row.hands[seat], card)


@kernel
def _fits(rules, row, kind):
    """Whether a kind matches the top card, the W+4's own condition aside."""
    if rules.kind_color[kind] == NO_COLOR:
        return True
    if rules.kind_color[kind] == row.active_color:
        return True
    top = rules.card_kind[row.discard_pile[row.discard_count - 1]]
    return rules.kind_color[top] != NO_COLOR and rules.kind_face[top] == rules.kind_face[kind]


@kernel
def _may_play(rules, row, card):
    kind = rules.card_kind[card]
    if not _fits(rules, row, kind):
        return False
    if rules.kind_effect[kind] == Effect.WILD_DRAW_FOUR and rules.w4_enforced:
        for other in range(rules.n_cards):
            held = rules.card_kind[other]
            if (
                _holds(row, row.to_act, other)
                and rules.kind_color[held] != NO_COLOR
                and _fits(rules, row, held)
            ):
                return False
    return True


@kernel
def _may_stack(rules, row, card):
    kind = rules.card_kind[card]
    effect = rules.kind_effect[kind]
    top = rules.card_kind[row.discard_pile[row.discard_count - 1]]
    draws = effect == Effect.DRAW_ONE or effect == Effect.DRAW_TWO
    draws = draws or effect == Effect.WILD_DRAW_TWO or effect == Effect.WILD_DRAW_FOUR
    if not draws or (not rules.stack_any and rules.kind_face[kind] != rules.kind_face[top]):
        return False
    return effect != Effect.WILD_DRAW_FOUR or _may_play(rules, row, card)


@kernel
def _is_single_challengeable_wild(rules, row):
    effect = rules.kind_effect[rules.card_kind[row.discard_pile[row.discard_count - 1]]]
    if effect == Effect.WILD_DRAW_TWO:
        return row.stack == 2
    return effect == Effect.WILD_DRAW_FOUR and not rules.w4_enforced and row.stack == 4


@kernel
def brute_force_mask(rules, row, mask):
    mask[:] = 0
    phase = row.phase
    for action in range(rules.n_actions):
        move = rules.action_move[action]
        kind = rules.action_kind[action]
        legal = False
        if move == Move.PLAY and (phase == Phase.PLAY or phase == Phase.DRAWN):
            for card in range(rules.n_cards):
                mine = _holds(row, row.to_act, card) and rules.card_kind[card] == kind
                if mine and (phase == Phase.PLAY or card == row.drawn_card):
                    legal = legal or _may_play(rules, row, card)
        elif move == Move.GIVE and phase == Phase.GIVE:
            for card in range(rules.n_cards):
                if _holds(row, row.to_act, card) and rules.card_kind[card] == kind:
                    legal = True
        elif move == Move.PLAY and phase == Phase.STACK:
            for card in range(rules.n_cards):
                if _holds(row, row.to_act, card) and rules.card_kind[card] == kind:
                    legal = legal or _may_stack(rules, row, card)
        elif move == Move.DRAW:
            legal = phase == Phase.PLAY
            for card in range(rules.n_cards):
                if rules.forced_play and _holds(row, row.to_act, card):
                    legal = legal and not _may_play(rules, row, card)
        elif move == Move.KEEP:
            legal = phase == Phase.DRAWN and not rules.forced_play
        elif move == Move.ACCEPT:
            legal = phase == Phase.CHALLENGE or phase == Phase.STACK
        elif move == Move.CHALLENGE:
            legal = phase == Phase.CHALLENGE
            if phase == Phase.STACK:
                legal = _is_single_challengeable_wild(rules, row)
        elif move == Move.SWAP and phase == Phase.SWAP:
            seat = rules.action_seat[action]
            legal = seat < row.num_players and seat != row.to_act
            if rules.elimination and seat < row.num_players:
                legal = legal and row.scores[seat] < rules.match_goal
        elif move == Move.JUMP_IN and phase == Phase.JUMP:
            top = rules.card_kind[row.discard_pile[row.discard_count - 1]]
            for card in range(rules.n_cards):
                if _holds(row, row.to_act, card) and rules.card_kind[card] == top:
                    legal = True
        elif move == Move.PASS:
            legal = phase == Phase.JUMP
        elif move == Move.SAY_UNO or move == Move.STAY_SILENT:
            legal = phase == Phase.UNO
        elif move == Move.CATCH or move == Move.LET_GO:
            legal = phase == Phase.CATCH
        elif move == Move.NAME:
            legal = phase == Phase.NAME
        if legal:
            mask[action] = 1


@kernel
def _conserved(rules, row):
    """Whether every card is in exactly one place and the books agree."""
    in_hands = np.int64(0)
    for seat in range(row.num_players):
        kinds = np.uint64(0)
        count = 0
        for card in range(rules.n_cards):
            if _holds(row, seat, card):
                kinds |= np.uint64(1) << np.uint64(rules.card_kind[card])
                count += 1
        if kinds != row.hand_kinds[seat] or count != row.hand_size[seat]:
            return False
        in_hands += count
    if in_hands + row.draw_count + row.discard_count != rules.n_cards or row.discard_count < 1:
        return False
    places = np.zeros(rules.n_cards, np.int64)
    for i in range(row.draw_count):
        places[row.draw_pile[i]] += 1
    for i in range(row.discard_count):
        places[row.discard_pile[i]] += 1
    discard_kinds = np.uint64(0)
    for card in range(rules.n_cards):
        if _has(row.discards, card):
            discard_kinds |= np.uint64(1) << np.uint64(rules.card_kind[card])
        in_hand = False
        for seat in range(row.num_players):
            known, held = _has(row.known[seat], card), _holds(row, seat, card)
            places[card] += held
            in_hand = in_hand or held
            if (_has(row.shown[seat], card) and not known) or (known and held):
                return False
        for seat in range(row.num_players):
            if _has(row.known[seat], card) and not in_hand:
                return False
        if places[card] != 1:
            return False
    top = row.discard_pile[row.discard_count - 1]
    if row.top != rules.card_kind[top] or discard_kinds != row.discard_kinds:
        return False
    return _has(row.discards, top)


@kernel
def check_rows(rules, rows, policy, decisions, max_cycles):
    """Play every row with a scripted policy, checking before each decision.

    Returns the decisions checked, or minus a code at the first fault: -1 mask, -2 `is_legal`,
    -3 empty mask, -4 books.
    """
    n_actions = rules[0].n_actions
    mask = np.zeros(n_actions, np.int8)
    brute = np.zeros(n_actions, np.int8)
    action = np.zeros(1, np.int64)
    index = np.zeros(1, np.int64)
    checked = 0
    for i in range(rows.shape[0]):
        index[0] = i
        row = rows[i]
        while row.end == End.RUNNING and checked < decisions:
            write_mask(rules[0], row, mask)
            brute_force_mask(rules[0], row, brute)
            total = 0
            for a in range(n_actions):
                if mask[a] != brute[a]:
                    return -1
                if is_legal(rules[0], row, a) != (mask[a] == 1):
                    return -2
                total += mask[a]
            if total == 0:
                return -3
            if not _conserved(rules[0], row):
                return -4
            act_rows_unchecked(rules, rows, index, policy, action)
            step_rows(rules, rows, index, action, max_cycles)
            checked += 1
        if row.end != End.RUNNING:
            write_mask(rules[0], row, mask)
            if mask.any() or not _conserved(rules[0], row):
                return -4
    return checked
