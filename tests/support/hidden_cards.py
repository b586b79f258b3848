"""What a seat cannot know, exchanged at random: for tests that nothing depends on it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pocket_uno_env import Rules
from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.engine.state import NO_CARD
from pocket_uno_env.observation.information import UNSEEN, place_of


@kernel
def write_places(rules, rows, seat, places):
    """Write where `seat` knows each card of the one game in `rows` to lie."""
    for card in range(rules[0].n_cards):
        places[card] = place_of(rows[0], seat, card)


def cards_in(words: np.ndarray) -> list[int]:
    return [card for card in range(128) if int(words[card // 64]) >> card % 64 & 1]


def as_words(cards: Iterable[int]) -> np.ndarray:
    bits = sum(1 << int(card) for card in cards)
    return np.array([bits % 2**64, bits >> 64], np.uint64)


def moved(words: np.ndarray, moved_to: np.ndarray) -> np.ndarray:
    return as_words(moved_to[cards_in(words)])


def permute_hidden(rules: Rules, rows: np.ndarray, seat: int, rng: np.random.Generator) -> int:
    """Exchange at random all cards that `seat` cannot place; returns how many moved."""
    places = np.zeros(rules.n_cards, np.int64)
    write_places(rules._table, rows, seat, places)
    hidden = np.flatnonzero(places == UNSEEN)
    shuffled = rng.permutation(hidden)
    row = rows[0]
    moved_to = np.arange(256)
    moved_to[hidden] = shuffled
    before = rows.copy()[0]
    for player in range(row["num_players"]):
        for books in ("hands", "known", "shown"):
            row[books][player] = moved(before[books][player], moved_to)
        held = cards_in(row["hands"][player])
        kinds = rules._table["card_kind"][0][held]
        row["hand_kinds"][player] = sum({1 << int(kind) for kind in kinds})
        assert len(held) == row["hand_size"][player]
    drawn = int(row["draw_count"])
    row["draw_pile"][:drawn] = moved_to[before["draw_pile"][:drawn]]
    if row["drawn_card"] != NO_CARD:
        row["drawn_card"] = moved_to[row["drawn_card"]]
    # Who else has seen an own card is known only as far as the holder saw the showing.
    for other in set(range(int(row["num_players"]))) - {seat}:
        own, shown = cards_in(row["hands"][seat]), cards_in(row["shown"][other])
        secretly = [card for card in own if card not in shown and rng.random() < 0.5]
        row["known"][other] |= as_words(secretly)
    row["guilty"] = not row["guilty"]
    row["rng"] ^= np.uint64(rng.integers(2**63))
    return int((hidden != shuffled).sum())
