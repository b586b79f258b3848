"""The encoders: kernels that write what a seat may know, block by block, in the order of `blocks`.

An encoder is a kernel ``write_NAME(rules, row, seat, out, at, one) -> end``. It writes every value
of its block, which begins at ``at`` in the vector ``out``, and returns where the block ends.
``one`` is what a 1 is written as: 1, or `COMPACT_SCALE` in an observation of bytes. Blocks in which
at most one value is not 0 are collected as bits and written together. Seats are relative to the
observer: 0 is the observer, 1 the seat on its left, and so on.
"""

from __future__ import annotations

import numpy as np

from pocket_uno_env.compiled.bits import EMPTY, first, without_first
from pocket_uno_env.compiled.kernel import inlined
from pocket_uno_env.compiled.write_bits import spread
from pocket_uno_env.compiled.write_values import holds_bytes, put, put_four_shares
from pocket_uno_env.engine.piles import copies_in
from pocket_uno_env.engine.state import NO_SEAT
from pocket_uno_env.rules.cards import MAX_CARDS
from pocket_uno_env.rules.limits import MAX_KINDS, NO_COLOR, NO_KIND
from pocket_uno_env.rules.phases import Phase

from .information import (
    discarded_cards,
    discards,
    kinds_of,
    known_cards,
    own_cards,
    own_drawn_kind,
    own_hand,
    shown_cards,
)

_1 = np.uint64(1)
_8 = np.uint64(8)

COMPACT_SCALE = 240
"""A uint8 observation is the float32 one times this; most shares of 1 are then whole numbers."""
SIZE_BINS = 8
"""Hand sizes 1 to 7 have a one-hot place each, 8 and more share the last."""
_ONE_OF = 1.0 / np.maximum(np.arange(MAX_CARDS + 1), 1)
"""One share of so many; a division takes as long as ten multiplications."""


def _byte_shares() -> np.ndarray:
    some, every = np.arange(256), np.arange(MAX_CARDS + 1)[:, None]
    shares = np.minimum(some, every) * (COMPACT_SCALE * _ONE_OF)[:, None]
    return (shares + 0.5).astype(np.uint8).ravel()


_BYTE_SHARES = _byte_shares()
"""The byte that so many of so many are written as, at ``256 * all + some``."""
_PENDING = np.uint64(
    sum(1 << p for p in (Phase.UNO, Phase.CATCH, Phase.CHALLENGE, Phase.STACK, Phase.JUMP))
)


@inlined
def _relative(row, observer, seat):
    """How many places `seat` sits to the left of the observer."""
    places = np.int64(seat) - observer
    return places if places >= 0 else places + row.num_players


@inlined
def _seat(row, observer, places):
    """The seat so many places to the left of the observer."""
    # Unsigned: Numba asks of a signed index whether it counts from the end.
    seat, seats = np.uint64(observer) + np.uint64(places), np.uint64(row.num_players)
    return seat if seat < seats else seat - seats


@inlined
def _put_share(out, at, some, every):
    """Write the share that `some` are of `every`, at most `MAX_CARDS`."""
    if holds_bytes(out):
        put(out, at, _BYTE_SHARES[(np.uint64(every) << _8) + np.uint64(some)])
    else:
        put(out, at, some * _ONE_OF[np.uint64(every)])


@inlined
def _place(number, told):
    """The one place of a one-hot block, as a bit set; empty unless it is told."""
    return np.uint64(told) << np.uint64(number)


# The private blocks.


@inlined
def _several(rules, kinds):
    """Those of some kinds whose copies have to be counted."""
    return (kinds & rules.multiple_kinds) | rules.few_multiples


@inlined
def _cards(rules, kinds, cards, out, at, one):
    """The shares of a set of physical cards, of these kinds, in all copies of each kind."""
    spread(kinds, rules.n_kinds, out, at, one)
    several = _several(rules, kinds)
    while several != EMPTY:
        kind = first(several)
        several = without_first(several)
        _put_share(out, at + kind, copies_in(rules, cards, kind), rules.copies[kind])
    return at + rules.n_kinds


@inlined
def write_hand(rules, row, seat, out, at, one):
    """The seat's own cards."""
    return _cards(rules, own_hand(row, seat), own_cards(row, seat), out, at, one)


@inlined
def write_discards(rules, row, seat, out, at, one):
    """The cards of the discard pile."""
    return _cards(rules, discards(row), discarded_cards(row), out, at, one)


@inlined
def write_known(rules, row, seat, out, at, one):
    """The cards of each other hand that the seat knows."""
    for i in range(1, np.int64(row.num_players)):
        cards = known_cards(row, seat, _seat(row, seat, i))
        at = _cards(rules, kinds_of(rules, cards), cards, out, at, one)
    return at


@inlined
def write_shown(rules, row, seat, out, at, one):
    """The seat's own cards that each other seat knows."""
    for i in range(1, np.int64(row.num_players)):
        cards = shown_cards(row, seat, _seat(row, seat, i))
        at = _cards(rules, kinds_of(rules, cards), cards, out, at, one)
    return at


@inlined
def write_drawn(rules, row, seat, out, at, one):
    """The kind of the card just drawn, one-hot."""
    spread(own_drawn_kind(rules, row, seat), rules.n_kinds, out, at, one)
    return at + rules.n_kinds


# The public blocks.


@inlined
def _face(rules, kind, told):
    """A card without its colour, one-hot over symbols and wilds; empty unless it is told."""
    return _place(rules.kind_face[kind & (MAX_KINDS - 1)], told & (kind != NO_KIND))


@inlined
def _color(color, told):
    """A colour, one-hot; empty unless there is one and it is told."""
    return _place(color & 3, told & (color != NO_COLOR))


@inlined
def _pending(row):
    """Whether the last play is still being resolved, so that the pile before it matters."""
    return (_PENDING >> np.uint64(row.phase)) & _1 != EMPTY


@inlined
def write_piles(rules, row, seat, out, at, one):
    """The top of the discard pile and the active colour, and both before the play in question."""
    pending = _pending(row)
    faces, colors = np.uint64(rules.n_faces), np.uint64(rules.n_colors)
    before = faces + colors
    bits = _face(rules, row.top, True) | _color(row.active_color, True) << faces
    bits |= _face(rules, row.top_before, pending) << before
    bits |= _color(row.color_before, pending) << (before + faces)
    n = 2 * (rules.n_faces + rules.n_colors)
    spread(bits, n, out, at, one)
    return at + n


@inlined
def write_turn(rules, row, seat, out, at, one):
    """The phase, and the seats to act, whose play is in question, and that deals."""
    seats = np.uint64(row.num_players)
    bits = _place(_relative(row, seat, row.dealer), True) << seats
    bits = (bits | _place(_relative(row, seat, row.actor), _pending(row))) << seats
    bits |= _place(_relative(row, seat, row.to_act), row.to_act != NO_SEAT)
    bits = bits << np.uint64(rules.n_phases) | _place(row.phase, row.phase != Phase.OVER)
    n = rules.n_phases + 3 * row.num_players
    spread(bits, n, out, at, one)
    return at + n


@inlined
def write_hand_sizes(rules, row, seat, out, at, one):
    """The size of each hand: its share of the deck, and one-hot."""
    cards = rules.n_cards
    for other in range(np.int64(row.num_players)):
        size = np.int64(row.hand_size[_seat(row, seat, other)])
        _put_share(out, at, size, cards)
        spread(_place(min(size, SIZE_BINS), True) >> _1, SIZE_BINS, out, at + 1, one)
        at += 1 + SIZE_BINS
    return at


@inlined
def write_table(rules, row, seat, out, at, one):
    """Direction, both piles, and how many seats passed in a row."""
    cards = rules.n_cards
    put(out, at, one * (row.direction == 1))
    _put_share(out, at + 1, row.draw_count, cards)
    _put_share(out, at + 2, row.discard_count, cards)
    _put_share(out, at + 3, row.passes, row.num_players)
    return at + 4


@inlined
def write_scores(rules, row, seat, out, at, one):
    """Each seat's share of the match's goal."""
    per_point = one * rules.per_point
    for other in range(np.int64(row.num_players)):
        share = min(row.scores[_seat(row, seat, other)] * per_point, np.float64(one))
        if holds_bytes(out):
            put(out, at + other, np.uint8(share + 0.5))
        else:
            put(out, at + other, share)
    return at + row.num_players


@inlined
def write_off_color(rules, row, seat, out, at, one):
    """The share of each hand that, by what all saw, is not of each colour."""
    colors, scale = rules.n_colors, np.float64(one)
    for other in range(np.int64(row.num_players)):
        holder = _seat(row, seat, other)
        size = row.hand_size[holder]
        if colors == 4:
            every = max(np.int64(size), 1)
            put_four_shares(out, at, row.off_color[holder], every, scale)
        else:
            for color in range(colors):
                off = min(row.off_color[holder, np.uint64(color)], size)
                _put_share(out, at + color, off, size)
        at += colors
    return at


@inlined
def write_stack(rules, row, seat, out, at, one):
    """The cards that wait to be drawn."""
    _put_share(out, at, min(np.int64(row.stack), rules.n_cards), rules.n_cards)
    return at + 1
