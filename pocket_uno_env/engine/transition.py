"""What an action does: the rules of one round (docs/rules.md, sections 3 to 6 and 11).

Knows no reward, no episode, no agent. All kernels take the rules as a `RULES_ROW` record and the
game as a `ROW` record, and change nothing else. ``supply`` and ``log``: see `piles`.
"""

from __future__ import annotations

import numpy as np

from pocket_uno_env.compiled.bits import EMPTY, bit, size
from pocket_uno_env.compiled.kernel import inlined, kernel
from pocket_uno_env.rules.actions import Move
from pocket_uno_env.rules.effects import Effect
from pocket_uno_env.rules.limits import NO_COLOR
from pocket_uno_env.rules.phases import End, Phase

from .hands import points_held, rotate_hands, swap_hands
from .knowledge import (
    failed_to_follow,
    found_innocent,
    gave_unseen,
    pick_copy,
    played_openly,
    saw_hand,
)
from .legality import is_challengeable, is_guilty, matching_kinds
from .piles import Note, draw_card, enter_hand, forced_draw, lay, leave_hand, note, seat_after
from .state import MAX_STACK, NO_CARD, NO_SEAT

UNO_PENALTY = 2
"""Cards that a player draws who was caught."""
FAILED_CHALLENGE = 2
"""Cards more that a challenger draws who was wrong."""


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
        swap_hands(rules, row, row.to_act, rules.action_seat[action])
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
    """A seat begins its turn."""
    row.phase = Phase.PLAY
    row.to_act = seat
    row.drawn_card = NO_CARD
    row.stack = 0


@inlined
def _end_round(row, end):
    """The round is over (section 6)."""
    row.phase = Phase.OVER
    row.end = end
    row.to_act = NO_SEAT
    row.drawn_card = NO_CARD


@inlined
def _play(rules, row, kind, color, supply, log):
    """A card is played and its colour named (sections 3 and 4); UNO is called before its effect."""
    seat = np.int64(row.to_act)
    if row.phase == Phase.DRAWN:
        card = np.int64(row.drawn_card)
        row.drawn_card = NO_CARD
    else:
        card = pick_copy(rules, row, seat, kind)
        played_openly(rules, row, seat, kind)
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
    """Draw instead of playing; a card that can be played may be (section 3)."""
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
            failed_to_follow(row, seat, row.hand_size[seat] - 1)
            row.phase = Phase.DRAWN
            row.drawn_card = card
            return
    failed_to_follow(row, seat, row.hand_size[seat])
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
        rotate_hands(rules, row)
        _begin_turn(row, after)
    elif number > 0:
        add_to_stack(row, number)
        row.to_act = after
        if rules.stacking:
            row.phase = Phase.STACK
        elif is_challengeable(rules, row):
            row.phase = Phase.CHALLENGE
        else:
            _hit(rules, row, after, number, supply, log)
    else:
        _begin_turn(row, after)


@kernel
def _challenge(rules, row, supply, log):
    """The challenger sees the hand, and one of the two draws (section 4)."""
    challenger = np.int64(row.to_act)
    actor = np.int64(row.actor)
    saw_hand(row, challenger, actor)
    if row.guilty:
        forced_draw(rules, row, actor, row.stack, supply, log)
        _begin_turn(row, challenger)
        return
    # The hand is judged as it was when the card was played, before a penalty was drawn.
    judged = np.int64(row.hand_size[actor]) - (UNO_PENALTY if row.caught else 0)
    found_innocent(row, actor, judged)
    _hit(rules, row, challenger, row.stack + FAILED_CHALLENGE, supply, log)


@kernel
def _give(rules, row, kind):
    """After a ``WD`` a card goes to the next seat (section 4)."""
    giver = np.int64(row.to_act)
    receiver = seat_after(row, giver)
    card = pick_copy(rules, row, giver, kind)
    leave_hand(rules, row, giver, card)
    enter_hand(rules, row, receiver, card)
    gave_unseen(rules, row, giver, receiver, card)
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
    row.players_in = row.num_players - size(np.uint64(row.out))
    row.winner = winner
    _end_round(row, End.OUT)
