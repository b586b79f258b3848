"""What the training keeps of ended rounds is what Stable-Baselines3's own classes keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import VecMonitor

from pocket_uno_env.envs.sb3 import LearnerVecEnv
from pocket_uno_env.training.ppo import Monitor, Ppo


def without_time(infos: list[dict[str, Any]]) -> list[Any]:
    """The infos as values that compare, with the types of the figures, without the times."""
    found = []
    for info in infos:
        about = {k: v for k, v in info.items() if k not in ("episode", "terminal_observation")}
        if info:
            episode = info["episode"]
            assert isinstance(episode["t"], float) and episode["t"] >= 0
            figures = [(type(episode[key]), episode[key]) for key in ("r", "l")]
            about |= {"figures": figures, "last": info["terminal_observation"].tobytes()}
        found.append(about)
    return found


@pytest.mark.parametrize("reward", ["win", "points"])
def test_the_monitor_says_what_vec_monitor_says(reward: str) -> None:
    usual, ours = (
        kind(LearnerVecEnv(9, seed=1, reward=reward, max_cycles=12))
        for kind in (VecMonitor, Monitor)
    )
    ended = 0
    for start in range(2):
        assert np.array_equal(usual.reset(), ours.reset())
        rng = np.random.default_rng(start)
        for _ in range(60):
            masks = np.stack(ours.env_method("action_masks"))
            actions = (masks * rng.random(masks.shape)).argmax(axis=1)
            theirs, mine = usual.step(actions), ours.step(actions)
            assert all(map(np.array_equal, theirs[:3], mine[:3]))
            assert without_time(theirs[3]) == without_time(mine[3])
            assert np.array_equal(usual.episode_returns, ours.episode_returns)
            assert np.array_equal(usual.episode_lengths, ours.episode_lengths)
            assert usual.episode_count == ours.episode_count
            ended += int(theirs[2].sum())
    assert ended > 20


def test_the_model_keeps_what_maskable_ppo_keeps() -> None:
    kept = []
    for kind, monitor in ((MaskablePPO, VecMonitor), (Ppo, Monitor)):
        env = monitor(LearnerVecEnv(9, seed=1, max_cycles=12))
        model = kind("MlpPolicy", env, n_steps=40, batch_size=90, seed=2, stats_window_size=50)
        model.learn(2 * 9 * 40)
        weights = [tensor.detach().numpy().tobytes() for tensor in model.policy.parameters()]
        kept.append(([(e["r"], e["l"]) for e in model.ep_info_buffer], weights))
    assert kept[0] == kept[1] and len(kept[0][0]) == 50
