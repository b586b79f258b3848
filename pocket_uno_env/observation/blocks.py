"""The observation as one table of blocks, from which vector, layout and description follow."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from pocket_uno_env.compiled.kernel import inlined
from pocket_uno_env.compiled.write_values import holds_bytes
from pocket_uno_env.rules.phases import Phase
from pocket_uno_env.rules.rules import Rules

from .encoders import (
    COMPACT_SCALE,
    SIZE_BINS,
    write_discards,
    write_drawn,
    write_hand,
    write_hand_sizes,
    write_known,
    write_off_color,
    write_piles,
    write_scores,
    write_shown,
    write_stack,
    write_table,
    write_turn,
)


@dataclass(frozen=True, slots=True)
class BlockSpec:
    """A line of the table: what is known of a block before the rules are.

    Attributes
    ----------
    name : str
    shape : tuple of str and int
        One value for each "kind", "face", "color", "phase", "seat" or "other" seat, or a number;
        the last changes fastest.
    meaning : str
        For `describe`; ``{phases}`` stands for the names of the phases.
    when : str
        The field of the rules without which there is no such block; empty if it is always there.
    """

    name: str
    shape: tuple[str | int, ...]
    meaning: str
    when: str = ""


class Written(NamedTuple):
    """Neighbouring blocks and the kernel that fills them, in one go; see `encoders`.

    Under rules without the first of them nothing is written.
    """

    encode: Any
    blocks: tuple[BlockSpec, ...]


PRIVATE = (
    Written(write_hand, (BlockSpec("hand", ("kind",), "own cards, per kind: held / copies"),)),
    Written(
        write_discards,
        (BlockSpec("discards", ("kind",), "discard pile, per kind: there / copies"),),
    ),
    Written(
        write_known,
        (
            BlockSpec(
                "known", ("other", "kind"), "known cards of each other hand, per seat and kind"
            ),
        ),
    ),
    Written(
        write_shown,
        (
            BlockSpec(
                "shown", ("other", "kind"), "own cards each other seat knows, per seat and kind"
            ),
        ),
    ),
    Written(
        write_drawn, (BlockSpec("drawn", ("kind",), "the card just drawn that may be played"),)
    ),
)
"""The blocks of cards: a seat's own knowledge, which the full state has in other words."""

PUBLIC = (
    Written(
        write_piles,
        (
            BlockSpec("top", ("face",), "symbol or wild on top"),
            BlockSpec("active_color", ("color",), "the colour to match; zeros before it is named"),
            BlockSpec("top_before", ("face",), "* the top before the play in question"),
            BlockSpec("color_before", ("color",), "* the active colour before that play"),
        ),
    ),
    Written(
        write_turn,
        (
            BlockSpec("phase", ("phase",), "{phases}"),
            BlockSpec("to_act", ("seat",), "the seat to act"),
            BlockSpec("actor", ("seat",), "* the seat whose play is in question"),
            BlockSpec("dealer", ("seat",), "the dealer"),
        ),
    ),
    Written(
        write_hand_sizes,
        (
            BlockSpec(
                "hand_sizes",
                ("seat", 1 + SIZE_BINS),
                f"per seat: cards / deck; is it 1, 2, ... {SIZE_BINS} or more",
            ),
        ),
    ),
    Written(
        write_table,
        (BlockSpec("table", (4,), "clockwise; draw, discard pile / deck; passes / seats"),),
    ),
    Written(
        write_scores, (BlockSpec("scores", ("seat",), "per seat: match points / goal, at most 1"),)
    ),
    Written(
        write_off_color,
        (
            BlockSpec(
                "off_color",
                ("seat", "color"),
                "per seat and colour: share of the hand not of it, by\n"
                "what all saw (it drew, or was innocent)",
            ),
        ),
    ),
    Written(
        write_stack,
        (BlockSpec("stack", (1,), "cards that wait to be drawn / deck", "stacking"),),
    ),
)
"""The blocks that everyone can see, from the observer's place; the full state ends with them."""

BLOCKS = tuple(block for written in PRIVATE + PUBLIC for block in written.blocks)
"""All blocks in the order of the vector."""


@inlined
def _nothing(rules, row, seat, out, at, one):
    return at


def _encoder_of(written: Written) -> Any:
    """The encoder, which writes nothing where the rules have no such blocks."""
    encode, when = written.encode, written.blocks[0].when
    if not when:
        return encode

    @inlined
    def write(rules: Any, row: Any, seat: Any, out: Any, at: Any, one: Any) -> Any:
        return encode(rules, row, seat, out, at, one) if rules[when] else at

    return write


def _in_turn(first: Any, second: Any, third: Any, fourth: Any) -> Any:
    """One encoder that runs four, each behind the one before."""

    @inlined
    def write(rules: Any, row: Any, seat: Any, out: Any, at: Any, one: Any) -> Any:
        at = first(rules, row, seat, out, at, one)
        at = second(rules, row, seat, out, at, one)
        at = third(rules, row, seat, out, at, one)
        return fourth(rules, row, seat, out, at, one)

    return write


def _all_of(table: Iterable[Written]) -> Any:
    """One encoder for all these blocks: a shallow tree, since each level is compiled anew."""
    encoders = [_encoder_of(written) for written in table]
    while len(encoders) > 1:
        encoders += [_nothing] * (-len(encoders) % 4)
        encoders = [_in_turn(*encoders[i : i + 4]) for i in range(0, len(encoders), 4)]
    return encoders[0]


_write_private = _all_of(PRIVATE)
write_public = _all_of(PUBLIC)
"""The encoder of all `PUBLIC` blocks."""


@inlined
def write_observation(rules, row, seat, out):
    """Write what `seat` may know into ``out``, shape ``(observation_size,)``.

    float32: values in [0, 1]. uint8: the same times `COMPACT_SCALE`, rounded.
    """
    out[0] = COMPACT_SCALE if holds_bytes(out) else 1
    one = out[0]
    at = _write_private(rules, row, seat, out, 0, one)
    return write_public(rules, row, seat, out, at, one)


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


@lru_cache(maxsize=256)
def layout(rules: Rules, num_players: int) -> tuple[Block, ...]:
    """The blocks of the observation for `rules` and `num_players`, in order."""
    phases = [phase.name.lower() for phase in Phase][: int(rules._table["n_phases"][0])]
    lengths = {
        "kind": len(rules.kinds),
        "face": len(rules.faces),
        "color": rules.colors,
        "phase": len(phases),
        "seat": num_players,
        "other": num_players - 1,
    }
    result, start = [], 0
    for block in BLOCKS:
        if block.when and not getattr(rules, block.when):
            continue
        length = math.prod(n if isinstance(n, int) else lengths[n] for n in block.shape)
        meaning = block.meaning.format(phases=", ".join(phases))
        result.append(Block(block.name, start, length, meaning))
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
