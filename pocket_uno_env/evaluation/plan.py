"""The plan of a tournament: everything that decides its result, and the tasks it is made of."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from pocket_uno_env.agents.agent import Agent, AgentError
from pocket_uno_env.rules.limits import MAX_CYCLES, MAX_ROUNDS
from pocket_uno_env.rules.rules import Rules

from .arena import (
    CHUNK_DEALS,
    GameSetup,
    check_line_up,
    check_number,
    count_rotations,
)
from .fingerprint import fingerprint
from .games import ArenaError
from .line_ups import line_ups
from .names import check_titles, load_named
from .statistics.sprt import Sprt

THINKER_DEALS = 16
"""Deals in a task with an agent that has a budget for each decision."""
MAX_TASKS = 5_000_000
"""Of one tournament."""

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
        As `names.load_named` takes them, without repetition.
    line_ups : tuple of tuples of int
    deals : int
        For each line-up; with a sequential test the most there may be.
    chunk_deals : int
        Deals in a task.
    records, behavior, control : bool
        What to keep besides the results: all games, behaviour counts, the luck of the draws.
    sprt : Sprt or None
        Stop the single line-up when this test of its first agent ends.
    fingerprints : tuple of str
        By agent; not checked if empty.
    rotations : tuple of int
        By line-up, how often each deal is played; if empty, once for each seat.

    Raises
    ------
    RulesError, ArenaError
        For values that cannot be played.
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
        _ = self.setup  # checks its fields
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
    def setup(self) -> GameSetup:
        """Everything that decides a game except the agents."""
        return GameSetup(
            Rules.from_dict(self.rules),
            self.num_players,
            self.seed,
            self.episode,
            self.max_cycles,
            self.max_rounds,
        )

    @property
    def games(self) -> int:
        """The total number of games."""
        return self.deals * sum(map(self.games_of, range(len(self.line_ups))))

    def games_of(self, number: int) -> int:
        """How many games of each deal the line-up of this number plays."""
        return self.rotations[number] if self.rotations else self.num_players

    @cached_property
    def fingerprint(self) -> str:
        """A hash that tells whether a task's result belongs to this plan.

        It covers all fields except the number of deals, which may grow.
        """
        fields = {**self.to_dict(), "deals": None}
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:16]

    def tasks(self) -> list[Task]:
        """All tasks, in an order in which the line-ups advance together."""
        return [
            (number, first, min(self.chunk_deals, self.deals - first))
            for first in range(0, self.deals, self.chunk_deals)
            for number in range(len(self.line_ups))
        ]

    def load_agents(self) -> list[Agent]:
        """The agents; `AgentError` if one cannot be loaded, cannot play, or has changed."""
        agents = [load_named(spec) for spec in self.agents]
        for number, agent in enumerate(agents):
            agent.check(self.setup.rules, self.num_players)
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
        """From the result of `to_dict`, also after JSON.

        Raises
        ------
        ArenaError
            For a field that is unknown, missing or of the wrong type, and values that cannot be
            played.
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
    """A checked plan with the fingerprints of its agents.

    Parameters
    ----------
    agents : sequence of str
        As `names.load_named` takes them; one that comes twice sits down twice where the design
        allows it.
    design : str
        One of `line_ups.DESIGNS`.
    chunk_deals : int, optional
        Default `CHUNK_DEALS`, or `THINKER_DEALS` with agents that have a budget.

    Raises
    ------
    RulesError, ArenaError, DesignError, AgentError
    """
    made = Rules.of(rules)
    GameSetup(made, num_players, seed, episode, max_cycles, max_rounds)
    specs = list(dict.fromkeys(agents))
    if not specs:
        raise ArenaError("no agents; expected at least one")
    loaded = [load_named(spec) for spec in specs]
    check_titles(loaded)
    for agent in loaded:
        agent.check(made, num_players)
    tables = line_ups([specs.index(spec) for spec in agents], num_players, design)
    if chunk_deals is None:
        searching = any(agent.budget is not None for agent in loaded)
        chunk_deals = THINKER_DEALS if searching else CHUNK_DEALS
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
