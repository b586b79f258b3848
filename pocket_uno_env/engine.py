"""Legality and transition: the rules of one round (docs/rules.md, sections 3 to 6).

Knows no reward, no episode, no agent. All kernels take the rules as a `RULES_ROW` record and the
game as a `ROW` record, and change nothing else. ``supply`` and ``log``: see `piles`.
"""

from __future__ import annotations

import numpy as np

from .actions import Move
from .bits import EMPTY, bit
from .kernel import kernel
from .piles import (
    Note,
    discard,
    draw_card,
    forced_draw,
    leave_hand,
    note,
    seat_after,
    top_kind,
)
from .rules import NO_COLOR
from .state import NO_CARD, NO_SEAT, Effect, End, Phase

UNO_PENALTY = 2
_1 = np.uint64(1)


# Legality. Mask and transition both ask `playable_kinds` and `_awaits`; there is no other.


@kernel
def matching_kinds(rules, hand, top, color):
    """The kinds in `hand` (bit set) that could be played on card kind `top` under `color`."""
    coloured = rules.symbol_kinds[top]
    if color != NO_COLOR:
        coloured |= rules.color_kinds[color]
    coloured &= hand
    wilds = hand & rules.wild_kinds
    if rules.w4_enforced and coloured != EMPTY:
        wilds &= ~rules.w4_kind
    return coloured | wilds


@kernel
def playable_kinds(rules, row):
    """The kinds that the seat to act may play now, as a bit set."""
    if row.phase == Phase.PLAY:
        hand = row.hand_kinds[row.to_act]
        return matching_kinds(rules, hand, top_kind(rules, row), row.active_color)
    if row.phase == Phase.DRAWN:
        return bit(rules.card_kind[row.drawn_card])
    return EMPTY


@kernel
def _awaits(move):
    """The phase in which a move other than `Move.PLAY` is made."""
    if move == Move.DRAW:
        return Phase.PLAY
    if move == Move.KEEP:
        return Phase.DRAWN
    if move == Move.CHALLENGE or move == Move.ACCEPT:
        return Phase.CHALLENGE
    if move == Move.SAY_UNO or move == Move.STAY_SILENT:
        return Phase.UNO
    if move == Move.CATCH or move == Move.LET_GO:
        return Phase.CATCH
    if move == Move.GIVE:
        return Phase.GIVE
    return Phase.NAME


@kernel
def is_legal(rules, row, action):
    """Whether the seat to act may take `action` now; False for every action after the end."""
    if action < 0 or action >= rules.n_actions:
        return False
    move = rules.action_move[action]
    if move == Move.PLAY:
        return playable_kinds(rules, row) & bit(rules.action_kind[action]) != EMPTY
    if row.phase != _awaits(move):
        return False
    if move == Move.GIVE:
        return row.hand_kinds[row.to_act] & bit(rules.action_kind[action]) != EMPTY
    return True


@kernel
def _mark(mask, move, first_move):
    mask[first_move + move - Move.DRAW] = 1


@kernel
def write_mask(rules, row, mask):
    """Write the legal actions of the seat to act: ``mask`` int8, shape ``(n_actions,)``."""
    mask[:] = 0
    phase = row.phase
    first = rules.first_move_action
    if phase == Phase.PLAY or phase == Phase.DRAWN:
        kinds = playable_kinds(rules, row)
        for kind in range(rules.n_coloured):
            mask[kind] = (kinds >> np.uint64(kind)) & _1
        for action in range(rules.first_wild_action, first):
            mask[action] = (kinds >> np.uint64(rules.action_kind[action])) & _1
        _mark(mask, Move.DRAW if phase == Phase.PLAY else Move.KEEP, first)
    elif phase == Phase.UNO:
        _mark(mask, Move.SAY_UNO, first)
        _mark(mask, Move.STAY_SILENT, first)
    elif phase == Phase.CATCH:
        _mark(mask, Move.CATCH, first)
        _mark(mask, Move.LET_GO, first)
    elif phase == Phase.CHALLENGE:
        _mark(mask, Move.CHALLENGE, first)
        _mark(mask, Move.ACCEPT, first)
    elif phase == Phase.GIVE:
        hand = row.hand_kinds[row.to_act]
        for kind in range(rules.n_kinds):
            mask[rules.first_give_action + kind] = (hand >> np.uint64(kind)) & _1
    elif phase == Phase.NAME:
        for color in range(rules.n_colors):
            mask[rules.first_name_action + color] = 1


# Transition.


@kernel
def apply(rules, row, action, supply, log):
    """Take a legal action for the seat to act.

    Precondition: ``is_legal(rules, row, action)``.
    """
    row.decisions += 1
    move = rules.action_move[action]
    kind = rules.action_kind[action]
    if move == Move.PLAY:
        _play(rules, row, kind, rules.action_color[action], supply, log)
    elif move == Move.DRAW:
        _draw(rules, row, supply, log)
    elif move == Move.KEEP:
        _begin_turn(row, seat_after(row, row.to_act))
    elif move == Move.SAY_UNO:
        _take_effect(rules, row, supply, log)
    elif move == Move.STAY_SILENT:
        row.phase = Phase.CATCH
        row.to_act = seat_after(row, row.actor)
    elif move == Move.CATCH:
        forced_draw(rules, row, row.actor, UNO_PENALTY, supply, log)
        row.caught = True
        _take_effect(rules, row, supply, log)
    elif move == Move.LET_GO:
        row.to_act = seat_after(row, row.to_act)
        if row.to_act == row.actor:
            _take_effect(rules, row, supply, log)
    elif move == Move.ACCEPT:
        _hit(rules, row, row.to_act, _wild_draw(rules, row), supply, log)
    elif move == Move.CHALLENGE:
        _challenge(rules, row, supply, log)
    elif move == Move.GIVE:
        _give(rules, row, kind)
    else:
        row.active_color = rules.action_color[action]
        _begin_turn(row, row.to_act)


@kernel
def truncate(row):
    """End a running round without winner or points, because a cap was reached."""
    _end_round(row, End.TRUNCATED)


@kernel
def _begin_turn(row, seat):
    row.phase = Phase.PLAY
    row.to_act = seat
    row.drawn_card = NO_CARD


@kernel
def _end_round(row, end):
    row.phase = Phase.OVER
    row.end = end
    row.to_act = NO_SEAT
    row.drawn_card = NO_CARD


@kernel
def _play(rules, row, kind, color, supply, log):
    seat = np.int64(row.to_act)
    if row.phase == Phase.DRAWN:
        card = np.int64(row.drawn_card)
        row.drawn_card = NO_CARD
    else:
        card = _pick(rules, row, seat, kind)
        _play_evidence(rules, row, seat, kind)
    row.top_before = top_kind(rules, row)
    row.color_before = row.active_color
    leave_hand(rules, row, seat, card)
    discard(row, card)
    row.active_color = color
    row.actor = seat
    row.passes = 0
    row.caught = False
    if row.hand_size[seat] == 0:
        _go_out(rules, row, supply, log)
        return
    row.guilty = _is_guilty(rules, row, row.hand_kinds[seat])
    if row.hand_size[seat] == 1 and not rules.uno_automatic:
        row.phase = Phase.UNO
    else:
        _take_effect(rules, row, supply, log)


@kernel
def _is_guilty(rules, row, hand):
    """Whether a hand without the card just played makes a challenge succeed (section 4)."""
    if rules.guilt_by_color_only:
        if row.color_before == NO_COLOR:
            return False
        return hand & rules.color_kinds[row.color_before] != EMPTY
    return matching_kinds(rules, hand, row.top_before, row.color_before) != EMPTY


@kernel
def _pick(rules, row, seat, kind):
    """Which physical copy of a kind leaves a hand openly.

    Nobody can tell copies apart, so whoever knew of one in the hand now knows of one less: the
    copy that leaves takes from its twins the mark of each seat that had not marked it.
    """
    first = np.int64(rules.first_card[kind])
    picked = NO_CARD
    for card in range(first, first + rules.copies[kind]):
        if row.holder[card] != seat:
            continue
        if picked == NO_CARD:
            picked = card
            continue
        moved = row.known_by[card] & ~row.known_by[picked]
        row.known_by[card] &= ~moved
        row.known_by[picked] |= moved
    return picked


@kernel
def _play_evidence(rules, row, seat, kind):
    """A card from the hand was shown: one less that is known to be off each other colour."""
    left = row.hand_size[seat] - 1
    for color in range(rules.n_colors):
        off = np.int64(row.off_color[seat, color])
        if rules.kind_color[kind] != color:
            off -= 1
        row.off_color[seat, color] = min(max(off, 0), left)


@kernel
def _draw(rules, row, supply, log):
    seat = np.int64(row.to_act)
    top = top_kind(rules, row)
    note(log, Note.DRAW, seat)
    for taken in range(rules.draw_limit):
        card = draw_card(rules, row, seat, supply, log)
        if card == NO_CARD:
            if taken == 0:
                row.passes += 1
            break
        row.passes = 0
        kinds = matching_kinds(rules, row.hand_kinds[seat], top, row.active_color)
        if kinds & bit(rules.card_kind[card]) != EMPTY:
            row.off_color[seat, row.active_color] = row.hand_size[seat] - 1
            row.phase = Phase.DRAWN
            row.drawn_card = card
            return
    row.off_color[seat, row.active_color] = row.hand_size[seat]
    if row.passes >= row.num_players:
        _end_round(row, End.BLOCKED)
    else:
        _begin_turn(row, seat_after(row, seat))


@kernel
def _hit(rules, row, seat, count, supply, log):
    """A seat draws and loses the turn."""
    forced_draw(rules, row, seat, count, supply, log)
    _begin_turn(row, seat_after(row, seat))


@kernel
def _wild_draw(rules, row):
    """How many cards the wild on top makes somebody draw."""
    if rules.kind_effect[top_kind(rules, row)] == Effect.WILD_DRAW_FOUR:
        return 4
    return 2


@kernel
def _take_effect(rules, row, supply, log):
    """The effect of the card just played, after its UNO call."""
    actor = row.actor
    after = seat_after(row, actor)
    effect = rules.kind_effect[top_kind(rules, row)]
    if effect == Effect.SKIP:
        _begin_turn(row, seat_after(row, after))
    elif effect == Effect.REVERSE:
        row.direction = -row.direction
        if row.num_players == 2 and not rules.literal_reverse:
            _begin_turn(row, actor)
        else:
            _begin_turn(row, seat_after(row, actor))
    elif effect == Effect.DRAW_ONE:
        _hit(rules, row, after, 1, supply, log)
    elif effect == Effect.DRAW_TWO:
        _hit(rules, row, after, 2, supply, log)
    elif effect == Effect.WILD_DIP:
        if forced_draw(rules, row, actor, 1, supply, log) == 1:
            row.phase = Phase.GIVE
            row.to_act = actor
        else:
            _begin_turn(row, after)
    elif effect == Effect.WILD_DRAW_TWO or (
        effect == Effect.WILD_DRAW_FOUR and not rules.w4_enforced
    ):
        row.phase = Phase.CHALLENGE
        row.to_act = after
    elif effect == Effect.WILD_DRAW_FOUR:
        _hit(rules, row, after, 4, supply, log)
    else:
        _begin_turn(row, after)


@kernel
def _challenge(rules, row, supply, log):
    challenger = np.int64(row.to_act)
    actor = np.int64(row.actor)
    for card in range(rules.n_cards):
        if row.holder[card] == actor:
            row.known_by[card] |= np.uint16(1 << challenger)
    if row.guilty:
        forced_draw(rules, row, actor, _wild_draw(rules, row), supply, log)
        _begin_turn(row, challenger)
        return
    if row.color_before != NO_COLOR:
        # Everyone sees the verdict: the hand as it was had nothing of the colour before.
        off = np.int64(row.hand_size[actor])
        if row.caught:
            off -= UNO_PENALTY
        color = row.color_before
        row.off_color[actor, color] = max(off, np.int64(row.off_color[actor, color]))
    _hit(rules, row, challenger, _wild_draw(rules, row) + 2, supply, log)


@kernel
def _give(rules, row, kind):
    giver = np.int64(row.to_act)
    receiver = seat_after(row, giver)
    card = _pick(rules, row, giver, kind)
    leave_hand(rules, row, giver, card)
    row.holder[card] = receiver
    row.known_by[card] = np.uint16(1 << giver)
    row.hand_kinds[receiver] |= bit(kind)
    row.hand_size[receiver] += 1
    # The others don't know what left: nothing in the giver's hand is certain for them any more.
    for other in range(rules.n_cards):
        if row.holder[other] == giver:
            row.known_by[other] &= np.uint16(1 << receiver)
    for color in range(rules.n_colors):
        off = np.int64(row.off_color[giver, color])
        row.off_color[giver, color] = max(off - 1, 0)
    _begin_turn(row, receiver)


@kernel
def _go_out(rules, row, supply, log):
    """The last card was played: its draw, then the points (section 6)."""
    winner = np.int64(row.to_act)
    effect = rules.kind_effect[top_kind(rules, row)]
    count = 0
    if effect == Effect.DRAW_ONE:
        count = 1
    elif effect == Effect.DRAW_TWO or effect == Effect.WILD_DRAW_TWO:
        count = 2
    elif effect == Effect.WILD_DRAW_FOUR:
        count = 4
    if count > 0:
        forced_draw(rules, row, seat_after(row, winner), count, supply, log)
    points = 0
    for card in range(rules.n_cards):
        if row.holder[card] < row.num_players:
            points += rules.kind_points[rules.card_kind[card]]
    row.points[winner] = points
    row.scores[winner] += points
    row.winner = winner
    _end_round(row, End.OUT)
