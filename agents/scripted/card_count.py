"""Card counting: what the unseen cards say about another hand.

Everything here follows from what a seat may know: the cards that it cannot place, the sizes of the
hands, and how far a hand was seen to lack a colour (``off_color``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pocket_uno_env.compiled.bits import EMPTY, bit, first, size, without_first
from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.engine.piles import seat_after
from pocket_uno_env.observation.information import (
    discarded_count,
    discards,
    judged_size,
    known_count,
    known_kinds,
    own_count,
    own_hand,
)
from pocket_uno_env.rules.limits import NO_COLOR

from .turns import action_kinds, turn_keepers

_2 = np.int64(2)
_4 = np.int64(4)


class CardCount(NamedTuple):
    """The cards as one seat counts them; each set of kinds is a ``uint64``.

    Attributes
    ----------
    ones, twos, fours
        A kind has ``ones + 2 * twos + 4 * fours`` unseen copies, exact up to seven.
    hand, pairs
        The kinds in the seat's own hand, and those of which it holds two or more.
    known, n_known
        The kinds known to be in the one other hand that was asked about, and how many cards.
    """

    ones: Any
    twos: Any
    fours: Any
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


@kernel
def count_cards(rules, row, seat, other):
    """Count the cards from `seat`'s place, with those known to be in `other`'s hand."""
    hand = own_hand(row, seat)
    known, elsewhere = EMPTY, hand | discards(row)
    for holder in range(row.num_players):
        if holder != seat:
            kinds = known_kinds(rules, row, seat, holder)
            elsewhere |= kinds
            if holder == other:
                known = kinds
    # Kinds of one card are where they are; the cards of the others are counted one by one.
    several = rules.multiple_kinds
    ones = (rules.coloured_kinds | rules.wild_kinds) & ~several & ~elsewhere
    n_known = size(known & ~several)
    twos, fours, pairs = EMPTY, EMPTY, EMPTY
    while several != EMPTY:
        kind = first(several)
        several = without_first(several)
        own = own_count(rules, row, seat, kind)
        hidden = rules.copies[kind] - own - discarded_count(rules, row, kind)
        for holder in range(row.num_players):
            if holder != seat:
                known_there = known_count(rules, row, seat, holder, kind)
                hidden -= known_there
                if holder == other:
                    n_known += known_there
        kind = bit(kind)
        if own > 1:
            pairs |= kind
        if hidden & 1:
            ones |= kind
        if hidden & 2:
            twos |= kind
        if hidden & 4:
            fours |= kind
    return CardCount(ones, twos, fours, hand, pairs, known, n_known)


@kernel
def unseen(count, kinds):
    """How many unseen cards are of the given kinds (a bit set)."""
    copies = size(count.ones & kinds)
    if count.twos & kinds != EMPTY:
        copies += _2 * size(count.twos & kinds)
    if count.fours & kinds != EMPTY:
        copies += _4 * size(count.fours & kinds)
    return copies


@kernel
def _likelihood(rules, row, other, color, trust):
    cards = np.int64(row.hand_size[other])
    if color >= rules.n_colors or cards == 0:
        return 1.0
    return 1.0 - trust * min(np.int64(row.off_color[other, color]), cards) / cards


@kernel
def believe(rules, row, count, other, known, n_known, trust):
    """What `other` may hold, of which some kinds and cards are known.

    Parameters
    ----------
    trust : float
        How far to believe that a seat which drew could not play, from 0 to 1. Whoever lacked a
        colour lacked wilds too, or would have played them.
    """
    c0 = _likelihood(rules, row, other, 0, trust)
    c1 = _likelihood(rules, row, other, 1, trust)
    c2 = _likelihood(rules, row, other, 2, trust)
    c3 = _likelihood(rules, row, other, 3, trust)
    colors = (c0, c1, c2, c3)
    wilds = min(min(c0, c1), min(c2, c3)) * unseen(count, rules.wild_kinds)
    total = wilds
    for color in range(rules.n_colors):
        total += colors[color] * unseen(count, rules.color_kinds[color])
    unknown = max(np.int64(row.hand_size[other]) - n_known, 0)
    return HandBelief(colors, wilds, total, known, unknown)


@kernel
def probability_of_any(ways, total, cards):
    """The probability that one of `cards` cards is among `ways` out of `total`."""
    if total <= 0.0:
        return 0.0
    share = 1.0 - ways / total
    none = 1.0
    for _ in range(cards):
        none *= share
    return 1.0 - none


@kernel
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
    symbols = rules.symbol_kinds[top]
    fits = symbols | rules.color_kinds[color]
    ways, good = 0.0, 0.0
    for other in range(rules.n_colors):
        kinds = rules.color_kinds[other]
        mine = hand & kinds
        if other != color:
            kinds &= symbols
        if kinds != EMPTY:
            way = belief.colors[other] * unseen(count, kinds)
            ways += way
            if mine != EMPTY:
                good += way
    answer = 1.0
    if belief.known & (fits | rules.wild_kinds) == EMPTY:
        answer = probability_of_any(ways + belief.wilds, belief.total, belief.unknown + more)
    if hand & rules.wild_kinds != EMPTY:
        return answer, 1.0
    again = answer * good / ways if ways > 0.0 else 0.0
    if hand & fits != EMPTY:
        again += 1.0 - answer
    return answer, again


@kernel
def guilt_probability(rules, row, trust):
    """The probability that challenging the wild draw just played succeeds.

    As if whoever plays a wild draw held any cards: it is not believed that they had no other play.
    `trust` as for `believe`.
    """
    actor = np.int64(row.actor)
    color = row.color_before
    coloured, wilds = EMPTY, EMPTY
    if color != NO_COLOR:
        coloured |= rules.color_kinds[color]
    if not rules.guilt_by_color_only:
        coloured |= rules.symbol_kinds[row.top_before]
        wilds |= rules.wild_kinds
    count = count_cards(rules, row, np.int64(row.to_act), actor)
    if count.known & (coloured | wilds) != EMPTY:
        return 1.0
    belief = believe(rules, row, count, actor, count.known, count.n_known, trust)
    ways = belief.wilds if wilds != EMPTY else 0.0
    for other in range(rules.n_colors):
        ways += belief.colors[other] * unseen(count, coloured & rules.color_kinds[other])
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


@kernel
def context_of(rules, row, trust):
    """The context of the seat to act; `trust` as for `card_count.believe`."""
    seat = np.int64(row.to_act)
    after = seat_after(row, seat)
    count = count_cards(rules, row, seat, after)
    theirs = believe(rules, row, count, after, count.known, count.n_known, trust)
    actions = action_kinds(rules, count.hand)
    return Context(seat, after, count, theirs, actions, turn_keepers(rules, row, seat, actions))


@kernel
def without(count, hand, kind):
    """The kinds left of a hand when one card is played."""
    return hand if count.pairs & bit(kind) != EMPTY else hand & ~bit(kind)


@kernel
def belief_of(rules, row, context, mover, trust):
    """What `mover` may hold: the context's belief, or one without the cards known."""
    if mover == context.after:
        return context.theirs
    return believe(rules, row, context.count, mover, EMPTY, 0, trust)
