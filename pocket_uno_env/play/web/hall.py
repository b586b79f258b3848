"""The hall: tables, who sits where, and what each seat is told.

It knows no network. Whoever holds a seat's token sits there, from as many pages as they like; a
page gets nothing but what its seat may know.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pocket_uno_env.agents import AgentError, describe, names, networks
from pocket_uno_env.display.prompts import MUST_DRAW, PROMPTS
from pocket_uno_env.play.guarded import Guarded, load_guarded
from pocket_uno_env.play.table import Table, TableError
from pocket_uno_env.rules.rules import HOUSE_RULES, PRESETS, Rules

from .messages import PERSON, MessageError, short

MAX_TABLES = 64
MAX_OWN = 8
"""Tables that one page may have opened."""
KEPT = 1800.0
"""Seconds that a table nobody looks at is kept from the pages of others."""
TOLD_EVENTS = 200
"""So many of the latest events of a round are told."""


class HallError(ValueError):
    """What a page asked for cannot be done; the message says why."""


@dataclass(eq=False)
class Place:
    """A seat at a table, or a spectator's chair where nobody plays.

    Attributes
    ----------
    seat : int or None
        None sees all hands; only at tables without people.
    pages : set
        The connections of those who look from here.
    """

    guests: Guests
    seat: int | None
    token: str
    pages: set[Any] = field(default_factory=set)


@dataclass(eq=False)
class Guests:
    """A table with the places of people, and how fast its agents play.

    Attributes
    ----------
    pace : int or None
        Milliseconds before each decision of an agent; None waits for `step`.
    opener : object
        The page that opened it.
    used : float
        When somebody last did something here, or left (``time.monotonic``).
    opened : str
        When the table was opened, for the name of its record.
    trouble : str or None
        Why the agent to act did not, if it was asked and failed; it is not asked again by itself.
    written : int
        The turn at which the record was last written.
    kept : bool
        Whether the record could be written, as far as is known.
    moving : asyncio.Lock
        Held while an agent is asked: two pages may ask for the same step.
    """

    table: Table
    pace: int | None
    opener: Any = None
    trouble: str | None = None
    written: int = -1
    kept: bool = True
    moving: asyncio.Lock = field(default_factory=asyncio.Lock)
    places: list[Place] = field(default_factory=list)
    used: float = field(default_factory=time.monotonic)
    opened: str = field(default_factory=lambda: time.strftime("%Y-%m-%d-%H%M%S"))

    @property
    def pages(self) -> set[Any]:
        """All connections to the table."""
        return set().union(*(place.pages for place in self.places))


class Hall:
    """All tables of a server.

    Parameters
    ----------
    agents : sequence of str
        The opponents that a page proposes. They may be others than the registered agents, such as
        trained runs: a page can name these alone, so that it can make the server load nothing else.
    seeds : iterable of int
        The deals of the tables to come, one for each, for tests and pictures. Without, and after
        the last, the operating system deals. A page never names a seed: at a second table with the
        deal of the first, played by agents alone, it would see every hand.
    """

    def __init__(self, agents: Sequence[str] = (), seeds: Iterable[int] = ()) -> None:
        self.offered = list(dict.fromkeys([*agents, *names(), *networks()]))
        self.opponents = list(agents)
        self._seeds = iter(seeds)
        self._agents: dict[str, Guarded] = {}
        self._loading, self._seating = threading.Lock(), threading.Lock()
        self._places: dict[str, Place] = {}
        self.tables: list[Guests] = []

    def welcome(self) -> dict[str, Any]:
        """What a page needs to know to begin: agents, rules and prompts."""
        return {
            "type": "welcome",
            "agents": [
                {"name": name, "about": _about(name), "games": self._games.get(name)}
                for name in self.offered
            ],
            "opponents": self.opponents,
            "rules": [rules_of(Rules.preset(name)) for name in PRESETS],
            "prompts": {
                "must draw": MUST_DRAW,
                **{phase: prompt.explained for phase, prompt in PROMPTS.items()},
            },
        }

    @cached_property
    def _games(self) -> dict[str, list[tuple[str, int]]]:
        """The presets and numbers of players that agents can play which may not play them all."""
        found: dict[str, list[tuple[str, int]]] = {}
        for name in {*self.opponents, *networks()}:
            try:
                agent = self.agent(name)
            except HallError:  # packages or a file are missing
                found[name] = []
                continue
            found[name] = [
                (preset, players)
                for preset in PRESETS
                for players in range(2, Rules.preset(preset).max_players + 1)
                if _plays(agent, preset, players)
            ]
        return found

    def agent(self, name: str) -> Guarded:
        """One of the agents offered, loaded once; HallError for any other."""
        if name not in self.offered:
            raise HallError(
                f"there is no agent {short(name)} here; there are {', '.join(self.offered)}"
            )
        with self._loading:
            if name not in self._agents:
                try:
                    self._agents[name] = load_guarded(name)
                except AgentError as error:
                    raise HallError(str(error)) from None
            return self._agents[name]

    def open(self, message: dict[str, Any], page: Any = None) -> Place:
        """A new table (`messages`, ``new``); the place of the page that asked for it.

        May be called from any thread.
        """
        changed = {"name": message["rules"]}
        if isinstance(message["rules"], dict):
            changed = {"name": "pocket", **message["rules"]}
        if not isinstance(changed["name"], str) or not all(isinstance(key, str) for key in changed):
            raise MessageError("the name of the rules should be a text")
        rules = Rules.preset(changed.pop("name"), **changed)
        agents = [None if name == PERSON else self.agent(name) for name in message["seats"]]
        if None in agents and any(agent is not None and agent.clairvoyant for agent in agents):
            raise HallError("an agent that sees all hands plays against agents only")
        with self._seating:
            seed = next(self._seeds, None)
        table = Table(rules, agents, message["match"], seed)
        guests = Guests(table, message["pace"], page)
        people: list[int | None] = [i for i, agent in enumerate(agents) if agent is None]
        for seat in people or [None]:
            place = Place(guests, seat, secrets.token_urlsafe(12))
            guests.places.append(place)
        with self._seating:
            self._make_room(page)
            self._places.update((place.token, place) for place in guests.places)
            self.tables.append(guests)
        return guests.places[0]

    def place(self, token: str) -> Place:
        """The place with this token; HallError if there is none (any more)."""
        if token not in self._places:
            raise HallError("this table is not there any more; begin a new game")
        return self._places[token]

    def _make_room(self, page: Any) -> None:
        """Clear the tables that must go for one more of this page; HallError if none may.

        Only tables go that nobody looks at: of the page's own the one left longest ago, if it has
        opened too many; of others' one that was left long ago, if the hall is full.
        """
        empty = sorted((g for g in self.tables if not g.pages), key=lambda guests: guests.used)
        own = [guests for guests in empty if page is not None and guests.opener is page]
        left = [guests for guests in empty if time.monotonic() - guests.used >= KEPT]
        opened = sum(guests.opener is page for guests in self.tables if page is not None)
        if opened >= MAX_OWN:
            if not own:
                raise HallError(f"this page has opened {MAX_OWN} tables, and all are in use")
            self._clear(own[0])
        elif len(self.tables) >= MAX_TABLES:
            if not own + left:
                raise HallError(f"all {MAX_TABLES} tables are taken; try again later")
            self._clear((own + left)[0])

    def _clear(self, guests: Guests) -> None:
        self.tables.remove(guests)
        for place in guests.places:
            del self._places[place.token]


def _plays(agent: Guarded, preset: str, players: int) -> bool:
    try:
        agent.check(Rules.preset(preset), players)
    except AgentError:
        return False
    return True


def _about(name: str) -> str:
    try:
        return describe(name)
    except AgentError:  # its file has gone since it was loaded
        return ""


def rules_of(rules: Rules) -> dict[str, Any]:
    """What a page shows of the rules."""
    return {
        "name": rules.name,
        "max_players": rules.max_players,
        "hand_size": rules.hand_size,
        "match_goal": rules.match_goal,
        "colors": rules.colors,
        "kinds": [[kind.name, kind.copies] for kind in rules.kinds],
        "house": {name: getattr(rules, name) for name in HOUSE_RULES},
    }


def act(place: Place, message: dict[str, Any]) -> None:
    """Take an action for a seat; an error says why it cannot be."""
    _check_turn(place, message)
    table = place.guests.table
    if place.seat is None or table.to_act != place.seat:
        raise HallError("it is not your turn")
    table.act(message["action"])


def next_round(place: Place, message: dict[str, Any]) -> None:
    """Deal the next round."""
    _check_turn(place, message)
    place.guests.table.next_round()


def check_step(place: Place, message: dict[str, Any]) -> None:
    """Whether the agent to act may be asked to go on."""
    _check_turn(place, message)
    table = place.guests.table
    if table.to_act is None or table.agents[table.to_act] is None:
        raise HallError("it is not an agent's turn")


def check_analysis(place: Place, message: dict[str, Any]) -> None:
    """Whether somebody may be advised now: before their own decision, or a spectator."""
    _check_turn(place, message)
    table = place.guests.table
    if not table.running:
        raise HallError("the round is over, there is nothing to analyse")
    if place.seat is not None and table.to_act != place.seat:
        raise HallError("an analysis is made of your own decisions, when it is your turn")


def record(place: Place) -> dict[str, Any]:
    """The record of the game; while it goes on it tells nothing of what is to come."""
    table = place.guests.table
    made = table.record(finished_only=place.seat is not None)
    return made if table.over else {**made, "seed": None}


def _check_turn(place: Place, message: dict[str, Any]) -> None:
    turn = place.guests.table.turn
    if message["turn"] != turn:
        raise HallError(f"turn {message['turn']} is past, the table is at {turn}: this came late")


def state(place: Place) -> dict[str, Any]:
    """All that a page is told of its table."""
    guests, seat = place.guests, place.seat
    table = guests.table
    events = table.events(seat, TOLD_EVENTS)
    since = max((i + 1 for i, event in enumerate(events) if event["seat"] == seat), default=0)
    if seat is None:  # a spectator has no turn: the latest decision is news
        follows = ("forced", "reshuffle")
        since = max((i for i, event in enumerate(events) if event["do"] not in follows), default=0)
    return {
        "type": "state",
        "token": place.token,
        "turn": table.turn,
        "round": table.round,
        "match": table.match,
        "rules": rules_of(table.rules),
        "players": [
            {"name": name, "person": agent is None}
            for name, agent in zip(table.names, table.agents, strict=True)
        ],
        "sight": table.sight(seat),
        "chances": table.chances,
        "events": events,
        "since": since,
        "over": table.over,
        "winner": table.winner,
        "pace": guests.pace,
        "trouble": guests.trouble,
    }


def seated(place: Place) -> dict[str, Any]:
    """What the page that opened a table is told: its token, and those of the other people."""
    others = [
        {"seat": other.seat, "token": other.token}
        for other in place.guests.places
        if other is not place
    ]
    return {"type": "seated", "token": place.token, "seat": place.seat, "invite": others}


__all__ = ["Guests", "Hall", "HallError", "Place", "TableError", "seated", "state"]
