"""Episodes: where they start, when they are over, and what they pay on the way."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from pocket_uno_env.arguments import check_count
from pocket_uno_env.equity.tables import find, race_of, read_points
from pocket_uno_env.rules.limits import MAX_CYCLES, MAX_ROUNDS
from pocket_uno_env.rules.rules import Rules

from .payoff import REWARDS

EPISODES = ("round", "match")
OCCURRING = "match"
"""In place of starting scores: as they occur in matches."""
DRAWN = 8192
"""How many scores `occurring_scores` gives at least."""

Scores = str | Sequence[int] | Sequence[Sequence[int]] | np.ndarray | None
"""Starting scores: see `read_scores`."""


class Episode(NamedTuple):
    """What kernels need to know of episodes, made by `episode_of`.

    Attributes
    ----------
    reward : int
        A `payoff.Reward`.
    race : float64 array, shape ``(goal + 1, 2, nodes)``
        The `race.race_table` of the game; without a line unless it is needed.
    scores : int64 array, shape ``(m, num_players)``
        One line is drawn for each episode to start from; 0 points each if there is none.
    max_cycles : int
        Decisions after which a round is truncated.
    max_rounds : int
        Rounds after which a match is truncated; 0 where an episode is a round.
    """

    reward: Any
    race: Any
    scores: Any
    max_cycles: Any
    max_rounds: Any


def episode_of(
    rules: Rules,
    num_players: int,
    episode: str = "round",
    reward: str = "win",
    max_cycles: int = MAX_CYCLES,
    max_rounds: int = MAX_ROUNDS,
    scores: Scores = None,
) -> Episode:
    """The episodes of these options, checked; `scores` as in `read_scores`.

    Raises
    ------
    ValueError
        Naming the option and what was expected. `tables.EquityError` if match equity is needed and
        not known.
    """
    if episode not in EPISODES:
        raise ValueError(f"episode is {episode!r}; expected one of {list(EPISODES)}")
    if reward not in REWARDS:
        raise ValueError(f"reward is {reward!r}; expected one of {list(REWARDS)}")
    race = np.zeros((0, 2, 1))
    if reward == "match":
        # A copy, since compiled code takes arrays that can be written for another kind.
        race = race_of(rules, num_players).copy()
    rounds = check_count("max_rounds", max_rounds)
    return Episode(
        int(REWARDS[reward]),
        race,
        read_scores(rules, num_players, scores),
        check_count("max_cycles", max_cycles),
        rounds if episode == "match" else 0,
    )


def read_scores(rules: Rules, num_players: int, scores: Scores) -> np.ndarray:
    """Starting scores, checked: int64, shape ``(m, num_players)``.

    Parameters
    ----------
    scores : None, "match", or integers of shape ``(num_players,)`` or ``(m, num_players)``
        0 points each; `occurring_scores`; the points of each seat, or many of them, of which each
        episode draws one.

    Raises
    ------
    ValueError
        For others, and for scores with which the match would be over.
    """
    if scores is None:
        return np.zeros((0, num_players), np.int64)
    if isinstance(scores, str):
        if scores != OCCURRING:
            raise ValueError(f"scores is {scores!r}; expected points by seat, or {OCCURRING!r}")
        return occurring_scores(rules, num_players).copy()
    try:
        lines = np.atleast_2d(np.asarray(scores))
    except ValueError:
        lines = np.zeros(0)
    if lines.ndim != 2 or lines.shape[1] != num_players or lines.dtype.kind not in "iu":
        raise ValueError(
            f"scores is {scores!r}; expected a whole number for each of {num_players} seats, "
            f"several such lines, or {OCCURRING!r}"
        )
    if lines.size and not (lines.min() >= 0 and lines.max() < rules.match_goal):
        raise ValueError(
            f"scores has {lines.max() if lines.min() >= 0 else lines.min()}; expected points from "
            f"0 to {rules.match_goal - 1}, with which the match is not over"
        )
    return np.array(lines, np.int64, order="C")  # compiled code takes no other order


@lru_cache(maxsize=64)
def occurring_scores(rules: Rules, num_players: int) -> np.ndarray:
    """Scores as they stand before the rounds of matches between equals, read-only.

    They come from whole matches that are drawn at random, each round won by any seat and its points
    as the table of match equity says.

    Returns
    -------
    int64 array, shape ``(m, num_players)``
        `DRAWN` lines or a few more, always the same ones.

    Raises
    ------
    EquityError
        If nobody has measured how many points a round pays.
    """
    race_of(rules, num_players)  # or there are no matches like this
    points = read_points(find(rules, num_players))
    below = np.cumsum(points) / points.sum()
    generator = np.random.default_rng(0)
    lines: list[np.ndarray] = []
    while len(lines) < DRAWN:
        scores = np.zeros(num_players, np.int64)
        while scores.max() < rules.match_goal:
            lines.append(scores.copy())
            won, paid = generator.random(2)
            scores[int(won * num_players)] += int(np.searchsorted(below, paid, side="right"))
    found = np.array(lines)
    found.setflags(write=False)
    return found
