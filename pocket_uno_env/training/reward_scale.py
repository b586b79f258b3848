"""How large rewards are, so that the weights of losses mean the same for every kind of reward.

A discount towards 0 makes losses worth less the later they come, and a learner that is losing
learns to besiege its opponents. So all is discounted towards the worst loss: that keeps its value,
and all else is worth less the later. It comes to the same as a cost of each decision after which
the round goes on, one minus gamma times the worst loss (`ppo.Monitor`).
"""

from __future__ import annotations

import numpy as np

from pocket_uno_env.agents.scripted.policies import Policy
from pocket_uno_env.batch import Batch
from pocket_uno_env.envs.learner_games import LearnerGames

GAMES = 1024
STEPS = 300
"""Decisions in each of the games, enough for several rounds of most."""


def worst_payoff(games: LearnerGames) -> float:
    """The most that a seat can lose, but for points, where it is a whole match."""
    return 1 / (games.num_players - 1) if games.reward == "win" else 1.0


def reward_scale(games: LearnerGames) -> float:
    """One over the root mean square of what a round pays a seat, between copies of ``strong``.

    The reward of a win is 1 as it is, and is not scaled.
    """
    if games.reward == "win":
        return 1.0
    scores = games.starting_scores
    batch = Batch(GAMES, games.rules, games.num_players, reward=games.reward, scores=scores)
    actions = np.zeros(GAMES, np.int64)
    payoffs = np.zeros((GAMES, games.num_players), np.float32)
    ends = np.zeros(GAMES, np.uint8)
    batch.reset(0)
    squares: list[np.ndarray] = []
    for _ in range(STEPS):
        batch.play(Policy.STRONG, actions, payoffs=payoffs, ends=ends)
        squares.append(np.square(payoffs[payoffs.any(1)], dtype=np.float64).mean(1))
    return float(1 / np.sqrt(np.concatenate(squares).mean()))
