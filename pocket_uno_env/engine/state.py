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
"""In place of a seat: there is none."""
NO_CARD = 255
"""In place of a physical card: there is none."""

MAX_STACK = 2**16 - 1
"""Where ``stack`` stops. No deck has so many cards: whoever must draw them draws all there are."""

CARDS = (MAX_SEATS, CARD_WORDS)

# A set of kinds is a uint64, bit k for kind k; a set of cards is CARD_WORDS of them (`bits`).
# Fields by seat have room for MAX_SEATS; the rest is 0. What every decision needs is in the
# first 64 bytes, one cache line.
ROW = np.dtype(
    [
        ("rng", np.uint64),  # state of the game's generator (`rng`)
        ("policy_rng", np.uint64),  # state of the scripted agents' generator
        ("discard_kinds", np.uint64),  # the kinds in the discard pile, a set of kinds
        ("decisions", np.int32),  # actions taken in this round
        ("round_index", np.int32),  # rounds dealt before this one in the match
        ("out", np.uint16),  # a bit for each seat that the match has eliminated
        ("stack", np.uint16),  # cards that wait to be drawn, up to MAX_STACK
        ("hand_size", np.uint8, (MAX_SEATS,)),  # by seat: cards in hand
        ("draw_count", np.uint8),  # cards in the draw pile
        ("discard_count", np.uint8),  # cards in the discard pile
        ("num_players", np.uint8),  # seats in the game
        ("players_in", np.uint8),  # those of them that are not out
        ("dealer", np.uint8),  # a seat, or NO_SEAT before the first deal
        ("direction", np.int8),  # of play: 1 to the left, -1 to the right
        ("phase", np.uint8),  # which decision is awaited, a Phase
        ("to_act", np.uint8),  # the seat that has to decide; NO_SEAT after the end
        ("actor", np.uint8),  # the seat whose play is being resolved; NO_SEAT before the first
        ("active_color", np.uint8),  # the colour to match; NO_COLOR before it is named
        ("top", np.uint8),  # the kind on top of the discard pile
        ("color_before", np.uint8),  # the active colour before the actor's play, or NO_COLOR
        ("top_before", np.uint8),  # the kind on top before the actor's play, or NO_KIND
        ("drawn_card", np.uint8),  # in Phase.DRAWN the card just drawn, else NO_CARD
        ("passes", np.uint8),  # draws in a row that found no card
        ("guilty", np.bool_),  # whether a challenge of the actor's play would succeed
        ("caught", np.bool_),  # whether the actor's UNO penalty was drawn
        ("end", np.uint8),  # why the round ended, an End; RUNNING before
        ("hand_kinds", np.uint64, (MAX_SEATS,)),  # by seat: the kinds in hand, a set of kinds
        ("hands", np.uint64, CARDS),  # by seat: the hand, a set of cards
        ("known", np.uint64, CARDS),  # by seat: the cards that it knows in other hands, a set
        ("shown", np.uint64, CARDS),  # those of them of which the holder knows that, a set
        ("discards", np.uint64, (CARD_WORDS,)),  # the discard pile, a set of cards
        # By seat and colour: cards of the hand that are not of the colour, by what everyone saw.
        ("off_color", np.uint8, (MAX_SEATS, 4)),
        ("draw_pile", np.uint8, (MAX_CARDS,)),  # the cards in order, top last (draw_count of them)
        ("discard_pile", np.uint8, (MAX_CARDS,)),  # the same (discard_count of them)
        ("scores", np.int32, (MAX_SEATS,)),  # by seat: points in the match, finished rounds
        ("points", np.int32, (MAX_SEATS,)),  # by seat: points in this round, 0 until it ends
        ("winner", np.uint8),  # of the round: a seat, or NO_SEAT
        ("unused", np.uint8, (7,)),  # fills the record up to whole cache lines
    ],
    align=True,
)
"""One game, 1,024 bytes; the fields are explained in the source."""


def new_rows(n: int) -> Any:
    """`n` zeroed rows, shape ``(n,)``, ready for `deal`."""
    return as_rows(np.zeros(n, ROW))
