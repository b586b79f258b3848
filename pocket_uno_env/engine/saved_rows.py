"""Whether rows that come from a file are games: kernels believe every number in a row."""

from __future__ import annotations

from typing import Any

import numpy as np

from pocket_uno_env.arguments import MAX_COUNT
from pocket_uno_env.rules.cards import MAX_CARDS
from pocket_uno_env.rules.limits import MAX_SEATS, NO_COLOR, NO_KIND
from pocket_uno_env.rules.phases import End, Phase
from pocket_uno_env.rules.rules import Rules

from .state import NO_CARD, NO_SEAT

_RESOLVED = (Phase.PLAY, Phase.DRAWN, Phase.NAME)
"""The phases in which no play is in question."""


def phases_of(rules: Rules) -> list[Phase]:
    """The phases in which a running round of `rules` can be."""
    table = rules._table[0]
    wilds = rules.wild_copies
    challenged = wilds["W+2"] or (wilds["W+4"] and not table["w4_enforced"])
    there = {
        Phase.UNO: not table["uno_automatic"],
        Phase.CATCH: not table["uno_automatic"],
        Phase.CHALLENGE: challenged and not table["stacking"],
        Phase.GIVE: wilds["WD"],
        Phase.NAME: table["opening_wild_stays"],
        Phase.STACK: table["stacking"],
        Phase.SWAP: table["seven_zero"],
        Phase.JUMP: table["jump_in"],
        Phase.OVER: False,
    }
    return [phase for phase in Phase if there.get(phase, True)]


def check_running(rules: Rules, num_players: int, rows: np.ndarray) -> None:
    """Check that rows are running rounds of a game.

    Every field that a kernel goes by is one that the game can have, every card is in one place, and
    what a row says twice it says alike. Whether play leads there is not asked.

    Parameters
    ----------
    rows : structured array, dtype `state.ROW`, shape ``(n,)``

    Raises
    ------
    ValueError
        Naming the first row that is none, the field and its value.
    """
    _Check(rules, num_players, rows).run()


class _Check:
    def __init__(self, rules: Rules, num_players: int, rows: np.ndarray) -> None:
        self.table = rules._table[0]
        self.rules = rules
        self.seats = num_players
        self.rows = rows.view(np.ndarray)
        self.n_cards = rules.n_cards

    def run(self) -> None:
        self.table_talk()
        self.turn()
        self.piles()
        self.hands()

    def demand(self, field: str, right: Any, expected: str) -> None:
        """ValueError at the first row in which `right`, bool ``(n, ...)``, does not hold."""
        wrong = ~np.asarray(right).reshape(len(self.rows), -1).all(1)
        if wrong.any():
            place = int(wrong.argmax())
            value = self.rows[field][place]
            shown = f" is {value}" if np.ndim(value) == 0 else ""
            raise ValueError(f"game {place} is none: {field}{shown}; expected {expected}")

    def at_most(self, field: str, most: Any, least: int = 0) -> None:
        values = self.rows[field].astype(np.int64)
        # Other seats than those that play have nothing.
        if values.ndim > 1:
            most = np.where(np.arange(MAX_SEATS) < self.seats, most, 0)
            most = most.reshape(-1, MAX_SEATS, *[1] * (values.ndim - 2))
        text = f"{least} to {most}" if np.ndim(most) == 0 else "less"
        self.demand(field, (values >= least) & (values <= most), text)

    def among(self, field: str, values: Any) -> None:
        found = self.rows[field].astype(np.int64)
        self.demand(field, np.isin(found, values), f"one of {', '.join(map(str, values))}")

    def table_talk(self) -> None:
        """The numbers that are there in every phase."""
        rows, seats = self.rows, self.seats
        self.among("num_players", [seats])
        self.among("end", [int(End.RUNNING)])
        self.among("winner", [NO_SEAT])
        self.among("direction", [-1, 1])
        self.at_most("dealer", seats - 1)
        self.at_most("out", 2**seats - 1)
        inside = seats - self.bits(rows["out"]).sum(1)
        self.demand("players_in", rows["players_in"] == inside, "those that are not out")
        self.demand("players_in", inside >= 2, "2 or more")
        self.at_most("passes", seats)
        self.at_most("decisions", MAX_COUNT)
        self.at_most("round_index", MAX_COUNT)
        self.at_most("scores", MAX_COUNT)
        self.at_most("points", 0)
        for field in ("guilty", "caught"):
            self.demand(field, rows[field].view(np.uint8) <= 1, "0 or 1")

    def turn(self) -> None:
        """Who has to decide what."""
        rows, seats = self.rows, self.seats
        self.among("phase", [int(phase) for phase in phases_of(self.rules)])
        phase = rows["phase"]
        out = np.zeros((len(rows), NO_SEAT + 1), bool)
        out[:, : 8 * rows["out"].itemsize] = self.bits(rows["out"])
        every = np.arange(len(rows))
        self.at_most("to_act", seats - 1)
        self.demand("to_act", ~out[every, rows["to_act"]], "a seat that is not out")
        nobody = rows["actor"] == NO_SEAT
        resolved = np.isin(phase, _RESOLVED)
        self.demand("actor", nobody & resolved | (rows["actor"] < seats), "a seat")
        self.demand("actor", ~out[every, rows["actor"]], "a seat that is not out")
        waiting = int(self.table["copies"] @ self.table["kind_draws"])
        self.at_most("stack", np.where(resolved, 0, waiting))
        n_kinds, n_colors = int(self.table["n_kinds"]), int(self.table["n_colors"])
        named = rows["active_color"] < n_colors
        nameless = (rows["active_color"] == NO_COLOR) & (phase == Phase.NAME)
        self.demand("active_color", named | nameless, "a colour, or none before it is named")
        self.at_most("top", n_kinds - 1)
        before = rows["top_before"]
        self.demand("top_before", (before < n_kinds) | (before == NO_KIND) & nobody, "a kind")
        before = rows["color_before"]
        self.demand("color_before", (before < n_colors) | (before == NO_COLOR), "a colour, or none")

    def piles(self) -> None:
        """The draw pile and the discard pile."""
        rows, every = self.rows, np.arange(len(self.rows))
        self.places = np.zeros((len(rows), MAX_CARDS), np.int64)
        for pile, count in (("draw_pile", "draw_count"), ("discard_pile", "discard_count")):
            self.at_most(count, self.n_cards)
            there = np.arange(MAX_CARDS) < rows[count][:, None]
            self.demand(pile, ~there | (rows[pile] < self.n_cards), "cards of the deck")
            row, place = np.nonzero(there)
            found = np.zeros_like(self.places)
            np.add.at(found, (row, rows[pile][row, place]), 1)
            self.places += found
        self.demand("discard_count", rows["discard_count"] > 0, "1 or more")
        discards = self.bits(rows["discards"])
        self.demand("discards", discards == found, "the cards of the discard pile")
        self.demand("discard_kinds", self.kinds(discards) == rows["discard_kinds"], "their kinds")
        top = rows["discard_pile"][every, rows["discard_count"] - 1]
        self.demand("top", self.table["card_kind"][top] == rows["top"], "that of the discard pile")

    def hands(self) -> None:
        """The hands, and what is known of them."""
        rows, every = self.rows, np.arange(len(self.rows))
        hands = self.bits(rows["hands"])
        sizes = hands.sum(2)
        self.demand("hands", (self.places + hands.sum(1))[:, : self.n_cards] == 1, "each card once")
        self.demand("hands", ~hands[:, :, self.n_cards :].any((1, 2)), "cards of the deck")
        playing = (np.arange(MAX_SEATS) < self.seats) & ~self.bits(rows["out"])[:, :MAX_SEATS]
        self.demand("hands", (sizes > 0) == playing, "some at each seat that plays")
        self.demand("hand_size", sizes == rows["hand_size"], "as many as in the hands")
        self.demand("hand_kinds", self.kinds(hands) == rows["hand_kinds"], "those in the hands")
        held = np.asarray(hands.any(1))
        for field in ("known", "shown"):
            seen = self.bits(rows[field])
            self.demand(field, ~(seen & ~held[:, None]).any((1, 2)), "cards in hands")
            self.demand(field, ~seen[:, self.seats :].any((1, 2)), "nothing at empty seats")
        self.at_most("off_color", rows["hand_size"].astype(np.int64))
        drawn = rows["drawn_card"]
        own = np.zeros((len(rows), NO_CARD + 1), bool)
        own[:, :MAX_CARDS] = hands[every, rows["to_act"]]
        waits = rows["phase"] == Phase.DRAWN
        right = np.where(waits, own[every, drawn], drawn == NO_CARD)
        self.demand("drawn_card", right, "a card of the hand in phase drawn, else none")

    def bits(self, sets: np.ndarray) -> np.ndarray:
        """What is in sets: bool, the words of the last axis of a set of cards one after the other.

        Of sets in single numbers, shape ``(n,)``, the bits are the last axis.
        """
        words = np.ascontiguousarray(sets if sets.ndim > 1 else sets[:, None])
        data = words.view(np.uint8)
        return np.unpackbits(data, axis=-1, bitorder="little").astype(bool)

    def kinds(self, cards: np.ndarray) -> np.ndarray:
        """The kinds of some cards, bool ``(..., MAX_CARDS)``, as bit sets: uint64."""
        of_kind = np.zeros((MAX_CARDS, 64), np.float32)
        deck = np.arange(self.n_cards)
        of_kind[deck, self.table["card_kind"][: self.n_cards]] = 1
        there = np.packbits(cards.astype(np.float32) @ of_kind > 0, axis=-1, bitorder="little")
        return np.ascontiguousarray(there).view(np.uint64)[..., 0]
