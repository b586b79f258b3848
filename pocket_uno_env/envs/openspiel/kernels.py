"""Kernels for callers that decide the random outcomes: the deal, every draw, what a seat guesses.

`deal` and `engine` take outcomes through ``deck`` and ``supply``; these put them where they belong.
Every kernel works on the first of some rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pocket_uno_env.agents.scripted.policies import act
from pocket_uno_env.agents.search.determinize import redeal
from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.compiled.rng import mix
from pocket_uno_env.engine.deal import deal_round, new_game
from pocket_uno_env.engine.piles import arrange, shuffle
from pocket_uno_env.engine.transition import apply, truncate
from pocket_uno_env.episodes.kernels import finish_round, start_scores
from pocket_uno_env.rules.phases import End


@kernel
def start_row(
    rules: Any, rows: Any, num_players: Any, scores: Any, dealer: Any, deck: Any, log: Any
) -> None:
    """Start a game in the first row with given scores, dealer and deck (uint8 kinds, all cards)."""
    new_game(rows[0], num_players, np.uint64(0))
    start_scores(rows[0], scores)
    deal_round(rules[0], rows[0], dealer, deck, log)


@kernel
def apply_row(rules: Any, rows: Any, action: Any, kinds: Any, max_decisions: Any, log: Any) -> None:
    """Take a legal action in the first row; the cards that it draws are `kinds`, top first.

    A round that goes on after `max_decisions` is truncated.

    Parameters
    ----------
    kinds : uint8 array
        What comes from the draw pile, then what comes after a reshuffle. If it draws more, the
        rest are arbitrary cards of the pile, the same ones whenever the row is the same.
    """
    row = rows[0]
    arrange(rules[0], row.draw_pile, np.int64(row.draw_count), kinds)
    apply(rules[0], row, action, kinds[row.draw_count :], log)
    if row.end == End.RUNNING and row.decisions >= max_decisions:
        truncate(row)


@kernel
def redeal_row(rules: Any, rows: Any, seat: Any, unseen: Any, seed: Any) -> None:
    """`determinize.redeal` of the first row."""
    redeal(rules[0], rows[0], seat, unseen, seed)


@kernel
def pay_row(rules: Any, rows: Any, episode: Any, payoffs: Any) -> None:
    """What the round of the first row pays (`kernels.finish_round`)."""
    finish_round(rules[0], rows[0], episode, payoffs)


@kernel
def play_out_row(rules: Any, rows: Any, policy: Any, seed: Any, episode: Any, payoffs: Any) -> None:
    """Play the first row to its end by a scripted policy; what it pays into ``payoffs``.

    The draw pile is shuffled first; `seed` (uint64) decides that, and all that is random later.
    """
    row = rows[0]
    row.rng = seed
    row.policy_rng = mix(~seed)
    shuffle(row, row.draw_pile, np.int64(row.draw_count))
    while row.end == End.RUNNING:
        apply(rules[0], row, act(rules[0], row, policy), None, None)
        if row.end == End.RUNNING and row.decisions >= episode.max_cycles:
            truncate(row)
    finish_round(rules[0], row, episode, payoffs)
