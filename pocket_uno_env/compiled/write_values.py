"""Values written into arrays of bytes or floats, as kernels write observations.

What Numba makes of ``out[at] = value`` asks of every place whether it counts from the end, and what
it knows of an array's type it cannot say.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .kernel import JIT


@intrinsic
def _put(context, out, at, value):
    def code(context, builder, signature, arguments):
        out, at, value = arguments
        out_type, _, value_type = signature.args
        place = builder.gep(context.make_array(out_type)(context, builder, out).data, [at])
        builder.store(context.cast(builder, value, value_type, out_type.dtype), place)
        return context.get_dummy_value()

    return types.void(out, types.int64, value), code


def _put_plain(out: Any, at: int, value: Any) -> None:
    out[at] = value


put = _put if JIT else _put_plain
"""In a kernel: ``put(out, at, value)`` is ``out[at] = value`` for an `at` that is not negative."""


@intrinsic
def _holds_bytes(context, array):
    def code(context, builder, signature, arguments):
        return context.get_constant(types.boolean, signature.args[0].dtype.bitwidth == 8)

    return types.boolean(array), code


def _holds_bytes_plain(array: Any) -> bool:
    return array.itemsize == 1  # type: ignore[no-any-return]


holds_bytes = _holds_bytes if JIT else _holds_bytes_plain
"""In a kernel: whether an array's values are bytes, which costs compiled code no question."""


@intrinsic
def _put_four_shares(context, out, at, some, every, scale):
    def code(context, builder, signature, arguments):
        out_type, _, some_type, _, _ = signature.args
        out, at, some, every, scale = arguments

        def four(value, of):
            vector = ir.VectorType(of, 4)
            nowhere = ir.Constant(ir.VectorType(ir.IntType(32), 4), [0] * 4)
            undefined = ir.Constant(vector, ir.Undefined)
            first = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
            return builder.shuffle_vector(first, undefined, nowhere)

        byte, word, real = ir.IntType(8), ir.IntType(32), ir.FloatType()
        counts = context.make_array(some_type)(context, builder, some).data
        counts = builder.bitcast(counts, ir.VectorType(byte, 4).as_pointer())
        counts = builder.zext(builder.load(counts, align=1), ir.VectorType(word, 4))
        most = four(builder.trunc(every, word), word)
        counts = builder.select(builder.icmp_unsigned("<", counts, most), counts, most)
        floats = ir.VectorType(real, 4)
        scale = four(builder.fptrunc(scale, real), real)
        shares = builder.fdiv(
            builder.fmul(builder.sitofp(counts, floats), scale), builder.sitofp(most, floats)
        )
        if out_type.dtype.bitwidth == 8:
            half = ir.Constant(floats, [0.5] * 4)
            shares = builder.fptosi(builder.fadd(shares, half), ir.VectorType(word, 4))
            shares = builder.trunc(shares, ir.VectorType(byte, 4))
        place = builder.gep(context.make_array(out_type)(context, builder, out).data, [at])
        builder.store(shares, builder.bitcast(place, shares.type.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(out, types.int64, some, types.int64, types.float64), code


def _put_four_shares_plain(out: Any, at: int, some: Any, every: Any, scale: float) -> None:
    for i in range(4):
        share = np.float32(min(int(some[i]), every)) * np.float32(scale) / np.float32(every)
        out[at + i] = np.uint8(share + 0.5) if out.itemsize == 1 else share


put_four_shares = _put_four_shares if JIT else _put_four_shares_plain
"""In a kernel: ``put_four_shares(out, at, some, every, scale)`` writes four counts as shares.

``out[at + i]`` becomes ``scale * some[i] / every``, at most `scale`, rounded in an array of bytes;
`some` is uint8, `every` above 0.
"""
