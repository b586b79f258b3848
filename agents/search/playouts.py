"""Guesses of the full game, playouts from them, and how and with which buffers to search.

A guess is a determinization drawn from the belief. It is played out by scripted policies, or judged
by a trained critic.

Source: M. Ginsberg, "GIB: imperfect information in a computationally challenging game", JAIR 14,
2001 (determinization).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pocket_uno_env.agents.trained.critic import Critic, judge
from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.compiled.rng import mix, next_state
from pocket_uno_env.engine.legality import only_legal_action
from pocket_uno_env.engine.state import new_rows
from pocket_uno_env.engine.transition import apply
from pocket_uno_env.episodes.payoff import win_share
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.phases import End
from pocket_uno_env.rules.rules import Rules

from .belief import Belief, guess
from .determinize import Unseen, new_unseen
from .players import Players, seat_action, seat_players
from .stakes import Stakes, share_at_end, share_of

PLAYOUT_CAP = 400
"""Decisions after which a playout counts as a draw."""


class Method(NamedTuple):
    """How to search.

    Attributes
    ----------
    belief : Belief
        What determinizations are drawn from.
    players : Players
        Who decides in playouts.
    lead : float
        By how many standard errors a move must lead the reference.
    clairvoyant : bool
        Cheat: search the game as it is, other hands, draw pile and generator included.
    critic : Critic or None
        If there is one, it judges the searching seat's next decision, and no playout goes on.
    stakes : Stakes
        What a round that is over is worth.
    """

    belief: Belief
    players: Players
    lead: Any
    clairvoyant: Any
    critic: Critic | None
    stakes: Stakes


class Bench(NamedTuple):
    """The buffers of one search.

    Attributes
    ----------
    rows : dtype `state.ROW`, shape ``(2,)``
        A determinization, and the playout from it.
    mask : int8, shape ``(n_actions,)``
    moves : int64, shape ``(n_actions,)``
        The moves that are compared; the reference is the first.
    sums, squares, bonuses : float64, shape ``(n_actions,)``
        By how much each did better than the reference, over all guesses; by how much a network
        prefers it to the reference.
    unseen : Unseen
    """

    rows: Any
    mask: Any
    moves: Any
    sums: Any
    squares: Any
    bonuses: Any
    unseen: Unseen


def new_bench(rules: Rules) -> Bench:
    """Buffers for searches under these rules, one at a time."""
    n = len(catalogue(rules))
    mask, moves = np.zeros(n, np.int8), np.zeros(n, np.int64)
    sums, squares, bonuses = np.zeros(n), np.zeros(n), np.zeros(n)
    return Bench(new_rows(2), mask, moves, sums, squares, bonuses, new_unseen())


@kernel
def take(rules, row, action):
    """`transition.apply` as a call: in a playout it costs nothing, and it is compiled once."""
    apply(rules, row, action, None, None)


@kernel
def play_out(rules, row, seat, method):
    """Play a game to its end; the share of a win that `seat` gets."""
    for _ in range(PLAYOUT_CAP):
        if row.end != End.RUNNING:
            break
        take(rules, row, seat_action(rules, row, method.players))
    return share_at_end(row, seat, method.stakes)


@kernel
def play_on(rules, row, seat, mask, method):
    """Play to the next decision of `seat` that has a choice; the share of a win by the critic."""
    for _ in range(PLAYOUT_CAP):
        if row.end != End.RUNNING:
            break
        if row.to_act != seat:
            take(rules, row, seat_action(rules, row, method.players))
            continue
        action = only_legal_action(rules, row, mask)
        if action < 0:
            value = judge(rules, row, mask, method.critic)
            if method.critic.of_match:
                return share_of(method.stakes.now[seat] + value, seat, method.stakes)
            return win_share(value, np.float64(row.num_players))
        take(rules, row, action)
    return share_at_end(row, seat, method.stakes)


@kernel
def imagine(rules, row, seat, seed, number, method, bench):
    """Make guess `number` of a search in ``bench.rows[0]``; the seed decides all guesses."""
    seed = mix(seed + np.uint64(number))
    if method.clairvoyant:
        bench.rows[0] = row
        seat_players(row, seat, seed, method.players)
    else:
        guess(rules, row, bench.rows, seat, bench.unseen, seed, method.belief, method.players)
    bench.rows[0].policy_rng = mix(~seed)


@kernel
def take_seed(row):
    """A seed for a search, from the row's policy generator."""
    row.policy_rng = next_state(row.policy_rng)
    return mix(row.policy_rng)
