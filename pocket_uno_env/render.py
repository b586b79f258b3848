"""The table as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .cards import COLOR_NAMES

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


def render_text(table: Mapping[str, Any]) -> str:
    """A snapshot as a few lines of text, all hands open.

    Parameters
    ----------
    table : dict
        As `snapshot.snapshot` makes it.
    """
    color = COLOR_NAMES.get(table["active_color"], "no colour yet")
    direction = "clockwise" if table["direction"] == 1 else "counter-clockwise"
    lines = [
        f"top {table['top']} ({color})   draw pile {len(table['draw_pile'])}   "
        f"discard pile {len(table['discard_pile'])}   {direction}"
    ]
    for seat, hand in enumerate(table["hands"]):
        mark = ">" if seat == table["to_act"] else " "
        dealer = "dealer" if seat == table["dealer"] else ""
        lines.append(
            f"{mark} player_{seat}  {table['scores'][seat]:>4}  {dealer:<6}  {' '.join(hand)}"
        )
    result = table["result"]
    if result is None:
        lines.append(f"player_{table['to_act']} {_ASKED[table['phase']]}")
    elif result["winner"] is None:
        lines.append(f"the round is {result['end']}: no winner")
    else:
        winner = result["winner"]
        lines.append(f"player_{winner} is out and scores {result['points'][winner]}")
    return "\n".join(lines)
