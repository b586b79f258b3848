"""The race to the match goal: who gets there first, between players of equal strength.

Every round is won by one seat, each as likely as the others whatever the scores are, and the points
that it pays come from one distribution. (Rounds that nobody wins change nothing and are passed
over.) Let each seat win rounds at the times of a Poisson process of rate 1, independent of the
others': the order of the winners is the same as in the match, and the time at which a seat has the
points that it needs no longer depends on the other seats. So a table with a line for each number of
points needed holds everything, and the chance of a seat to be first is one integral over time, for
any number of players:

    equity[i] = integral of density(needs[i], t) * product over j != i of survival(needs[j], t) dt

Source: for the table of equities by scores, N. Zadeh and G. Kobliska, "On Optimal Doubling in
Backgammon", Management Science 23(8), 1977, and T. Keith, "How to Compute a Match Equity Table",
bkgm.com, where a recursion over the scores of two players makes it. For Poisson processes in place
of rounds, L. Holst, "On Birthday, Collectors', Occupancy and Other Classical Urn Problems",
International Statistical Review 54, 1986.
"""

from __future__ import annotations

import numpy as np

from pocket_uno_env.compiled.kernel import kernel

NODES = 12
"""Points of the Gauss-Legendre quadrature in each panel of the time axis."""
FIRST_PANEL = 0.25
"""The first panel's end; each of the others ends at twice the time of the one before."""
ROOM = 50_000_000
"""The largest table of sums, in numbers: 400 megabytes."""
NEGLIGIBLE = 1e-13
"""The chance to need still more time than the last panel, or more rounds than are summed."""


def race_table(points: np.ndarray, goal: int) -> np.ndarray:
    """What `write_equities` needs to know of the distribution of points.

    Parameters
    ----------
    points : array, shape ``(k,)``
        How often, or with what probability, a round that is won pays 0, 1, ..., k - 1 points.
    goal : int
        Points that win the match.

    Returns
    -------
    float64 array, shape ``(goal + 1, 2, nodes)``
        For each number of points that a seat needs, and at each node of the quadrature: the
        probability that it has not got them by then, and the probability that it gets them near
        that time (the density times the node's weight).

    Raises
    ------
    ValueError
        If these are not counts, no round pays anything, or a match takes too many rounds.
    """
    counts = np.array(points, np.float64)
    if counts.ndim != 1 or not (np.isfinite(counts) & (counts >= 0)).all():
        raise ValueError(f"points is {points!r}; expected how often a round pays 0, 1, ... points")
    if not counts[1:].sum() > 0:
        raise ValueError("no round pays points: nobody ever reaches the goal of the match")
    counts[0] = 0.0  # a round that pays nothing changes nothing
    below = _sums_below(counts / counts.sum(), goal)
    # With rate 1 the number of rounds won by time t is Poisson, and its tail falls faster than that
    # of the sums.
    end = FIRST_PANEL
    while (_poisson(len(below), np.array([end])) @ below)[0, goal] > NEGLIGIBLE:
        end *= 2
    times, weights = _quadrature(end)
    won = _poisson(len(below), times)
    next_below = np.vstack([below[1:], np.zeros((1, goal + 1))])
    survival, density = won @ below, won @ (below - next_below)
    return np.ascontiguousarray(np.stack([survival, density * weights[:, None]]).transpose(2, 0, 1))


def _sums_below(probability: np.ndarray, goal: int) -> np.ndarray:
    """The probability that k rounds pay fewer than r points, shape ``(rounds, goal + 1)``."""
    pays = probability[:goal]
    exactly = np.zeros(goal)
    exactly[0] = 1.0
    lines: list[np.ndarray] = []
    while not lines or lines[-1][-1] > NEGLIGIBLE:
        if len(lines) * goal > ROOM:
            raise ValueError(f"a match to {goal:,} points takes too many rounds to be computed")
        lines.append(np.concatenate([[0.0], np.cumsum(exactly)]))
        exactly = np.convolve(exactly, pays)[:goal]
    return np.array(lines)


def _poisson(count: int, times: np.ndarray) -> np.ndarray:
    """The probability of 0, 1, ..., count - 1 events by each time, shape ``(times, count)``."""
    numbers = np.arange(count)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(numbers[1:]))])
    log_times = np.log(times)[:, None]
    return np.asarray(np.exp(log_times * numbers - times[:, None] - log_factorial))


def _quadrature(end: float) -> tuple[np.ndarray, np.ndarray]:
    """Times from 0 to `end` and their weights, in panels that grow."""
    ends = [0.0, FIRST_PANEL]
    while ends[-1] < end:
        ends.append(2 * ends[-1])
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    starts, widths = np.array(ends[:-1])[:, None], np.diff(ends)[:, None]
    return (starts + widths * (nodes + 1) / 2).ravel(), (widths * weights / 2).ravel()


@kernel
def write_equities(race, scores, out):
    """Write each seat's chance to win the match into ``out`` (float64, shape ``(n,)``).

    Parameters
    ----------
    race : float64 array, shape ``(goal + 1, 2, nodes)``
        See `race_table`.
    scores : int array, shape ``(n,)`` or longer
        From 0; a seat that has the goal has won. What comes after the n seats is not read.
    """
    n, goal = out.shape[0], race.shape[0] - 1
    out[:] = 0.0
    for seat in range(n):
        if scores[seat] >= goal:
            out[seat] = 1.0
            return
    total = 0.0
    for seat in range(n):
        chance = 0.0
        for node in range(race.shape[2]):
            share = race[goal - scores[seat], 1, node]
            for other in range(n):
                if other != seat:
                    share *= race[goal - scores[other], 0, node]
            chance += share
        out[seat] = max(chance, 0.0)
        total += out[seat]
    for seat in range(n):
        out[seat] /= total
