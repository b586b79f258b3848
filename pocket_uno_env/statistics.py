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


def rate_estimate(blocks: np.ndarray, confidence: float = CONFIDENCE) -> Estimate:
    """The mean of values in [0, 1], such as win rates of blocks, with an interval.

    Parameters
    ----------
    blocks : float array, shape ``(b,)``, b > 0

    Notes
    -----
    With t the quantile of Student's distribution, t**2 / 2 blocks of value 0 and as many of value
    1 are added, and the interval is the usual one of that larger sample, cut to [0, 1]. For many
    blocks this is Student's interval; for few, or for rates near 0 or 1, it keeps its coverage
    where Student's collapses. It always holds the mean and never has zero width: 1,000 blocks
    that are all alike still leave room for a rare one that is not. So an agent against itself,
    which wins exactly half of every two-player block, is reported with some tenths of a percent
    to either side, although there we know better.

    Source: A. Agresti, B. Coull, "Approximate is better than 'exact' for interval estimation of
    binomial proportions", The American Statistician 52, 1998, with blocks in place of trials.
    """
    count = len(blocks)
    t = _student_quantile(count, confidence)
    half = t * t / 2
    size = count + 2 * half
    center = float(blocks.sum() + half) / size
    squares = float(((blocks - center) ** 2).sum()) + half * (center**2 + (1 - center) ** 2)
    width = t * math.sqrt(squares) / size
    return Estimate(float(blocks.mean()), max(center - width, 0.0), min(center + width, 1.0))


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


def _student_quantile(count: int, confidence: float) -> float:
    from scipy.special import stdtrit  # in the extra `evaluate`; the rest of the package needs none

    return float(stdtrit(max(count - 1, 1), (1 + confidence) / 2))
