"""A game in words: plain dicts of names, for tests, tools and people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from pocket_uno_env.engine.state import NO_SEAT
from pocket_uno_env.rules.cards import COLORS
from pocket_uno_env.rules.limits import NO_COLOR
from pocket_uno_env.rules.phases import End, Phase
from pocket_uno_env.rules.rules import Rules

END_NAMES: dict[int, str | None] = {
    End.RUNNING: None,
    End.OUT: "out",
    End.BLOCKED: "blocked",
    End.TRUNCATED: "truncated",
}
"""`End` as it stands in a record."""


def phase_name(row: np.void) -> str:
    """The phase as a word: ``play drawn uno catch challenge give name over``."""
    return Phase(row["phase"]).name.lower()


def card_names(rules: Rules, row: np.void, cards: Iterable[int]) -> list[str]:
    """The names of physical cards."""
    kinds = rules._table["card_kind"][0]
    return [rules.kinds[kinds[card]].name for card in cards]


def _holds(cards: np.ndarray, card: int) -> bool:
    """`bits.has_card` for Python code."""
    return bool(int(cards[card // 64]) >> card % 64 & 1)


def round_result(row: np.void) -> dict[str, Any]:
    """The result of a round as it stands in a record; zeros while it runs."""
    winner = int(row["winner"])
    return {
        "winner": None if winner == NO_SEAT else winner,
        "points": [int(points) for points in row["points"][: row["num_players"]]],
        "end": END_NAMES[row["end"]],
    }


def snapshot(rules: Rules, row: np.void) -> dict[str, Any]:
    """Everything on and under the table, as names.

    Returns
    -------
    dict
        ``hands`` (card names per seat), ``top``, ``active_color`` (a letter, None before it is
        named), ``draw_pile`` and ``discard_pile`` (top first), ``direction`` (1 clockwise, -1),
        ``dealer``, ``to_act`` (a seat, None after the end), ``phase``, ``scores`` (match points,
        the finished round included) and ``result`` (None while the round runs).
    """
    seats = range(row["num_players"])
    deck = rules._table["deck"][0][: rules.n_cards].tolist()
    color, to_act = int(row["active_color"]), int(row["to_act"])
    discards = card_names(rules, row, row["discard_pile"][: row["discard_count"]][::-1])
    return {
        "hands": [
            card_names(rules, row, [card for card in deck if _holds(row["hands"][seat], card)])
            for seat in seats
        ],
        "top": discards[0],
        "active_color": None if color == NO_COLOR else COLORS[color],
        "draw_pile": card_names(rules, row, row["draw_pile"][: row["draw_count"]][::-1]),
        "discard_pile": discards,
        "direction": int(row["direction"]),
        "dealer": int(row["dealer"]),
        "to_act": None if to_act == NO_SEAT else to_act,
        "phase": phase_name(row),
        "scores": [int(row["scores"][seat]) for seat in seats],
        "result": None if row["end"] == End.RUNNING else round_result(row),
    }
