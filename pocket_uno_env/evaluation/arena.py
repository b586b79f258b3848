"""Matched games between agents: every deal is played with all seat rotations.

The deal, with its dealer and the order of its cards, is the same in each rotation and for every
line-up; the agents move round the table, and each game has its own randomness for them. So nobody
gets better cards, and luck cancels within the *block*, all rotations of one deal, which is the
independent sample of the statistics.

A *chunk* is a number of consecutive deals of one line-up. It does not depend on what else is played
and where, so that a tournament can be split, stopped and resumed (`tournament`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pocket_uno_env.agents.agent import Agent
from pocket_uno_env.arguments import check_seed
from pocket_uno_env.records.record import game_record
from pocket_uno_env.rules.limits import MAX_CYCLES, MAX_ROUNDS
from pocket_uno_env.rules.rules import Rules

from .games import ArenaError, Games, joined
from .line_ups import line_ups
from .matches import Book, FinishedGames, advance, apply_actions, deal_games, transcripts

CHUNK_DEALS = 256
"""Deals that are played in parallel; the results of repeatable agents do not depend on it."""
MOST = {
    "deals": 100_000_000,
    "chunk_deals": 100_000,
    "max_cycles": 1_000_000_000,
    "max_rounds": 1_000_000,
}
"""The largest values that are accepted; larger ones are taken for mistakes."""
EPISODES = ("round", "match")

_PYTHON = -1
"""In place of a policy: the agent is not compiled and is asked in Python."""


@dataclass(frozen=True, slots=True)
class GameSetup:
    """Everything that decides a game except the agents; checked when it is made.

    Attributes
    ----------
    rules : Rules
    num_players : int
    seed : int
        From 0 to ``2**64 - 1``. Deal i follows from it and i alone.
    episode : {"round", "match"}
        What a deal is: one round, or a match to the rules' goal, whose rounds have the same cards
        in each rotation.
    max_cycles : int
        Decisions after which a round is truncated.
    max_rounds : int
        Rounds after which a match ends without a winner.

    Raises
    ------
    RulesError, ArenaError
    """

    rules: Rules
    num_players: int
    seed: int = 0
    episode: str = "round"
    max_cycles: int = MAX_CYCLES
    max_rounds: int = MAX_ROUNDS

    def __post_init__(self) -> None:
        self.rules.check_players(self.num_players)
        try:
            check_seed("seed", self.seed)
        except ValueError as error:
            raise ArenaError(str(error)) from None
        if self.episode not in EPISODES:
            raise ArenaError(f"episode is {self.episode!r}; expected 'round' or 'match'")
        for name in ("max_cycles", "max_rounds"):
            check_number(name, getattr(self, name))


def check_number(name: str, value: int) -> None:
    """Raise ArenaError unless `value` is from 1 to ``MOST[name]``."""
    if not 1 <= value <= MOST[name]:
        raise ArenaError(f"{name} is {value}; expected a number from 1 to {MOST[name]:,}")


def play(
    rules: str | Rules,
    num_players: int,
    agents: Sequence[Agent],
    deals: int,
    seed: int,
    *,
    lineups: Sequence[Sequence[int]] | None = None,
    episode: str = "round",
    max_cycles: int = MAX_CYCLES,
    max_rounds: int = MAX_ROUNDS,
    on_record: Callable[[dict[str, Any]], None] | None = None,
    on_finished: Callable[[int], None] | None = None,
    chunk_deals: int = CHUNK_DEALS,
) -> list[Games]:
    """Play `deals` deals with all seat rotations of each line-up.

    Parameters
    ----------
    agents : sequence of Agent
    deals : int
        From 1. Deal i follows from (`seed`, i) alone, whatever the number of deals.
    seed, episode, max_cycles, max_rounds
        See `GameSetup`.
    lineups : sequence of sequences of int, optional
        Agents by their number in `agents`, `num_players` in each; default `line_ups.line_ups`.
    on_record : callable, optional
        Called with the record of every game (docs/rules.md, section 8): line-up by line-up, deal
        by deal, rotation by rotation. Its ``players`` are the agents' names by seat, its ``seed``
        is the game's own; ``deal`` and ``rotation`` say which it is.
    on_finished : callable, optional
        Called with the number of games that have just ended, for a progress bar.
    chunk_deals : int
        Bounds the memory.

    Returns
    -------
    list of Games
        One for each line-up.

    Raises
    ------
    RulesError, ArenaError
        For an argument out of range, before any game.
    AgentError
        When an agent cannot play such games, before any; when one acts against the rules.

    Examples
    --------
    >>> from pocket_uno_env.agents import load
    >>> games = play("pocket", 2, [load("greedy"), load("random")], deals=100, seed=0)
    >>> win_rate = games[0].win_rates(0).mean()
    """
    setup = GameSetup(Rules.of(rules), num_players, seed, episode, max_cycles, max_rounds)
    check_number("deals", deals)
    if not agents:
        raise ArenaError("no agents; expected at least one")
    if lineups is None:
        lineups = line_ups(range(len(agents)), num_players)
    tables = [check_line_up(table, num_players, len(agents)) for table in lineups]
    for agent in agents:
        if not isinstance(agent, Agent):
            raise ArenaError(f"agents hold {agent!r}; expected agents, as `load` makes them")
        agent.check(setup.rules, num_players)
    played = []
    for table in tables:
        chunks = []
        for first in range(0, deals, max(1, chunk_deals)):
            count = min(max(1, chunk_deals), deals - first)
            chunk = Chunk(setup, agents, table, first, count, on_record is not None, on_finished)
            chunks.append(chunk.games())
            if on_record is not None:
                for record in chunk.records():
                    on_record(record)
        played.append(joined(chunks))
    return played


def check_line_up(table: Sequence[int], num_players: int, agents: int) -> tuple[int, ...]:
    """`table` as a tuple; `ArenaError` unless it seats so many of the `agents`."""
    if len(table) != num_players or not set(table) <= set(range(agents)):
        raise ArenaError(
            f"line-up {tuple(table)} should hold {num_players} numbers from 0 to {agents - 1}"
        )
    return tuple(table)


def count_rotations(lineup: Sequence[int], agents: Sequence[Agent]) -> int:
    """How often each deal is played by a line-up: once in every rotation that makes a difference.

    That is all of them, unless the line-up looks the same when it has moved on by some seats (an
    agent against itself) and nobody in it draws lots: then it would play the same games again.
    """
    table, n = tuple(lineup), len(lineup)
    if not all(agents[number].deterministic for number in table):
        return n
    return next(by for by in range(1, n + 1) if n % by == 0 and table[by:] + table[:by] == table)


class Chunk:
    """Some deals of one line-up, played when it is made.

    Parameters
    ----------
    setup : GameSetup
    agents : sequence of Agent
    lineup : tuple of int
    first, count : int
        The deals `first` to ``first + count - 1``.
    keep_actions : bool
        Whether the actions are kept: `records`, behaviour and control variates are made of them.
    on_finished : callable, optional
        See `play`.
    rotations : int, optional
        Default `count_rotations`.

    Attributes
    ----------
    seated : int64 array, shape ``(count * rotations, n)``
        Which agent sits in which seat of each game; game g is rotation ``g % rotations`` of deal
        ``first + g // rotations``.
    actions : int16 array, shape ``(count * rotations, longest)``, or None
        All decisions of each game, in order.
    book : Book
    """

    def __init__(
        self,
        setup: GameSetup,
        agents: Sequence[Agent],
        lineup: tuple[int, ...],
        first: int,
        count: int,
        keep_actions: bool = False,
        on_finished: Callable[[int], None] | None = None,
        rotations: int | None = None,
    ) -> None:
        self.setup, self.agents, self.lineup = setup, agents, lineup
        self.first, self.count = first, count
        self.rotations = count_rotations(lineup, agents) if rotations is None else rotations
        n, games = len(lineup), count * self.rotations
        self.rotation = np.arange(games) % self.rotations
        self.seated = np.array(lineup)[(np.arange(n)[None, :] - self.rotation[:, None]) % n]
        self.actions = np.zeros((games, 256), np.int16) if keep_actions else None
        self.rows, self.book = self.deal()
        self._play(on_finished or (lambda games: None))

    @property
    def names(self) -> tuple[str, ...]:
        """What the agents are called, place by place."""
        return tuple(self.agents[number].title for number in self.lineup)

    def deal(self) -> tuple[Any, Book]:
        """The games as they were dealt, with an empty book."""
        of = self.setup
        # By the names that the agents were loaded by: an alias changes no game.
        names = [self.agents[number].name for number in self.lineup]
        key = hashlib.sha256("\n".join(names).encode()).digest()
        return deal_games(
            of.rules,
            of.num_players,
            of.seed,
            self.first,
            self.count,
            int.from_bytes(key[:8], "little"),
            (of.max_cycles, of.max_rounds if of.episode == "match" else 0),
            self.rotations,
        )

    def games(self) -> Games:
        """The results."""
        n = len(self.lineup)
        book = self.book
        winner = np.where(book.winner < 0, -1, (book.winner - self.rotation) % n).astype(np.int8)
        seats = (np.arange(n)[None, :] + self.rotation[:, None]) % n
        points, won = (
            np.take_along_axis(of_seat, seats, axis=1).astype(np.int32)
            for of_seat in (book.points, book.rounds_won)
        )
        shape = (self.count, self.rotations)
        return Games(
            self.lineup,
            self.names,
            winner.reshape(shape),
            points.reshape(*shape, n),
            np.array(self.rows["end"]).reshape(shape),
            book.decisions.astype(np.int32).reshape(shape),
            book.rounds.astype(np.int32).reshape(shape),
            won.reshape(*shape, n),
        )

    def finished_games(self) -> FinishedGames:
        """The games, to be played again by `behavior` and `draw_luck`."""
        assert self.actions is not None, "made without keep_actions"
        n = len(self.lineup)
        places = (np.arange(n)[None, :] - self.rotation[:, None]) % n
        rows, book = self.deal()
        lengths = self.book.decisions
        table = self.setup.rules._table
        return FinishedGames(table, rows, book, self.actions, lengths, places, self.rotations)

    def records(self) -> list[dict[str, Any]]:
        """The record of every game, made anew from its seed and its actions."""
        assert self.actions is not None, "made without keep_actions"
        of = self.setup
        result = []
        for game, numbers in enumerate(self.seated):
            actions = self.actions[game, : self.book.decisions[game]].tolist()
            rounds = transcripts(of.rules, of.num_players, self.book, game, actions)
            names = [self.agents[number].title for number in numbers]
            match = of.episode == "match"
            record = game_record(of.rules, names, int(self.book.seeds[game]), match, rounds)
            deal, rotation = divmod(game, self.rotations)
            result.append({**record, "deal": self.first + deal, "rotation": rotation})
        return result

    def _play(self, on_finished: Callable[[int], None]) -> None:
        numbers = [_PYTHON if agent.policy is None else agent.policy for agent in self.agents]
        policies = np.array(numbers, np.int64)[self.seated]
        table, rows, book = self.setup.rules._table, self.rows, self.book
        running = np.arange(len(rows))
        while len(running):
            if self.actions is not None and book.decisions.max() == self.actions.shape[1]:
                more = np.zeros_like(self.actions)
                self.actions = np.concatenate([self.actions, more], axis=1)
            advance(table, rows, running, policies, book, self.actions)
            before = len(running)
            running = running[book.over[running] == 0]
            if len(running) < before:
                on_finished(before - len(running))
            self._ask(running, policies)
        if self.actions is not None:
            self.actions = self.actions[:, : book.decisions.max()].copy()

    def _ask(self, running: np.ndarray, policies: np.ndarray) -> None:
        """Let each agent that is not compiled decide once wherever it is to act."""
        rules, rows, book = self.setup.rules, self.rows, self.book
        seat = rows["to_act"][running]
        waiting = policies[running, seat] == _PYTHON
        if self.actions is not None:
            waiting &= book.decisions[running] < self.actions.shape[1]
        running, seat = running[waiting], seat[waiting]
        number = self.seated[running, seat]
        for asked in np.unique(number):
            index = running[number == asked]
            actions = self.agents[asked].act_rows(rules, rows, index)
            apply_actions(rules._table, rows, index, actions, book, self.actions)
