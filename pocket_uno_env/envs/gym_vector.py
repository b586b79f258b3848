"""The vector environment of ``gymnasium.make_vec("pocket_uno/PocketUno-v0", num_envs=N)``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from pocket_uno_env.agents import Agent
from pocket_uno_env.records.snapshot import END_NAMES
from pocket_uno_env.rules.phases import End
from pocket_uno_env.rules.rules import Rules

from .gym import ILLEGAL
from .learner_games import LearnerGames, LearnerOptions
from .reset_options import MASK, read_reset_mask


class PocketUnoVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """`num_envs` of `PocketUnoEnv` in one compiled batch; the other parameters as there.

    Notes
    -----
    An episode that ends is followed by the next in the same step (`AutoresetMode.SAME_STEP`):
    ``infos["final_obs"]`` float32 ``(num_envs, size)`` and ``infos["final_info"]`` hold what the
    single environment returns last, where ``infos["_final_obs"]`` is True.
    ``infos["action_mask"]`` and ``action_masks()``: int8 ``(num_envs, n_actions)``, for the
    observations that are returned. What is returned is the caller's.
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}  # noqa: RUF012 - Gymnasium's

    def __init__(
        self,
        num_envs: int = 1,
        rules: str | Rules = "pocket",
        num_players: int = 2,
        opponents: Sequence[str | Agent] = ("greedy",),
        *,
        compact: bool = False,
        illegal: str = "end",
        penalty: float = -1.0,
        render_mode: None = None,
        **options: Unpack[LearnerOptions],
    ) -> None:
        if illegal not in ILLEGAL:
            raise ValueError(f"illegal is {illegal!r}; expected one of {list(ILLEGAL)}")
        if render_mode is not None:
            raise ValueError(f"render_mode is {render_mode!r}; a vector of games is not rendered")
        self.games = LearnerGames(
            num_envs, rules, num_players, opponents, compact=compact, **options
        )
        self.num_envs = num_envs
        self.illegal = illegal
        self.penalty = float(penalty)
        self.render_mode = None
        self.single_observation_space = self.games.observation_space
        self.single_action_space = self.games.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._started = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start new episodes; the same seed, the same episodes.

        Parameters
        ----------
        options : dict, optional
            ``"deck"``, ``"dealer"`` and ``"scores"``: as in `PocketUnoEnv.reset`, for every episode
            that is started. ``"reset_mask"``: bool, shape ``(num_envs,)``, True where one is; the
            others go on.

        Raises
        ------
        ValueError
            For an option that makes no game; the episodes in progress stay as they were.
        """
        games = self.games
        games.read_options(options, masked=True)
        index = read_reset_mask(games.num_games, options)
        if index is not None and not self._started:
            raise RuntimeError("there are no rounds yet to go on; call reset() without reset_mask")
        super().reset(seed=seed)
        start = np.uint64(self.np_random.integers(2**64, dtype=np.uint64))
        set_up = {k: v for k, v in (options or {}).items() if k != MASK}
        games.start(start, index, set_up)
        self._started = True
        return self.games.look(), self._infos()

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Act in every game and play to the learner's next decision.

        Returns
        -------
        observations, rewards (float64), terminations, truncations (bool), infos
        """
        if not self._started:
            raise RuntimeError("there are no rounds yet; call reset() first")
        games = self.games
        chosen = games.as_actions(actions)
        legal = games.legal(chosen)
        wrong = np.flatnonzero(~legal)
        if len(wrong) and self.illegal == "raise":
            raise ValueError(games.illegal(int(wrong[0]), int(chosen[wrong[0]])))
        given_up = games.look()[wrong] if len(wrong) else None
        index = np.flatnonzero(legal)
        games.step(index, chosen[index])
        rewards, ends = games.rewards.copy(), games.ends.copy()
        truncations = ends == End.TRUNCATED
        terminations = (ends != End.RUNNING) & ~truncations
        finished = np.flatnonzero(ends != End.RUNNING)
        finals = games.final(finished)
        if given_up is not None:
            games.redeal(wrong)
            rewards[wrong], terminations[wrong] = self.penalty, True
        observations, infos = games.look(), self._infos()
        over = terminations | truncations
        if over.any():
            final = np.zeros_like(observations)
            final[finished] = finals
            if given_up is not None:
                final[wrong] = given_up
            infos |= {"final_obs": final, "_final_obs": over}
            infos |= {"final_info": _final_info(ends, ~legal), "_final_info": over}
        return observations, rewards, terminations, truncations, infos

    def action_masks(self) -> np.ndarray:
        """The legal actions in every game: int8, shape ``(num_envs, n_actions)``."""
        return self.games.masks.copy()

    def _infos(self) -> dict[str, Any]:
        return {"action_mask": self.action_masks(), "_action_mask": np.ones(self.num_envs, bool)}


def _final_info(ends: np.ndarray, illegal: np.ndarray) -> dict[str, np.ndarray]:
    """The infos of the episodes that ended, as Gymnasium's own vector environments stack them."""
    names = np.array([END_NAMES[end] for end in End], object)
    found = {"end": names[ends], "_end": ends != End.RUNNING}
    return found | ({"illegal": illegal, "_illegal": illegal} if illegal.any() else {})
