"""When a match is won."""

from __future__ import annotations

from pocket_uno_env.compiled.kernel import kernel

from .state import NO_SEAT


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
