"""Rule cases as data, through the reference and through the engine (docs/rules.md, section 10).

Every line of tests/engine/cases/*.jsonl is an exact set-up and what must then hold; its name
begins with the section of the rules that it shows. Where a case shuffles (a reshuffle, a wild put
back), what it expects is the same for every order.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pocket_uno_env import Rules, pocket_uno_v0
from pocket_uno_env.reference import game as reference

Case = dict[str, Any]
CASE_FILES = sorted((Path(__file__).parent / "cases").glob("*.jsonl"))
CASES: list[Case] = [
    json.loads(line)
    for path in CASE_FILES
    for line in path.read_text(encoding="utf-8").splitlines()
]
SECTIONS = (
    "1 cards", "2 opening", "3 a turn", "4 effects", "5 UNO", "6 the end",
    "11 stacking", "11 seven-zero", "11 jump-in", "11 forced play", "11 elimination", "11 combined",
)  # fmt: skip


def changed_fields(case: Case) -> dict[str, Any]:
    return {field: value for field, value in case["rules"].items() if field != "name"}


def reference_rules(case: Case) -> dict[str, Any]:
    return reference.preset(case["rules"]["name"], **changed_fields(case))


def reference_game(case: Case, reshuffle: Callable[[list[str]], list[str]]) -> reference.Game:
    """Play a case with the reference: scripted deal, then its actions."""
    rules = reference_rules(case)
    hands, opening, pile = reference.deal(rules, case["deck"], case["num_players"], case["dealer"])
    turned_back = []
    while rules["opening_wild"] == "put_back" and reference.is_wild(opening):
        turned_back.append(opening)
        opening, *pile = [*pile, opening]
    pile = pile if not turned_back else reshuffle(pile)
    game = reference.Game(rules, hands, opening, pile, case["dealer"], turned_back)
    for seat, name in case["actions"]:
        game.apply(seat, name, reshuffle=reshuffle)
    return game


def assert_holds(
    case: Case, snapshot: dict[str, Any], legal: list[str], result: dict[str, Any] | None
) -> None:
    expect = case["expect"]
    assert snapshot["to_act"] == expect["to_act"]
    assert sorted(legal) == sorted(expect["legal"])
    assert [Counter(hand) for hand in snapshot["hands"]] == [
        Counter(hand) for hand in expect["hands"]
    ]
    assert snapshot["top"] == expect["top"]
    assert snapshot["active_color"] == expect["active_color"]
    # A running round's result is null in a case, and has a null end in a record.
    assert (result if result and result["end"] else None) == expect["result"]


def test_cases_are_well_formed() -> None:
    names = [case["name"] for case in CASES]
    assert [name for name, count in Counter(names).items() if count > 1] == []
    assert {name.split(":")[0] for name in names} == set(SECTIONS)
    assert len(names) >= 300
    for case in CASES:
        deck = reference.deck_of(reference_rules(case))
        assert sorted(case["deck"]) == sorted(deck), case["name"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_reference(case: Case) -> None:
    for reshuffle in (list, lambda cards: cards[::-1]):
        game = reference_game(case, reshuffle)
        assert_holds(case, game.snapshot(), game.legal_names(), game.result())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_engine(case: Case) -> None:
    rules = Rules.preset(case["rules"]["name"], **changed_fields(case))
    env = pocket_uno_v0.raw_env(rules=rules, num_players=case["num_players"])
    env.reset(seed=0, options={"deck": case["deck"], "dealer": case["dealer"]})
    for seat, name in case["actions"]:
        assert env.unwrapped.snapshot()["to_act"] == seat
        env.step(env.unwrapped.action_id(name))
    snapshot = env.unwrapped.snapshot()
    assert_holds(case, snapshot, env.unwrapped.legal_names(), snapshot["result"])
