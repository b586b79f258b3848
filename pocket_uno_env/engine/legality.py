"""What the seat to act may do (docs/rules.md, sections 3 to 5, 7 and 11).

Mask and transition ask the same predicates. All kernels take the rules as a `RULES_ROW` record and
the game as a `ROW` record, and change neither.
"""

from __future__ import annotations

import numpy as np

from pocket_uno_env.compiled.bits import EMPTY, bit
from pocket_uno_env.compiled.kernel import inlined, kernel
from pocket_uno_env.compiled.write_bits import spread
from pocket_uno_env.rules.actions import Move
from pocket_uno_env.rules.cards import COLORS, WILDS
from pocket_uno_env.rules.effects import Effect
from pocket_uno_env.rules.limits import NO_COLOR
from pocket_uno_env.rules.phases import Phase

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


def _wild_plays_table() -> np.ndarray:
    table = np.zeros((len(COLORS) + 1, 1 << len(WILDS)), np.uint64)
    for colors, wilds in np.ndindex(*table.shape):
        each = (1 << colors) - 1
        plays = sum(each << colors * wild for wild in range(len(WILDS)) if wilds >> wild & 1)
        table[colors, wilds] = plays
    return table


_WILD_PLAYS = _wild_plays_table()
"""The plays of each set of wilds, by the number of colours."""


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
    return is_challengeable(rules, row) and row.stack == rules.kind_draws[row.top]


@inlined
def is_challengeable(rules, row):
    """Whether the card on top is a wild that may be challenged (section 4)."""
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
    kinds = playable_kinds(rules, row)
    spread(kinds, rules.n_coloured, mask, 0, one)
    first, moves, gifts = rules.first_wild_action, rules.first_move_action, rules.first_give_action
    wilds = _wild_plays(rules, kinds) | open_moves(rules, row, kinds) << np.uint64(moves - first)
    spread(wilds, gifts - first, mask, first, one)
    names, end = rules.first_name_action, rules.first_house_action
    last = (bit(end - names) - _1) * np.uint64(row.phase == Phase.NAME) << np.uint64(names - gifts)
    if row.phase == Phase.GIVE:
        last |= row.hand_kinds[row.to_act]
    spread(last, end - gifts, mask, gifts, one)
    for action in range(end, rules.n_actions):
        mask[action] = is_legal(rules, row, action)


@kernel
def only_legal_action(rules, row, mask):
    """The only legal action of the seat to act, or -1 if there are several.

    Writes all of them into ``mask`` (int8, shape ``(n_actions,)``). Precondition: the round runs.
    """
    write_mask(rules, row, mask)
    found = -1
    for action in range(rules.n_actions):
        if mask[action]:
            if found >= 0:
                return -1
            found = action
    return found


@inlined
def _wild_plays(rules, kinds):
    """The plays of the wilds among some kinds, a bit for each colour of each wild."""
    return _WILD_PLAYS[np.uint64(rules.n_colors), kinds >> np.uint64(rules.n_coloured)]


@inlined
def is_guilty(rules, row, hand):
    """Whether a hand without the card just played makes a challenge succeed (section 4)."""
    if rules.guilt_by_color_only:
        if row.color_before == NO_COLOR:
            return False
        return hand & rules.color_kinds[row.color_before] != EMPTY
    return matching_kinds(rules, hand, row.top_before, row.color_before) != EMPTY
