"""Advice: positions from what one player sees, and precise words where there is none."""

from __future__ import annotations

import io
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from games import play, raw_env

from pocket_uno_env.agents import Opinion, load
from pocket_uno_env.agents import position as position_module
from pocket_uno_env.agents.position import AdviceError, position_rows, read_position
from pocket_uno_env.agents.scripted.policies import Policy
from pocket_uno_env.arguments import excerpt
from pocket_uno_env.display.seat_view import Blocks, sight
from pocket_uno_env.play.advise import advise, main
from pocket_uno_env.play.analysis import analyse, holdings
from pocket_uno_env.records.snapshot import snapshot
from pocket_uno_env.rules.rules import Rules

PLAIN = {"hand": ["R5", "W", "G7"], "top": "R7", "others": [3]}
UNTIL = {"name": "pocket", "draw_until_playable": True}
STRONG = load("strong")


def seen(fields: dict[str, Any], seed: int = 0) -> dict[str, Any]:
    position = read_position(fields)
    rows = position_rows(position, seed)
    table = snapshot(position.rules, rows[0])
    places = [*table["hands"], table["draw_pile"], table["discard_pile"]]
    assert Counter(card for cards in places for card in cards) == Counter(position.rules.deck)
    return sight(position.rules, rows, 0)


def test_a_position_is_seen_as_it_was_described() -> None:
    table = seen({**PLAIN, "discards": ["B2", "B7"], "scores": [20, 70], "others": [4]})
    assert Counter(table["hands"][0]["cards"]) == Counter(PLAIN["hand"])
    assert [hand["size"] for hand in table["hands"]] == [3, 4]
    assert table["discard_pile"] == ["R7", "B7", "B2"] and table["active_color"] == "R"
    assert table["scores"] == [20, 70] and table["phase"] == "play" and table["to_act"] == 0
    assert "play R5" in table["legal"] and "play W:G" in table["legal"] and "draw" in table["legal"]


PHASES = [
    ({"phase": "drawn", "drawn": "R5"}, ["play R5", "keep"]),
    (
        {"top": "W+2", "color": "blue", "phase": "challenge", "before_top": "R3"},
        ["challenge", "accept"],
    ),
    (
        {"top": "W+2", "color": "b", "phase": "challenge", "before_top": "W", "before_color": "G"},
        ["challenge", "accept"],
    ),
    ({"hand": ["G7"], "phase": "uno", "before_top": "R1"}, ["say uno", "stay silent"]),
    (
        {"others": [4, 1, 2], "phase": "catch", "silent": 2, "before_top": "R1"},
        ["catch", "let go"],
    ),
    (
        {"others": [1, 4, 1], "phase": "catch", "silent": 1, "before_top": "R1", "direction": -1},
        ["catch", "let go"],
    ),
    (
        {"top": "WD", "color": "R", "phase": "give", "before_top": "R1"},
        ["give R5", "give G7", "give W"],
    ),
    (
        {"top": "W+2", "color": "b", "phase": "challenge", "before_top": "R3", "others": [1, 2]},
        ["challenge", "accept"],
    ),
]


@pytest.mark.parametrize(("changed", "legal"), PHASES, ids=str)
def test_every_kind_of_decision(changed: dict[str, Any], legal: list[str]) -> None:
    fields = {**PLAIN, **changed}
    for seed in range(3):
        table = seen(fields, seed)
        assert table["legal"] == legal and table["phase"] == fields["phase"]
        assert Counter(table["hands"][0]["cards"]) == Counter(fields["hand"])
        assert [hand["size"] for hand in table["hands"][1:]] == fields["others"]
        assert table["top"] == fields["top"]


def test_positions_of_real_games_come_back() -> None:
    """What seat 0 is asked in a game is asked again in the position made of what it sees."""
    count = 0
    for rules, players in (("pocket", 2), ("pocket", 4), ("classic", 3)):
        for seed in range(6):
            env = raw_env(seed, rules=rules, num_players=players)
            for raw in play(env, Policy.GREEDY):
                table = sight(raw.rules, raw.rows, 0)
                if table["to_act"] != 0 or table["phase"] != "play":
                    continue
                fields = {
                    "rules": rules, "hand": table["hands"][0]["cards"], "top": table["top"],
                    "color": table["active_color"], "direction": table["direction"],
                    "others": [hand["size"] for hand in table["hands"][1:]],
                    "discards": table["discard_pile"][:0:-1], "scores": table["scores"],
                }  # fmt: skip
                again = seen(fields)
                for name in ("legal", "top", "active_color", "discard_pile", "draw_pile", "hands"):
                    if name == "hands":
                        again["hands"][0]["cards"].sort(), table["hands"][0]["cards"].sort()
                        for hand in table["hands"]:
                            hand["known"] = []
                    assert again[name] == table[name], name
                count += 1
    assert count > 60


def test_nothing_is_made_up_about_what_is_seen() -> None:
    """A position is as it was described, or refused: at random, under rules of all kinds."""
    rng, made = random.Random(0), Counter[str]()
    for _ in range(3_000):
        rules = {
            "name": rng.choice(["pocket", "pocket51", "classic"]),
            "draw_until_playable": rng.random() < 0.5,
            "draw_limit": rng.choice([2, 10]),
            "stacking": rng.choice([False, False, "same", "any"]),
            "forced_play": rng.random() < 0.3,
            "seven_zero": rng.random() < 0.3,
            "jump_in": rng.random() < 0.3,
            "wild_draw_four": rng.choice(["enforced", "challenge"]),
        }
        deck = Rules.preset(**rules).deck
        rng.shuffle(deck)
        hand, others = deck[: rng.randint(1, 5)], rng.choices(range(1, 5), k=rng.randint(1, 3))
        fields = {
            "rules": rules, "hand": hand, "top": deck[5], "before_top": deck[6].lower(),
            "color": deck[5][0] if deck[5][0] != "W" else rng.choice("RBGY"),
            "before_color": deck[6][0] if deck[6][0] != "W" else rng.choice("RBGY"),
            "discards": deck[7 : 7 + rng.choice([0, 3, 30])], "others": others,
            "direction": rng.choice([1, -1]), "drawn": rng.choice(hand),
            "phase": rng.choice(position_module.PHASES), "silent": rng.randint(1, len(others)),
        }  # fmt: skip
        try:
            table = seen(fields)
        except AdviceError:
            continue
        assert Counter(table["hands"][0]["cards"]) == Counter(hand), fields
        assert [one["size"] for one in table["hands"][1:]] == others, fields
        for name in ("top", "direction", "phase"):
            assert table[name] == fields[name]
        assert (table["active_color"], table["to_act"]) == (fields["color"], 0)
        made[table["phase"]] += 1
    assert set(made) == set(position_module.PHASES) and made["drawn"] > 50, made


IMPOSSIBLE = [
    ({"hand": ["R5", "R5"]}, "R5 is there 2 times (your hand), but the deck has 1"),
    ({"hand": ["R5", "R7"]}, "R7 is there 2 times (your hand and the top card)"),
    ({"discards": ["W", "W"]}, "W is there 3 times (your hand and the cards under it)"),
    ({"hand": []}, "your hand is empty"),
    ({"hand": "R5"}, "'hand' should be a list"),
    ({"hand": ["R0"]}, "'R0', which is no card of the rules 'pocket'"),
    ({"hand": [5]}, "'hand' has 5"),
    ({"top": None}, "'top' has None"),
    ({"top": "W"}, "'top' is W, so one of red, blue, green, yellow"),
    ({"color": "blue"}, "'top' is R7, so 'color' cannot be blue"),
    ({"color": "pink"}, "'color' is 'pink'"),
    ({"others": []}, "'others' has 0 hand sizes"),
    ({"others": [1] * 5}, "'others' has 5 hand sizes: num_players is 6"),
    ({"others": [0]}, "expected a list of numbers from 1 to 52"),
    ({"others": [49]}, "the others would hold 49 cards, but only 48 are out of your sight"),
    ({"others": [True]}, "expected a list of numbers"),
    ({"scores": [1]}, "'scores' has 1 numbers; expected 2"),
    ({"direction": 2}, "'direction' is 2"),
    ({"direction": 1.0}, "'direction' is 1.0"),
    ({"direction": True}, "'direction' is True"),
    ({"others": [-0.0]}, "expected a list of numbers"),
    ({"scores": [10**5000, 0]}, "'scores' is list too large to print"),
    ({"rules": {"name": "pocket", "cls": 1}}, "Rules has no field 'cls'"),
    ({"rules": {"name": "pocket", "self": 1}}, "Rules has no field 'self'"),
    ({"rules": {"symbols": {"1": 10**5000}}}, "int too large to print"),
    ({"x" * 10_000: 1}, "there is no field 'xxx"),
    ({"top": []}, "'top' has []"),
    ({"phase": []}, "'phase' is []"),
    ({"phase": "stack"}, "'give']; the advisor is not asked such decisions"),
    ({"phase": "staple"}, "'phase' is 'staple'; expected one of"),
    (
        {"phase": "challenge", "top": "W+2", "color": "B", "before_top": "R3", "discards": ["R3"]},
        "R3 is there 2 times ('before_top' and 'discards', the cards under 'before_top')",
    ),
    ({"top": "W"}, "'color' is missing"),
    ({"phase": "drawn"}, "'drawn' is missing; expected the card that you drew"),
    ({"phase": "drawn", "drawn": "B2"}, "'drawn' is 'B2'; expected the card that you drew"),
    (
        {"phase": "drawn", "drawn": "G7", "top": "R6"},
        "the card drawn, G7, cannot be played on R6 while red is active",
    ),
    (
        {"rules": UNTIL, "phase": "drawn", "drawn": "G7", "top": "R6"},
        "the card drawn, G7, cannot be played on R6 while red is active",
    ),
    ({"phase": "challenge"}, "needs 'before_top'"),
    ({"phase": "challenge", "before_top": "R3"}, "does not lead to a decision of yours"),
    ({"phase": "uno", "before_top": "B3"}, "after that play you hold one card, not 3"),
    (
        {"hand": ["G1"], "phase": "uno", "before_top": "B3"},
        "'play R7' was not possible before; legal was draw",
    ),
    ({"phase": "catch", "before_top": "R3", "silent": 1}, "after that play seat 1 holds one card"),
    ({"phase": "catch", "before_top": "R3", "silent": 2}, "'silent' is 2; expected a seat from 1"),
    ({"phase": "give", "before_top": "R3"}, "a card is given after a WD"),
    ({"rules": "poker"}, "unknown rules 'poker'"),
    ({"rules": {"name": "pocket", "colors": 7}}, "Rules.colors is 7"),
    ({"rules": 3}, "rules is 3"),
    ({"card": "R5"}, "there is no field 'card'"),
]


@pytest.mark.parametrize(("changed", "says"), IMPOSSIBLE, ids=excerpt)
def test_impossible_positions_are_named(changed: dict[str, Any], says: str) -> None:
    with pytest.raises(AdviceError) as error:
        position_rows(read_position({**PLAIN, **changed}))
    assert says in str(error.value)


@pytest.mark.parametrize("name", ["hand", "top", "others"])
def test_missing_fields_are_named(name: str) -> None:
    with pytest.raises(AdviceError, match=f"'{name}' is missing"):
        read_position({key: value for key, value in PLAIN.items() if key != name})


def test_advice_does_not_depend_on_the_cards_that_were_made_up() -> None:
    for changed, _ in PHASES:
        position = read_position({**PLAIN, **changed})
        choices = {
            json.dumps(analyse(position.rules, position_rows(position, seed), STRONG))
            for seed in range(4)
        }
        assert len(choices) == 1


def test_advice_names_the_best_first() -> None:
    (found,) = advise({**PLAIN, "others": [1]}, [STRONG])["advice"]
    assert found["actions"][0]["action"] == found["choice"] and found["agent"] == "strong"
    assert {entry["action"] for entry in found["actions"]} >= {"play R5", "draw"}
    assert all(0 <= entry["value"] <= 1 for entry in found["actions"])
    assert "guesses of the hidden cards" in found["about"]
    position = read_position({**PLAIN, "others": [1]})
    own, other = analyse(position.rules, position_rows(position), STRONG)["holdings"]
    assert own["own"] and not other["own"] and other["seat"] == 1
    # A red card was never refused, so the unseen cards are all as likely: 10 reds of 48.
    assert dict(map(tuple, other["colors"]))["R"] == pytest.approx(10 / 48, abs=0.01)


def test_advice_in_a_match_goes_by_the_match() -> None:
    scored = {**PLAIN, "others": [2], "scores": [240, 0]}
    (single,) = advise({**PLAIN, "others": [2]}, [STRONG])["advice"]
    (found,) = advise(scored, [STRONG])["advice"]
    assert single["match"] is None and {e["match"] for e in single["actions"]} == {None}
    assert "win the match" in found["about"] and "win the match" not in single["about"]
    assert sum(found["match"]) == pytest.approx(1, abs=1e-3)
    first, *others = found["actions"]
    assert first["action"] == found["choice"] and first["match"] == found["match"][0]
    shares = [entry["match"] for entry in others]
    assert shares == sorted(shares, reverse=True)
    # The playouts are the same; with 240 points a round lost is not yet the match.
    values = {entry["action"]: entry["value"] for entry in single["actions"]}
    for entry in found["actions"]:
        assert entry["value"] == values[entry["action"]] < entry["match"] < 1


def test_without_match_equity_advice_is_of_the_round() -> None:
    for rules in ("pocket51", {"name": "pocket", "elimination": True}):
        (found,) = advise({**PLAIN, "rules": rules, "scores": [240, 0]}, [STRONG])["advice"]
        assert found["match"] is None and found["value"] is not None
    with pytest.raises(AdviceError, match="'scores' has 250; expected points from 0 to 249"):
        advise({**PLAIN, "scores": [250, 0]}, [STRONG])


def test_figures_are_shown_as_far_as_there_are_some() -> None:
    rules = Rules()
    position = read_position(PLAIN)

    class Sure(type(STRONG)):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(Policy.STRONG)

        def opinion(self, rules: Rules, rows: Any, place: int) -> Opinion:
            values = np.full(123, np.nan)
            values[rules.kind_ids["R5"]] = 0.75
            return Opinion(rules.kind_ids["R5"], values=values, value=0.7, about="Sure.")

    found = analyse(rules, position_rows(position), Sure())
    sure = {"action": "play R5", "probability": None, "value": 0.75, "match": None}
    assert found["actions"][0] == sure
    assert found["actions"][1]["value"] is None and found["value"] == 0.7
    json.dumps(found, allow_nan=False)


def test_holdings_agree_with_redeals() -> None:
    """Counting cards gives the share of redeals in which a hand holds a card."""
    env = raw_env(5, num_players=3)
    for _ in zip(range(9), play(env, Policy.RANDOM_UNO), strict=False):
        pass
    blocks = Blocks(env.rules, 3, env.rows, 0)
    chances = holdings(blocks)
    assert chances.shape == (3, 51) and (chances >= 0).all() and (chances <= 1).all()
    own = blocks.counts("hand")[0] > 0
    several = np.array([kind.copies for kind in env.rules.kinds]) > 1
    assert (chances[1:, own & ~several] == 0).all()
    assert (chances[0, own] > 0).all()  # the others don't know what the observer holds


# The command.


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def test_the_command_advises(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "position.json"
    file.write_text("\ufeff" + json.dumps(PLAIN), "utf-8")
    code, out, err = run(capsys, str(file), "--agents", "strong", "counter")
    assert code == 0 and not err and "strong: play" in out and "counter: play" in out
    assert max(map(len, out.splitlines())) <= 80
    assert "wins the match" not in out
    fields = {**PLAIN, "others": [3, 4, 5, 6], "scores": [200, 0, 100, 20, 40]}
    file.write_text(json.dumps(fields), "utf-8")
    code, out, _ = run(capsys, str(file))
    assert code == 0 and "wins the match" in out and "Chances to win the match: seat 0 (you)" in out
    assert max(map(len, out.splitlines())) <= 80
    code, out, _ = run(capsys, str(file), "--json")
    assert code == 0 and json.loads(out)["advice"][0]["agent"] == "strong"


def test_the_command_says_who_decides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "position.json"
    for changed, says in [({}, "plays a card or draws"), (PHASES[1][0], "challenges or accepts")]:
        file.write_text(json.dumps({**PLAIN, **changed}))
        code, out, _ = run(capsys, str(file), "--agents", "greedy")
        assert code == 0 and f"\nseat 0 (you) {says}\n" in out


def test_the_command_reads_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(PLAIN)))
    assert run(capsys)[0] == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is not JSON"),
        ("[]", "a position is a JSON object, not []"),
        ("[" * 90_000, "is nested too deeply"),
        (" " * 1_000_001, "is longer than 1,000,000 bytes"),
        ('{"hand": ["R5"], "hand": ["R6"]}', "the key 'hand' comes twice"),
        ('{"hand": [NaN]}', "NaN is no JSON number"),
        ('{"others": [' + "9" * 4301 + "]}", "is not JSON"),
        (json.dumps({**PLAIN, "rules": {"cls": 1}}), "no field 'cls'"),
        (json.dumps({**PLAIN, "hand": ["R5", "R5"]}), "R5 is there 2 times"),
    ],
    ids=["cut", "list", "deep", "long", "key twice", "nan", "huge", "cls", "twice"],
)
def test_the_command_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, says: str
) -> None:
    file = tmp_path / "position.json"
    file.write_text(text)
    code, out, err = run(capsys, str(file))
    assert code == 2 and not out and says in err and err.count("\n") == 1


def test_the_command_says_what_it_cannot_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for file, says in [(tmp_path / "x", "No such file"), (tmp_path, "Is a directory")]:
        code, _, err = run(capsys, str(file))
        assert code == 2 and f"error: cannot read {file}: {says}" in err
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    code, _, err = run(capsys, "--agents", "greedy")
    assert code == 2 and "error: no position: name a file" in err
