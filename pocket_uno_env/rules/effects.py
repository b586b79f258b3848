"""What cards do when they are played: their effects, and how many cards they make others draw."""

from __future__ import annotations

from enum import IntEnum


class Effect(IntEnum):
    """What a card does besides its colour (docs/rules.md, section 4)."""

    NONE = 0
    SKIP = 1
    REVERSE = 2
    DRAW_ONE = 3
    DRAW_TWO = 4
    WILD_DIP = 5
    WILD_DRAW_TWO = 6
    WILD_DRAW_FOUR = 7
    SWAP = 8
    ROTATE = 9


EFFECTS = {
    "S": Effect.SKIP,
    "V": Effect.REVERSE,
    "+1": Effect.DRAW_ONE,
    "+2": Effect.DRAW_TWO,
    "WD": Effect.WILD_DIP,
    "W+2": Effect.WILD_DRAW_TWO,
    "W+4": Effect.WILD_DRAW_FOUR,
}
"""The effect of each symbol and wild; those that are missing have none."""
DRAWS = {"+1": 1, "+2": 2, "W+2": 2, "W+4": 4}
"""How many cards each draw card makes the next player draw."""
