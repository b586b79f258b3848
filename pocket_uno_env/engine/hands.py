"""Whole hands: their points, and how they change seats (docs/rules.md, sections 6 and 11)."""

from __future__ import annotations

import numpy as np

from pocket_uno_env.compiled.bits import EMPTY, first, without_first
from pocket_uno_env.compiled.kernel import inlined, kernel
from pocket_uno_env.rules.cards import CARD_WORDS

from .knowledge import passed_hand
from .piles import copies_in, seat_after


@inlined
def points_held(rules, row, seat):
    """What the cards in a hand are worth together."""
    points = 0
    kinds = row.hand_kinds[seat]
    while kinds != EMPTY:
        kind = first(kinds)
        kinds = without_first(kinds)
        points += rules.kind_points[kind] * copies_in(rules, row.hands[seat], kind)
    return points


@kernel
def swap_hands(rules, row, one, other):
    """Two seats swap hands."""
    passed_hand(row, one, other)
    passed_hand(row, other, one)
    for word in range(CARD_WORDS):
        cards = row.hands[one, word]
        row.hands[one, word] = row.hands[other, word]
        row.hands[other, word] = cards
    kinds, size = row.hand_kinds[one], row.hand_size[one]
    row.hand_kinds[one], row.hand_size[one] = row.hand_kinds[other], row.hand_size[other]
    row.hand_kinds[other], row.hand_size[other] = kinds, size
    for color in range(rules.n_colors):
        off = row.off_color[one, color]
        row.off_color[one, color] = row.off_color[other, color]
        row.off_color[other, color] = off


@kernel
def rotate_hands(rules, row):
    """Every seat passes its hand to the next, from the actor on."""
    seat = np.int64(row.actor)
    for _ in range(row.players_in):
        passed_hand(row, seat, seat_after(row, seat))
        seat = seat_after(row, seat)
    cards = row.hands[seat].copy()
    kinds, size, off = row.hand_kinds[seat], row.hand_size[seat], row.off_color[seat].copy()
    for _ in range(row.players_in):
        seat = seat_after(row, seat)
        next_cards = row.hands[seat].copy()
        next_kinds, next_size = row.hand_kinds[seat], row.hand_size[seat]
        next_off = row.off_color[seat].copy()
        row.hands[seat, :] = cards
        row.hand_kinds[seat], row.hand_size[seat] = kinds, size
        row.off_color[seat, :] = off
        cards, kinds, size, off = next_cards, next_kinds, next_size, next_off
