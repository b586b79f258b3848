"""A table with people and agents at it: rounds or a match, one decision at a time.

The table knows everything and tells a seat what it may know (`seat_view`, `narration`). It waits
after every round, so that people can look at the result, and it always has the record of the game.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pocket_uno_env.agents.agent import Agent
from pocket_uno_env.display.narration import Event, seat_names, seen_events
from pocket_uno_env.display.seat_view import sight
from pocket_uno_env.engine.deal import new_game
from pocket_uno_env.engine.match import match_winner
from pocket_uno_env.engine.state import NO_SEAT, new_rows
from pocket_uno_env.engine.transition import apply, truncate
from pocket_uno_env.files import make_folder, write_json, writing
from pocket_uno_env.records.record import Log, Transcript, deal_entry, game_record
from pocket_uno_env.row_kernels import first_illegal
from pocket_uno_env.rows import legal_names
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.phases import End
from pocket_uno_env.rules.rules import Rules

from .chances import at_scores

MAX_DECISIONS = 5000
"""Decisions after which a round is truncated: agents that play at random may never finish."""


class TableError(ValueError):
    """What was asked of a table cannot be done now; the message says why, and nothing changed."""


class Table:
    """One game.

    Parameters
    ----------
    rules : str or Rules
    agents : sequence of Agent or None
        Who sits there, by seat; None for a person.
    match : bool
        Rounds until somebody has the match goal, or a single round.
    seed : int, optional
        The same seed deals the same cards; without one the operating system's entropy does.
    person : str
        What a person is called in the record.

    Attributes
    ----------
    turn : int
        Counts everything that happens at the table; who acts says which turn it answers.
    names : list of str
        What to call the seats.

    Raises
    ------
    RulesError, AgentError
        When the rules do not allow so many seats, or an agent cannot play them.
    """

    def __init__(
        self,
        rules: str | Rules,
        agents: Sequence[Agent | None],
        match: bool = True,
        seed: int | None = None,
        person: str = "person",
    ) -> None:
        self.rules = Rules.of(rules)
        self.rules.check_players(len(agents))
        for agent in agents:
            if agent is not None:
                agent.check(self.rules, len(agents))
        self.agents = list(agents)
        self.players = [person if agent is None else agent.name for agent in agents]
        self.names = seat_names(self.players)
        self.match, self.seed = match, seed
        self.rows = new_rows(1)
        start = secrets.randbits(64) if seed is None else seed
        new_game(self.rows[0], len(agents), np.uint64(start))
        self.turn = 0
        self._rounds: list[Transcript] = []
        self._events: list[list[Any]] = []
        self._log = Log(self.rules)
        self._deal()

    @property
    def to_act(self) -> int | None:
        """The seat to act; None after the end of a round."""
        return int(self.rows["to_act"][0]) if self.running else None

    @property
    def running(self) -> bool:
        """Whether the round still runs."""
        return int(self.rows["end"][0]) == End.RUNNING

    @property
    def round(self) -> int:
        """The number of the round, from 0."""
        return len(self._rounds) - 1

    @property
    def winner(self) -> int | None:
        """Who has won the match; None while it goes on, and for a single round."""
        if self.running or not self.match:
            return None
        seat = int(match_winner(self.rules._table[0], self.rows[0]))
        return None if seat == NO_SEAT else seat

    @property
    def chances(self) -> list[float] | None:
        """Each seat's chance to win the match at the scores (`chances.at_scores`).

        While a round runs they are those of before it: everybody may know them. None for a single
        round, and where there is no match equity.
        """
        scores = self.rows["scores"][0, : len(self.agents)]
        return at_scores(self.rules, scores) if self.match else None

    @property
    def over(self) -> bool:
        """Whether the game has ended."""
        return not self.running and (not self.match or self.winner is not None)

    def sight(self, seat: int | None) -> dict[str, Any]:
        """What a seat sees of the table (`seat_view.sight`)."""
        return sight(self.rules, self.rows, seat)

    def events(self, seat: int | None, latest: int | None = None) -> list[Event]:
        """What happened in this round, as a seat saw it (`narration.seen_events`).

        Parameters
        ----------
        latest : int, optional
            So many of the latest events alone.
        """
        events = self._events if latest is None else self._events[-latest:]
        return seen_events(events, seat, self.names, self.to_act)

    def act(self, action: str) -> None:
        """Take an action, by its name, for the seat to act; TableError if it is not legal."""
        chosen = catalogue(self.rules).ids.get(action, -1)
        if not self.running:
            raise TableError("the round is over, there is nothing to decide")
        index = np.zeros(1, np.int64)
        if first_illegal(self.rules._table, self.rows, index, np.array([chosen])) >= 0:
            legal = ", ".join(legal_names(self.rules, self.rows))
            raise TableError(f"{action!r} is not legal now; legal: {legal}")
        self._step(chosen)

    def ask_agent(self) -> str:
        """Ask the agent whose turn it is, act, and return the name of the action.

        Raises
        ------
        TableError
            When it is not an agent's turn.
        AgentError
            When the agent answers with an illegal action; nothing has happened.
        """
        return self.take(self.choose())

    def choose(self) -> int:
        """What the agent whose turn it is would do, without doing it; may take its time."""
        agent = None if self.to_act is None else self.agents[self.to_act]
        if agent is None:
            raise TableError("it is not an agent's turn")
        return int(agent.act_rows(self.rules, self.rows, np.zeros(1, np.int64))[0])

    def take(self, action: int) -> str:
        """Take a legal action id for the seat to act; the name of the action."""
        self._step(action)
        return catalogue(self.rules).name(action)

    def next_round(self) -> None:
        """Deal the next round of the match; TableError if there is none to come."""
        if self.running:
            raise TableError("the round still runs")
        if self.over:
            raise TableError("the game is over; begin a new one")
        self._deal()

    def record(self, finished_only: bool = False) -> dict[str, Any]:
        """The game so far as a record (docs/rules.md, section 8).

        Parameters
        ----------
        finished_only : bool
            Without the round that still runs, whose hidden cards nobody may read.

        Raises
        ------
        TableError
            When no round is finished and only those are wanted.
        """
        rounds = self._rounds[:-1] if finished_only and self.running else self._rounds
        if not rounds:
            raise TableError("no round is finished yet; a record would show the hidden cards")
        return game_record(self.rules, self.players, self.seed, self.match, rounds)

    def _deal(self) -> None:
        self._rounds.append(Transcript(self.rows.copy()))
        self._events = deal_entry(self.rules, self.rows, NO_SEAT, None, self._log)["events"]
        self.turn += 1

    def _step(self, action: int) -> None:
        row, seat, transcript = self.rows[0], self.to_act, self._rounds[-1]
        apply(self.rules._table[0], row, action, None, self._log.clear())
        if self.running and row["decisions"] >= MAX_DECISIONS:
            truncate(row)
            transcript.truncated = True
        transcript.actions.append(action)
        self._events += self._log.events([seat, catalogue(self.rules).name(action)])
        self.turn += 1


def write_record(path: Path, record: dict[str, Any]) -> None:
    """Write a record and make its folder if need be; FileError says why that cannot be."""
    make_folder(path.parent)
    with writing(path):
        write_json(path, record, indent=None)
