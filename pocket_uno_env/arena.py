"""Matched games between agents: every deal is played with all seat rotations.

The deal, with its dealer and all randomness that follows, is the same in each rotation; only the
agents move round the table. So nobody gets the better cards, and luck cancels within the *block*,
all rotations of one deal, which is the independent sample of the statistics.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .agents.protocol import Agent, as_actions, illegal_action
from .batch import first_illegal, reset_rows, step_rows
from .engine import apply, truncate
from .kernel import kernel
from .record import from_actions
from .rng import row_seed
from .rules import Rules
from .scripted import act
from .state import End, as_rows, new_rows

MAX_CYCLES = 20_000
CHUNK_GAMES = 2048
"""Games that run side by side; results don't depend on it."""
MAX_SEED = 2**64 - 1

_PYTHON = -1
"""Stands for a policy where an agent is none and has to be asked."""


class ArenaError(ValueError):
    """An argument of `play` is out of range; the message names it."""


@dataclass(frozen=True, eq=False, slots=True)
class Games:
    """All games of one line-up, one line for each deal and one column for each rotation.

    Attributes
    ----------
    lineup : tuple of int
        The agents at the table, clockwise, by their number in what was given to `play`; the seats
        of the first rotation. In rotation r the agent at place p of the line-up sits in seat
        ``(p + r) % n``.
    names : tuple of str
        The agents' names, place by place.
    winner : int8 array, shape ``(deals, n)``
        The winner's place in the line-up, or -1 where the round was blocked or truncated.
    points : int32 array, shape ``(deals, n)``
        What the winner scored.
    end : uint8 array, shape ``(deals, n)``
        `state.End`.
    decisions : int32 array, shape ``(deals, n)``
    """

    lineup: tuple[int, ...]
    names: tuple[str, ...]
    winner: np.ndarray
    points: np.ndarray
    end: np.ndarray
    decisions: np.ndarray

    @property
    def agents(self) -> list[int]:
        """Who takes part, each once, in the order of the line-up."""
        return list(dict.fromkeys(self.lineup))

    def name(self, agent: int) -> str:
        """What `agent` is called."""
        return self.names[self.lineup.index(agent)]

    def win_rates(self, agent: int) -> np.ndarray:
        """The win rate of `agent` in each block: float64, shape ``(deals,)``, in [0, 1].

        Averaged over the rotations, and over its places if it has several. A round without a
        winner counts 1/n for everyone.
        """
        places = self._places(agent)
        shares = np.isin(self.winner, places) / len(places)
        shares[self.winner < 0] = 1 / len(self.lineup)
        return np.asarray(shares.mean(axis=1))

    def mean_points(self, agent: int) -> np.ndarray:
        """The points per round that `agent` scored in each block: float64, shape ``(deals,)``."""
        places = self._places(agent)
        scored = np.where(np.isin(self.winner, places), self.points, 0)
        return np.asarray(scored.mean(axis=1) / len(places))

    def count(self, end: End) -> int:
        """How many rounds ended so."""
        return int((self.end == end).sum())

    def _places(self, agent: int) -> list[int]:
        return [place for place, number in enumerate(self.lineup) if number == agent]


def line_ups(numbers: Sequence[int], num_players: int) -> list[tuple[int, ...]]:
    """Who plays whom, when agents of these numbers are given for a table of `num_players`.

    - As many as there are seats: they sit down as given, in one line-up. A number may come twice.
    - One agent: it plays against itself.
    - Otherwise every agent meets every other: with two players each pair once, with more each
      agent alone against ``num_players - 1`` of the other, for each ordered pair.
    """
    different = list(dict.fromkeys(numbers))
    if len(numbers) == num_players:
        return [tuple(numbers)]
    if len(different) == 1:
        return [(different[0],) * num_players]
    if num_players == 2:
        return list(itertools.combinations(different, 2))
    pairs = itertools.permutations(different, 2)
    return [(one, *[other] * (num_players - 1)) for one, other in pairs]


def play(
    rules: str | Rules,
    num_players: int,
    agents: Sequence[Agent],
    deals: int,
    seed: int,
    *,
    lineups: Sequence[Sequence[int]] | None = None,
    max_cycles: int = MAX_CYCLES,
    on_record: Callable[[dict[str, Any]], None] | None = None,
    on_finished: Callable[[int], None] | None = None,
    chunk_games: int = CHUNK_GAMES,
) -> list[Games]:
    """Play `deals` deals with all seat rotations of each line-up.

    Parameters
    ----------
    agents : sequence of Agent
    deals : int
        From 1. Deal i follows from (`seed`, i) alone, whatever the number of deals.
    seed : int
        From 0 to ``2**64 - 1``.
    lineups : sequence of sequences of int, optional
        Agents by their number in `agents`, `num_players` in each; default `line_ups`.
    max_cycles : int
        Decisions after which a round is truncated.
    on_record : callable, optional
        Called with the record of every game (docs/rules.md, section 8): line-up by line-up, deal
        by deal, rotation by rotation. Its ``players`` are the agents' names by seat, its ``seed``
        is `seed`.
    on_finished : callable, optional
        Called with the number of games that have just ended, for a progress bar.
    chunk_games : int
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
    made = Rules.of(rules)
    seats = made.check_players(num_players)
    if deals < 1:
        raise ArenaError(f"deals is {deals}; expected at least 1")
    if not 0 <= seed <= MAX_SEED:
        raise ArenaError(f"seed is {seed}; expected a number from 0 to {MAX_SEED}")
    if max_cycles < 1:
        raise ArenaError(f"max_cycles is {max_cycles}; expected at least 1")
    if not agents:
        raise ArenaError("no agents; expected at least one")
    tables = line_ups(range(len(agents)), seats) if lineups is None else list(map(tuple, lineups))
    for table in tables:
        if len(table) != seats or not set(table) <= set(range(len(agents))):
            raise ArenaError(
                f"line-up {table} should hold {seats} numbers from 0 to {len(agents) - 1}"
            )
    for agent in agents:
        agent.check(made, seats)
    chunk_deals = max(1, chunk_games // seats)
    return [
        _play_line_up(
            _Table(made, seed, max_cycles, agents, table, on_record, on_finished),
            deals,
            chunk_deals,
        )
        for table in tables
    ]


def _play_line_up(table: _Table, deals: int, chunk_deals: int) -> Games:
    chunks = [
        table.play(first, min(chunk_deals, deals - first)) for first in range(0, deals, chunk_deals)
    ]
    winner, points, end, decisions = (np.concatenate(parts) for parts in zip(*chunks, strict=True))
    return Games(table.lineup, table.names, winner, points, end, decisions)


@dataclass(eq=False)
class _Table:
    """One line-up and how it plays."""

    rules: Rules
    seed: int
    max_cycles: int
    agents: Sequence[Agent]
    lineup: tuple[int, ...]
    on_record: Callable[[dict[str, Any]], None] | None
    on_finished: Callable[[int], None] | None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.agents[number].name for number in self.lineup)

    def play(self, first: int, count: int) -> tuple[np.ndarray, ...]:
        """Play deals `first` to ``first + count - 1``; winner, points, end, decisions."""
        n = len(self.lineup)
        dealt = new_rows(count)
        reset_rows(self.rules.table, dealt, n, np.uint64(self.seed), np.uint64(first))
        # Game g is rotation g % n of deal g // n; place p sits in seat (p + rotation) % n.
        rows = as_rows(np.repeat(np.asarray(dealt), n))
        rotation = np.arange(count * n) % n
        place = (np.arange(n)[None, :] - rotation[:, None]) % n
        seated = np.array(self.lineup)[place]
        taken = self._run(rows, seated)
        if taken is not None:
            self._record(first, rows, seated, taken)
        won = rows["end"] == End.OUT
        seat = np.where(won, rows["winner"], 0).astype(np.int64)
        winner = np.where(won, (seat - rotation) % n, -1).astype(np.int8)
        points = np.where(won, rows["points"][np.arange(count * n), seat], 0).astype(np.int32)
        columns = (winner, points, rows["end"], rows["decisions"])
        return tuple(np.array(column).reshape(count, n) for column in columns)

    def _run(self, rows: Any, seated: np.ndarray) -> np.ndarray | None:
        """Play all rows to the end; the actions of each, if games are recorded."""
        numbers = [_PYTHON if agent.policy is None else agent.policy for agent in self.agents]
        policies = np.array(numbers, np.int64)[seated]
        taken = None if self.on_record is None else np.zeros((len(rows), 256), np.int16)
        running = np.arange(len(rows))
        while True:
            if taken is not None and rows["decisions"].max() == taken.shape[1]:
                taken = np.concatenate([taken, np.zeros_like(taken)], axis=1)
            advance(self.rules.table, rows, running, policies, self.max_cycles, taken)
            before = len(running)
            running = running[rows["end"][running] == End.RUNNING]
            if self.on_finished is not None and len(running) < before:
                self.on_finished(before - len(running))
            if len(running) == 0:
                return taken
            self._ask(rows, running, seated, policies, taken)

    def _ask(
        self,
        rows: Any,
        running: np.ndarray,
        seated: np.ndarray,
        policies: np.ndarray,
        taken: np.ndarray | None,
    ) -> None:
        """Let each agent that is not compiled decide once wherever it is to act."""
        seat = rows["to_act"][running]
        waiting = policies[running, seat] == _PYTHON
        if taken is not None:
            waiting &= rows["decisions"][running] < taken.shape[1]
        running, seat = running[waiting], seat[waiting]
        number = seated[running, seat]
        for asked in np.unique(number):
            index = running[number == asked]
            agent = self.agents[asked]
            actions = as_actions(agent, agent.act_rows(self.rules, rows, index.copy()), len(index))
            wrong = first_illegal(self.rules.table, rows, index, actions)
            if wrong >= 0:
                raise illegal_action(agent, self.rules, rows, index[wrong], actions[wrong])
            if taken is not None:
                taken[index, rows["decisions"][index]] = actions
            step_rows(self.rules.table, rows, index, actions, self.max_cycles)

    def _record(self, first: int, rows: Any, seated: np.ndarray, taken: np.ndarray) -> None:
        """Hand on the record of every row, made anew from its seed and its actions."""
        assert self.on_record is not None
        n = len(self.lineup)
        for game, numbers in enumerate(seated):
            deal_seed = row_seed(np.uint64(self.seed), np.uint64(first + game // n))
            self.on_record(
                from_actions(
                    self.rules,
                    n,
                    int(deal_seed),
                    taken[game, : rows["decisions"][game]].tolist(),
                    [self.agents[number].name for number in numbers],
                    self.seed,
                    bool(rows["end"][game] == End.TRUNCATED),
                )
            )


@kernel
def advance(rules: Any, rows: Any, index: Any, policies: Any, max_cycles: Any, taken: Any) -> None:
    """Let compiled policies act in ``rows[index]`` until another agent is to act or it is over.

    Parameters
    ----------
    policies : int64 array, shape ``(n, num_players)``
        `scripted.Policy` by row and seat, negative for an agent that is none.
    taken : int16 array, shape ``(n, capacity)``, written, or None
        ``taken[i, d]`` becomes decision d of row i. A row stops where there is no more room.
    """
    for j in range(index.shape[0]):
        i = index[j]
        row = rows[i]
        while row.end == End.RUNNING:
            policy = policies[i, row.to_act]
            if policy < 0:
                break
            if taken is not None and row.decisions == taken.shape[1]:
                break
            action = act(rules[0], row, policy)
            if taken is not None:
                taken[i, row.decisions] = action
            apply(rules[0], row, action, None, None)
            if row.end == End.RUNNING and row.decisions >= max_cycles:
                truncate(row)
