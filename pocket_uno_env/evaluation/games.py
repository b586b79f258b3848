"""The results of one line-up: who won what, deal by deal and rotation by rotation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pocket_uno_env.rules.phases import End

from .statistics.estimates import CONFIDENCE, Estimate, rate_estimate, ratio_blocks


class ArenaError(ValueError):
    """An argument of `play` is out of range; the message names it."""


@dataclass(frozen=True, eq=False, slots=True)
class Games:
    """The results of one line-up, with a row for each deal and a column for each rotation.

    There are n rotations at a table of n, or as many as `count_rotations` says.

    Attributes
    ----------
    lineup : tuple of int
        The agents at the table, clockwise, by their number in what was given to `play`; the seats
        of the first rotation. In rotation r the agent at place p of the line-up sits in seat
        ``(p + r) % n``.
    names : tuple of str
        The agents' names, place by place.
    winner : int8 array, shape ``(deals, rotations)``
        The winner's place in the line-up, or -1 where there is none: a round was blocked or
        truncated, a match had too many rounds.
    points : int32 array, shape ``(deals, rotations, n)``
        What the agent at each place scored; of a match, in all its rounds.
    end : uint8 array, shape ``(deals, rotations)``
        `phases.End` of the last round.
    decisions, rounds : int32 array, shape ``(deals, rotations)``
    rounds_won : int32 array, shape ``(deals, rotations, n)``
        How many rounds the agent at each place won.
    """

    lineup: tuple[int, ...]
    names: tuple[str, ...]
    winner: np.ndarray
    points: np.ndarray
    end: np.ndarray
    decisions: np.ndarray
    rounds: np.ndarray
    rounds_won: np.ndarray

    @property
    def deals(self) -> int:
        """How many deals were played."""
        return len(self.winner)

    @property
    def rotations(self) -> int:
        """How many games of each deal were played."""
        return int(self.winner.shape[1])

    @property
    def agents(self) -> list[int]:
        """The agents, each once, in the order of the line-up."""
        return list(dict.fromkeys(self.lineup))

    def name(self, agent: int) -> str:
        """The name of `agent`."""
        return self.names[self.places(agent)[0]]

    def win_rates(self, agent: int) -> np.ndarray:
        """The win rate of `agent` in each block: float64, shape ``(deals,)``, in [0, 1].

        Averaged over the rotations, and over its places if it has several. A round without a
        winner counts 1/n for everyone.
        """
        places = self.places(agent)
        shares = np.isin(self.winner, places) / len(places)
        shares[self.winner < 0] = 1 / len(self.lineup)
        return np.asarray(shares.mean(axis=1))

    def count_rounds_won(self, agent: int) -> np.ndarray:
        """How many rounds of each block `agent` won: float64, shape ``(deals,)``.

        The mean over its places if it has several. A round without a winner counts 1/n for
        everyone.
        """
        won = self.rounds_won[:, :, self.places(agent)].mean(axis=2)
        unwon = self.rounds - self.rounds_won.sum(axis=2)
        return np.asarray((won + unwon / len(self.lineup)).sum(axis=1))

    def round_win_rates(self, agent: int) -> np.ndarray:
        """The share of rounds that `agent` won, as values by block: float64, shape ``(deals,)``.

        Matches have different numbers of rounds, and each round counts the same: these are
        `ratio_blocks`, whose mean is the share of all rounds; `round_rate` has the interval.
        """
        return ratio_blocks(self.count_rounds_won(agent), self.rounds.sum(axis=1))

    def mean_points(self, agent: int) -> np.ndarray:
        """The points per round that `agent` scored, as values by block: float64, ``(deals,)``.

        Of matches `ratio_blocks`, as in `round_win_rates`.
        """
        points = self.points[:, :, self.places(agent)].mean(axis=2)
        return ratio_blocks(points.sum(axis=1), self.rounds.sum(axis=1))

    def count(self, end: End) -> int:
        """How many games ended this way."""
        return int((self.end == end).sum())

    def first(self, deals: int) -> Games:
        """The first `deals` deals."""
        return Games(self.lineup, self.names, *(getattr(self, name)[:deals] for name in COLUMNS))

    def places(self, agent: int) -> list[int]:
        """The places of `agent` in the line-up; ArenaError if it has none."""
        places = [place for place, number in enumerate(self.lineup) if number == agent]
        if not places:
            raise ArenaError(
                f"agent {agent!r} does not play in this line-up; expected one of {self.agents}, "
                "an agent's number in what was given to play"
            )
        return places


COLUMNS = ("winner", "points", "end", "decisions", "rounds", "rounds_won")
"""The arrays of `Games`."""


def round_rate(games: Games, agent: int, confidence: float = CONFIDENCE) -> Estimate:
    """The share of rounds, also of matches, that `agent` won, with its interval."""
    unit = float(1 / games.rounds.mean())
    return rate_estimate(games.round_win_rates(agent), confidence, unit)


def joined(chunks: Sequence[Games]) -> Games:
    """Consecutive chunks of one line-up as one."""
    fields = [np.concatenate([getattr(of, name) for of in chunks]) for name in COLUMNS]
    return Games(chunks[0].lineup, chunks[0].names, *fields)
