"""A run that is taken up again: from any checkpoint, or not at all, and then in one sentence."""

from __future__ import annotations

import errno
import io
import json
import os
import resource
import shlex
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest
from training_runs import ROOT, SMALL, run, start, train

from pocket_uno_env import Rules, files
from pocket_uno_env.agents import AgentError, load
from pocket_uno_env.agents.trained import run_folder
from pocket_uno_env.engine.state import ROW
from pocket_uno_env.envs.learner_books import BOOK
from pocket_uno_env.training import curves

STAGES = [
    *("--teacher", "strong", "--teacher-steps", 2048, "--lookahead-steps", 2048),
    *("--self-play", "0.5", "--pool", 2, "--pool-every", 1024, "--steps", 3072),
    *("--checkpoint-every", 1, "--keep", 100),
]
"""Two rollouts or three of each stage, and a checkpoint after each."""


@pytest.fixture(scope="module")
def staged(tmp_path_factory):
    """A run with all stages and all its checkpoints."""
    return run(tmp_path_factory.mktemp("runs") / "staged", *STAGES)


def taken_up(staged, out, checkpoint):
    """The folder of `staged` as it was when `checkpoint` was the newest."""
    shutil.copytree(staged, out, ignore=shutil.ignore_patterns(run_folder.MODEL, "*.lock"))
    for path in run_folder.checkpoints(out):
        if path.name > checkpoint.name:
            path.unlink()
    return out


@pytest.fixture
def copy(staged, tmp_path):
    """The same, to go on from its last but one checkpoint, the last one in PPO."""
    return taken_up(staged, tmp_path / "copy", run_folder.checkpoints(staged)[-2])


def refused(folder, capsys, *arguments):
    """What --resume says of a folder that it leaves as it is; one line."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    capsys.readouterr()
    assert train.main(["--resume", str(folder), *arguments]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert lines[-1].startswith("pocket-uno train: error: ") and "Traceback" not in "".join(lines)
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert before == {path: after[path] for path in before}
    assert {path.name for path in after} - {path.name for path in before} <= {".lock"}
    return lines[-1]


# From every checkpoint.


def test_from_every_checkpoint_of_every_stage_a_run_comes_to_the_same_weights(staged, tmp_path):
    saved = run_folder.checkpoints(staged)
    assert [path.stem for path in saved] == [
        *(f"lesson-{made:012d}" for made in (1024, 2048, 3072, 4096)),
        *(f"step-{made:012d}" for made in (0, 1024, 2048, 3072)),
    ]
    for checkpoint in saved:
        out = taken_up(staged, tmp_path / checkpoint.stem, checkpoint)
        assert train.main(["--resume", str(out)]) == 0
        found, expected = ((folder / run_folder.MODEL).read_bytes() for folder in (out, staged))
        assert found == expected, checkpoint.name


def test_lookahead_copies_the_policy_into_the_pool_as_ppo_does(staged):
    (last,) = (p for p in run_folder.checkpoints(staged) if p.stem == "lesson-000000004096")
    tensors, _ = run_folder.load_tensors(last)
    (steps,) = (array for name, array in tensors.items() if name.endswith("pool.steps"))
    assert steps.tolist() == [1024, 2048]


def points(folder):
    """The curves that TensorBoard shows of a run: each one's points, by decisions of all stages."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder))
    events.Reload()
    found = {}
    for name in events.Tags()["scalars"]:
        curve = [(event.step, event.value) for event in events.Scalars(name)]
        assert len(curve) == len({step for step, _ in curve}), f"{name} has a point twice"
        if not name.startswith("time/") and not name.endswith("per_second"):
            found[name] = dict(curve)
    return found


def test_curves_go_on_over_the_stages(staged):
    found = points(staged)
    imitated, ahead, trained = [1024, 2048], [3072, 4096], [5120, 6144, 7168]
    for name in ("loss", "value_error", "entropy"):
        assert list(found[f"imitation/{name}"]) == imitated
    for name in ("loss", "value_error", "entropy", "uncertain"):
        assert list(found[f"lookahead/{name}"]) == ahead
    for name in ("rollout/win_rate", "train/entropy_loss", "win_rate/greedy"):
        assert set(found[name]) <= set(trained)
    assert list(found["rollout/win_rate"]) == trained
    assert all(value > 0 for value in found["imitation/entropy"].values())
    assert all(0 <= value <= 1 for value in found["lookahead/uncertain"].values())
    assert all(0 <= value <= 1 for value in found["win_rate/greedy"].values())


@pytest.mark.parametrize("place", [1, 2, 5])
def test_curves_are_there_once_after_what_was_lost_is_trained_again(staged, tmp_path, place):
    """From a checkpoint of each stage: every point once, and the same as without interruption."""
    copy = taken_up(staged, tmp_path / "copy", run_folder.checkpoints(staged)[place])
    assert train.main(["--resume", str(copy)]) == 0
    assert len(list(copy.glob("events.out.tfevents.*"))) == 2
    found, whole = points(copy), points(staged)
    for name, curve in whole.items():
        # PPO tells of an update with the next rollout, and of the latest rounds since a restart.
        assert set(found[name]) == set(curve) or name.startswith("train/")
        if name.startswith(("imitation/", "lookahead/", "win_rate/")):
            assert found[name] == curve, name


def test_what_was_half_written_on_a_full_disk_is_taken_back(tmp_path, monkeypatch):
    logger = curves.Curves(tmp_path, 0)
    logger.record("one", 1.5)
    logger.dump(1)
    (path,) = tmp_path.iterdir()
    before = path.read_bytes()

    class Full(io.FileIO):
        def write(self, data):
            if self.tell() > len(before):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().write(data[:7])

    logger.record("one", 2.5)
    with monkeypatch.context() as patch:
        patch.setattr(type(path), "open", lambda self, mode, buffering: Full(self, mode))
        with pytest.raises(files.FileError, match=r"cannot write .*: No space left on device"):
            logger.dump(2)
    assert path.read_bytes() == before


def test_the_configuration_says_how_a_run_went_on(copy):
    first = run_folder.read_config(copy)["command"]
    assert train.main(["--resume", str(copy), "--steps", "4096", "--threads", "2"]) == 0
    config = run_folder.read_config(copy)
    assert config["command"] == first and config["settings"]["steps"] == 4096
    again = f"train.py --resume {copy} --steps 4096 --threads 2"
    assert config["resumed"] == [{"from": f"step-{2048:012d}", "command": again}]
    assert config["made"]["steps"] == 4096


def test_a_run_has_one_writer(copy, capsys):
    with files.only_writer(copy):
        assert "is being written by another process" in refused(copy, capsys)
    assert train.main(["--resume", str(copy)]) == 0


@pytest.mark.slow
def test_of_three_that_take_up_a_run_at_once_one_does(staged, copy):
    three = [start("--resume", copy, "--steps", steps) for steps in (3072, 3072, 3072)]
    ends = [(process.communicate(timeout=200)[1], process.returncode) for process in three]
    for error, status in ends:
        assert status == 0 or (status == 2 and error.count("train.py: error: ") == 1), error
    assert 0 in {status for _, status in ends}
    assert (copy / run_folder.MODEL).read_bytes() == (staged / run_folder.MODEL).read_bytes()


def test_a_run_can_be_trained_outside_of_the_main_thread(tmp_path):
    found = []
    arguments = [*SMALL, "--steps", "1024", "--out", str(tmp_path / "run")]
    thread = threading.Thread(target=lambda: found.append(train.main(arguments)))
    thread.start()
    thread.join()
    assert found == [0] and (tmp_path / "run" / run_folder.MODEL).exists()


# What is damaged.


def test_no_damage_to_a_checkpoint_goes_unnoticed(staged, tmp_path):
    """A bit, a page of zeros, an end that is missing: the file is refused, or says the same."""
    whole = run_folder.checkpoints(staged)[-1]
    data, expected = whole.read_bytes(), run_folder.load_tensors(whole)
    rng = np.random.default_rng(0)
    places = [*rng.integers(len(data), size=150), *range(0, 2000, 25)]
    damaged = tmp_path / "damaged.safetensors"
    noticed = 0
    for number, place in enumerate(map(int, places)):
        kind, found = number % 3, bytearray(data)
        if kind == 0:
            found[place] ^= 1 << number % 8
        elif kind == 1:
            found[place : place + 4096] = bytes(len(found[place : place + 4096]))
        else:
            del found[place:]
        damaged.write_bytes(found)
        try:
            tensors, about = run_folder.load_tensors(damaged)
        except run_folder.DamagedError as error:
            assert str(damaged) in str(error)
            noticed += 1
            continue
        assert about == expected[1] and set(tensors) == set(expected[0])
        assert all(np.array_equal(tensors[name], expected[0][name]) for name in tensors)
    assert noticed > 0.9 * len(places)


def test_a_flipped_bit_is_passed_over(staged, copy, capsys):
    newest = run_folder.checkpoints(copy)[-1]
    data = bytearray(newest.read_bytes())
    data[-1000] ^= 4
    newest.write_bytes(data)
    assert train.main(["--resume", str(copy)]) == 0
    error = " ".join(capsys.readouterr().err.split())
    assert f"Passed over: cannot read {newest}: it is damaged" in error
    assert (copy / run_folder.MODEL).read_bytes() == (staged / run_folder.MODEL).read_bytes()


def test_a_checkpoint_that_cannot_be_opened_is_not_called_damaged(copy, capsys):
    newest = run_folder.checkpoints(copy)[-1]
    newest.unlink()
    newest.symlink_to(newest.name)  # a loop, which root cannot read either
    assert train.main(["--resume", str(copy)]) == 2
    error = capsys.readouterr().err
    assert f"cannot read {newest}" in error and "Passed over" not in error


def test_a_changed_configuration_is_noticed(copy, capsys):
    path = copy / run_folder.CONFIG
    path.write_text(path.read_text().replace('"seed": 3', '"seed": 7'))
    assert f"{path} was changed or damaged" in refused(copy, capsys)


# What is whole, and no checkpoint of this run.


def rows_of(tensors):
    return np.frombuffer(bytearray(tensors["env.rows"]), ROW)


def books_of(tensors):
    return np.frombuffer(bytearray(tensors["env.books"]), BOOK)


def other_rows(field, value, place=5):
    def change(tensors, about):
        rows = rows_of(tensors)
        rows[field][place] = value
        tensors["env.rows"] = np.frombuffer(rows.tobytes(), np.uint8)

    return change


def other_books(field, value, place=5):
    def change(tensors, about):
        books = books_of(tensors)
        books[field][place] = value
        tensors["env.books"] = np.frombuffer(books.tobytes(), np.uint8)

    return change


def random_rows(tensors, about):
    size = tensors["env.rows"].size
    tensors["env.rows"] = np.random.default_rng(0).integers(256, size=size).astype(np.uint8)


def with_tensor(name, make):
    def change(tensors, about):
        tensors[name] = make(tensors.get(name))

    return change


def with_about(**more):
    return lambda tensors, about: about.update(more)


def without(name):
    return lambda tensors, about: [part.pop(name, None) for part in (tensors, about)]


def not_finite(array):
    changed = array.copy()
    changed.flat[3] = np.nan
    return changed


BIAS = "policy.0.bias"
WRONG = {
    "random rows": (random_rows, "row 0 is no game to go on with: "),
    "a seat that is not there": (
        other_rows("to_act", 7),
        "row 5 is no game to go on with: to_act is 7",
    ),
    "a phase of other rules": (
        other_rows("phase", 9),
        "row 5 is no game to go on with: phase is 9",
    ),
    "a card beyond the deck": (
        other_rows("draw_pile", 255),
        "row 5 is no game to go on with: draw_pile",
    ),
    "another seat of the learner": (other_books("learner", 2**40), "game 5 is none: learner"),
    "unknown opponents": (other_books("opponents", -9), "game 5 is none: opponents"),
    "an agent that is waited for": (other_books("waits_for", 10**9), "waits_for"),
    "another number of games": (
        with_tensor("env.rows", lambda array: array[:-1024]),
        "its env.rows is uint8 of shape (64512,); expected uint8 of shape (65536,)",
    ),
    "codes of no opponent": (
        with_tensor("env.pool.codes", lambda array: array * 0 - 77),
        "pool.codes names opponents that are not there",
    ),
    "no codes": (with_tensor("env.pool.codes", lambda array: array[:0]), "pool.codes"),
    "NaN": (with_tensor(BIAS, not_finite), "its policy.0.bias has values that are not finite"),
    "complex": (with_tensor(BIAS, lambda a: a.astype(np.complex64)), "is complex64 of shape (32,)"),
    "half": (with_tensor(BIAS, lambda a: a.astype(np.float16)), "expected float32"),
    "an unknown array": (with_tensor("cls", lambda _: np.zeros(3)), "it has 'cls'"),
    "no weights": (without(BIAS), "it has no policy.0.bias"),
    "no random state": (without("random.numpy"), "it has no random.numpy"),
    "a random state of no generator": (
        with_tensor("random.torch", lambda array: array * 0 + 255),
        "cannot resume from",
    ),
    "another layout": (with_about(layout="other", version="9.9"), "written by version 9.9"),
    "an earlier version": (without("layout"), "start a new run"),
    "an unknown field": (with_about(cls="Settings"), "it has a field 'cls'"),
    "no steps": (without("steps"), "it has no field 'steps'"),
    "steps that are no number": (
        with_about(steps="many"),
        "Expected `int`, got `str` - at `$.steps`",
    ),
    "less than nothing": (with_about(updates=-1), "negative number"),
    "a place beyond the state": (with_about(numpy=[10**6, 0, 0.0]), "its numpy is [1000000, 0, 0"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_no_checkpoint_of_this_run_is_refused(wrong, copy, capsys):
    change, message = WRONG[wrong]
    newest = run_folder.checkpoints(copy)[-1]
    tensors, about = run_folder.load_tensors(newest)
    change(tensors, about)
    run_folder.save_tensors(newest, tensors, about)
    error = refused(copy, capsys)
    assert f"cannot resume from {newest}: " in error and message in error


# Settings.


def settings_with(**more):
    return lambda config: {**config, "settings": {**config["settings"], **more}}


def config_with(**more):
    return lambda config: {**config, **more}


def no_keep(config):
    settings = {k: v for k, v in config["settings"].items() if k != "keep"}
    return {**config, "settings": settings}


SETTINGS = {
    "an unknown field": (config_with(cls="Settings"), "has a field 'cls'"),
    "an unknown setting": (settings_with(cls="Settings"), "settings has a field 'cls'"),
    "trust": (settings_with(trust=True), "settings has a field 'trust'"),
    "a missing setting": (no_keep, "settings has no field 'keep'"),
    "a text for a number": (settings_with(games="64"), "Expected `int`, got `str` - at `$.games`"),
    "a number for a text": (settings_with(opponents=[1]), "got `int` - at `$.opponents[0]`"),
    "nobody": (settings_with(opponents=[]), "--opponents"),
    "another view": (config_with(view="sideways"), "at `$.view`"),
    "two views": (config_with(view="plain"), "view is 'plain', and 'canonical' in settings"),
    "players": (config_with(num_players=3), "num_players is 3, and 2 in settings"),
    "more players than the rules": (config_with(num_players=10**40), "num_players"),
    "a huge network": (settings_with(network=[10**6, 10**6]), "--network makes a network"),
    "a huge network in layers": (
        config_with(network={"layers": [10**12, 2], "activation": "relu"}),
        "network.layers is",
    ),
    "another activation": (
        config_with(network={"layers": [1, 2], "activation": "x"}),
        "activation",
    ),
    "years of steps": (settings_with(steps=10**20), "--steps must be from 0 to"),
    "a lot of games": (settings_with(games=10**9), "--games must be from 1"),
    "a long rollout": (settings_with(rollout=2**20), "is longer than"),
    "no rules": (config_with(rules={}), "is missing in rules"),
    "rules that make no game": (
        lambda config: {**config, "rules": {**config["rules"], "hand_size": 0}},
        "hand_size",
    ),
}


@pytest.mark.parametrize("wrong", SETTINGS)
def test_settings_that_are_none_are_refused_by_file_and_field(wrong, copy, capsys):
    change, message = SETTINGS[wrong]
    run_folder.write_config(copy, change(run_folder.read_config(copy)))
    error = refused(copy, capsys)
    assert str(copy / run_folder.CONFIG) in error and message in error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"format": "pocket-uno-run/1", "format": "pocket-uno-run/1"}', "comes twice"),
        ('{"format": NaN}', "NaN is no JSON number"),
        ('{"format": 1e999}', "too large"),
        ('{"format": ' + "9" * 5000 + "}", "is not JSON"),
        ("\xff", "is not"),
        ("[]", "expected 'pocket-uno-run/1'"),
        ('{"format": "pocket-uno-run/1"}', "has no field 'rules'"),
    ],
)
def test_text_that_is_no_configuration_is_refused(text, message, copy, capsys):
    (copy / run_folder.CONFIG).write_text(text, "latin-1")
    error = refused(copy, capsys)
    assert str(copy / run_folder.CONFIG) in error and message in error
    with pytest.raises(AgentError):
        load(str(run_folder.checkpoints(copy)[-1]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--steps", str(10**20)], "--steps must be from 0 to 1,000,000,000,000"),
        (["--games", str(10**9)], "--games must be from 1 to"),
        (["--deals", str(10**12)], "--deals must be from 0 to"),
        (["--network", "1000000", "1000000"], "--network makes a network of more than"),
        (["--critic-network", "9999999999"], "--critic-network makes"),
        (["--learning-rate", "nan"], "--learning-rate must be from"),
        (
            ["--self-play", "1", "--pool", "1000", "--network", "4096", "4096"],
            "--pool copies of --network",
        ),
        (["--pool", "100000000"], "--pool must be"),
        (["--threads", "1000000"], "--threads must be"),
    ],
)
def test_absurd_sizes_are_refused_at_once(arguments, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert train.main(arguments) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "changed",
    [
        {"opponents": ["greedy", "import:stranger:Agent"]},
        {"opponents": ["noisy:0.1,stranger:Agent"]},
        {"teacher": "search:10,policy=stranger:Agent"},
    ],
)
def test_code_that_a_folder_names_runs_only_if_it_is_trusted(
    changed, copy, capsys, monkeypatch, tmp_path
):
    ran = tmp_path / "ran"
    (tmp_path / "stranger.py").write_text(
        f"open({str(ran)!r}, 'w').close()\n"
        "from pocket_uno_env.agents import load\n"
        "def Agent(): return load('greedy')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    run_folder.write_config(copy, settings_with(**changed)(run_folder.read_config(copy)))
    error = refused(copy, capsys)
    assert (
        str(copy / run_folder.CONFIG) in error and "stranger:Agent" in error and "--trust" in error
    )
    assert not ran.exists()
    train.main(["--resume", str(copy), "--trust"])
    assert ran.exists()
    sys.modules.pop("stranger", None)


def test_a_training_that_diverges_says_so_and_writes_nothing_of_it(tmp_path, capsys):
    out = tmp_path / "run"
    arguments = ["--learning-rate", "1", "--max-grad-norm", "1e6", "--value-weight", "100"]
    status = train.main([*SMALL, *arguments, "--steps", "20000", "--out", str(out)])
    if status:
        assert "diverged" in capsys.readouterr().err
    for path in run_folder.checkpoints(out):
        tensors, _ = run_folder.load_tensors(path)
        assert all(np.isfinite(a).all() for a in tensors.values() if a.dtype.kind == "f")


# Networks.


def network_with(change):
    def make(folder):
        path = folder / run_folder.MODEL
        tensors, _ = run_folder.load_tensors(path)
        change(tensors, {})
        run_folder.save_tensors(path, tensors)

    return make


NETWORKS = {
    "NaN": (with_tensor(BIAS, not_finite), "policy.0.bias has numbers that are not finite"),
    "infinity": (with_tensor(BIAS, lambda a: a + np.inf), "not finite"),
    "large": (with_tensor(BIAS, lambda a: a + np.float64(1e300)), "not finite"),
    "complex": (with_tensor(BIAS, lambda a: a.astype(np.complex64)), "complex64; expected float32"),
    "integers": (with_tensor(BIAS, lambda a: a.astype(np.int32)), "int32; expected float32"),
    "critic": (with_tensor("value.0.bias", not_finite), "value.0.bias has numbers"),
    "shape": (with_tensor(BIAS, lambda a: a[:-1]), "does not hold the network"),
    "none": (without(BIAS), "does not hold the network"),
}


@pytest.mark.parametrize("wrong", NETWORKS)
def test_weights_that_make_no_network_are_refused(wrong, staged, tmp_path):
    change, message = NETWORKS[wrong]
    for name in (run_folder.CONFIG, run_folder.MODEL):
        shutil.copy(staged / name, tmp_path / name)
    network_with(change)(tmp_path)
    with pytest.raises(AgentError) as caught:
        load(str(tmp_path))
    assert str(tmp_path / run_folder.MODEL) in str(caught.value) and message in str(caught.value)


def test_numbers_of_a_kind_that_numpy_has_not_are_refused(staged, tmp_path):
    header = json.dumps({"a": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}).encode()
    shutil.copy(staged / run_folder.CONFIG, tmp_path / run_folder.CONFIG)
    (tmp_path / run_folder.MODEL).write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    with pytest.raises(AgentError, match="cannot read"):
        load(str(tmp_path))


# Disks.


def limited(size):
    """For a process in which no file may become longer: Python gets an error as on a full disk."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def train_py(*arguments, **how):
    return subprocess.run(
        [sys.executable, str(ROOT / "train.py"), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        **how,
    )


@pytest.mark.slow
@pytest.mark.parametrize("size", [100, 8_000, 60_000])
def test_a_full_disk_ends_a_run_in_one_sentence(size, tmp_path):
    """As early as at the settings; at the first checkpoint."""
    out = tmp_path / "run"
    result = train_py(*SMALL, "--steps", 4096, "--out", out, preexec_fn=limited(size))
    assert result.returncode == 2
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("train.py: error: cannot write ") and "Traceback" not in result.stderr
    assert "damaged" not in result.stderr
    assert not list(out.rglob("*.part")) and all(p.stat().st_size for p in out.rglob("*.json"))


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 400 kB; only root may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(place)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no disk can be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.slow
def test_a_run_goes_on_when_there_is_room_again(small_disk, tmp_path):
    out = small_disk / "run"
    options = [*SMALL, "--steps", 4096, "--keep", 10, "--checkpoint-every", 1]
    result = train_py(*options, "--out", out)
    assert result.returncode == 2
    last = result.stderr.strip().splitlines()[-1]
    assert "No space left on device; once this is fixed, resume with: " in last
    assert not list(out.rglob("*.part"))
    subprocess.run(["mount", "-o", "remount,size=20m", str(small_disk)], check=True)
    assert train_py("--resume", out).returncode == 0
    whole = run(tmp_path / "whole", "--steps", 4096)
    assert (out / run_folder.MODEL).read_bytes() == (whole / run_folder.MODEL).read_bytes()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for arguments in (["--resume", out, "--steps", 9999], [*SMALL, "--out", small_disk / "other"]):
        result = train_py(*arguments)
        assert result.returncode == 2 and "Traceback" not in result.stderr
        assert "Read-only file system" in result.stderr


def test_a_link_to_nowhere_is_no_place_for_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").symlink_to("nowhere")
    with pytest.raises(run_folder.RunError, match="cannot make the folder"):
        run_folder.new_folder(None, "pocket", 2)


# What is said at the end.


@pytest.mark.slow
@pytest.mark.parametrize("game", ["classic", "own"])
def test_the_hint_after_training_works_for_any_game(game, tmp_path, capsys, monkeypatch):
    rules = game
    if game == "own":
        rules = str(tmp_path / "own.toml")
        Rules.preset("pocket", stacking="any").save(rules)
    out = tmp_path / "a run"
    run(out, "--steps", 0, "--rules", rules, "--num-players", 3, "--reward", "win")
    if game == "own":
        os.unlink(rules)
    (hint,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("More:"))
    words = shlex.split(hint.removeprefix("More:"))
    words[words.index("--deals") + 1] = "4"
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"stacking": "any"}, "stacking='any', not False"),
        ({"uno_call": "automatic"}, None),
        ({"jump_in": True, "forced_play": True}, "jump_in=True, not False"),
    ],
)
def test_other_house_rules_are_named(changed, message, staged):
    rules = Rules.preset("pocket", **changed)
    if message is None:
        return load(str(staged)).check(rules, 2)
    with pytest.raises(AgentError) as caught:
        load(str(staged)).check(rules, 2)
    assert message in str(caught.value) and "train.py --rules" in str(caught.value)
    assert "forced_play" not in str(caught.value)
