"""Results without the luck of the draws: the same expectation, less variance.

The luck (`draw_luck`) has mean zero, so any multiple of it may be subtracted. The coefficients are
fitted to the same games with cross-fitting, for each fold of deals to the other folds, so that no
deal's correction depends on its own result. With few deals the fit shrinks towards no correction.

Sources: V. Chernozhukov et al., "Double/debiased machine learning", Econometrics Journal 21, 2018
(cross-fitting); G. Golub, M. Heath, G. Wahba, "Generalized cross-validation as a method for
choosing a good ridge parameter", Technometrics 21, 1979.
"""

from __future__ import annotations

import numpy as np

from .estimates import CONFIDENCE, Estimate, mean_estimate

FOLDS = 10
FEWEST_DEALS = 200
"""With fewer deals the fit would cost more than it gains."""
RIDGES = np.geomspace(1e-3, 1e2, 21)
"""Candidate penalties, in units of a variate's variance times the deals."""


def places_luck(luck: np.ndarray, places: list[int]) -> np.ndarray:
    """The control variates of an agent at some places: its own luck and the others'.

    Parameters
    ----------
    luck : float array, shape ``(b, n, draw_luck.FEATURES)``

    Returns
    -------
    float64 array, shape ``(b, 2 * draw_luck.FEATURES)``
    """
    own = luck[:, places].mean(axis=1, dtype=float)
    rest = [place for place in range(luck.shape[1]) if place not in places]
    others = luck[:, rest].sum(axis=1, dtype=float)
    return np.concatenate([own, others], axis=1)


def adjusted(blocks: np.ndarray, variates: np.ndarray) -> np.ndarray:
    """The blocks' results without their luck: the same expectation, less variance.

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
    if count < FEWEST_DEALS:
        return np.asarray(blocks, float)
    fold = np.arange(count) * FOLDS // count
    result = np.array(blocks, float)
    scaled = variates / np.maximum(variates.std(axis=0), 1e-9)
    for number in range(FOLDS):
        inside = fold == number
        weights = _ridge(scaled[~inside], blocks[~inside] - blocks[~inside].mean())
        result[inside] -= scaled[inside] @ weights
    return result


def adjusted_estimate(
    blocks: np.ndarray, variates: np.ndarray, confidence: float = CONFIDENCE
) -> tuple[Estimate, float]:
    """The estimate without the luck of the draws, and the share of the games that it needs.

    Returns
    -------
    Estimate
    float
        The remaining variance over that before: with 0.6, six games are as good as ten.
    """
    without = adjusted(blocks, variates)
    before = float(np.var(blocks))
    share = float(np.var(without)) / before if before > 0 else 1.0
    return mean_estimate(without, confidence), share


def _ridge(variates: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The weights of the ridge regression chosen by generalized cross-validation; or zeros.

    Parameters
    ----------
    variates : float array, shape ``(b, k)``
        With variance 1.
    values : float array, shape ``(b,)``
        With mean zero.
    """
    count = len(values)
    sizes, axes = np.linalg.eigh(variates.T @ variates)
    sizes = np.maximum(sizes, 0)
    along = axes.T @ (variates.T @ values)
    total = float(values @ values)
    best, weights = total / count, np.zeros(variates.shape[1])  # no correction at all
    for ridge in RIDGES * count:
        kept = along / (sizes + ridge)
        left = total - float((kept * (2 * along - sizes * kept)).sum())
        freedom = float((sizes / (sizes + ridge)).sum())
        if freedom < count and (score := count * left / (count - freedom) ** 2) < best:
            best, weights = score, axes @ kept
    return np.asarray(weights)
