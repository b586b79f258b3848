"""Determinization: a full game that agrees with what one seat knows.

The one place outside the engine that changes hidden parts of a row. `redeal` takes a copy of a
game and deals anew whatever the seat cannot know: the cards it cannot place, what others know of
them, guilt, and the order of the draw pile. Of the copy it reads only what the seat may know, so
two games that look alike to a seat give it the same determinizations.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pocket_uno_env.compiled.bits import (
    EMPTY,
    add_card,
    bit,
    first,
    has_card,
    remove_card,
    size,
    without_first,
)
from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.compiled.rng import next_state, uniform
from pocket_uno_env.engine.legality import is_guilty
from pocket_uno_env.engine.piles import seat_after, shuffle
from pocket_uno_env.engine.state import NO_CARD, NO_SEAT
from pocket_uno_env.engine.transition import UNO_PENALTY
from pocket_uno_env.observation.information import placed_cards
from pocket_uno_env.rules.cards import CARD_WORDS, MAX_CARDS
from pocket_uno_env.rules.effects import Effect
from pocket_uno_env.rules.limits import MAX_SEATS
from pocket_uno_env.rules.phases import Phase

_1 = np.uint64(1)


class Unseen(NamedTuple):
    """The cards that a seat cannot place, and how likely each is in which hand.

    Attributes
    ----------
    cards : uint8, shape ``(MAX_CARDS,)``
        Physical cards; scratch.
    weights : float64, shape ``(MAX_SEATS, MAX_CARDS)``
        By seat and physical card, above zero: the chance of a hand is in proportion to the product
        of its cards' weights.
    ways : float64, shape ``(MAX_CARDS + 1, MAX_CARDS + 1)``
        Scratch of `fill_ways`.
    """

    cards: Any
    weights: Any
    ways: Any


def new_unseen() -> Unseen:
    """Buffers for one search; every card with weight 1."""
    return Unseen(
        np.zeros(MAX_CARDS, np.uint8),
        np.ones((MAX_SEATS, MAX_CARDS)),
        np.zeros((MAX_CARDS + 1, MAX_CARDS + 1)),
    )


@kernel
def list_unseen(rules, row, seat, cards):
    """Write the physical cards that `seat` cannot place into ``cards``; returns how many.

    Kind by kind, so that it makes no difference which of several copies the seat can place.
    """
    count = 0
    placed = placed_cards(row, seat)
    for kind in range(rules.n_kinds):
        for word in range(CARD_WORDS):
            copies = rules.kind_cards[kind, word] & ~placed[word]
            while copies != EMPTY:
                cards[count] = 64 * word + first(copies)
                count += 1
                copies = without_first(copies)
    return count


@kernel
def unknown_size(rules, row, seat, other):
    """How many cards of the hand of `other` the seat cannot name."""
    count = np.int64(row.hand_size[other])
    for word in range(CARD_WORDS):
        count -= size(row.hands[other, word] & row.known[seat, word])
    return count


@kernel
def fill_ways(cards, count, weights, hand, ways):
    """Sum the products of weights over all hands: ``ways[i, k]`` for k of the first i cards.

    The normalizing constants of the conditional Bernoulli distribution: S. Chen and J. Liu,
    "Statistical applications of the Poisson-binomial and conditional Bernoulli distributions",
    Statistica Sinica 7, 1997, method 1.

    Parameters
    ----------
    weights : float64, by physical card
    hand : int
        The largest k.
    """
    ways[0, 0] = 1.0
    for k in range(1, hand + 1):
        ways[0, k] = 0.0
    for i in range(count):
        weight = weights[cards[i]]
        ways[i + 1, 0] = 1.0
        for k in range(1, hand + 1):
            ways[i + 1, k] = ways[i, k] + weight * ways[i, k - 1]


@kernel
def _pick_hand(row, cards, count, weights, hand, ways):
    """Draw a hand by its cards' weights and move it behind the others; returns how many are left.

    The chance of a hand is in proportion to the product of its cards' weights.
    """
    fill_ways(cards, count, weights, hand, ways)
    missing, left = hand, count
    for i in range(count - 1, -1, -1):
        if missing == 0:
            break
        chance = weights[cards[i]] * ways[i, missing - 1] / ways[i + 1, missing]
        row.rng = next_state(row.rng)
        if missing > i or uniform(row.rng) < chance:
            missing -= 1
            left -= 1
            cards[i], cards[left] = cards[left], cards[i]
    return left


@kernel
def redeal(rules, row, seat, unseen, seed):
    """Deal anew what `seat`, the seat to act, cannot know.

    Parameters
    ----------
    row : a copy of the game, changed
    unseen : Unseen
        Its weights say which hands are likely.
    seed : uint64
        The same seed gives the same determinization, whatever was hidden.
    """
    row.rng = seed
    cards = unseen.cards
    count = list_unseen(rules, row, seat, cards)
    left = count
    for other in range(row.num_players):
        if other == seat:
            continue
        hand = unknown_size(rules, row, seat, other)
        end = left
        left = _pick_hand(row, cards, end, unseen.weights[other], hand, unseen.ways)
        row.hand_kinds[other] = EMPTY
        for word in range(CARD_WORDS):
            row.hands[other, word] &= row.known[seat, word]
            named = row.hands[other, word]
            while named != EMPTY:
                row.hand_kinds[other] |= bit(rules.card_kind[64 * word + first(named)])
                named = without_first(named)
            # Others may know more of the own cards than the seat saw them learn, and more of each
            # other's: that is not known either.
            row.shown[other, word] &= row.hands[seat, word]
            row.known[other, word] = row.shown[other, word]
        for i in range(left, end):
            add_card(row.hands[other], np.int64(cards[i]))
            row.hand_kinds[other] |= bit(rules.card_kind[cards[i]])
    for word in range(CARD_WORDS):
        row.shown[seat, word] &= row.known[seat, word]
    for i in range(left):
        row.draw_pile[i] = cards[i]
    shuffle(row, row.draw_pile, left)
    row.guilty = _is_guilty(rules, row, seat)


@kernel
def _is_guilty(rules, row, seat):
    """Whether a challenge of the play in question would succeed in this determinization."""
    phase = row.phase
    if row.actor == NO_SEAT or phase == Phase.PLAY or phase == Phase.DRAWN:
        return False
    hand = row.hand_kinds[row.actor]
    if row.caught and row.actor != seat:
        # The penalty came after the play: any two of the cards just dealt to that hand.
        hand = EMPTY
        penalty = UNO_PENALTY
        for card in range(rules.n_cards):
            if has_card(row.hands[row.actor], card):
                if penalty > 0 and not has_card(row.known[seat], card):
                    penalty -= 1
                else:
                    hand |= bit(rules.card_kind[card])
    return is_guilty(rules, row, hand)


@kernel
def is_held(row, other, card):
    """Whether a physical card is in the hand of `other`: the truth, to train and test with."""
    return has_card(row.hands[other], card)


@kernel
def log_likelihood(rules, row, seat, other, unseen):
    """The logarithm of the chance that the weights give to the unknown cards of `other`.

    A measure for training and tests: it looks at the hand.
    """
    count = list_unseen(rules, row, seat, unseen.cards)
    hand = unknown_size(rules, row, seat, other)
    weights = unseen.weights[other]
    fill_ways(unseen.cards, count, weights, hand, unseen.ways)
    total = -np.log(unseen.ways[count, hand])
    for i in range(count):
        if is_held(row, other, unseen.cards[i]):
            total += np.log(weights[unseen.cards[i]])
    return total


@kernel
def discarded_kind(rules, row, depth):
    """The kind that lies so many cards below the top of the discard pile, which everyone saw."""
    return rules.card_kind[row.discard_pile[row.discard_count - 1 - depth]]


@kernel
def take_back(rules, row, seat):
    """Undo the last play in a determinization of `seat`, as far as the choice depended on it.

    The card is in its player's hand again, on the pile as it was before; what `seat` has drawn
    since counts no more. Evidence and guilt are not restored.
    """
    other = np.int64(row.actor)
    card = np.int64(row.discard_pile[row.discard_count - 1])
    kind = rules.card_kind[card]
    row.discard_count -= 1
    row.top = discarded_kind(rules, row, 0)
    remove_card(row.discards, card)
    row.discard_kinds &= ~bit(kind)
    for depth in range(row.discard_count):
        if discarded_kind(rules, row, depth) == kind:
            row.discard_kinds |= bit(kind)
    add_card(row.hands[other], card)
    row.hand_kinds[other] |= bit(kind)
    row.hand_size[other] += 1
    if row.phase == Phase.PLAY or row.phase == Phase.DRAWN:
        if rules.kind_effect[kind] == Effect.REVERSE:
            row.direction = -row.direction
        drawn = 1 if row.phase == Phase.DRAWN else 0
        if seat_after(row, other) == seat:
            drawn += rules.kind_draws[kind]
        row.hand_size[seat] = max(np.int64(row.hand_size[seat]) - drawn, 1)
    row.active_color = row.color_before
    row.phase = Phase.PLAY
    row.to_act = other
    row.drawn_card = NO_CARD
