"""The Stable-Baselines3 environment: many games in one compiled batch, a learner in each.

A native ``VecEnv``. The opponents move inside `step`, so a transition runs from one decision of
the learner to its next one, and what the opponents do in between is part of the environment.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Unpack

import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from pocket_uno_env.agents import Agent
from pocket_uno_env.records.snapshot import END_NAMES
from pocket_uno_env.rules.phases import End
from pocket_uno_env.rules.rules import Rules

from .learner_games import RUNNING, LearnerGames, LearnerOptions
from .reset_options import OPTIONS


class LearnerVecEnv(VecEnv):
    """`num_envs` of `learner_games.LearnerGames` as a ``VecEnv``.

    Parameters
    ----------
    num_envs : int
    rules, num_players, opponents, compact
        As for `learner_games.LearnerGames`.
    seed : int, optional
        As in `seed`, for the first `reset`.
    **options
        ``episode``, ``reward``, ``max_cycles``, ``max_rounds``, ``scores``, ``view``,
        ``skip_forced``: see `learner_games.LearnerOptions`.

    Attributes
    ----------
    games : LearnerGames
        The games without the interface.

    Notes
    -----
    ``env_method("action_masks")``: bool, for the observations that were returned last. What is
    returned is the caller's: it is not written again.
    """

    render_mode: str | None = None

    def __init__(
        self,
        num_envs: int,
        rules: str | Rules = "pocket",
        num_players: int = 2,
        opponents: Sequence[str | Agent] = ("greedy",),
        *,
        compact: bool = False,
        seed: int | None = None,
        **options: Unpack[LearnerOptions],
    ) -> None:
        self.games = LearnerGames(
            num_envs, rules, num_players, opponents, compact=compact, **options
        )
        self.rules = self.games.rules
        self.num_players = self.games.num_players
        self.view = self.games.view
        self._actions: np.ndarray | None = None
        self._started = False
        self._generator = np.random.default_rng()
        super().__init__(num_envs, self.games.observation_space, self.games.action_space)
        if seed is not None:
            self.seed(seed)

    def reset(self) -> np.ndarray:
        """Deal new games and play to the learner's first decision in each.

        After `seed` the games are those of the seed; otherwise each reset deals others. After
        ``set_options`` the next deal of each game follows its own ``"deck"``, ``"dealer"`` and
        ``"scores"``, as in `gym.PocketUnoEnv.reset`.
        """
        games = self.games
        options = list(self._options)
        for its in options:
            games.read_options(its)
        if self._seeds[0] is not None:
            self._generator = np.random.default_rng(self._seeds[0])
        self._reset_seeds()
        self._reset_options()
        self._actions = None
        start = self._generator.integers(2**64, dtype=np.uint64)
        games.start(start)
        for i, its in enumerate(options):
            if any(key in its for key in OPTIONS):
                games.start(start, np.array([i]), its)
        self._started = True
        return self.games.look()

    def step_async(self, actions: np.ndarray) -> None:
        """Take the learner's actions, an integer for each game.

        Raises
        ------
        ValueError
            If one is not legal, naming the game, the action, the phase and the legal ones.
            No game has changed.
        """
        if not self._started:
            raise RuntimeError("there are no games yet; call reset() first")
        chosen = self.games.as_actions(actions)
        legal = self.games.legal(chosen)
        if not legal.all():
            wrong = int(legal.argmin())
            raise ValueError(self.games.illegal(wrong, int(actions[wrong])))
        self._actions = chosen

    def step_wait(
        self,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Play to the learner's next decision in each game.

        Returns
        -------
        observations : float32 or uint8, shape ``(num_envs, size)``
            Those of the next episode where one ended.
        rewards : float32, shape ``(num_envs,)``
        dones : bool, shape ``(num_envs,)``
        infos : list of dict
            Where an episode ended, ``terminal_observation``, ``TimeLimit.truncated`` and ``end``,
            the reason's name in lower case.
        """
        if self._actions is None:
            raise RuntimeError("there are no actions to wait for; call step_async() first")
        actions, self._actions = self._actions, None
        self.games.step(self.games.everywhere, actions)
        ends = self.games.ends
        over = ends != RUNNING
        rewards = self.games.rewards.astype(np.float32)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        finished = np.flatnonzero(over)
        finals = self.games.final(finished)
        for i, end, final in zip(finished.tolist(), ends[finished].tolist(), finals, strict=True):
            infos[i] = {
                "terminal_observation": final,
                "TimeLimit.truncated": end == End.TRUNCATED,
                "end": END_NAMES[end],
            }
        return self.games.look(), rewards, over, infos

    def action_masks(self) -> np.ndarray:
        """The legal actions in each game: bool, shape ``(num_envs, n_actions)``."""
        return self.games.masks.view(np.bool_).copy()

    def ask(self, agent: Agent) -> np.ndarray:
        """What `agent` would do in the learner's place: int64, shape ``(num_envs,)``."""
        return self.games.ask(agent)

    @property
    def orders(self) -> np.ndarray:
        """The colour in each place of the view: int64, shape ``(num_envs, colors)``."""
        return self.games.orders

    def close(self) -> None:
        """Nothing is held open."""

    def has_attr(self, attr_name: str) -> bool:
        """Whether the games have the attribute."""
        return hasattr(self, attr_name)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The attribute, which all games share, once for each of `indices`."""
        value = getattr(self, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of all games; they have none of their own."""
        if sorted(self._get_indices(indices)) != list(range(self.num_envs)):
            raise ValueError(f"{attr_name!r} is shared by all games; set it without indices")
        setattr(self, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """``"action_masks"``: the mask of each game in `indices`. There are no other methods."""
        if method_name != "action_masks" or method_args or method_kwargs:
            raise AttributeError(
                f"the games have no method {method_name!r}; expected 'action_masks', no arguments"
            )
        masks = self.action_masks()
        return _rows(masks if indices is None else masks[list(self._get_indices(indices))])

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """No game is wrapped in anything."""
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[np.ndarray | None]:
        """No game is drawn."""
        return [None] * self.num_envs

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the games' future depends on, as byte strings (uint8 arrays)."""
        return {
            "rows": np.frombuffer(self.games.rows.tobytes(), np.uint8),
            "books": np.frombuffer(self.games.books.tobytes(), np.uint8),
        }

    def set_state(self, state: dict[str, np.ndarray]) -> np.ndarray:
        """Go on from a `state`; returns the observations.

        The environment must have been made with the same arguments.

        Raises
        ------
        ValueError
            If the state is none of games like these; they are then as they were.
        """
        targets = {"rows": self.games.rows, "books": self.games.books}
        found = {}
        for name, target in targets.items():
            if state[name].nbytes != target.nbytes:
                raise ValueError(
                    f"the state's {name} have {state[name].nbytes} bytes; expected {target.nbytes}:"
                    " it comes from another number of games or another version"
                )
            found[name] = np.frombuffer(state[name].tobytes(), target.dtype)
        self.games.check_state(**found)
        for name, target in targets.items():
            target[:] = found[name]
        self._started = True
        self._actions = None
        return self.games.look()


class _FirstRow(np.ndarray):
    """The first row of a matrix, which copies the matrix when all its rows are stacked again.

    sb3-contrib asks for a list of masks and stacks it in every step, which takes as long as the
    step of the games. NumPy leaves the stacking to an array in the list that knows better.
    """

    _matrix: np.ndarray | None = None
    _others: list[np.ndarray]

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func is np.stack and len(args) == 1 and not kwargs and self._matrix is not None:
            first, *others = args[0]
            with suppress(ValueError):  # of arrays that are not the same objects
                if first is self and others == self._others:
                    return self._matrix.copy()
        return super().__array_function__(func, types, args, kwargs)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """What is computed from it is a plain array, or a number."""
        return np.asarray(array)[()] if return_scalar else np.asarray(array)


def _rows(matrix: np.ndarray) -> list[np.ndarray]:
    """The rows of a matrix as a list that is quick to stack."""
    rows = list(matrix)
    if rows:
        rows[0] = first = rows[0].view(_FirstRow)
        first._matrix, first._others = matrix, rows[1:]
    return rows
