"""Ratings: against closed forms, choix, and agents whose order is known."""

from dataclasses import replace

import numpy as np
import pytest

from pocket_uno_env.agents import load
from pocket_uno_env.evaluation.arena import play
from pocket_uno_env.evaluation.games import Games
from pocket_uno_env.evaluation.line_ups import line_ups
from pocket_uno_env.evaluation.statistics.ratings import (
    ELO,
    Tables,
    _luce,
    _pairwise,
    openskill,
    rate_against,
    ratings,
)

choix = pytest.importorskip("choix")

NOISY = ["noisy:0", "noisy:0.05", "noisy:0.2", "noisy:0.5", "noisy:1"]


def made(lineup, names, winners):
    """Games with these winners, by place: shape (deals, n)."""
    winner = np.array(winners, np.int8)
    zeros = np.zeros_like(winner, np.int32)
    points = np.zeros((*winner.shape, winner.shape[1]), np.int32)
    won = (winner[:, :, None] == np.arange(winner.shape[1])).astype(np.int32)
    return Games(lineup, names, winner, points, zeros + 1, zeros, zeros + 1, won)


def drawn(strength, lineup, deals, rng):
    """Games of Luce's model."""
    chances = np.array([strength[number] for number in lineup], float)
    winners = rng.choice(len(lineup), (deals, len(lineup)), p=chances / chances.sum())
    return made(lineup, tuple("abcdef"[number] for number in lineup), winners)


def test_two_agents_have_the_closed_form():
    winners = np.repeat([[0, 0], [0, 1], [1, 1]], [300, 500, 200], axis=0)
    found = ratings([made((0, 1), ("a", "b"), winners)])
    rate = (550 + 0.5) / 1001
    assert found["a"].mean - found["b"].mean == pytest.approx(ELO * np.log(rate / (1 - rate)))
    assert (found["a"].mean + found["b"].mean) / 2 == pytest.approx(1000)


def test_lukes_model_of_two_is_bradleys_and_terrys():
    rng = np.random.default_rng(0)
    games = [drawn([1, 2, 5, 0.3], t, 200, rng) for t in line_ups(range(4), 2)]
    tables = Tables.of(games)
    weights = np.concatenate([np.ones((1, 200)), rng.multinomial(200, [1 / 200] * 200, 3)])
    one, other = _pairwise(tables, weights), _luce(tables, weights)
    one, other = (x - x.mean(axis=1, keepdims=True) for x in (one, other))
    assert np.abs(one - other).max() < 1e-5
    # choix's own example of the model, from single comparisons.
    data = [(0, 1)] * 60 + [(1, 0)] * 40 + [(1, 2)] * 70 + [(2, 1)] * 30
    expected = choix.ilsr_pairwise(3, data)
    assert expected[0] - expected[1] == pytest.approx(np.log(60 / 40), abs=1e-6)


@pytest.mark.parametrize("seats", [2, 3, 4])
@pytest.mark.parametrize("design", ["round-robin", "mixed"])
def test_known_strengths_are_found(seats, design):
    strength = [1.0, 1.5, 3.0, 0.5]
    rng = np.random.default_rng(seats)
    games = [drawn(strength, t, 400, rng) for t in line_ups(range(4), seats, design)]
    found = ratings(games)
    expected = ELO * np.log(strength)
    expected += 1000 - expected.mean()
    for name, value in zip("abcd", expected, strict=True):
        width = found[name].high - found[name].low
        assert abs(found[name].mean - value) < width
        assert 5 < width < 60


def test_intervals_hold_the_truth_as_often_as_they_say():
    held = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        games = [drawn([1, 1.3, 2], t, 60, rng) for t in line_ups(range(3), 3, "mixed")]
        found = ratings(games, resamples=200)
        truth = 1000 + ELO * (np.log(2) - np.log([1, 1.3, 2]).mean())
        held.append(found["c"].low <= truth <= found["c"].high)
    # 150 tries of 95 % come out below 89 % once in a thousand times.
    assert np.mean(held) > 0.89


def test_rounds_are_rated_by_their_share_however_long_a_match_is():
    rng = np.random.default_rng(0)
    rounds = [drawn([1, 2, 5], t, 500, rng) for t in line_ups(range(3), 2)]
    assert ratings(rounds, rounds=True) == ratings(rounds)
    # Matches of three rounds, of which the loser has won one as well.
    longer = [replace(of, rounds=3 * of.rounds, rounds_won=of.rounds_won + 1) for of in rounds]
    by_rounds = ratings(longer, rounds=True)
    for of, one, other in zip(longer, "aab", "bcc", strict=True):
        share = ((of.winner == 0).mean() + 1) / 3
        expected = ELO * np.log(share / (1 - share))
        assert by_rounds[one].mean - by_rounds[other].mean == pytest.approx(expected, abs=15)
    known = {"b": by_rounds["b"].mean, "c": by_rounds["c"].mean}
    again = rate_against(longer[:2], known, rounds=True)
    assert again.mean == pytest.approx(by_rounds["a"].mean, abs=8)
    assert rate_against(longer[:2], known).mean < again.mean - 20


def test_a_constant_share_of_rounds_is_certain_however_lengths_vary():
    """Two rounds of three in every match: which deals a resample draws does not matter."""
    of = drawn([1, 1], (0, 1), 200, np.random.default_rng(0))
    third = np.random.default_rng(1).integers(1, 9, (200, 1)) * np.ones((1, 2), np.int32)
    won = np.stack([2 * third, third], axis=2)
    longer = [replace(of, rounds=3 * third, rounds_won=won)]
    found = ratings(longer, rounds=True)
    placed = rate_against(longer, {"b": 1000.0}, rounds=True)
    # All but for the game that is added to each line-up.
    assert found["a"].mean - found["b"].mean == pytest.approx(ELO * np.log(2), abs=1)
    assert placed.mean == pytest.approx(1000 + ELO * np.log(2), abs=1)
    assert max(found["a"].high - found["a"].low, placed.high - placed.low) < 0.5


def test_who_wins_everything_has_a_finite_rating():
    found = ratings([made((0, 1), ("a", "b"), np.zeros((50, 2)))])
    assert 500 < found["a"].mean - found["b"].mean < 2000


def test_line_ups_may_have_played_different_numbers_of_deals():
    rng = np.random.default_rng(0)
    whole = [drawn([1, 2, 4], t, 3000, rng) for t in line_ups(range(3), 2)]
    found = ratings([whole[0].first(100), *whole[1:]])
    assert found["c"].mean - found["a"].mean == pytest.approx(ELO * np.log(4), abs=25)


@pytest.mark.parametrize("seats", [2, 4])
def test_a_newcomer_is_rated_against_known_ratings(seats):
    strength = [2.0, 1.0, 3.0]
    rng = np.random.default_rng(5)
    games = [drawn(strength, t, 1500, rng) for t in line_ups(range(3), seats, "gauntlet")]
    known = {"b": 1000.0, "c": 1000 + ELO * np.log(3)}
    found = rate_against(games, known)
    assert found.mean == pytest.approx(1000 + ELO * np.log(2), abs=15)
    assert found.low < found.mean < found.high


@pytest.mark.parametrize("seats", [2, 3])
def test_agents_that_err_more_are_rated_lower(seats):
    agents = [load(name) for name in NOISY]
    games = play("pocket", seats, agents, 250 if seats == 2 else 120, seed=3, max_cycles=2000)
    found = ratings(games)
    means = [found[name].mean for name in NOISY]
    assert means == sorted(means, reverse=True)
    assert found[NOISY[0]].low > found[NOISY[2]].high > found[NOISY[2]].low > found[NOISY[4]].high
    if seats == 3:
        mu = openskill(games)
        order = [mu[name].mean for name in (NOISY[0], NOISY[3], NOISY[4])]
        assert order == sorted(order, reverse=True)


def test_openskill_finds_the_stronger():
    rng = np.random.default_rng(1)
    games = [drawn([4.0, 1.0, 1.0], t, 100, rng) for t in line_ups(range(3), 3, "mixed")]
    found = openskill(games)
    assert found["a"].low > found["b"].high
    assert found == openskill(games)
