"""Any agent, as a program that must go on may use it: safe to share, its faults in one form."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from pocket_uno_env.agents.agent import Agent, AgentError, Opinion, illegal_action
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
        """Ask the agent, whose own door checks its answer; AgentError whatever goes wrong."""
        seen = rows.copy()
        with self._lock, blame(self.name):
            actions = self.agent.act_rows(rules, seen, index)
        _check_legal(self, rules, rows, index, actions)
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


def _check_legal(
    agent: Agent, rules: Rules, rows: np.ndarray, index: np.ndarray, actions: np.ndarray
) -> None:
    """Once more, in the rows themselves: the agent may have changed the copies it was given."""
    wrong = first_illegal(rules._table, rows, index, actions)
    if wrong >= 0:
        raise illegal_action(agent, rules, rows, index[wrong], int(actions[wrong]))


def _checked(agent: Agent, rules: Rules, rows: np.ndarray, place: int, opinion: Opinion) -> Opinion:
    """`opinion` in figures that can be shown; AgentError if some are no finite numbers."""
    action, count = int(opinion.action), int(rules._table["n_actions"][0])
    _check_legal(agent, rules, rows, np.array([place]), np.array([action]))
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
        action,
        figures("probabilities", (count,)),
        figures("values", (count,), gaps=True),
        None if value is None else float(value),
        figures("holdings", (seats, len(rules.kinds))),
        str(opinion.about)[:1000],
    )


__all__ = ["Guarded", "blame", "load_guarded"]
