"""What a finished round pays each seat, and what a match does. All ways are zero-sum."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.engine.hands import points_held
from pocket_uno_env.equity.race import write_equities
from pocket_uno_env.rules.phases import End


class Reward(IntEnum):
    """How a result is paid."""

    WIN = 0
    POINTS = 1
    MATCH = 2


REWARDS = {"win": Reward.WIN, "points": Reward.POINTS, "match": Reward.MATCH}


@kernel
def win_payoffs(num_players, winner, out):
    """+1 for the winner, -1/(n-1) for each other seat; ``out`` float64, shape ``(n,)``."""
    for seat in range(num_players):
        out[seat] = 1.0 if seat == winner else -1.0 / (num_players - 1)


@kernel
def win_share(value, num_players):
    """The share of a win, from 0 to 1, that an expected `win_payoffs` of `value` means."""
    return min(max((value * (num_players - 1.0) + 1.0) / num_players, 0.0), 1.0)


@kernel
def point_payoffs(rules, row, out):
    """The winner's points over the match goal, for the others minus the points that they hold."""
    total = 0
    for seat in range(row.num_players):
        points = points_held(rules, row, seat)
        total += points
        out[seat] = -points / rules.match_goal
    out[row.winner] = total / rules.match_goal


@kernel
def match_payoffs(row, race, out):
    """What the round did to each seat's chance to win the match; they sum to 0.

    Parameters
    ----------
    race : float64 array
        The `race.race_table` of the game.
    """
    before = np.empty(out.shape[0], np.float64)
    scores = np.empty(out.shape[0], np.int64)
    for seat in range(out.shape[0]):
        scores[seat] = row.scores[seat] - row.points[seat]
    write_equities(race, scores, before)
    for seat in range(out.shape[0]):
        scores[seat] = row.scores[seat]
    write_equities(race, scores, out)
    for seat in range(out.shape[0]):
        out[seat] -= before[seat]


@kernel
def round_payoffs(rules, row, reward, race, out):
    """Write what the finished round pays into ``out`` (float64, shape ``(num_players,)``).

    A blocked or truncated round pays nothing.

    Parameters
    ----------
    reward : `Reward`
        `win_payoffs`, `point_payoffs` or `match_payoffs`.
    race : float64 array
        For `Reward.MATCH`.
    """
    out[:] = 0.0
    if row.end != End.OUT:
        return
    if reward == Reward.WIN:
        win_payoffs(row.num_players, row.winner, out)
    elif reward == Reward.POINTS:
        point_payoffs(rules, row, out)
    else:
        match_payoffs(row, race, out)
