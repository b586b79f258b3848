"""Rules: presets, fields, decks, action catalogues, errors."""

from __future__ import annotations

import copy
import json
import pickle
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from games import ODD_RULES

from pocket_uno_env import Rules, RulesError
from pocket_uno_env.arguments import excerpt
from pocket_uno_env.rules.actions import Move, catalogue
from pocket_uno_env.rules.cards import COLORS
from pocket_uno_env.rules.rules import HOUSE_RULES, PRESETS


@pytest.mark.parametrize(
    ("name", "cards", "wilds", "actions"),
    [("pocket", 52, 4, 123), ("pocket51", 51, 3, 123), ("classic", 108, 8, 72), ("mini", 6, 2, 16)],
)
def test_deck_and_action_counts(name: str, cards: int, wilds: int, actions: int) -> None:
    rules = Rules.preset(name)
    assert rules.n_cards == len(rules.deck) == cards
    assert sum(card[0] == "W" for card in rules.deck) == wilds
    assert len(catalogue(rules)) == actions


def test_pocket_deck_card_by_card() -> None:
    coloured = [
        c + s for c in "RBGY" for s in ["1", "2", "3", "4", "5", "6", "7", "8", "9", "+1", "S", "V"]
    ]
    assert Counter(Rules.preset("pocket").deck) == Counter([*coloured, "W", "W", "WD", "W+2"])


def test_classic_deck_card_by_card() -> None:
    twice = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "+2", "S", "V"]
    coloured = [c + s for c in "RBGY" for s in ["0", *twice, *twice]]
    assert Counter(Rules.preset("classic").deck) == Counter([*coloured, *["W", "W+4"] * 4])


def test_points() -> None:
    points = {k.name: k.points for k in Rules.preset("pocket").kinds}
    points |= {k.name: k.points for k in Rules.preset("classic").kinds}
    assert points["G7"] == 7 and points["Y0"] == 0
    assert {points[c + s] for c in COLORS for s in ("S", "V", "+1", "+2")} == {20}
    assert {points[w] for w in ("W", "WD", "W+2", "W+4")} == {50}


def test_pocket_action_names() -> None:
    cat = catalogue(Rules())
    assert len(set(cat.names)) == len(cat)
    assert {a.name for a in cat.actions if a.move != Move.PLAY and a.move != Move.GIVE} == {
        "draw", "keep", "challenge", "accept", "say uno", "stay silent", "catch", "let go",
        "name R", "name B", "name G", "name Y",
    }  # fmt: skip
    assert sum(a.move == Move.GIVE for a in cat.actions) == 51
    assert {"play R5", "play W:B", "play WD:Y", "play W+2:R", "give W", "give G+1"} <= set(
        cat.names
    )
    assert [cat.id(name) for name in cat.names] == list(range(len(cat)))


def test_give_only_where_there_is_a_wild_dip() -> None:
    assert not any(a.move == Move.GIVE for a in catalogue(Rules.preset("classic")).actions)


@pytest.mark.parametrize("name", PRESETS)
def test_dict_round_trip(name: str) -> None:
    rules = Rules.preset(name)
    again = Rules.from_dict(json.loads(json.dumps(rules.to_dict())))
    assert again == rules and hash(again) == hash(rules)
    assert set(rules.to_dict()) == {
        "name", "colors", "symbols", "wild_copies", "hand_size", "max_players", "match_goal",
        "opening_wild", "two_player_reverse", "draw_until_playable", "draw_limit",
        "wild_draw_four", "challenge_condition", "uno_call", *HOUSE_RULES,
    }  # fmt: skip


def test_rules_are_immutable_and_copyable() -> None:
    rules = Rules.preset("classic")
    with pytest.raises(AttributeError):
        rules.hand_size = 3  # type: ignore[misc]
    with pytest.raises(TypeError):
        rules.symbols["1"] = 3  # type: ignore[index]
    assert pickle.loads(pickle.dumps(rules)) == copy.deepcopy(rules) == rules
    assert replace(rules, hand_size=3) == Rules.preset("classic", hand_size=3)


def test_order_of_symbols_does_not_matter() -> None:
    rules = Rules.preset("custom", symbols={"V": 1, "2": 2, "1": 2})
    assert rules == Rules.preset("custom", symbols={"1": 2, "2": 2, "V": 1, "3": 0})


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"colors": 5}, ["colors", "5", "1 to 4"]),
        ({"colors": True}, ["colors", "True"]),
        ({"symbols": {"17": 1}}, ["symbols", "17"]),
        ({"symbols": {"1": -1}}, ["symbols", "'1'", "-1"]),
        ({"symbols": {}}, ["symbols"]),
        ({"symbols": {"1": 40}}, ["164", "128"]),
        ({"wild_copies": {"W": 129}}, ["wild_copies['W']", "129"]),
        ({"wild_copies": {"W+3": 1}}, ["wild_copies", "W+3"]),
        ({"wild_copies": ["W"]}, ["wild_copies"]),
        ({"hand_size": 0}, ["hand_size", "0"]),
        ({"hand_size": 26}, ["hand_size", "26", "52", "48"]),
        ({"max_players": 11}, ["max_players", "11", "2 to 10"]),
        ({"match_goal": 0}, ["match_goal"]),
        ({"draw_limit": 0}, ["draw_limit"]),
        ({"draw_until_playable": 1}, ["draw_until_playable"]),
        ({"opening_wild": "reshuffle"}, ["opening_wild", "put_back"]),
        ({"two_player_reverse": "x"}, ["two_player_reverse", "literal"]),
        ({"wild_draw_four": "x"}, ["wild_draw_four", "enforced"]),
        ({"challenge_condition": "x"}, ["challenge_condition", "any_playable"]),
        ({"uno_call": "x"}, ["uno_call", "explicit"]),
        ({"stacking": True}, ["stacking", "'same'"]),
        ({"jump_in": "yes"}, ["jump_in", "true or false"]),
        ({"stacks": True}, ["stacks"]),
        ({"cls": 1}, ["no field 'cls'"]),
        ({"self": 1}, ["no field 'self'"]),
        ({"stacking": -0.0}, ["stacking", "-0.0"]),
        ({"stacking": 0}, ["stacking", "0"]),
        ({"jump_in": ""}, ["jump_in", "''", "true or false"]),
        ({"opening_wild": np.array(["put_back", "put_back"])}, ["opening_wild"]),
        ({"match_goal": 1e3}, ["match_goal", "1000.0", "whole number"]),
        ({"match_goal": 10**5000}, ["match_goal", "int too large to print"]),
        ({"symbols": {"1": 10**4300}}, ["symbols['1']", "int too large to print", "128"]),
    ],
    ids=excerpt,
)
def test_bad_fields_are_named(changed: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(RulesError) as error:
        Rules.preset("pocket", **changed)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_unknown_preset() -> None:
    with pytest.raises(RulesError, match=r"'pocket52'.*'pocket'"):
        Rules.preset("pocket52")
    with pytest.raises(RulesError, match="expected Rules or one of"):
        Rules.of(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("players", [1, 6, 2.0, "2", True, None])
def test_number_of_players(players: Any) -> None:
    with pytest.raises(RulesError, match="num_players"):
        Rules().check_players(players)


def test_deck_must_cover_the_hands_of_that_many_players() -> None:
    rules = Rules.preset("pocket", hand_size=12)
    assert rules.check_players(4) == 4
    with pytest.raises(RulesError, match="hand_size 12 for 5 players deals 60"):
        rules.check_players(5)


def test_record_fields_unknown_or_missing() -> None:
    fields = Rules().to_dict()
    assert Rules.from_dict({**fields, "tournament": False, "jump_in": None}) == Rules()
    with pytest.raises(RulesError, match="'tournament'"):
        Rules.from_dict({**fields, "tournament": "any"})
    for value in ("", 0, -0.0, [], {}):
        for name in (*HOUSE_RULES, "tournament"):
            with pytest.raises(RulesError, match=name):
                Rules.from_dict({**fields, name: value})
    with pytest.raises(RulesError, match="expected a table of fields"):
        Rules.from_dict([fields])  # type: ignore[arg-type]
    for name in HOUSE_RULES:
        del fields[name]
    assert Rules.from_dict(fields) == Rules()
    del fields["uno_call"]
    with pytest.raises(RulesError, match="'uno_call' is missing"):
        Rules.from_dict(fields)


@pytest.mark.parametrize("rules", ODD_RULES.values(), ids=ODD_RULES.keys())
def test_table_agrees_with_names(rules: Rules) -> None:
    table = rules._table[0]
    for index, kind in enumerate(rules.kinds):
        bit = 1 << index
        assert bool(int(table["wild_kinds"]) & bit) == (kind.color is None)
        assert bool(int(table["coloured_kinds"]) & bit) == (kind.color is not None)
        for color in range(rules.colors):
            assert bool(int(table["color_kinds"][color]) & bit) == (kind.color == color)
        for other, twin in enumerate(rules.kinds):
            same = kind.color is not None and twin.color is not None and kind.symbol == twin.symbol
            assert bool(int(table["symbol_kinds"][index]) >> other & 1) == same
        cards = np.flatnonzero(table["card_kind"][: rules.n_cards] == index)
        assert len(cards) == kind.copies == table["copies"][index] and cards[0] == index
        words = [sum(1 << int(card) % 64 for card in cards if card // 64 == w) for w in (0, 1)]
        assert table["kind_cards"][index].tolist() == words
    deck = table["deck"][: rules.n_cards]
    assert sorted(deck) == list(range(rules.n_cards))
    assert [rules.kinds[kind].name for kind in table["card_kind"][deck]] == rules.deck


@pytest.mark.parametrize("suffix", [".toml", ".json"])
@pytest.mark.parametrize("rules", [*map(Rules.preset, PRESETS), *ODD_RULES.values()])
def test_rules_in_a_file(rules: Rules, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"study{suffix}"
    rules.save(path)
    assert Rules.load(path) == Rules.of(str(path)) == rules


def test_a_study_names_a_preset_and_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(
        'name = "classic"\nwild_draw_four = "challenge"\n[wild_copies]\nW = 4\n"W+4" = 2'
    )
    assert Rules.load(path) == Rules.preset(
        "classic", wild_draw_four="challenge", wild_copies={"W": 4, "W+4": 2}
    )


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("a.toml", "name = ", ["a.toml", "TOML"]),
        ("a.json", "{'name'}", ["a.json", "JSON"]),
        ("a.json", "[1]", ["a.json", "table"]),
        ("a.toml", "colors = 7", ["a.toml", "colors", "7"]),
        ("a.toml", "colours = 4", ["a.toml", "colours"]),
        ("a.toml", 'name = "skat"', ["a.toml", "skat"]),
        ("a.txt", "", ["a.txt", ".toml"]),
        ("a.toml", "cls = 1", ["a.toml", "cls"]),
        ("a.toml", "colors = nan", ["a.toml", "colors", "nan"]),
        ("a.toml", "colors = 4\ncolors = 4", ["a.toml", "TOML", "overwrite"]),
        ("a.toml", f"match_goal = 0x{'f' * 9000}", ["a.toml", "match_goal", "too large"]),
        ("a.toml", f"symbols = {'[' * 9000}", ["a.toml", "nested too deeply"]),
        ("a.toml", "x = 1\n" * 20_000, ["a.toml", "longer than"]),
        ("a.json", '{"cls": 1}', ["a.json", "cls"]),
        ("a.json", '{"name": 3}', ["a.json", "name of a preset"]),
        ("a.json", '{"colors": 4, "colors": 4}', ["a.json", "'colors' comes twice"]),
        ("a.json", '{"colors": NaN}', ["a.json", "NaN"]),
        ("a.json", "[" * 90_000, ["a.json", "nested too deeply"]),
        ("a.json", '{"colors": 4.0}', ["a.json", "colors", "4.0"]),
    ],
    ids=excerpt,
)
def test_bad_files(file: str, text: str, words: list[str], tmp_path: Path) -> None:
    (tmp_path / file).write_text(text)
    with pytest.raises(RulesError) as error:
        Rules.load(tmp_path / file)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    for file, text in (("a.toml", 'name = "mini"\r\n'), ("a.json", '{"name": "mini"}')):
        (tmp_path / file).write_text("\ufeff" + text, "utf-8")
        assert Rules.load(tmp_path / file) == Rules.preset("mini")


@pytest.mark.parametrize("file", ["study.toml", "study.json"])
def test_saving_is_all_or_nothing(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / file
    Rules.preset("mini").save(path)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(RulesError, match=f"cannot write .*{file}: No space left"):
        Rules.preset("classic").save(path)
    assert Rules.load(path) == Rules.preset("mini") and list(tmp_path.iterdir()) == [path]
    with pytest.raises(RulesError, match="there is no folder"):
        Rules().save(tmp_path / "none" / file)


def test_a_missing_file() -> None:
    with pytest.raises(RulesError, match=r"cannot read nowhere\.toml: No such file"):
        Rules.of("nowhere.toml")
