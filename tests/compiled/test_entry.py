"""Kernels called at their compiled code."""

from __future__ import annotations

import numpy as np
import pytest

from pocket_uno_env.compiled.entry import Entry, entry
from pocket_uno_env.compiled.kernel import JIT, kernel


@kernel
def total(array, extra):
    found = 0.0
    for i in range(array.shape[0]):
        found += array[i]
    return found if extra is None else found + extra[0]


def test_an_entry_computes_what_the_kernel_does() -> None:
    array, extra = np.arange(5, dtype=np.float32), np.array([7])
    assert entry(total, array, None)(array, None) == total(array, None) == 10
    assert entry(total, array, extra)(array, extra) == total(array, extra) == 17


def test_it_is_found_once_when_first_needed() -> None:
    made = []

    def like() -> tuple[np.ndarray, None]:
        made.append(1)
        return np.zeros(1, np.float32), None

    fixed = Entry(total, like)
    assert not made
    for _ in range(3):
        assert fixed.call(np.ones(4, np.float32), None) == 4
    assert made == [1]


@pytest.mark.skipif(not JIT, reason="plain Python takes any type")
def test_what_is_no_array_of_the_right_items_is_refused() -> None:
    code = entry(total, np.zeros(1, np.float32), None)
    for wrong in (7, None, np.zeros(1, np.int8)):
        with pytest.raises(TypeError):
            code(wrong, None)
