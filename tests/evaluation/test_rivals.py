"""Two agents against a common field, and ladders of rules that come without one."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pytest

from pocket_uno_env.agents import load
from pocket_uno_env.evaluation import ladder
from pocket_uno_env.evaluation.arena import play
from pocket_uno_env.evaluation.statistics.estimates import mean_estimate, rate_estimate
from pocket_uno_env.rules.rules import Rules

program = pytest.importorskip("pocket_uno_env.evaluation.program", reason="needs tyro")


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "own"))

    def call(*arguments):
        code = program.main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return call


def plain(estimate):
    return {"mean": estimate.mean, "low": estimate.low, "high": estimate.high}


@pytest.mark.parametrize(("seats", "episode"), [(2, "round"), (3, "round"), (2, "match")])
def test_differences_are_paired_by_deal(run, tmp_path, seats, episode):
    file, deals = tmp_path / "x.json", 60
    call = ("compare", "ours=strong", "noisy:0.2,strong", "--field", "greedy", "first")
    call = (*call, "--num-players", seats, "--deals", deals, "--seed", 3, "--episode", episode)
    code, out, _ = run(*call, "--json", file)
    assert code == 0 and max(map(len, out.splitlines())) <= 80
    found = json.loads(file.read_text())
    assert found["agents"] == ["ours", "noisy:0.2,strong"]
    assert set(found["fingerprints"]) == {"ours", "noisy:0.2,strong", "greedy", "first"}
    agents = [load(name) for name in ("strong", "noisy:0.2,strong", "greedy", "first")]
    tables = [(rival, *[other] * (seats - 1)) for other in (2, 3) for rival in (0, 1)]
    games = play("pocket", seats, agents, deals, 3, lineups=tables, episode=episode)
    rates = [of.win_rates(of.lineup[0]) for of in games]
    expected = {"greedy": rates[:2], "first": rates[2:]}
    expected["all of them"] = [(rates[i] + rates[i + 2]) / 2 for i in (0, 1)]
    assert list(found["against"]) == list(expected)
    for name, (one, other) in expected.items():
        row = found["against"][name]
        assert row["win_rates"] == [plain(rate_estimate(one)), plain(rate_estimate(other))]
        assert row["difference"] == plain(mean_estimate(one - other))
        assert f"{100 * row['difference']['mean']:+.1f}" in out
        assert ("round_difference" in row) == (episode == "match")
    if episode == "match":
        rounds = [of.round_win_rates(of.lineup[0]) for of in games]
        ahead = plain(mean_estimate(rounds[0] - rounds[1]))
        assert found["against"]["greedy"]["round_difference"] == ahead
    # The command in the file repeats it.
    again = tmp_path / "again.json"
    assert run(*shlex.split(found["command"])[1:], "--json", again)[0] == 0
    assert json.loads(again.read_text()) == found


def test_pairing_sees_what_two_intervals_do_not(run, tmp_path):
    file = tmp_path / "x.json"
    call = ("compare", "strong", "counter", "--field", "greedy", "--deals", 800)
    code, out, _ = run(*call, "--json", file)
    row = json.loads(file.read_text())["against"]["greedy"]
    difference = row["difference"]
    paired = (difference["high"] - difference["low"]) / 2
    alone = [(rate["high"] - rate["low"]) / 2 for rate in row["win_rates"]]
    assert code == 0 and paired < np.hypot(*alone)
    assert row["verdict"]["claim"] == "better" and "better" in out


def test_two_of_a_kind_are_even(run, tmp_path):
    call = ("compare", "a=greedy", "b=greedy", "--field", "first", "--deals", 40)
    code, _, _ = run(*call, "--json", tmp_path / "x")
    row = json.loads((tmp_path / "x").read_text())["against"]["first"]
    assert code == 0 and row["difference"] == {"mean": 0, "low": 0, "high": 0}
    assert row["verdict"]["claim"] == "even"


def test_a_comparison_goes_on_where_it_was(run, tmp_path):
    call = ("compare", "strong", "counter", "--field", "greedy", "--out", tmp_path / "kept")
    assert run(*call, "--deals", 30)[0] == 0
    code, out, _ = run(*call, "--deals", 60)
    assert code == 0 and "60 deals" in out
    assert out == run(*call[:-2], "--deals", 60)[1]
    code, _, err = run(*call, "--deals", 60, "--seed", 5)
    assert code == 2 and "was begun with other options" in err


def test_house_rules_have_a_ladder_once_it_is_measured(run, tmp_path, monkeypatch):
    monkeypatch.setattr(ladder, "RUNGS", ("random-uno", "greedy", "strong"))
    rules = Rules.preset("pocket", stacking="same", seven_zero=True)
    rules.save(tmp_path / "house.toml")
    rules.save(tmp_path / "other name.toml")
    game = ("--rules", tmp_path / "house.toml", "--num-players", 3)
    climb = ("ladder", "mine=noisy:0.3,greedy", "--deals", 20, *game)
    code, out, err = run(*climb)
    assert (code, out) == (2, "") and "Measure it once: evaluate.py ladder --measure" in err
    assert "--num-players 3" in err
    assert run("ladder", "--measure", "--deals", 20, *game)[0] == 0
    (file,) = (tmp_path / "own" / "pocket_uno_env" / "ladders").iterdir()
    assert file == ladder.path(rules, 3) and not (ladder.FOLDER / file.name).exists()
    measured = json.loads(file.read_text())
    assert Rules.from_dict(measured["rules"]) == rules and measured["episode"] == "match"
    assert measured["ratings"].keys() == {"random-uno", "greedy", "strong"}
    code, out, err = run(*climb)
    assert code == 0 and all(name in out for name in ("mine", *measured["ratings"]))
    assert run(*climb[:-3], tmp_path / "other name.toml", *climb[-2:])[1] == out
    # Other rules, or another number of players, have another.
    for more in ({"num_players": 2}, {"rules": Rules.preset("pocket", stacking="same")}):
        with pytest.raises(ladder.LadderError, match="there is no ladder of rules 'pocket' for"):
            ladder.read(**{"rules": rules, "num_players": 3, **more})
    assert ladder.read("pocket", 2)["version"] >= 1
    # Measured again it has the next version; agents that have changed are not rated by.
    assert run("ladder", "--measure", "--deals", 20, *game)[0] == 0
    measured = json.loads(file.read_text())
    assert measured["version"] == 2
    measured["fingerprints"]["strong"] = "0" * 16
    file.write_text(json.dumps(measured))
    code, _, err = run(*climb)
    assert code == 2 and "was measured with another 'strong' than this version has" in err


def test_a_file_that_says_what_a_preset_says_has_its_ladder(tmp_path):
    Rules.preset("classic").save(tmp_path / "mine.toml")
    assert ladder.path(str(tmp_path / "mine.toml"), 2) == ladder.FOLDER / "classic-2p.json"
    shipped = {path.stem for path in ladder.FOLDER.glob("*.json")}
    assert shipped == set(ladder.SHIPPED)
