"""Multilayer perceptrons in compiled code: fully connected layers with ReLU between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .kernel import inlined, kernel
from .lanes import LANES, add_scaled, aligned, load, store

BLOCK = 32
"""So many positions go through a layer together: its weights are fetched once for all of them."""


def pack_layers(layers: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """(weight, bias) pairs, shapes ``(out, in)`` and ``(out,)``, as `run_layers` takes them.

    Returns
    -------
    weights : float32 array, shape ``(n_weights,)``
        Layer by layer, for each `LANES` outputs: their weights input by input, then their biases;
        0 beyond the last output. A copy elsewhere in memory has the same results, maybe slower.
    sizes : int64 array, shape ``(n_layers + 1,)``
        Units from the input to the output; empty for no layers.
    """
    tiles = []
    for weight, bias in layers:
        matrix = np.vstack([weight.T, bias])
        whole = np.pad(matrix, ((0, 0), (0, -len(bias) % LANES)))
        tiles += [tile.ravel() for tile in np.split(whole, whole.shape[1] // LANES, axis=1)]
    weights = aligned(sum(map(len, tiles)))
    if tiles:
        np.concatenate(tiles, out=weights)
    sizes = [layers[0][0].shape[1], *(len(bias) for _, bias in layers)] if layers else []
    return weights, np.array(sizes, np.int64)


@inlined
def add_rows(matrix, x, y):
    """Add ``x @ matrix`` to ``y``; most of ``x`` is 0, and passed over."""
    for i in range(matrix.shape[0]):
        if x[i] != 0:
            row = matrix[i]
            for j in range(y.shape[0]):
                y[j] += x[i] * row[j]


@inlined
def rectify(y):
    """Replace what is below 0 by 0 (ReLU)."""
    for j in range(y.shape[0]):
        y[j] = max(y[j], np.float32(0.0))


@kernel
def list_inputs(x, values, places):
    """List what is not 0 in ``x``, and where it stands; returns how many there are."""
    count = 0
    for i in range(x.shape[0]):
        values[count], places[count] = x[i], i
        count += x[i] != 0
    return count


@kernel
def add_inputs(weights, at, n_inputs, values, places, count, y, j):
    """Write `LANES` outputs into ``y[j:]``: their biases, plus the listed inputs' shares in order.

    Their weights begin at ``weights[at]``, those of `n_inputs` inputs.
    """
    sums = load(weights, at + n_inputs * LANES)
    for k in range(count):
        sums = add_scaled(sums, values[k], weights, at + places[k] * LANES)
    store(sums, y, j)


@kernel
def run_layers(weights, sizes, inputs, outputs):
    """Run a network on each line of ``inputs``, and write its outputs into that of ``outputs``.

    Each output is a sum over the inputs that are not 0, in their order, so that it has the same
    bits on every processor and whatever else is asked beside it.

    Parameters
    ----------
    weights, sizes
        Those of `pack_layers`.
    inputs : float32 array, shape ``(m, in)``
    outputs : float32 array, shape ``(m, out)``, written
    """
    together = min(BLOCK, inputs.shape[0])
    room = (sizes.max() + LANES - 1) // LANES * LANES
    units = np.empty((together, room), np.float32)
    values = np.empty((together, room), np.float32)
    places = np.empty((together, room), np.int64)
    counts = np.empty(together, np.int64)
    for first in range(0, inputs.shape[0], BLOCK):
        count = min(BLOCK, inputs.shape[0] - first)
        at = 0
        for layer in range(sizes.shape[0] - 1):
            n_inputs, n_outputs = sizes[layer], sizes[layer + 1]
            for m in range(count):
                if layer == 0:
                    counts[m] = list_inputs(inputs[first + m], values[m], places[m])
                else:
                    x = units[m, :n_inputs]
                    rectify(x)
                    counts[m] = list_inputs(x, values[m], places[m])
            for j in range(0, n_outputs, LANES):
                for m in range(count):
                    add_inputs(weights, at, n_inputs, values[m], places[m], counts[m], units[m], j)
                at += (n_inputs + 1) * LANES
        for m in range(count):
            outputs[first + m] = units[m, : sizes[-1]]
