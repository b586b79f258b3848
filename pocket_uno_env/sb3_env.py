"""The Stable-Baselines3 environment: many games in one compiled batch, a learner in each.

A native ``VecEnv``. The opponents move inside `step`, so a transition runs from one decision of
the learner to its next one, and what the opponents do in between is part of the environment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv

from .actions import catalogue
from .agents import Agent, load
from .agents.protocol import illegal_action
from .batch import first_illegal
from .canonical import color_tables, plain_actions, to_view, view_actions
from .learner import (
    continue_learners,
    look_learners,
    new_books,
    start_learners,
    step_learners,
    waiting_for,
)
from .observation import observation_size
from .payoff import REWARDS
from .rules import Rules
from .state import End, Phase, new_rows

VIEWS = ("plain", "canonical")


class LearnerVecEnv(VecEnv):
    """`num_envs` rounds side by side, one seat of each for the learner.

    In each round the learner's seat and every opponent are drawn at random. When a round ends the
    next is dealt at once; a round that ends before the learner's first decision is passed over.

    Parameters
    ----------
    num_envs : int
    rules : str or Rules
        A preset or `Rules`.
    num_players : int
    opponents : sequence of str or Agent
        From these each other seat's agent is drawn; one that is listed twice comes twice as often.
        Scripted ones run compiled; others are asked once for all games that wait for them.
    reward : {"win", "points"}
        What a finished round pays the learner (`payoff.round_payoffs`).
    view : {"plain", "canonical"}
        The colours by name, or in the order of `canonical`; actions and masks likewise.
    max_cycles : int
        Decisions, everybody's, after which a round is truncated.
    seed : int, optional
        As in `seed`, for the first `reset`.

    Attributes
    ----------
    rows : structured array, dtype `state.ROW`, shape ``(num_envs,)``
        The games.

    Notes
    -----
    Observations: float32 ``(num_envs, size)`` in [0, 1]; ``env_method("action_masks")``: bool.
    What is returned is the caller's: it is not written again. Game i goes the same way however
    many games run beside it, as long as all opponents are scripted; a trained network might, among
    more games, round differently.
    """

    render_mode: str | None = None

    def __init__(
        self,
        num_envs: int,
        rules: str | Rules = "pocket",
        num_players: int = 2,
        opponents: Sequence[str | Agent] = ("greedy",),
        reward: str = "win",
        view: str = "plain",
        max_cycles: int = 20_000,
        seed: int | None = None,
    ) -> None:
        self.rules = Rules.of(rules)
        self.num_players = self.rules.check_players(num_players)
        for name, value in (("num_envs", num_envs), ("max_cycles", max_cycles)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} is {value!r}; expected a whole number from 1")
        if reward not in REWARDS:
            raise ValueError(f"reward is {reward!r}; expected one of {list(REWARDS)}")
        if view not in VIEWS:
            raise ValueError(f"view is {view!r}; expected one of {list(VIEWS)}")
        if isinstance(opponents, str) or not opponents:
            raise ValueError(f"opponents is {opponents!r}; expected a list of agents or names")
        self.opponents = [load(o) if isinstance(o, str) else o for o in opponents]
        for agent in self.opponents:
            agent.check(self.rules, self.num_players)
        self.reward = reward
        self.view = view
        self.max_cycles = max_cycles

        self._asked = [agent for agent in self.opponents if agent.policy is None]
        codes = iter(range(-1, -1 - len(self._asked), -1))
        self._pool = np.array(
            [next(codes) if o.policy is None else o.policy for o in self.opponents], np.int64
        )
        self._size = observation_size(self.rules, self.num_players)
        self._n_actions = len(catalogue(self.rules))
        self._tables = color_tables(self.rules, self.num_players)
        self.rows = new_rows(num_envs)
        self._books = new_books(num_envs)
        self._final = np.zeros((num_envs, self._size), np.float32)
        self._masks = np.zeros((num_envs, self._n_actions), np.int8)
        self._orders = np.zeros((num_envs, self.rules.colors), np.int64)
        self._all = np.arange(num_envs)
        self._waiting = np.zeros(num_envs, np.int64)
        self._actions: np.ndarray | None = None
        self._started = False
        self._generator = np.random.default_rng()
        super().__init__(
            num_envs,
            spaces.Box(0.0, 1.0, (self._size,), np.float32),
            spaces.Discrete(self._n_actions),
        )
        if seed is not None:
            self.seed(seed)

    # Stable-Baselines3's interface.

    def reset(self) -> np.ndarray:
        """Deal new games and play to the learner's first decision in each.

        After `seed` the games are those of the seed; otherwise each reset deals others.
        """
        if self._seeds[0] is not None:
            self._generator = np.random.default_rng(self._seeds[0])
        self._reset_seeds()
        self._reset_options()
        self._actions = None
        start_learners(
            self.rules.table,
            self.rows,
            self._books,
            self.num_players,
            self._generator.integers(2**64, dtype=np.uint64),
            *self._settings(),
        )
        self._ask_opponents()
        self._started = True
        return self._look()

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
        chosen = np.asarray(actions)
        if chosen.shape != (self.num_envs,) or not np.issubdtype(chosen.dtype, np.integer):
            raise ValueError(
                f"actions are {chosen.dtype} of shape {chosen.shape}; expected integers of shape "
                f"({self.num_envs},)"
            )
        known = (chosen >= 0) & (chosen < self._n_actions)
        legal = known & (self._masks[self._all, np.where(known, chosen, 0)] == 1)
        if not legal.all():
            raise ValueError(self._illegal(int(legal.argmin()), chosen))
        self._actions = np.empty(self.num_envs, np.int64)
        if self.view == "canonical":
            plain_actions(self._tables, self._orders, chosen.astype(np.int64), self._actions)
        else:
            self._actions[:] = chosen

    def step_wait(
        self,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Play to the learner's next decision in each game.

        Returns
        -------
        observations : float32, shape ``(num_envs, size)``
            Those after the next deal where a round ended.
        rewards : float32, shape ``(num_envs,)``
        dones : bool, shape ``(num_envs,)``
        infos : list of dict
            Where a round ended, ``terminal_observation``, ``TimeLimit.truncated`` and ``end``, the
            reason's name in lower case.
        """
        if self._actions is None:
            raise RuntimeError("there are no actions to wait for; call step_async() first")
        actions, self._actions = self._actions, None
        step_learners(self.rules.table, self.rows, self._books, actions, *self._settings())
        self._ask_opponents()
        rewards = self._books["reward"].astype(np.float32)
        ends = self._books["end"].copy()
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        finished = np.flatnonzero(ends != End.RUNNING)
        for i, final in zip(finished, self._final_observations(finished), strict=True):
            infos[i] = {
                "terminal_observation": final,
                "TimeLimit.truncated": bool(ends[i] == End.TRUNCATED),
                "end": End(ends[i]).name.lower(),
            }
        return self._look(), rewards, ends != End.RUNNING, infos

    def action_masks(self) -> np.ndarray:
        """The legal actions in each game: bool, shape ``(num_envs, n_actions)``."""
        return np.asarray(self._masks == 1)

    def ask(self, agent: Agent) -> np.ndarray:
        """What `agent` would do in the learner's place: int64, shape ``(num_envs,)``."""
        actions = agent.act_rows(self.rules, self.rows, self._all)
        if self.view == "canonical":
            view_actions(self._tables, self._orders, actions.copy(), actions)
        return actions

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
        return list(self.action_masks()[list(self._get_indices(indices))])

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """No game is wrapped in anything."""
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[np.ndarray | None]:
        """No game is drawn."""
        return [None] * self.num_envs

    # Going on later.

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the games' future depends on, as byte strings (uint8 arrays)."""
        return {
            "rows": np.frombuffer(self.rows.tobytes(), np.uint8),
            "books": np.frombuffer(self._books.tobytes(), np.uint8),
        }

    def set_state(self, state: dict[str, np.ndarray]) -> np.ndarray:
        """Go on from a `state`; returns the observations.

        The environment must have been made with the same arguments.
        """
        for name, target in (("rows", self.rows), ("books", self._books)):
            if state[name].nbytes != target.nbytes:
                raise ValueError(
                    f"the state's {name} have {state[name].nbytes} bytes; expected {target.nbytes}:"
                    " it comes from another number of games or another version"
                )
            target[:] = np.frombuffer(state[name].tobytes(), target.dtype)
        self._started = True
        self._actions = None
        return self._look()

    # The parts.

    def _settings(self) -> tuple[Any, ...]:
        return self._pool, self.max_cycles, int(REWARDS[self.reward]), self._final

    def _ask_opponents(self) -> None:
        """Let the agents that are not scripted act until every game waits for the learner."""
        asking = bool(self._asked)
        while asking:
            asking = False
            for k, agent in enumerate(self._asked):
                if not (count := waiting_for(self._books, k, self._waiting)):
                    continue
                asking = True
                index = self._waiting[:count].copy()
                actions = agent.act_rows(self.rules, self.rows, index)
                if (j := first_illegal(self.rules.table, self.rows, index, actions)) >= 0:
                    raise illegal_action(agent, self.rules, self.rows, index[j], actions[j])
                continue_learners(
                    self.rules.table, self.rows, self._books, index, actions, *self._settings()
                )

    def _look(self) -> np.ndarray:
        observations = np.empty((self.num_envs, self._size), np.float32)
        look_learners(self.rules.table, self.rows, observations, self._masks)
        if self.view == "canonical":
            to_view(self._tables, observations, self._masks, self._orders)
        return observations

    def _final_observations(self, index: np.ndarray) -> np.ndarray:
        final = np.asarray(self._final[index])
        if self.view == "canonical":
            no_masks = np.zeros((len(index), self._n_actions), np.int8)
            to_view(self._tables, final, no_masks, self._orders[index])
        return final

    def _illegal(self, game: int, actions: np.ndarray) -> str:
        names = catalogue(self.rules)
        action = int(actions[game])
        legal = np.flatnonzero(self._masks[game])
        said = str(action)
        if self.view == "canonical":
            ids = np.append(legal, action if 0 <= action < len(names) else 0)
            plain = np.empty_like(ids)
            plain_actions(self._tables, self._orders[[game] * len(ids)], ids, plain)
            legal = plain[:-1]
            if 0 <= action < len(names):
                said = f"{action} (in this view {names.name(int(plain[-1]))!r})"
        elif 0 <= action < len(names):
            said = f"{action} ({names.name(action)!r})"
        return (
            f"action {said} is not legal in game {game}, phase "
            f"{Phase(self.rows['phase'][game]).name.lower()!r}; legal: "
            f"{', '.join(sorted(names.names[i] for i in legal))}"
        )
