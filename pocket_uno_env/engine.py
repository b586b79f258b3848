"""Legality and transition: the rules of one round (docs/rules.md, sections 3 to 6).

Knows no reward, no episode, no agent. All kernels take the rules as a `RULES_ROW` record and the
game as a `ROW` record, and change nothing else. ``supply`` and ``log``: see `piles`.
"""

from __future__ import annotations

import numpy as np

from .actions import CARDLESS_MOVES, Move
from .bits import EMPTY, add_card, bit, first, has_card, remove_card, without_first
from .cards import CARD_WORDS
from .kernel import inlined, kernel
from .piles import (
    Note,
    copies_in,
    draw_card,
    enter_hand,
    forced_draw,
    lay,
    leave_hand,
    note,
    seat_after,
)
from .rules import MAX_SEATS, NO_COLOR
from .spread import spread
from .state import MAX_STACK, NO_CARD, NO_SEAT, Effect, End, Phase

UNO_PENALTY = 2
FAILED_CHALLENGE = 2
N_MOVES = len(CARDLESS_MOVES)
_1 = np.uint64(1)


def _phase_moves() -> np.ndarray:
    moves = np.zeros(len(Phase), np.uint64)
    for phase, allowed in {
        Phase.PLAY: (Move.DRAW,),
        Phase.DRAWN: (Move.KEEP,),
        Phase.UNO: (Move.SAY_UNO, Move.STAY_SILENT),
        Phase.CATCH: (Move.CATCH, Move.LET_GO),
        Phase.CHALLENGE: (Move.CHALLENGE, Move.ACCEPT),
        Phase.STACK: (Move.ACCEPT,),
    }.items():
        moves[phase] = sum(1 << move - Move.DRAW for move in allowed)
    return moves


_PHASE_MOVES = _phase_moves()


# Legality. All of it asks `playable_kinds` and `open_moves`; there is no other.


@inlined
def _move_bit(move):
    return bit(move - Move.DRAW)


@inlined
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


@inlined
def playable_kinds(rules, row):
    """The kinds that the seat to act may play now, as a bit set."""
    if row.phase == Phase.PLAY:
        hand = row.hand_kinds[row.to_act]
        return matching_kinds(rules, hand, row.top, row.active_color)
    if row.phase == Phase.DRAWN:
        return bit(rules.card_kind[row.drawn_card])
    if row.phase == Phase.STACK:
        return _stackable_kinds(rules, row)
    return EMPTY


@inlined
def _stackable_kinds(rules, row):
    """The draw cards in hand that may answer the one on top (section 11, stacking)."""
    hand = row.hand_kinds[row.to_act]
    kinds = hand & rules.draw_kinds
    top = row.top
    if not rules.stack_any:
        kinds &= rules.symbol_kinds[top] | bit(top)
    if kinds & rules.w4_kind != EMPTY:
        free = matching_kinds(rules, hand, top, row.active_color)
        kinds &= ~rules.w4_kind | free
    return kinds


@inlined
def can_challenge(rules, row):
    """Whether the seat asked about a draw card may challenge it."""
    if row.phase == Phase.CHALLENGE:
        return True
    if row.phase != Phase.STACK:
        return False
    return _is_challengeable(rules, row) and row.stack == _draw_number(rules, row)


@inlined
def _is_challengeable(rules, row):
    effect = rules.kind_effect[row.top]
    if effect == Effect.WILD_DRAW_TWO:
        return True
    return effect == Effect.WILD_DRAW_FOUR and not rules.w4_enforced


@inlined
def can_jump_in(rules, row):
    """Whether the seat asked holds the card on top (section 11, jump-in)."""
    return row.hand_kinds[row.to_act] & bit(row.top) != EMPTY


@inlined
def _can_swap(row, seat):
    """Whether the seat to act may take the hand of `seat`."""
    return seat < row.num_players and seat != row.to_act and (row.out >> seat) & 1 == 0


@inlined
def open_moves(rules, row, playable):
    """Which of the eight moves without a card may be made: a bit for each, from `Move.DRAW`."""
    moves = _PHASE_MOVES[row.phase]
    if rules.stacking and row.phase == Phase.STACK and can_challenge(rules, row):
        moves |= _move_bit(Move.CHALLENGE)
    if rules.forced_play and playable != EMPTY:
        moves &= ~(_move_bit(Move.DRAW) | _move_bit(Move.KEEP))
    return moves


@kernel
def is_legal(rules, row, action):
    """Whether the seat to act may take `action` now; False for every action after the end."""
    if action < 0 or action >= rules.n_actions:
        return False
    move = rules.action_move[action]
    if move == Move.PLAY:
        return playable_kinds(rules, row) & bit(rules.action_kind[action]) != EMPTY
    if move < Move.GIVE:
        return open_moves(rules, row, playable_kinds(rules, row)) & _move_bit(move) != EMPTY
    phase = row.phase
    if move == Move.GIVE:
        hand = row.hand_kinds[row.to_act] if phase == Phase.GIVE else EMPTY
        return hand & bit(rules.action_kind[action]) != EMPTY
    if move == Move.NAME:
        return phase == Phase.NAME
    if move == Move.SWAP:
        return phase == Phase.SWAP and _can_swap(row, rules.action_seat[action])
    return phase == Phase.JUMP and (move == Move.PASS or can_jump_in(rules, row))


@inlined
def write_mask(rules, row, mask):
    """Write the legal actions of the seat to act: ``mask`` int8, shape ``(n_actions,)``."""
    one = np.int8(1)
    phase = row.phase
    kinds = playable_kinds(rules, row)
    spread(kinds, rules.n_coloured, mask, 0, one)
    first, end = rules.first_wild_action, rules.first_move_action
    spread(_wild_plays(rules, kinds), end - first, mask, first, one)
    spread(open_moves(rules, row, kinds), N_MOVES, mask, end, one)
    first, end = rules.first_give_action, rules.first_name_action
    gifts = row.hand_kinds[row.to_act] if phase == Phase.GIVE else EMPTY
    spread(gifts, end - first, mask, first, one)
    named = ~EMPTY if phase == Phase.NAME else EMPTY
    spread(named, rules.n_colors, mask, end, one)
    for action in range(rules.first_house_action, rules.n_actions):
        mask[action] = is_legal(rules, row, action)


@inlined
def _wild_plays(rules, kinds):
    """The plays of the wilds among some kinds, a bit for each colour of each wild."""
    plays = EMPTY
    each = bit(rules.n_colors) - _1
    for kind in range(rules.n_kinds - 1, rules.n_coloured - 1, -1):
        plays = (plays << np.uint64(rules.n_colors)) | (((kinds >> np.uint64(kind)) & _1) * each)
    return plays


# Transition.


@inlined
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
            add_to_stack(row, _draw_number(rules, row))
        _play(rules, row, row.top, row.active_color, supply, log)
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


@inlined
def _begin_turn(row, seat):
    row.phase = Phase.PLAY
    row.to_act = seat
    row.drawn_card = NO_CARD
    row.stack = 0


@inlined
def _end_round(row, end):
    row.phase = Phase.OVER
    row.end = end
    row.to_act = NO_SEAT
    row.drawn_card = NO_CARD


@inlined
def _play(rules, row, kind, color, supply, log):
    seat = np.int64(row.to_act)
    if row.phase == Phase.DRAWN:
        card = np.int64(row.drawn_card)
        row.drawn_card = NO_CARD
    else:
        card = _pick(rules, row, seat, kind)
        _play_evidence(rules, row, seat, kind)
    row.top_before = row.top
    row.color_before = row.active_color
    leave_hand(rules, row, seat, card)
    lay(rules, row, card)
    row.active_color = color
    row.actor = seat
    row.passes = 0
    row.caught = False
    if row.hand_size[seat] == 0:
        _go_out(rules, row, supply, log)
        return
    row.guilty = is_guilty(rules, row, row.hand_kinds[seat])
    row.to_act = seat
    if row.hand_size[seat] == 1 and not rules.uno_automatic:
        row.phase = Phase.UNO
    else:
        _after_call(rules, row, supply, log)


@inlined
def _after_call(rules, row, supply, log):
    """The UNO call is settled: ask who jumps in, or go on to the effect."""
    kind = row.top
    if rules.jump_in and rules.kind_color[kind] != NO_COLOR and rules.copies[kind] > 1:
        row.phase = Phase.JUMP
        row.to_act = seat_after(row, row.actor)
    else:
        _take_effect(rules, row, supply, log)


@inlined
def is_guilty(rules, row, hand):
    """Whether a hand without the card just played makes a challenge succeed (section 4)."""
    if rules.guilt_by_color_only:
        if row.color_before == NO_COLOR:
            return False
        return hand & rules.color_kinds[row.color_before] != EMPTY
    return matching_kinds(rules, hand, row.top_before, row.color_before) != EMPTY


@inlined
def _pick(rules, row, seat, kind):
    """Which physical copy of a kind leaves a hand openly.

    Nobody can tell copies apart, so whoever knew of one in the hand now knows of one less, and the
    holder counts on it for one less: the copy that leaves takes a mark from a twin where it has
    none itself.
    """
    if rules.copies[kind] == 1:
        return np.int64(kind)
    picked = _first_card(rules, row.hands[seat], row.hands[seat], kind)
    for other in range(row.num_players):
        _take_mark(rules, row.known[other], row.hands[seat], picked, kind)
        _take_mark(rules, row.shown[other], row.hands[seat], picked, kind)
    return picked


@inlined
def _take_mark(rules, marks, hand, picked, kind):
    if not has_card(marks, picked):
        twin = _first_card(rules, hand, marks, kind)
        if twin != NO_CARD:
            remove_card(marks, twin)


@inlined
def _first_card(rules, cards, others, kind):
    """The first copy of a kind that is in both of two sets of cards, or `NO_CARD`."""
    for word in range(CARD_WORDS):
        common = cards[word] & others[word] & rules.kind_cards[kind, word]
        if common != EMPTY:
            return 64 * word + first(common)
    return NO_CARD


@inlined
def _play_evidence(rules, row, seat, kind):
    """A card from the hand was shown: one less that is known to be off each other colour."""
    left = row.hand_size[seat] - 1
    for color in range(rules.n_colors):
        off = np.int64(row.off_color[seat, color])
        if rules.kind_color[kind] != color:
            off -= 1
        row.off_color[seat, color] = min(max(off, 0), left)


@inlined
def _draw(rules, row, supply, log):
    seat = np.int64(row.to_act)
    top = row.top
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


@inlined
def _hit(rules, row, seat, count, supply, log):
    """A seat draws and loses the turn."""
    forced_draw(rules, row, seat, count, supply, log)
    _begin_turn(row, seat_after(row, seat))


@inlined
def _draw_number(rules, row):
    """How many cards the card on top makes somebody draw."""
    effect = rules.kind_effect[row.top]
    if effect == Effect.DRAW_ONE:
        return 1
    if effect == Effect.DRAW_TWO or effect == Effect.WILD_DRAW_TWO:
        return 2
    if effect == Effect.WILD_DRAW_FOUR:
        return 4
    return 0


@inlined
def add_to_stack(row, number):
    """So many cards more wait to be drawn."""
    row.stack = min(np.int64(row.stack) + number, MAX_STACK)


@inlined
def _take_effect(rules, row, supply, log):
    """The effect of the card just played, after its UNO call."""
    actor = row.actor
    after = seat_after(row, actor)
    effect = rules.kind_effect[row.top]
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
        add_to_stack(row, number)
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
    for word in range(CARD_WORDS):
        row.known[challenger, word] |= row.hands[actor, word]
        row.shown[challenger, word] |= row.hands[actor, word]
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
    enter_hand(rules, row, receiver, card)
    add_card(row.known[giver], card)
    add_card(row.shown[giver], card)
    # The others don't know what left: nothing in the giver's hand is certain for them any more.
    for other in range(row.num_players):
        if other != receiver:
            for word in range(CARD_WORDS):
                row.known[other, word] &= ~row.hands[giver, word]
                row.shown[other, word] &= ~row.hands[giver, word]
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
    for seat in range(row.num_players):
        scorer = np.int64(seat) if rules.elimination else winner
        row.points[scorer] += points_held(rules, row, seat)
    for seat in range(row.num_players):
        row.scores[seat] += row.points[seat]
        if rules.elimination and row.scores[seat] >= rules.match_goal:
            row.out |= np.uint16(1 << seat)
    row.players_in = row.num_players - _count_bits(row.out)
    row.winner = winner
    _end_round(row, End.OUT)


@inlined
def points_held(rules, row, seat):
    """What the cards in a hand are worth together."""
    points = 0
    kinds = row.hand_kinds[seat]
    while kinds != EMPTY:
        kind = first(kinds)
        kinds = without_first(kinds)
        points += rules.kind_points[kind] * copies_in(rules, row.hands[seat], kind)
    return points


@inlined
def _count_bits(seats):
    count = 0
    for seat in range(MAX_SEATS):
        count += (seats >> seat) & 1
    return count


# Hands that change seats (section 11, seven-zero).


@kernel
def _exchange(rules, row, one, other):
    """Two seats swap hands."""
    _see_off(row, one, other)
    _see_off(row, other, one)
    for word in range(CARD_WORDS):
        cards = row.hands[one, word]
        row.hands[one, word] = row.hands[other, word]
        row.hands[other, word] = cards
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
    seat = np.int64(row.actor)
    for _ in range(row.players_in):
        _see_off(row, seat, seat_after(row, seat))
        seat = seat_after(row, seat)
    cards = row.hands[seat].copy()
    kinds, size, off = row.hand_kinds[seat], row.hand_size[seat], row.off_color[seat].copy()
    for _ in range(row.players_in):
        seat = seat_after(row, seat)
        next_cards = row.hands[seat].copy()
        next_kinds, next_size = row.hand_kinds[seat], row.hand_size[seat]
        next_off = row.off_color[seat].copy()
        row.hands[seat, :] = cards
        row.hand_kinds[seat], row.hand_size[seat] = kinds, size
        row.off_color[seat, :] = off
        cards, kinds, size, off = next_cards, next_kinds, next_size, next_off


@kernel
def _see_off(row, giver, receiver):
    """A hand is about to change seats: who had it knows where it is then.

    The receiver cannot tell which of its new cards third seats had seen.
    """
    for word in range(CARD_WORDS):
        cards = row.hands[giver, word]
        for seat in range(row.num_players):
            row.shown[seat, word] &= ~cards
        row.known[giver, word] |= cards
        row.shown[giver, word] |= cards
        row.known[receiver, word] &= ~cards
