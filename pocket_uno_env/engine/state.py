"""The row: one game as one record of a NumPy structured array.

Everything that affects the future is in it, and nothing else: copying a row clones a game,
writing its bytes saves it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pocket_uno_env.compiled.kernel import as_rows
from pocket_uno_env.rules.cards import CARD_WORDS, MAX_CARDS
from pocket_uno_env.rules.limits import MAX_SEATS

NO_SEAT = 255
NO_CARD = 255


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
