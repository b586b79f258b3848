"""Many games at once: loops over rows, into buffers that the caller owns.

The kernels take the rules as ``Rules.table`` and the games as an array of rows (`state.ROW`).
Each row carries its own generators, so results depend neither on the number of games nor on their
order.
"""

from __future__ import annotations

import numpy as np

from .deal import deal_round, new_game
from .engine import apply, is_legal, truncate, write_mask
from .kernel import kernel
from .observation import write_observation
from .payoff import round_payoffs
from .rng import row_seed
from .scripted import act, choose
from .state import NO_SEAT, End


@kernel
def reset_rows(rules, rows, num_players, seed, first_index):
    """Start a new game in every row and deal its first round.

    Game ``i`` is seeded by ``(seed, first_index + i)``, both uint64.
    """
    for i in range(rows.shape[0]):
        new_game(rows[i], num_players, row_seed(seed, first_index + np.uint64(i)))
        deal_round(rules[0], rows[i], NO_SEAT, None, None)


@kernel
def first_illegal(rules, rows, index, actions):
    """The first ``j`` with ``actions[j]`` illegal in ``rows[index[j]]``, or -1."""
    for j in range(index.shape[0]):
        if not is_legal(rules[0], rows[index[j]], actions[j]):
            return j
    return -1


@kernel
def step_rows(rules, rows, index, actions, max_cycles):
    """Take ``actions[j]`` in ``rows[index[j]]``; truncate rounds at `max_cycles` decisions.

    Precondition: all actions are legal (`first_illegal`).
    """
    for j in range(index.shape[0]):
        row = rows[index[j]]
        apply(rules[0], row, actions[j], None, None)
        if row.end == End.RUNNING and row.decisions >= max_cycles:
            truncate(row)


@kernel
def mask_rows(rules, rows, index, masks):
    """Write the legal actions of ``rows[index[j]]`` into ``masks[j]`` (int8, ``(m, actions)``)."""
    for j in range(index.shape[0]):
        write_mask(rules[0], rows[index[j]], masks[j])


@kernel
def observe_rows(rules, rows, index, observations):
    """Write what the seat to act knows into ``observations[j]`` (float32, ``(m, size)``)."""
    for j in range(index.shape[0]):
        row = rows[index[j]]
        write_observation(rules[0], row, row.to_act, observations[j])


@kernel
def act_rows(rules, rows, index, policy, actions):
    """Write the action of a scripted policy in ``rows[index[j]]`` into ``actions[j]``."""
    for j in range(index.shape[0]):
        actions[j] = act(rules[0], rows[index[j]], policy)


# One seat of every game is a learner's, the others are scripted.


@kernel
def _advance(rules, row, learner, opponents, max_cycles):
    """Let the scripted seats act until it is the learner's turn or the round is over."""
    while row.end == End.RUNNING and row.to_act != learner:
        action = act(rules, row, opponents[row.to_act])
        apply(rules, row, action, None, None)
        if row.end == End.RUNNING and row.decisions >= max_cycles:
            truncate(row)


@kernel
def _deal_to_learner(rules, row, seats, pool, opponents, max_cycles):
    """Deal rounds until one reaches the learner, in a random seat against random opponents.

    A round that is over before the learner's first decision teaches nothing and is dealt again.
    """
    while True:
        row.dealer = NO_SEAT
        row.scores[:] = 0
        deal_round(rules, row, NO_SEAT, None, None)
        seats[0] = choose(row, row.num_players)
        for seat in range(row.num_players):
            opponents[seat] = pool[choose(row, pool.shape[0])]
        _advance(rules, row, seats[0], opponents, max_cycles)
        if row.end == End.RUNNING:
            return


@kernel
def reset_learner_rows(rules, rows, num_players, seed, pool, learner, opponents, max_cycles):
    """Start every row and play to the learner's first decision.

    Parameters
    ----------
    pool : int64 array
        The scripted policies from which each round's opponents are drawn, one for each seat.
    learner : int64 array, shape ``(n, 1)``, written
        The learner's seat.
    opponents : int64 array, shape ``(n, num_players)``, written
    """
    for i in range(rows.shape[0]):
        new_game(rows[i], num_players, row_seed(seed, np.uint64(i)))
        _deal_to_learner(rules[0], rows[i], learner[i], pool, opponents[i], max_cycles)


@kernel
def step_learner_rows(
    rules,
    rows,
    actions,
    pool,
    learner,
    opponents,
    max_cycles,
    reward,
    rewards,
    ends,
    final_observations,
):
    """Take the learner's action in every row and play on to its next decision.

    A finished round pays, keeps its last observation, and the next is dealt in its place.

    Parameters
    ----------
    rewards : float32 array, shape ``(n,)``, written
    ends : uint8 array, shape ``(n,)``, written
        `End.RUNNING` or why the round ended.
    final_observations : float32 array, shape ``(n, size)``
        Written only where a round ended.

    Notes
    -----
    Precondition: all actions are legal (`first_illegal`).
    """
    payoffs = np.zeros(opponents.shape[1])
    for i in range(rows.shape[0]):
        row = rows[i]
        apply(rules[0], row, actions[i], None, None)
        if row.end == End.RUNNING and row.decisions >= max_cycles:
            truncate(row)
        _advance(rules[0], row, learner[i, 0], opponents[i], max_cycles)
        ends[i] = row.end
        rewards[i] = 0
        if row.end != End.RUNNING:
            round_payoffs(rules[0], row, reward, payoffs)
            rewards[i] = payoffs[learner[i, 0]]
            write_observation(rules[0], row, learner[i, 0], final_observations[i])
            _deal_to_learner(rules[0], row, learner[i], pool, opponents[i], max_cycles)
