"""Moving cards: shuffle, draw with its reshuffle, discard, and the log of random outcomes.

Kernels take two optional arrays beside the row. ``supply`` (uint8 kinds, top first) is the order
of the next reshuffle if the caller wants to decide it; with None the row's generator does. ``log``
(int16) receives what happened to cards as pairs (`Note`, value), the number of pairs in
``log[0]``; with None nothing is written, and the compiled code has no trace of it.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from pocket_uno_env.compiled.bits import EMPTY, add_card, bit, remove_card, size
from pocket_uno_env.compiled.kernel import inlined, kernel
from pocket_uno_env.compiled.rng import bounded, next_state
from pocket_uno_env.rules.cards import CARD_WORDS

from .knowledge import lost_sight
from .state import NO_CARD


class Note(IntEnum):
    """What a pair in the log means; the value is a seat or a card kind."""

    DRAW = 0
    FORCED = 1
    CARD = 2
    RESHUFFLE = 3
    PILE = 4
    TURNED_BACK = 5


@inlined
def note(log, code, value):
    """Append one pair to the log, if there is one."""
    if log is not None:
        end = 1 + 2 * log[0]
        log[end] = code
        log[end + 1] = value
        log[0] += 1


@inlined
def seat_after(row, seat):
    """The next seat in the present direction that is in the game."""
    seat = np.int64(seat)
    while True:
        seat += row.direction
        if seat < 0:
            seat = np.int64(row.num_players) - 1
        elif seat == row.num_players:
            seat = 0
        if (row.out >> seat) & 1 == 0:
            return seat


@kernel
def shuffle(row, cards, count):
    """Shuffle ``cards[:count]`` with the row's generator (Fisher-Yates)."""
    for i in range(count - 1, 0, -1):
        row.rng = next_state(row.rng)
        j = bounded(row.rng, i + 1)
        cards[i], cards[j] = cards[j], cards[i]


@kernel
def arrange(rules, cards, count, kinds):
    """Order ``cards[:count]`` so that its kinds, from its end to its front, are `kinds`.

    As far as it goes: kinds that are not there are passed over.
    """
    for i in range(min(count, kinds.shape[0])):
        place = count - 1 - i
        for j in range(place, -1, -1):
            if rules.card_kind[cards[j]] == kinds[i]:
                cards[place], cards[j] = cards[j], cards[place]
                break


@kernel
def reshuffle(rules, row, supply, log):
    """Make the discard pile without its top card the draw pile; nothing if there is only the top.

    Precondition: the draw pile is empty.
    """
    count = np.int64(row.discard_count) - 1
    if count < 1:
        return
    for i in range(count):
        row.draw_pile[i] = row.discard_pile[i]
    top = row.discard_pile[count]
    row.discard_count = 0
    row.discard_kinds = EMPTY
    row.discards[:] = 0
    lay(rules, row, top)
    row.draw_count = count
    if supply is not None:
        arrange(rules, row.draw_pile, count, supply)
    else:
        shuffle(row, row.draw_pile, count)
    note(log, Note.RESHUFFLE, count)
    for i in range(count - 1, -1, -1):
        note(log, Note.PILE, rules.card_kind[row.draw_pile[i]])


@inlined
def draw_card(rules, row, seat, supply, log):
    """Draw one card into a hand; returns it, or `NO_CARD` if there is nothing to draw."""
    if row.draw_count == 0:
        reshuffle(rules, row, supply, log)
        if row.draw_count == 0:
            return NO_CARD
    row.draw_count -= 1
    card = np.int64(row.draw_pile[row.draw_count])
    kind = rules.card_kind[card]
    enter_hand(rules, row, seat, card)
    note(log, Note.CARD, kind)
    return card


@kernel
def forced_draw(rules, row, seat, count, supply, log):
    """Draw up to `count` cards that a rule demands; returns how many there were."""
    note(log, Note.FORCED, seat)
    for drawn in range(count):
        if draw_card(rules, row, seat, supply, log) == NO_CARD:
            return drawn
    return count


@inlined
def enter_hand(rules, row, seat, card):
    """Write a card into a hand's books."""
    add_card(row.hands[seat], card)
    row.hand_kinds[seat] |= bit(rules.card_kind[card])
    row.hand_size[seat] += 1


@inlined
def leave_hand(rules, row, seat, card):
    """Take a card out of a hand's books; the caller puts it elsewhere."""
    kind = rules.card_kind[card]
    remove_card(row.hands[seat], card)
    row.hand_size[seat] -= 1
    if copies_in(rules, row.hands[seat], kind) == 0:
        row.hand_kinds[seat] &= ~bit(kind)
    lost_sight(row, card)


@inlined
def copies_in(rules, cards, kind):
    """How many cards of a kind are in a set of physical cards."""
    count = 0
    for word in range(CARD_WORDS):
        count += size(cards[word] & rules.kind_cards[kind, word])
    return count


@inlined
def lay(rules, row, card):
    """Put a card on top of the discard pile."""
    kind = rules.card_kind[card]
    add_card(row.discards, card)
    row.discard_kinds |= bit(kind)
    row.discard_pile[row.discard_count] = card
    row.discard_count += 1
    row.top = kind
