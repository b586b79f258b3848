"""Bit sets written out one value for each bit, with the processor's vector instructions.

A loop over bits costs about half a nanosecond for each; an observation is hundreds of them. LLVM
turns the choice between two vectors by a vector of bits into a few instructions, on any processor,
but does not find it in a loop. So the choice is spelled out here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .kernel import JIT, inlined

_1 = np.uint64(1)


def _writer(lanes: int) -> Any:
    """The kernel that writes the lowest `lanes` bits of a word: `one` for 1, zero for 0."""

    @intrinsic
    def write(context, bits, out, at, one):
        def code(context, builder, signature, arguments):
            bits, out, at, one = arguments
            out_type = signature.args[1]
            chosen = builder.bitcast(
                builder.trunc(bits, ir.IntType(lanes)), ir.VectorType(ir.IntType(1), lanes)
            )
            vector = ir.VectorType(context.get_data_type(out_type.dtype), lanes)
            undefined = ir.Constant(vector, ir.Undefined)
            nowhere = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
            first = builder.insert_element(undefined, one, ir.Constant(ir.IntType(32), 0))
            ones = builder.shuffle_vector(first, undefined, nowhere)
            values = builder.select(chosen, ones, ir.Constant(vector, None))
            place = builder.gep(context.make_array(out_type)(context, builder, out).data, [at])
            builder.store(values, builder.bitcast(place, vector.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(types.uint64, out, types.int64, out.dtype), code

    def write_plain(bits: Any, out: Any, at: int, one: Any) -> None:
        for lane in range(lanes):
            out[at + lane] = one if (int(bits) >> lane) & 1 else 0

    return write if JIT else write_plain


_write_32, _write_16, _write_8 = _writer(32), _writer(16), _writer(8)
_write_4, _write_2, _write_1 = _writer(4), _writer(2), _writer(1)


@inlined
def spread(bits, n, out, at, one):
    """Write the lowest `n` bits (0 to 64) into ``out[at:at + n]``, each as `one` or zero.

    Parameters
    ----------
    bits : uint64
    out : contiguous array
    one : scalar of the same dtype
    """
    # Two stores that overlap make every length.
    if n >= 32:
        _write_32(bits, out, at, one)
        _write_32(bits >> np.uint64(n - 32), out, at + n - 32, one)
    elif n >= 16:
        _write_16(bits, out, at, one)
        _write_16(bits >> np.uint64(n - 16), out, at + n - 16, one)
    elif n >= 8:
        _write_8(bits, out, at, one)
        _write_8(bits >> np.uint64(n - 8), out, at + n - 8, one)
    elif n >= 4:
        _write_4(bits, out, at, one)
        _write_4(bits >> np.uint64(n - 4), out, at + n - 4, one)
    elif n >= 2:
        _write_2(bits, out, at, one)
        _write_2(bits >> np.uint64(n - 2), out, at + n - 2, one)
    elif n == 1:
        _write_1(bits, out, at, one)
