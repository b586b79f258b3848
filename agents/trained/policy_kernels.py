"""Kernels of trained policies: the actions that a network chooses, and its outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.compiled.mlp import run_layers
from pocket_uno_env.compiled.rng import next_state, uniform


@kernel
def choose_actions(
    weights: Any,
    sizes: Any,
    observations: Any,
    masks: Any,
    rows: Any,
    index: Any,
    sample: Any,
    actions: Any,
) -> None:
    """Write the likeliest legal action, or if `sample` one drawn, into ``actions``.

    The network is not asked where only one action is legal.

    Parameters
    ----------
    weights, sizes : float32 array, int64 array
        As for `mlp.run_layers`, from the observation's size to the number of actions.
    observations : float32 array, shape ``(m, sizes[0])``
    masks : int8 array, shape ``(m, sizes[-1])``, at least one 1 in each line
    rows, index : the games
        Only their ``policy_rng`` is used, and only to sample.
    actions : int64 array, shape ``(m,)``, written
    """
    lines, count = np.empty(masks.shape[0], np.int64), 0
    for m in range(masks.shape[0]):
        lines[count] = m
        count += _has_choice(masks[m])
    outputs = np.zeros(masks.shape, np.float32)
    run_layers(weights, sizes, observations, lines[:count], outputs)
    for m in range(masks.shape[0]):
        logits, mask = outputs[m], masks[m]
        best = -1
        for action in range(mask.shape[0]):
            if mask[action] and (best < 0 or logits[action] > logits[best]):
                best = action
        if sample:
            best = _draw(logits, mask, best, rows[index[m]])
        actions[m] = best


@kernel
def _has_choice(mask: Any) -> Any:
    """Whether there are two legal actions or more."""
    legal = 0
    for action in range(mask.shape[0]):
        legal += mask[action]
    return legal > 1


@kernel
def _draw(logits: Any, mask: Any, best: Any, row: Any) -> Any:
    """Draw a legal action from the softmax of ``logits``, with the row's policy generator."""
    total = 0.0
    for action in range(mask.shape[0]):
        if mask[action]:
            total += np.exp(np.float64(logits[action] - logits[best]))
    row.policy_rng = next_state(row.policy_rng)
    left = total * uniform(row.policy_rng)
    for action in range(mask.shape[0]):
        if mask[action]:
            left -= np.exp(np.float64(logits[action] - logits[best]))
            if left < 0:
                return action
    return best


@kernel
def write_logits(weights: Any, sizes: Any, observations: Any, logits: Any) -> None:
    """Write the network's outputs, float32 ``(m, n_actions)``; see `choose_actions`."""
    run_layers(weights, sizes, observations, np.arange(observations.shape[0]), logits)
