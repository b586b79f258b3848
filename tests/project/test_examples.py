"""The examples run, learn something, and take no illegal action; that one would show is tested."""

from __future__ import annotations

import importlib.util
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecEnv, VecMonitor

from pocket_uno_env import Rules
from pocket_uno_env.agents import load
from pocket_uno_env.datasets.program import main as write_dataset
from pocket_uno_env.envs.gym import PocketUnoEnv
from pocket_uno_env.envs.sb3 import LearnerVecEnv
from pocket_uno_env.evaluation.arena import play

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, *arguments: str) -> str:
    """What an example prints."""
    result = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / f"{name}.py", *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout


def example(name: str) -> ModuleType:
    """An example as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look for their annotations
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def ppo() -> ModuleType:
    return example("cleanrl_ppo")


# Gymnasium.


def test_gymnasium_single() -> None:
    assert re.match(r"100 rounds, \d+% won, [\d.]+ decisions a round\n", run("gymnasium_single"))


def test_gymnasium_vector() -> None:
    found = re.match(r"(\d+) rounds, ([\d.]+)% won", run("gymnasium_vector"))
    # Random play wins against greedy about one round in fifty.
    assert found and int(found[1]) > 3000 and 1 < float(found[2]) < 4


# Stable-Baselines3.


@pytest.mark.slow
def test_sb3_on_the_native_vec_env() -> None:
    printed = run("sb3_native", "--steps", "8192", "--games", "64")
    assert printed.count("Eval num_timesteps=") == 4
    assert "8,192 decisions, none of them illegal" in printed


@pytest.mark.slow
@pytest.mark.parametrize("vec", ["dummy", "subproc"])
def test_sb3_on_gymnasium_environments(vec: str) -> None:
    printed = run("sb3_gymnasium", "--vec", vec, "--steps", "1024", "--games", "2")
    assert printed.count("Eval num_timesteps=") == 2
    assert "1,024 decisions, none of them illegal" in printed


def native() -> VecEnv:
    return VecMonitor(LearnerVecEnv(2, seed=1))


def dummy() -> VecEnv:
    return make_vec_env(PocketUnoEnv, 2, env_kwargs={"illegal": "raise"})


@pytest.mark.parametrize("make", [native, dummy])
def test_without_masks_an_illegal_action_comes_and_is_raised(make: Callable[[], VecEnv]) -> None:
    """So a training that goes through has taken none."""
    model = MaskablePPO("MlpPolicy", make(), n_steps=32, batch_size=64, seed=0)
    with pytest.raises(ValueError, match="is not legal"):
        model.learn(256, use_masking=False)
    callback = MaskableEvalCallback(make(), n_eval_episodes=2, eval_freq=1, use_masking=False)
    with pytest.raises(ValueError, match="is not legal"):
        model.learn(64, callback=callback)


@pytest.mark.soak
def test_a_million_decisions_without_an_illegal_one() -> None:
    printed = run("sb3_native", "--steps", "1000000", "--games", "256")
    assert "1,007,616 decisions, none of them illegal" in printed


# Datasets.


def dataset(folder: Path, *arguments: str) -> Path:
    """A dataset, written by the program."""
    assert write_dataset([*arguments, "--out", str(folder / "data")]) == 0
    return folder / "data"


def rates(printed: str) -> dict[str, float]:
    """The win rates that an example prints, by opponent."""
    return {
        name: float(rate) for rate, name in re.findall(r"wins ([\d.]+)% .* against (.*)", printed)
    }


def test_cloning_learns_to_play(tmp_path: Path) -> None:
    data = dataset(tmp_path, "--agents", "strong", "--deals", "400", "--split", "0.9", "0.1")
    small = ("--steps", "600", "--hidden", "64", "--deals", "100")
    printed = run("offline_cloning", str(data), "--out", str(tmp_path / "run"), *small)
    # Without training it wins one round in a hundred against greedy, and 37 to 46 with 600 steps.
    assert rates(printed)["random"] > 85 and rates(printed)["greedy"] > 25
    same = re.search(r"decisions of other deals: [\d.]+, same action ([\d.]+)%", printed)
    assert same and float(same[1]) > 80
    load(str(tmp_path / "run")).check(Rules.of("pocket"), 2)


def test_q_learning_offline_learns_to_play(tmp_path: Path) -> None:
    three = ("--num-players", "3", "--view", "canonical")
    data = dataset(tmp_path, "--agents", "strong", "noisy:0.3,strong", "--deals", "100", *three)
    small = ("--steps", "600", "--hidden", "64", "--deals", "60")
    found = rates(run("offline_cql", str(data), *small))
    assert found["random"] > 70 and found["greedy"] > 15  # an even game is 33


# CleanRL's style.


def test_cleanrl_learns_and_its_run_is_an_agent(ppo: ModuleType, tmp_path: Path) -> None:
    args = ppo.Args(tmp_path / "run", steps=120_000, games=128, hidden=32)
    assert ppo.train(args) == tmp_path / "run"
    agents = [load(str(tmp_path / "run")), load("greedy")]
    (games,) = play("pocket", 2, agents, deals=100, seed=1)
    # Without training it wins one round in a hundred, and 38 to 44 with seeds 1 to 3.
    assert games.win_rates(0).mean() > 0.25


@pytest.mark.parametrize(("rules", "num_players"), [("classic", 3), ("mini", 2)])
def test_cleanrl_plays_other_rules(
    ppo: ModuleType, tmp_path: Path, rules: str, num_players: int
) -> None:
    args = ppo.Args(tmp_path / "run", rules, num_players, steps=512, games=16, rollout=16)
    folder = ppo.train(args)
    agents = [load(str(folder)), load("greedy")]
    lineups = [(0, *[1] * (num_players - 1))]
    (games,) = play(rules, num_players, agents, deals=4, seed=1, lineups=lineups)
    assert games.win_rates(0).shape == (4,)


@pytest.mark.slow
def test_ctrl_c_keeps_what_cleanrl_has_learned(tmp_path: Path) -> None:
    options = ["--games", "16", "--hidden", "16", "--out", str(tmp_path / "run")]
    with subprocess.Popen(
        [sys.executable, EXAMPLES / "cleanrl_ppo.py", *options], stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        assert "1,024 decisions" in program.stdout.readline()
        program.send_signal(signal.SIGINT)
        rest = program.stdout.read()
    assert program.returncode == 0 and "what was learned until here is kept" in rest
    load(str(tmp_path / "run")).check(Rules.of("pocket"), 2)


def test_cleanrl_without_masks_is_stopped(
    ppo: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        ppo, "masked", lambda logits, masks: torch.distributions.Categorical(logits=logits)
    )
    with pytest.raises(ValueError, match="is not legal"):
        ppo.train(ppo.Args(tmp_path / "run", steps=512, games=16, rollout=16))


def test_advantages_follow_each_seat(ppo: ModuleType) -> None:
    """The same by the definition, seat by seat, in plain Python."""
    rng = np.random.default_rng(0)
    steps, games, players = 12, 6, 3
    values = rng.normal(size=(steps + 1, games)).astype(np.float32)
    seats = rng.integers(players, size=(steps + 1, games))
    ends = (rng.random((steps, games)) < 0.2).astype(np.uint8)
    payoffs = np.where(ends[..., None] != 0, rng.normal(size=(steps, games, players)), 0)
    gamma, gae_lambda = 0.9, 0.7
    found, known = ppo.advantages(values, seats, payoffs, ends, gamma, gae_lambda)
    unknown = 0
    for game in range(games):
        for seat in range(players):
            # Backwards over the decisions of the seat: what it earns until the next one, and the
            # advantage there.
            following = None
            for step in reversed(range(steps + 1)):
                if seats[step, game] != seat:
                    continue
                if step == steps:
                    following = (step, 0.0)
                    continue
                last = steps if following is None else following[0]
                over = [t for t in range(step, last) if ends[t, game]]
                if over:
                    delta = payoffs[over[0], game, seat] - values[step, game]
                    expected = delta
                elif following is not None:
                    delta = gamma * values[following[0], game] - values[step, game]
                    expected = delta + gamma * gae_lambda * following[1]
                else:
                    assert not known[step, game]
                    unknown += 1
                    following = (step, 0.0)
                    continue
                assert known[step, game]
                assert found[step, game] == pytest.approx(expected, abs=1e-5)
                following = (step, expected)
    assert unknown > 3
