"""What Python calls is compiled as a whole, and what kernels call as parts of it."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from numba.core import config

from pocket_uno_env.compiled.kernel import inlined, kernel
from pocket_uno_env.compiled.parts import _Part, _Whole

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")


def test_a_part_has_no_machine_code_until_python_calls_it() -> None:
    @inlined
    def inner(x):
        return x + 1

    @kernel
    def middle(x):
        return inner(x) * 2

    @kernel
    def outer(x):
        return middle(x) + inner(x)

    def libraries(function):
        # What the cache of an earlier run gave is a whole, too, of Numba's own class.
        made = [found.library for found in function.overloads.values()]
        return [_Part if isinstance(library, _Part) else _Whole for library in made]

    assert outer(3) == 12
    assert libraries(outer) == [_Whole]
    assert libraries(middle) == libraries(inner) == [_Part]
    assert middle(3) == 8  # by Python
    assert libraries(middle) == [_Whole]

    @kernel
    def later(x):
        return middle(x) + outer(x) + inner(x)

    assert later(3) == 24  # of two wholes and a part
    assert libraries(middle) == libraries(outer) == [_Whole]
    assert inner(1.5) == 2.5 and outer(1.5) == 7.5
    assert libraries(inner) == [_Part, _Whole] and libraries(middle) == [_Whole, _Part]


def test_an_error_in_a_part() -> None:
    @kernel
    def inner(x):
        if x < 0:
            raise ValueError("below zero")
        return np.zeros(x).shape[0]

    @kernel
    def outer(x):
        return inner(x - 1)

    assert outer(3) == 2
    with pytest.raises(ValueError, match="below zero"):
        outer(0)


def test_functions_of_numba_and_kernels_call_each_other() -> None:
    @inlined
    def first(x):
        return x + 1

    @kernel
    def second(x):
        return first(x) * 2

    @njit
    def third(x):
        return second(x) + first(x)

    @kernel
    def fourth(x):
        return third(x) + second(x)

    assert fourth(1) == 10
    assert third(1) == 6 and second(1) == 4 and third(1.5) == 7.5


def test_what_two_parts_call_is_there_though_one_needs_it_not() -> None:
    """LLVM drops the call that is never made before the other part is taken in."""

    @kernel
    def shared(x):
        return x * 3

    @kernel
    def never(x):
        return shared(x) if x != x else x

    @kernel
    def always(x):
        return shared(x)

    @kernel
    def whole(x):
        return never(x) + always(x)

    assert whole(2) == 8
