"""The whole tree of the mini game, counted by the engine and by the reference.

Chance is enumerated over what can be told apart: which hands are dealt, which card opens, which
card a draw yields; the order of cards that nobody has seen is not. A count at depth d is the number
of different sequences of d decisions with their draws, over all deals and both dealers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import permutations

import numpy as np
from mini_game import ENDS, SEQUENCES

from pocket_uno_env import Rules
from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.engine.deal import deal_round, new_game
from pocket_uno_env.engine.state import new_rows
from pocket_uno_env.engine.transition import apply
from pocket_uno_env.records.record import kinds_of
from pocket_uno_env.reference import game as reference
from pocket_uno_env.row_kernels import mask_rows
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.phases import End

RULES = Rules.preset("mini")
FIELDS = RULES.to_dict()
CAP = 8
FIRST = np.zeros(1, np.int64)


@kernel
def step_row(rules, rows, action, supply):
    apply(rules[0], rows[0], action, supply, None)


def deals() -> Iterator[tuple[list[str], int]]:
    """One deck for every deal that can be told apart, for both dealers."""
    seen = set()
    for deck in permutations(RULES.deck):
        first, second, opening, pile = deck[0:4:2], deck[1:4:2], deck[4], deck[5:]
        if opening[0] == "W":
            continue  # put back, and another card opens
        table = (tuple(sorted(first)), tuple(sorted(second)), opening, pile)
        if table not in seen:
            seen.add(table)
            yield from ((list(deck), dealer) for dealer in (0, 1))


def count_reference() -> tuple[list[int], list[int]]:
    sequences, ends = Counter[int](), Counter[int]()

    def walk(game: reference.Game, depth: int) -> None:
        sequences[depth] += 1
        if game.phase == "over":
            ends[depth] += 1
            return
        if depth == CAP:
            return
        for name in game.legal_names():
            pile = game.draw_pile or game.discard_pile[1:]
            for card in sorted(set(pile)) if name == "draw" and pile else [None]:
                child = game.copy()
                order = None
                if card is not None:
                    rest = list(pile)
                    rest.remove(card)
                    order = [card, *rest]
                if game.draw_pile:
                    child.draw_pile = order or child.draw_pile
                    order = None
                child.apply(child.actor, name, order)
                walk(child, depth + 1)

    for deck, dealer in deals():
        hands, opening, pile = reference.deal(FIELDS, deck, 2, dealer)
        walk(reference.Game(FIELDS, hands, opening, pile, dealer), 0)
    return counts(sequences), counts(ends)


def count_engine() -> tuple[list[int], list[int]]:
    table, names = RULES._table, catalogue(RULES).names
    sequences, ends = Counter[int](), Counter[int]()
    masks = np.zeros((1, len(names)), np.int8)
    kind_of = table["card_kind"][0]

    def walk(rows: np.ndarray, depth: int) -> None:
        sequences[depth] += 1
        if rows["end"][0] != End.RUNNING:
            ends[depth] += 1
            return
        if depth == CAP:
            return
        mask_rows(table, rows, FIRST, masks)
        drawn = int(rows["draw_count"][0])
        discards = rows["discard_pile"][0][: rows["discard_count"][0] - 1]
        pile = rows["draw_pile"][0][:drawn] if drawn else discards
        for action in np.flatnonzero(masks[0]):
            draws = names[action] == "draw" and len(pile)
            for kind in np.unique(kind_of[pile]) if draws else [None]:
                child = rows.copy()
                supply = None
                if kind is not None:
                    place = int(np.flatnonzero(kind_of[pile] == kind)[0])
                    order = [pile[place], *np.delete(pile, place)]
                    if drawn:
                        child["draw_pile"][0][:drawn] = order[::-1]
                    else:
                        supply = kind_of[order].astype(np.uint8)
                step_row(table, child, action, supply)
                walk(child, depth + 1)

    for deck, dealer in deals():
        rows = new_rows(1)
        new_game(rows[0], 2, np.uint64(0))
        deal_round(table[0], rows[0], dealer, kinds_of(RULES, deck), None)
        walk(rows, 0)
    return counts(sequences), counts(ends)


def counts(by_depth: Counter[int]) -> list[int]:
    return [by_depth[depth] for depth in range(CAP + 1)]


def test_the_engine_counts_what_the_reference_counts() -> None:
    engine = count_engine()
    assert engine == count_reference()
    assert engine == (SEQUENCES, ENDS)
