"""`pocket-uno dataset`: the files, what reads them, and what is refused."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from pocket_uno_env.agents import load
from pocket_uno_env.datasets import DatasetError, load_dataset, npz
from pocket_uno_env.datasets.transitions import NAMES, PER_EPISODE
from pocket_uno_env.evaluation.arena import play
from pocket_uno_env.evaluation.fingerprint import fingerprint, rules_fingerprint
from pocket_uno_env.files import FileError, only_writer, whole_folder
from pocket_uno_env.rules.rules import Rules

program = pytest.importorskip("pocket_uno_env.datasets.program", reason="needs tyro")


@pytest.fixture
def run(capsys):
    def call(*arguments):
        code = program.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        lines = err.splitlines(True)  # without what a slow machine gets: a line of progress
        return code, out, "".join(x for x in lines if not re.search(r"^Comp|: [\d,]+ of ", x))

    return call


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "data"
    arguments = ["--agents", "mine=greedy", "strong", "--deals", "20", "--seed", "4"]
    split = ["--split", "0.8", "0.1", "0.1", "--out", str(folder)]
    assert program.main([*arguments, *split]) == 0
    return folder


def test_splits_share_no_deal_and_have_all_rotations(made):
    deals = {}
    for split in ("train", "validation", "test"):
        data = load_dataset(made, split)
        deals[split] = set(data.episode_deals.tolist())
        games = {*zip(data.episode_deals.tolist(), data.episode_rotations.tolist(), strict=True)}
        assert games == {(deal, rotation) for deal in deals[split] for rotation in (0, 1)}
        assert set(data.deals.tolist()) == deals[split]
    assert deals["train"] == set(range(16))
    assert deals["validation"] == {16, 17} and deals["test"] == {18, 19}


def test_the_games_are_those_of_the_arena(made):
    (games,) = play("pocket", 2, [load("greedy"), load("strong")], 20, 4)
    data = load_dataset(made)
    counts = np.bincount(data.games, minlength=32).reshape(16, 2)
    assert np.array_equal(counts, games.decisions[:16])
    won = data.games[data.rewards == 1], data.agents[data.rewards == 1]
    assert np.array_equal(won[1], games.winner[:16].ravel()[won[0]])


def test_the_description_says_where_the_data_come_from(made):
    about = json.loads((made / "dataset.json").read_text())
    assert (about["format"], about["data_format"]) == ("uno-dataset/1", "npz")
    assert Rules.from_dict(about["rules"]) == Rules.preset("pocket")
    assert about["rules_fingerprint"] == rules_fingerprint(Rules.preset("pocket"))
    assert about["agents"][0] == {
        "name": "mine",
        "agent": "greedy",
        "fingerprint": fingerprint(load("greedy")),
    }
    assert about["command"].startswith("pocket-uno dataset --agents mine=greedy strong --deals 20")
    data = load_dataset(made)
    train = about["splits"]["train"]
    assert (train["first_deal"], train["deals"], train["games"]) == (0, 16, 32)
    assert (train["decisions"], train["episodes"]) == (len(data), 64)
    assert train["files"] == ["train-000.npz"]
    assert data.about == about
    with np.load(made / "train-000.npz", allow_pickle=False) as file:
        assert set(file.files) == set(NAMES)


def test_the_same_command_writes_the_same_data(run, made, tmp_path, monkeypatch):
    monkeypatch.setattr(npz, "SHARD", 200)
    arguments = ("--agents", "mine=greedy", "strong", "--deals", 20, "--seed", 4)
    code, out, err = run(*arguments, "--out", tmp_path / "again")
    assert (code, err) == (0, "") and "load_dataset" in out
    again, first = load_dataset(tmp_path / "again"), load_dataset(made)
    assert len(list((tmp_path / "again").glob("*.npz"))) == 1  # of one chunk
    for name in NAMES:
        found, expected = getattr(again, name), getattr(first, name)
        assert found.dtype == expected.dtype
        assert np.array_equal(found[: len(expected)], expected)


def test_a_large_split_has_several_files_that_are_read_as_one(run, tmp_path, monkeypatch):
    whole = ("--agents", "greedy", "random-uno", "first", "--deals", 9)
    assert run(*whole, "--out", tmp_path / "one")[0] == 0
    monkeypatch.setattr(npz, "SHARD", 300)
    assert run(*whole, "--out", tmp_path / "many")[0] == 0
    one, many = load_dataset(tmp_path / "one"), load_dataset(tmp_path / "many")
    assert len(many.about["splits"]["train"]["files"]) > 1
    assert all(np.array_equal(getattr(one, name), getattr(many, name)) for name in NAMES)
    assert set(one.agents) == {0, 1, 2}


def test_a_batch_is_what_learners_take(made):
    data = load_dataset(made)
    lines = np.random.default_rng(0).permutation(len(data))
    batch = data.batch(lines)
    assert [array.dtype for array in batch.values()] == [
        *(np.float32, np.bool_, np.int64, np.float32, np.float32, np.bool_, np.bool_, np.bool_)
    ]
    assert batch["action_masks"][np.arange(len(lines)), batch["actions"]].all()
    over = batch["terminated"]
    assert (
        not batch["next_observations"][over].any()
        and not batch["next_action_masks"].any(1)[over].any()
    )
    follow = lines[~over] + 1
    assert (data.games[follow] == data.games[lines[~over]]).all()
    assert (data.seats[follow] == data.seats[lines[~over]]).all()
    assert (data.steps[follow] == data.steps[lines[~over]] + 1).all()
    sight = data.observations[follow] * np.float32(1 / 240)
    assert np.array_equal(batch["next_observations"][~over], sight)
    assert batch["observations"].max() <= 1 and batch["next_action_masks"][~over].any(axis=1).all()


@pytest.mark.parametrize("lines", [[-1], [0, 10**6], [0.5], [[0]]])
def test_a_batch_refuses_lines_that_are_not_there(made, lines):
    with pytest.raises(ValueError, match=r"lines (is|has)"):
        load_dataset(made).batch(np.array(lines))


def test_a_batch_has_the_last_sight_of_what_was_truncated(run, tmp_path):
    code, _, _ = run("--agents", "greedy", "--deals", 3, "--max-cycles", 6, "--out", tmp_path / "x")
    data = load_dataset(tmp_path / "x")
    cut = np.flatnonzero(data.truncated)
    lines = cut[::-1]
    batch = data.batch(lines)
    assert code == 0 and len(cut) and not batch["next_action_masks"].any()
    expected = data.final_observations[::-1] * np.float32(1 / 240)
    assert np.array_equal(batch["next_observations"], expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--agents", "greedy"], "no folder; expected a new one"),
        (["--agents", "gredy", "--out", "x"], "did you mean 'greedy'"),
        (["--out", "x"], "no agents; expected at least one"),
        (["--agents", "greedy", "--out", "x", "--split", "0.5", "0.4"], "whose sum is 1"),
        (["--agents", "greedy", "--out", "x", "--split", "1.5", "-0.5"], "whose sum is 1"),
        (["--agents", "greedy", "--out", "x", "--split", *["0.25"] * 4], "expected one to three"),
        (
            ["--agents", "greedy", "--out", "x", "--deals", "3", "--split", "0.9", "0.1"],
            "the split 'validation' gets none",
        ),
        (["--agents", "greedy", "--out", "x", "--deals", "0"], "deals is 0"),
        (["--agents", "greedy", "--out", "x", "--rules", "uno"], "unknown rules 'uno'"),
        (["--agents", "greedy", "--out", "x", "--num-players", "9"], "num_players is 9"),
        (["--agents", "greedy", "--out", "full"], "full is not empty; choose the name of a new"),
        (["--agents", "greedy", "--out", "full/file"], "full/file is a file"),
        (["--agents", "greedy", "--out", "full/file/x"], "is a file"),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_line(run, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("x")
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("pocket-uno dataset: error: ") and message in err
    assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["full"]


def test_rules_without_match_equity_cannot_pay_by_it(run, tmp_path):
    rules = tmp_path / "rules.toml"
    Rules.preset("pocket", stacking="same", hand_size=3).save(rules)
    call = ("--agents", "greedy", "--rules", rules, "--reward", "match", "--out", tmp_path / "x")
    code, _, err = run(*call)
    assert code == 2 and "pocket-uno equity --measure" in err
    assert not (tmp_path / "x").exists()


def test_ctrl_c_leaves_nothing(tmp_path):
    command = ["dataset", "--agents", "greedy", "--deals", "5000000", "--out", "data"]
    with subprocess.Popen(
        [sys.executable, "-m", "pocket_uno_env", *command], stderr=subprocess.PIPE, cwd=tmp_path
    ) as child:
        part = tmp_path / ".data.part"
        deadline = time.monotonic() + 120
        while not (part / "train-000.npz").exists() and time.monotonic() < deadline:
            assert child.poll() is None
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
    assert child.returncode == 130 and b"interrupted, nothing was written" in err
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_no_dataset_and_is_removed(run, made, tmp_path):
    part = tmp_path / ".data.part"
    part.mkdir()
    (part / "train-000.npz").write_bytes((made / "train-000.npz").read_bytes()[:1000])
    (part / "pocket-uno").mkdir()
    with pytest.raises(DatasetError, match="there is no dataset"):
        load_dataset(part)
    with only_writer(part):
        code, _, err = run("--agents", "greedy", "--deals", 2, "--out", tmp_path / "data")
        assert code == 2 and "being written by another process" in err
    assert run("--agents", "greedy", "--deals", 2, "--out", tmp_path / "data")[0] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
    assert sorted(os.listdir(tmp_path / "data")) == ["dataset.json", "train-000.npz"]


def test_a_whole_folder_is_there_or_not(tmp_path):
    (tmp_path / "empty").mkdir()
    with whole_folder(tmp_path / "empty") as folder:
        (folder / "file").write_text("x")
        assert not list((tmp_path / "empty").iterdir())
    assert [path.name for path in (tmp_path / "empty").iterdir()] == ["file"]
    with pytest.raises(ZeroDivisionError), whole_folder(tmp_path / "new") as folder:
        (folder / "file").write_text("x")
        raise ZeroDivisionError
    with pytest.raises(FileError, match="is not empty"), whole_folder(tmp_path / "empty"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


def copy_of(made: Path, to: Path) -> Path:
    to.mkdir()
    for path in made.iterdir():
        (to / path.name).write_bytes(path.read_bytes())
    return to


def test_what_is_damaged_or_missing_is_refused(made, tmp_path):
    with pytest.raises(DatasetError, match="no dataset: there is no dataset"):
        load_dataset(tmp_path)
    with pytest.raises(DatasetError, match="no split 'tests'; expected one of train, validation"):
        load_dataset(made, "tests")
    folder = copy_of(made, tmp_path / "cut")
    data = (folder / "train-000.npz").read_bytes()
    (folder / "train-000.npz").write_bytes(data[: len(data) // 2])
    with pytest.raises(DatasetError, match="npz is damaged or missing"):
        load_dataset(folder)
    (folder / "train-000.npz").write_bytes((folder / "test-000.npz").read_bytes())
    with pytest.raises(DatasetError, match="json: observations has"):
        load_dataset(folder)
    about = json.loads((folder / "dataset.json").read_text())
    about["splits"]["train"]["files"] = ["../x.npz"]
    (folder / "dataset.json").write_text(json.dumps(about))
    with pytest.raises(DatasetError, match="describes no dataset of the format"):
        load_dataset(folder)


def test_minari_reads_the_same(run, tmp_path, monkeypatch):
    minari = pytest.importorskip("minari", reason="needs the extra 'datasets'")
    rules = tmp_path / "few.toml"
    Rules.preset("pocket", hand_size=1).save(rules)
    call = ("--agents", "a=greedy", "first", "--deals", 12, "--split", 0.75, 0.25, "--seed", 2)
    call = (*call, "--rules", rules, "--num-players", 3, "--max-cycles", 8)
    assert run(*call, "--out", tmp_path / "npz")[0] == 0
    code, out, err = run(*call, "--out", tmp_path / "minari", "--format", "minari")
    assert (code, err) == (0, "") and "minari.load_dataset('pocket-uno/train-v0')" in out
    with pytest.raises(DatasetError, match="is a dataset for Minari; read it by minari"):
        load_dataset(tmp_path / "minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    listed = minari.list_local_datasets()
    assert set(listed) == {"pocket-uno/train-v0", "pocket-uno/validation-v0"}
    for split in ("train", "validation"):
        expected, found = load_dataset(tmp_path / "npz", split), minari.load_dataset(
            f"pocket-uno/{split}-v0"
        )  # fmt: skip
        assert found.total_steps == len(expected)
        decided = np.flatnonzero(expected.episode_steps)
        assert found.total_episodes == len(decided) < len(expected.episode_steps)
        line = cut = 0
        options = found.storage.get_episode_metadata(range(len(decided)))
        for number, episode, about in zip(decided, found.iterate_episodes(), options, strict=True):
            own = slice(line, line + int(expected.episode_steps[number]))
            line = own.stop
            seen = episode.observations
            assert found.observation_space["observation"].contains(seen["observation"][0])
            assert np.array_equal(seen["observation"][:-1], expected.observations[own])
            assert np.array_equal(seen["action_mask"][:-1], expected.action_masks[own])
            assert not seen["action_mask"][-1].any()
            if episode.truncations[-1]:
                assert np.array_equal(seen["observation"][-1], expected.final_observations[cut])
                cut += 1
            assert np.array_equal(episode.actions, expected.actions[own])
            assert np.array_equal(episode.rewards, expected.rewards[own])
            assert np.array_equal(episode.terminations, expected.terminated[own])
            names = ("seat", "deal", "rotation", "game")
            columns = ("seats", "deals", "rotations", "games")
            for name, column in zip(names, columns, strict=True):
                assert about["options"][name] == getattr(expected, f"episode_{column}")[number]
            before = expected.episode_earned_before[number]
            assert about["options"]["earned_before"] == pytest.approx(before)
            assert about["options"]["agent"] == ["a", "first"][expected.episode_agents[number]]
        assert cut == len(expected.final_observations) > 0
        with np.load(tmp_path / "minari" / f"{split}-episodes.npz") as file:
            for name in PER_EPISODE:
                assert np.array_equal(file[name], getattr(expected, name))
        assert found.storage.metadata["pocket_uno_env"]["seed"] == 2


def test_without_minari_the_extra_is_named(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    call = ("--agents", "greedy", "--format", "minari", "--out", tmp_path / "x")
    code, _, err = run(*call)
    assert code == 2 and "pip install 'pocket-uno-env[datasets]'" in err
    assert not list(tmp_path.iterdir())
