"""The scripted policies as agents."""

from __future__ import annotations

import numpy as np

from pocket_uno_env.agents.agent import Agent
from pocket_uno_env.rules.rules import Rules

from .policies import STOCHASTIC, Policy, act_rows_unchecked


class ScriptedAgent(Agent):
    """Plays by a compiled policy; its randomness comes from the row it acts in."""

    policy: int
    _proven = True

    def __init__(self, policy: Policy) -> None:
        self.policy = int(policy)
        self.name = policy_name(policy)
        self.deterministic = policy not in STOCHASTIC

    def act_rows(self, rules: Rules, rows: np.ndarray, index: np.ndarray) -> np.ndarray:
        """See `Agent.act_rows`."""
        actions = np.zeros(len(index), np.int64)
        act_rows_unchecked(rules._table, rows, index, self.policy, actions)
        return actions


def policy_name(policy: Policy) -> str:
    """The name a policy is loaded by: lower case, with hyphens."""
    return policy.name.lower().replace("_", "-")
