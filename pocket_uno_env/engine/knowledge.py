"""Knowledge."""

from __future__ import annotations

import numpy as np

from pocket_uno_env.compiled.bits import (
    EMPTY,
    first,
    has_card,
    remove_card,
)
from pocket_uno_env.compiled.kernel import inlined
from pocket_uno_env.rules.cards import CARD_WORDS

from .state import NO_CARD


@inlined
def _pick(rules, row, seat, kind):
    """Which physical copy of a kind leaves a hand openly.

    Nobody can tell copies apart, so whoever knew of one in the hand now knows of one less, and the
    holder counts on it for one less: the copy that leaves takes a mark from a twin where it has
    none itself.
    """
    if rules.copies[kind] == 1:
        return np.int64(kind)
    picked = _first_card(rules, row.hands[seat], row.hands[seat], kind)
    for other in range(row.num_players):
        _take_mark(rules, row.known[other], row.hands[seat], picked, kind)
        _take_mark(rules, row.shown[other], row.hands[seat], picked, kind)
    return picked


@inlined
def _take_mark(rules, marks, hand, picked, kind):
    if not has_card(marks, picked):
        twin = _first_card(rules, hand, marks, kind)
        if twin != NO_CARD:
            remove_card(marks, twin)


@inlined
def _first_card(rules, cards, others, kind):
    """The first copy of a kind that is in both of two sets of cards, or `NO_CARD`."""
    for word in range(CARD_WORDS):
        common = cards[word] & others[word] & rules.kind_cards[kind, word]
        if common != EMPTY:
            return 64 * word + first(common)
    return NO_CARD


@inlined
def _play_evidence(rules, row, seat, kind):
    """A card from the hand was shown: one less that is known to be off each other colour."""
    left = row.hand_size[seat] - 1
    for color in range(rules.n_colors):
        off = np.int64(row.off_color[seat, color])
        if rules.kind_color[kind] != color:
            off -= 1
        row.off_color[seat, color] = min(max(off, 0), left)
