"""The row: one game as one record of a NumPy structured array.

Everything that affects the future is in it, and nothing else: copying a row clones a game,
writing its bytes saves it.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from .cards import MAX_CARDS
from .kernel import JIT
from .rules import MAX_SEATS

NO_SEAT = 255
NO_CARD = 255
IN_DRAW_PILE = 254
IN_DISCARD_PILE = 253
"""Values of ``holder`` beside the seats."""


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

ROW = np.dtype(
    [
        ("rng", np.uint64),
        ("policy_rng", np.uint64),
        ("hand_kinds", np.uint64, (MAX_SEATS,)),
        ("discard_kinds", np.uint64),
        ("seen", np.uint64, (MAX_SEATS,)),
        ("scores", np.int32, (MAX_SEATS,)),
        ("points", np.int32, (MAX_SEATS,)),
        ("decisions", np.int32),
        ("round_index", np.int32),
        ("known_by", np.uint16, (MAX_CARDS,)),
        ("shown_to", np.uint16, (MAX_CARDS,)),
        ("out", np.uint16),
        ("holder", np.uint8, (MAX_CARDS,)),
        ("draw_pile", np.uint8, (MAX_CARDS,)),
        ("discard_pile", np.uint8, (MAX_CARDS,)),
        ("hand_size", np.uint8, (MAX_SEATS,)),
        ("off_color", np.uint8, (MAX_SEATS, 4)),
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
        ("color_before", np.uint8),
        ("top_before", np.uint8),
        ("drawn_card", np.uint8),
        ("passes", np.uint8),
        ("guilty", np.bool_),
        ("caught", np.bool_),
        ("stack", np.uint8),
        ("end", np.uint8),
        ("winner", np.uint8),
        ("unused", np.uint8, (1,)),
    ],
    align=True,
)
"""One game.

``holder[card]`` says where each physical card is: a seat, `IN_DRAW_PILE` or `IN_DISCARD_PILE`.
``hand_kinds[seat]`` and ``discard_kinds`` repeat hands and discard pile as bit sets of kinds. Both
piles are stored with the top card last.

``known_by[card]`` has a bit for every other seat that knows for certain that the holder holds it,
``shown_to[card]`` for those of them of whom the holder knows that. ``seen[seat]`` is a hint for
speed: the kinds of all cards that a seat has seen in other hands this round; what it still knows is
in ``known_by``. ``off_color[seat, color]`` counts the cards in a hand that, by what everyone saw,
are not of that colour (see `information`).

``actor`` is the seat whose play is being resolved; ``color_before``, ``top_before`` (a kind) and
``guilty`` keep the pile before that play and whether a challenge would succeed, ``caught`` whether
its UNO penalty was drawn. ``stack`` is how many cards wait to be drawn. ``out`` has a bit for each
seat that a match has eliminated, ``players_in`` counts the others.

``rng`` is the game's generator, ``policy_rng`` the scripted agents'. ``unused`` fills the record up
to a multiple of eight bytes: NumPy does not copy padding between fields, and a copy must be equal
byte for byte.
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
