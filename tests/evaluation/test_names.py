"""Agents under names of one's own, and trained networks that draw from their policy."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from pocket_uno_env.agents import AgentError, load
from pocket_uno_env.agents.registry import NETWORKS
from pocket_uno_env.agents.trained.policy import load_policy
from pocket_uno_env.evaluation.arena import Chunk, GameSetup, play
from pocket_uno_env.evaluation.fingerprint import fingerprint
from pocket_uno_env.evaluation.games import ArenaError
from pocket_uno_env.evaluation.names import load_named, named_code, split_alias
from pocket_uno_env.evaluation.plan import plan_of
from pocket_uno_env.rules.rules import Rules

program = pytest.importorskip("pocket_uno_env.evaluation.program", reason="needs tyro")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mine=runs/a", ("mine", "runs/a")),
        ("v1.2_b-c=search:9,policy=greedy", ("v1.2_b-c", "search:9,policy=greedy")),
        ("a=b=c", ("a", "b=c")),
        ("greedy", (None, "greedy")),
        ("search:playouts=9", (None, "search:playouts=9")),
        ("runs/lr=0.1", (None, "runs/lr=0.1")),
        ("=greedy", (None, "=greedy")),
        ("mine=", (None, "mine=")),
    ],
)
def test_an_alias_stands_before_the_first_equals_sign(text, expected):
    assert split_alias(text) == expected


def test_a_path_that_exists_is_no_alias(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lr=0.1").mkdir()
    assert split_alias("lr=0.1") == (None, "lr=0.1")


def test_an_alias_changes_the_name_and_nothing_else():
    plain, named = load("noisy:0.3,greedy"), load_named("mine=noisy:0.3,greedy")
    assert (named.title, named.name, plain.title) == ("mine", plain.name, plain.name)
    assert fingerprint(plain) == fingerprint(named)
    (one,), (other,) = (
        play("pocket", 2, [agent, load("first")], 30, 1) for agent in (plain, named)
    )
    assert (one.names[0], other.names[0]) == ("noisy:0.3,greedy", "mine")
    assert np.array_equal(one.winner, other.winner)
    assert np.array_equal(one.decisions, other.decisions)


def test_names_that_would_be_mistaken_are_refused():
    with pytest.raises(AgentError, match="another one's name"):
        load_named("greedy=random")
    with pytest.raises(ArenaError, match="two agents are called 'a'; expected a name of its own"):
        plan_of(["a=greedy", "a=random"])
    with pytest.raises(AgentError, match="no agent 'gredy'; did you mean 'greedy'"):
        load_named("mine=gredy")
    # The code of a module is asked for behind an alias, too.
    assert named_code("a=noisy:0.1,module:Class") and named_code("a=module:Class")
    assert not named_code("a=noisy:0.1,greedy") and not named_code("a=ppo:runs/x")


def test_tables_files_and_journals_show_the_alias(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out, records = tmp_path / "run", tmp_path / "games.jsonl"
    call = ("--agents", "mine=noisy:0.3", "theirs=noisy:0.6", "greedy", "--deals", "20", "--seed")
    assert program.main([*call, "4", "--out", str(out), "--records", str(records)]) == 0
    printed = capsys.readouterr().out
    assert "mine" in printed and "theirs" in printed and "noisy" not in printed
    report = json.loads((out / "report.json").read_text())
    assert [agent["name"] for agent in report["agents"]] == ["mine", "theirs", "greedy"]
    assert report["agents"][0]["agent"] == "noisy:0.3" and "agent" not in report["agents"][2]
    assert report["ratings"]["elo"].keys() == {"mine", "theirs", "greedy"}
    assert "--agents mine=noisy:0.3 theirs=noisy:0.6 greedy" in report["command"]
    for name in ("report.html", "results.csv", "behavior.csv"):
        assert "mine" in (out / name).read_text()
    assert set(json.loads(records.read_text().splitlines()[0])["players"]) == {"mine", "theirs"}
    assert "mine=noisy:0.3" in (out / "plan.json").read_text()
    assert program.main(["--resume", str(out)]) == 0
    assert capsys.readouterr().out == printed


def chunk(agents, first, count):
    setup = GameSetup(Rules.of("pocket"), 2, 5)
    return Chunk(setup, agents, (0, 1), first, count, keep_actions=True, rotations=2)


def test_a_sampled_network_plays_the_same_game_in_any_batch_and_another_than_without():
    sampled, likeliest = load("pocket-2p,sample"), load("pocket-2p")
    assert sampled.name == "pocket-2p,sample" and not sampled.deterministic
    whole = chunk([sampled, load("greedy")], 0, 12)
    for first, count in ((0, 5), (5, 1), (6, 6)):
        part = chunk([load("pocket-2p,sample"), load("greedy")], first, count)
        for game in range(2 * count):
            there, length = 2 * first + game, part.book.decisions[game]
            assert length == whole.book.decisions[there]
            played = whole.actions[there, :length]
            assert np.array_equal(part.actions[game, :length], played)
    other = chunk([likeliest, load("greedy")], 0, 12)
    assert not np.array_equal(whole.book.decisions, other.book.decisions)


def test_every_way_to_name_a_network_can_sample(tmp_path, monkeypatch):
    for ending in ("json", "safetensors"):
        shutil.copy(NETWORKS / f"pocket-2p.{ending}", tmp_path)
    monkeypatch.chdir(tmp_path)
    file = "pocket-2p.safetensors"
    for text in (f"{file},sample", f"ppo:{file},sample", "noisy:0.5,pocket-2p,sample"):
        agent = load(text)
        assert agent.name == text and getattr(agent, "agent", agent).sample
    assert not load(file).sample and not load(f"ppo:{file}").sample
    assert load_policy(file, sample=True).sample
    # Whoever has a file of that name means the file.
    (tmp_path / f"{file},sample").write_text("")
    with pytest.raises(AgentError, match="holds no weights"):
        load(f"ppo:{file},sample")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("greedy,sample", "no agent 'greedy,sample'"),
        ("pocket-2p:sample", "should be written 'pocket-2p[,sample]'"),
        ("ppo:nowhere,sample", "no trained model 'nowhere'"),
        ("nowhere/x,sample", "there is no such file or folder"),
    ],
)
def test_what_cannot_sample_is_refused(text, message):
    with pytest.raises(AgentError) as refused:
        load(text)
    assert message in str(refused.value)
