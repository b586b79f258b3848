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
from typing import NamedTuple

import numpy as np

from .actions import catalogue
from .kernel import kernel
from .observation import layout
from .rules import NO_COLOR, Rules

PER_KIND_BLOCKS = ("hand", "discards", "known", "shown", "drawn")
PER_COLOR_BLOCKS = ("active_color", "color_before", "off_color")


class ColorTables(NamedTuple):
    """Where the colours are in the observation and among the actions; all int64.

    Attributes
    ----------
    active : shape ``(colors,)``
        Place of the block ``active_color``.
    hand, copies : shape ``(colors, symbols)``
        Places of the own cards by colour, and how many cards a full share stands for.
    values : shape ``(colors, v)``
        Places of all values that belong to a colour; a column holds the same value of each.
    actions : shape ``(colors, a)``
        Action ids that name a colour; a column holds the same action in each.
    action_color, action_column : shape ``(n_actions,)``
        Where an action stands in `actions`, or -1.
    """

    active: np.ndarray
    hand: np.ndarray
    copies: np.ndarray
    values: np.ndarray
    actions: np.ndarray
    action_color: np.ndarray
    action_column: np.ndarray


@lru_cache(maxsize=64)
def color_tables(rules: Rules, num_players: int) -> ColorTables:
    """The tables for `rules` and `num_players`."""
    blocks = {block.name: block for block in layout(rules, num_players)}
    n_kinds, colors = len(rules.kinds), rules.colors
    kinds = np.array(
        [
            [k for k, kind in enumerate(rules.kinds) if kind.color == color]
            for color in range(colors)
        ]
    )
    columns = []
    for name in PER_KIND_BLOCKS:
        block = blocks[name]
        columns += [kinds + at for at in range(block.start, block.start + block.length, n_kinds)]
    for name in PER_COLOR_BLOCKS:
        block = blocks[name]
        places = np.arange(block.start, block.start + block.length)
        columns.append(places.reshape(-1, colors).T)

    by_color: list[list[int]] = [[] for _ in range(colors)]
    for index, action in enumerate(catalogue(rules).actions):
        color = action.color
        if action.kind < kinds.size:
            color = int(np.argwhere(kinds == action.kind)[0, 0])
        if color != NO_COLOR:
            by_color[color].append(index)
    actions = np.array(by_color)
    action_color = np.full(len(catalogue(rules)), -1)
    action_column = np.full(len(catalogue(rules)), -1)
    for color in range(colors):
        action_color[actions[color]] = color
        action_column[actions[color]] = np.arange(actions.shape[1])

    active = np.arange(colors) + blocks["active_color"].start
    copies = np.array([[rules.kinds[k].copies for k in row] for row in kinds])
    return ColorTables(
        active,
        kinds + blocks["hand"].start,
        copies,
        np.concatenate(columns, axis=1),
        actions,
        action_color,
        action_column,
    )


@kernel
def _comes_first(tables, observation, color, other):
    """Whether `color` stands before `other` in the view; False if nothing tells them apart."""
    difference = observation[tables.active[color]] - observation[tables.active[other]]
    if difference == 0:
        for j in range(tables.hand.shape[1]):
            difference += observation[tables.hand[color, j]] * tables.copies[color, j]
            difference -= observation[tables.hand[other, j]] * tables.copies[other, j]
        difference = np.rint(difference)
    j = 0
    while difference == 0 and j < tables.values.shape[1]:
        difference = observation[tables.values[color, j]] - observation[tables.values[other, j]]
        j += 1
    return difference > 0


@kernel
def write_order(tables, observation, order):
    """Write the colour that stands in each place of the view: ``order`` int64, ``(colors,)``."""
    for color in range(order.shape[0]):
        place = color
        while place > 0 and _comes_first(tables, observation, color, order[place - 1]):
            order[place] = order[place - 1]
            place -= 1
        order[place] = color


@kernel
def _rename(values, places, order, kept):
    """Reorder ``values[places]`` in place, column by column."""
    for j in range(places.shape[1]):
        for color in range(order.shape[0]):
            kept[color] = values[places[color, j]]
        for color in range(order.shape[0]):
            values[places[color, j]] = kept[order[color]]


@kernel
def to_view(tables, observations, masks, orders):
    """Turn plain observations and masks into the view, in place.

    Parameters
    ----------
    observations : float32 array, shape ``(m, size)``, changed
    masks : int8 array, shape ``(m, n_actions)``, changed
    orders : int64 array, shape ``(m, colors)``, written
        The colour in each place of the view, which `plain_actions` needs.
    """
    values = np.empty(orders.shape[1], np.float32)
    flags = np.empty(orders.shape[1], np.int8)
    for i in range(orders.shape[0]):
        write_order(tables, observations[i], orders[i])
        _rename(observations[i], tables.values, orders[i], values)
        _rename(masks[i], tables.actions, orders[i], flags)


@kernel
def plain_actions(tables, orders, actions, plain):
    """Write what actions of the view are in the game into ``plain``; all int64, ``(m,)``."""
    for i in range(actions.shape[0]):
        action = actions[i]
        place = tables.action_color[action]
        if place >= 0:
            action = tables.actions[orders[i, place], tables.action_column[action]]
        plain[i] = action


@kernel
def view_actions(tables, orders, actions, viewed):
    """Write what actions of the game are in the view into ``viewed``; all int64, ``(m,)``."""
    for i in range(actions.shape[0]):
        action = actions[i]
        color = tables.action_color[action]
        if color >= 0:
            place = 0
            while orders[i, place] != color:
                place += 1
            action = tables.actions[place, tables.action_column[action]]
        viewed[i] = action
