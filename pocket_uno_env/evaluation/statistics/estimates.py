"""Estimates from matched deals. The sample is the block: all seat rotations of one deal.

The games of a block share their cards, so they are not independent, and a block's mean enters as
one value. That is what makes the comparison paired: good cards help every agent in turn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its interval; both bounds are None where the sample says nothing about them."""

    mean: float
    low: float | None
    high: float | None


def rate_estimate(
    blocks: np.ndarray, confidence: float = CONFIDENCE, unit: float = 1.0
) -> Estimate:
    """The mean of values in [0, 1], such as win rates of blocks, with an interval.

    Parameters
    ----------
    blocks : float array, shape ``(b,)``, b > 0
        Or `ratio_blocks`, whose mean is in [0, 1].
    unit : float
        The smallest part of a block that is a sample by itself: 1, or of the rounds of matches
        1 / (rounds of a match).

    Notes
    -----
    Wilson's interval for as many independent trials as would be worth the same: with the mean m
    and the variance v of the blocks, ``b * m * (1 - m) / v`` of them. So that a few blocks that
    happen to be alike are not taken for certainty, m and v are those of a larger sample here, to
    which t**2 / 2 units of value 0 and as many of value 1 are added (t: the quantile of Student's
    distribution).

    For many blocks this is Student's interval. It holds the mean, lies in [0, 1], keeps its
    coverage near 0 and 1 and for agents that hardly differ, and never has zero width: 1,000 blocks
    that are all alike leave room for a rare one that is not. So an agent against itself, which
    wins exactly its share of every block, is reported with a few tenths of a percent to either
    side, although there we know better.

    Sources: E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
    JASA 22, 1927, for the interval; A. Agresti, B. Coull, "Approximate is better than 'exact' for
    interval estimation of binomial proportions", The American Statistician 52, 1998, for what is
    added.
    """
    count = len(blocks)
    mean = float(blocks.mean())
    square = _student_quantile(count, confidence) ** 2
    size = count + unit * square
    center = (count * mean + unit * square / 2) / size
    added = unit**2 * square / 2 * (center**2 + (1 - center) ** 2)
    squares = float(((blocks - center) ** 2).sum()) + added
    trials = count * center * (1 - center) / (squares / size)
    middle = (mean + square / (2 * trials)) / (1 + square / trials)
    width = math.sqrt(square * (mean * (1 - mean) + square / (4 * trials)) / trials)
    width /= 1 + square / trials
    # Rounding may leave a bound that should be 0, 1 or the mean a hair off.
    return Estimate(mean, max(min(middle - width, mean), 0.0), min(max(middle + width, mean), 1.0))


def mean_estimate(blocks: np.ndarray, confidence: float = CONFIDENCE) -> Estimate:
    """The mean of any values with Student's interval; a single block gives none.

    Parameters
    ----------
    blocks : float array, shape ``(b,)``, b > 0
    """
    mean = float(blocks.mean())
    if len(blocks) < 2:
        return Estimate(mean, None, None)
    t = _student_quantile(len(blocks), confidence)
    width = t * float(blocks.std(ddof=1)) / math.sqrt(len(blocks))
    return Estimate(mean, mean - width, mean + width)


def ratio_blocks(parts: np.ndarray, wholes: np.ndarray) -> np.ndarray:
    """Values by block whose mean is ``parts.sum() / wholes.sum()``, for the estimates above.

    For figures per round of matches: the rounds of a block belong together, and blocks have
    different numbers of them.

    Parameters
    ----------
    parts, wholes : array, shape ``(b,)``, b > 0
        What each block adds to the numerator, and to the denominator: above 0.

    Returns
    -------
    float64 array, shape ``(b,)``
        With several blocks they may lie outside of the range of the ratios.

    Notes
    -----
    A block's value is R + (part - R * whole) / mean(whole), R being the ratio of the sums: to first
    order, what the block contributes to R. So the variance of these values is that of a ratio
    between clusters of unequal size. Source: W. G. Cochran, "Sampling Techniques", 3rd edition,
    1977, chapters 6 (ratio estimators) and 9A (clusters).
    """
    ratio = parts.sum() / wholes.sum()
    return np.asarray(ratio + (parts - ratio * wholes) / wholes.mean(), float)


def _student_quantile(count: int, confidence: float) -> float:
    from scipy.special import stdtrit  # in the extra `evaluate`; the rest of the package needs none

    return float(stdtrit(max(count - 1, 1), (1 + confidence) / 2))
