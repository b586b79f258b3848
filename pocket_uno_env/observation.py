"""The observation: named blocks, one after the other, from a seat's information.

All values lie in [0, 1]. Encoders get ``one``, what a 1 is written as: 1, or `COMPACT_SCALE` for
observations in bytes. Seats are relative to the observer: 0 is the observer, 1 the seat on
its left, and so on. `layout` is the one list of blocks; `describe` prints it, the compiled
encoders fill it, and a test holds each encoder to its block's length.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .bits import EMPTY, first, without_first
from .cards import MAX_CARDS
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
from .kernel import inlined, kernel
from .rules import MAX_KINDS, NO_COLOR, NO_KIND, Rules
from .spread import spread
from .state import NO_SEAT, Phase

COMPACT_SCALE = 240
"""A uint8 observation is the float32 one times this; most shares of 1 are then whole numbers."""
SIZE_BINS = 8
"""Hand sizes 1 to 7 have a one-hot place each, 8 and more share the last."""
_ONE_OF = 1.0 / np.maximum(np.arange(MAX_CARDS + 1), 1)
"""One share of so many; a division takes as long as ten multiplications."""
_1 = np.uint64(1)
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


# From here on the blocks are zeros before an encoder sets what is to be set. Which card, phase or
# seat it is nobody can predict, the processor neither, so there are no branches on it.


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


@dataclass(frozen=True, slots=True)
class Block:
    """A named stretch of the observation vector."""

    name: str
    start: int
    length: int
    meaning: str

    @property
    def slice(self) -> slice:
        """Where the block lies in the vector."""
        return slice(self.start, self.start + self.length)


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


@lru_cache(maxsize=256)
def layout(rules: Rules, num_players: int) -> tuple[Block, ...]:
    """The blocks of the observation for `rules` and `num_players`, in order."""
    kinds, faces, colors = len(rules.kinds), len(rules.faces), rules.colors
    others = num_players - 1
    phases = [phase.name.lower() for phase in Phase][: int(rules._table["n_phases"][0])]
    blocks = [
        ("hand", kinds, "own cards, per kind: held / copies"),
        ("discards", kinds, "discard pile, per kind: there / copies"),
        ("known", others * kinds, "known cards of each other hand, per seat and kind"),
        ("shown", others * kinds, "own cards each other seat knows, per seat and kind"),
        ("drawn", kinds, "the card just drawn that may be played"),
        ("top", faces, "symbol or wild on top"),
        ("active_color", colors, "the colour to match; zeros before it is named"),
        ("top_before", faces, "* the top before the play in question"),
        ("color_before", colors, "* the active colour before that play"),
        ("phase", len(phases), ", ".join(phases)),
        ("to_act", num_players, "the seat to act"),
        ("actor", num_players, "* the seat whose play is in question"),
        ("dealer", num_players, "the dealer"),
        (
            "hand_sizes",
            num_players * (1 + SIZE_BINS),
            f"per seat: cards / deck; is it 1, 2, ... {SIZE_BINS} or more",
        ),
        ("table", 4, "clockwise; draw, discard pile / deck; passes / seats"),
        ("scores", num_players, "per seat: match points / goal, at most 1"),
        (
            "off_color",
            num_players * colors,
            "per seat and colour: share of the hand not of it, by\n"
            "what all saw (it drew, or was innocent)",
        ),
    ]
    if rules.stacking:
        blocks.append(("stack", 1, "cards that wait to be drawn / deck"))
    result, start = [], 0
    for name, length, meaning in blocks:
        result.append(Block(name, start, length, meaning))
        start += length
    return tuple(result)


def observation_size(rules: Rules, num_players: int) -> int:
    """The length of the observation vector."""
    last = layout(rules, num_players)[-1]
    return last.start + last.length


def describe(rules: str | Rules = "pocket", num_players: int = 2) -> str:
    """The layout of the observation as a table: place, name and meaning of each block.

    Returns
    -------
    str
        One line per block, ready for ``print``; the documentation shows the same text.
    """
    made = Rules.of(rules)
    blocks = layout(made, made.check_players(num_players))
    lines = [
        f"observation: float32, {observation_size(made, num_players)} values in [0, 1], "
        f"rules {made.name!r}, {num_players} players"
    ]
    for block in blocks:
        place = f"{block.start}:{block.start + block.length}"
        first, *more = block.meaning.split("\n")
        lines.append(f"  {place:>9}  {block.name:<12}  {first}")
        lines += [" " * 27 + line for line in more]
    lines.append("Seats count from the observer to the left; the observer is the first.")
    lines.append("* while a play is in question (phase uno, catch, challenge, stack or jump)")
    for title, names in (("kinds", [kind.name for kind in made.kinds]), ("faces", made.faces)):
        text = f"{title}: {' '.join(names)}"
        lines += textwrap.wrap(text, 80, subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join(lines)


# The full state, for critics that may see everything during training.


@kernel
def write_state(rules, row, out):
    """Write the whole game into ``out`` (float32, shape ``(state_size,)``).

    Every hand and the draw pile per kind, the next card of the draw pile, the card just drawn,
    then what all see, from seat 0.
    """
    out[:] = 0
    kinds = rules.n_kinds
    pile = row.num_players * kinds
    at = pile + kinds
    for seat in range(row.num_players):
        _hand(rules, row, seat, out, seat * kinds, np.float32(1.0))
    for i in range(row.draw_count):
        kind = rules.card_kind[row.draw_pile[i]]
        out[pile + kind] += np.float32(1.0) / rules.copies[kind]
    at += kinds
    if row.draw_count > 0:
        out[at + rules.card_kind[row.draw_pile[row.draw_count - 1]]] = 1
    at += kinds
    if row.phase == Phase.DRAWN:
        out[at + rules.card_kind[row.drawn_card]] = 1
    at += kinds
    return _public(rules, row, 0, out, at, np.float32(1.0))


def state_size(rules: Rules, num_players: int) -> int:
    """The length of the full state vector."""
    private = {"hand", "discards", "known", "shown", "drawn"}
    public = sum(b.length for b in layout(rules, num_players) if b.name not in private)
    return (num_players + 4) * len(rules.kinds) + public
