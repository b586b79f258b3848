"""The encoders: one kernel for each block of the observation, which writes what a seat may know.

An encoder is a kernel ``write_NAME(rules, row, seat, out, at, one) -> end``. It fills the block of
the vector ``out`` that begins at ``at`` and returns where the block ends. ``one`` is what a 1 is
written as: 1, or `COMPACT_SCALE` in an observation of bytes. It may rely on zeros in ``out``,
except in the private blocks, of which it writes every value. Seats are relative to the observer:
0 is the observer, 1 the seat on its left, and so on. `blocks.BLOCKS` lists all encoders in order.
"""

from __future__ import annotations

import numpy as np

from pocket_uno_env.compiled.bits import EMPTY, first, without_first
from pocket_uno_env.compiled.kernel import inlined
from pocket_uno_env.compiled.write_bits import spread
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

COMPACT_SCALE = 240
"""A uint8 observation is the float32 one times this; most shares of 1 are then whole numbers."""
SIZE_BINS = 8
"""Hand sizes 1 to 7 have a one-hot place each, 8 and more share the last."""
_ONE_OF = 1.0 / np.maximum(np.arange(MAX_CARDS + 1), 1)
"""One share of so many; a division takes as long as ten multiplications."""
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
    seat = np.int64(observer) + places
    return seat if seat < row.num_players else seat - row.num_players


@inlined
def _put(out, at, share):
    """A share of `one` that may lie between 0 and it."""
    out[at] = np.uint8(share + 0.5) if out.itemsize == 1 else share


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
        share = copies_in(rules, cards, kind) * (one * _ONE_OF[rules.copies[kind]])
        _put(out, at + kind, share)
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
    for i in range(1, row.num_players):
        cards = known_cards(row, seat, _seat(row, seat, i))
        at = _cards(rules, kinds_of(rules, cards), cards, out, at, one)
    return at


@inlined
def write_shown(rules, row, seat, out, at, one):
    """The seat's own cards that each other seat knows."""
    for i in range(1, row.num_players):
        cards = shown_cards(row, seat, _seat(row, seat, i))
        at = _cards(rules, kinds_of(rules, cards), cards, out, at, one)
    return at


@inlined
def write_drawn(rules, row, seat, out, at, one):
    """The kind of the card just drawn, one-hot."""
    spread(own_drawn_kind(rules, row, seat), rules.n_kinds, out, at, one)
    return at + rules.n_kinds


@inlined
def _face(rules, kind, told, out, at, one):
    """A face without its colour, one-hot over symbols and wilds; zeros unless it is told."""
    out[at + rules.kind_face[kind & (MAX_KINDS - 1)]] = one * (told & (kind != NO_KIND))
    return at + rules.n_faces


@inlined
def _color(rules, color, told, out, at, one):
    """A colour, one-hot; zeros unless there is one and it is told."""
    out[at + (color & 3)] = one * (told & (color != NO_COLOR))
    return at + rules.n_colors


@inlined
def write_top(rules, row, seat, out, at, one):
    """The top of the discard pile without its colour, one-hot."""
    return _face(rules, row.top, True, out, at, one)


@inlined
def write_active_color(rules, row, seat, out, at, one):
    """The colour to match, one-hot."""
    return _color(rules, row.active_color, True, out, at, one)


@inlined
def _pending(row):
    """Whether the last play is still being resolved, so that the pile before it matters."""
    return (_PENDING >> np.uint64(row.phase)) & _1 != EMPTY


@inlined
def write_top_before(rules, row, seat, out, at, one):
    """The top before the play in question, one-hot."""
    return _face(rules, row.top_before, _pending(row), out, at, one)


@inlined
def write_color_before(rules, row, seat, out, at, one):
    """The active colour before the play in question, one-hot."""
    return _color(rules, row.color_before, _pending(row), out, at, one)


@inlined
def write_phase(rules, row, seat, out, at, one):
    """The phase, one-hot; zeros when the round is over."""
    if row.phase != Phase.OVER:
        out[at + row.phase] = one
    return at + rules.n_phases


@inlined
def write_to_act(rules, row, seat, out, at, one):
    """The seat to act, one-hot."""
    if row.to_act != NO_SEAT:
        out[at + _relative(row, seat, row.to_act)] = one
    return at + row.num_players


@inlined
def write_actor(rules, row, seat, out, at, one):
    """The seat whose play is in question, one-hot."""
    pending = _pending(row)
    out[at + (_relative(row, seat, row.actor) if pending else 0)] = one * pending
    return at + row.num_players


@inlined
def write_dealer(rules, row, seat, out, at, one):
    """The dealer, one-hot."""
    out[at + _relative(row, seat, row.dealer)] = one
    return at + row.num_players


@inlined
def write_hand_sizes(rules, row, seat, out, at, one):
    """The size of each hand: its share of the deck, and one-hot."""
    per_card = one * _ONE_OF[rules.n_cards]
    for other in range(row.num_players):
        size = np.int64(row.hand_size[_seat(row, seat, other)])
        _put(out, at, size * per_card)
        if size > 0:
            out[at + min(size, SIZE_BINS)] = one
        at += 1 + SIZE_BINS
    return at


@inlined
def write_table(rules, row, seat, out, at, one):
    """Direction, both piles, and how many seats passed in a row."""
    per_card = one * _ONE_OF[rules.n_cards]
    drawn, discarded, passes = row.draw_count, row.discard_count, row.passes
    out[at] = one * (row.direction == 1)
    _put(out, at + 1, drawn * per_card)
    _put(out, at + 2, discarded * per_card)
    _put(out, at + 3, passes * (one * _ONE_OF[row.num_players]))
    return at + 4


@inlined
def write_scores(rules, row, seat, out, at, one):
    """Each seat's share of the match's goal."""
    per_point = one * rules.per_point
    for other in range(row.num_players):
        share = row.scores[_seat(row, seat, other)] * per_point
        _put(out, at + other, min(share, np.float64(one)))
    return at + row.num_players


@inlined
def write_off_color(rules, row, seat, out, at, one):
    """The share of each hand that, by what all saw, is not of each colour."""
    for other in range(row.num_players):
        holder = _seat(row, seat, other)
        size = np.int64(row.hand_size[holder])
        per_card = one * _ONE_OF[size]
        # All four at once, before any is written: the processor has vectors of four.
        red = min(np.int64(row.off_color[holder, 0]), size) * per_card
        blue = min(np.int64(row.off_color[holder, 1]), size) * per_card
        green = min(np.int64(row.off_color[holder, 2]), size) * per_card
        yellow = min(np.int64(row.off_color[holder, 3]), size) * per_card
        _put(out, at, red)
        if rules.n_colors > 1:
            _put(out, at + 1, blue)
        if rules.n_colors > 2:
            _put(out, at + 2, green)
        if rules.n_colors > 3:
            _put(out, at + 3, yellow)
        at += rules.n_colors
    return at


@inlined
def write_stack(rules, row, seat, out, at, one):
    """The cards that wait to be drawn."""
    _put(out, at, min(row.stack * (one * _ONE_OF[rules.n_cards]), np.float64(one)))
    return at + 1
