"""Blocks."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from functools import lru_cache

from pocket_uno_env.rules.phases import Phase
from pocket_uno_env.rules.rules import Rules

from .encoders import SIZE_BINS


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
