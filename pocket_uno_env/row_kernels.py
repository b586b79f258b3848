"""Loops over rows, compiled. Kernels check nothing: what they are given has been checked.

`rows` has the same for everyone, with checks. Kernels take the rules as ``Rules._table`` and the
games as an array of rows (`state.ROW`). Each row carries its own generators, so results depend
neither on the number of games nor on their order.
"""

from __future__ import annotations

import numpy as np

from pocket_uno_env.compiled.kernel import atomic, kernel, unowned
from pocket_uno_env.compiled.rng import mix, next_state, row_seed
from pocket_uno_env.engine.deal import deal_round, new_game
from pocket_uno_env.engine.legality import is_legal, write_mask
from pocket_uno_env.engine.state import NO_SEAT
from pocket_uno_env.engine.transition import apply, truncate
from pocket_uno_env.episodes.kernels import start_scores
from pocket_uno_env.observation.blocks import write_observation
from pocket_uno_env.observation.full_state import write_state
from pocket_uno_env.rules.phases import End


@kernel
def look_rows(rules, rows, masks, observations):
    """Write masks and observations of the seat to act in every running row; either may be None."""
    rules = unowned(rules)
    rows = unowned(rows)
    for i in range(rows.shape[0]):
        if masks is not None:
            write_mask(rules[0], rows[i], unowned(masks)[i])
        if observations is not None:
            write_observation(rules[0], rows[i], rows[i].to_act, unowned(observations)[i])


@kernel
def next_seed(row):
    """Begin a new game in a row, seeded by the last one; the scripted agents' stream goes on."""
    policy_rng = row.policy_rng
    row.rng = next_state(row.rng)
    new_game(row, row.num_players, mix(row.rng))
    row.policy_rng = policy_rng


@kernel
def next_game(rules, row, scores):
    """Deal a new game in a row, seeded by the last one; ``scores`` as in `start_scores`."""
    next_seed(row)
    start_scores(row, scores)
    deal_round(rules, row, NO_SEAT, None, None)


@kernel
def reset_rows(rules, rows, num_players, seed, first_index, scores):
    """Start a new game in every row and deal its first round.

    Game ``i`` is seeded by ``(seed, first_index + i)``, both uint64; ``scores`` as in
    `start_scores`.
    """
    rules, rows, scores = unowned(rules), unowned(rows), unowned(scores)
    for i in range(rows.shape[0]):
        new_game(rows[i], num_players, row_seed(seed, first_index + np.uint64(i)))
        start_scores(rows[i], scores)
        deal_round(rules[0], rows[i], NO_SEAT, None, None)


@kernel
def first_illegal(rules, rows, index, actions):
    """The first ``j`` with ``actions[j]`` illegal in ``rows[index[j]]``, or -1."""
    rules = unowned(rules)
    rows = unowned(rows)
    for j in range(index.shape[0]):
        if not is_legal(rules[0], rows[index[j]], actions[j]):
            return j
    return -1


@kernel
def step_rows(rules, rows, index, actions, max_cycles):
    """Take ``actions[j]`` in ``rows[index[j]]``; truncate rounds at `max_cycles` decisions.

    Precondition: all actions are legal (`first_illegal`).
    """
    rules = unowned(rules)
    rows = unowned(rows)
    for j in range(index.shape[0]):
        row = rows[index[j]]
        apply(rules[0], row, actions[j], None, None)
        if row.end == End.RUNNING and row.decisions >= max_cycles:
            truncate(row)


@kernel
def mask_rows(rules, rows, index, masks):
    """Write the legal actions of ``rows[index[j]]`` into ``masks[j]`` (int8, ``(m, actions)``)."""
    masks = unowned(masks)
    rules = unowned(rules)
    rows = unowned(rows)
    for j in range(index.shape[0]):
        write_mask(rules[0], rows[index[j]], masks[j])


@kernel
def observe_rows(rules, rows, index, observations):
    """Write what the seat to act knows into ``observations[j]`` (float32, ``(m, size)``)."""
    observations = unowned(observations)
    rules = unowned(rules)
    rows = unowned(rows)
    for j in range(index.shape[0]):
        row = rows[index[j]]
        write_observation(rules[0], row, row.to_act, observations[j])


@atomic
def observe_row(rules, rows, seat, observation):
    """Write what `seat` knows of the first row into ``observation`` (float32, ``(size,)``)."""
    write_observation(rules[0], rows[0], seat, observation)


@atomic
def state_row(rules, rows, state):
    """Write the whole first row into ``state`` (float32, ``(state_size,)``)."""
    write_state(rules[0], rows[0], state)


@atomic
def look_row(rules, rows, observation, mask):
    """Write observation and mask of the seat to act in the first row; after the end, zeros."""
    row = rows[0]
    if row.end == End.RUNNING:
        write_observation(rules[0], row, row.to_act, observation)
    else:
        observation[:] = 0
    write_mask(rules[0], row, mask)


@atomic
def play_row(rules, rows, action, max_cycles, observation, mask):
    """One decision in the first row: check, apply, cap, look.

    Returns
    -------
    int
        -1 and nothing changed if `action` is illegal, else ``to_act + 256 * end``.
    """
    row = rows[0]
    if not is_legal(rules[0], row, action):
        return -1
    apply(rules[0], row, action, None, None)
    if row.end == End.RUNNING and row.decisions >= max_cycles:
        truncate(row)
    look_row(rules, rows, observation, mask)
    return np.int64(row.to_act) + 256 * np.int64(row.end)


@atomic
def deal_row(rules, rows, dealer, deck):
    """Deal the next round of the game in the first row (`deal.deal_round`)."""
    deal_round(rules[0], rows[0], dealer, deck, None)
