"""Determinized flat Monte Carlo: compare moves by playouts from guessed full games.

All moves that are compared are tried on the same guesses, so that what luck the guesses bring falls
out of the differences. The budget is spent in rounds; after each, half of the moves are dropped
(sequential halving), and those that are clearly behind are dropped as soon as they are. The
*reference*, the move of a policy that needs no search, is left only for a clear lead over it.

Source: Z. Karnin, T. Koren and O. Somekh, "Almost optimal exploration in multi-armed bandits", ICML
2013 (sequential halving).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pocket_uno_env.compiled.kernel import kernel, unowned
from pocket_uno_env.engine.legality import write_mask
from pocket_uno_env.rules.phases import Phase

from .belief import write_weights
from .playouts import imagine, play_on, play_out, take, take_seed
from .stakes import set_stakes

ROUNDS = 4
"""The rounds, at least, in which a budget is spent; after each, moves are dropped."""
FEWEST = 16
"""Guesses before moves are dropped, and at least between two looks at how they did."""
HOPELESS = 1.25
"""By how many standard errors a move that is dropped early is behind the reference."""
TRIFLE = 0.01
"""A lead, in shares of a win, that is not worth searching for."""


@kernel
def _outcome(rules, seat, move, method, bench):
    """The share of a win that `seat` gets by a move in the present guess."""
    row = bench.rows[1]
    bench.rows[1] = bench.rows[0]
    take(rules, row, move)
    return _judged(rules, row, seat, bench.mask, method, method.critic)


@kernel
def _judged(rules, row, seat, mask, method, critic):
    """`play_on` if there is a critic, else `play_out`."""
    if critic is None:
        return play_out(rules, row, seat, method)
    return play_on(rules, row, seat, mask, method)


@kernel
def begin(rules, row, reference, prior, method, bench):
    """List the moves and weigh the unseen cards; returns how many moves there are to compare.

    One where there is nothing to decide: to say uno and to catch cost nothing, and are not
    searched.

    Parameters
    ----------
    reference : int
        The move to start from.
    prior : float32 array
        By action, what is added to the share of wins of each, all zeros without a network; minus
        infinity for what is not to be compared.
    """
    bench.moves[0] = reference
    if row.phase == Phase.UNO or row.phase == Phase.CATCH:
        return 1
    write_mask(rules, row, bench.mask)
    count = 1
    for action in range(rules.n_actions):
        if bench.mask[action] and action != reference and prior[action] > -np.inf:
            bench.moves[count] = action
            bench.bonuses[count] = prior[action] - prior[reference]
            count += 1
    bench.sums[:count] = 0.0
    bench.squares[:count] = 0.0
    if count > 1:
        set_stakes(row, method.stakes)
    if count > 1 and not method.clairvoyant:
        write_weights(rules, row, np.int64(row.to_act), method.belief, bench.unseen.weights)
    return count


@kernel
def compare(rules, row, count, first, more, seed, method, bench):
    """Try the first `count` moves on guesses `first` to ``first + more - 1``."""
    seat = np.int64(row.to_act)
    for number in range(first, first + more):
        imagine(rules, row, seat, seed, number, method, bench)
        base = _outcome(rules, seat, bench.moves[0], method, bench)
        for i in range(1, count):
            gain = _outcome(rules, seat, bench.moves[i], method, bench) - base
            bench.sums[i] += gain
            bench.squares[i] += gain * gain


@kernel
def next_look(guesses):
    """After how many guesses in all to look again which moves are hopeless."""
    return guesses + max(guesses // 4, FEWEST)


@kernel
def lead_of(i, guesses, bench):
    """How much better than the reference a move is, in shares of a win, after so many guesses."""
    return bench.sums[i] / guesses + bench.bonuses[i]


@kernel
def _error_of(i, guesses, bench):
    """The standard error of `lead_of`, as if one guess had made a difference that made none."""
    mean = bench.sums[i] / guesses
    return np.sqrt(((bench.squares[i] + 1.0) / guesses - mean * mean) / guesses)


@kernel
def rounds_for(count):
    """In how many rounds the budget is spent on so many moves."""
    rounds = 1
    while count > 2:
        count = half_of(count)
        rounds += 1
    return max(rounds, ROUNDS)


@kernel
def half_of(count):
    """How many moves stay: half of those beside the reference, at least one."""
    return 1 + count // 2 if count > 2 else count


@kernel
def drop(count, keep, guesses, bench):
    """Keep the reference and the best moves, `keep` in all, but none that is hopeless.

    Returns how many are left.
    """
    left = 1
    for i in range(1, count):
        if lead_of(i, guesses, bench) + HOPELESS * _error_of(i, guesses, bench) >= TRIFLE:
            _exchange(left, i, bench)
            left += 1
    count, left = left, 1
    while left < min(keep, count):
        best = left
        for i in range(left + 1, count):
            if lead_of(i, guesses, bench) > lead_of(best, guesses, bench):
                best = i
        _exchange(left, best, bench)
        left += 1
    return left


@kernel
def _exchange(i, j, bench):
    """Let two moves change places."""
    for values in (bench.sums, bench.squares, bench.bonuses):
        values[i], values[j] = values[j], values[i]
    bench.moves[i], bench.moves[j] = bench.moves[j], bench.moves[i]


@kernel
def decide(count, guesses, method, bench):
    """The move that did best, if its lead over the reference is clear, else the reference."""
    best = 0
    for i in range(1, count):
        if best == 0 or lead_of(i, guesses, bench) > lead_of(best, guesses, bench):
            best = i
    if best > 0 and lead_of(best, guesses, bench) > method.lead * _error_of(best, guesses, bench):
        return bench.moves[best]
    return bench.moves[0]


class Halving(NamedTuple):
    """How far the comparison of some moves has come; all int.

    Attributes
    ----------
    count
        How many moves are still compared, the first of ``bench.moves``.
    keep
        How many the rounds so far would have left.
    guesses
        On how many guesses they were compared.
    look
        After how many in all to look next which of them are hopeless.
    """

    count: Any
    keep: Any
    guesses: Any
    look: Any


@kernel
def new_halving(count):
    """The comparison of so many moves, before the first guess."""
    return Halving(np.int64(count), np.int64(count), np.int64(0), np.int64(FEWEST))


@kernel
def go_on(rules, row, halving, end, seed, method, bench):
    """Compare up to guess ``end - 1``, or until all but the reference are hopeless."""
    count, keep, guesses, look = halving
    while guesses < end and count > 1:
        more = min(look, end) - guesses
        compare(rules, row, count, guesses, more, seed, method, bench)
        guesses += more
        if guesses == look:
            count = drop(count, count, guesses, bench)
            look = next_look(guesses)
    return Halving(count, keep, guesses, look)


@kernel
def end_round(halving, bench):
    """Drop the worse half."""
    keep = half_of(halving.keep)
    count = drop(halving.count, keep, halving.guesses, bench)
    return Halving(count, keep, halving.guesses, next_look(halving.guesses))


@kernel
def flat_rows(rules, rows, index, references, priors, playouts, method, bench, actions):
    """Search ``rows[index[j]]`` with at most so many playouts each; writes ``actions``, int64.

    ``references[j]`` and ``priors[j]`` as for `begin`.
    """
    rules, rows, priors = unowned(rules), unowned(rows), unowned(priors)
    method, bench = unowned(method), unowned(bench)
    for j in range(index.shape[0]):
        row = rows[index[j]]
        seed = take_seed(row)
        halving = new_halving(begin(rules[0], row, references[j], priors[j], method, bench))
        rounds = rounds_for(halving.count)
        for _ in range(rounds):
            end = halving.guesses + max(playouts // (rounds * halving.keep), 1)
            halving = go_on(rules[0], row, halving, end, seed, method, bench)
            halving = end_round(halving, bench)
        actions[j] = decide(halving.count, halving.guesses, method, bench)


@kernel
def begin_row(rules, rows, place, reference, prior, method, bench):
    """`begin` and `take_seed` for ``rows[place]``; the count and the seed."""
    method, bench = unowned(method), unowned(bench)
    return begin(rules[0], rows[place], reference, prior, method, bench), take_seed(rows[place])


@kernel
def go_on_row(rules, rows, place, halving, end, seed, method, bench):
    """`go_on` for ``rows[place]``."""
    method, bench = unowned(method), unowned(bench)
    return go_on(rules[0], rows[place], halving, end, seed, method, bench)
