"""Multilayer perceptrons in compiled code: fully connected layers with ReLU between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .kernel import kernel


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
        for i in range(rows):
            if x[i] != 0:
                row = weights[at + i * columns : at + (i + 1) * columns]
                for j in range(columns):
                    y[j] += x[i] * row[j]
        if layer < sizes.shape[0] - 2:
            for j in range(columns):
                y[j] = max(y[j], np.float32(0.0))
        x = y
        at = bias + columns
    return x
