"""The sequential test: its formula, and how often it errs."""

import math

import numpy as np
import pytest

from pocket_uno_env.evaluation.statistics.sprt import Sprt


def blocks(rate, count, rng, drawn=0.4):
    """Two-player blocks: both games lost, shared, both won."""
    won = rate - drawn / 2
    return rng.choice([0, 0.5, 1], count, p=[1 - won - drawn, drawn, won])


def test_the_ratio_is_that_of_two_normal_distributions():
    stats = pytest.importorskip("scipy.stats")
    values = blocks(0.55, 5000, np.random.default_rng(0))
    deviation = values.std()
    mean = stats.norm.logpdf(values, 0.52, deviation) - stats.norm.logpdf(values, 0.5, deviation)
    assert Sprt(0.5, 0.52).path(values)[-1] == pytest.approx(mean.sum(), rel=0.02)


def test_bounds_are_walds():
    low, high = Sprt(0.5, 0.52, alpha=0.05, beta=0.1).bounds
    assert (low, high) == pytest.approx((math.log(0.1 / 0.95), math.log(0.9 / 0.05)))


@pytest.mark.parametrize("bounds", [(0.5, 0.55), (0.45, 0.6), (0.24, 0.28)])
@pytest.mark.parametrize("error_rate", [0.05, 0.1])
def test_error_rates_hold(bounds, error_rate):
    rng = np.random.default_rng(1)
    runs = 200
    test = Sprt(*bounds, error_rate, error_rate)
    for truth, wrong in zip(bounds, ("high", "low"), strict=True):
        drawn = 0.4 if truth > 0.4 else 0.1
        need = test.expected_blocks(truth, blocks(truth, 10_000, rng, drawn).std())
        ends = [test.stop(blocks(truth, int(9 * need), rng, drawn)) for _ in range(runs)]
        answers = [answer for _, answer in ends]
        # Above the declared rate by more than three standard errors is no chance.
        limit = error_rate + 3 * math.sqrt(error_rate * (1 - error_rate) / runs)
        assert answers.count(wrong) / runs < limit
        assert answers.count("open") / runs < 0.01
        used = np.mean([count for count, _ in ends])
        assert used == pytest.approx(need, rel=0.25)


def test_blocks_all_alike_do_not_stop_it_at_once():
    used, answer = Sprt(0.3, 0.7).stop(np.full(1000, 1.0))
    assert answer == "high"
    assert used > 3


def test_where_it_stops_does_not_depend_on_what_follows():
    values = blocks(0.6, 3000, np.random.default_rng(2))
    test = Sprt(0.5, 0.52)
    used, answer = test.stop(values)
    assert used < 3000
    assert test.stop(values[:used]) == (used, answer)
    assert test.stop(values[: used - 1]) == (used - 1, "open")
    assert test.stop(values[:0]) == (0, "open")


@pytest.mark.parametrize(
    "text", ["0.5", "0.5,0.4", "a,b", "0,0.5", "0.5,0.5", "0.1,0.2,0.3", "nan,1"]
)
def test_bounds_are_checked(text):
    with pytest.raises(
        ValueError, match=r"the bounds of the sequential test are .* expected two win"
    ):
        Sprt.parse(text)
    with pytest.raises(ValueError, match="error rates"):
        Sprt(0.5, 0.6, alpha=0.7)


def test_it_is_read_from_text():
    assert Sprt.parse("0.50,0.52") == Sprt(0.5, 0.52, 0.05, 0.05)
