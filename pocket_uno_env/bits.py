"""Sets of card kinds as ``uint64``: bit k stands for kind k."""

from __future__ import annotations

import numpy as np

from .kernel import kernel

EMPTY = np.uint64(0)
_1 = np.uint64(1)
_2 = np.uint64(2)
_4 = np.uint64(4)
_56 = np.uint64(56)
_PAIRS = np.uint64(0x5555555555555555)
_QUADS = np.uint64(0x3333333333333333)
_BYTES = np.uint64(0x0F0F0F0F0F0F0F0F)
_SUM = np.uint64(0x0101010101010101)


@kernel
def bit(kind):
    """The set that holds one kind."""
    return _1 << np.uint64(kind)


@kernel
def size(kinds):
    """How many kinds are in the set (H. Warren, Hacker's Delight, section 5-1)."""
    kinds = kinds - ((kinds >> _1) & _PAIRS)
    kinds = (kinds & _QUADS) + ((kinds >> _2) & _QUADS)
    kinds = (kinds + (kinds >> _4)) & _BYTES
    return np.int64((kinds * _SUM) >> _56)


@kernel
def first(kinds):
    """The lowest kind in a set that is not empty."""
    return size((kinds & (~kinds + _1)) - _1)


@kernel
def without_first(kinds):
    """The set less its lowest kind."""
    return kinds & (kinds - _1)


@kernel
def nth(kinds, n):
    """The n-th lowest kind (from 0) of a set that has more than n."""
    for _ in range(n):
        kinds = without_first(kinds)
    return first(kinds)
