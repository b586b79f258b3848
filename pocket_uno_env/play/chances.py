"""The chance of each seat to win the round and the match, for those who see the whole table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from pocket_uno_env.equity.tables import EquityError, match_equity, race_of
from pocket_uno_env.rules.phases import End
from pocket_uno_env.rules.rules import Rules

from .estimate import open_hands

DIGITS = 4
"""Of a chance that people are shown."""
LONGEST = 2_000
"""The goal of the longest matches that are judged: the work grows with its square, and anybody who
has a page or a record can ask for it."""


def at_scores(rules: Rules, scores: Sequence[int] | np.ndarray) -> list[float] | None:
    """The chance of each seat to win the match, while no cards are dealt (`match_equity`).

    Parameters
    ----------
    scores : integers, shape ``(num_players,)``
        Everybody sees them, so anybody may be told.

    Returns
    -------
    list of float, or None
        They sum to 1, but for rounding; None if there is no match equity for these rules.
    """
    if race_for(rules, len(scores)) is None:
        return None
    chances: list[float] = match_equity(rules, scores).round(DIGITS).tolist()
    return chances


def outlook(
    rules: Rules, rows: np.ndarray, playouts: int, race: np.ndarray | None
) -> dict[str, Any]:
    """What the first row is worth to each seat, by all hands: no player may be told.

    Parameters
    ----------
    playouts : int
        From 1, while the round runs; after it the figures are exact.
    race : float64 array, or None
        Of `race_for`; None outside of a match.

    Returns
    -------
    dict
        ``round`` and ``match``, the chance of each seat to win it; ``match`` is None without
        `race`.
    """
    row, seats = rows[0], int(rows["num_players"][0])
    if int(rows["end"][0]) == End.RUNNING:
        wins, equities = open_hands(rules, rows, race, playouts)
    else:
        wins = (np.arange(seats) == row["winner"]).astype(float)
        equities = None if race is None else match_equity(rules, row["scores"][:seats])
    return {
        "round": wins.round(DIGITS).tolist(),
        "match": None if equities is None else equities.round(DIGITS).tolist(),
    }


@lru_cache(maxsize=64)
def race_for(rules: Rules, num_players: int) -> np.ndarray | None:
    """The `race.race_table` of a game; None if there is no match equity for it."""
    if rules.match_goal > LONGEST:
        return None
    try:
        return race_of(rules, num_players).copy()  # kernels take arrays that can be written
    except EquityError:
        return None
