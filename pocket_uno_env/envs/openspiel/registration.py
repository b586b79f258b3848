"""The name ``spiel`` among the agents; the entry point in pyproject.toml leads here.

It needs no OpenSpiel, so that the name can be listed, and explained, where OpenSpiel is missing.
"""

from __future__ import annotations

from pocket_uno_env.agents.agent import Agent
from pocket_uno_env.agents.registry import import_extra, register


@register("spiel", argument="BOT", holds_agents=False)
def make_bot(argument: str) -> Agent:
    """A bot of OpenSpiel: random, ismcts:N or mcts:N (docs/ecosystem/openspiel.md)."""
    bots = import_extra("pocket_uno_env.envs.openspiel.bots", "spiel", f"spiel:{argument}")
    agent: Agent = bots.parse(argument)
    return agent
