"""All actions are tried, and the critic judges what comes of them.

PPO learns from the one action that was taken, and most of what followed was luck. Games are rows:
here every legal action is taken in a copy, with the same cards and the same luck, up to the
learner's next decision, and the critic, which sees all hands, says what that is worth. The actor
follows the gradient of what it would win, the sum over all actions of chance times worth. What it
cannot see evens out over the positions that look the same to it, as in the guesses of a search.

Source: the gradient over all actions is that of R. Sutton and others, "Policy Gradient Methods for
Reinforcement Learning with Function Approximation", NIPS 1999; a critic that sees what the actor
may not, and the same luck for all actions, is that of J. Foerster and others, "Counterfactual
Multi-Agent Policy Gradients", AAAI 2018, with copies in place of a critic of actions.
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

SURE = 0.99
"""Chance of an action from which on a decision is passed over: its gradient is next to nothing,
and most decisions are sure."""
LAMBDA = 0.7
"""How far the critic's targets look beyond its own next value; what is tried is not drawn by it."""


def look_ahead(
    model: MaskablePPO,
    steps: int,
    learning_rate: float,
    batch_size: int,
    entropy: float,
    report: Report,
    made: int = 0,
    after_rollout: AfterRollout = lambda model, made: None,
) -> None:
    """Play `steps` decisions of the learner; improve actor and critic after each rollout.

    Parameters
    ----------
    learning_rate, entropy : float
        The learning rate and the weight of the entropy bonus at the start; both fall to nothing in
        a straight line.
    batch_size : int
        Decisions in a gradient step; for the actor those count that were not sure.
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
    seen = np.empty((*shape, model._last_obs.shape[1]), np.float32)
    rewards, ends = np.empty(shape, np.float32), np.empty(shape, bool)
    while made < steps:
        remaining = 1 - made / steps
        tried = []
        for t in range(model.n_steps):
            seen[t] = model._last_obs
            actions, found = _decide(model)
            tried.append(found)
            model._last_obs, rewards[t], ends[t], _ = env.step(actions)
        model._last_episode_starts = ends[-1].copy()
        for group in policy.optimizer.param_groups:
            group["lr"] = learning_rate * remaining
        flat = seen.reshape(-1, seen.shape[2])
        returns = _returns(model, flat, rewards, ends)
        error = _learn_values(model, flat, returns.ravel(), batch_size)
        parts = [np.concatenate(arrays) for arrays in zip(*tried, strict=True)]
        chaos = _learn_actions(model, parts, batch_size, entropy * remaining)
        made += rewards.size
        if made >= steps:  # before the checkpoint, which is where the next stage begins
            policy.optimizer.state.clear()
        unsure = len(parts[0]) / rewards.size
        report(made, {"unsure": unsure, "entropy": chaos, "value_error": error})
        after_rollout(model, made)


def _decide(model: MaskablePPO) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Draw an action in each game.

    Returns
    -------
    actions
    seen, masks, gains
        For the decisions that were not sure: what the actor saw, what was legal, what `try_all`
        found.
    """
    policy: MaskedPolicy = model.policy
    seen, masks = model._last_obs[:, : policy.visible], model.env.unwrapped.action_masks()
    with torch.no_grad():
        legal = torch.from_numpy(masks)
        log_chances = policy.log_chances(torch.from_numpy(seen), legal)
        actions = policy.draw(log_chances, legal).numpy()
        unsure = np.flatnonzero(log_chances.amax(1).numpy() < np.log(SURE))
    gains = try_all(model, unsure, masks[unsure])
    return actions, (seen[unsure], masks[unsure], gains)


def try_all(model: MaskablePPO, index: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """What each legal action is worth, over the mean of all.

    Parameters
    ----------
    index : int64 array, shape ``(m,)``
        Games in which the learner has to act; they are not changed.
    masks : bool array, shape ``(m, n_actions)``
        Their legal actions, in the view.

    Returns
    -------
    float32 array, shape ``(m, n_actions)``
        0 for what is not legal.
    """
    games: LearnerGames = model.env.unwrapped.games
    place, action = np.nonzero(masks)
    copies = games.copies(index[place])
    copies.step(copies.everywhere, action)
    worth = copies.rewards.astype(np.float32)
    going_on = copies.ends == End.RUNNING
    observations = copies.look()
    venv = model.env.venv
    if isinstance(venv, AllHands):
        observations = venv.with_hidden(observations, copies)
    worth = np.where(going_on, _before(model, _values(model, observations)), worth)
    gains = np.zeros(masks.shape, np.float32)
    gains[place, action] = worth
    means = gains.sum(1) / masks.sum(1)
    gains[place, action] -= means[place]
    return gains


def _before(model: MaskablePPO, worth: np.ndarray) -> np.ndarray:
    """What is worth so much at the learner's next decision is worth now.

    The discount begins at a loss, which keeps its worth: else it would pay to put losses off, and
    the actor learns to besiege its opponents.
    """
    loss = np.float32(1 / (model.env.unwrapped.num_players - 1))
    return np.asarray(model.gamma * (worth + loss) - loss)


def _values(model: MaskablePPO, observations: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        found: np.ndarray = model.policy.predict_values(torch.from_numpy(observations))[
            :, 0
        ].numpy()
    return found


def _returns(
    model: MaskablePPO, seen: np.ndarray, rewards: np.ndarray, ends: np.ndarray
) -> np.ndarray:
    """The lambda-returns of a rollout: float32, the shape of `rewards`."""
    values = _values(model, seen).reshape(rewards.shape)
    following = target = _values(model, model._last_obs)
    returns = np.empty_like(rewards)
    for t in reversed(range(len(rewards))):
        ahead = (1 - LAMBDA) * following + LAMBDA * target
        returns[t] = target = np.where(ends[t], rewards[t], _before(model, ahead))
        following = values[t]
    return returns


def _learn_values(
    model: MaskablePPO, seen: np.ndarray, returns: np.ndarray, batch_size: int
) -> float:
    """One pass over what the critic is to learn, in random order; the mean error."""
    policy: MaskedPolicy = model.policy
    errors = []
    for part in _batches(len(seen), batch_size):
        values = policy.predict_values(torch.from_numpy(seen[part]))[:, 0]
        error = nn.functional.mse_loss(values, torch.from_numpy(returns[part]))
        _descend(model, error)
        errors.append(error.item())
    return float(np.mean(errors))


def _learn_actions(
    model: MaskablePPO, data: list[np.ndarray], batch_size: int, entropy: float
) -> float:
    """One pass over what the actor is to learn, in random order; the mean entropy."""
    policy: MaskedPolicy = model.policy
    if not len(data[0]):
        return 0.0  # all were sure
    found = []
    for part in _batches(len(data[0]), batch_size):
        observations, legal, worth = (torch.from_numpy(array[part]) for array in data)
        loss, chaos = loss_of(policy.log_chances(observations, legal), worth, entropy)
        _descend(model, loss)
        found.append(chaos.item())
    return float(np.mean(found))


def loss_of(log_chances: Tensor, gains: Tensor, entropy: float) -> tuple[Tensor, Tensor]:
    """What is to be made small, and the mean entropy of m decisions; both ``(m, n_actions)``."""
    chances = log_chances.exp()
    chaos = -(chances * log_chances).sum(1).mean()
    return -(chances * gains).sum(1).mean() - entropy * chaos, chaos


def _batches(count: int, batch_size: int) -> list[np.ndarray]:
    """Places in random order, in parts of about `batch_size`."""
    return np.array_split(np.random.permutation(count), max(round(count / batch_size), 1))


def _descend(model: MaskablePPO, loss: Tensor) -> None:
    """A gradient step for the network, actor or critic, that the loss is of."""
    policy: MaskedPolicy = model.policy
    policy.optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(policy.parameters(), model.max_grad_norm)
    policy.optimizer.step()
