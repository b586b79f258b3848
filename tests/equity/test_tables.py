"""Match equity for the games that people play."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pocket_uno_env import match_equity
from pocket_uno_env.equity.tables import (
    PACKAGED,
    EquityError,
    file_name,
    find,
    race_of,
    read_points,
)
from pocket_uno_env.rules.rules import Rules

TABLES = sorted(PACKAGED.glob("*.json"))
GAMES = [("pocket", n) for n in range(2, 6)] + [("classic", n) for n in range(2, 11)]


@pytest.mark.parametrize(("rules", "players"), GAMES)
def test_presets_have_tables(rules: str, players: int) -> None:
    assert find(Rules.of(rules), players) == PACKAGED / f"{rules}-{players}p.json"
    goal = Rules.of(rules).match_goal
    assert match_equity(rules, [0] * players) == pytest.approx([1 / players] * players)
    ahead = match_equity(rules, [goal - 1] + [0] * (players - 1))
    assert ahead[0] > 0.8 if players == 2 else ahead[0] > 2 / players
    assert ahead.sum() == pytest.approx(1)


@pytest.mark.parametrize("file", TABLES, ids=lambda file: file.stem)
def test_a_table_says_what_it_was_made_from(file: Path) -> None:
    table = json.loads(file.read_text())
    assert table["rounds"] == sum(table["points"].values()) + table["unwon"]
    assert table["rounds"] >= 300_000
    assert table["command"].startswith("pocket-uno equity --measure")
    assert {"agent", "fingerprint", "version", "rules"} <= set(table)


def test_many_scores_at_once() -> None:
    scores = np.random.default_rng(0).integers(0, 250, (5, 7, 3))
    found = match_equity("pocket", scores)
    assert found.shape == scores.shape
    assert (found[2, 3] == match_equity("pocket", scores[2, 3])).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint64])
def test_scores_of_any_integer_type(dtype: type) -> None:
    most = np.iinfo(dtype).max
    assert list(match_equity("pocket", np.array([most, 2], dtype))) == [1, 0]
    small = np.array([120, 80], dtype)
    assert (match_equity("pocket", small) == match_equity("pocket", [120, 80])).all()


def test_long_matches_have_a_bound() -> None:
    long = replace(Rules.of("pocket"), match_goal=5000)
    found = match_equity(long, [[4999, 0], [0, 0]])
    assert (found >= 0).all() and found[0, 0] > 0.999
    with pytest.raises(EquityError, match="too many rounds"):
        match_equity(replace(long, match_goal=1_000_000), [0, 0])


def test_different_rules_have_different_files() -> None:
    one, other = (replace(Rules.of("pocket"), stacking=kind) for kind in ("same", "any"))
    assert file_name(one, 2) != file_name(other, 2) != file_name(other, 3)
    with pytest.raises(EquityError, match="--rules FILE"):
        find(one, 2)


def test_another_goal_needs_no_other_table() -> None:
    short = replace(Rules.of("pocket"), match_goal=1)
    assert match_equity(short, [0, 0]) == pytest.approx([0.5, 0.5])
    assert match_equity(short, [0, 1])[1] == 1


def test_the_shared_table_is_read_only() -> None:
    assert not race_of(Rules.of("pocket"), 2).flags.writeable


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (3, "whole numbers from 0"),
        ([0.5, 1], "whole numbers from 0"),
        ([-1, 1], "whole numbers from 0"),
        (["a", "b"], "whole numbers from 0"),
        ([1], "num_players"),
        ([0] * 6, "num_players"),
        ([250, 300], "over when one seat has 250"),
    ],
)
def test_what_are_no_scores_is_refused(scores: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        match_equity("pocket", scores)


def test_rules_without_a_table_name_the_command(monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with pytest.raises(EquityError, match=r"equity --measure --rules mini --num-players 2"):
        match_equity("mini", [0, 0])
    with pytest.raises(EquityError, match="elimination"):
        match_equity(replace(Rules.of("pocket"), elimination=True), [0, 0])


def test_a_damaged_table_is_named_and_passed_over(monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setattr("pocket_uno_env.equity.tables.user_folder", lambda: tmp_path)
    good = json.loads(TABLES[0].read_text())
    wrong_points: list[Any] = [{}, {"0": 5}, {"-1": 5}, {"5": 0}, {"5": 1.5}, [5]]
    wrong_points += [{"00": 5}, {"01": 5}, {"1": True}, {"1": 10**30}, {"\u0663": 5}]
    damages = [{"format": "x"}, {"rules": 3}, {"num_players": "2"}]
    damages += [{"points": points} for points in wrong_points]
    for number, damage in enumerate(damages):
        file = tmp_path / f"damaged{number}-2p.json"
        file.write_text(json.dumps({**good, **damage}))
        with pytest.raises(EquityError, match="measure it anew"):
            read_points(file)
    (tmp_path / "no-json-2p.json").write_text("{")
    with pytest.raises(EquityError, match="--rules mini"):
        find(Rules.of("mini"), 2)
