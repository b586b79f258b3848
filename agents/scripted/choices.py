"""What scripted policies have in common: ids of actions, draws at random, simple choices."""

from __future__ import annotations

import numpy as np

from pocket_uno_env.compiled.bits import EMPTY, first, without_first
from pocket_uno_env.compiled.kernel import inlined, kernel
from pocket_uno_env.compiled.rng import bounded, next_state
from pocket_uno_env.engine.legality import can_jump_in
from pocket_uno_env.engine.piles import seat_after
from pocket_uno_env.observation.information import held
from pocket_uno_env.rules.actions import Move
from pocket_uno_env.rules.phases import Phase


@kernel
def cardless(rules, move):
    """The id of an action that carries no card, such as `Move.DRAW`."""
    return rules.first_move_action + move - Move.DRAW


@kernel
def play_action(rules, kind, color):
    """The id of playing `kind`; `color` is what a wild names."""
    if kind < rules.n_coloured:
        return np.int64(kind)
    return rules.first_wild_action + (kind - rules.n_coloured) * rules.n_colors + color


@inlined
def choose(row, n):
    """A number from 0 to n-1 from the row's policy generator."""
    row.policy_rng = next_state(row.policy_rng)
    return bounded(row.policy_rng, n)


@kernel
def otherwise(rules, row, playable):
    """What to do instead of playing a card: draw, keep or accept; -1 if a card must be played."""
    if row.phase == Phase.STACK:
        return cardless(rules, Move.ACCEPT)
    if rules.forced_play and playable != EMPTY:
        return -1
    return cardless(rules, Move.DRAW if row.phase == Phase.PLAY else Move.KEEP)


@kernel
def majority_color(rules, row, seat):
    """The colour the seat holds most cards of; the first in order among equals."""
    best, most = 0, -1
    for color in range(rules.n_colors):
        count = held(rules, row, seat, rules.color_kinds[color])
        if count > most:
            best, most = color, count
    return best


@kernel
def highest_kind(rules, kinds):
    """The kind worth most points in a set that is not empty; the first among equals."""
    best = first(kinds)
    while kinds != EMPTY:
        kind = first(kinds)
        kinds = without_first(kinds)
        if rules.kind_points[kind] > rules.kind_points[best]:
            best = kind
    return best


@kernel
def sociable_action(rules, row):
    """Say uno, catch, accept, jump in, take the smallest hand, name the colour held most."""
    phase = row.phase
    if phase == Phase.UNO:
        return cardless(rules, Move.SAY_UNO)
    if phase == Phase.CATCH:
        return cardless(rules, Move.CATCH)
    if phase == Phase.CHALLENGE:
        return cardless(rules, Move.ACCEPT)
    if phase == Phase.JUMP:
        return rules.n_actions - 1 - can_jump_in(rules, row)
    if phase == Phase.SWAP:
        best = seat = seat_after(row, row.to_act)
        while seat != row.to_act:
            if row.hand_size[seat] < row.hand_size[best]:
                best = seat
            seat = seat_after(row, seat)
        return rules.first_house_action + best
    return rules.first_name_action + majority_color(rules, row, row.to_act)
