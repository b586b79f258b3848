"""Colours, symbols, card kinds and decks, and their names (docs/rules.md, section 1).

A *card kind* is one distinct face, a *card* one physical piece of cardboard. Kinds are numbered
``0..n_kinds-1``: the coloured ones by colour, then by symbol, and the wilds after them. Card k is
the first copy of kind k; the further copies follow in the order of their kinds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

COLORS = ("R", "B", "G", "Y")
COLOR_NAMES = {"R": "red", "B": "blue", "G": "green", "Y": "yellow"}
DIGITS = tuple("0123456789")
ACTION_SYMBOLS = ("+1", "+2", "S", "V")
SYMBOLS = DIGITS + ACTION_SYMBOLS
WILDS = ("W", "WD", "W+2", "W+4")

ACTION_POINTS = 20
WILD_POINTS = 50

MAX_CARDS = 128
"""Physical cards that a row has room for."""
CARD_WORDS = MAX_CARDS // 64
"""The words of a set of physical cards (`bits`)."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One distinct face: a colour index and a symbol, or a wild (colour ``None``)."""

    color: int | None
    symbol: str
    copies: int

    @property
    def name(self) -> str:
        """``R5``, ``B+1``, ``W+2``: the name used everywhere."""
        return self.symbol if self.color is None else COLORS[self.color] + self.symbol

    @property
    def points(self) -> int:
        """What the card is worth to the winner when another seat holds it (section 6)."""
        if self.color is None:
            return WILD_POINTS
        return int(self.symbol) if self.symbol in DIGITS else ACTION_POINTS


def make_kinds(
    colors: int, symbols: Mapping[str, int], wild_copies: Mapping[str, int]
) -> tuple[Kind, ...]:
    """All card kinds with at least one copy, in the order of their ids."""
    coloured = [
        Kind(color, symbol, symbols[symbol])
        for color in range(colors)
        for symbol in SYMBOLS
        if symbols.get(symbol, 0) > 0
    ]
    wilds = [Kind(None, wild, wild_copies[wild]) for wild in WILDS if wild_copies.get(wild, 0) > 0]
    return tuple(coloured + wilds)
