"""Designs of an evaluation: the line-ups that are played.

A *line-up* says which agent sits at which place of a table, clockwise. The places rotate through
the seats, so that every agent plays every deal from every seat (see `arena`).
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence

DESIGNS = {
    "auto": "as many agents as seats: one table, as given; else a round robin",
    "table": "one table, the agents as given",
    "round-robin": "everyone against everyone; of more than two players one against a table of the "
    "other",
    "gauntlet": "the first agent against each of the others",
    "rivals": "the first two agents, each against each of the others",
    "mixed": "every group of agents at one table, in many orders; meant for more than two players",
}
"""The designs, and what they mean."""
MAX_ORDERS = 24
"""The most orders round the table in which a group is seated."""
MAX_LINE_UPS = 5000
"""Of one design."""

Lineup = tuple[int, ...]


class DesignError(ValueError):
    """Agents that do not fit the design; the message says why."""


def check_design(design: str) -> None:
    """Raise DesignError unless it is one of `DESIGNS`."""
    if design not in DESIGNS:
        raise DesignError(f"design is {design!r}; expected one of {', '.join(DESIGNS)}")


def line_ups(numbers: Sequence[int], num_players: int, design: str = "auto") -> list[Lineup]:
    """The line-ups of a design for a table of `num_players`.

    Parameters
    ----------
    numbers : sequence of int
        The agents, by number. A number may come twice, for two copies of one agent at a single
        table; other designs ignore repetitions.
    design : str
        One of `DESIGNS`. A single agent always plays against itself.

    Raises
    ------
    DesignError
        For an unknown design, agents that don't fit it, or a design of too many line-ups.
    """
    check_design(design)
    different = list(dict.fromkeys(numbers))
    if design == "auto":
        design = "table" if len(numbers) == num_players else "round-robin"
    if design == "table" and len(numbers) == num_players:
        return [tuple(numbers)]
    if len(different) == 1:
        return [(different[0],) * num_players]
    if design == "table":
        raise DesignError(
            f"{len(numbers)} agents for a table of {num_players}; the design 'table' wants one for "
            "each seat"
        )
    if design == "gauntlet":
        return [_one_against(different[0], other, num_players) for other in different[1:]]
    if design == "rivals":
        if len(different) < 3:
            raise DesignError(
                f"{len(different)} different agents for the design 'rivals'; expected two, and one "
                "or more to play against"
            )
        return [
            _one_against(rival, other, num_players)
            for other in different[2:]
            for rival in different[:2]
        ]
    if design == "mixed" and num_players > 2:
        return _mixed(different, num_players)
    pairs = itertools.combinations if num_players == 2 else itertools.permutations
    return [_one_against(one, other, num_players) for one, other in pairs(different, 2)]


def _one_against(one: int, other: int, num_players: int) -> Lineup:
    return (one, *[other] * (num_players - 1))


def _mixed(different: list[int], num_players: int) -> list[Lineup]:
    """Every group of agents in many orders, with repetition where there are too few agents."""
    if len(different) >= num_players:
        groups = list(itertools.combinations(different, num_players))
    else:
        sets = itertools.combinations_with_replacement(different, num_players)
        groups = [group for group in sets if len(set(group)) > 1]
    if len(groups) > MAX_LINE_UPS:
        raise DesignError(
            f"{len(different)} agents make {len(groups)} different tables of {num_players}, more "
            f"than {MAX_LINE_UPS}; name fewer"
        )
    tables = [order for group in groups for order in _orders(group)]
    if len(tables) > MAX_LINE_UPS:
        raise DesignError(
            f"{len(different)} agents make {len(tables)} different tables of {num_players} with "
            f"all orders of sitting, more than {MAX_LINE_UPS}; name fewer"
        )
    return tables


def _orders(group: Lineup) -> list[Lineup]:
    """The different orders of a group round a table; `MAX_ORDERS` of them if there are more."""
    first, *rest = group
    if math.factorial(len(rest)) <= 5040:
        orders = {_canonical((first, *order)) for order in itertools.permutations(rest)}
        if len(orders) <= MAX_ORDERS:
            return sorted(orders)
    draw = random.Random(str(group))
    some: set[Lineup] = set()
    for _ in range(100 * MAX_ORDERS):  # of a group with many copies there may be fewer
        some.add(_canonical((first, *draw.sample(rest, len(rest)))))
        if len(some) == MAX_ORDERS:
            break
    return sorted(some)


def _canonical(order: Lineup) -> Lineup:
    """A representative of an order, the same for all its rotations."""
    return min(order[start:] + order[:start] for start in range(len(order)))
