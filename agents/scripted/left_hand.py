"""What is left of a hand after a play, and how its cards hang together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pocket_uno_env.compiled.bits import EMPTY, bit, without_first
from pocket_uno_env.compiled.kernel import inlined


class LeftHand(NamedTuple):
    """A hand, or what is left of one; each set of kinds is a ``uint64``.

    Attributes
    ----------
    kinds, cards
        The kinds, and how many cards.
    colors
        How many different colours.
    lone, single
        The kinds without another of their colour, and those without another of their symbol.
    """

    kinds: Any
    cards: Any
    colors: Any
    lone: Any
    single: Any


@inlined
def whole_hand(rules, kinds, cards):
    """A hand of these kinds and so many cards, before a play."""
    # The kinds of a colour are so many bits, symbol by symbol: laid over each other they show
    # which symbols there are once.
    width = np.uint64(rules.n_symbols)
    symbols = bit(width) - np.uint64(1)
    rest = kinds & rules.coloured_kinds
    once, twice = EMPTY, EMPTY
    for _ in range(4):
        twice |= once & rest
        once |= rest & symbols
        rest >>= width
    once &= ~twice
    once |= once << width
    once |= once << (width + width)
    lone, colors = EMPTY, np.int64(0)
    for color in range(4):
        same = kinds & rules.color_kinds[color]
        lone |= _alone(same)
        colors += same != EMPTY
    return LeftHand(kinds, cards, colors, lone, kinds & rules.coloured_kinds & once)


@inlined
def _alone(kinds):
    """The set if it has one member, else none."""
    return kinds if without_first(kinds) == EMPTY else EMPTY


@inlined
def without(rules, hand, pairs, kind):
    """What is left without one card of a kind; ``pairs`` are the kinds held twice or more."""
    kinds = hand.kinds if pairs & bit(kind) != EMPTY else hand.kinds & ~bit(kind)
    if kind >= rules.n_coloured:
        return LeftHand(kinds, hand.cards - 1, hand.colors, hand.lone, hand.single)
    color, symbol = rules.color_kinds[rules.kind_color[kind]], rules.symbol_kinds[kind]
    return LeftHand(
        kinds,
        hand.cards - 1,
        hand.colors - (kinds & color == EMPTY),
        hand.lone & ~color | _alone(kinds & color),
        hand.single & ~symbol | _alone(kinds & symbol),
    )
