"""Kernels of trained policies: the actions that a network chooses."""

from __future__ import annotations

from typing import Any

import numpy as np

from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.compiled.mlp import run_layers
from pocket_uno_env.compiled.rng import next_state, uniform
from pocket_uno_env.observation.canonical import plain_action, write_view


@kernel
def choose_actions(
    weights: Any,
    sizes: Any,
    tables: Any,
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
    tables : `canonical.ColorTables` or None
        With what the view is made that the network sees; None if it sees what is plain.
    observations : float32 array, shape ``(m, sizes[0])``
    masks : int8 array, shape ``(m, sizes[-1])``, at least one 1 in each line
        Both plain.
    rows, index : the games
        Only their ``policy_rng`` is used, and only to sample.
    actions : int64 array, shape ``(m,)``, written
    """
    lines, count = np.empty(masks.shape[0], np.int64), 0
    for m in range(masks.shape[0]):
        legal, first = 0, 0
        for action in range(masks.shape[1] - 1, -1, -1):
            if masks[m, action]:
                legal, first = legal + 1, action
        actions[m] = first
        if legal > 1:
            lines[count] = m
            count += 1
        elif sample:
            rows[index[m]].policy_rng = next_state(rows[index[m]].policy_rng)
    seen = np.empty((count, observations.shape[1]), np.float32)
    allowed = np.empty((count, masks.shape[1]), np.int8)
    orders = np.empty((count, 0 if tables is None else tables.ranked.shape[0]), np.int64)
    for k in range(count):
        m = lines[k]
        if tables is None:
            seen[k], allowed[k] = observations[m], masks[m]
        else:
            write_view(tables, observations[m], masks[m], orders[k], seen[k], allowed[k])
    outputs = np.empty((count, masks.shape[1]), np.float32)
    run_layers(weights, sizes, seen, outputs)
    for k in range(count):
        logits, mask = outputs[k], allowed[k]
        best = likeliest(logits, mask)
        if sample:
            best = _draw(logits, mask, best, rows[index[lines[k]]])
        actions[lines[k]] = best if tables is None else plain_action(tables, orders[k], best)


@kernel
def likeliest(logits: Any, mask: Any) -> Any:
    """The legal action with the greatest logit, of equals the first."""
    best = -1
    for action in range(mask.shape[0]):
        if mask[action] and (best < 0 or logits[action] > logits[best]):
            best = action
    return best


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
