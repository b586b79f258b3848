"""Card counting: what the unseen cards say about another hand.

Everything here follows from what a seat may know: the cards that it cannot place, the sizes of the
hands, and how far a hand was seen to lack a colour (``off_color``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pocket_uno_env.compiled.bits import EMPTY, bit, first, size, without_first
from pocket_uno_env.compiled.kernel import inlined, kernel
from pocket_uno_env.engine.piles import seat_after
from pocket_uno_env.observation.information import (
    judged_size,
    kinds_of,
    known_cards,
    own_count,
    own_hand,
    placed_cards,
)
from pocket_uno_env.rules.limits import NO_COLOR

from .turns import turn_keepers


class CardCount(NamedTuple):
    """The cards as one seat counts them; each set of kinds is a ``uint64``.

    Attributes
    ----------
    cards
        The cards that the seat cannot place, a set of cards as a tuple of words.
    hand, pairs
        The kinds in the seat's own hand, and those of which it holds two or more.
    known, n_known
        The kinds known to be in the one other hand that was asked about, and how many cards.
    """

    cards: Any
    hand: Any
    pairs: Any
    known: Any
    n_known: Any


class HandBelief(NamedTuple):
    """What another hand may hold.

    The probability that an unknown card of it is of an unseen kind is in proportion to the unseen
    copies of that kind times the likelihood of its colour.

    Attributes
    ----------
    colors : tuple of four floats
        Likelihoods from 0 to 1, by colour.
    wilds
        The likelihood of a wild times the unseen wilds.
    total
        The same product summed over all unseen cards.
    known, unknown
        The kinds known to be in the hand (a bit set), and how many cards of it are not known.
    """

    colors: Any
    wilds: Any
    total: Any
    known: Any
    unknown: Any


@inlined
def count_cards(rules, row, seat, other):
    """Count the cards from `seat`'s place, with those known to be in `other`'s hand."""
    placed = placed_cards(row, seat)
    cards = rules.cards[0] & ~placed[0], rules.cards[1] & ~placed[1]
    hand = own_hand(row, seat)
    pairs = EMPTY
    if size(hand) != row.hand_size[seat]:
        several = hand & rules.multiple_kinds
        while several != EMPTY:
            kind = first(several)
            several = without_first(several)
            if own_count(rules, row, seat, kind) > 1:
                pairs |= bit(kind)
    there = known_cards(row, seat, other)
    known, n_known = EMPTY, np.int64(0)
    if there[0] | there[1] != EMPTY:
        known, n_known = kinds_of(rules, there), size(there[0]) + size(there[1])
    return CardCount(cards, hand, pairs, known, n_known)


@inlined
def by_color(rules, cards):
    """How many of a set of cards (a tuple of words) are of each of the four colours."""
    n0 = size(cards[0] & rules.color_cards[0, 0])
    n1 = size(cards[0] & rules.color_cards[1, 0])
    n2 = size(cards[0] & rules.color_cards[2, 0])
    n3 = size(cards[0] & rules.color_cards[3, 0])
    if cards[1] != EMPTY:  # only in decks of more than 64 cards
        n0 += size(cards[1] & rules.color_cards[0, 1])
        n1 += size(cards[1] & rules.color_cards[1, 1])
        n2 += size(cards[1] & rules.color_cards[2, 1])
        n3 += size(cards[1] & rules.color_cards[3, 1])
    return n0, n1, n2, n3


@inlined
def of_color(rules, count, color):
    """The unseen cards of a colour, a set of cards."""
    cards = rules.color_cards[color]
    return count.cards[0] & cards[0], count.cards[1] & cards[1]


@inlined
def _likelihood(row, other, color, cards, trust):
    off = min(np.int64(row.off_color[other, color]), cards)
    return 1.0 - trust * off / max(cards, 1)


@inlined
def believe(rules, row, count, other, known, n_known, trust):
    """What `other` may hold, of which some kinds and cards are known.

    Parameters
    ----------
    trust : float
        How far to believe that a seat which drew could not play, from 0 to 1. Whoever lacked a
        colour lacked wilds too, or would have played them.
    """
    cards = np.int64(row.hand_size[other])
    c0 = _likelihood(row, other, 0, cards, trust)
    c1 = _likelihood(row, other, 1, cards, trust)
    c2 = _likelihood(row, other, 2, cards, trust)
    c3 = _likelihood(row, other, 3, cards, trust)
    n0, n1, n2, n3 = by_color(rules, count.cards)
    n_wilds = size(count.cards[0]) + size(count.cards[1]) - (n0 + n1 + n2 + n3)
    wilds = min(min(c0, c1), min(c2, c3)) * n_wilds
    total = wilds + c0 * n0 + c1 * n1 + c2 * n2 + c3 * n3
    return HandBelief((c0, c1, c2, c3), wilds, total, known, max(cards - n_known, 0))


@inlined
def probability_of_any(ways, total, cards):
    """The probability that one of `cards` cards is among `ways` out of `total`."""
    share = 1.0 - ways / total
    # The same product whatever the grouping; nobody can foresee how often a loop would run.
    none = share if cards & 1 else 1.0
    none = none * share * share if cards & 2 else none
    for _ in range(cards >> 2):
        none = none * share * share * share * share
    return 1.0 - none if total > 0.0 else 0.0


@inlined
def fitting(rules, count, top, color):
    """The unseen cards of a coloured top's symbol or of a color, a set of cards."""
    same, colored = rules.symbol_cards[top], rules.color_cards[color]
    return count.cards[0] & (same[0] | colored[0]), count.cards[1] & (same[1] | colored[1])


@inlined
def reply_probabilities(rules, count, belief, top, color, more, hand):
    """What to expect of a hand that has drawn `more` cards and moves on this top and color.

    Returns
    -------
    answer : float
        The probability that it can play.
    again : float
        The probability that the seat with the own `hand` then left (a bit set of kinds) can play
        next time, if nobody else moves: colour by colour, weighed by the ways to answer in it.
    """
    n0, n1, n2, n3 = by_color(rules, fitting(rules, count, top, color))
    w0, w1 = belief.colors[0] * n0, belief.colors[1] * n1
    w2, w3 = belief.colors[2] * n2, belief.colors[3] * n3
    ways = w0 + w1 + w2 + w3
    fits = rules.symbol_kinds[top] | rules.color_kinds[color]
    answer = probability_of_any(ways + belief.wilds, belief.total, belief.unknown + more)
    if belief.known & (fits | rules.wild_kinds) != EMPTY:
        answer = 1.0
    if hand & rules.wild_kinds != EMPTY:
        return answer, 1.0
    good = w0 if hand & rules.color_kinds[0] != EMPTY else 0.0
    good += w1 if hand & rules.color_kinds[1] != EMPTY else 0.0
    good += w2 if hand & rules.color_kinds[2] != EMPTY else 0.0
    good += w3 if hand & rules.color_kinds[3] != EMPTY else 0.0
    again = answer * good / ways
    again = again if ways > 0.0 else 0.0
    again += 1.0 - answer if hand & fits != EMPTY else 0.0
    return answer, again


@kernel
def guilt_probability(rules, row, trust):
    """The probability that challenging the wild draw just played succeeds.

    As if whoever plays a wild draw held any cards: it is not believed that they had no other play.
    `trust` as for `believe`.
    """
    actor = np.int64(row.actor)
    color, top = row.color_before, row.top_before
    count = count_cards(rules, row, np.int64(row.to_act), actor)
    belief = believe(rules, row, count, actor, count.known, count.n_known, trust)
    fits, cards, ways = EMPTY, (EMPTY, EMPTY), 0.0
    if color != NO_COLOR:
        fits, cards = rules.color_kinds[color], of_color(rules, count, color)
    if not rules.guilt_by_color_only:
        fits |= rules.symbol_kinds[top] | rules.wild_kinds
        same = rules.symbol_cards[top]
        cards = cards[0] | count.cards[0] & same[0], cards[1] | count.cards[1] & same[1]
        ways = belief.wilds
    if count.known & fits != EMPTY:
        return 1.0
    n0, n1, n2, n3 = by_color(rules, cards)
    ways = ways + belief.colors[0] * n0 + belief.colors[1] * n1
    ways = ways + belief.colors[2] * n2 + belief.colors[3] * n3
    return probability_of_any(ways, belief.total, max(judged_size(row) - count.n_known, 0))


class Context(NamedTuple):
    """What stays the same while a seat compares its plays.

    Attributes
    ----------
    seat, after
        The seat to act and the next one.
    count, theirs
        Its card count, and what it believes of the next seat's hand.
    actions, keepers
        The coloured kinds in its hand that have an effect, and those that keep the turn.
    """

    seat: Any
    after: Any
    count: Any
    theirs: Any
    actions: Any
    keepers: Any


@inlined
def context_of(rules, row, trust):
    """The context of the seat to act; `trust` as for `card_count.believe`."""
    seat = np.int64(row.to_act)
    after = seat_after(row, seat)
    count = count_cards(rules, row, seat, after)
    theirs = believe(rules, row, count, after, count.known, count.n_known, trust)
    actions = count.hand & rules.action_kinds
    return Context(seat, after, count, theirs, actions, turn_keepers(rules, row, seat, actions))


@inlined
def without(count, hand, kind):
    """The kinds left of a hand when one card is played."""
    return hand if count.pairs & bit(kind) != EMPTY else hand & ~bit(kind)


@inlined
def belief_of(rules, row, context, mover, trust):
    """What `mover` may hold: the context's belief, or one without the cards known."""
    if mover == context.after:
        return context.theirs
    return believe(rules, row, context.count, mover, EMPTY, 0, trust)
