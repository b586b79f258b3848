"""Advice: what another agent would do, shown to the network beside its observation.

The network then starts from a good player's choices and learns where to depart from them. The
adviser sees what the seat may know and nothing else, and is asked in play as in training.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from pocket_uno_env.agents import Agent
from pocket_uno_env.sb3_env import LearnerVecEnv


class Advice(VecEnvWrapper):
    """Adds the adviser's action, one-hot in the view, to the right of the observations.

    A round that is over has zeros there.
    """

    def __init__(self, venv: VecEnv, adviser: Agent) -> None:
        self._games: LearnerVecEnv = venv.unwrapped
        self._known = int(venv.observation_space.shape[0])
        size = self._known + int(venv.action_space.n)
        super().__init__(venv, spaces.Box(0.0, 1.0, (size,), np.float32))
        adviser.check(self._games.rules, self._games.num_players)
        self.adviser = adviser

    def reset(self) -> np.ndarray:
        """The observations with the advice."""
        return self._advised(self.venv.reset())

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """The same for a step."""
        observations, rewards, dones, infos = self.venv.step_wait()
        for game in np.flatnonzero(dones):
            final = infos[game]["terminal_observation"]
            none = np.zeros(self.observation_space.shape[0] - self._known, np.float32)
            infos[game]["terminal_observation"] = np.concatenate([final, none])
        return self._advised(observations), rewards, dones, infos

    def state(self) -> dict[str, np.ndarray]:
        """What the games' state is; nothing is kept here."""
        found: dict[str, np.ndarray] = self.venv.state()
        return found

    def set_state(self, state: dict[str, np.ndarray]) -> np.ndarray:
        """Go on from a `state`; returns the observations."""
        return self._advised(self.venv.set_state(state))

    def _advised(self, observations: np.ndarray) -> np.ndarray:
        wide = np.zeros((self.num_envs, self.observation_space.shape[0]), np.float32)
        wide[:, : self._known] = observations
        wide[np.arange(self.num_envs), self._known + self._games.ask(self.adviser)] = 1
        return wide
