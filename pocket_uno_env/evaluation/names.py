"""Agents under names of one's own: ``mine=runs/a`` is ``runs/a``, and tables call it ``mine``."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from pocket_uno_env.agents.agent import Agent, AgentError
from pocket_uno_env.agents.registry import load, names, networks, runs_code

from .games import ArenaError


def split_alias(text: str) -> tuple[str | None, str]:
    """The alias in front of an agent, and the agent as `load` takes it.

    An alias is letters, digits, dots, dashes and underscores before the first ``=``. There is none
    in ``search:playouts=9``, nor in a path that exists, such as ``lr=0.1``.
    """
    found = re.fullmatch(r"([\w.-]+)=(.+)", text)
    return (None, text) if found is None or os.path.exists(text) else (found[1], found[2])


def title_of(text: str) -> str:
    """What tables call the agent that `text` names."""
    alias, spec = split_alias(text)
    return alias or spec


def load_named(text: str) -> Agent:
    """The agent that `text` names, under its alias if it has one: ``NAME=AGENT``.

    The alias is what tables and records show, and nothing else: the games are the same.

    Raises
    ------
    AgentError
        Also for an alias that is the name of another agent.
    """
    alias, spec = split_alias(text)
    if alias is not None and alias in {*names(), *networks()}:
        raise AgentError(f"{text!r} calls an agent {alias!r}, which is another one's name")
    agent = load(spec)
    agent.alias = alias
    return agent


def named_code(text: str) -> bool:
    """`registry.runs_code` of an agent that may have an alias."""
    return runs_code(split_alias(text)[1])


def check_titles(agents: Sequence[Agent]) -> None:
    """Raise ArenaError if two agents would be called the same in tables."""
    titles = [agent.title for agent in agents]
    for title in titles:
        if titles.count(title) > 1:
            raise ArenaError(
                f"two agents are called {title!r}; expected a name of its own for each, as in "
                "NAME=AGENT"
            )
