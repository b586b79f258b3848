"""Claims: only with power, adjusted for many comparisons, and how often they are wrong."""

import numpy as np
import pytest

from pocket_uno_env.evaluation.statistics.verdicts import (
    Verdict,
    deals_needed,
    quantile,
    rounded,
    verdict,
)

stats = pytest.importorskip("scipy.stats")


def blocks(rate, count, seed=0, drawn=0.6):
    won = rate - drawn / 2
    rng = np.random.default_rng(seed)
    return rng.choice([0, 0.5, 1], count, p=[1 - won - drawn, drawn, won])


def test_deals_needed_give_the_power():
    """By the noncentral distribution of the test, and by play."""
    need = deals_needed(0.02, 0.3)
    shift = 0.02 * np.sqrt(need) / 0.3
    z = stats.norm.ppf(0.975)
    assert stats.norm.sf(z - shift) + stats.norm.cdf(-z - shift) == pytest.approx(0.8, abs=1e-3)
    # To tell 51 from 50 % takes about 20,000 independent games.
    assert deals_needed(0.01, 0.5) == pytest.approx(19_622, rel=1e-3)
    assert deals_needed(0, 0.3) == np.inf
    assert quantile(0.95) == pytest.approx(1.959964)


@pytest.mark.parametrize(
    ("rate", "count", "claim"),
    [
        (0.6, 2000, "better"),
        (0.4, 2000, "worse"),
        (0.5, 20_000, "even"),
        (0.51, 1000, "undecided"),
        (0.7, 20, "undecided"),  # too few for any claim
    ],
)
def test_claims(rate, count, claim):
    assert verdict(blocks(rate, count), 0.5).claim == claim


def test_a_difference_without_power_is_no_claim():
    """Significant, but by so little that the design would miss it half the time."""
    values = np.repeat([0.0, 0.5, 1.0], [106, 1000, 140])
    low = values.mean() - 1.96 * values.std() / np.sqrt(len(values))
    assert low > 0.5
    found = verdict(values, 0.5)
    assert found.claim == "undecided"
    # As many more of the same decide.
    factor = (len(values) + found.more_deals) / len(values)
    more = np.repeat(
        [0.0, 0.5, 1.0], np.round(np.array([106, 1000, 140]) * factor * 1.01).astype(int)
    )
    assert verdict(more, 0.5).claim == "better"


def test_what_is_needed_to_call_it_even():
    values = np.tile([0.0, 0.5, 0.5, 1.0], 500)
    found = verdict(values, 0.5)
    assert found.claim == "undecided"
    assert (
        verdict(np.tile([0.0, 0.5, 0.5, 1.0], (2000 + found.more_deals) // 4 + 2), 0.5).claim
        == "even"
    )


def test_many_comparisons_are_allowed_for():
    values = np.repeat([0.0, 0.5, 1.0], [100, 1000, 146])
    assert verdict(values, 0.5).claim == "better"
    assert verdict(values, 0.5, comparisons=20).claim == "undecided"


def test_false_claims_are_as_rare_as_stated():
    claims = [verdict(blocks(0.5, 400, seed), 0.5, margin=0.001).claim for seed in range(2000)]
    wrong = claims.count("better") + claims.count("worse")
    assert 0 < wrong / 2000 < 0.05  # rarer than one in twenty, since power is asked for, too
    family = [
        [verdict(blocks(0.5, 200, 10 * s + i), 0.5, 10, 1e-3).claim for i in range(10)]
        for s in range(200)
    ]
    assert np.mean([set(claims) != {"undecided"} for claims in family]) < 0.05


def test_the_texts():
    assert Verdict("better").text == "better"
    assert Verdict("undecided", 12_345).text == "undecided, needs about 13,000 more deals"
    assert [rounded(n) for n in (1, 99, 100, 101, 999)] == [1, 99, 100, 110, 1000]
