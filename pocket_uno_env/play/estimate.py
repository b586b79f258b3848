"""The chance to win after each action, by playouts from guesses of the hidden cards.

Each guess is a full game that agrees with what the seat to act knows (`belief.guess`). Every legal
action is tried on the same guesses, and the game played out by the strong heuristic on all seats;
and the guesses say what the other hands may hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from pocket_uno_env.agents.scripted.policies import Policy
from pocket_uno_env.agents.search.agent import Settings
from pocket_uno_env.agents.search.belief import Belief, no_network, write_weights
from pocket_uno_env.agents.search.belief_network import TRUST, load, shipped
from pocket_uno_env.agents.search.playouts import Method, imagine, new_bench, play_out
from pocket_uno_env.agents.search.stakes import stakes_of
from pocket_uno_env.compiled.bits import EMPTY, bit
from pocket_uno_env.compiled.kernel import kernel, unowned
from pocket_uno_env.engine.legality import write_mask
from pocket_uno_env.engine.transition import apply
from pocket_uno_env.observation.information import own_hand
from pocket_uno_env.rules.rules import Rules


@dataclass(frozen=True, eq=False, slots=True)
class Estimate:
    """What the guesses say of one decision.

    Attributes
    ----------
    wins : float64 array, shape ``(n_actions,)``
        The share of the win after each legal action, NaN for all others.
    holdings : float64 array, shape ``(num_players, n_kinds)``
        The share of guesses in which each seat holds a card of each kind.
    error : float
        The largest half width of the 95 % intervals of `wins`, as if they came from independent
        wins and losses.
    guesses : int
    """

    wins: np.ndarray
    holdings: np.ndarray
    error: float
    guesses: int


def estimate(rules: Rules, rows: np.ndarray, guesses: int = 1000, seed: int = 0) -> Estimate:
    """Judge the decision in the first row from what the seat to act knows; the row stays as it is.

    Parameters
    ----------
    rows : structured array, dtype `state.ROW`
    guesses : int
        From 1; the error falls with its square root.
    seed : int
        The same seed gives the same estimate.
    """
    method, bench = _method(rules), new_bench(rules)
    wins = np.zeros(int(rules._table["n_actions"][0]))
    held = np.zeros((int(rows["num_players"][0]), len(rules.kinds)))
    estimate_row(rules._table, rows, guesses, np.uint64(seed), method, bench, wins, held)
    legal = bench.mask.astype(bool)
    shares = np.where(legal, wins / guesses, np.nan)
    spread = np.sqrt(np.nanmax(shares * (1.0 - shares)) / guesses)
    return Estimate(shares, held / guesses, 1.96 * float(spread), guesses)


@lru_cache(maxsize=16)
def _method(rules: Rules) -> Method:
    """The search's own beliefs, and the strong heuristic on all seats."""
    path = shipped(rules)
    network = no_network() if path is None else load(path, rules)
    policy = int(Policy.STRONG)
    belief = Belief(TRUST, path is not None, network, policy, Settings().doubt)
    return Method(belief, policy, policy, 0.0, False, None, stakes_of(rules, 2, "win"))


@kernel
def estimate_row(
    rules: Any, rows: Any, guesses: Any, seed: Any, method: Any, bench: Any, wins: Any, held: Any
) -> None:
    """Add up wins by action and cards held by seat and kind over all guesses; see `estimate`."""
    rules = unowned(rules)
    rows = unowned(rows)
    row = rows[0]
    seat = np.int64(row.to_act)
    write_mask(rules[0], row, bench.mask)
    write_weights(rules[0], row, seat, method.belief, bench.unseen.weights)
    for number in range(guesses):
        imagine(rules[0], row, seat, seed, number, method, bench)
        for other in range(row.num_players):
            kinds = own_hand(bench.rows[0], other)
            for kind in range(rules[0].n_kinds):
                if kinds & bit(kind) != EMPTY:
                    held[other, kind] += 1.0
        for action in range(rules[0].n_actions):
            if bench.mask[action]:
                bench.rows[1] = bench.rows[0]
                apply(rules[0], bench.rows[1], action, None, None)
                wins[action] += play_out(rules[0], bench.rows[1], seat, method)
