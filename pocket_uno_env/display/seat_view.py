"""What somebody sees of the table, in words: a seat, or a spectator to whom all hands are open.

Pictures, texts and pages are drawn from this and from nothing else, so that what a seat is shown
is what it may know. Names and counts alone stand in it; it is ready for ``json.dumps``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pocket_uno_env.observation.blocks import layout, observation_size
from pocket_uno_env.records.snapshot import snapshot
from pocket_uno_env.row_kernels import observe_row
from pocket_uno_env.rows import legal_names
from pocket_uno_env.rules.rules import Rules


def sight(rules: Rules, rows: Any, seat: int | None = None) -> dict[str, Any]:
    """The table as `seat` sees it, or with all hands open.

    Parameters
    ----------
    rows : structured array, dtype `state.ROW`
        The first row is the game.
    seat : int or None
        Whose eyes; None is a spectator.

    Returns
    -------
    dict
        ``seat``; ``top``, ``active_color``, ``direction``, ``dealer``, ``to_act``, ``phase``,
        ``scores`` and ``result`` as in `snapshot`; ``discard_pile`` (top first); ``draw_pile``, how
        many cards are in it; ``actor``, the seat whose play is in question, or None; ``drawn``, the
        card just drawn that the viewer may play, or None; ``legal``, the names of the viewer's
        legal actions (a spectator's: of the seat to act); and ``hands``, for each seat ``size``,
        ``cards`` (None if face down) and ``known``, the cards in it that the viewer knows of.

    Notes
    -----
    A round that was won lays all hands open, since they are counted (docs/rules.md, section 6).
    """
    table = snapshot(rules, rows[0])
    seats = len(table["hands"])
    blocks = Blocks(rules, seats, rows, 0 if seat is None else seat)
    running = table["result"] is None
    counted = not running and table["result"]["end"] == "out"
    mine = running and (seat is None or seat == table["to_act"])
    hands = []
    for other, cards in enumerate(table["hands"]):
        open_ = seat is None or other == seat or counted
        known = [] if open_ else blocks.known(other)
        hands.append({"size": len(cards), "cards": cards if open_ else None, "known": known})
    drawn = None
    if mine and table["phase"] == "drawn":
        drawn = Blocks(rules, seats, rows, table["to_act"]).cards("drawn")[0]
    public = ("top", "active_color", "direction", "dealer", "to_act", "phase", "scores", "result")
    return {
        "seat": seat,
        **{name: table[name] for name in public},
        "discard_pile": table["discard_pile"],
        "draw_pile": len(table["draw_pile"]),
        "actor": blocks.seat("actor") if running else None,
        "drawn": drawn,
        "legal": legal_names(rules, rows) if mine else [],
        "hands": hands,
    }


class Blocks:
    """The observation of a seat, read back as cards and seats.

    Parameters
    ----------
    rows : structured array, dtype `state.ROW`
        The first row is the game.
    seat : int
        The observer.
    """

    def __init__(self, rules: Rules, num_players: int, rows: Any, seat: int) -> None:
        self.rules, self.num_players, self.observer = rules, num_players, seat
        vector = np.zeros(observation_size(rules, num_players), np.float32)
        observe_row(rules._table, rows, seat, vector)
        self._blocks = {b.name: vector[b.slice] for b in layout(rules, num_players)}

    def __getitem__(self, name: str) -> np.ndarray:
        """The values of a block (`blocks.layout`)."""
        return self._blocks[name]

    def counts(self, name: str) -> np.ndarray:
        """A block of one share per kind as numbers of cards: int64, shape ``(n, n_kinds)``."""
        copies = np.array([kind.copies for kind in self.rules.kinds])
        shares = self[name].reshape(-1, len(copies))
        counts: np.ndarray = np.rint(shares * copies).astype(np.int64)
        return counts

    def cards(self, name: str, line: int = 0) -> list[str]:
        """The names of the cards in one line of `counts`."""
        return named(self.rules, self.counts(name)[line])

    def known(self, seat: int) -> list[str]:
        """The cards that the observer knows another seat to hold."""
        return self.cards("known", (seat - self.observer) % self.num_players - 1)

    def size(self, seat: int) -> int:
        """How many cards a seat holds."""
        places = (seat - self.observer) % self.num_players
        share = self["hand_sizes"].reshape(self.num_players, -1)[places, 0]
        return round(float(share) * self.rules.n_cards)

    def shown(self) -> list[str]:
        """The observer's own cards that some other seat knows."""
        return named(self.rules, self.counts("shown").max(axis=0))

    def seat(self, name: str) -> int | None:
        """The seat that a block of one value per seat marks, or None."""
        marked = np.flatnonzero(self[name])
        return int(marked[0] + self.observer) % self.num_players if len(marked) else None


def named(rules: Rules, counts: Sequence[int] | np.ndarray) -> list[str]:
    """Card names from how many there are of each kind."""
    return [
        kind.name for kind, count in zip(rules.kinds, counts, strict=True) for _ in range(count)
    ]
