"""What a seat may know. Encoders and scripted policies read a game only through this module.

A seat knows its own hand, everything on the table (`PUBLIC_FIELDS`), and which cards it has seen
in other hands: those a challenge showed it and those it gave or that were given away by it. What
it knows for certain stays known until the card is played, or might have been given away unseen.
Guilt, the draw pile's order and the other hands are in the row, but not in here.
"""

from __future__ import annotations

import numpy as np

from .bits import EMPTY, bit, first, without_first
from .engine import UNO_PENALTY
from .kernel import kernel
from .state import IN_DISCARD_PILE, Phase

PUBLIC_FIELDS = frozenset(
    {
        "active_color",
        "actor",
        "color_before",
        "dealer",
        "direction",
        "discard_count",
        "draw_count",
        "hand_size",
        "num_players",
        "off_color",
        "passes",
        "phase",
        "players_in",
        "scores",
        "stack",
        "to_act",
        "top_before",
    }
)
"""The fields of a row that lie open on the table.

``off_color[seat, color]``: how many cards of a hand were not of that colour when the seat last
failed to follow it (it drew instead, or was found innocent of a challenge), less the cards shown
or given since. Evidence, not proof: a seat may draw with a playable card in hand.
"""

UNSEEN = 252
"""Where a card is that the seat cannot place: in the draw pile or unknown in another hand."""


@kernel
def own_hand(row, seat):
    """The kinds in the seat's own hand, as a bit set."""
    return row.hand_kinds[seat]


@kernel
def place_of(row, seat, card):
    """Where `seat` knows a physical card to be: a seat, `IN_DISCARD_PILE` or `UNSEEN`."""
    place = row.holder[card]
    if place == seat or place == IN_DISCARD_PILE:
        return place
    if (row.known_by[card] >> seat) & 1:
        return place
    return UNSEEN


@kernel
def discards(row):
    """The kinds in the discard pile, as a bit set."""
    return row.discard_kinds


@kernel
def known_kinds(rules, row, seat, other):
    """The kinds of which `seat` knows at least one card in the hand of `other`, as a bit set."""
    known = EMPTY
    kinds = row.hand_kinds[other] & row.seen[seat]
    while kinds != EMPTY:
        kind = first(kinds)
        kinds = without_first(kinds)
        if known_count(rules, row, seat, other, kind) > 0:
            known |= bit(kind)
    return known


@kernel
def known_count(rules, row, seat, other, kind):
    """How many cards of a kind `seat` can place at `other`: a seat or `IN_DISCARD_PILE`."""
    count = 0
    card = np.int64(rules.first_card[kind])
    for copy in range(card, card + rules.copies[kind]):
        if place_of(row, seat, copy) == other:
            count += 1
    return count


@kernel
def shown_kinds(rules, row, seat, other):
    """The kinds of the seat's own cards of which it knows that `other` knows them."""
    shown = EMPTY
    kinds = row.hand_kinds[seat] & row.seen[other]
    while kinds != EMPTY:
        kind = first(kinds)
        kinds = without_first(kinds)
        if shown_count(rules, row, seat, other, kind) > 0:
            shown |= bit(kind)
    return shown


@kernel
def shown_count(rules, row, seat, other, kind):
    """How many of the seat's own cards of a kind it knows `other` to know."""
    count = 0
    card = np.int64(rules.first_card[kind])
    for copy in range(card, card + rules.copies[kind]):
        if row.holder[copy] == seat and (row.shown_to[copy] >> other) & 1:
            count += 1
    return count


@kernel
def own_drawn_kind(rules, row, seat):
    """The kind the seat has just drawn and may play, or -1."""
    if row.phase == Phase.DRAWN and row.to_act == seat:
        return np.int64(rules.card_kind[row.drawn_card])
    return -1


@kernel
def held(rules, row, seat, kinds):
    """How many of the seat's own cards are of the given kinds (a bit set)."""
    kinds &= row.hand_kinds[seat]
    count = 0
    while kinds != EMPTY:
        kind = first(kinds)
        kinds = without_first(kinds)
        card = np.int64(rules.first_card[kind])
        for copy in range(card, card + rules.copies[kind]):
            if row.holder[copy] == seat:
                count += 1
    return count


@kernel
def judged_size(row):
    """How many cards the hand in question held when it is judged: before its UNO penalty.

    Precondition: the actor's card may be challenged. Everyone saw whether the actor was caught.
    """
    cards = np.int64(row.hand_size[row.actor])
    return cards - UNO_PENALTY if row.caught else cards
