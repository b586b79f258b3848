"""Tables of match equity are measured, and hold against matches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pocket_uno_env import load, match_equity
from pocket_uno_env.equity.tables import find, race_of
from pocket_uno_env.evaluation.equity import calibrate, main, measure
from pocket_uno_env.rules.rules import Rules

POCKET = Rules.of("pocket")


def test_each_game_plays_equally_many_rounds() -> None:
    points, unwon = measure(POCKET, 3, load("greedy"), 5000, 1)
    assert points.sum() + unwon == 8192  # two in each of 4,096 games
    again, _ = measure(POCKET, 3, load("greedy"), 5000, 1)
    assert (points == again).all()
    assert 20 < np.average(np.arange(len(points)), weights=points) < 90


def test_equities_come_true() -> None:
    """Of 4,000 matches; the mean of ten bins that each stray by about one."""
    found = calibrate(POCKET, 2, load("strong"), 4000, 3)
    assert found["error"] < 0.02 and found["unwon"] == 0
    assert sum(b["positions"] for b in found["bins"]) > 4000 * 2 * 5
    assert found["bins"][5]["matches"] == 4000  # each begins there
    for one, other in zip(found["bins"][:5], found["bins"][:4:-1], strict=True):
        assert one["won"] + other["won"] == pytest.approx(1, abs=0.02)


def test_a_table_of_ones_own_is_found(monkeypatch: Any, tmp_path: Path, capsys: Any) -> None:
    monkeypatch.setattr("pocket_uno_env.equity.tables.user_folder", lambda: tmp_path)
    monkeypatch.setattr("pocket_uno_env.evaluation.equity.user_folder", lambda: tmp_path)
    race_of.cache_clear()
    assert main(["--rules", "mini", "0", "3"]) == 2
    assert "--measure --rules mini --num-players 2" in capsys.readouterr().err
    assert main(["--rules", "mini", "--measure", "--agent", "greedy", "--rounds", "5000"]) == 0
    assert str(find(Rules.of("mini"), 2)) in capsys.readouterr().out
    assert main(["--rules", "mini", "0", "3"]) == 0
    shown = capsys.readouterr().out
    assert f"{100 * match_equity('mini', [0, 3])[1]:.1f} %" in shown
    race_of.cache_clear()


def test_a_calibration_is_written_and_shown(tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "calibration.json"
    assert main(["--calibrate", "strong", "--matches", "200", "--out", str(out)]) == 0
    found = json.loads(out.read_text())["agents"][0]
    assert found["agent"] == "strong" and found["matches"] == 200
    assert f"{100 * found['error']:.2f}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rules", "nothing"], "nothing"),
        (["1", "2", "--measure"], "take none"),
        (["--num-players", "9"], "num_players"),
        (["--measure", "--rounds", "0"], "--rounds is 0"),
        (["--calibrate", "nobody"], "nobody"),
    ],
)
def test_wrong_options_are_named(arguments: list[str], message: str, capsys: Any) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
