"""Intervals over blocks: by hand, in their limits, and how often they hold the truth."""

import numpy as np
import pytest

from pocket_uno_env.evaluation.statistics.estimates import (
    mean_estimate,
    rate_estimate,
    ratio_blocks,
)

stats = pytest.importorskip("scipy.stats")


def student(blocks):
    return stats.t.interval(0.95, len(blocks) - 1, np.mean(blocks), stats.sem(blocks))


def test_the_mean_has_students_interval():
    blocks = np.array([0.0, 12.5, 40.0, 7.0, 0.0])
    estimate = mean_estimate(blocks)
    assert estimate.mean == blocks.mean()
    assert (estimate.low, estimate.high) == pytest.approx(student(blocks))


def test_one_block_says_nothing_about_a_mean():
    estimate = mean_estimate(np.array([3.0]))
    assert (estimate.mean, estimate.low, estimate.high) == (3.0, None, None)


def wilson(wins, trials, t):
    """Both solutions p of ``(p - wins / trials)**2 == t**2 * p * (1 - p) / trials``."""
    mean, share = wins / trials, t * t / trials
    return np.sort(np.roots([1 + share, -2 * mean - share, mean * mean]).real)


def test_blocks_of_whole_games_have_wilsons_interval():
    blocks = np.array([1, 0, 0, 1, 1, 1, 1, 0, 1, 1.0])
    estimate = rate_estimate(blocks)
    expected = wilson(7, 10, stats.t.ppf(0.975, 9))
    assert (estimate.mean, estimate.low, estimate.high) == pytest.approx((0.7, *expected))


def test_other_blocks_are_worth_as_many_trials_as_have_their_variance():
    blocks = np.array([1.0, 0.5, 1.0, 0.0, 0.5, 0.5, 1.0])
    t = stats.t.ppf(0.975, 6)
    values = np.array([*blocks, 0.0, 1.0])
    weights = np.array([*np.ones(7), t * t / 2, t * t / 2])
    center = np.average(values, weights=weights)
    variance = np.average((values - center) ** 2, weights=weights)
    trials = 7 * center * (1 - center) / variance
    estimate = rate_estimate(blocks)
    expected = wilson(trials * blocks.mean(), trials, t)
    assert (estimate.low, estimate.high) == pytest.approx(tuple(expected))


def test_a_ratio_of_sums_has_the_textbooks_variance():
    # Three clusters of 10, 5 and 5 with 6, 1 and 3 in them: R = 1/2, and the residuals
    # 6 - 10 R, 1 - 5 R, 3 - 5 R are 1, -3/2 and 1/2 (Cochran, "Sampling Techniques", 9A).
    blocks = ratio_blocks(np.array([6, 1, 3]), np.array([10, 5, 5]))
    assert blocks.mean() == pytest.approx(1 / 2)
    variance = (1 + 9 / 4 + 1 / 4) / (3 * 2) / (20 / 3) ** 2
    assert blocks.var(ddof=1) / 3 == pytest.approx(variance)
    equal = ratio_blocks(np.array([1, 0, 2]), np.array([2, 2, 2]))
    assert equal == pytest.approx([0.5, 0, 1])


def test_small_units_make_less_of_what_was_not_seen():
    # Ten matches, all of whose eighty rounds were won, are worth eighty rounds.
    low = rate_estimate(np.ones(10), unit=1 / 8).low
    assert rate_estimate(np.ones(10)).low < low
    t = stats.t.ppf(0.975, 9)
    assert low == pytest.approx(wilson(80, 80, t)[0], abs=0.02)


def test_with_many_blocks_the_rate_has_students_interval():
    blocks = np.random.default_rng(0).choice([0, 0.5, 1], 10_000, p=[0.2, 0.5, 0.3])
    estimate = rate_estimate(blocks)
    assert (estimate.low, estimate.high) == pytest.approx(student(blocks), abs=2e-4)


@pytest.mark.parametrize("value", [0.0, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("count", [1, 2, 10, 1000])
def test_blocks_all_alike_leave_room_for_others(value, count):
    estimate = rate_estimate(np.full(count, value))
    assert 0 <= estimate.low <= value <= estimate.high <= 1
    assert estimate.high - estimate.low > 1 / (2 * count)
    if count == 1000:
        assert estimate.high - estimate.low < 0.006


def test_a_perfect_score_is_no_certainty():
    # The rule of three: 100 of 100 may well come from a rate of 97 in 100.
    assert rate_estimate(np.ones(100)).low < 0.97


@pytest.mark.parametrize(
    "shares",
    [
        {0: 0.25, 0.5: 0.5, 1: 0.25},  # two independent games of even players
        {0: 0.02, 0.5: 0.9, 1: 0.08},  # the cards decide nearly everything
        {0.5: 0.98, 1: 0.02},  # two agents that hardly differ
        {0.5: 0.05, 1: 0.95},  # against random play
        {0: 0.3, 0.25: 0.45, 0.5: 0.2, 0.75: 0.04, 1: 0.01},  # four players
        {0: 0.97, 0.2: 0.03},  # a weak one among five
    ],
)
@pytest.mark.parametrize("count", [10, 100, 1000])
def test_the_interval_holds_the_truth_as_often_as_it_says(shares, count):
    rng = np.random.default_rng(count)
    values, chances = list(shares), list(shares.values())
    truth = np.dot(values, chances)
    samples = rng.choice(values, size=(2000, count), p=chances)
    held = [e.low <= truth <= e.high for e in map(rate_estimate, samples)]
    # Two thousand tries of 95 % come out below 93.5 % once in a thousand times.
    assert np.mean(held) > 0.935
