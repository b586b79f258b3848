"""The generator inside a row: splitmix64, one ``uint64`` of state.

A game must carry its random state in its own bytes, so that a copied or saved row goes on
identically in any process, batch size or thread count. NumPy's generators live outside the row.

Source: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA
2014; the mixing constants are D. Stafford's variant 13.
"""

from __future__ import annotations

import numpy as np

from .kernel import inlined

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_11 = np.uint64(11)
_30 = np.uint64(30)
_27 = np.uint64(27)
_31 = np.uint64(31)
_32 = np.uint64(32)
_2_POW_MINUS_53 = 1.0 / 9007199254740992.0


@inlined
def mix(value):
    """A bijective scrambling of 64 bits: close inputs, unrelated outputs."""
    value = (value ^ (value >> _30)) * _MIX_1
    value = (value ^ (value >> _27)) * _MIX_2
    return value ^ (value >> _31)


@inlined
def row_seed(seed, index):
    """The state that game `index` (uint64) of a batch seeded with `seed` (uint64) starts from."""
    return mix(mix(seed + _GAMMA) + (index + np.uint64(1)) * _GAMMA)


@inlined
def next_state(state):
    """The state after one more number has been taken."""
    return state + _GAMMA


@inlined
def bounded(state, n):
    """A number from 0 to n-1 from a state that was just advanced, for n below 2**31.

    Multiplies the upper 32 random bits by `n` instead of taking a remainder; the bias is below
    n / 2**32.
    """
    return np.int64(((mix(state) >> _32) * np.uint64(n)) >> _32)


@inlined
def uniform(state):
    """A float64 in [0, 1), a multiple of 2**-53, from a state that was just advanced."""
    return (mix(state) >> _11) * _2_POW_MINUS_53
