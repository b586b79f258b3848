"""Multilayer perceptrons in compiled code: fully connected layers with ReLU between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .kernel import inlined, kernel


def pack_layers(layers: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """(weight, bias) pairs, shapes ``(out, in)`` and ``(out,)``, as `run_layers` takes them.

    Returns
    -------
    weights : float32 array, shape ``(n_weights,)``
        Layer by layer the matrix, shape ``(in, out)``, and the bias, one after the other.
    sizes : int64 array, shape ``(n_layers + 1,)``
        Units from the input to the output; empty for no layers.
    """
    if not layers:
        return np.zeros(0, np.float32), np.zeros(0, np.int64)
    parts = [part.ravel() for weight, bias in layers for part in (weight.T, bias)]
    sizes = [layers[0][0].shape[1], *(len(bias) for _, bias in layers)]
    return np.concatenate(parts).astype(np.float32), np.array(sizes)


def widest(sizes: np.ndarray) -> int:
    """The units of the widest layer, the input included; 0 for no layers."""
    return int(max(sizes, default=0))


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
def run_layers(weights, sizes, x, values):
    """Run a network on ``x`` (shape ``(in,)``); returns its outputs, a slice of ``values``.

    ``weights`` and ``sizes`` are those of `pack_layers`; ``values`` (float32, scratch) has room for
    two of the widest layers. Most inputs of a layer are 0, and their weights are passed over.
    """
    half = values.shape[0] // 2
    at = 0
    for layer in range(sizes.shape[0] - 1):
        rows, columns = sizes[layer], sizes[layer + 1]
        start = half * (layer % 2)
        y = values[start : start + columns]
        bias = at + rows * columns
        y[:] = weights[bias : bias + columns]
        add_rows(weights[at:bias].reshape((rows, columns)), x, y)
        if layer < sizes.shape[0] - 2:
            rectify(y)
        x = y
        at = bias + columns
    return x
