"""Kernels of episodes: the scores that they start from, and what the end of a round means."""

from __future__ import annotations

import numpy as np

from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.compiled.rng import bounded, next_state
from pocket_uno_env.engine.match import match_winner
from pocket_uno_env.engine.state import NO_SEAT
from pocket_uno_env.rules.phases import End

from .payoff import Reward, round_payoffs, win_payoffs


@kernel
def start_scores(row, scores):
    """Draw the scores that the game starts from; `Episode.scores`."""
    if scores.shape[0] > 0:
        line = 0
        if scores.shape[0] > 1:
            row.rng = next_state(row.rng)
            line = bounded(row.rng, scores.shape[0])
        for seat in range(row.num_players):
            row.scores[seat] = scores[line, seat]


@kernel
def finish_round(rules, row, episode, payoffs):
    """Whether the finished round ends the episode, and what it pays each seat.

    Parameters
    ----------
    payoffs : float64 array, shape ``(num_players,)``, written
        By `Reward.WIN` a match pays at its end alone.

    Returns
    -------
    End
        `End.RUNNING` if another round is to be dealt.
    """
    if episode.max_rounds == 0:
        round_payoffs(rules, row, episode.reward, episode.race, payoffs)
        return row.end
    winner = match_winner(rules, row)
    if episode.reward != Reward.WIN:
        round_payoffs(rules, row, episode.reward, episode.race, payoffs)
    elif winner != NO_SEAT:
        win_payoffs(row.num_players, winner, payoffs)
    else:
        payoffs[:] = 0.0
    if winner != NO_SEAT:
        return np.uint8(End.OUT)
    if row.round_index + 1 >= episode.max_rounds:
        return np.uint8(End.TRUNCATED)
    return np.uint8(End.RUNNING)
