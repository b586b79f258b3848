"""A critic with perfect information: the hidden cards beside the learner's observation.

The critic is needed during training only, so it may know what the actor must infer. This takes the
luck of the hidden cards out of the advantages and leaves the effect of the learner's decisions.
The actor never sees these columns.

Source: G. Yang et al., "PerfectDou: Dominating DouDizhu with Perfect Information Distillation",
NeurIPS 2022.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from pocket_uno_env.agents.trained.critic import colored_kinds, hidden_size, write_hidden_rows
from pocket_uno_env.envs.learner_games import LearnerGames
from pocket_uno_env.envs.sb3 import LearnerVecEnv
from pocket_uno_env.observation.full_state import state_size


class AllHands(VecEnvWrapper):
    """Adds the hidden cards to the right of the learner's observations, in the same view.

    The terminal observation of a round has zeros in their place, since the next round has been
    dealt when it is written.
    """

    def __init__(self, venv: VecEnv) -> None:
        base: LearnerVecEnv = venv.unwrapped
        rules, seats = base.rules, base.num_players
        self.visible = int(venv.observation_space.shape[0])
        size = self.visible + hidden_size(rules, seats)
        super().__init__(venv, spaces.Box(0.0, 1.0, (size,), np.float32))
        self._games = base
        self._kinds = colored_kinds(rules, seats)
        self._scratch = np.zeros(state_size(rules, seats), np.float32)

    def reset(self) -> np.ndarray:
        """The observations with the hidden cards."""
        return self.with_hidden(self.venv.reset())

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """As `reset`, for a step."""
        observations, rewards, dones, infos = self.venv.step_wait()
        ended = np.flatnonzero(dones).tolist()
        finals = np.zeros((len(ended), self.observation_space.shape[0]), np.float32)
        for game, final in zip(ended, finals, strict=True):
            final[: self.visible] = infos[game]["terminal_observation"]
            infos[game]["terminal_observation"] = final
        return self.with_hidden(observations), rewards, dones, infos

    def with_hidden(
        self, observations: np.ndarray, games: LearnerGames | None = None
    ) -> np.ndarray:
        """`observations` of the games, or of copies of them, with the hidden cards appended."""
        games = self._games.games if games is None else games
        wide = np.empty((games.num_games, self.observation_space.shape[0]), np.float32)
        wide[:, : self.visible] = observations
        write_hidden_rows(
            games.rules._table,
            games.rows,
            self._kinds,
            games.orders,
            self._scratch,
            wide[:, self.visible :],
        )
        return wide

    def state(self) -> dict[str, np.ndarray]:
        """`LearnerVecEnv.state`; this wrapper has no state of its own."""
        found: dict[str, np.ndarray] = self.venv.state()
        return found

    def set_state(self, state: dict[str, np.ndarray]) -> np.ndarray:
        """Continue from a `state`; returns the observations."""
        return self.with_hidden(self.venv.set_state(state))
