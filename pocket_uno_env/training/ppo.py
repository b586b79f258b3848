"""MaskablePPO as it is used here: its networks, and the schedules of its coefficients."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv, VecMonitor
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn
from torch import nn

from .networks import MaskedPolicy
from .rollout_buffer import RolloutBuffer


def linear_schedule(first: float, last: float) -> Callable[[float], float]:
    """A schedule from `first` to `last` that is linear in the fraction of training remaining.

    The last rollout may go beyond the planned steps, so that the fraction is negative: it counts
    as 0.
    """
    return lambda remaining: last + (first - last) * max(remaining, 0.0)


class Monitor(VecMonitor):
    """SB3's ``VecMonitor``, which looks at the rounds that have ended and not at all games.

    Parameters
    ----------
    venv : VecEnv
    reward_scale : float
        Rewards are multiplied by this for the learner, not in the books.
    time_cost : float
        What each decision after which the episode goes on takes off the learner's reward.
    """

    def __init__(self, venv: VecEnv, reward_scale: float = 1.0, time_cost: float = 0.0) -> None:
        super().__init__(venv)
        self.reward_scale = np.float32(reward_scale)
        self.time_cost = np.float32(time_cost)

    def to_learner(self, rewards: np.ndarray, dones: np.ndarray) -> np.ndarray:
        """Rewards as the learner gets them, float32, the shape of `rewards`."""
        scaled = rewards.astype(np.float32) * self.reward_scale
        return np.asarray(scaled - np.where(dones, np.float32(0), self.time_cost))

    def step_wait(self) -> VecEnvStepReturn:
        """A step, with the return, length and time of each round that it ended as ``"episode"``."""
        observations, rewards, dones, infos = self.venv.step_wait()
        self.episode_returns += rewards
        self.episode_lengths += 1
        passed = round(time.time() - self.t_start, 6)
        ended = np.flatnonzero(dones)
        for i in ended.tolist():
            about = {"r": self.episode_returns[i], "l": self.episode_lengths[i], "t": passed}
            infos[i] = {**infos[i], "episode": about}
        self.episode_count += len(ended)
        self.episode_returns[ended] = 0
        self.episode_lengths[ended] = 0
        return observations, self.to_learner(rewards, dones), dones, infos


class Ppo(MaskablePPO):
    """sb3-contrib's ``MaskablePPO``, which likewise keeps the books of ended rounds alone."""

    def _update_info_buffer(
        self, infos: list[dict[str, Any]], dones: np.ndarray | None = None
    ) -> None:
        if dones is not None:
            infos = [infos[i] for i in np.flatnonzero(dones).tolist()]
        super()._update_info_buffer(infos)


class EntropyWeight(BaseCallback):
    """Schedules the weight of the entropy bonus, which is constant in sb3-contrib."""

    def __init__(self, schedule: Callable[[float], float]) -> None:
        super().__init__()
        self.schedule = schedule

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        remaining = 1 - self.num_timesteps / self.model._total_timesteps
        self.model.ent_coef = self.schedule(remaining)
        self.logger.record("train/entropy_weight", self.model.ent_coef)


def make_model(
    env: VecEnv,
    *,
    visible: int,
    network: tuple[int, ...],
    critic_network: tuple[int, ...] | None = None,
    learning_rate: Callable[[float], float],
    bfloat16: bool,
    seed: int,
    reward_scale: float = 1.0,
    time_cost: float = 0.0,
    **settings: Any,
) -> MaskablePPO:
    """MaskablePPO with `MaskedPolicy` on a monitored environment.

    Parameters
    ----------
    env : VecEnv
    visible : int
        How many values of an observation the actor sees; the critic sees those of `AllHands` too.
    network, critic_network : tuple of int
        Sizes of the hidden layers; `critic_network` is `network` by default.
    learning_rate : callable
        A schedule: called with the fraction of training remaining, from 1 to 0.
    bfloat16 : bool
        See `MaskedPolicy`.
    reward_scale, time_cost : float
        See `Monitor`.
    **settings
        Passed to MaskablePPO.
    """
    return Ppo(
        MaskedPolicy,
        Monitor(env, reward_scale, time_cost),
        learning_rate=learning_rate,
        policy_kwargs={
            "net_arch": {"pi": list(network), "vf": list(critic_network or network)},
            "activation_fn": nn.ReLU,
            "optimizer_kwargs": {"eps": 1e-5, "fused": True},
            "visible": visible,
            "bfloat16": bfloat16,
        },
        rollout_buffer_class=RolloutBuffer,
        rollout_buffer_kwargs={"bfloat16": bfloat16},
        seed=seed,
        device="cpu",
        stats_window_size=2000,
        **settings,
    )
