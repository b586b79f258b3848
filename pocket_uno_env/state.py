"""The row: one game as one record of a NumPy structured array.

Everything that affects the future is in it, and nothing else: copying a row clones a game,
writing its bytes saves it.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from .cards import CARD_WORDS, MAX_CARDS
from .kernel import JIT
from .rules import MAX_SEATS

NO_SEAT = 255
NO_CARD = 255


class Phase(IntEnum):
    """Which kind of decision is awaited."""

    PLAY = 0
    DRAWN = 1
    UNO = 2
    CATCH = 3
    CHALLENGE = 4
    GIVE = 5
    NAME = 6
    STACK = 7
    SWAP = 8
    JUMP = 9
    OVER = 10


BASE_PHASES = 7
"""The first phases are all there are without house rules."""


class End(IntEnum):
    """Why a round ended."""

    RUNNING = 0
    OUT = 1
    BLOCKED = 2
    TRUNCATED = 3


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
DRAW_EFFECTS = {
    Effect.DRAW_ONE: 1,
    Effect.DRAW_TWO: 2,
    Effect.WILD_DRAW_TWO: 2,
    Effect.WILD_DRAW_FOUR: 4,
}
"""How many cards next draws."""

MAX_STACK = 2**16 - 1
"""Where ``stack`` stops. No deck has so many cards: whoever must draw them draws all there are."""

CARDS = (MAX_SEATS, CARD_WORDS)

ROW = np.dtype(
    [
        ("rng", np.uint64),
        ("policy_rng", np.uint64),
        ("discard_kinds", np.uint64),
        ("decisions", np.int32),
        ("round_index", np.int32),
        ("out", np.uint16),
        ("stack", np.uint16),
        ("hand_size", np.uint8, (MAX_SEATS,)),
        ("draw_count", np.uint8),
        ("discard_count", np.uint8),
        ("num_players", np.uint8),
        ("players_in", np.uint8),
        ("dealer", np.uint8),
        ("direction", np.int8),
        ("phase", np.uint8),
        ("to_act", np.uint8),
        ("actor", np.uint8),
        ("active_color", np.uint8),
        ("top", np.uint8),
        ("color_before", np.uint8),
        ("top_before", np.uint8),
        ("drawn_card", np.uint8),
        ("passes", np.uint8),
        ("guilty", np.bool_),
        ("caught", np.bool_),
        ("end", np.uint8),
        ("hand_kinds", np.uint64, (MAX_SEATS,)),
        ("hands", np.uint64, CARDS),
        ("known", np.uint64, CARDS),
        ("shown", np.uint64, CARDS),
        ("discards", np.uint64, (CARD_WORDS,)),
        ("off_color", np.uint8, (MAX_SEATS, 4)),
        ("draw_pile", np.uint8, (MAX_CARDS,)),
        ("discard_pile", np.uint8, (MAX_CARDS,)),
        ("scores", np.int32, (MAX_SEATS,)),
        ("points", np.int32, (MAX_SEATS,)),
        ("winner", np.uint8),
        ("unused", np.uint8, (7,)),
    ],
    align=True,
)
"""One game, 1,024 bytes; what every decision reads or writes is in the first 64.

``hands[seat]`` and ``discards`` are the physical cards in a hand and on the discard pile, as bit
sets (`bits.has_card`); ``hand_kinds[seat]`` and ``discard_kinds`` repeat them as bit sets of kinds,
and ``top`` is the kind on top. Both piles are stored with the top card last.

``known[seat]`` are the cards in other hands of which the seat knows for certain where they are;
``shown[seat]`` those of them of which the holder knows that. ``off_color[seat, color]`` counts the
cards in a hand that, by what everyone saw, are not of that colour (see `information`).

``actor`` is the seat whose play is being resolved; ``color_before``, ``top_before`` (a kind) and
``guilty`` keep the pile before that play and whether a challenge would succeed, ``caught`` whether
its UNO penalty was drawn. ``stack`` is how many cards wait to be drawn, up to `MAX_STACK`. ``out``
has a bit for each seat that a match has eliminated, ``players_in`` counts the others.

``rng`` is the game's generator, ``policy_rng`` the scripted agents'. ``unused`` fills the record up
to whole cache lines.
"""


def new_rows(n: int) -> Any:
    """`n` zeroed rows, shape ``(n,)``, ready for `deal`."""
    return as_rows(np.zeros(n, ROW))


def as_rows(rows: np.ndarray) -> Any:
    """The same memory in the form kernels want: attribute access when they are not compiled."""
    return rows if JIT else rows.view(np.recarray)


def as_record(rows: np.ndarray) -> Any:
    """The first record of a structured array, with attribute access for Python code."""
    return rows.view(np.recarray)[0]
