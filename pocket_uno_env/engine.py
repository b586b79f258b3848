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
from .rules import MAX_SEATS, NO_COLOR
from .state import NO_CARD, NO_SEAT, Effect, End, Phase

UNO_PENALTY = 2
FAILED_CHALLENGE = 2
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
    if row.phase == Phase.STACK:
        return _stackable_kinds(rules, row)
    return EMPTY


@kernel
def _stackable_kinds(rules, row):
    """The draw cards in hand that may answer the one on top (section 11, stacking)."""
    hand = row.hand_kinds[row.to_act]
    kinds = hand & rules.draw_kinds
    top = top_kind(rules, row)
    if not rules.stack_any:
        kinds &= rules.symbol_kinds[top] | bit(top)
    if kinds & rules.w4_kind != EMPTY:
        free = matching_kinds(rules, hand, top, row.active_color)
        kinds &= ~rules.w4_kind | free
    return kinds


@kernel
def can_challenge(rules, row):
    """Whether the seat asked about a draw card may challenge it."""
    if row.phase == Phase.CHALLENGE:
        return True
    if row.phase != Phase.STACK:
        return False
    return _is_challengeable(rules, row) and row.stack == _draw_number(rules, row)


@kernel
def _is_challengeable(rules, row):
    effect = rules.kind_effect[top_kind(rules, row)]
    if effect == Effect.WILD_DRAW_TWO:
        return True
    return effect == Effect.WILD_DRAW_FOUR and not rules.w4_enforced


@kernel
def _must_play(rules, row):
    """Whether a drawn card or a card in hand has to be played (section 11, forced play)."""
    return rules.forced_play and playable_kinds(rules, row) != EMPTY


@kernel
def can_jump_in(rules, row):
    """Whether the seat asked holds the card on top (section 11, jump-in)."""
    return row.hand_kinds[row.to_act] & bit(top_kind(rules, row)) != EMPTY


@kernel
def _can_swap(row, seat):
    """Whether the seat to act may take the hand of `seat`."""
    return seat < row.num_players and seat != row.to_act and (row.out >> seat) & 1 == 0


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
    if move == Move.SWAP:
        return Phase.SWAP
    if move == Move.JUMP_IN or move == Move.PASS:
        return Phase.JUMP
    return Phase.NAME


@kernel
def is_legal(rules, row, action):
    """Whether the seat to act may take `action` now; False for every action after the end."""
    if action < 0 or action >= rules.n_actions:
        return False
    move = rules.action_move[action]
    if move == Move.PLAY:
        return playable_kinds(rules, row) & bit(rules.action_kind[action]) != EMPTY
    if move == Move.ACCEPT and row.phase == Phase.STACK:
        return True
    if move == Move.CHALLENGE:
        return can_challenge(rules, row)
    if row.phase != _awaits(move):
        return False
    if move == Move.DRAW or move == Move.KEEP:
        return not _must_play(rules, row)
    if move == Move.GIVE:
        return row.hand_kinds[row.to_act] & bit(rules.action_kind[action]) != EMPTY
    if move == Move.SWAP:
        return _can_swap(row, rules.action_seat[action])
    if move == Move.JUMP_IN:
        return can_jump_in(rules, row)
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
    if phase == Phase.PLAY or phase == Phase.DRAWN or phase == Phase.STACK:
        kinds = playable_kinds(rules, row)
        for kind in range(rules.n_coloured):
            mask[kind] = (kinds >> np.uint64(kind)) & _1
        for action in range(rules.first_wild_action, first):
            mask[action] = (kinds >> np.uint64(rules.action_kind[action])) & _1
        if phase == Phase.STACK:
            _mark(mask, Move.ACCEPT, first)
            if can_challenge(rules, row):
                _mark(mask, Move.CHALLENGE, first)
        elif not (rules.forced_play and kinds != EMPTY):
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
    elif phase == Phase.SWAP:
        for seat in range(row.num_players):
            if _can_swap(row, seat):
                mask[rules.first_house_action + seat] = 1
    elif phase == Phase.JUMP:
        mask[rules.n_actions - 1] = 1
        if can_jump_in(rules, row):
            mask[rules.n_actions - 2] = 1


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
        _after_call(rules, row, supply, log)
    elif move == Move.STAY_SILENT:
        row.phase = Phase.CATCH
        row.to_act = seat_after(row, row.actor)
    elif move == Move.CATCH:
        forced_draw(rules, row, row.actor, UNO_PENALTY, supply, log)
        row.caught = True
        _after_call(rules, row, supply, log)
    elif move == Move.LET_GO:
        row.to_act = seat_after(row, row.to_act)
        if row.to_act == row.actor:
            _after_call(rules, row, supply, log)
    elif move == Move.ACCEPT:
        _hit(rules, row, row.to_act, row.stack, supply, log)
    elif move == Move.CHALLENGE:
        _challenge(rules, row, supply, log)
    elif move == Move.GIVE:
        _give(rules, row, kind)
    elif move == Move.SWAP:
        _exchange(rules, row, row.to_act, rules.action_seat[action])
        _begin_turn(row, seat_after(row, row.to_act))
    elif move == Move.JUMP_IN:
        if rules.stacking:
            row.stack += _draw_number(rules, row)
        _play(rules, row, top_kind(rules, row), row.active_color, supply, log)
    elif move == Move.PASS:
        row.to_act = seat_after(row, row.to_act)
        if row.to_act == row.actor:
            _take_effect(rules, row, supply, log)
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
    row.stack = 0


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
    discard(rules, row, card)
    row.active_color = color
    row.actor = seat
    row.passes = 0
    row.caught = False
    if row.hand_size[seat] == 0:
        _go_out(rules, row, supply, log)
        return
    row.guilty = _is_guilty(rules, row, row.hand_kinds[seat])
    row.to_act = seat
    if row.hand_size[seat] == 1 and not rules.uno_automatic:
        row.phase = Phase.UNO
    else:
        _after_call(rules, row, supply, log)


@kernel
def _after_call(rules, row, supply, log):
    """The UNO call is settled: ask who jumps in, or go on to the effect."""
    kind = top_kind(rules, row)
    if rules.jump_in and rules.kind_color[kind] != NO_COLOR and rules.copies[kind] > 1:
        row.phase = Phase.JUMP
        row.to_act = seat_after(row, row.actor)
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
        row.shown_to[card] &= row.known_by[card]
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
    if row.passes >= row.players_in:
        _end_round(row, End.BLOCKED)
    else:
        _begin_turn(row, seat_after(row, seat))


@kernel
def _hit(rules, row, seat, count, supply, log):
    """A seat draws and loses the turn."""
    forced_draw(rules, row, seat, count, supply, log)
    _begin_turn(row, seat_after(row, seat))


@kernel
def _draw_number(rules, row):
    """How many cards the card on top makes somebody draw."""
    effect = rules.kind_effect[top_kind(rules, row)]
    if effect == Effect.DRAW_ONE:
        return 1
    if effect == Effect.DRAW_TWO or effect == Effect.WILD_DRAW_TWO:
        return 2
    if effect == Effect.WILD_DRAW_FOUR:
        return 4
    return 0


@kernel
def _take_effect(rules, row, supply, log):
    """The effect of the card just played, after its UNO call."""
    actor = row.actor
    after = seat_after(row, actor)
    effect = rules.kind_effect[top_kind(rules, row)]
    number = _draw_number(rules, row)
    if effect == Effect.SKIP:
        _begin_turn(row, seat_after(row, after))
    elif effect == Effect.REVERSE:
        row.direction = -row.direction
        if row.players_in == 2 and not rules.literal_reverse:
            _begin_turn(row, actor)
        else:
            _begin_turn(row, seat_after(row, actor))
    elif effect == Effect.WILD_DIP:
        if forced_draw(rules, row, actor, 1, supply, log) == 1:
            row.phase = Phase.GIVE
            row.to_act = actor
        else:
            _begin_turn(row, after)
    elif effect == Effect.SWAP:
        row.phase = Phase.SWAP
        row.to_act = actor
    elif effect == Effect.ROTATE:
        _rotate(rules, row)
        _begin_turn(row, after)
    elif number > 0:
        row.stack += number
        row.to_act = after
        if rules.stacking:
            row.phase = Phase.STACK
        elif _is_challengeable(rules, row):
            row.phase = Phase.CHALLENGE
        else:
            _hit(rules, row, after, number, supply, log)
    else:
        _begin_turn(row, after)


@kernel
def _challenge(rules, row, supply, log):
    challenger = np.int64(row.to_act)
    actor = np.int64(row.actor)
    row.seen[challenger] |= row.hand_kinds[actor]
    for card in range(rules.n_cards):
        if row.holder[card] == actor:
            row.known_by[card] |= np.uint16(1 << challenger)
            row.shown_to[card] |= np.uint16(1 << challenger)
    if row.guilty:
        forced_draw(rules, row, actor, row.stack, supply, log)
        _begin_turn(row, challenger)
        return
    if row.color_before != NO_COLOR:
        # Everyone sees the verdict: the hand as it was had nothing of the colour before.
        off = np.int64(row.hand_size[actor])
        if row.caught:
            off -= UNO_PENALTY
        color = row.color_before
        row.off_color[actor, color] = max(off, np.int64(row.off_color[actor, color]))
    _hit(rules, row, challenger, row.stack + FAILED_CHALLENGE, supply, log)


@kernel
def _give(rules, row, kind):
    giver = np.int64(row.to_act)
    receiver = seat_after(row, giver)
    card = _pick(rules, row, giver, kind)
    leave_hand(rules, row, giver, card)
    row.holder[card] = receiver
    row.known_by[card] = np.uint16(1 << giver)
    row.shown_to[card] = np.uint16(1 << giver)
    row.seen[giver] |= bit(kind)
    row.hand_kinds[receiver] |= bit(kind)
    row.hand_size[receiver] += 1
    # The others don't know what left: nothing in the giver's hand is certain for them any more.
    for other in range(rules.n_cards):
        if row.holder[other] == giver:
            row.known_by[other] &= np.uint16(1 << receiver)
            row.shown_to[other] &= np.uint16(1 << receiver)
    for color in range(rules.n_colors):
        off = np.int64(row.off_color[giver, color])
        row.off_color[giver, color] = max(off - 1, 0)
    _begin_turn(row, receiver)


@kernel
def _go_out(rules, row, supply, log):
    """The last card was played: its draw, then the points (section 6)."""
    winner = np.int64(row.actor)
    count = _draw_number(rules, row)
    if count > 0:
        forced_draw(rules, row, seat_after(row, winner), row.stack + count, supply, log)
    for card in range(rules.n_cards):
        holder = row.holder[card]
        if holder < row.num_players:
            scorer = holder if rules.elimination else winner
            row.points[scorer] += rules.kind_points[rules.card_kind[card]]
    for seat in range(row.num_players):
        row.scores[seat] += row.points[seat]
        if rules.elimination and row.scores[seat] >= rules.match_goal:
            row.out |= np.uint16(1 << seat)
    row.players_in = row.num_players - _count_bits(row.out)
    row.winner = winner
    _end_round(row, End.OUT)


@kernel
def _count_bits(seats):
    count = 0
    for seat in range(MAX_SEATS):
        count += (seats >> seat) & 1
    return count


# Hands that change seats (section 11, seven-zero).


@kernel
def _exchange(rules, row, one, other):
    """Two seats swap hands."""
    row.seen[one] |= row.hand_kinds[one]
    row.seen[other] |= row.hand_kinds[other]
    for card in range(rules.n_cards):
        if row.holder[card] == one:
            _move_card(row, card, one, other)
        elif row.holder[card] == other:
            _move_card(row, card, other, one)
    kinds, size = row.hand_kinds[one], row.hand_size[one]
    row.hand_kinds[one], row.hand_size[one] = row.hand_kinds[other], row.hand_size[other]
    row.hand_kinds[other], row.hand_size[other] = kinds, size
    for color in range(rules.n_colors):
        off = row.off_color[one, color]
        row.off_color[one, color] = row.off_color[other, color]
        row.off_color[other, color] = off


@kernel
def _rotate(rules, row):
    """Every seat passes its hand to the next."""
    for giver in range(row.num_players):
        row.seen[giver] |= row.hand_kinds[giver]
    for card in range(rules.n_cards):
        holder = row.holder[card]
        if holder < row.num_players:
            _move_card(row, card, holder, seat_after(row, holder))
    seat = np.int64(row.actor)
    last_kinds, last_size = row.hand_kinds[seat], row.hand_size[seat]
    last_off = row.off_color[seat].copy()
    for _ in range(row.players_in):
        seat = seat_after(row, seat)
        kinds, size, off = row.hand_kinds[seat], row.hand_size[seat], row.off_color[seat].copy()
        row.hand_kinds[seat], row.hand_size[seat] = last_kinds, last_size
        row.off_color[seat, :] = last_off
        last_kinds, last_size, last_off = kinds, size, off


@kernel
def _move_card(row, card, giver, receiver):
    """A card changes hands with all the others: who had it knows where it is now.

    The receiver cannot tell which of its new cards third seats had seen.
    """
    row.holder[card] = receiver
    row.known_by[card] |= np.uint16(1 << giver)
    row.known_by[card] &= ~np.uint16(1 << receiver)
    row.shown_to[card] = np.uint16(1 << giver)
