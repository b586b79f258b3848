"""Another agent that errs: with a given probability it takes a random legal action instead.

Agents of graded strength, from one that is known: what a measurement of strength is tested with,
and opponents as weak as one likes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pocket_uno_env.agents.scripted.policies import Policy, act_rows_unchecked
from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.compiled.rng import next_state, uniform
from pocket_uno_env.rules.rules import Rules

from .agent import Agent, AgentError


@kernel
def _toss(rows: Any, index: Any, chance: Any, heads: Any) -> None:
    """Toss a coin in each of ``rows[index]`` with the row's policy generator."""
    for j in range(index.shape[0]):
        row = rows[index[j]]
        row.policy_rng = next_state(row.policy_rng)
        heads[j] = uniform(row.policy_rng) < chance


class NoisyAgent(Agent):
    """`agent`, but with probability `chance` a random legal action at each decision.

    Parameters
    ----------
    chance : float
        In [0, 1].
    agent : Agent
    """

    def __init__(self, chance: float, agent: Agent) -> None:
        if not 0 <= chance <= 1:
            raise AgentError(f"the chance of a random action is {chance}; expected 0 to 1")
        self.name = f"noisy:{chance:g},{agent.name}"
        self.chance = chance
        self.agent = agent
        self.clairvoyant = agent.clairvoyant
        self.repeatable = agent.repeatable
        self.budget = agent.budget

    def check(self, rules: Rules, num_players: int) -> None:
        """Ask the agent below."""
        self.agent.check(rules, num_players)

    def act_rows(self, rules: Rules, rows: np.ndarray, index: np.ndarray) -> np.ndarray:
        """See `Agent.act_rows`."""
        random = np.zeros(len(index), np.bool_)
        _toss(rows, index, self.chance, random)
        actions = np.zeros(len(index), np.int64)
        erring = index[random]
        drawn = np.zeros(len(erring), np.int64)
        act_rows_unchecked(rules._table, rows, erring, int(Policy.RANDOM), drawn)
        actions[random] = drawn
        if not random.all():
            actions[~random] = self.agent.act_rows(rules, rows, index[~random])
        return actions
