"""Canonical colours: a view of observation, mask and action in which colours have no names.

UNO treats its colours alike, so a game with red and blue exchanged is the same game. The view
renames the colours by what the seat knows: the active colour comes first, then the others by how
many cards of them the seat holds. Among equals the rest of what it knows decides, so that two
games that differ in the names of their colours alone look the same. An agent that sees the view
need not learn everything once for each colour.

The order is made from the plain observation and from nothing else; the environments stay plain.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations
from typing import NamedTuple

import numpy as np

from pocket_uno_env.arguments import as_integers, check_apart, check_buffer
from pocket_uno_env.compiled.kernel import inlined, kernel, unowned
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.limits import NO_COLOR
from pocket_uno_env.rules.rules import Rules

from .blocks import BLOCKS, layout, observation_size
from .encoders import COMPACT_SCALE

VIEWS = ("plain", "canonical")
"""The colours by their names, or in the order that `write_order` finds."""

_ACTIVE = 1000
"""Added to the rank of the active colour: more than there are cards in a hand."""


class ColorTables(NamedTuple):
    """Where the colours are in the observation and among the actions.

    An *order* says which colour stands in each place of the view. Read as the digits of a number,
    it finds its line in `sources`.

    Attributes
    ----------
    ranked, weights : uint16 and float32, shape ``(colors, r)``
        The places that rank a colour, and how much a full share there weighs.
    values : uint16, shape ``(colors, v)``
        Places of all values that belong to a colour; a column holds the same value of each.
    sources : uint16, shape ``(colors ** colors, n_actions + size)``
        For each action of the view the action of the game, then for each place of the view the
        place in the plain observation.
    n_actions : int

    Notes
    -----
    Nobody can write the arrays: all who ask for the tables of a game share them.
    """

    ranked: np.ndarray
    weights: np.ndarray
    values: np.ndarray
    sources: np.ndarray
    n_actions: int

    @property
    def hand(self) -> np.ndarray:
        """The places of the own cards by colour: uint16, shape ``(colors, symbols)``."""
        return self.ranked[:, 1:]


@lru_cache(maxsize=64)
def color_tables(rules: Rules, num_players: int) -> ColorTables:
    """The tables for `rules` and `num_players`."""
    n_kinds, colors = len(rules.kinds), rules.colors
    kinds = np.array(
        [
            [k for k, kind in enumerate(rules.kinds) if kind.color == color]
            for color in range(colors)
        ]
    )
    places = {
        block.name: np.arange(block.length) + block.start for block in layout(rules, num_players)
    }
    here = [block for block in BLOCKS if block.name in places]
    per_kind = [
        places[block.name].reshape(-1, n_kinds) for block in here if block.shape[-1] == "kind"
    ]
    per_color = [
        places[block.name].reshape(-1, colors) for block in here if block.shape[-1] == "color"
    ]
    columns = [line[kinds] for block in per_kind for line in block]
    columns += [block.T for block in per_color]

    by_color: list[list[int]] = [[] for _ in range(colors)]
    for index, action in enumerate(catalogue(rules).actions):
        color = action.color
        if action.kind < kinds.size:
            color = int(np.argwhere(kinds == action.kind)[0, 0])
        if color != NO_COLOR:
            by_color[color].append(index)
    values, actions = np.concatenate(columns, axis=1), np.array(by_color)

    n_actions, size = len(catalogue(rules)), observation_size(rules, num_players)
    plain = np.concatenate([np.arange(n_actions), np.arange(size)])
    named = np.concatenate([actions, values + n_actions], axis=1)
    sources = np.zeros((colors**colors, n_actions + size), np.uint16)
    for order in permutations(range(colors)):
        line = sources[sum(color * colors**place for place, color in enumerate(order))]
        line[:] = plain
        line[named] = plain[named[list(order)]]

    active = np.arange(colors)[:, None] + places["active_color"][0]
    copies = [[rules.kinds[kind].copies for kind in row] for row in kinds]
    arrays = (
        np.concatenate([active, kinds + places["hand"][0]], axis=1).astype(np.uint16),
        np.concatenate([np.full((colors, 1), _ACTIVE), copies], axis=1).astype(np.float32),
        values.astype(np.uint16),
        sources,
    )
    for array in arrays:
        array.setflags(write=False)
    return ColorTables(*arrays, n_actions)


@kernel
def _tells_apart(tables, observation, color, other):
    """Whether `color` stands before `other` by the first value in which they differ."""
    for j in range(tables.values.shape[1]):
        one, two = observation[tables.values[color, j]], observation[tables.values[other, j]]
        if one != two:
            return one > two
    return False


@inlined
def write_order(tables, observation, order):
    """Write the colour that stands in each place of the view: ``order`` int64, ``(colors,)``."""
    scale = np.float32(1.0 / COMPACT_SCALE if observation.itemsize == 1 else 1.0)
    colors = order.shape[0]
    for color in range(colors):
        weight = np.float32(0.0)
        for j in range(tables.ranked.shape[1]):
            weight += observation[tables.ranked[color, j]] * tables.weights[color, j]
        rank = np.int64(weight * scale + 0.5)
        # While they are sorted, a colour's rank stands above its number, 0 to 3.
        place = color
        while place > 0:
            other, other_rank = order[place - 1] & 3, order[place - 1] >> 2
            if rank < other_rank:
                break
            if rank == other_rank and not _tells_apart(tables, observation, color, other):
                break
            order[place] = order[place - 1]
            place -= 1
        order[place] = rank << 2 | color
    for place in range(colors):
        order[place] &= 3


@inlined
def _digits(order):
    """An order read as the digits of a number, the last place first."""
    number = 0
    for place in range(len(order) - 1, -1, -1):
        number = number * len(order) + order[place]
    return number


@inlined
def write_view(tables, observation, mask, order, seen, allowed):
    """Write the view of one observation and its mask into ``seen`` and ``allowed``.

    ``order`` int64, ``(colors,)``, is written as well; the rest as in `to_view`.
    """
    write_order(tables, observation, order)
    sources, n_actions = tables.sources[_digits(order)], len(mask)
    for place in range(n_actions):
        allowed[place] = mask[sources[place]]
    sources = sources[n_actions:]
    for place in range(len(seen)):
        seen[place] = observation[sources[place]]


@inlined
def plain_action(tables, order, action):
    """What an action of the view is in the game; ``order`` is the one that `write_view` wrote."""
    return tables.sources[_digits(order), action]


@kernel
def unowned_tables(tables):
    """`kernel.unowned` for all tables."""
    return ColorTables(
        unowned(tables.ranked),
        unowned(tables.weights),
        unowned(tables.values),
        unowned(tables.sources),
        tables.n_actions,
    )


def to_view(
    tables: ColorTables, observations: np.ndarray, masks: np.ndarray, orders: np.ndarray
) -> None:
    """Turn plain observations and masks into the view, in place.

    Parameters
    ----------
    observations : float32 or uint8 array, shape ``(m, size)``, changed
    masks : int8 array, shape ``(m, n_actions)``, changed
    orders : int64 array, shape ``(m, colors)``, written
        The colour in each place of the view, which `plain_actions` needs.

    Raises
    ------
    ValueError
        For an array of another form; nothing has changed.
    """
    count = len(orders) if np.ndim(orders) else 0
    size = tables.sources.shape[1] - tables.n_actions
    check_buffer("observations", observations, (count, size), np.float32, np.uint8)
    check_buffer("masks", masks, (count, tables.n_actions), np.int8)
    check_buffer("orders", orders, (count, len(tables.ranked)), np.int64)
    check_apart({"observations": observations, "masks": masks, "orders": orders}, {})
    if count:
        _to_view(tables, observations, masks, orders)


def plain_actions(
    tables: ColorTables, orders: np.ndarray, actions: np.ndarray, plain: np.ndarray
) -> None:
    """Write what actions of the view are in the game into ``plain``.

    Parameters
    ----------
    orders : int64 array, shape ``(m, colors)``
        As `to_view` writes them.
    actions : int64 array, shape ``(m,)``
    plain : int64 array, shape ``(m,)``, written; it may be `actions`

    Raises
    ------
    ValueError
        For an array of another form, an action that does not exist, or an order that is none.
    """
    _plain_actions(tables, *_checked(tables, orders, actions, plain), plain)


def view_actions(
    tables: ColorTables, orders: np.ndarray, actions: np.ndarray, viewed: np.ndarray
) -> None:
    """Write what actions of the game are in the view into ``viewed``; as `plain_actions`."""
    _view_actions(tables, *_checked(tables, orders, actions, viewed), viewed)


def _checked(
    tables: ColorTables, orders: np.ndarray, actions: np.ndarray, written: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    actions = as_integers("actions", actions)
    check_buffer("actions", written, actions.shape, np.int64)
    shape = len(actions), len(tables.ranked)
    if not isinstance(orders, np.ndarray) or orders.shape != shape or orders.dtype != np.int64:
        raise ValueError(
            f"orders are {getattr(orders, 'dtype', type(orders))} of shape "
            f"{getattr(orders, 'shape', '?')}; expected int64 of shape {shape}"
        )
    check_apart({"actions": written}, {"orders": orders})
    orders = np.require(orders, requirements=["C", "A", "W"])
    wrong = int(_first_wrong(tables, orders, actions))
    if wrong >= 0:
        raise ValueError(
            f"action {actions[wrong]} under the order {orders[wrong].tolist()} does not exist; "
            f"expected 0 to {tables.n_actions - 1}, and each colour once"
        )
    return orders, actions


@kernel
def _first_wrong(tables, orders, actions):
    """The first action that does not exist or whose order names not each colour once, or -1."""
    colors = orders.shape[1]
    for i in range(actions.shape[0]):
        named = 0
        for place in range(colors):
            color = orders[i, place]
            if color < 0 or color >= colors:
                return i
            named |= 1 << color
        if named != (1 << colors) - 1 or actions[i] < 0 or actions[i] >= tables.n_actions:
            return i
    return -1


@kernel
def _to_view(tables, observations, masks, orders):
    tables = unowned_tables(tables)
    plain, legal = np.empty_like(observations[0]), np.empty_like(masks[0])
    plain_sight, legal_sight = unowned(plain), unowned(legal)
    for i in range(orders.shape[0]):
        observation, mask = unowned(observations)[i], unowned(masks)[i]
        for place in range(observation.shape[0]):
            plain_sight[place] = observation[place]
        for place in range(mask.shape[0]):
            legal_sight[place] = mask[place]
        write_view(tables, plain_sight, legal_sight, unowned(orders)[i], observation, mask)


@kernel
def _plain_actions(tables, orders, actions, plain):
    tables = unowned_tables(tables)
    for i in range(actions.shape[0]):
        plain[i] = plain_action(tables, unowned(orders)[i], actions[i])


@kernel
def _view_actions(tables, orders, actions, viewed):
    tables = unowned_tables(tables)
    places = np.empty(orders.shape[1], np.int64)
    for i in range(actions.shape[0]):
        for place in range(orders.shape[1]):
            places[orders[i, place]] = place
        viewed[i] = tables.sources[_digits(unowned(places)), actions[i]]
