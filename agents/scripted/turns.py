"""Turns ahead: whom a card hits, who moves after it, and which hands can be shed in one turn."""

from __future__ import annotations

import numpy as np

from pocket_uno_env.compiled.bits import EMPTY, bit, first, size, without_first
from pocket_uno_env.compiled.kernel import inlined, kernel
from pocket_uno_env.engine.legality import matching_kinds
from pocket_uno_env.engine.piles import seat_after
from pocket_uno_env.rules.effects import Effect

_1 = np.uint64(1)
_6 = np.uint64(6)
_63 = np.uint64(63)
_ALL = ~EMPTY
_DEEPEST = 10
"""How many kinds of six bits fit on the stack of `goes_out`."""


@kernel
def seat_before(row, seat):
    """The seat that `seat` comes after: the next one in the other direction."""
    before = seat_after(row, seat)
    while seat_after(row, before) != seat:
        before = seat_after(row, before)
    return before


@inlined
def next_mover(rules, row, seat, after, kind):
    """The seat that moves after `seat` has played a card of this kind, if it is not answered.

    Neither by a challenge nor, under `stacking`, by a draw card. ``after`` is the next seat.
    """
    played = bit(kind)
    if played & (rules.action_kinds | rules.draw_kinds) == EMPTY:
        return after
    if played & rules.reverse_kinds == EMPTY:
        return seat_after(row, after)
    if row.players_in > 2:
        return seat_before(row, seat)
    return after if rules.literal_reverse else seat


@kernel
def is_action(rules, kind):
    """Whether a card skips, turns the direction or makes somebody draw."""
    effect = rules.kind_effect[kind]
    return effect == Effect.SKIP or effect == Effect.REVERSE or rules.kind_draws[kind] > 0


@inlined
def turn_keepers(rules, row, seat, actions):
    """Those of some coloured action cards after which `seat` moves again: with two players."""
    if row.players_in > 2:
        return EMPTY
    return actions & ~rules.reverse_kinds if rules.literal_reverse else actions


@inlined
def goes_out(rules, hand, cards, top, color, keepers):
    """Whether a hand can be shed in one turn, played on this top and color.

    Parameters
    ----------
    hand, cards
        The kinds held, as a bit set, and how many cards they are. A hand with two equal cards is
        given up, and so is one of more than ten.
    keepers
        The kinds that keep the turn, as a bit set.
    """
    if without_first(hand & ~keepers) != EMPTY or size(hand) != cards or cards > _DEEPEST:
        return False
    playable = matching_kinds(rules, hand, top, color)
    if cards == 1:
        return playable != EMPTY
    return playable & keepers != EMPTY and _goes_out(rules, hand, top, color, keepers)


@kernel
def _goes_out(rules, hand, top, color, keepers):
    # Depth first; the kinds played so far are a stack in one integer.
    opening_top, opening_color = np.int64(top), np.int64(color)
    top, color = opening_top, opening_color
    played, depth, untried = EMPTY, 0, _ALL
    while True:
        playable = matching_kinds(rules, hand, top, color)
        if playable != EMPTY and without_first(hand) == EMPTY:
            return True
        playable &= keepers & untried
        if playable != EMPTY:
            top = first(playable)
            color = np.int64(rules.kind_color[top])
            hand &= ~bit(top)
            played = (played << _6) | np.uint64(top)
            depth += 1
            untried = _ALL
        elif depth == 0:
            return False
        else:
            undone = bit(played & _63)
            hand |= undone
            untried = ~(undone | (undone - _1))
            played >>= _6
            depth -= 1
            top, color = opening_top, opening_color
            if depth > 0:
                top = np.int64(played & _63)
                color = np.int64(rules.kind_color[top])
