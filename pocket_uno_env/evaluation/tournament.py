"""Runs a tournament in tasks; the result does not depend on their order, workers or interruptions.

A *task* is a fixed number of consecutive deals of one line-up. It does not depend on other tasks,
and no batch that an agent is asked about contains games of two tasks. So tasks may be played in
this process, in several or on a cluster (`workers`, `ray_workers`), stopped and resumed
(`journal`); the results are put together in order. An agent with a time budget is not reproducible:
see `Agent.repeatable`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from pocket_uno_env.agents.agent import Agent

from .arena import Chunk
from .behavior import count_behavior
from .draw_luck import draw_luck
from .games import Games, joined
from .plan import Plan, Task


@dataclass(frozen=True, eq=False)
class Played:
    """The results of one task, or of all tasks of a line-up.

    Attributes
    ----------
    games : Games
    behavior : int64 array, shape ``(n, n, len(behavior.Stat))``, or None
    luck : float32 array, shape ``(deals, n, draw_luck.FEATURES)``, or None
    records : list of str
        JSON, one for each game.
    """

    games: Games
    behavior: np.ndarray | None
    luck: np.ndarray | None
    records: list[str]


Results = Generator[tuple[Task, Played], None, None]
"""Tasks that have been played, in any order."""


class WorkersError(RuntimeError):
    """Workers that die again and again; the message says what was tried."""


class Workers(Protocol):
    """Plays tasks: in this process, in several, or on a cluster."""

    def play(self, plan: Plan, tasks: Sequence[Task]) -> Results:
        """Play all tasks; yields results as they arrive, in any order. Closing it stops them."""


class Journal(Protocol):
    """Stores results while a tournament runs."""

    def done(self) -> dict[Task, Played]:
        """All results so far, without their records."""

    def records(self, task: Task) -> list[str]:
        """The records of one result."""

    def add(self, task: Task, played: Played) -> None:
        """Store a result."""


def play_task(plan: Plan, agents: Sequence[Agent], task: Task) -> Played:
    """Play one task."""
    number, first, count = task
    keep = plan.records or plan.behavior or plan.control
    chunk = Chunk(
        *(plan.setup, agents, plan.line_ups[number], first, count, keep),
        rotations=plan.games_of(number),
    )
    return Played(
        chunk.games(),
        count_behavior(chunk.finished_games()) if plan.behavior else None,
        draw_luck(chunk.finished_games()) if plan.control else None,
        [json.dumps(record) for record in chunk.records()] if plan.records else [],
    )


def run(
    plan: Plan,
    workers: Workers,
    journal: Journal | None = None,
    on_progress: Callable[[int, dict[str, float]], None] | None = None,
    on_records: Callable[[list[str]], None] | None = None,
) -> list[Played]:
    """Play the tasks that are not in the journal; the results by line-up, without records.

    Parameters
    ----------
    on_progress : callable, optional
        Called with the number of games played so far, and figures to show.
    on_records : callable, optional
        Called with the records of each task, in the order of `Plan.tasks`.
    """
    done = {} if journal is None else journal.done()
    tasks = plan.tasks()
    early: dict[Task, list[str]] = {}
    watch = _Watch(plan, tasks, done)

    def look() -> int | None:
        for task in watch.advance():
            if on_records is not None:
                found = early.pop(task, None)
                if found is None:
                    assert journal is not None
                    found = journal.records(task)
                left = task[2] if watch.used is None else max(watch.used - task[1], 0)
                on_records(found[: left * plan.games_of(task[0])])
        return watch.used

    used = look()
    played = sum(task[2] * plan.games_of(task[0]) for task in done)
    if on_progress is not None:
        on_progress(played, watch.figures)
    missing = [task for task in tasks if task not in done]
    if missing and used is None:
        with closing(workers.play(plan, missing)) as results:
            for task, result in results:
                if journal is not None:
                    journal.add(task, result)
                elif on_records is not None:
                    early[task] = result.records
                done[task] = replace(result, records=[])
                used = look()
                played += task[2] * plan.games_of(task[0])
                if on_progress is not None:
                    on_progress(played, watch.figures)
                if used is not None:
                    break
    return by_line_up(plan, done, used)


class _Watch:
    """Follows the results in the order of the tasks, as far as they are complete.

    So the end of a sequential test does not depend on the order in which results arrive.

    Attributes
    ----------
    used : int or None
        After how many deals the test has ended, if it has.
    figures : dict
        Figures to show.
    """

    def __init__(self, plan: Plan, tasks: Sequence[Task], done: dict[Task, Played]) -> None:
        self.used: int | None = None
        self.figures: dict[str, float] = {}
        self._plan, self._tasks, self._done = plan, tasks, done
        self._next = 0
        self._blocks = np.zeros(0)

    def advance(self) -> list[Task]:
        """Process the tasks that have become complete; returns them in order."""
        first = self._next
        while self._next < len(self._tasks) and self._tasks[self._next] in self._done:
            self._next += 1
        new = list(self._tasks[first : self._next])
        sprt = self._plan.sprt
        if sprt is not None and new and self.used is None:
            seen = len(self._blocks)
            one = self._plan.line_ups[0][0]
            rates = [self._done[task].games.win_rates(one) for task in new]
            self._blocks = np.concatenate([self._blocks, *rates])
            used, answer = sprt.stop(self._blocks, seen)
            if answer != "open":
                self.used = used
            self.figures = {
                "win_rate": float(self._blocks.mean()),
                "llr": float(sprt.path(self._blocks, len(self._blocks) - 1)[-1]),
            }
        return new


def by_line_up(plan: Plan, done: dict[Task, Played], used: int | None = None) -> list[Played]:
    """The results by line-up, of the first `used` deals if a sequential test has ended."""
    parts: list[list[Played]] = [[] for _ in plan.line_ups]
    for task in plan.tasks():
        if task in done and (used is None or task[1] < used):
            parts[task[0]].append(done[task])
    return [_joined(part, used) for part in parts]


def _joined(parts: Sequence[Played], used: int | None) -> Played:
    games = joined([part.games for part in parts])
    counts = [part.behavior for part in parts if part.behavior is not None]
    luck = [part.luck for part in parts if part.luck is not None]
    deals = games.deals if used is None else used
    return Played(
        games.first(deals),
        np.sum(counts, axis=0) if counts else None,
        np.concatenate(luck)[:deals] if luck else None,
        [],
    )
