"""The decorators of compiled functions, and arrays in the form that these take.

`parts` says what is compiled when, and `code_cache` keeps the result on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core import cgutils, config, types
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import intrinsic

from .code_cache import STORE, Cache
from .parts import WholeCompiler, compile_in_parts

Function = TypeVar("Function", bound=Callable[..., Any])

JIT = not config.DISABLE_JIT
"""False under ``NUMBA_DISABLE_JIT=1``, where kernels run as plain Python."""


def kernel(function: Function) -> Function:
    """Compile `function` on first call, without the GIL, and keep the result on disk."""
    return _compiled(function, inline=False)


def atomic(function: Function) -> Function:
    """A `kernel` that keeps the GIL: for a single game, which two threads might share.

    No other thread of Python runs meanwhile, so none sees or makes half a change.
    """
    return _compiled(function, inline=False, nogil=False)


def inlined(function: Function) -> Function:
    """A `kernel` that is part of whatever calls it: for what happens in every decision.

    LLVM by itself does not inline kernels beyond a certain size, and calls them with all fields of
    every array. Together that costs a third of the time of a step.
    """
    return _compiled(function, inline=True)


def _compiled(function: Function, inline: bool, nogil: bool = True) -> Function:
    options = {"nogil": nogil, "error_model": "numpy", "forceinline": inline}
    compiled: Any = numba.njit(pipeline_class=WholeCompiler, **options)(function)
    if not JIT:
        return compiled  # type: ignore[no-any-return]
    turn: Callable[[], AbstractContextManager[None]] = lambda: global_compiler_lock  # noqa: E731
    # A closure is compiled with whatever calls it: on disk it would be another in each process.
    if function.__closure__ is None:
        with suppress(OSError, TypeError):  # what was typed at a prompt has no source file
            compiled._cache = Cache(function, STORE)
            turn = compiled._cache.turn
    compile_in_parts(compiled, turn, STORE.count)
    return compiled  # type: ignore[no-any-return]


@intrinsic
def _unowned(context, value):
    def code(context, builder, signature, arguments):
        return _without_owner(context, builder, signature.args[0], arguments[0])

    return value(value), code


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, types.BaseTuple):  # type: ignore[attr-defined]
        values = zip(kind, cgutils.unpack_tuple(builder, value), strict=True)
        parts = [_without_owner(context, builder, *part) for part in values]
        return context.make_tuple(builder, kind, parts)
    if not isinstance(kind, types.Array):
        return value
    fields = context.make_array(kind)(context, builder, value)
    fields.meminfo = cgutils.get_null_value(fields.meminfo.type)
    fields.parent = cgutils.get_null_value(fields.parent.type)
    return fields._getvalue()


def _itself(array: Any) -> Any:
    return array


unowned = _unowned if JIT else _itself
"""In a kernel: the same array without an owner, whose views cost no reference counting.

A kernel that takes a view of every line of an array counts references in each, which costs more
than a small kernel's work; one that hands on a tuple of arrays counts all of them in every call.
The caller holds the arrays for as long as the kernel runs, so nothing needs to be counted. Of a
tuple, all arrays in it.
"""


def as_rows(rows: np.ndarray) -> Any:
    """The same memory in the form kernels want: attribute access when they are not compiled."""
    return rows if JIT else rows.view(np.recarray)


def as_record(rows: np.ndarray) -> Any:
    """The first record of a structured array, with attribute access for Python code."""
    return rows.view(np.recarray)[0]
