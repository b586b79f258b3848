"""Agents that misbehave in one way each."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from pocket_uno_env.agents import Agent, AgentError, Opinion
from pocket_uno_env.rules.rules import Rules


def _raise(error: BaseException) -> Any:
    raise error


class Unwilling:
    """Cannot be made an array."""

    def __array__(self, *arguments: Any, **options: Any) -> Any:
        raise OSError("no array")


ANSWERS: dict[str, Callable[[Any], Any]] = {
    "raises AgentError": lambda rows: _raise(AgentError("the raises AgentError agent broke")),
    "raises ValueError": lambda rows: _raise(ValueError("bad\n\nvalue " + "x" * 9999)),
    "raises nothing said": lambda rows: _raise(RuntimeError()),
    "raises RecursionError": lambda rows: _raise(RecursionError("deep")),
    "raises MemoryError": lambda rows: _raise(MemoryError()),
    "exits": lambda rows: sys.exit(3),
    "exits in words": lambda rows: _raise(SystemExit("bye")),
    "is interrupted": lambda rows: _raise(KeyboardInterrupt()),
    "stops a generator": lambda rows: _raise(GeneratorExit()),
    "stops an iteration": lambda rows: _raise(StopIteration()),
    "answers None": lambda rows: None,
    "answers a text": lambda rows: "draw",
    "answers a number": lambda rows: 60,
    "answers floats": lambda rows: np.array([60.0]),
    "answers objects": lambda rows: np.array([object()]),
    "answers truth": lambda rows: np.array([True]),
    "answers too much": lambda rows: np.array([60, 60]),
    "answers ragged lists": lambda rows: [[1], [2, 3]],
    "answers no array": lambda rows: Unwilling(),
    "answers below": lambda rows: np.array([-1]),
    "answers beyond": lambda rows: np.array([999_999]),
    "answers far beyond": lambda rows: np.array([2**64 - 1], np.uint64),
    "answers a huge number": lambda rows: [10**400],
    "answers a dict": lambda rows: {"action": 60},
    "breaks the game": lambda rows: rows.view(np.uint8).fill(255),
}
"""What such an agent does with the rows that it is asked about."""


class Unruly(Agent):
    """Misbehaves in one of the ways of `ANSWERS`."""

    def __init__(self, way: str) -> None:
        self.name = f"{way} agent"
        self.way = way

    def act_rows(self, rules: Rules, rows: Any, index: Any) -> Any:
        return ANSWERS[self.way](rows)


OPINIONS: dict[str, Any] = {
    "None": None,
    "a text": "play",
    "an action that is none": Opinion(-1),
    "an action as a text": Opinion("draw"),  # type: ignore[arg-type]
    "an action that is not legal": Opinion(999),
    "figures of another shape": {"probabilities": np.zeros(3)},
    "figures that are none": {"probabilities": np.full(123, np.nan)},
    "infinite figures": {"values": np.full(123, np.inf)},
    "figures as texts": {"values": ["a"] * 123},
    "a value that is none": {"value": float("nan")},
    "a value of several": {"value": np.zeros(2)},
    "a value as a text": {"value": "high"},
    "holdings of another shape": {"holdings": np.zeros((9, 9))},
}
"""What to say in place of an opinion; a dict changes a good one."""


class Opinionated(Agent):
    """Plays well, and has an opinion of `OPINIONS`."""

    def __init__(self, what: str, agent: Agent) -> None:
        self.name = f"with {what}"
        self.what = what
        self.agent = agent

    def act_rows(self, rules: Rules, rows: Any, index: Any) -> Any:
        return self.agent.act_rows(rules, rows, index)

    def opinion(self, rules: Rules, rows: Any, place: int) -> Any:
        said = OPINIONS[self.what]
        if not isinstance(said, dict):
            return said
        return Opinion(int(self.agent.act_rows(rules, rows, np.array([place]))[0]), **said)
