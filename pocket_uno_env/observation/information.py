"""What a seat may know. Encoders and scripted policies read a game only through this module.

A seat knows its own hand, everything on the table (`PUBLIC_FIELDS`), and which cards it has seen
in other hands: those a challenge showed it and those it gave or that were given away by it. What
it knows for certain stays known until the card is played, or might have been given away unseen.
Guilt, the draw pile's order and the other hands are in the row, but not in here.
"""

from __future__ import annotations

import numpy as np

from pocket_uno_env.compiled.bits import EMPTY, bit, first, has_card, size, without_first
from pocket_uno_env.compiled.kernel import inlined
from pocket_uno_env.engine.piles import copies_in
from pocket_uno_env.engine.transition import UNO_PENALTY
from pocket_uno_env.rules.cards import CARD_WORDS, MAX_CARDS
from pocket_uno_env.rules.phases import Phase

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
        "top",
        "top_before",
    }
)
"""The fields of a row that lie open on the table.

``off_color[seat, color]``: how many cards of a hand were not of that colour when the seat last
failed to follow it (it drew instead, or was found innocent of a challenge), less the cards shown
or given since. Evidence, not proof: a seat may draw with a playable card in hand.
"""

IN_DISCARD_PILE = 253
UNSEEN = 252
"""Where a card is that the seat cannot place: in the draw pile or unknown in another hand."""


@inlined
def own_hand(row, seat):
    """The kinds in the seat's own hand, as a bit set."""
    return row.hand_kinds[seat]


@inlined
def place_of(row, seat, card):
    """Where `seat` knows a physical card to be: a seat, `IN_DISCARD_PILE` or `UNSEEN`."""
    if has_card(row.discards, card):
        return IN_DISCARD_PILE
    for other in range(row.num_players):
        if has_card(row.hands[other], card) and (other == seat or has_card(row.known[seat], card)):
            return other
    return UNSEEN


@inlined
def discards(row):
    """The kinds in the discard pile, as a bit set."""
    return row.discard_kinds


@inlined
def discarded_count(rules, row, kind):
    """How many cards of a kind are in the discard pile."""
    return copies_in(rules, row.discards, kind)


@inlined
def own_count(rules, row, seat, kind):
    """How many cards of a kind the seat holds."""
    return copies_in(rules, row.hands[seat], kind)


@inlined
def own_cards(row, seat):
    """The physical cards in the seat's own hand, as a set."""
    return row.hands[seat]


@inlined
def discarded_cards(row):
    """The physical cards in the discard pile, as a set."""
    return row.discards


@inlined
def known_cards(row, seat, other):
    """The physical cards that `seat` knows in the hand of `other`, as a set."""
    return _in_both(row.hands[other], row.known[seat])


@inlined
def placed_cards(row, seat):
    """The physical cards that the seat can place: its own, the discarded, those it knows."""
    own, known = row.hands[seat], row.known[seat]
    return own[0] | known[0] | row.discards[0], own[1] | known[1] | row.discards[1]


@inlined
def shown_cards(row, seat, other):
    """The seat's own physical cards of which it knows that `other` knows them, as a set."""
    return _in_both(row.hands[seat], row.shown[other])


@inlined
def _in_both(cards, others):
    """The cards that are in both of two sets, as a tuple of words."""
    return cards[0] & others[0], cards[1] & others[1]


@inlined
def kinds_of(rules, cards):
    """The kinds of a set of physical cards, as a bit set."""
    # The first copy of a kind has the kind's number; the further ones are looked up.
    further = cards[0]
    kinds = further & (bit(rules.n_kinds) - np.uint64(1))
    further ^= kinds
    for word in range(CARD_WORDS):
        if word > 0:
            further = cards[word]
        while further != EMPTY:
            kinds |= bit(rules.card_kind[64 * word + first(further)])
            further = without_first(further)
    return kinds


@inlined
def own_drawn_kind(rules, row, seat):
    """The kind that the seat has just drawn and may play, as a bit set; empty if there is none."""
    mine = np.uint64((row.phase == Phase.DRAWN) & (row.to_act == seat))
    return bit(rules.card_kind[row.drawn_card & (MAX_CARDS - 1)]) * mine


@inlined
def held(rules, row, seat, kinds):
    """How many of the seat's own cards are of the given kinds (a bit set)."""
    kinds &= row.hand_kinds[seat]
    several = kinds & rules.multiple_kinds
    count = size(kinds ^ several)
    while several != EMPTY:
        count += own_count(rules, row, seat, first(several))
        several = without_first(several)
    return count


@inlined
def judged_size(row):
    """How many cards the hand in question held when it is judged: before its UNO penalty.

    Precondition: the actor's card may be challenged. Everyone saw whether the actor was caught.
    """
    cards = np.int64(row.hand_size[row.actor])
    return cards - UNO_PENALTY if row.caught else cards
