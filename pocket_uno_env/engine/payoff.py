"""What a finished round pays each seat. Both ways are zero-sum."""

from __future__ import annotations

from enum import IntEnum

from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.rules.phases import End

from .hands import points_held
from .state import NO_SEAT


class Reward(IntEnum):
    """How a result is paid (`round_payoffs`)."""

    WIN = 0
    POINTS = 1


REWARDS = {"win": Reward.WIN, "points": Reward.POINTS}


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
def round_payoffs(rules, row, reward, out):
    """Write what the finished round pays into ``out`` (float64, shape ``(num_players,)``).

    `Reward.WIN`: +1 and -1/(n-1). `Reward.POINTS`: the winner's points over the match goal, the
    others minus the points that they hold. A blocked or truncated round pays nothing.
    """
    out[:] = 0.0
    if row.end != End.OUT:
        return
    if reward == Reward.WIN:
        win_payoffs(row.num_players, row.winner, out)
        return
    total = 0
    for seat in range(row.num_players):
        points = points_held(rules, row, seat)
        total += points
        out[seat] = -points / rules.match_goal
    out[row.winner] = total / rules.match_goal


@kernel
def match_winner(rules, row):
    """Who has won the match with the round just finished, or `NO_SEAT` if it goes on."""
    if rules.elimination:
        if row.players_in > 1:
            return NO_SEAT
        for seat in range(row.num_players):
            if (row.out >> seat) & 1 == 0:
                return seat
    for seat in range(row.num_players):
        if row.scores[seat] >= rules.match_goal:
            return seat
    return NO_SEAT
