"""Arrays that callers hand over, checked before compiled code sees them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


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
