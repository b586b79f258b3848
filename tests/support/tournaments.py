"""Plans of small tournaments."""

from __future__ import annotations

from dataclasses import replace

from pocket_uno_env.evaluation.line_ups import line_ups
from pocket_uno_env.evaluation.plan import Plan
from pocket_uno_env.rules.rules import Rules


def make(agents=("greedy", "random-uno", "noisy:0.2"), seats=2, deals=30, chunk=7, **fields):
    """A plan of a small tournament."""
    numbers = range(len(agents))
    plan = Plan(
        Rules.preset("pocket").to_dict(),
        seats,
        tuple(agents),
        tuple(line_ups(numbers, seats)),
        deals,
        5,
        "round",
        20_000,
        100,
        chunk,
    )
    return replace(plan, **fields)
