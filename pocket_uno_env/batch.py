"""Many games at once: loops over rows, into buffers that the caller owns.

`Batch` is the engine for many games with every seat the caller's. The kernels below it take the
rules as ``Rules.table`` and the games as an array of rows (`state.ROW`). Each row carries its own
generators, so results depend neither on the number of games nor on their order.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from .actions import catalogue
from .deal import deal_round, new_game
from .engine import apply, is_legal, truncate, write_mask
from .kernel import kernel, unowned
from .observation import observation_size, write_observation, write_state
from .payoff import REWARDS, round_payoffs
from .rng import mix, next_state, row_seed
from .rules import Rules, check_count
from .scripted import Policy, act
from .snapshot import phase_name
from .state import NO_SEAT, End, new_rows

GIVEN = -1
"""In place of a policy: the caller gives the actions."""


class Batch:
    """`num_games` rounds side by side; the caller acts in every seat of each.

    When a round ends it pays each seat, and the next is dealt in its place at once.

    Parameters
    ----------
    num_games : int
    rules : str or Rules
    num_players : int
    reward : {"win", "points"}
        What a finished round pays each seat (`payoff.round_payoffs`).
    max_cycles : int
        Decisions after which a round is truncated.
    threads : int
        How many threads share the games of one call. More than one pay from some thousands of
        games on, where the cores are idle; the results are the same.

    Attributes
    ----------
    rows : structured array, dtype `state.ROW`, shape ``(num_games,)``
        The games.
    n_actions, observation_size : int
        The lengths of a mask and of an observation.

    Notes
    -----
    Game i follows from the seed and i alone, whatever the number of games. Buffers are the
    caller's: C-contiguous, preallocated, and every call overwrites them whole.

    - masks: int8, ``(num_games, n_actions)``
    - observations: float32, or uint8 (times `observation.COMPACT_SCALE`),
      ``(num_games, observation_size)``, each from the seat to act
    """

    def __init__(
        self,
        num_games: int,
        rules: str | Rules = "pocket",
        num_players: int = 2,
        *,
        reward: str = "win",
        max_cycles: int = 20_000,
        threads: int = 1,
    ) -> None:
        self.rules = Rules.of(rules)
        self.num_players = self.rules.check_players(num_players)
        if reward not in REWARDS:
            raise ValueError(f"reward is {reward!r}; expected one of {list(REWARDS)}")
        self.num_games = check_count("num_games", num_games)
        self.max_cycles = check_count("max_cycles", max_cycles)
        self.n_actions = len(catalogue(self.rules))
        self.observation_size = observation_size(self.rules, self.num_players)
        self.rows = new_rows(num_games)
        self._reward = int(REWARDS[reward])
        self._all = np.arange(num_games)
        share = -(-num_games // min(check_count("threads", threads), num_games))
        self._parts = [slice(i, i + share) for i in range(0, num_games, share)]
        self._pool = ThreadPoolExecutor(len(self._parts)) if len(self._parts) > 1 else None
        self._started = False

    @property
    def to_act(self) -> np.ndarray:
        """The seat to act in each game: uint8, shape ``(num_games,)``, a view of the rows."""
        return self.rows["to_act"]  # type: ignore[no-any-return]

    def reset(
        self,
        seed: int,
        masks: np.ndarray | None = None,
        observations: np.ndarray | None = None,
    ) -> None:
        """Deal a new round in every game; `seed` from 0 to ``2**64 - 1``."""
        self._check(masks, observations)
        if (
            isinstance(seed, bool)
            or not isinstance(seed, int | np.integer)
            or not 0 <= seed < 2**64
        ):
            raise ValueError(f"seed is {seed!r}; expected a whole number from 0 to {2**64 - 1}")
        reset_rows(self.rules.table, self.rows, self.num_players, np.uint64(seed), np.uint64(0))
        self._started = True
        look_rows(self.rules.table, self.rows, masks, observations)

    def step(
        self,
        actions: np.ndarray,
        masks: np.ndarray | None = None,
        observations: np.ndarray | None = None,
        payoffs: np.ndarray | None = None,
        ends: np.ndarray | None = None,
    ) -> None:
        """Take one action in every game, for the seat to act there.

        Parameters
        ----------
        actions : int64 array, shape ``(num_games,)``
        payoffs : float32 array, shape ``(num_games, num_players)``, optional, written
            What each seat earned: zeros unless the round has just ended.
        ends : uint8 array, shape ``(num_games,)``, optional, written
            `state.End`: why the round ended, or `End.RUNNING`.

        Raises
        ------
        ValueError
            If an action is not legal, naming the game, the action, the phase and the legal ones;
            no game has changed.
        """
        self._check_started()
        self._check(masks, observations)
        self._check_results(payoffs, ends)
        self._check_actions(actions)
        wrong = first_illegal(self.rules.table, self.rows, self._all, actions)
        if wrong >= 0:
            raise ValueError(self._illegal(int(wrong), int(actions[wrong])))
        self._step(GIVEN, actions, masks, observations, payoffs, ends)

    def act(self, policy: Policy, actions: np.ndarray) -> None:
        """Write what a scripted policy would do in every game.

        Parameters
        ----------
        actions : int64 array, shape ``(num_games,)``, written
        """
        self._check_started()
        self._check_actions(actions)
        _check_policy(policy)
        act_rows(self.rules.table, self.rows, self._all, int(policy), actions)

    def play(
        self,
        policy: Policy,
        actions: np.ndarray,
        masks: np.ndarray | None = None,
        observations: np.ndarray | None = None,
        payoffs: np.ndarray | None = None,
        ends: np.ndarray | None = None,
    ) -> None:
        """`act` and `step` in one pass over the games, which is faster.

        Parameters
        ----------
        actions : int64 array, shape ``(num_games,)``, written
            What the policy did.
        """
        self._check_started()
        self._check_actions(actions)
        _check_policy(policy)
        self._check(masks, observations)
        self._check_results(payoffs, ends)
        self._step(int(policy), actions, masks, observations, payoffs, ends)

    def _step(self, policy: int, *buffers: np.ndarray | None) -> None:
        if self._pool is None:
            self._step_part(policy, buffers, slice(None))
        else:
            list(self._pool.map(lambda part: self._step_part(policy, buffers, part), self._parts))

    def _step_part(self, policy: int, buffers: tuple[np.ndarray | None, ...], part: slice) -> None:
        """Some of the games; a kernel holds no lock of the interpreter."""
        parts = [None if buffer is None else buffer[part] for buffer in buffers]
        table, rows = self.rules.table, self.rows[part]
        step_games(table, rows, policy, self.max_cycles, self._reward, *parts)

    def _check_started(self) -> None:
        if not self._started:
            raise RuntimeError("there are no games yet; call reset() first")

    def _check_actions(self, actions: np.ndarray) -> None:
        if actions is None:
            raise ValueError("actions is None; expected an int64 array")
        _check_buffer("actions", actions, (self.num_games,), np.int64)

    def _check(self, masks: np.ndarray | None, observations: np.ndarray | None) -> None:
        _check_buffer("masks", masks, (self.num_games, self.n_actions), np.int8)
        shape = (self.num_games, self.observation_size)
        _check_buffer("observations", observations, shape, np.float32, np.uint8)

    def _check_results(self, payoffs: np.ndarray | None, ends: np.ndarray | None) -> None:
        _check_buffer("payoffs", payoffs, (self.num_games, self.num_players), np.float32)
        _check_buffer("ends", ends, (self.num_games,), np.uint8)

    def _illegal(self, game: int, action: int) -> str:
        names = catalogue(self.rules)
        mask = np.zeros((1, len(names)), np.int8)
        mask_rows(self.rules.table, self.rows, np.array([game]), mask)
        known = f" ({names.names[action]!r})" if 0 <= action < len(names) else ""
        return (
            f"action {action}{known} is not legal in game {game}, phase "
            f"{phase_name(self.rows[game])!r}; legal: {', '.join(names.legal_names(mask[0]))}"
        )


def _check_policy(policy: Any) -> None:
    if policy not in list(Policy):
        raise ValueError(f"policy is {policy!r}; expected one of {[p.name for p in Policy]}")


def _check_buffer(name: str, buffer: Any, shape: tuple[int, ...], *dtypes: Any) -> None:
    if buffer is None:
        return
    if not isinstance(buffer, np.ndarray) or buffer.shape != shape or buffer.dtype not in dtypes:
        found = f"{getattr(buffer, 'dtype', type(buffer))} of shape {getattr(buffer, 'shape', '?')}"
        kinds = " or ".join(np.dtype(dtype).name for dtype in dtypes)
        raise ValueError(f"{name} are {found}; expected {kinds} of shape {shape}")
    if not buffer.flags.c_contiguous or not buffer.flags.writeable:
        raise ValueError(f"{name} must be C-contiguous and writeable")


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
def step_games(
    rules, rows, policy, max_cycles, reward, actions, masks, observations, payoffs, ends
):
    """One pass over all rows: act, cap, pay, deal the next round, look; buffers may be None.

    With `GIVEN` for a policy it takes ``actions``, which must be legal (`first_illegal`), else it
    writes there what the policy does. See `Batch.step` and `Batch.play`.
    """
    rules = unowned(rules)
    rows = unowned(rows)
    for i in range(rows.shape[0]):
        row = rows[i]
        if policy != GIVEN:
            actions[i] = act(rules[0], row, policy)
        apply(rules[0], row, actions[i], None, None)
        if row.end == End.RUNNING and row.decisions >= max_cycles:
            truncate(row)
        if ends is not None:
            ends[i] = row.end
        if payoffs is not None:
            payoffs[i, :] = 0
        if row.end != End.RUNNING:
            if payoffs is not None:
                round_payoffs(rules[0], row, reward, unowned(payoffs)[i])
            next_game(rules[0], row)
        if masks is not None:
            write_mask(rules[0], row, unowned(masks)[i])
        if observations is not None:
            write_observation(rules[0], row, row.to_act, unowned(observations)[i])


@kernel
def next_game(rules, row):
    """Deal a new game in a row, seeded by the last one; the scripted agents' stream goes on."""
    policy_rng = row.policy_rng
    row.rng = next_state(row.rng)
    new_game(row, row.num_players, mix(row.rng))
    row.policy_rng = policy_rng
    deal_round(rules, row, NO_SEAT, None, None)


@kernel
def reset_rows(rules, rows, num_players, seed, first_index):
    """Start a new game in every row and deal its first round.

    Game ``i`` is seeded by ``(seed, first_index + i)``, both uint64.
    """
    rules = unowned(rules)
    rows = unowned(rows)
    for i in range(rows.shape[0]):
        new_game(rows[i], num_players, row_seed(seed, first_index + np.uint64(i)))
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


@kernel
def act_rows(rules, rows, index, policy, actions):
    """Write the action of a scripted policy in ``rows[index[j]]`` into ``actions[j]``."""
    rules = unowned(rules)
    rows = unowned(rows)
    for j in range(index.shape[0]):
        actions[j] = act(rules[0], rows[index[j]], policy)


@kernel
def observe_row(rules, rows, seat, observation):
    """Write what `seat` knows of the first row into ``observation`` (float32, ``(size,)``)."""
    write_observation(rules[0], rows[0], seat, observation)


@kernel
def state_row(rules, rows, state):
    """Write the whole first row into ``state`` (float32, ``(state_size,)``)."""
    write_state(rules[0], rows[0], state)


@kernel
def look_row(rules, rows, observation, mask):
    """Write observation and mask of the seat to act in the first row; after the end, zeros."""
    row = rows[0]
    if row.end == End.RUNNING:
        write_observation(rules[0], row, row.to_act, observation)
    else:
        observation[:] = 0
    write_mask(rules[0], row, mask)


@kernel
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


@kernel
def deal_row(rules, rows, dealer, deck):
    """Deal the next round of the game in the first row (`deal.deal_round`)."""
    deal_round(rules[0], rows[0], dealer, deck, None)
