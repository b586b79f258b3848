"""What the end of a round is worth to a search, in shares of a win.

By ``reward=win`` a round that is won counts 1 and one that is lost 0. By ``reward=match`` it counts
what it does to the seat's chance to win the match, on a scale on which an ordinary win is 1 and an
ordinary loss 0, so that leads and doubts mean the same in both. (An ordinary round pays the points
that rounds pay on average.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.equity.race import write_equities
from pocket_uno_env.equity.tables import EquityError, find, race_of, read_points
from pocket_uno_env.rules.limits import MAX_SEATS
from pocket_uno_env.rules.phases import End
from pocket_uno_env.rules.rules import Rules


class Stakes(NamedTuple):
    """What is at stake; made by `stakes_of`.

    Attributes
    ----------
    race : float64 array, shape ``(goal + 1, 2, nodes)``
        The `race.race_table` of the game; without a line where a win is a win.
    points : int
        What a round pays on average.
    now, lost, won : float64, shape ``(MAX_SEATS,)``
        Each seat's chance to win the match, and what it is after an ordinary loss or win; written
        by `set_stakes`.
    """

    race: Any
    points: Any
    now: Any
    lost: Any
    won: Any


def stakes_of(rules: Rules, num_players: int, reward: str) -> Stakes:
    """The stakes of a game by the reward ``"match"``, where match equity is known, or ``"win"``."""
    race, points = np.zeros((0, 2, 1)), 0
    if reward == "match":
        try:
            race = race_of(rules, num_players).copy()
            counts = read_points(find(rules, num_players))
            paid = counts[1:]
            points = round(float(paid @ np.arange(1, len(counts)) / paid.sum()))
        except EquityError:
            pass
    return Stakes(race, points, *np.zeros((3, MAX_SEATS)))


@kernel
def set_stakes(row, stakes):
    """Look at the scores, once before each search."""
    if stakes.race.shape[0] == 0:
        return
    seats = np.int64(row.num_players)
    scores, chances = np.empty(seats, np.int64), np.empty(seats)
    for seat in range(seats):
        scores[seat] = row.scores[seat]
    write_equities(stakes.race, scores, chances)
    for seat in range(seats):
        stakes.now[seat] = chances[seat]
        stakes.lost[seat] = 0.0
    for winner in range(seats):
        scores[winner] += stakes.points
        write_equities(stakes.race, scores, chances)
        scores[winner] -= stakes.points
        for seat in range(seats):
            if seat == winner:
                stakes.won[seat] = chances[seat]
            else:
                stakes.lost[seat] += chances[seat] / (seats - 1)


@kernel
def share_of(chance, seat, stakes):
    """The share of a win that a seat's chance to win the match means."""
    return (chance - stakes.lost[seat]) / (stakes.won[seat] - stakes.lost[seat])


@kernel
def share_at_end(row, seat, stakes):
    """The share of a win that `seat` has of a round that is over, or was cut off."""
    if row.end != End.OUT:
        if stakes.race.shape[0] == 0:
            return 1.0 / row.players_in
        return share_of(stakes.now[seat], seat, stakes)
    if stakes.race.shape[0] == 0:
        return 1.0 if row.winner == seat else 0.0
    chances = np.empty(row.num_players)
    write_equities(stakes.race, row.scores, chances)
    return share_of(chances[seat], seat, stakes)
