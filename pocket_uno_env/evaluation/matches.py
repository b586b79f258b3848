"""Rounds and whole matches in parallel, from common deals: the compiled part of the arena.

Every round of a match is dealt from a seed of its own, which follows from the deal and the number
of the round: so all rotations of a match, and all line-ups, get the same cards round by round, and
a game can be played again from its seed and its actions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pocket_uno_env.agents.scripted.policies import act
from pocket_uno_env.compiled.kernel import as_record, kernel
from pocket_uno_env.compiled.rng import mix, row_seed
from pocket_uno_env.engine.deal import deal_round, new_game
from pocket_uno_env.engine.match import match_winner
from pocket_uno_env.engine.state import NO_SEAT, new_rows
from pocket_uno_env.engine.transition import apply, truncate
from pocket_uno_env.records.record import Transcript
from pocket_uno_env.rules.phases import End
from pocket_uno_env.rules.rules import Rules


class Book(NamedTuple):
    """The state of each game beside its row.

    Attributes
    ----------
    seeds : uint64 array, shape ``(n,)``
        The seed of the deal.
    limits : int64 array, shape ``(2,)``
        Decisions after which a round is truncated; rounds after which a match is, or 0 where a
        game is a single round.
    decisions, rounds : int64 array, shape ``(n,)``
        So far, in all rounds; finished rounds.
    points : int64 array, shape ``(n, num_players)``
        Scored by each seat in all finished rounds.
    rounds_won : int64 array, shape ``(n, num_players)``
        How many of these each seat has won.
    winner : int64 array, shape ``(n,)``
        The seat that has won, or -1.
    over : int64 array, shape ``(n,)``
        1 when the game has ended.
    """

    seeds: np.ndarray
    limits: np.ndarray
    decisions: np.ndarray
    rounds: np.ndarray
    points: np.ndarray
    rounds_won: np.ndarray
    winner: np.ndarray
    over: np.ndarray


class FinishedGames(NamedTuple):
    """Finished games, dealt anew, with what is needed to play them again.

    Attributes
    ----------
    rules : structured array, dtype `table.RULES_ROW`, shape ``(1,)``
    rows : structured array, dtype `state.ROW`, shape ``(n,)``
    book : Book
        Empty.
    actions : int16 array, shape ``(n, longest)``
    lengths : int64 array, shape ``(n,)``
        How many actions each game has.
    places : int64 array, shape ``(n, num_players)``
        The place in the line-up of the agent in each seat.
    rotations : int
        How many games of each deal there are.
    """

    rules: Any
    rows: Any
    book: Book
    actions: np.ndarray
    lengths: np.ndarray
    places: np.ndarray
    rotations: int


def deal_games(
    rules: Rules,
    num_players: int,
    seed: int,
    first: int,
    count: int,
    key: int,
    limits: tuple[int, int],
    rotations: int,
) -> tuple[Any, Book]:
    """The games of `count` deals, each once for every rotation, and an empty book.

    Game g is rotation ``g % rotations`` of deal ``first + g // rotations``. The cards follow
    from (`seed`, deal), the scripted agents' randomness from (`seed`, `key`, deal, rotation); `key`
    is any 64 bits, different for each line-up.
    """
    n = count * rotations
    rows = new_rows(n)
    book = Book(
        np.zeros(n, np.uint64),
        np.array(limits, np.int64),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.zeros((n, num_players), np.int64),
        np.zeros((n, num_players), np.int64),
        np.full(n, -1),
        np.zeros(n, np.int64),
    )
    numbers = np.uint64(seed), np.uint64(first), np.uint64(key)
    _deal(rules._table, rows, num_players, rotations, *numbers, book.seeds)
    return rows, book


@kernel
def _deal(rules, rows, num_players, rotations, seed, first, key, seeds):
    for game in range(rows.shape[0]):
        row = rows[game]
        deal = first + np.uint64(game // rotations)
        seeds[game] = row_seed(seed, deal)
        new_game(row, num_players, seeds[game])
        own = row_seed(mix(seed ^ mix(key)), deal)
        row.policy_rng = row_seed(own, np.uint64(game % rotations))
        deal_round(rules[0], row, NO_SEAT, None, None)


@kernel
def _next_round(rules: Any, row: Any, seed: Any, number: Any) -> None:
    """Deal the round of this number, from 1, of the match with this seed."""
    row.rng = row_seed(seed, np.uint64(number))
    deal_round(rules, row, NO_SEAT, None, None)


@kernel
def after_decision(rules, row, i, book):
    """Update the `Book` of game i after a decision: truncate, add up, deal the next round."""
    book.decisions[i] += 1
    if row.end == End.RUNNING and row.decisions >= book.limits[0]:
        truncate(row)
    if row.end == End.RUNNING:
        return
    book.rounds[i] += 1
    for seat in range(book.points.shape[1]):
        book.points[i, seat] += row.points[seat]
    if row.end == End.OUT:
        book.rounds_won[i, row.winner] += 1
    if book.limits[1] == 0:
        book.over[i] = 1
        if row.end == End.OUT:
            book.winner[i] = row.winner
        return
    champion = np.int64(match_winner(rules, row))
    if champion != NO_SEAT:
        book.winner[i] = champion
        book.over[i] = 1
    elif book.rounds[i] >= book.limits[1]:
        book.over[i] = 1
    else:
        _next_round(rules, row, book.seeds[i], book.rounds[i])


@kernel
def advance(rules, rows, index, policies, book, taken):
    """Let compiled policies act in ``rows[index]`` until another agent is to act or it is over.

    Parameters
    ----------
    policies : int64 array, shape ``(n, num_players)``
        `policies.Policy` by row and seat, negative for an agent that is not compiled.
    book : Book
    taken : int16 array, shape ``(n, capacity)``, written, or None
        ``taken[i, d]`` becomes decision d of game i. A game stops where there is no more room.
    """
    for j in range(index.shape[0]):
        i = index[j]
        row = rows[i]
        while book.over[i] == 0:
            policy = policies[i, row.to_act]
            if policy < 0:
                break
            if taken is not None and book.decisions[i] == taken.shape[1]:
                break
            action = act(rules[0], row, policy)
            if taken is not None:
                taken[i, book.decisions[i]] = action
            apply(rules[0], row, action, None, None)
            after_decision(rules[0], row, i, book)


@kernel
def apply_actions(rules, rows, index, actions, book, taken):
    """Take ``actions[j]`` in ``rows[index[j]]``; the rest as in `advance`.

    Precondition: all actions are legal (`row_kernels.first_illegal`).
    """
    for j in range(index.shape[0]):
        i = index[j]
        if taken is not None:
            taken[i, book.decisions[i]] = actions[j]
        apply(rules[0], rows[i], actions[j], None, None)
        after_decision(rules[0], rows[i], i, book)


def transcripts(
    rules: Rules, num_players: int, book: Book, game: int, actions: list[int]
) -> list[Transcript]:
    """The transcript of each round of a finished game, for its record."""
    rows = new_rows(1)
    table = rules._table[0]
    new_game(rows[0], num_players, book.seeds[game])
    rounds, at = [], 0
    running, truncated = int(End.RUNNING), int(End.TRUNCATED)
    for number in range(int(book.rounds[game])):
        if number:
            as_record(rows).rng = row_seed(book.seeds[game], np.uint64(number))
        before = np.array(rows)
        deal_round(table, rows[0], NO_SEAT, None, None)
        first = at
        # Compared as plain numbers: where NumPy meets a member of an enum it looks for attributes
        # of its class, in Python code, and a Ctrl-C that comes in there is lost.
        while at < len(actions) and rows["end"][0] == running:
            if at - first == book.limits[0]:
                truncate(rows[0])
                break
            apply(table, rows[0], actions[at], None, None)
            at += 1
        if rows["end"][0] == running:
            truncate(rows[0])
        cut = bool(rows["end"][0] == truncated)
        rounds.append(Transcript(before, actions=actions[first:at], truncated=cut))
    return rounds
