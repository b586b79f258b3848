"""Who learns what from what happens: the fields ``known``, ``shown`` and ``off_color`` of a row.

``known`` and ``shown`` are certain knowledge of single cards in other hands; ``off_color`` is what
everybody can conclude from a seat that did not follow a colour. No rule depends on any of this:
encoders, search and agents read it through `information`.
"""

from __future__ import annotations

import numpy as np

from pocket_uno_env.compiled.bits import EMPTY, add_card, first, has_card, remove_card
from pocket_uno_env.compiled.kernel import inlined
from pocket_uno_env.rules.cards import CARD_WORDS
from pocket_uno_env.rules.limits import NO_COLOR

from .state import NO_CARD


@inlined
def saw_hand(row, observer, seat):
    """`observer` is shown a whole hand, and its holder knows that."""
    for word in range(CARD_WORDS):
        row.known[observer, word] |= row.hands[seat, word]
        row.shown[observer, word] |= row.hands[seat, word]


@inlined
def lost_sight(row, card):
    """A card leaves a hand: nobody knows it there any more."""
    for seat in range(row.num_players):
        remove_card(row.known[seat], card)
        remove_card(row.shown[seat], card)


@inlined
def gave_unseen(rules, row, giver, receiver, card):
    """A card has gone from a hand to another; only these two know which.

    The others don't know what left: nothing in the giver's hand is certain for them any more.
    """
    add_card(row.known[giver], card)
    add_card(row.shown[giver], card)
    for other in range(row.num_players):
        if other != receiver:
            for word in range(CARD_WORDS):
                row.known[other, word] &= ~row.hands[giver, word]
                row.shown[other, word] &= ~row.hands[giver, word]
    for color in range(rules.n_colors):
        off = np.int64(row.off_color[giver, color])
        row.off_color[giver, color] = max(off - 1, 0)


@inlined
def passed_hand(row, giver, receiver):
    """A whole hand is about to change seats: who had it knows where it is then.

    The receiver cannot tell which of its new cards third seats had seen.
    """
    for word in range(CARD_WORDS):
        cards = row.hands[giver, word]
        for seat in range(row.num_players):
            row.shown[seat, word] &= ~cards
        row.known[giver, word] |= cards
        row.shown[giver, word] |= cards
        row.known[receiver, word] &= ~cards


@inlined
def failed_to_follow(row, seat, cards):
    """A seat drew instead of following the active colour: so many of its cards seem off it."""
    row.off_color[seat, row.active_color] = cards


@inlined
def found_innocent(row, seat, cards):
    """Everybody sees a challenge fail: so many cards of the hand had not the colour before."""
    color = row.color_before
    if color != NO_COLOR:
        row.off_color[seat, color] = max(cards, np.int64(row.off_color[seat, color]))


@inlined
def played_openly(rules, row, seat, kind):
    """A card of this kind is about to be played: one less that is off each other colour."""
    left = row.hand_size[seat] - 1
    for color in range(rules.n_colors):
        off = np.int64(row.off_color[seat, color])
        if rules.kind_color[kind] != color:
            off -= 1
        row.off_color[seat, color] = min(max(off, 0), left)


@inlined
def pick_copy(rules, row, seat, kind):
    """Which physical copy of a kind leaves a hand: the first, whose place in memories it takes.

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
