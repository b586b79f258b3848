"""Many floats side by side as one value of a kernel, for sums that stay in registers.

LLVM keeps the elements of an array in memory: a loop that adds to them loads and stores each of
them for every product. A value of this type lies in the processor's vector registers, four of 512
bits or eight of 256. A product is rounded before it is added, so that each sum has the same bits on
every processor.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from .kernel import JIT

LANES = 64
"""So many: fewer would wait for each other's additions, more would not fit into the registers."""
ALIGNMENT = 64
"""Bytes; a vector that begins at no multiple of it costs two loads."""


def aligned(shape: int | tuple[int, ...]) -> np.ndarray:
    """Zeros, float32, that begin at a multiple of `ALIGNMENT`."""
    size = int(np.prod(shape))
    memory = np.zeros(4 * size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + 4 * size].view(np.float32).reshape(shape)


class _Lanes(types.Type):
    def __init__(self) -> None:
        super().__init__(name=f"Lanes({LANES})")


_LANES = _Lanes()
_VECTOR = ir.VectorType(ir.FloatType(), LANES)


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


def _place(context, builder, kind, array, at):
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), _VECTOR.as_pointer())


@intrinsic
def _load(context, array, at):
    def code(context, builder, signature, arguments):
        return builder.load(_place(context, builder, signature.args[0], *arguments), align=4)

    return _LANES(array, types.int64), code


@intrinsic
def _store(context, lanes, array, at):
    def code(context, builder, signature, arguments):
        lanes, array, at = arguments
        builder.store(lanes, _place(context, builder, signature.args[1], array, at), align=4)
        return context.get_dummy_value()

    return types.void(lanes, array, types.int64), code


@intrinsic
def _add_scaled(context, lanes, x, array, at):
    def code(context, builder, signature, arguments):
        lanes, x, array, at = arguments
        number = ir.IntType(32)
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        first = builder.insert_element(undefined, x, ir.Constant(number, 0))
        nowhere = ir.Constant(ir.VectorType(number, LANES), [0] * LANES)
        factors = builder.shuffle_vector(first, undefined, nowhere)
        place = _place(context, builder, signature.args[2], array, at)
        return builder.fadd(lanes, builder.fmul(factors, builder.load(place, align=4)))

    return _LANES(lanes, types.float32, array, types.int64), code


def _load_plain(array: Any, at: int) -> Any:
    return array[at : at + LANES].copy()


def _store_plain(lanes: Any, array: Any, at: int) -> None:
    array[at : at + LANES] = lanes


def _add_scaled_plain(lanes: Any, x: Any, array: Any, at: int) -> Any:
    return lanes + x * array[at : at + LANES]


load = _load if JIT else _load_plain
"""``load(array, at)``: the `LANES` floats of a contiguous float32 array from ``at`` on."""
store = _store if JIT else _store_plain
"""``store(lanes, array, at)``: write them to an array."""
add_scaled = _add_scaled if JIT else _add_scaled_plain
"""``add_scaled(lanes, x, array, at)``: the same plus x times those that lie in the array."""
