"""Kernels called at their compiled code, without Numba's look at the types of the arguments.

The look takes two thirds of a call with a few arrays, more than a decision of a single game. It is
spared where the types are known: the caller has made the arrays, or has checked them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .kernel import JIT


def entry(kernel: Any, *arguments: Any) -> Callable[..., Any]:
    """The code of `kernel` for arguments like these, compiled or loaded if it is not there yet.

    Precondition of each call: arrays of the same types, dimensions and layout, None for None.
    Integers too large for int64 raise OverflowError.
    """
    if not JIT:
        return kernel  # type: ignore[no-any-return]
    return kernel.compile(tuple(map(kernel.typeof_pyval, arguments)))  # type: ignore[no-any-return]


class Entry:
    """The `entry` of a kernel that is always called with the same types, found when first needed.

    Parameters
    ----------
    kernel
        A compiled function.
    like : callable
        Makes arguments of the right types.
    """

    call: Callable[..., Any]

    def __init__(self, kernel: Any, like: Callable[[], tuple[Any, ...]]) -> None:
        def first(*arguments: Any) -> Any:
            self.call = entry(kernel, *like())
            return self.call(*arguments)

        self.call = first
