"""Verdicts of an evaluation: better, worse, even to within a margin, or undecided.

A claim needs an interval that excludes the contrary, at a confidence that allows for all
comparisons made side by side (Bonferroni), and a design with the power to find the difference
that it claims. Without that power a difference that happens to be found is mostly exaggerated
(A. Gelman, J. Carlin, "Beyond power calculations", Perspectives on Psychological Science 9, 2014).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .estimates import CONFIDENCE, mean_estimate, rate_estimate

POWER = 0.8
MARGIN = 0.01
FEWEST_DEALS = 30
"""With fewer deals no claim is made: the normal approximation is too poor."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One comparison's outcome.

    Attributes
    ----------
    claim : {"better", "worse", "even", "undecided"}
        ``"even"``: the win rate differs from an even game's by less than the margin.
    more_deals : int
        About how many more would decide if the true difference is the one found; 0 with a
        claim.
    """

    claim: str
    more_deals: int = 0

    @property
    def text(self) -> str:
        """The verdict in words."""
        if self.claim != "undecided":
            return self.claim
        return f"undecided, needs about {rounded(self.more_deals):,} more deals"


def verdict(
    blocks: np.ndarray,
    even: float,
    comparisons: int = 1,
    margin: float = MARGIN,
    confidence: float = CONFIDENCE,
    power: float = POWER,
    bounded: bool = True,
) -> Verdict:
    """Compare the win rates of blocks with an even game.

    Parameters
    ----------
    blocks : float array, shape ``(b,)``
        Win rates of blocks, in [0, 1].
    even : float
        The win rate of an even game, 1/n for n players.
    comparisons : int
        How many are made side by side: the risk of any false claim in all of them is at most
        ``1 - confidence``.
    margin : float
        Differences below it are called even.
    bounded : bool
        Whether the values lie in [0, 1]; not after `luck_adjustment`.
    """
    count = len(blocks)
    level = 1 - (1 - confidence) / comparisons
    estimate = (
        rate_estimate(blocks, level) if bounded or count < 2 else mean_estimate(blocks, level)
    )
    assert estimate.low is not None and estimate.high is not None
    found = abs(estimate.mean - even)
    deviation = _deviation(blocks)
    to_find = deals_needed(found, deviation, comparisons, confidence, power)
    if count >= FEWEST_DEALS:
        if not estimate.low <= even <= estimate.high and count >= to_find:
            return Verdict("better" if estimate.mean > even else "worse")
        if even - margin < estimate.low and estimate.high < even + margin:
            return Verdict("even")
    needed = to_find
    if found < margin:
        needed = min(needed, (quantile(level) * deviation / (margin - found)) ** 2)
    return Verdict("undecided", max(math.ceil(needed) - count, FEWEST_DEALS - count, 1))


def deals_needed(
    difference: float,
    deviation: float,
    comparisons: int = 1,
    confidence: float = CONFIDENCE,
    power: float = POWER,
) -> float:
    """The deals needed to find a difference in win rate with the given power; inf for none.

    Parameters
    ----------
    difference : float
        From an even game, in [0, 1].
    deviation : float
        The standard deviation of a block's win rate; about 0.32 between good players at two.

    Notes
    -----
    The usual normal approximation, ``((z1 + z2) * deviation / difference) ** 2`` with the
    quantiles of the confidence and of the power.
    """
    if difference <= 0:
        return math.inf
    level = 1 - (1 - confidence) / comparisons
    both = quantile(level) + quantile(2 * power - 1)
    return float((both * deviation / difference) ** 2)


def quantile(confidence: float) -> float:
    """The two-sided quantile of the normal distribution: ``quantile(0.95)`` is 1.96."""
    from scipy.special import ndtri

    return float(ndtri((1 + confidence) / 2))


def _deviation(blocks: np.ndarray) -> float:
    """The standard deviation of a block, with one more of value 0 and one of value 1 added."""
    return float(np.std([*blocks, 0.0, 1.0]))


def rounded(count: int) -> int:
    """Rounded up to two digits."""
    digits = int(10 ** max(len(str(count)) - 2, 0))
    return -(-count // digits) * digits
