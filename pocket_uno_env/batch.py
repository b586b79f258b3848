"""`Batch`: many games at once, every seat the caller's, into buffers that the caller owns."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any

import numpy as np

from pocket_uno_env import row_kernels
from pocket_uno_env.agents.scripted.policies import Policy, act, act_rows_unchecked, check_policy
from pocket_uno_env.arguments import as_integers, check_apart, check_buffer, check_count, check_seed
from pocket_uno_env.compiled.entry import Entry, entry
from pocket_uno_env.compiled.kernel import kernel, unowned
from pocket_uno_env.engine.deal import deal_round
from pocket_uno_env.engine.legality import write_mask
from pocket_uno_env.engine.state import NO_SEAT, new_rows
from pocket_uno_env.engine.transition import apply, truncate
from pocket_uno_env.episodes.episode import Scores, episode_of, read_scores
from pocket_uno_env.episodes.kernels import finish_round
from pocket_uno_env.guard import Guard
from pocket_uno_env.observation.blocks import observation_size, write_observation
from pocket_uno_env.row_kernels import next_game
from pocket_uno_env.rows import illegal_action
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.limits import MAX_CYCLES, MAX_ROUNDS
from pocket_uno_env.rules.phases import End
from pocket_uno_env.rules.rules import Rules

GIVEN = -1
"""In place of a policy: the caller gives the actions."""


_NUMBERS = np.zeros(1, np.int64)
_FIRST_ILLEGAL = Entry(
    row_kernels.first_illegal, lambda: (Rules()._table, new_rows(1), _NUMBERS, _NUMBERS)
)
_ACT = Entry(act_rows_unchecked, lambda: (Rules()._table, new_rows(1), _NUMBERS, 0, _NUMBERS))


class Batch:
    """`num_games` rounds or matches side by side; the caller acts in every seat of each.

    When a round ends it pays each seat, and the next is dealt in its place at once.

    Parameters
    ----------
    num_games : int
    rules : str or Rules
    num_players : int
    reward : {"win", "points", "match"}
        What a finished round pays each seat (`payoff.round_payoffs`). By ``"win"`` a match pays at
        its end alone.
    max_cycles : int
        Decisions after which a round is truncated.
    episode : {"round", "match"}
        Whether a game is a round or a match.
    max_rounds : int
        Rounds after which a match is truncated.
    scores : optional
        The points that games start with (`episode.read_scores`).
    threads : int
        How many threads share the games of one call. More than one pay from some thousands of
        games on, where the cores are idle; the results are the same.

    Attributes
    ----------
    rows : structured array, dtype `state.ROW`, shape ``(num_games,)``
        The games. Whoever writes them vouches for them (`validity.check_rows`).
    n_actions, observation_size : int
        The lengths of a mask and of an observation.

    Notes
    -----
    Game i follows from the seed and i alone, whatever the number of games. Buffers are the
    caller's: C-contiguous, preallocated, none sharing memory with another, and every call
    overwrites them whole.

    - masks: int8, ``(num_games, n_actions)``
    - observations: float32, or uint8 (times `encoders.COMPACT_SCALE`),
      ``(num_games, observation_size)``, each from the seat to act

    A batch survives pickle, deepcopy and fork, and goes on as the original does. A second thread
    that calls while one is in a call gets RuntimeError.
    """

    def __init__(
        self,
        num_games: int,
        rules: str | Rules = "pocket",
        num_players: int = 2,
        *,
        reward: str = "win",
        max_cycles: int = MAX_CYCLES,
        episode: str = "round",
        max_rounds: int = MAX_ROUNDS,
        scores: Scores = None,
        threads: int = 1,
    ) -> None:
        self.rules = Rules.of(rules)
        self.num_players = self.rules.check_players(num_players)
        self._episode = episode_of(
            self.rules, self.num_players, episode, reward, max_cycles, max_rounds, scores
        )
        self.num_games = check_count("num_games", num_games)
        self.n_actions = len(catalogue(self.rules))
        self.observation_size = observation_size(self.rules, self.num_players)
        n = self.num_games
        self._forms: dict[str, tuple[Any, ...]] = {
            "actions": ((n,), np.int64),
            "masks": ((n, self.n_actions), np.int8),
            "observations": ((n, self.observation_size), np.float32, np.uint8),
            "payoffs": ((n, self.num_players), np.float32),
            "ends": ((n,), np.uint8),
        }
        self._rows = new_rows(num_games)
        self._all = np.arange(num_games)
        self._actions = np.zeros(num_games, np.int64)
        share = -(-num_games // min(check_count("threads", threads), num_games))
        self._parts = [slice(i, i + share) for i in range(0, num_games, share)]
        self._pool: tuple[int, ThreadPoolExecutor] | None = None
        self._passes: dict[str, _Pass] = {}
        self._guard = Guard("Batch")
        self._started = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pool": None, "_passes": {}}

    @property
    def rows(self) -> Any:
        """The games."""
        return self._rows[:]  # a view, which cannot be resized

    @property
    def to_act(self) -> np.ndarray:
        """The seat to act in each game: uint8, shape ``(num_games,)``.

        A view of the rows: the next call changes it. Copy what has to last.
        """
        return self._rows["to_act"]  # type: ignore[no-any-return]

    def reset(
        self,
        seed: int,
        masks: np.ndarray | None = None,
        observations: np.ndarray | None = None,
        scores: Scores = None,
    ) -> None:
        """Deal a new round in every game; `seed` from 0 to ``2**64 - 1``.

        With `scores` these games, not those that follow them, start with such points.
        """
        with self._guard:
            self._check(masks=masks, observations=observations)
            start = check_seed("seed", seed)
            starting = self._episode.scores
            if scores is not None:
                starting = read_scores(self.rules, self.num_players, scores)
            table = self.rules._table
            row_kernels.reset_rows(
                table, self._rows, self.num_players, start, np.uint64(0), starting
            )
            self._started = True
            row_kernels.look_rows(table, self._rows, masks, observations)

    def step(
        self,
        actions: np.ndarray,
        masks: np.ndarray | None = None,
        observations: np.ndarray | None = None,
        payoffs: np.ndarray | None = None,
        ends: np.ndarray | None = None,
    ) -> None:
        """Take one action in every game, for the seat to act there.

        Where a round ends, `payoffs` and `ends` tell of it, while `masks` and `observations` are
        already those of the next one. What the seats saw last is in no buffer: a round that was
        truncated, and whose value a learner estimates from there, is valued by the observations
        that were written before this step.

        Parameters
        ----------
        actions : int64 array, shape ``(num_games,)``
        payoffs : float32 array, shape ``(num_games, num_players)``, optional, written
            What each seat earned: zeros unless a round has just ended.
        ends : uint8 array, shape ``(num_games,)``, optional, written
            `phases.End`: why the game ended, or `End.RUNNING`: so also where another round of a
            match was dealt.

        Raises
        ------
        ValueError
            If an action is not legal, naming the game, the action, the phase and the legal ones;
            no game has changed.
        """
        with self._guard:
            self._check_started()
            self._actions[:] = as_integers("actions", actions, self.num_games)
            step = self._pass("step", self._actions, masks, observations, payoffs, ends)
            table = self.rules._table
            wrong = _FIRST_ILLEGAL.call(table, self._rows, self._all, self._actions)
            if wrong >= 0:
                action = int(self._actions[wrong])
                raise ValueError(illegal_action(self.rules, self._rows, wrong, action))
            self._run(step, GIVEN)

    def act(self, policy: Policy, actions: np.ndarray) -> None:
        """Write what a scripted policy would do in every game.

        Parameters
        ----------
        actions : int64 array, shape ``(num_games,)``, written
        """
        with self._guard:
            self._check_started()
            self._check_policy(policy)
            self._check(actions=actions)
            _ACT.call(self.rules._table, self._rows, self._all, int(policy), actions)

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
        with self._guard:
            self._check_started()
            self._check_policy(policy)
            step = self._pass("play", actions, masks, observations, payoffs, ends)
            self._run(step, int(policy))

    def _run(self, step: _Pass, policy: int) -> None:
        if len(step.parts) == 1:
            step.parts[0](policy)
            return
        pool = self._threads()
        try:
            for part in [pool.submit(part, policy) for part in step.parts]:
                part.result()
        except BaseException:
            # If this thread is interrupted, maybe while it hands the parts over, nobody steps on
            # behind its back.
            self._pool = None
            pool.shutdown(wait=True)
            raise

    def _threads(self) -> ThreadPoolExecutor:
        """The threads, which are made when first needed; a forked process has none of its own."""
        if self._pool is None or self._pool[0] != os.getpid():
            self._pool = os.getpid(), ThreadPoolExecutor(len(self._parts))
        return self._pool[1]

    def _pass(self, name: str, *buffers: np.ndarray | None) -> _Pass:
        """The pass over all games into these buffers: checked, unless they are those of last time.

        A loop hands over the same arrays again and again. The pass has slices of them, whose form
        nobody else can change.
        """
        known = self._passes.get(name)
        if known is not None and known.takes(buffers):
            return known
        written = dict(zip(self._forms, buffers, strict=True))
        if name == "step":
            del written["actions"]
        self._check(**written)
        made = self._passes[name] = _Pass(self, buffers)
        return made

    def _check_policy(self, policy: Any) -> None:
        if type(policy) is not Policy:
            check_policy(policy)

    def _check_started(self) -> None:
        if not self._started:
            raise RuntimeError("there are no games yet; call reset() first")

    def _check(self, **buffers: np.ndarray | None) -> None:
        """Raise ValueError unless these can be written; None is none, but for actions."""
        given = {k: buffer for k, buffer in buffers.items() if buffer is not None or k == "actions"}
        for name, buffer in given.items():
            check_buffer(name, buffer, *self._forms[name])
        check_apart(given, {"rows": self._rows})


_FORM = operator.attrgetter("flags.writeable", "shape", "dtype", "strides")


class _Pass:
    """`step_batch` over the games of a batch, for the buffers that it writes.

    Attributes
    ----------
    parts : list of callable
        One for each thread, called with a policy.
    """

    def __init__(self, batch: Batch, buffers: tuple[np.ndarray | None, ...]) -> None:
        self._buffers = buffers
        self._arrays = [buffer for buffer in buffers if buffer is not None]
        self._forms = list(map(_FORM, self._arrays))
        code = _step_code(*[None if buffer is None else buffer.dtype for buffer in buffers])
        self.parts = []
        for part in batch._parts:
            into = [None if buffer is None else buffer[part] for buffer in buffers]
            where = batch.rules._table, batch._rows[part]
            self.parts.append(partial(code, *where, batch._episode, *into))

    def takes(self, buffers: tuple[np.ndarray | None, ...]) -> bool:
        """Whether these are the same buffers, as they were."""
        same = all(map(operator.is_, buffers, self._buffers))
        return same and list(map(_FORM, self._arrays)) == self._forms


@cache
def _step_code(*kinds: np.dtype[Any] | None) -> Callable[..., None]:
    """The compiled code of `step_batch` for buffers of these dtypes, None for none."""
    axes = zip(kinds, (1, 2, 2, 2, 1), strict=True)
    buffers = [None if kind is None else np.zeros((1,) * count, kind) for kind, count in axes]
    return entry(step_batch, Rules()._table, new_rows(1), episode_of(Rules(), 2), *buffers, GIVEN)


@kernel
def step_batch(rules, rows, episode, actions, masks, observations, payoffs, ends, policy):
    """One pass over all rows: act, cap, pay, deal the next round, look; buffers may be None.

    With `GIVEN` for a policy it takes ``actions``, which must be legal
    (`row_kernels.first_illegal`), else it writes there what the policy does. See
    `Batch.step` and `Batch.play`.
    """
    rules = unowned(rules)
    rows = unowned(rows)
    episode = unowned(episode)
    paid = np.zeros(np.int64(rows[0].num_players))
    for i in range(rows.shape[0]):
        row = rows[i]
        if policy != GIVEN:
            actions[i] = act(rules[0], row, policy)
        apply(rules[0], row, actions[i], None, None)
        if row.end == End.RUNNING and row.decisions >= episode.max_cycles:
            truncate(row)
        if ends is not None:
            ends[i] = row.end
        if payoffs is not None:
            payoffs[i, :] = 0
        if row.end != End.RUNNING:
            end = finish_round(rules[0], row, episode, unowned(paid))
            if payoffs is not None:
                payoffs[i, :] = paid
            if ends is not None:
                ends[i] = end
            if end == End.RUNNING:
                deal_round(rules[0], row, NO_SEAT, None, None)
            else:
                next_game(rules[0], row, episode.scores)
        if masks is not None:
            write_mask(rules[0], row, unowned(masks)[i])
        if observations is not None:
            write_observation(rules[0], row, row.to_act, unowned(observations)[i])
