"""Networks in compiled code: every output has the same bits, whatever is asked beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

from pocket_uno_env.compiled.lanes import ALIGNMENT, LANES, aligned
from pocket_uno_env.compiled.mlp import BLOCK, pack_layers, run_layers

SHAPES = [(338, 512, 512, 123), (5, 3, 1), (70, LANES, LANES + 1, 2), (1, 1)]


def network(sizes, seed=0):
    rng = np.random.default_rng(seed)
    return [
        (
            rng.normal(0, 0.3, (after, before)).astype(np.float32),
            rng.normal(0, 0.3, after).astype(np.float32),
        )
        for before, after in pairwise(sizes)
    ]


def sparse(count, size, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.random((count, size), np.float32)
    return np.where(rng.random(x.shape) < 0.3, x, np.float32(0))


def run(layers, inputs):
    outputs = np.full((len(inputs), len(layers[-1][1])), np.nan, np.float32)
    run_layers(*pack_layers(layers), inputs, outputs)
    return outputs


def one_by_one(layers, x):
    """The same sums, product by product, each rounded to float32."""
    for number, (weight, bias) in enumerate(layers):
        x = np.maximum(x, np.float32(0)) if number else x
        y = bias.copy()
        for i in np.flatnonzero(x):
            y += x[i] * weight[:, i]
        x = y
    return x


@pytest.mark.parametrize("sizes", SHAPES)
def test_each_output_is_a_sum_of_rounded_products_in_order(sizes):
    layers, inputs = network(sizes), sparse(BLOCK + 5, sizes[0])
    found = run(layers, inputs)
    expected = np.array([one_by_one(layers, x) for x in inputs])
    assert np.array_equal(found.view(np.int32), expected.view(np.int32))


@pytest.mark.parametrize("count", [1, 2, BLOCK - 1, BLOCK, BLOCK + 1])
def test_a_batch_has_the_bytes_of_its_parts(count):
    layers = network(SHAPES[0])
    inputs = sparse(3 * BLOCK, SHAPES[0][0])
    parts = [run(layers, inputs[i : i + count]) for i in range(0, len(inputs), count)]
    assert np.concatenate(parts).tobytes() == run(layers, inputs).tobytes()


def test_weights_begin_where_vectors_are_fast_and_may_begin_elsewhere():
    layers, inputs = network(SHAPES[2]), sparse(9, SHAPES[2][0])
    weights, sizes = pack_layers(layers)
    assert weights.ctypes.data % ALIGNMENT == 0 and len(weights) % LANES == 0
    elsewhere = aligned(len(weights) + 1)[1:]
    elsewhere[:] = weights
    outputs = np.empty((9, 2), np.float32)
    run_layers(elsewhere, sizes, inputs, outputs)
    assert np.array_equal(outputs, run(layers, inputs))


def test_no_layers_are_no_weights():
    weights, sizes = pack_layers([])
    assert weights.shape == sizes.shape == (0,)


def test_the_plain_kernels_have_the_same_bytes():
    layers, inputs = network(SHAPES[2]), sparse(4, SHAPES[2][0])
    code = (
        f"from tests.compiled.test_mlp import *; layers = network({SHAPES[2]});"
        f"print(run(layers, sparse(4, {SHAPES[2][0]})).tobytes().hex())"
    )
    plain = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    out = subprocess.run([sys.executable, "-c", code], env=plain, capture_output=True, check=True)
    assert out.stdout.decode().strip() == run(layers, inputs).tobytes().hex()
