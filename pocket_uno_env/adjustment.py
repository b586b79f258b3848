"""Results without the luck of the draws: the same mean to expect, and less variance.

The luck (`control`) has mean zero, so any multiple of it may be subtracted. The multiples are
fitted to the very games, those of each fold of deals by the other folds, so that no deal's
correction depends on its own result.

Source: V. Chernozhukov et al., "Double/debiased machine learning", Econometrics Journal 21, 2018
(cross-fitting).
"""

from __future__ import annotations

import numpy as np

from .statistics import CONFIDENCE, Estimate, mean_estimate

FOLDS = 10
RIDGE = 1e-3


def places_luck(luck: np.ndarray, places: list[int]) -> np.ndarray:
    """The control variates of an agent at some places: its own luck and the others'.

    Parameters
    ----------
    luck : float array, shape ``(b, n, control.FEATURES)``

    Returns
    -------
    float64 array, shape ``(b, 2 * control.FEATURES)``
    """
    own = luck[:, places].mean(axis=1, dtype=float)
    rest = [place for place in range(luck.shape[1]) if place not in places]
    others = luck[:, rest].sum(axis=1, dtype=float)
    return np.concatenate([own, others], axis=1)


def adjusted(blocks: np.ndarray, variates: np.ndarray) -> np.ndarray:
    """The blocks' results without their luck: the same mean to expect, and less variance.

    Parameters
    ----------
    blocks : float array, shape ``(b,)``
    variates : float array, shape ``(b, k)``
        With expectation zero.

    Returns
    -------
    float64 array, shape ``(b,)``
        `blocks` itself where there are too few for a fit.
    """
    count = len(blocks)
    if count < 4 * FOLDS:
        return np.asarray(blocks, float)
    fold = np.arange(count) * FOLDS // count
    result = np.array(blocks, float)
    squares = variates.T @ variates
    for number in range(FOLDS):
        inside = fold == number
        own, values = variates[inside], blocks[~inside]
        rest = squares - own.T @ own
        ridge = RIDGE * count * np.eye(len(rest)) + 10 * np.diag(np.diag(rest)) / count
        weights = np.linalg.solve(rest + ridge, variates[~inside].T @ (values - values.mean()))
        result[inside] -= own @ weights
    return result


def adjusted_estimate(
    blocks: np.ndarray, variates: np.ndarray, confidence: float = CONFIDENCE
) -> tuple[Estimate, float]:
    """The estimate without the luck of the draws, and what share of the games it needs.

    Returns
    -------
    Estimate
    float
        The variance left over the variance before: with 0.6, six games tell as much as ten.
    """
    without = adjusted(blocks, variates)
    before = float(np.var(blocks))
    share = float(np.var(without)) / before if before > 0 else 1.0
    return mean_estimate(without, confidence), share
