"""What a teacher can teach: to act as it does, or what each action wins if it plays on.

The second lesson is policy iteration with the teacher as the policy to improve on. Games are rows,
so each legal action can be tried on a copy, with the true cards and the same luck for all; the
network learns the mean over all the positions that look the same to it.

Source: G. Tesauro, G. Galperin, "On-line Policy Improvement using Monte-Carlo Search", NIPS 1996,
whose rollouts are learned from here instead of played.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from torch import Tensor

from pocket_uno_env.agents import Agent, AgentError
from pocket_uno_env.engine import apply, truncate
from pocket_uno_env.kernel import kernel
from pocket_uno_env.payoff import REWARDS, round_payoffs
from pocket_uno_env.sb3_env import LearnerVecEnv
from pocket_uno_env.scripted import act
from pocket_uno_env.state import End

MAX_CYCLES = 2_000
"""Decisions after which a round that is played on is truncated."""
TEMPERATURE = 0.05
"""The policy after the lesson is the softmax of what actions win, over this: it mostly takes the
best and sometimes one that is nearly as good."""


class Lesson(ABC):
    """Decides in the learner's place, and says what the actor should learn from it."""

    @abstractmethod
    def act(self, model: MaskablePPO) -> tuple[np.ndarray, np.ndarray]:
        """Actions of the view, int64 ``(n,)``, and targets, float32 ``(n, n_actions)``."""

    @abstractmethod
    def loss(self, logits: Tensor, legal: Tensor, targets: Tensor) -> Tensor:
        """How far the actor is from the targets of m decisions; all ``(m, n_actions)``."""


class Imitation(Lesson):
    """The teacher plays; the targets are its choices, the loss is the cross-entropy."""

    def __init__(self, teacher: Agent) -> None:
        self.teacher = teacher

    def act(self, model: MaskablePPO) -> tuple[np.ndarray, np.ndarray]:
        """See `Lesson.act`."""
        games: LearnerVecEnv = model.env.unwrapped
        actions = games.ask(self.teacher)
        targets = np.zeros((len(actions), games.action_space.n), np.float32)
        targets[np.arange(len(actions)), actions] = 1
        return actions, targets

    def loss(self, logits: Tensor, legal: Tensor, targets: Tensor) -> Tensor:
        """See `Lesson.loss`."""
        log_probs = torch.where(legal, logits, -1e8).log_softmax(1)
        return -(targets * log_probs).sum(1).mean()


class Playouts(Lesson):
    """The network plays; the targets are what each legal action wins if the teacher plays on.

    The opponents play on as they are if they are scripted, as the teacher otherwise.
    """

    def __init__(self, teacher: Agent) -> None:
        if teacher.policy is None:
            raise AgentError(
                f"teacher {teacher.name!r} cannot play on: it is not a scripted agent; imitate it"
            )
        self.policy = teacher.policy

    def act(self, model: MaskablePPO) -> tuple[np.ndarray, np.ndarray]:
        """See `Lesson.act`."""
        games: LearnerVecEnv = model.env.unwrapped
        masks = games.action_masks()
        with torch.no_grad():
            actions, _, _ = model.policy(torch.from_numpy(model._last_obs), action_masks=masks)
        game, action = np.nonzero(masks)
        rows = games.games.rows[game]
        seats = games.games.books["opponents"][game]
        policies = np.where(seats >= 0, seats, self.policy)
        learner = games.games.books["learner"][game]
        policies[np.arange(len(game)), learner] = self.policy
        won = np.zeros(len(game), np.float32)
        play_on(
            games.rules.table,
            rows,
            games.games.in_game(game, action),
            policies,
            learner,
            int(REWARDS[games.games.reward]),
            MAX_CYCLES,
            won,
        )
        targets = np.zeros(masks.shape, np.float32)
        targets[game, action] = won
        means = targets.sum(1) / masks.sum(1)
        targets[game, action] -= means[game]
        return actions.numpy(), targets

    def loss(self, logits: Tensor, legal: Tensor, targets: Tensor) -> Tensor:
        """See `Lesson.loss`."""
        count = legal.sum(1, keepdim=True)
        kept = torch.where(legal, logits * TEMPERATURE, 0.0)
        errors = torch.where(legal, kept - kept.sum(1, keepdim=True) / count - targets, 0.0)
        return (errors**2).sum(1).mean()


@kernel
def play_on(
    rules: Any,
    rows: Any,
    actions: Any,
    policies: Any,
    seats: Any,
    reward: Any,
    max_cycles: Any,
    won: Any,
) -> None:
    """Take an action in each game and let scripted policies play the round to its end.

    Parameters
    ----------
    rows : `state.ROW` array, shape ``(n,)``, changed
    actions : int64 array, shape ``(n,)``
    policies : int64 array, shape ``(n, seats)``
        `scripted.Policy` of each seat.
    seats : int64 array, shape ``(n,)``
        Whose payoff is wanted.
    won : float32 array, shape ``(n,)``, written
    """
    payoffs = np.zeros(np.int64(rows[0].num_players))
    for i in range(rows.shape[0]):
        row = rows[i]
        last = row.decisions + max_cycles
        apply(rules[0], row, actions[i], None, None)
        while row.end == End.RUNNING:
            if row.decisions >= last:
                truncate(row)
            else:
                apply(rules[0], row, act(rules[0], row, policies[i, row.to_act]), None, None)
        round_payoffs(rules[0], row, reward, payoffs)
        won[i] = payoffs[seats[i]]
