"""Lookahead before PPO: the advantage of every legal action, from copies of the game.

PPO learns from the one action that was taken, and most of its return is luck. Games are rows: here
every legal action is taken in a copy, with the same cards and the same randomness, up to the
learner's next decision, and the critic, which sees all hands, estimates the value of the position
reached. The actor follows the gradient of its expected value, the sum over all actions of
probability times q-value. What it cannot see averages out over the positions that look the same to
it, as in the determinizations of a search.

Source: the gradient over all actions is that of R. Sutton and others, "Policy Gradient Methods for
Reinforcement Learning with Function Approximation", NIPS 1999; a critic that sees what the actor
may not, and the same randomness for all actions, are those of J. Foerster and others,
"Counterfactual Multi-Agent Policy Gradients", AAAI 2018, with copies in place of a critic of
actions.
"""

from __future__ import annotations

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from torch import Tensor, nn

from pocket_uno_env.cli.progress import Report
from pocket_uno_env.envs.learner_games import LearnerGames
from pocket_uno_env.rules.phases import End

from .all_hands import AllHands
from .imitation import AfterRollout, start_games
from .networks import MaskedPolicy

CERTAIN = 0.99
"""Probability of an action from which on a decision is skipped: its gradient is close to zero, and
most decisions are of this kind."""
LAMBDA = 0.7
"""Of the lambda-returns that the critic learns; the advantages do not depend on it."""


def look_ahead(
    model: MaskablePPO,
    steps: int,
    learning_rate: float,
    batch_size: int,
    entropy_weight: float,
    report: Report,
    made: int = 0,
    after_rollout: AfterRollout = lambda model, made: None,
) -> None:
    """Play `steps` decisions of the learner; improve actor and critic after each rollout.

    Parameters
    ----------
    learning_rate, entropy_weight : float
        The learning rate and the weight of the entropy bonus at the start; both fall linearly to
        zero.
    batch_size : int
        Decisions in a gradient step; for the actor only the uncertain ones count.
    made : int
        How many of the decisions were made before a restart.
    after_rollout : AfterRollout
    """
    env = model.env
    policy: MaskedPolicy = model.policy
    policy.set_training_mode(True)
    if model._last_obs is None:
        start_games(model)
    shape = (model.n_steps, env.num_envs)
    observations = np.empty((*shape, model._last_obs.shape[1]), np.float32)
    rewards, dones = np.empty(shape, np.float32), np.empty(shape, bool)
    while made < steps:
        remaining = 1 - made / steps
        decisions = []
        for t in range(model.n_steps):
            observations[t] = model._last_obs
            actions, uncertain = _act(model)
            decisions.append(uncertain)
            model._last_obs, rewards[t], dones[t], _ = env.step(actions)
        model._last_episode_starts = dones[-1].copy()
        for group in policy.optimizer.param_groups:
            group["lr"] = learning_rate * remaining
        flat = observations.reshape(-1, observations.shape[2])
        returns = _lambda_returns(model, flat, rewards, dones)
        value_error = _train_critic(model, flat, returns.ravel(), batch_size)
        data = [np.concatenate(arrays) for arrays in zip(*decisions, strict=True)]
        loss, entropy = _train_actor(model, data, batch_size, entropy_weight * remaining)
        made += rewards.size
        if made >= steps:  # before the checkpoint, which is where the next stage begins
            policy.optimizer.state.clear()
        share = len(data[0]) / rewards.size
        shown = {"uncertain": share, "entropy": entropy, "value_error": value_error, "loss": loss}
        report(made, shown)
        after_rollout(model, made)


def _act(model: MaskablePPO) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Sample an action in each game.

    Returns
    -------
    actions
    observations, masks, advantages
        Of the uncertain decisions: what the actor saw, the legal actions, `action_advantages`.
    """
    policy: MaskedPolicy = model.policy
    observations = model._last_obs[:, : policy.visible]
    masks = model.env.unwrapped.action_masks()
    with torch.no_grad():
        legal = torch.from_numpy(masks)
        log_probs = policy.log_probs(torch.from_numpy(observations), legal)
        actions = policy.sample(log_probs, legal).numpy()
        uncertain = np.flatnonzero(log_probs.amax(1).numpy() < np.log(CERTAIN))
    advantages = action_advantages(model, uncertain, masks[uncertain])
    return actions, (observations[uncertain], masks[uncertain], advantages)


def action_advantages(model: MaskablePPO, index: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """The q-value of each legal action, less the mean over the legal actions.

    Parameters
    ----------
    index : int64 array, shape ``(m,)``
        Games in which the learner is to act; they are not changed.
    masks : bool array, shape ``(m, n_actions)``
        Their legal actions, in the view.

    Returns
    -------
    float32 array, shape ``(m, n_actions)``
        0 for illegal actions.
    """
    games: LearnerGames = model.env.unwrapped.games
    place, action = np.nonzero(masks)
    copies = games.copies(index[place])
    copies.step(copies.everywhere, action)
    over = copies.ends != End.RUNNING
    rewards = model.env.to_learner(copies.rewards, over)
    observations = copies.look()
    venv = model.env.venv
    if isinstance(venv, AllHands):
        observations = venv.with_hidden(observations, copies)
    q_values = rewards + np.where(over, 0, model.gamma * _values(model, observations))
    advantages = np.zeros(masks.shape, np.float32)
    advantages[place, action] = q_values
    means = advantages.sum(1) / masks.sum(1)
    advantages[place, action] -= means[place]
    return advantages


def _values(model: MaskablePPO, observations: np.ndarray) -> np.ndarray:
    """The critic's values, shape ``(m,)``."""
    with torch.no_grad():
        values: Tensor = model.policy.predict_values(torch.from_numpy(observations))
    return values[:, 0].numpy()


def _lambda_returns(
    model: MaskablePPO, observations: np.ndarray, rewards: np.ndarray, dones: np.ndarray
) -> np.ndarray:
    """The lambda-returns of a rollout: float32, the shape of `rewards`."""
    values = _values(model, observations).reshape(rewards.shape)
    next_value = next_return = _values(model, model._last_obs)
    returns = np.empty_like(rewards)
    for t in reversed(range(len(rewards))):
        target = model.gamma * ((1 - LAMBDA) * next_value + LAMBDA * next_return)
        returns[t] = next_return = rewards[t] + np.where(dones[t], 0, target)
        next_value = values[t]
    return returns


def _train_critic(
    model: MaskablePPO, observations: np.ndarray, returns: np.ndarray, batch_size: int
) -> float:
    """One epoch of the critic over shuffled decisions; the mean error."""
    policy: MaskedPolicy = model.policy
    errors = []
    for part in _minibatches(len(observations), batch_size):
        values = policy.predict_values(torch.from_numpy(observations[part]))[:, 0]
        error = nn.functional.mse_loss(values, torch.from_numpy(returns[part]))
        _gradient_step(model, error)
        errors.append(error.item())
    return float(np.mean(errors))


def _train_actor(
    model: MaskablePPO, data: list[np.ndarray], batch_size: int, entropy_weight: float
) -> tuple[float, float]:
    """One epoch of the actor over shuffled uncertain decisions; the mean loss and entropy."""
    policy: MaskedPolicy = model.policy
    if not len(data[0]):
        return 0.0, 0.0
    figures = []
    for part in _minibatches(len(data[0]), batch_size):
        observations, legal, advantages = (torch.from_numpy(array[part]) for array in data)
        log_probs = policy.log_probs(observations, legal)
        loss, entropy = policy_loss(log_probs, advantages, entropy_weight)
        _gradient_step(model, loss)
        figures.append((loss.item(), entropy.item()))
    mean_loss, mean_entropy = np.mean(figures, axis=0)
    return float(mean_loss), float(mean_entropy)


def policy_loss(
    log_probs: Tensor, advantages: Tensor, entropy_weight: float
) -> tuple[Tensor, Tensor]:
    """The actor's loss over all actions, and the mean entropy.

    Parameters
    ----------
    log_probs, advantages : Tensor, shape ``(m, n_actions)``
    """
    probabilities = log_probs.exp()
    entropy = -(probabilities * log_probs).sum(1).mean()
    return -(probabilities * advantages).sum(1).mean() - entropy_weight * entropy, entropy


def _minibatches(count: int, batch_size: int) -> list[np.ndarray]:
    """Indices in random order, in parts of about `batch_size`."""
    return np.array_split(np.random.permutation(count), max(round(count / batch_size), 1))


def _gradient_step(model: MaskablePPO, loss: Tensor) -> None:
    """One step of the optimizer, with clipped gradients."""
    policy: MaskedPolicy = model.policy
    policy.optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(policy.parameters(), model.max_grad_norm)
    policy.optimizer.step()
