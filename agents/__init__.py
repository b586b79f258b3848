"""Agents: one small protocol, a registry of names, scripted policies and trained models.

In a clone this package stands at the top as ``agents/``; it is installed, and imported, as
``pocket_uno_env.agents``. Loading scripted agents needs no PyTorch.
"""

from .agent import Agent, AgentError, ObservationAgent, Opinion
from .registry import describe, load, names, networks, register

__all__ = [
    "Agent",
    "AgentError",
    "ObservationAgent",
    "Opinion",
    "describe",
    "load",
    "names",
    "networks",
    "register",
]
