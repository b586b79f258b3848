"""The table as text, and the render modes of the environments.

Text is 80 columns wide and shows a card by its letters and, on a terminal, by its colour: the
letter of a colour stands in every card's name, so that nothing depends on seeing hues. Pictures and
windows need the extra ``render`` and are imported when they are asked for.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from .cards import COLOR_NAMES, WILDS

MODES = ("ansi", "rgb_array", "human")
WIDTH = 80
_ASKED = {
    "play": "plays a card or draws",
    "drawn": "plays the drawn card or keeps it",
    "uno": "says uno or stays silent",
    "catch": "catches the silent player or lets go",
    "challenge": "challenges or accepts",
    "give": "gives a card",
    "name": "names the colour",
    "stack": "stacks a draw card or takes the stack",
    "swap": "swaps hands with somebody",
    "jump": "jumps in or passes",
}
# Black or white on each hue, whichever is easier to read; wilds are reversed.
_INKS = {"R": "97;41", "B": "97;44", "G": "30;42", "Y": "30;43", "W": "1;7"}


def render_text(
    seen: Mapping[str, Any], players: Sequence[str] | None = None, color: bool = False
) -> str:
    """A table as a few lines of text.

    Parameters
    ----------
    seen : dict
        As `sight.sight` makes it.
    players : sequence of str, optional
        What to call the seats; default ``player_0``, ``player_1``, ...
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
        return f"{names[seen['to_act']]} {_ASKED[seen['phase']]}"
    if result["winner"] is None:
        return f"the round is {result['end']}: no winner"
    winner = result["winner"]
    points = result["points"][winner]
    if points == 0 and any(result["points"]):  # elimination: the others score against themselves
        return f"{names[winner]} is out; the others take the points they hold"
    return f"{names[winner]} is out and scores {points}"


class Display:
    """Shows a table in one of `MODES`.

    - ``"ansi"``: a text, cards coloured by escape sequences unless ``NO_COLOR`` is set
    - ``"rgb_array"``: a picture, uint8, shape ``(640, 1024, 3)``; needs Pillow
    - ``"human"``: a window; needs pygame and a screen. Without one of them the text is printed.
    """

    def __init__(self, mode: str | None) -> None:
        self.mode = mode
        self._window: Any = None

    def show(self, seen: Mapping[str, Any], caption: str = "") -> Any:
        """Show what `sight.sight` has seen; a text, a picture, or None for a window."""
        if self.mode == "rgb_array":
            from .picture import picture

            return picture(seen, caption)
        if self.mode == "human":
            if self._window is None:
                self._window = _open_window()
            if self._window:
                self._window.show(seen, caption)
                return None
        color = not os.environ.get("NO_COLOR")
        text = "\n".join(filter(None, [caption, render_text(seen, color=color)]))
        if self.mode == "ansi":
            return text
        print(text)
        return None

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window:
            self._window.close()
        self._window = None


def png(seen: Mapping[str, Any]) -> bytes | None:
    """A picture of what `sight.sight` has seen as a PNG file; None without Pillow."""
    try:
        from .picture import png_bytes
    except ImportError:
        return None
    return png_bytes(seen)


def _open_window() -> Any:
    """A window, or False where there can be none."""
    has_screen = sys.platform in ("win32", "darwin") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")
    )
    if not has_screen:
        return False
    try:
        from .window import Window

        return Window()
    except (ImportError, OSError, RuntimeError):  # pygame's own errors are RuntimeErrors
        return False
