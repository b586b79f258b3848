"""Checks of what callers give: numbers, seeds and arrays. All raise ValueError, naming it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

MAX_COUNT = 2**31 - 1
"""The most decisions that a row can count."""


def check_count(name: str, value: Any) -> int:
    """`value`, if it is a whole number from 1 to `MAX_COUNT`; else ValueError, naming it."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ValueError(f"{name} is {value!r}; expected a whole number from 1")
    if not 1 <= value <= MAX_COUNT:
        raise ValueError(f"{name} is {value!r}; expected a whole number from 1 to {MAX_COUNT}")
    return int(value)


def check_seed(name: str, value: Any) -> np.uint64:
    """`value` as uint64, if it is a whole number from 0 to ``2**64 - 1``; else ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value < 2**64:
        raise ValueError(f"{name} is {value!r}; expected a whole number from 0 to {2**64 - 1}")
    return np.uint64(value)


def excerpt(value: Any, length: int = 80) -> str:
    """A value as messages show it: its `repr`, cut, and words where that cannot be made."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of many digits, nesting too deep for Python
        return f"{type(value).__name__} too large to print"
    return text if len(text) <= length else text[: length - 3] + "..."


def check_buffer(name: str, buffer: Any, shape: tuple[int, ...], *dtypes: Any) -> None:
    """Raise ValueError unless `buffer` can be written as compiled code does."""
    if not isinstance(buffer, np.ndarray) or buffer.shape != shape or buffer.dtype not in dtypes:
        found = f"{getattr(buffer, 'dtype', type(buffer))} of shape {getattr(buffer, 'shape', '?')}"
        kinds = " or ".join(np.dtype(dtype).name for dtype in dtypes)
        raise ValueError(f"{name} are {found}; expected {kinds} of shape {shape}")
    flags = buffer.flags
    if not (flags.c_contiguous and flags.aligned and flags.writeable):
        raise ValueError(f"{name} must be C-contiguous, aligned and writeable")


def as_integers(name: str, array: Any, count: int | None = None) -> np.ndarray:
    """An int64 array, shape ``(count,)``, as compiled code reads it; ValueError for another.

    Arrays that are read-only or not contiguous are copied.
    """
    if (
        not isinstance(array, np.ndarray)
        or array.dtype != np.int64
        or array.ndim != 1
        or count not in (None, len(array))
    ):
        found = f"{getattr(array, 'dtype', type(array))} of shape {getattr(array, 'shape', '?')}"
        raise ValueError(
            f"{name} is {found}; expected int64 of shape ({'m' if count is None else count},)"
        )
    flags = array.flags
    plain = flags.c_contiguous and flags.aligned and flags.writeable and type(array) is np.ndarray
    return array if plain else np.array(array, np.int64)


def check_apart(written: Mapping[str, Any], read: Mapping[str, Any]) -> None:
    """Raise ValueError if an array that is written shares memory with another; None is none."""
    others = {**read, **written}
    for name, buffer in written.items():
        others.pop(name)
        for other, array in others.items():
            if buffer is not None and array is not None and np.may_share_memory(buffer, array):
                raise ValueError(f"{name} and {other} share memory; expected arrays of their own")
