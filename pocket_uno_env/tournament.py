"""A tournament in chunks: the same result in whatever order, by however many, with breaks.

The unit of work is one *task*: a fixed number of consecutive deals of one line-up. Nothing that
happens in a task depends on another, and no batch that an agent is asked about crosses its
border. So the tasks may be played here, by several processes or on a cluster (`workers`,
`ray_workers`), stopped and taken up again (`journal`); the table is made from all of them in
order. An agent that goes by the clock repeats nothing, of course; `Agent.repeatable` says so.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from . import scripted
from .agents.protocol import Agent, AgentError
from .agents.registry import load
from .arena import (
    CHUNK_DEALS,
    MAX_CYCLES,
    MAX_ROUNDS,
    ArenaError,
    Chunk,
    Games,
    Setting,
    check_line_up,
    check_number,
    count_rotations,
    joined,
)
from .behavior import count_behavior
from .code_cache import sources_hash
from .control import draw_luck
from .designs import line_ups
from .rules import Rules
from .sprt import Sprt

THINKER_DEALS = 16
"""Deals in a task with an agent that has a budget for each decision."""


MAX_TASKS = 5_000_000
"""In one tournament."""

Task = tuple[int, int, int]
"""``(line-up, first deal, number of deals)``."""


@dataclass(frozen=True)
class Plan:
    """Everything that decides a tournament's result.

    Attributes
    ----------
    rules : dict
        `Rules.to_dict`.
    agents : tuple of str
        As `load` takes them, each once.
    line_ups : tuple of tuples of int
    deals : int
        For each line-up; with a sequential test the most there may be.
    chunk_deals : int
        Deals in a task.
    records, behavior, control : bool
        What to keep beside the results: all games, what agents did, the luck of the draws.
    sprt : Sprt or None
        Stop the single line-up when this test of its first agent ends.
    fingerprints : tuple of str
        By agent, or empty: then they are not looked at.
    rotations : tuple of int
        By line-up, how often each deal is played; where it is empty, once for each seat.

    Raises
    ------
    RulesError, ArenaError
        For what cannot be played.
    """

    rules: dict[str, Any]
    num_players: int
    agents: tuple[str, ...]
    line_ups: tuple[tuple[int, ...], ...]
    deals: int
    seed: int
    episode: str
    max_cycles: int
    max_rounds: int
    chunk_deals: int = CHUNK_DEALS
    records: bool = False
    behavior: bool = True
    control: bool = False
    sprt: Sprt | None = None
    fingerprints: tuple[str, ...] = ()
    rotations: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _ = self.setting  # checks what it holds
        for name in ("deals", "chunk_deals"):
            check_number(name, getattr(self, name))
        if not self.agents or len(set(self.agents)) < len(self.agents):
            raise ArenaError(
                f"{'an agent comes twice' if self.agents else 'no agents'}; expected at least one, "
                "and each once"
            )
        if not self.line_ups:
            raise ArenaError("no line-ups; expected at least one")
        for table in self.line_ups:
            check_line_up(table, self.num_players, len(self.agents))
        tasks = len(self.line_ups) * -(-self.deals // self.chunk_deals)
        if tasks > MAX_TASKS:
            raise ArenaError(
                f"{self.deals:,} deals for {len(self.line_ups):,} line-ups in chunks of "
                f"{self.chunk_deals:,} make {tasks:,} chunks, more than {MAX_TASKS:,}; expected "
                "fewer deals or larger chunks (chunk_deals)"
            )
        if len(self.fingerprints) not in (0, len(self.agents)):
            raise ArenaError(
                f"{len(self.fingerprints)} fingerprints for {len(self.agents)} agents; expected "
                "one for each"
            )
        turns = set(self.rotations)
        known = all(0 < by <= self.num_players and self.num_players % by == 0 for by in turns)
        if len(self.rotations) not in (0, len(self.line_ups)) or not known:
            raise ArenaError(
                f"rotations are {self.rotations[:9]}; expected one number for each line-up that "
                f"divides the {self.num_players} players"
            )
        if self.sprt is not None and (len(self.line_ups) != 1 or len(set(self.line_ups[0])) != 2):
            raise ArenaError(
                "a sequential test compares two agents; expected two, or two and the design "
                "'gauntlet'"
            )

    @cached_property
    def setting(self) -> Setting:
        """What decides a game beside the agents."""
        return Setting(
            Rules.from_dict(self.rules),
            self.num_players,
            self.seed,
            self.episode,
            self.max_cycles,
            self.max_rounds,
        )

    @property
    def games(self) -> int:
        """How many there are to play."""
        return self.deals * sum(map(self.games_of, range(len(self.line_ups))))

    def games_of(self, number: int) -> int:
        """How many games of each deal the line-up of this number plays."""
        return self.rotations[number] if self.rotations else self.num_players

    @cached_property
    def fingerprint(self) -> str:
        """What tells whether a task's result belongs to this plan.

        A hash of all that decides it: of everything but the number of deals, which may grow.
        """
        fields = {**self.to_dict(), "deals": None}
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:16]

    def tasks(self) -> list[Task]:
        """All work, in an order in which the line-ups come forward alike."""
        return [
            (number, first, min(self.chunk_deals, self.deals - first))
            for first in range(0, self.deals, self.chunk_deals)
            for number in range(len(self.line_ups))
        ]

    def load_agents(self) -> list[Agent]:
        """The agents; `AgentError` if one cannot be loaded, cannot play, or has changed."""
        agents = [load(spec) for spec in self.agents]
        for number, agent in enumerate(agents):
            agent.check(self.setting.rules, self.num_players)
            if self.fingerprints and fingerprint(agent) != self.fingerprints[number]:
                raise AgentError(
                    f"agent {agent.name!r} is not what it was when the run began; games of both "
                    "cannot be mixed, start a new run"
                )
        return agents

    def to_dict(self) -> dict[str, Any]:
        """Ready for ``json.dumps``."""
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Plan:
        """From what `to_dict` gave, also by way of JSON.

        Raises
        ------
        ArenaError
            For a field that is unknown, missing or of another type, and what cannot be played.
        """
        from msgspec import ValidationError, convert  # in the extra `evaluate`

        for kind, values in ((cls, fields), (Sprt, fields.get("sprt"))):
            known = {field.name for field in dataclasses.fields(kind)}
            for key in values if isinstance(values, dict) else ():
                if key not in known:
                    raise ArenaError(f"unknown field {key[:80]!r}")
        try:
            return convert(fields, cls)
        except ValidationError as error:
            raise ArenaError(str(error).replace("$.", "")) from error


@dataclass(frozen=True, eq=False)
class Played:
    """What one task, or all of a line-up's, came to.

    Attributes
    ----------
    games : Games
    behavior : int64 array, shape ``(n, n, len(behavior.Count))``, or None
    luck : float32 array, shape ``(deals, n, control.FEATURES)``, or None
    records : list of str
        JSON, one for each game.
    """

    games: Games
    behavior: np.ndarray | None
    luck: np.ndarray | None
    records: list[str]


def plan_of(
    agents: Sequence[str],
    rules: str | Rules = "pocket",
    num_players: int = 2,
    deals: int = 1000,
    seed: int = 0,
    *,
    design: str = "auto",
    episode: str = "round",
    max_cycles: int = MAX_CYCLES,
    max_rounds: int = MAX_ROUNDS,
    chunk_deals: int | None = None,
    records: bool = False,
    behavior: bool = False,
    control: bool = False,
    sprt: Sprt | None = None,
) -> Plan:
    """A plan, checked, with its agents as they are now.

    Parameters
    ----------
    agents : sequence of str
        As `load` takes them; one that comes twice sits down twice where the design allows it.
    design : str
        One of `designs.DESIGNS`.
    chunk_deals : int, optional
        Default `CHUNK_DEALS`, or `THINKER_DEALS` with agents that have a budget.

    Raises
    ------
    RulesError, ArenaError, DesignError, AgentError
    """
    made = Rules.of(rules)
    Setting(made, num_players, seed, episode, max_cycles, max_rounds)
    specs = list(dict.fromkeys(agents))
    if not specs:
        raise ArenaError("no agents; expected at least one")
    loaded = [load(spec) for spec in specs]
    for agent in loaded:
        agent.check(made, num_players)
    tables = line_ups([specs.index(spec) for spec in agents], num_players, design)
    if chunk_deals is None:
        chunk_deals = THINKER_DEALS if any(map(thinks, loaded)) else CHUNK_DEALS
    return Plan(
        made.to_dict(),
        num_players,
        tuple(specs),
        tuple(tables),
        deals,
        seed,
        episode,
        max_cycles,
        max_rounds,
        chunk_deals,
        records,
        behavior,
        control,
        sprt,
        tuple(map(fingerprint, loaded)),
        tuple(count_rotations(table, loaded) for table in tables),
    )


class Workers(Protocol):
    """Whoever plays tasks."""

    def play(self, plan: Plan, tasks: Sequence[Task]) -> Generator[tuple[Task, Played], None, None]:
        """Play all tasks; each result as it comes, in any order. Closing it stops the work."""


class Journal(Protocol):
    """Where results are kept while a tournament runs."""

    def done(self) -> dict[Task, Played]:
        """All results so far, without their records."""

    def records(self, task: Task) -> list[str]:
        """The records of one result."""

    def add(self, task: Task, played: Played) -> None:
        """Keep one more."""


def play_task(plan: Plan, agents: Sequence[Agent], task: Task) -> Played:
    """Play one task."""
    number, first, count = task
    keep = plan.records or plan.behavior or plan.control
    chunk = Chunk(
        *(plan.setting, agents, plan.line_ups[number], first, count, keep),
        rotations=plan.games_of(number),
    )
    return Played(
        chunk.games(),
        count_behavior(chunk.replay()) if plan.behavior else None,
        draw_luck(chunk.replay()) if plan.control else None,
        [json.dumps(record) for record in chunk.records()] if plan.records else [],
    )


def run(
    plan: Plan,
    workers: Workers,
    journal: Journal | None = None,
    on_progress: Callable[[int, dict[str, float]], None] | None = None,
    on_records: Callable[[list[str]], None] | None = None,
) -> list[Played]:
    """Play what is not in the journal yet; the results by line-up, without records.

    Parameters
    ----------
    on_progress : callable, optional
        Called with the number of games that are played, and figures worth showing.
    on_records : callable, optional
        Called with the records of one task after the other, in the order of `Plan.tasks`.
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
    """Follows the results in the order of the tasks, as far as all before are there.

    So where a sequential test ends does not depend on the order in which results come.

    Attributes
    ----------
    used : int or None
        After how many deals the test has ended, if it has.
    figures : dict
        Worth showing.
    """

    def __init__(self, plan: Plan, tasks: Sequence[Task], done: dict[Task, Played]) -> None:
        self.used: int | None = None
        self.figures: dict[str, float] = {}
        self._plan, self._tasks, self._done = plan, tasks, done
        self._next = 0
        self._blocks = np.zeros(0)

    def advance(self) -> list[Task]:
        """Look at what has become complete; these tasks, in order."""
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
    """The results in order, of the first `used` deals where a sequential test has ended."""
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


def fingerprint(agent: Agent) -> str:
    """What tells whether an agent has changed: a hash of its code and of all its weights.

    Of a scripted agent it covers the compiled core, of others the module of its class, and every
    array in the agent, and in the agents that it holds.
    """
    digest = hashlib.sha256(f"{agent.name} {agent.policy}".encode())
    _hash_into(digest, agent, set())
    return digest.hexdigest()[:16]


def _hash_into(digest: Any, value: Any, seen: set[int]) -> None:
    if isinstance(value, np.ndarray):
        digest.update(str((value.dtype, value.shape)).encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, list | tuple):
        for item in value:
            _hash_into(digest, item, seen)
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            digest.update(str(key).encode())
            _hash_into(digest, value[key], seen)
    elif inspect.isfunction(value) or isinstance(value, Agent):
        if id(value) in seen:
            return
        seen.add(id(value))
        source = inspect.getsourcefile(value if inspect.isfunction(value) else type(value))
        if source is not None and Path(source).exists():
            digest.update(Path(source).read_bytes())
        if isinstance(value, Agent):
            if value.policy is not None:
                digest.update(sources_hash(Path(scripted.__file__)).encode())
            # What the agent was last checked for is no part of it.
            kept = {name: of for name, of in vars(value).items() if name != "_checked"}
            _hash_into(digest, kept, seen)
    elif isinstance(value, str | int | float | bool | None):
        digest.update(repr(value).encode())


def thinks(agent: Agent) -> bool:
    """Whether an agent has a budget for each decision, and so is slow."""
    return agent.budget is not None


def repeatable(agent: Agent) -> bool:
    """Whether an agent does the same in the same games; not if it goes by the clock."""
    return agent.repeatable


def knows_the_pile(agent: Agent) -> bool:
    """Whether an agent cheats, so that draws are no surprise to it."""
    return agent.clairvoyant
