"""Any agent, as a program that must go on may use it: safe to share, its faults in one form."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from pocket_uno_env.agents.agent import Agent, AgentError, Opinion, as_actions, illegal_action
from pocket_uno_env.agents.registry import load
from pocket_uno_env.row_kernels import first_illegal
from pocket_uno_env.rules.rules import Rules


class Guarded(Agent):
    """`agent`, asked by one thread at a time and with copies.

    Whatever goes wrong in it, or with its answer, is an `AgentError` that names the agent; the rows
    are then as they were. Only Ctrl-C passes.

    Parameters
    ----------
    agent : Agent
    """

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.name = str(agent.name)
        self.clairvoyant = bool(agent.clairvoyant)
        self._lock = threading.Lock()

    def check(self, rules: Rules, num_players: int) -> None:
        """Ask the agent."""
        with self._lock, blame(self.name):
            self.agent.check(rules, num_players)

    def act_rows(self, rules: Rules, rows: np.ndarray, index: np.ndarray) -> np.ndarray:
        """Ask the agent; AgentError if its actions have the wrong form or are not legal."""
        seen = rows.copy()
        with self._lock, blame(self.name):
            actions = as_actions(self, self.agent.act_rows(rules, seen, index.copy()), len(index))
        wrong = first_illegal(rules._table, rows, index, actions)
        if wrong >= 0:
            raise illegal_action(self, rules, rows, index[wrong], int(actions[wrong]))
        rows["policy_rng"] = seen["policy_rng"]
        return actions

    def opinion(self, rules: Rules, rows: np.ndarray, place: int) -> Opinion:
        """Ask the agent; AgentError if what it says is none."""
        seen = rows.copy()
        with self._lock, blame(self.name):
            opinion = _checked(self, rules, rows, place, self.agent.opinion(rules, seen, place))
        rows["policy_rng"] = seen["policy_rng"]
        return opinion


def load_guarded(spec: str) -> Guarded:
    """The agent that `spec` names (`registry.load`), guarded; AgentError whatever its code does."""
    with blame(spec):
        return Guarded(load(spec))


@contextmanager
def blame(name: str) -> Iterator[None]:
    """Turn all that goes wrong within into an AgentError that names the agent."""
    try:
        yield
    except AgentError:
        raise
    except BaseException as error:
        main = threading.current_thread() is threading.main_thread()
        if isinstance(error, KeyboardInterrupt) and main:
            raise
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}, line {last.lineno}"
        text = " ".join(str(error).split())[:200]
        what = f"{type(error).__name__}: {text}" if text else type(error).__name__
        raise AgentError(f"agent {name!r} failed: {what} ({where})") from error


def _checked(agent: Agent, rules: Rules, rows: np.ndarray, place: int, opinion: Any) -> Opinion:
    """`opinion` with arrays of the shapes that `Opinion` names; AgentError if it has others."""
    if not isinstance(opinion, Opinion):
        raise AgentError(
            f"agent {agent.name!r} has {type(opinion).__name__} as its opinion; expected an Opinion"
        )
    index, count = np.array([place]), int(rules._table["n_actions"][0])
    actions = as_actions(agent, [opinion.action], 1)
    if first_illegal(rules._table, rows, index, actions) >= 0:
        raise illegal_action(agent, rules, rows, place, int(actions[0]))
    seats = int(rows["num_players"][place])

    def figures(field: str, shape: tuple[int, ...], gaps: bool = False) -> np.ndarray | None:
        value = getattr(opinion, field)
        if value is None:
            return None
        array = np.asarray(value, np.float64)
        if array.shape != shape or np.isinf(array).any() or (np.isnan(array).any() and not gaps):
            raise AgentError(
                f"agent {agent.name!r} gives {field} of shape {array.shape}; expected None or "
                f"finite numbers of shape {shape}"
            )
        return array

    value = figures("value", ())
    return Opinion(
        int(actions[0]),
        figures("probabilities", (count,)),
        figures("values", (count,), gaps=True),
        None if value is None else float(value),
        figures("holdings", (seats, len(rules.kinds))),
        str(opinion.about)[:1000],
    )


__all__ = ["Guarded", "blame", "load_guarded"]
