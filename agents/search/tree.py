"""Information set Monte Carlo tree search: a tree over what the searching seat can tell apart.

Each iteration guesses a full game, walks down the tree by the moves that are legal in it, adds one
node and plays the rest out. A node stands for what the seat has seen since the root: the moves, and
the kind of a card that it drew itself. Nodes hold one share of a win for the seat that moved there.

Among the moves legal in a guess it takes the one with the highest upper bound, counting for each
how often it could have been taken. A few imagined visits start every move at its parent's value,
and the move that a scripted policy would make somewhat above it.

Source: P. Cowling, E. Powley and D. Whitehouse, "Information set Monte Carlo tree search", IEEE
Transactions on Computational Intelligence and AI in Games 4, 2012: the single-observer variant. The
imagined visits are ours.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pocket_uno_env.compiled.bits import EMPTY, first
from pocket_uno_env.compiled.kernel import kernel, unowned
from pocket_uno_env.engine.legality import write_mask
from pocket_uno_env.observation.information import own_hand
from pocket_uno_env.rules.phases import End, Phase

from .flat import begin
from .players import seat_action
from .playouts import imagine, play_out, take, take_seed
from .stakes import share_at_end

EXPLORE = 0.5
"""Weight of the bound's width."""
IMAGINED = 4.0
"""Imagined visits of each move."""
HEADSTART = 0.1
"""How much better than its parent the scripted policy's move is imagined."""
_NONE = -1


class Tree(NamedTuple):
    """The nodes; the root is the first.

    Attributes
    ----------
    label : int64, shape ``(capacity,)``
        The move that leads here, plus the number of actions times one more than the kind drawn.
    mover : int64
        The seat that made it.
    child, sibling : int64
        The newest child, and the next older one of the same parent; -1 if there is none.
    visits, availability, wins : float64
        How often a node was visited, could have been chosen, and the mover's share of wins.
    path : int64
        The nodes of the present walk.
    size : int64, shape ``(1,)``
        How many nodes there are.
    """

    label: Any
    mover: Any
    child: Any
    sibling: Any
    visits: Any
    availability: Any
    wins: Any
    path: Any
    size: Any


def new_tree(capacity: int) -> Tree:
    """Room for so many nodes, one for each iteration and the root."""
    label, mover, child, sibling = (np.zeros(capacity, np.int64) for _ in range(4))
    visits, availability, wins = (np.zeros(capacity) for _ in range(3))
    path, size = np.zeros(512, np.int64), np.zeros(1, np.int64)
    return Tree(label, mover, child, sibling, visits, availability, wins, path, size)


@kernel
def _add(tree, parent, label, mover):
    node = tree.size[0]
    tree.size[0] += 1
    tree.label[node] = label
    tree.mover[node] = mover
    tree.child[node] = _NONE
    tree.visits[node] = tree.availability[node] = tree.wins[node] = 0.0
    if parent != _NONE:
        tree.sibling[node] = tree.child[parent]
        tree.child[parent] = node
    return node


@kernel
def _find(tree, parent, label):
    node = tree.child[parent]
    while node != _NONE and tree.label[node] != label:
        node = tree.sibling[node]
    return node


@kernel
def _select(rules, row, tree, node, favourite, mask):
    """The legal move with the highest upper bound; counts the availability of each."""
    # The node's value is that of whoever moved there; the others share the rest.
    mine = row.to_act == tree.mover[node]
    value = (tree.wins[node] + 1.0 / row.players_in) / (tree.visits[node] + 1.0)
    if not mine:
        value = (1.0 - value) / (row.players_in - 1)
    best, most = favourite, -1.0
    for move in range(rules.n_actions):
        if not mask[move]:
            continue
        start = value + HEADSTART if move == favourite else value
        visits, wins, available = IMAGINED, IMAGINED * start, 0.0
        child = tree.child[node]
        while child != _NONE:
            if tree.label[child] % rules.n_actions == move:
                visits += tree.visits[child]
                wins += tree.wins[child]
                tree.availability[child] += 1.0
                available = max(available, tree.availability[child])
            child = tree.sibling[child]
        if available == 0.0:
            available = tree.visits[node]
        bound = wins / visits + EXPLORE * np.sqrt(np.log(available + 2.0) / visits)
        if bound > most:
            best, most = move, bound
    return best


@kernel
def _walk(rules, row, seat, method, tree, mask):
    """Go down the tree in a guess, add a node, play out, and note the outcome."""
    node, depth = 0, 1
    tree.path[0] = 0
    grown = False
    while row.end == End.RUNNING and not grown and depth < tree.path.shape[0]:
        mover = np.int64(row.to_act)
        move = seat_action(rules, row, method.players)
        if row.phase == Phase.UNO or row.phase == Phase.CATCH:
            take(rules, row, move)
            continue
        write_mask(rules, row, mask)
        move = _select(rules, row, tree, node, move, mask)
        before = own_hand(row, seat)
        take(rules, row, move)
        label = move
        drawn = own_hand(row, seat) & ~before
        if mover == seat and drawn != EMPTY:
            label += rules.n_actions * (1 + first(drawn))
        child = _find(tree, node, label)
        if child == _NONE:
            child = _add(tree, node, label, mover)
            grown = True
        node = child
        tree.path[depth] = node
        depth += 1
    play_out(rules, row, seat, method)
    for i in range(depth):
        tree.visits[tree.path[i]] += 1.0
        tree.wins[tree.path[i]] += share_at_end(row, tree.mover[tree.path[i]], method.stakes)


@kernel
def plant(row, tree):
    """A tree of nothing but the root."""
    tree.size[0] = 0
    _add(tree, _NONE, 0, np.int64(row.to_act))


@kernel
def grow(rules, row, first_number, more, seed, method, bench, tree):
    """Run iterations `first_number` to ``first_number + more - 1``.

    Precondition: `tree` has room for `more` nodes.
    """
    seat = np.int64(row.to_act)
    for number in range(first_number, first_number + more):
        imagine(rules, row, seat, seed, number, method, bench)
        _walk(rules, bench.rows[0], seat, method, tree, bench.mask)


@kernel
def best_move(rules, reference, lead, tree):
    """The move visited most, if it leads the reference clearly, else the reference."""
    n = rules.n_actions
    best, most, won, ours, our_wins = np.int64(reference), 0.0, 0.0, 0.0, 0.0
    child = tree.child[0]
    while child != _NONE:
        move = tree.label[child] % n
        visits, wins, twin = 0.0, 0.0, tree.child[0]
        while twin != _NONE:
            if tree.label[twin] % n == move:
                visits += tree.visits[twin]
                wins += tree.wins[twin]
            twin = tree.sibling[twin]
        if move == reference:
            ours, our_wins = visits, wins
        if visits > most:
            best, most, won = move, visits, wins
        child = tree.sibling[child]
    if best != reference and ours > 0:
        p, q = won / most, our_wins / ours
        variance = max(p * (1.0 - p), 0.0) / most + max(q * (1.0 - q), 0.0) / ours
        if p - q <= lead * np.sqrt(variance):
            return np.int64(reference)
    return best


@kernel
def tree_rows(rules, rows, index, references, priors, playouts, method, bench, tree, actions):
    """Search ``rows[index[j]]`` with so many iterations each; see `flat.flat_rows`."""
    rules, rows, priors = unowned(rules), unowned(rows), unowned(priors)
    method, bench, tree = unowned(method), unowned(bench), unowned(tree)
    for j in range(index.shape[0]):
        row = rows[index[j]]
        seed = take_seed(row)
        actions[j] = references[j]
        if begin(rules[0], row, references[j], priors[j], method, bench) > 1:
            plant(row, tree)
            grow(rules[0], row, 0, playouts, seed, method, bench, tree)
            actions[j] = best_move(rules[0], references[j], method.lead, tree)


@kernel
def plant_row(rows, place, tree):
    """`plant` for ``rows[place]``."""
    plant(rows[place], tree)


@kernel
def grow_row(rules, rows, place, first_number, more, seed, method, bench, tree):
    """`grow` for ``rows[place]``."""
    method, bench, tree = unowned(method), unowned(bench), unowned(tree)
    grow(rules[0], rows[place], first_number, more, seed, method, bench, tree)


@kernel
def best_row(rules, reference, lead, tree):
    """`best_move` under the first rules."""
    return best_move(rules[0], reference, lead, tree)
