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

from .agents import Agent
from .canonical import color_tables, plain_actions, to_view, view_actions
from .learner_games import LearnerGames
from .rules import Rules
from .state import End

VIEWS = ("plain", "canonical")


class LearnerVecEnv(VecEnv):
    """`num_envs` rounds side by side, one seat of each for the learner.

    In each round the learner's seat and every opponent are drawn at random. When a round ends the
    next is dealt at once; a round that ends before the learner's first decision is passed over.

    Parameters
    ----------
    num_envs : int
    rules : str or Rules
        A preset, a file, or `Rules`.
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
    skip_forced : bool
        Make the learner's decisions with one legal action for it, about a quarter of all.

    Attributes
    ----------
    games : LearnerGames
        The games without the interface.

    Notes
    -----
    Observations: float32 ``(num_envs, size)`` in [0, 1]; ``env_method("action_masks")``: bool.
    What is returned is the caller's: it is not written again. Game i goes the same way however
    many games run beside it.
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
        skip_forced: bool = False,
    ) -> None:
        if view not in VIEWS:
            raise ValueError(f"view is {view!r}; expected one of {list(VIEWS)}")
        self.games = LearnerGames(
            num_envs, rules, num_players, opponents, reward, max_cycles, skip_forced
        )
        self.rules = self.games.rules
        self.num_players = self.games.num_players
        self.view = view
        self._tables = color_tables(self.rules, self.num_players)
        self._orders = np.tile(np.arange(self.rules.colors), (num_envs, 1))
        self._masks = self.games.masks
        self._actions: np.ndarray | None = None
        self._started = False
        self._generator = np.random.default_rng()
        super().__init__(
            num_envs,
            spaces.Box(0.0, 1.0, (self.games.observation_size,), np.float32),
            spaces.Discrete(self.games.n_actions),
        )
        if seed is not None:
            self.seed(seed)

    def reset(self) -> np.ndarray:
        """Deal new games and play to the learner's first decision in each.

        After `seed` the games are those of the seed; otherwise each reset deals others.
        """
        if self._seeds[0] is not None:
            self._generator = np.random.default_rng(self._seeds[0])
        self._reset_seeds()
        self._reset_options()
        self._actions = None
        self.games.start(self._generator.integers(2**64, dtype=np.uint64))
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
        plain = chosen.astype(np.int64)
        if self.view == "canonical":
            known = (plain >= 0) & (plain < self.games.n_actions)
            plain_actions(self._tables, self._orders, np.where(known, plain, 0), plain)
            plain[~known] = chosen[~known]
        legal = self.games.legal(plain)
        if not legal.all():
            raise ValueError(self.games.illegal(int(legal.argmin()), int(plain[legal.argmin()])))
        self._actions = plain

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
        self.games.step(self.games.everywhere, actions)
        rewards = self.games.rewards.astype(np.float32)
        ends = self.games.ends.copy()
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
        actions = agent.act_rows(self.rules, self.games.rows, self.games.everywhere)
        if self.view == "canonical":
            view_actions(self._tables, self._orders, actions.copy(), actions)
        return actions

    def in_game(self, games: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """What actions of the view are in those games: int64 ``(m,)`` all three."""
        plain = actions.astype(np.int64)
        if self.view == "canonical":
            plain_actions(self._tables, self._orders[games], actions, plain)
        return plain

    @property
    def orders(self) -> np.ndarray:
        """The colour in each place of the view: int64, shape ``(num_envs, colors)``."""
        return self._orders

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

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the games' future depends on, as byte strings (uint8 arrays)."""
        return {
            "rows": np.frombuffer(self.games.rows.tobytes(), np.uint8),
            "books": np.frombuffer(self.games.books.tobytes(), np.uint8),
        }

    def set_state(self, state: dict[str, np.ndarray]) -> np.ndarray:
        """Go on from a `state`; returns the observations.

        The environment must have been made with the same arguments.
        """
        targets = {"rows": self.games.rows, "books": self.games.books}
        for name, target in targets.items():
            if state[name].nbytes != target.nbytes:
                raise ValueError(
                    f"the state's {name} have {state[name].nbytes} bytes; expected {target.nbytes}:"
                    " it comes from another number of games or another version"
                )
            target[:] = np.frombuffer(state[name].tobytes(), target.dtype)
        self._started = True
        self._actions = None
        return self._look()

    def _look(self) -> np.ndarray:
        observations = self.games.look()
        self._masks = self.games.masks
        if self.view == "canonical":
            self._masks = self.games.masks.copy()
            to_view(self._tables, observations, self._masks, self._orders)
        return observations

    def _final_observations(self, index: np.ndarray) -> np.ndarray:
        final = np.asarray(self.games.final_observations[index])
        if self.view == "canonical":
            no_masks = np.zeros((len(index), self.games.n_actions), np.int8)
            to_view(self._tables, final, no_masks, self._orders[index])
        return final
