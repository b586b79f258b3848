"""The table as a picture, drawn with Pillow: 1024 by 640 pixels, cards drawn by code.

Every colour has a shape of its own, so that nothing depends on seeing hues: red diamonds, blue
discs, green triangles, yellow stars. The hues are those of M. Okabe and K. Ito, "Color Universal
Design", 2008, which people with any kind of colour vision can tell apart.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from pocket_uno_env.rules.cards import COLOR_NAMES, COLORS, WILDS

from .prompts import PROMPTS

WIDTH, HEIGHT = 1024, 640
_SCALE = 2
"""Everything is drawn this much larger and then made smaller, which smooths its edges."""
HUES = {"R": "#d0432f", "B": "#0072b2", "G": "#00926a", "Y": "#f0c419"}
PAPER, INK, FELT, QUIET = "#fffdf6", "#1d2433", "#24384a", "#9fb3c4"
_SHAPES: dict[str, list[tuple[float, float]]] = {
    "R": [(0, -1), (0.8, 0), (0, 1), (-0.8, 0)],
    "G": [(0, -0.95), (1, 0.8), (-1, 0.8)],
    "Y": [
        (math.sin(i * math.pi / 5) * r, -math.cos(i * math.pi / 5) * r)
        for i, r in enumerate([1.05, 0.48] * 5)
    ],
}
"""Polygons about the middle; blue is a disc."""


def picture(seen: Mapping[str, Any], caption: str = "") -> np.ndarray:
    """A table as an array of pixels.

    Parameters
    ----------
    seen : dict
        As `seat_view.sight` makes it.
    caption : str
        A line of text at the top.

    Returns
    -------
    uint8 array, shape ``(640, 1024, 3)``
    """
    return np.asarray(_table(seen, caption))


def png_bytes(seen: Mapping[str, Any]) -> bytes:
    """The same picture as a PNG file."""
    stream = io.BytesIO()
    _table(seen, "").save(stream, "PNG")
    return stream.getvalue()


def _table(seen: Mapping[str, Any], caption: str) -> Image.Image:
    image = Image.new("RGB", (WIDTH * _SCALE, HEIGHT * _SCALE), FELT)
    pen = _Pen(image)
    pen.round_box((24, 24, WIDTH - 24, HEIGHT - 24), 90, "#2b4459", "#3a566d")
    seats = len(seen["hands"])
    first = seen["seat"] or 0
    others = [(first + i) % seats for i in range(1, seats)]
    columns = min(len(others), 3)
    rows = -(-len(others) // columns)
    height = 252 / rows
    for i, seat in enumerate(others):
        line, place = divmod(i, columns)
        in_line = min(columns, len(others) - line * columns)
        width = (WIDTH - 120) / in_line
        left = 60 + place * width
        box = (left, 40 + line * height, left + width, 40 + (line + 1) * height)
        _seat(pen, seen, seat, box, min(height - 46, 110))
    _middle(pen, seen)
    _seat(pen, seen, first, (60, 468, WIDTH - 60, 622), 118)
    if caption:
        pen.text((WIDTH / 2, 14), caption, 15, QUIET)
    return image.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)


def _seat(
    pen: _Pen,
    seen: Mapping[str, Any],
    seat: int,
    box: tuple[float, float, float, float],
    height: float,
) -> None:
    """A seat's name, score and hand, in the middle of a box."""
    left, top, right, _ = box
    hand, middle = seen["hands"][seat], (left + right) / 2
    turn = seat == seen["to_act"]
    name = f"player_{seat}" + (" (dealer)" if seat == seen["dealer"] else "")
    text = (
        f"{name}   {seen['scores'][seat]} points   {hand['size']} card{'s' * (hand['size'] != 1)}"
    )
    if turn:
        half = pen.width(text, 15) / 2 + 14
        pen.round_box((middle - half, top + 1, middle + half, top + 25), 12, "#ffe9a8")
    pen.text((middle, top + 13), text, 15, INK if turn else PAPER)
    cards = hand["cards"]
    if cards is None:
        cards = [*hand["known"], *["back"] * (hand["size"] - len(hand["known"]))]
    pen.cards(cards, middle, top + 32, height, right - left - 16)


def _middle(pen: _Pen, seen: Mapping[str, Any]) -> None:
    """Both piles, the active colour, the direction, and who is asked what."""
    top, height = 300, 130
    pen.cards(["back"] * min(3, seen["draw_pile"]), 398, top, height, 100)
    pen.text((398, top + height + 20), f"draw pile {seen['draw_pile']}", 14, PAPER)
    color = seen["active_color"]
    if color:
        pen.round_box((464, top - 9, 464 + 106, top + height + 9), 16, HUES[color])
    pen.cards([seen["top"]], 517, top, height, 100)
    pen.text((517, top + height + 20), f"discard pile {len(seen['discard_pile'])}", 14, PAPER)
    if color:
        pen.shape(color, (632, top + 44), 24, HUES[color], PAPER)
        pen.text((632, top + 86), COLOR_NAMES[color], 18, PAPER)
    arrow = "clockwise" if seen["direction"] == 1 else "counter-clockwise"
    pen.direction((250, top + 56), 34, seen["direction"])
    pen.text((250, top + 110), arrow, 14, PAPER)
    result = seen["result"]
    if result is None:
        text = f"player_{seen['to_act']}: {PROMPTS[seen['phase']].short}"
    elif result["winner"] is None:
        text = f"the round is {result['end']}"
    else:
        text = f"player_{result['winner']} wins {sum(result['points'])} points"
    pen.text((790, top + 66), text, 18, "#ffe9a8")


class _Pen:
    """Draws on an image in units of the finished picture."""

    def __init__(self, image: Image.Image) -> None:
        self.image = image
        self.draw = ImageDraw.Draw(image)

    def round_box(
        self,
        box: tuple[float, float, float, float],
        radius: float,
        fill: str,
        outline: str | None = None,
    ) -> None:
        scaled = tuple(value * _SCALE for value in box)
        self.draw.rounded_rectangle(scaled, radius * _SCALE, fill, outline, 2 * _SCALE)

    def text(self, at: tuple[float, float], text: str, size: float, fill: str) -> None:
        place = (at[0] * _SCALE, at[1] * _SCALE)
        self.draw.text(place, text, fill, _font(round(size * _SCALE)), "mm")

    def width(self, text: str, size: float) -> float:
        return self.draw.textlength(text, _font(round(size * _SCALE))) / _SCALE

    def shape(
        self,
        color: str,
        at: tuple[float, float],
        size: float,
        fill: Any,
        outline: str | None = None,
    ) -> None:
        draw_shape(self.draw, color, (at[0] * _SCALE, at[1] * _SCALE), size * _SCALE, fill, outline)

    def cards(
        self, cards: Sequence[str], middle: float, top: float, height: float, room: float
    ) -> None:
        """Cards side by side, over one another as far as the room demands."""
        if not cards:
            return
        width = height * 2 / 3
        step = width + 6
        if len(cards) > 1:
            step = min(step, (room - width) / (len(cards) - 1))
        left = middle - (width + step * (len(cards) - 1)) / 2
        for i, card in enumerate(cards):
            face = card_image(card, round(height * _SCALE))
            self.image.paste(face, (round((left + i * step) * _SCALE), round(top * _SCALE)), face)

    def direction(self, at: tuple[float, float], radius: float, direction: int) -> None:
        """Three quarters of a circle with an arrowhead."""
        x, y, r = at[0] * _SCALE, at[1] * _SCALE, radius * _SCALE
        box = (x - r, y - r, x + r, y + r)
        # Seats go clockwise round the table as one looks down on it.
        start, end = (-60, 210) if direction == 1 else (-30, 240)
        self.draw.arc(box, start, end, QUIET, 5 * _SCALE)
        tip = math.radians(end if direction == 1 else start)
        px, py = x + r * math.cos(tip), y + r * math.sin(tip)
        ahead = tip + direction * math.pi / 2
        head = [
            (px + 16 * _SCALE * math.cos(ahead + turn), py + 16 * _SCALE * math.sin(ahead + turn))
            for turn in (0, 2.2, -2.2)
        ]
        self.draw.polygon(head, QUIET)


@lru_cache(maxsize=64)
def _font(size: int) -> Any:
    return ImageFont.load_default(size)


def draw_shape(
    draw: ImageDraw.ImageDraw,
    color: str,
    at: tuple[float, float],
    size: float,
    fill: Any,
    outline: str | None = None,
) -> None:
    """Draw the shape of a colour about a point; `size` is half its height."""
    x, y = at
    line = max(1, round(size / 12))
    if color == "B":
        r = size * 0.9
        draw.ellipse((x - r, y - r, x + r, y + r), fill, outline, line)
    else:
        points = [(x + size * px, y + size * py) for px, py in _SHAPES[color]]
        draw.polygon(points, fill, outline, line)


@lru_cache(maxsize=512)
def card_image(card: str, height: int) -> Image.Image:
    """One card, or ``"back"``, with transparent corners; it is 2/3 as wide as high."""
    width = height * 2 // 3
    image = Image.new("RGBA", (width, height))
    draw = ImageDraw.Draw(image)
    unit = height / 150
    draw.rounded_rectangle((0, 0, width - 1, height - 1), 11 * unit, PAPER, "#00000055")
    inner = (5 * unit, 5 * unit, width - 1 - 5 * unit, height - 1 - 5 * unit)
    wild = card in WILDS
    hue = INK if wild or card == "back" else HUES[card[0]]
    draw.rounded_rectangle(inner, 8 * unit, hue)
    if card == "back":
        _back(draw, unit)
        return image
    ink = INK if card[0] == "Y" else PAPER
    label = card.removeprefix("W") if wild else card[1:]
    if wild:
        _four_shapes(draw, unit, 11 if label else 15)
    else:
        tint = Image.new("RGBA", image.size)
        draw_shape(
            ImageDraw.Draw(tint), card[0], (50 * unit, 76 * unit), 44 * unit, (255, 255, 255, 70)
        )
        image.alpha_composite(tint)
    _symbol(draw, label, (50 * unit, 75 * unit), 29 * unit, ink, wild)
    corner = "W" if wild else card[0]
    for turned in (False, True):
        if turned:
            image = image.rotate(180)
            draw = ImageDraw.Draw(image)
        if wild:
            for i, color in enumerate(COLORS):
                at = ((14 + 8 * (i % 2)) * unit, (15 + 8 * (i // 2)) * unit)
                draw_shape(draw, color, at, 4 * unit, HUES[color])
        else:
            _symbol(draw, label, (17 * unit, 19 * unit), 8.5 * unit, ink, wild)
            draw_shape(draw, corner, (17 * unit, 36 * unit), 6 * unit, ink)
    return image.rotate(180)


def _four_shapes(draw: ImageDraw.ImageDraw, unit: float, size: float) -> None:
    for i, color in enumerate(COLORS):
        across, down = (20, 20) if size > 12 else (26, 33)
        x, y = 50 + across * (-1 if i % 2 == 0 else 1), 75 + down * (-1 if i < 2 else 1)
        draw_shape(draw, color, (x * unit, y * unit), size * unit, HUES[color])


def _back(draw: ImageDraw.ImageDraw, unit: float) -> None:
    """A shirt pocket with a card in it."""

    def box(*values: float) -> tuple[float, ...]:
        return tuple(value * unit for value in values)

    draw.rounded_rectangle(box(10, 10, 90, 140), 6 * unit, None, "#51627d", round(2 * unit))
    draw.rounded_rectangle(box(38, 48, 62, 90), 4 * unit, PAPER)
    for i, color in enumerate(COLORS):
        x, y = 45 + 10 * (i % 2), 56 + 10 * (i // 2)
        draw_shape(draw, color, (x * unit, y * unit), 4 * unit, HUES[color])
    pocket = [(26, 72), (74, 72), (74, 100), (50, 112), (26, 100)]
    draw.polygon([(x * unit, y * unit) for x, y in pocket], "#51627d")
    draw.line(box(30, 79, 70, 79), "#8fa2bf", max(1, round(1.5 * unit)))


def _symbol(
    draw: ImageDraw.ImageDraw,
    label: str,
    at: tuple[float, float],
    size: float,
    ink: str,
    wild: bool,
) -> None:
    """A number, or the sign of an action; `size` is half its height."""
    x, y = at
    line = max(1, round(size / 4.5))
    if wild and label:
        draw.ellipse((x - size, y - size, x + size, y + size), PAPER)
        ink, size = INK, size * 0.72
        line = max(1, round(size / 4.5))
    if label == "S":  # a hop over somebody
        draw.arc((x - size, y - size * 0.9, x + size, y + size * 1.1), 180, 350, ink, line)
        draw.ellipse((x - size * 0.3, y + size * 0.2, x + size * 0.3, y + size * 0.8), ink)
        _head(draw, (x + size * 0.98, y + size * 0.15), size * 0.5, math.pi / 2, ink)
    elif label == "V":  # there and back
        for side in (-1, 1):
            dy = y + side * size * 0.42
            draw.line((x - size * 0.8, dy, x + size * 0.8, dy), ink, line)
            angle = 0.0 if side < 0 else math.pi
            _head(draw, (x - side * size * 0.75, dy), size * 0.5, angle, ink)
    elif label == "D":  # down into the deck
        draw.line((x, y - size, x, y + size * 0.3), ink, line)
        _head(draw, (x, y + size * 0.2), size * 0.55, math.pi / 2, ink)
        draw.line((x - size * 0.8, y + size, x + size * 0.8, y + size), ink, line)
    elif label:
        font = _font(max(6, round(size * (2.4 if len(label) == 1 else 1.9))))
        draw.text(
            at, label, ink, font, "mm", stroke_width=max(0, round(size / 14)), stroke_fill=ink
        )


def _head(
    draw: ImageDraw.ImageDraw, at: tuple[float, float], size: float, angle: float, ink: str
) -> None:
    """An arrowhead."""
    points = [
        (at[0] + size * math.cos(angle + turn), at[1] + size * math.sin(angle + turn))
        for turn in (0, 2.2, -2.2)
    ]
    draw.polygon(points, ink)
