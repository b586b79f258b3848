"""Sets of card kinds as ``uint64``, bit k for kind k; sets of cards as two of them, in an array."""

from __future__ import annotations

import numpy as np

from .kernel import inlined

EMPTY = np.uint64(0)
_1 = np.uint64(1)
_2 = np.uint64(2)
_4 = np.uint64(4)
_56 = np.uint64(56)
_PAIRS = np.uint64(0x5555555555555555)
_QUADS = np.uint64(0x3333333333333333)
_BYTES = np.uint64(0x0F0F0F0F0F0F0F0F)
_SUM = np.uint64(0x0101010101010101)


@inlined
def bit(kind):
    """The set that holds one kind."""
    return _1 << np.uint64(kind)


@inlined
def size(kinds):
    """How many kinds are in the set (H. Warren, Hacker's Delight, section 5-1)."""
    kinds = kinds - ((kinds >> _1) & _PAIRS)
    kinds = (kinds & _QUADS) + ((kinds >> _2) & _QUADS)
    kinds = (kinds + (kinds >> _4)) & _BYTES
    return np.int64((kinds * _SUM) >> _56)


@inlined
def first(kinds):
    """The lowest kind in a set that is not empty."""
    return size((kinds & (~kinds + _1)) - _1)


@inlined
def without_first(kinds):
    """The set less its lowest kind."""
    return kinds & (kinds - _1)


@inlined
def nth(kinds, n):
    """The n-th lowest kind (from 0) of a set that has more than n."""
    for _ in range(n):
        kinds = without_first(kinds)
    return first(kinds)


@inlined
def has_card(cards, card):
    """Whether a set of physical cards (uint64, shape ``(CARD_WORDS,)``) holds one."""
    return (cards[card >> 6] >> np.uint64(card & 63)) & _1 != EMPTY


@inlined
def add_card(cards, card):
    """Put one physical card into a set."""
    cards[card >> 6] |= bit(card & 63)


@inlined
def remove_card(cards, card):
    """Take one physical card out of a set, if it is there."""
    cards[card >> 6] &= ~bit(card & 63)
