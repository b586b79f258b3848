"""Kernels that play from one decision of the learner, who has one seat of every game, to its next.

Opponents are drawn for each episode from a *pool* of codes. A code of 0 or more is a scripted
policy, which acts inside the kernel; a negative code ``-1 - k`` is the caller's agent ``k``, for
whose action the game stops and waits. Either way a learner's transition runs from one of its own
decisions to its next, or to the end of the episode, whoever ends it.
"""

from __future__ import annotations

import numpy as np

from pocket_uno_env.agents.scripted.choices import choose
from pocket_uno_env.agents.scripted.policies import act
from pocket_uno_env.compiled.kernel import kernel, unowned
from pocket_uno_env.compiled.rng import row_seed
from pocket_uno_env.engine.deal import deal_round, new_game
from pocket_uno_env.engine.legality import only_legal_action, write_mask
from pocket_uno_env.engine.state import NO_SEAT
from pocket_uno_env.engine.transition import apply, truncate
from pocket_uno_env.episodes.kernels import finish_round, start_scores
from pocket_uno_env.observation.blocks import write_observation
from pocket_uno_env.observation.canonical import unowned_tables, write_view
from pocket_uno_env.row_kernels import next_game, next_seed
from pocket_uno_env.rules.phases import End

from .learner_books import LEARNER


@kernel
def _take(rules, row, action, max_cycles):
    apply(rules, row, action, None, None)
    if row.end == End.RUNNING and row.decisions >= max_cycles:
        truncate(row)


@kernel
def _deal(rules, row, book, pool, scores):
    """Deal the next game; draw the learner's seat and its opponents."""
    next_game(rules, row, scores)
    _seat(row, book, pool)


@kernel
def _seat(row, book, pool):
    book.learner = choose(row, row.num_players)
    for seat in range(row.num_players):
        book.opponents[seat] = pool[choose(row, pool.shape[0])]
    book.decided = False
    book.owed = 0.0


@kernel
def _play_on(rules, row, book, pool, episode, payoffs, final_rows, i, forced):
    """Play until the learner or an agent of the caller's has to act, through the end of rounds.

    An episode that ends before the learner's first decision gives no transition: the next one is
    dealt, and nothing is recorded. What the rounds of a match pay before that is owed to it.
    """
    while True:
        while row.end == End.RUNNING and row.to_act != book.learner:
            code = book.opponents[row.to_act]
            if code < 0:
                book.waits_for = -1 - code
                return
            _take(rules, row, act(rules, row, code), episode.max_cycles)
        if row.end == End.RUNNING:
            action = -1
            if forced is not None:
                action = only_legal_action(rules, row, forced)
            if action < 0:
                book.waits_for = LEARNER
                book.decided = True
                return
            _take(rules, row, action, episode.max_cycles)
            continue
        end = finish_round(rules, row, episode, payoffs)
        if book.decided:
            book.reward += payoffs[book.learner]
        else:
            book.owed += payoffs[book.learner]
        if end == End.RUNNING:
            deal_round(rules, row, NO_SEAT, None, None)
            continue
        if book.decided:
            book.end = end
            book.last_learner = book.learner
            final_rows[i] = row
        _deal(rules, row, book, pool, episode.scores)


@kernel
def start_learners(
    rules,
    rows,
    books,
    index,
    num_players,
    seed,
    dealer,
    deck,
    pool,
    episode,
    final_rows,
    forced,
):
    """Start the games of `index` and play on; `continue_learners` has the parameters.

    Game ``i`` is seeded by ``(seed, i)``, seed uint64.

    Parameters
    ----------
    dealer : int
        The first dealer's seat, or `NO_SEAT` to draw one.
    deck : uint8 array
        The kinds of all cards in the order they are first dealt, or none at all.
    """
    rules, rows, books = unowned(rules), unowned(rows), unowned(books)
    pool, episode = unowned(pool), unowned(episode)
    finals, payoffs = unowned(final_rows), np.zeros(num_players)
    for j in range(index.shape[0]):
        i = index[j]
        row, book = rows[i], books[i]
        new_game(row, num_players, row_seed(seed, np.uint64(i)))
        book.reward = 0.0
        book.end = End.RUNNING
        next_seed(row)
        start_scores(row, episode.scores)
        if deck.shape[0] > 0:
            deal_round(rules[0], row, dealer, deck, None)
        else:
            deal_round(rules[0], row, dealer, None, None)
        _seat(row, book, pool)
        _play_on(rules[0], row, book, pool, episode, unowned(payoffs), finals, i, forced)


@kernel
def continue_learners(rules, rows, books, index, actions, pool, episode, final_rows, forced):
    """Take the awaited action in some games, and play on until the next one is awaited.

    Parameters
    ----------
    books : `learner_books.BOOK` array, shape ``(n,)``
    index : int64 array, shape ``(m,)``
    actions : int64 array, shape ``(m,)``
        Legal actions (`row_kernels.first_illegal`) in ``rows[index]``.
    pool : int64 array
        The codes from which each seat's agent is drawn, with their frequencies.
    episode : `episode.Episode`
    final_rows : `state.ROW` array, shape ``(n,)``
        Written where the learner's episode ends: the game as it then was.
    forced : int8 array, shape ``(n_actions,)``, scratch, or None
        If given, decisions of the learner's with one legal action are made for it, and an episode
        without any other gives no transition.
    """
    rules, rows, books = unowned(rules), unowned(rows), unowned(books)
    pool, episode = unowned(pool), unowned(episode)
    finals, payoffs = unowned(final_rows), np.zeros(np.int64(rows[0].num_players))
    for j in range(index.shape[0]):
        i = index[j]
        row, book = rows[i], books[i]
        _take(rules[0], row, actions[j], episode.max_cycles)
        _play_on(rules[0], row, book, pool, episode, unowned(payoffs), finals, i, forced)


@kernel
def redeal_learners(rules, rows, books, index, pool, episode, final_rows, forced):
    """Abandon some games without a reward, and deal new ones; see `continue_learners`."""
    rules, rows, books = unowned(rules), unowned(rows), unowned(books)
    pool, episode = unowned(pool), unowned(episode)
    finals, payoffs = unowned(final_rows), np.zeros(np.int64(rows[0].num_players))
    for j in range(index.shape[0]):
        i = index[j]
        row, book = rows[i], books[i]
        _deal(rules[0], row, book, pool, episode.scores)
        _play_on(rules[0], row, book, pool, episode, unowned(payoffs), finals, i, forced)


@kernel
def waiting_for(books, agent, index):
    """Write the games that wait for `agent` into ``index``, in order; returns how many."""
    count = 0
    for i in range(books.shape[0]):
        if books[i].waits_for == agent:
            index[count] = i
            count += 1
    return count


@kernel
def look_learners(rules, rows, seats, index, tables, observations, masks, orders):
    """Write what the learner knows and may do, in the view of `tables` unless they are None.

    Parameters
    ----------
    seats : int64 array, shape ``(n,)``
        Where the learner sits in each of `rows`.
    index : int64 array, shape ``(m,)``
        Which of the rows are looked at.
    tables : `canonical.ColorTables` or None
    observations : float32 or uint8 array, shape ``(m, size)``, written
    masks : int8 array, shape ``(m, n_actions)``, written
    orders : int64 array, shape ``(m, colors)``, written if there are tables
    """
    rules, rows = unowned(rules), unowned(rows)
    observations, masks = unowned(observations), unowned(masks)
    if tables is None:
        for j in range(index.shape[0]):
            row = rows[index[j]]
            write_observation(rules[0], row, seats[index[j]], observations[j])
            write_mask(rules[0], row, masks[j])
    else:
        named, orders = unowned_tables(tables), unowned(orders)
        kept_observation, kept_mask = np.empty_like(observations[0]), np.empty_like(masks[0])
        plain, legal = unowned(kept_observation), unowned(kept_mask)
        for j in range(index.shape[0]):
            row = rows[index[j]]
            write_observation(rules[0], row, seats[index[j]], plain)
            write_mask(rules[0], row, legal)
            write_view(named, plain, legal, orders[j], observations[j], masks[j])
