"""The race to the goal, against plain recursions over the scores."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pocket_uno_env.equity.race import race_table, write_equities


def equities(points: list[float], goal: int, scores: tuple[int, ...]) -> np.ndarray:
    out = np.empty(len(scores))
    write_equities(race_table(np.array(points), goal), np.array(scores), out)
    return out


def by_recursion(points: list[float], goal: int, scores: tuple[int, ...]) -> np.ndarray:
    """The same, round by round: whoever wins the next one, and what it pays."""
    total = sum(points[1:])

    @cache
    def chances(at: tuple[int, ...]) -> tuple[float, ...]:
        for seat, score in enumerate(at):
            if score >= goal:
                return tuple(float(seat == other) for other in range(len(at)))
        sums = np.zeros(len(at))
        for seat in range(len(at)):
            for pays, count in enumerate(points):
                if pays and count:
                    next_at = (*at[:seat], at[seat] + pays, *at[seat + 1 :])
                    sums += count / total / len(at) * np.array(chances(next_at))
        return tuple(sums)

    return np.array(chances(scores))


def test_hand_computed_chances() -> None:
    five = [0, 0, 0, 0, 0, 1]
    assert equities(five, 10, (5, 0)) == pytest.approx([0.75, 0.25], abs=1e-12)
    assert equities(five, 10, (5, 5, 0)) == pytest.approx([4 / 9, 4 / 9, 1 / 9], abs=1e-12)
    assert equities(five, 5, (0, 0, 0, 0)) == pytest.approx([0.25] * 4, abs=1e-12)
    assert list(equities(five, 10, (0, 12))) == [0, 1]


@pytest.mark.parametrize("players", [2, 3, 4])
def test_as_round_by_round(players: int) -> None:
    generator = np.random.default_rng(players)
    for _ in range(20):
        points = list(np.maximum(generator.integers(0, 4, 8), np.arange(8) == 2).astype(float))
        goal = int(generator.integers(1, 40 if players == 2 else 14))
        scores = tuple(int(score) for score in generator.integers(0, goal, players))
        right = by_recursion(points, goal, scores)
        assert equities(points, goal, scores) == pytest.approx(right, abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 10), st.integers(20, 500), st.integers(0, 2**32 - 1))
def test_symmetric_one_in_all_and_rising(players: int, goal: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    points = generator.random(100) * np.exp(-np.arange(100) / 30)
    race = race_table(points, goal)
    scores, order = generator.integers(0, goal, players), generator.permutation(players)
    found, turned, more = (np.empty(players) for _ in range(3))
    write_equities(race, scores, found)
    write_equities(race, scores[order], turned)
    assert found.sum() == pytest.approx(1, abs=1e-12)
    assert turned == pytest.approx(found[order], abs=1e-12)
    assert (found[scores.argsort()] == np.sort(found)).all() or len(set(scores)) < players
    seat = int(generator.integers(players))
    scores[seat] = min(scores[seat] + 5, goal)
    write_equities(race, scores, more)
    assert more[seat] > found[seat]
    assert (np.delete(more, seat) <= np.delete(found, seat)).all()


@pytest.mark.parametrize("points", [[1], [1, 0, 0], [], [-1, 2], [np.nan, 1], [[1, 2]]])
def test_what_is_no_distribution_is_refused(points: list[float]) -> None:
    with pytest.raises(ValueError, match=r"points is|no round pays"):
        race_table(np.array(points), 100)
