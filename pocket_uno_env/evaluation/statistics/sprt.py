"""The sequential test: play until one of two declared win rates is refuted, and no longer.

Sources: A. Wald, "Sequential tests of statistical hypotheses", Annals of Mathematical Statistics
16, 1945, for the test and its bounds; M. Van den Bergh, "The generalized maximum likelihood ratio
for the expectation value of a distribution", 2019, for the likelihood ratio, which chess's fishtest
uses, too; A. Owen, "Empirical likelihood", 2001, for the distribution of a given mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

ERROR_RATE = 0.05


@dataclass(frozen=True, slots=True)
class Sprt:
    """A test of win rate `low` against win rate `high`.

    Attributes
    ----------
    low, high : float
        0 < low < high < 1. At a true rate of `low` the test accepts "at most `low`", at `high`
        "at least `high`", and is wrong each time as often as the error rates say; between them
        either answer may come, and beyond them errors are rarer.
    alpha, beta : float
        How often "at least `high`" is accepted at a true rate of `low`, and "at most `low`" at
        `high`; about, and rather less than more.

    Raises
    ------
    ValueError
    """

    low: float
    high: float
    alpha: float = ERROR_RATE
    beta: float = ERROR_RATE

    def __post_init__(self) -> None:
        if not 0 < self.low < self.high < 1:
            raise ValueError(
                f"the bounds of the sequential test are {self.low},{self.high}; expected two win "
                "rates between 0 and 1, the lower one first, such as 0.50,0.52"
            )
        if not (0 < self.alpha < 0.5 and 0 < self.beta < 0.5):
            raise ValueError(
                f"the error rates of the sequential test are {self.alpha} and {self.beta}; "
                "expected numbers between 0 and 0.5"
            )

    @classmethod
    def parse(cls, text: str, error_rate: float = ERROR_RATE) -> Sprt:
        """From ``"0.50,0.52"``; ValueError for anything else."""
        parts = text.split(",")
        try:
            low, high = map(float, parts)
        except ValueError:
            raise ValueError(
                f"the bounds of the sequential test are {text!r}; expected two win rates, such as "
                "0.50,0.52"
            ) from None
        return cls(low, high, error_rate, error_rate)

    @property
    def bounds(self) -> tuple[float, float]:
        """The log likelihood ratios at which "at most low" and "at least high" are accepted."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    def path(self, blocks: np.ndarray, start: int = 0) -> np.ndarray:
        """The log likelihood ratio after each block from `start` on: float64, ``(b - start,)``.

        Parameters
        ----------
        blocks : float array, shape ``(b,)``
            Win rates of blocks, in [0, 1], in the order of the deals.

        Notes
        -----
        Of all distributions over the values that blocks can have, the ratio compares the likeliest
        with mean `high` to the likeliest with mean `low`. So it needs no knowledge of how often
        the games of a block go alike, and holds for skewed outcomes, as with more players. So that
        a few blocks that happen to be alike are not taken for certainty, half a block of value 0
        and half a one of value 1 are added.
        """
        values = np.unique([*blocks, 0.0, 1.0])
        counts = np.cumsum(blocks[:, None] == values[None, :], axis=0, dtype=float)
        counts = counts[start:] + 0.5 * np.isin(values, (0, 1))
        low, high = (_tilt(counts, values, mean) for mean in (self.low, self.high))
        return np.asarray((counts * np.log(low / high)).sum(axis=1))

    def stop(self, blocks: np.ndarray, start: int = 0) -> tuple[int, str]:
        """Where the test ends, and with what.

        Parameters
        ----------
        blocks : float array, shape ``(b,)``
        start : int
            So many of them are known not to have ended it.

        Returns
        -------
        int
            How many blocks it has used; all, if it has not ended.
        str
            ``"low"``: the rate is at most `low`; ``"high"``: at least `high`; ``"open"``: the
            test has not ended.
        """
        low, high = self.bounds
        while start < len(blocks):  # what comes after the end need not be looked at
            path = self.path(blocks[: start + 512], start)
            ended = np.flatnonzero((path <= low) | (path >= high))
            if len(ended):
                first = int(ended[0])
                return start + first + 1, "low" if path[first] <= low else "high"
            start += len(path)
        return len(blocks), "open"

    def expected_blocks(self, rate: float, deviation: float) -> float:
        """About how many blocks it takes at a true win `rate`, by Wald's approximation.

        Parameters
        ----------
        deviation : float
            The standard deviation of a block's win rate.
        """
        low, high = self.bounds
        drift = (self.high - self.low) * (2 * rate - self.low - self.high) / (2 * deviation**2)
        spread = (self.high - self.low) / deviation
        if abs(drift) < 1e-12:
            return -low * high / spread**2
        # The walk is a Brownian motion; exp(-2 * drift / spread**2 * walk) is its martingale.
        slope = 2 * drift / spread**2
        if abs(slope * (high - low)) > 500:
            return (high if drift > 0 else low) / drift
        at_high = (1 - math.exp(-slope * low)) / (math.exp(-slope * high) - math.exp(-slope * low))
        return (at_high * high + (1 - at_high) * low) / drift


def _tilt(counts: np.ndarray, values: np.ndarray, mean: float) -> np.ndarray:
    """By what to divide frequencies for the likeliest distribution of this mean: ``(b, values)``.

    Empirical likelihood: ``1 + t * (value - mean)`` with the t at which the mean is right.
    """
    distance = values - mean
    low = np.full(len(counts), -1 / (1 - mean) + 1e-9)
    high = np.full(len(counts), 1 / mean - 1e-9)
    for _ in range(45):
        middle = (low + high) / 2
        excess = (counts * (distance / (1 + middle[:, None] * distance))).sum(axis=1)
        low, high = np.where(excess > 0, middle, low), np.where(excess > 0, high, middle)
    return np.asarray(1 + middle[:, None] * distance)
