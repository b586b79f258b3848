"""train.py --initial: a run that starts from the weights of another one, and --max-cycles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file
from training_runs import SMALL, run, train

from pocket_uno_env.agents import load
from pocket_uno_env.agents.trained import run_folder
from pocket_uno_env.evaluation import play
from pocket_uno_env.training.settings import from_config

NOTHING = ["--steps", "0", "--lookahead-steps", "0"]
"""No stage at all: what a run starts from is what it ends with."""


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run for matches whose sizes and view are no defaults."""
    out = tmp_path_factory.mktemp("runs") / "first"
    sizes = ["--critic-network", "24", "--view", "plain", "--lookahead-steps", "1024"]
    return Path(run(out, *sizes, "--steps", "0"))


def weights(folder: Path) -> dict[str, np.ndarray]:
    return dict(load_file(folder / run_folder.MODEL))


def test_it_starts_from_the_weights(first: Path, tmp_path: Path) -> None:
    at = SMALL.index("--network")
    small = [*SMALL[:at], *SMALL[at + 3 :]]
    out = tmp_path / "next"
    assert train.main([*small, *NOTHING, "--initial", str(first), "--out", str(out)]) == 0
    before, after = weights(first), weights(out)
    assert before.keys() == after.keys()
    for name, array in before.items():
        assert np.allclose(array, after[name], rtol=1e-6, atol=0), name
        assert (array == after[name]).all() or name.startswith("value.1")  # scaled and back
    config = run_folder.read_config(out)
    assert config["settings"]["initial"] == str(first) and config["view"] == "plain"
    assert config["settings"]["network"] == [32, 16]
    assert config["settings"]["critic_network"] == [24]


def test_a_critic_of_another_reward_is_not_taken(first: Path, tmp_path: Path) -> None:
    out = run(tmp_path / "rounds", *NOTHING, "--initial", first, "--reward", "win")
    before, after = weights(first), weights(out)
    assert all((before[name] == after[name]).all() for name in before if "policy" in name)
    assert after["value.0.weight"].shape[0] == 32  # as large as the actor, and random


def test_a_run_that_started_from_one_is_resumed_without_it(first: Path, tmp_path: Path) -> None:
    stages = ["--lookahead-steps", "2048", "--steps", "0", "--checkpoint-every", "1"]
    out = run(tmp_path / "next", *stages, "--initial", first)
    made = (out / run_folder.MODEL).read_bytes()
    config = run_folder.read_config(out)
    config["settings"]["initial"] = "runs/gone"
    run_folder.write_config(out, config)
    for path in (out / run_folder.MODEL, run_folder.checkpoints(out)[-1]):
        path.unlink()
    assert train.main(["--resume", str(out)]) == 0
    assert (out / run_folder.MODEL).read_bytes() == made


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--initial", "greedy"], "--initial greedy is no trained network; expected the folder"),
        (["--initial", "pocket-4p"], "was trained for rules 'pocket' with 4 players"),
        (["--initial", "runs/nowhere"], "no agent 'runs/nowhere'"),
    ],
)
def test_what_does_not_fit_is_refused(
    arguments: list[str], message: str, tmp_path: Path, capsys: Any
) -> None:
    assert train.main([*SMALL, *NOTHING, *arguments, "--out", str(tmp_path / "run")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_config_of_an_earlier_version_has_the_defaults(first: Path) -> None:
    config = run_folder.read_config(first)
    for name in ("initial", "max_cycles"):
        del config["settings"][name]
    settings = from_config(first / run_folder.CONFIG, config)
    assert settings.initial is None and settings.max_cycles == type(settings).max_cycles


def test_rounds_are_cut_off_in_training(tmp_path: Path) -> None:
    """After a single decision no round is won, so that nothing can be learned from rewards."""
    game = ["--rules", "mini", "--reward", "win", "--max-cycles", "1"]
    out = run(tmp_path / "cut", *game, "--steps", "1024")
    assert run_folder.read_config(out)["settings"]["max_cycles"] == 1
    (games,) = play("mini", 2, [load(str(out)), load("greedy")], 20, 0, max_cycles=1)
    assert (games.winner == -1).all()
