"""The table as text: 80 columns, cards by their letters and, on a terminal, by their colour.

The letter of a colour stands in every card's name, so that nothing depends on seeing hues.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from pocket_uno_env.rules.cards import COLOR_NAMES, WILDS

from .prompts import PROMPTS

WIDTH = 80
# Black or white on each hue, whichever is easier to read; wilds are reversed.
_INKS = {"R": "97;41", "B": "97;44", "G": "30;42", "Y": "30;43", "W": "1;7"}


def render_text(
    seen: Mapping[str, Any], players: Sequence[str] | None = None, color: bool = False
) -> str:
    """A table as a few lines of text.

    Parameters
    ----------
    seen : dict
        As `seat_view.sight` makes it.
    players : sequence of str, optional
        What to call the seats; default ``player_0``, ``player_1``, ... The viewer may be "you".
    color : bool
        Colour the cards by ANSI escape sequences, as terminals and notebooks show them.
    """
    names = [f"player_{i}" for i in range(len(seen["hands"]))] if players is None else players
    named = COLOR_NAMES.get(seen["active_color"], "no colour yet")
    direction = "clockwise" if seen["direction"] == 1 else "counter-clockwise"
    lines = [
        f"top {card_text(seen['top'], color)} ({named})   draw pile {seen['draw_pile']}   "
        f"discard pile {len(seen['discard_pile'])}   {direction}"
    ]
    room = max(10, *(len(name) for name in names))
    for seat, hand in enumerate(seen["hands"]):
        mark = ">" if seat == seen["to_act"] else " "
        dealer = "dealer" if seat == seen["dealer"] else ""
        head = f"{mark} {names[seat]:<{room}} {seen['scores'][seat]:>4}  {dealer:<6}  "
        for line in hand_lines(hand, WIDTH - len(head)):
            lines.append(head + " ".join(card_text(card, color) for card in line))
            head = " " * len(head)
    lines.append(_ending(seen, names))
    return "\n".join(lines)


def card_text(card: str, color: bool = False) -> str:
    """A card's name, coloured if wanted; what is no card stays as it is."""
    ink = _INKS.get(card[:1]) if card in WILDS or card[:1] in COLOR_NAMES else None
    return f"\x1b[{ink}m{card}\x1b[0m" if color and ink else card


def chances_text(chances: Sequence[float], players: Sequence[str]) -> str:
    """Each seat's chance to win the match, as a sentence."""
    shares = ", ".join(f"{who} {100 * p:.1f} %" for who, p in zip(players, chances, strict=True))
    return f"Chances to win the match: {shares}."


def hand_lines(hand: Mapping[str, Any], width: int) -> list[list[str]]:
    """A hand as lines of card names no wider than `width`; cards face down are ``##``."""
    cards = hand["cards"]
    if cards is None:
        known = list(hand["known"])
        cards = known + ["##"] * (hand["size"] - len(known))
        if hand["size"] > 12:
            cards = [*known, f"## x{hand['size'] - len(known)}"]
    joined = " ".join(cards) or "-"
    lines = textwrap.wrap(joined, width, break_on_hyphens=False, break_long_words=False)
    return [line.split() for line in lines]


def _ending(seen: Mapping[str, Any], names: Sequence[str]) -> str:
    result = seen["result"]
    if result is None:
        return f"{names[seen['to_act']]} {PROMPTS[seen['phase']].about}"
    if result["winner"] is None:
        return f"the round is {result['end']}: no winner"
    winner = result["winner"]
    points = result["points"][winner]
    are, score = ("are", "score") if names[winner] == "you" else ("is", "scores")
    if points == 0 and any(result["points"]):  # elimination: the others score against themselves
        return f"{names[winner]} {are} out; the others take the points they hold"
    return f"{names[winner]} {are} out and {score} {points}"
