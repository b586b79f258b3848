"""The chance to win after each action, by playouts from guesses of the hidden cards.

Each guess is a full game that agrees with what the seat to act knows (`belief.guess`). Every legal
action is tried on the same guesses, and the game played out by the strong heuristic on all seats;
and the guesses say what the other hands may hold. In a match each playout is also worth what the
scores are that it leads to (`equity.race`); a round that nobody wins leaves them as they are.
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
from pocket_uno_env.agents.search.players import new_players
from pocket_uno_env.agents.search.playouts import Method, imagine, new_bench, play_out
from pocket_uno_env.agents.search.stakes import stakes_of
from pocket_uno_env.compiled.bits import EMPTY, bit
from pocket_uno_env.compiled.kernel import kernel, unowned
from pocket_uno_env.compiled.rng import mix
from pocket_uno_env.engine.piles import shuffle
from pocket_uno_env.engine.transition import apply
from pocket_uno_env.equity.race import write_equities
from pocket_uno_env.observation.information import own_hand
from pocket_uno_env.rows import mask_rows
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.phases import End
from pocket_uno_env.rules.rules import Rules

AS_IT_IS = -1
"""In place of an action: the game is played out from where it stands."""


@dataclass(frozen=True, eq=False, slots=True)
class Estimate:
    """What the guesses say of one decision.

    Attributes
    ----------
    wins : float64 array, shape ``(n_actions,)``
        The share of the win after each legal action, NaN for all others.
    match : float64 array, shape ``(n_actions, num_players)``, or None
        The chance of each seat to win the match after each legal action, NaN for all others; None
        if nobody asked for it.
    holdings : float64 array, shape ``(num_players, n_kinds)``
        The share of guesses in which each seat holds a card of each kind.
    error : float
        The largest half width of the 95 % intervals of `wins`, as if they came from independent
        wins and losses.
    guesses : int
    """

    wins: np.ndarray
    match: np.ndarray | None
    holdings: np.ndarray
    error: float
    guesses: int


def estimate(
    rules: Rules,
    rows: np.ndarray,
    guesses: int = 1000,
    seed: int = 0,
    race: np.ndarray | None = None,
) -> Estimate:
    """Judge the decision in the first row from what the seat to act knows; the row stays as it is.

    Parameters
    ----------
    rows : structured array, dtype `state.ROW`
    guesses : int
        From 1; the error falls with its square root.
    seed : int
        The same seed gives the same estimate.
    race : float64 array, optional
        The `race.race_table` of the game, if it is a match.
    """
    masks = np.zeros((1, len(catalogue(rules))), np.int8)
    mask_rows(rules, rows, np.zeros(1, np.int64), masks)
    legal = np.flatnonzero(masks)
    wins, match, held = _judge(rules, rows, _method(rules), legal, race, guesses, seed)
    shares = wins[:, int(rows["to_act"][0])]
    spread = float(np.sqrt((shares * (1.0 - shares)).max() / guesses))
    by_action = np.full(masks.shape[1], np.nan)
    by_action[legal] = shares
    by_seat = None
    if race is not None:
        by_seat = np.full((masks.shape[1], match.shape[1]), np.nan)
        by_seat[legal] = match
    return Estimate(by_action, by_seat, held, 1.96 * spread, guesses)


def open_hands(
    rules: Rules, rows: np.ndarray, race: np.ndarray | None, playouts: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray | None]:
    """Each seat's chance to win the round and the match, where all hands are open.

    Of the first row only the order of the draw pile stays unknown.

    Parameters
    ----------
    race, playouts, seed
        As in `estimate`.

    Returns
    -------
    two float64 arrays of shape ``(num_players,)``
        The second is None without `race`.
    """
    method, actions = _method(rules)._replace(clairvoyant=True), np.array([AS_IT_IS])
    wins, match, _ = _judge(rules, rows, method, actions, race, playouts, seed)
    return wins[0], None if race is None else match[0]


def _judge(
    rules: Rules,
    rows: np.ndarray,
    method: Method,
    actions: np.ndarray,
    race: np.ndarray | None,
    guesses: int,
    seed: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The means over the guesses of what `estimate_row` adds up."""
    seats = int(rows["num_players"][0])
    wins, match = np.zeros((2, len(actions), seats))
    held = np.zeros((seats, len(rules.kinds)))
    table = np.zeros((0, 2, 1)) if race is None else race
    how = (np.uint64(seed), method, new_bench(rules), actions, table)
    estimate_row(rules._table, rows, guesses, *how, wins, match, held)
    return wins / guesses, match / guesses, held / guesses


@lru_cache(maxsize=16)
def _method(rules: Rules) -> Method:
    """The search's own beliefs, and the strong heuristic on all seats."""
    path = shipped(rules)
    network = no_network() if path is None else load(path, rules)
    belief = Belief(TRUST, path is not None, network, Settings().doubt)
    players = new_players(int(Policy.STRONG), [Policy.STRONG], None)
    return Method(belief, players, 0.0, False, None, stakes_of(rules, 2, "win"))


@kernel
def estimate_row(
    rules: Any,
    rows: Any,
    guesses: Any,
    seed: Any,
    method: Any,
    bench: Any,
    actions: Any,
    race: Any,
    wins: Any,
    match: Any,
    held: Any,
) -> None:
    """Add up what the guesses lead to; see `estimate`.

    Parameters
    ----------
    actions : int64 array, shape ``(m,)``
        Legal actions, or `AS_IT_IS`.
    race : float64 array
        Without a line if nothing is to be added to `match`.
    wins, match : float64 arrays, shape ``(m, num_players)``
        By action and seat: shares of the win, chances to win the match.
    held : float64 array, shape ``(num_players, n_kinds)``
        Guesses in which a seat holds a card of a kind.
    """
    rules = unowned(rules)
    rows = unowned(rows)
    row = rows[0]
    seat = np.int64(row.to_act)
    write_weights(rules[0], row, seat, method.belief, bench.unseen.weights)
    for number in range(guesses):
        imagine(rules[0], row, seat, seed, number, method, bench)
        if method.clairvoyant:  # of hands alone
            bench.rows[0].rng = mix(bench.rows[0].policy_rng)
            shuffle(bench.rows[0], bench.rows[0].draw_pile, bench.rows[0].draw_count)
        for other in range(row.num_players):
            kinds = own_hand(bench.rows[0], other)
            for kind in range(rules[0].n_kinds):
                if kinds & bit(kind) != EMPTY:
                    held[other, kind] += 1.0
        for line in range(actions.shape[0]):
            bench.rows[1] = bench.rows[0]
            if actions[line] != AS_IT_IS:
                apply(rules[0], bench.rows[1], actions[line], None, None)
            play_out(rules[0], bench.rows[1], seat, method)
            add_result(bench.rows[1], race, wins[line], match[line])


@kernel
def add_result(row: Any, race: Any, wins: Any, match: Any) -> None:
    """Add what a playout has led to; see `estimate_row`."""
    scores = np.empty(wins.shape[0], np.int64)
    for seat in range(wins.shape[0]):
        scores[seat] = row.scores[seat]
        if row.end == End.OUT:
            wins[seat] += 1.0 if row.winner == seat else 0.0
        elif (row.out >> seat) & 1 == 0:
            wins[seat] += 1.0 / row.players_in
    if race.shape[0] > 0:
        equities = np.empty(wins.shape[0], np.float64)
        write_equities(race, scores, equities)
        for seat in range(wins.shape[0]):
            match[seat] += equities[seat]
