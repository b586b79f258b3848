"""Legality and transition: the rules of one round (docs/rules.md, sections 3 to 6).

Knows no reward, no episode, no agent. All kernels take the rules as a `RULES_ROW` record and the
game as a `ROW` record, and change nothing else. ``supply`` and ``log``: see `piles`.
"""

from __future__ import annotations

import numpy as np

from pocket_uno_env.compiled.bits import (
    EMPTY,
    add_card,
    bit,
)
from pocket_uno_env.compiled.kernel import inlined, kernel
from pocket_uno_env.rules.actions import Move
from pocket_uno_env.rules.cards import CARD_WORDS
from pocket_uno_env.rules.effects import Effect
from pocket_uno_env.rules.limits import NO_COLOR
from pocket_uno_env.rules.phases import End, Phase

from .hands import _count_bits, _exchange, _rotate, points_held
from .knowledge import _pick, _play_evidence
from .legality import (
    _is_challengeable,
    is_guilty,
    matching_kinds,
)
from .piles import (
    Note,
    draw_card,
    enter_hand,
    forced_draw,
    lay,
    leave_hand,
    note,
    seat_after,
)
from .state import MAX_STACK, NO_CARD, NO_SEAT

UNO_PENALTY = 2
FAILED_CHALLENGE = 2


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
            add_to_stack(row, rules.kind_draws[row.top])
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
def add_to_stack(row, number):
    """So many cards more wait to be drawn."""
    row.stack = min(np.int64(row.stack) + number, MAX_STACK)


@inlined
def _take_effect(rules, row, supply, log):
    """The effect of the card just played, after its UNO call."""
    actor = row.actor
    after = seat_after(row, actor)
    effect = rules.kind_effect[row.top]
    number = rules.kind_draws[row.top]
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
    count = rules.kind_draws[row.top]
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
