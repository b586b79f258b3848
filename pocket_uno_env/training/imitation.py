"""Imitation before PPO: the actor learns a teacher's actions, the critic their returns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from torch import nn

from pocket_uno_env.agents import Agent
from pocket_uno_env.cli.progress import Report
from pocket_uno_env.envs.sb3 import LearnerVecEnv

from .networks import MaskedPolicy

LAST_RATE = 0.05
"""The learning rate at the end, as a fraction of the initial one."""
AfterRollout = Callable[[MaskablePPO, int], None]
"""Called between rollouts, where a checkpoint may be written: the model, decisions so far."""


def imitate(
    model: MaskablePPO,
    teacher: Agent,
    steps: int,
    learning_rate: float,
    batch_size: int,
    report: Report,
    made: int = 0,
    after_rollout: AfterRollout = lambda model, made: None,
) -> None:
    """Behavioral cloning of the teacher for the actor, and its returns for the critic.

    The teacher plays the learner's seat against the opponents of the training, for `steps`
    decisions. Every decision is learned from once, so there is no overfitting. The model can
    continue to learn from the games as they then are.

    Parameters
    ----------
    learning_rate : float
        At the start; it falls linearly to `LAST_RATE` of that.
    made : int
        How many of the decisions were made before a restart; 0 starts new games.
    after_rollout : AfterRollout
    """
    env = model.env
    games: LearnerVecEnv = env.unwrapped
    policy: MaskedPolicy = model.policy
    policy.set_training_mode(True)
    n, length = env.num_envs, model.n_steps
    if made == 0:
        start_games(model)
    shape, n_actions = (length, n), games.action_space.n
    observations = np.empty((*shape, model._last_obs.shape[1]), np.float32)
    masks, actions = np.empty((*shape, n_actions), bool), np.empty(shape, np.int64)
    returns, rewards = np.empty(shape, np.float32), np.empty(shape, np.float32)
    dones = np.empty(shape, bool)
    while made < steps:
        for t in range(length):
            observations[t], masks[t] = model._last_obs, games.action_masks()
            actions[t] = games.ask(teacher)
            model._last_obs, rewards[t], dones[t], _ = env.step(actions[t])
        model._last_episode_starts = dones[-1].copy()
        with torch.no_grad():
            next_return = policy.predict_values(torch.from_numpy(model._last_obs))[:, 0].numpy()
        for t in reversed(range(length)):
            returns[t] = rewards[t] + np.where(dones[t], 0, model.gamma * next_return)
            next_return = returns[t]
        for group in policy.optimizer.param_groups:
            group["lr"] = learning_rate * max(1 - made / steps, LAST_RATE)
        rollout = (observations, masks, actions, returns)
        flat = [array.reshape(length * n, *array.shape[2:]) for array in rollout]
        figures = _train_epoch(model, flat, batch_size)
        made += length * n
        if made >= steps:  # before the checkpoint, which is where the next stage begins
            policy.optimizer.state.clear()
        report(made, figures)
        after_rollout(model, made)


def start_games(model: MaskablePPO) -> None:
    """Reset the environments, as ``MaskablePPO.learn`` does."""
    model._last_obs = model.env.reset()
    model._last_episode_starts = np.ones(model.env.num_envs, bool)


def _train_epoch(model: MaskablePPO, data: list[np.ndarray], batch_size: int) -> dict[str, float]:
    """One epoch over shuffled data; the means of cross-entropy, value error and entropy."""
    policy: MaskedPolicy = model.policy
    count = len(data[0])
    order = np.random.permutation(count)
    losses = []
    for start in range(0, count, batch_size):
        part = order[start : start + batch_size]
        observations, legal, actions, returns = (torch.from_numpy(array[part]) for array in data)
        log_probs = policy.log_probs(observations, legal)
        loss = nn.functional.nll_loss(log_probs, actions)
        error = nn.functional.mse_loss(policy.predict_values(observations)[:, 0], returns)
        policy.optimizer.zero_grad()
        (loss + model.vf_coef * error).backward()
        nn.utils.clip_grad_norm_(policy.parameters(), model.max_grad_norm)
        policy.optimizer.step()
        entropy = -(log_probs.detach().exp() * log_probs.detach()).sum(1).mean()
        losses.append((loss.item(), error.item(), entropy.item()))
    means = np.mean(losses, axis=0).tolist()
    return dict(zip(("loss", "value_error", "entropy"), means, strict=True))
