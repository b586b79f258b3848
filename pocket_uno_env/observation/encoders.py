"""The observation: named blocks, one after the other, from a seat's information.

All values lie in [0, 1]. Encoders get ``one``, what a 1 is written as: 1, or `COMPACT_SCALE` for
observations in bytes. Seats are relative to the observer: 0 is the observer, 1 the seat on
its left, and so on. `layout` is the one list of blocks; `describe` prints it, the compiled
encoders fill it, and a test holds each encoder to its block's length.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pocket_uno_env.compiled.bits import EMPTY, first, without_first
from pocket_uno_env.compiled.kernel import inlined
from pocket_uno_env.compiled.write_bits import spread
from pocket_uno_env.engine.state import NO_SEAT
from pocket_uno_env.rules.cards import MAX_CARDS
from pocket_uno_env.rules.limits import MAX_KINDS, NO_COLOR, NO_KIND
from pocket_uno_env.rules.phases import Phase

from .information import (
    discarded_count,
    discards,
    known_count,
    known_kinds,
    own_count,
    own_drawn_kind,
    own_hand,
    shown_count,
    shown_kinds,
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
def _put_share(rules, kind, count, out, at, one):
    """The share of a kind's copies that lies at one place."""
    _put(out, at + kind, count * (one * _ONE_OF[rules.copies[kind]]))


@inlined
def _hand(rules, row, seat, out, at, one):
    kinds = own_hand(row, seat)
    spread(kinds, rules.n_kinds, out, at, one)
    several = _several(rules, kinds)
    while several != EMPTY:
        kind = first(several)
        several = without_first(several)
        _put_share(rules, kind, own_count(rules, row, seat, kind), out, at, one)
    return at + rules.n_kinds


@inlined
def _discards(rules, row, seat, out, at, one):
    kinds = discards(row)
    spread(kinds, rules.n_kinds, out, at, one)
    several = _several(rules, kinds)
    while several != EMPTY:
        kind = first(several)
        several = without_first(several)
        _put_share(rules, kind, discarded_count(rules, row, kind), out, at, one)
    return at + rules.n_kinds


@inlined
def _known(rules, row, seat, out, at, one):
    for i in range(1, row.num_players):
        other = _seat(row, seat, i)
        kinds = known_kinds(rules, row, seat, other)
        spread(kinds, rules.n_kinds, out, at, one)
        several = _several(rules, kinds)
        while several != EMPTY:
            kind = first(several)
            several = without_first(several)
            count = known_count(rules, row, seat, other, kind)
            _put_share(rules, kind, count, out, at, one)
        at += rules.n_kinds
    return at


@inlined
def _shown(rules, row, seat, out, at, one):
    for i in range(1, row.num_players):
        other = _seat(row, seat, i)
        kinds = shown_kinds(rules, row, seat, other)
        spread(kinds, rules.n_kinds, out, at, one)
        several = _several(rules, kinds)
        while several != EMPTY:
            kind = first(several)
            several = without_first(several)
            count = shown_count(rules, row, seat, other, kind)
            _put_share(rules, kind, count, out, at, one)
        at += rules.n_kinds
    return at


@inlined
def _drawn(rules, row, seat, out, at, one):
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
def _top(rules, row, seat, out, at, one):
    return _face(rules, row.top, True, out, at, one)


@inlined
def _active_color(rules, row, seat, out, at, one):
    return _color(rules, row.active_color, True, out, at, one)


@inlined
def _pending(row):
    """Whether the last play is still being resolved, so that the pile before it matters."""
    return (_PENDING >> np.uint64(row.phase)) & _1 != EMPTY


@inlined
def _top_before(rules, row, seat, out, at, one):
    return _face(rules, row.top_before, _pending(row), out, at, one)


@inlined
def _color_before(rules, row, seat, out, at, one):
    return _color(rules, row.color_before, _pending(row), out, at, one)


@inlined
def _phase(rules, row, seat, out, at, one):
    if row.phase != Phase.OVER:
        out[at + row.phase] = one
    return at + rules.n_phases


@inlined
def _to_act(rules, row, seat, out, at, one):
    if row.to_act != NO_SEAT:
        out[at + _relative(row, seat, row.to_act)] = one
    return at + row.num_players


@inlined
def _actor(rules, row, seat, out, at, one):
    pending = _pending(row)
    out[at + (_relative(row, seat, row.actor) if pending else 0)] = one * pending
    return at + row.num_players


@inlined
def _dealer(rules, row, seat, out, at, one):
    out[at + _relative(row, seat, row.dealer)] = one
    return at + row.num_players


@inlined
def _hand_sizes(rules, row, seat, out, at, one):
    per_card = one * _ONE_OF[rules.n_cards]
    for other in range(row.num_players):
        size = np.int64(row.hand_size[_seat(row, seat, other)])
        _put(out, at, size * per_card)
        if size > 0:
            out[at + min(size, SIZE_BINS)] = one
        at += 1 + SIZE_BINS
    return at


@inlined
def _table(rules, row, seat, out, at, one):
    per_card = one * _ONE_OF[rules.n_cards]
    drawn, discarded, passes = row.draw_count, row.discard_count, row.passes
    out[at] = one * (row.direction == 1)
    _put(out, at + 1, drawn * per_card)
    _put(out, at + 2, discarded * per_card)
    _put(out, at + 3, passes * (one * _ONE_OF[row.num_players]))
    return at + 4


@inlined
def _scores(rules, row, seat, out, at, one):
    per_point = one * rules.per_point
    for other in range(row.num_players):
        share = row.scores[_seat(row, seat, other)] * per_point
        _put(out, at + other, min(share, np.float64(one)))
    return at + row.num_players


@inlined
def _off_color(rules, row, seat, out, at, one):
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
def _stack(rules, row, seat, out, at, one):
    if not rules.stacking:
        return at
    _put(out, at, min(row.stack * (one * _ONE_OF[rules.n_cards]), np.float64(one)))
    return at + 1


@inlined
def _public(rules, row, seat, out, at, one):
    """The blocks that everyone can see, from `seat`'s place."""
    at = _top(rules, row, seat, out, at, one)
    at = _active_color(rules, row, seat, out, at, one)
    at = _top_before(rules, row, seat, out, at, one)
    at = _color_before(rules, row, seat, out, at, one)
    at = _phase(rules, row, seat, out, at, one)
    at = _to_act(rules, row, seat, out, at, one)
    at = _actor(rules, row, seat, out, at, one)
    at = _dealer(rules, row, seat, out, at, one)
    at = _hand_sizes(rules, row, seat, out, at, one)
    at = _table(rules, row, seat, out, at, one)
    at = _scores(rules, row, seat, out, at, one)
    at = _off_color(rules, row, seat, out, at, one)
    return _stack(rules, row, seat, out, at, one)


@inlined
def write_observation(rules, row, seat, out):
    """Write what `seat` may know into ``out``, shape ``(observation_size,)``.

    float32: values in [0, 1]. uint8: the same times `COMPACT_SCALE`, rounded.
    """
    out[0] = 1 if out.itemsize > 1 else COMPACT_SCALE
    one = out[0]
    at = _hand(rules, row, seat, out, 0, one)
    at = _discards(rules, row, seat, out, at, one)
    at = _known(rules, row, seat, out, at, one)
    at = _shown(rules, row, seat, out, at, one)
    at = _drawn(rules, row, seat, out, at, one)
    out[at:] = 0
    return _public(rules, row, seat, out, at, one)


ENCODERS: tuple[tuple[str, Callable[..., int]], ...] = (
    ("hand", _hand),
    ("discards", _discards),
    ("known", _known),
    ("shown", _shown),
    ("drawn", _drawn),
    ("top", _top),
    ("active_color", _active_color),
    ("top_before", _top_before),
    ("color_before", _color_before),
    ("phase", _phase),
    ("to_act", _to_act),
    ("actor", _actor),
    ("dealer", _dealer),
    ("hand_sizes", _hand_sizes),
    ("table", _table),
    ("scores", _scores),
    ("off_color", _off_color),
    ("stack", _stack),
)
"""Which encoder fills which block, in the order of `layout`."""
