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
    _exchange(rules, row, one, other)


@kernel
def rotate_hands(rules, row):
    """Every seat passes its hand to the next, from the actor on."""
    actor = np.int64(row.actor)
    seat = actor
    for _ in range(row.players_in):
        passed_hand(row, seat, seat_after(row, seat))
        seat = seat_after(row, seat)
    # At each step the actor holds the hand that the next seat will get.
    seat = seat_after(row, actor)
    while seat != actor:
        _exchange(rules, row, actor, seat)
        seat = seat_after(row, seat)


@kernel
def _exchange(rules, row, one, other):
    """Exchange what is written of two hands, but for who knows their cards."""
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
