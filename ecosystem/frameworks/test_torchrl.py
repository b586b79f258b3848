"""TorchRL: the specs hold, masks are respected, and the batched environment is the native one."""

from __future__ import annotations

import re
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch
from programs import run_example, run_page
from torchrl.envs import GymWrapper, check_env_specs
from torchrl.envs.libs.pettingzoo import PettingZooWrapper

from pocket_uno_env import pocket_uno_v0
from pocket_uno_env.envs.sb3 import LearnerVecEnv
from pocket_uno_env.envs.torchrl import LearnerTorchEnv


@pytest.mark.parametrize("name", ["torchrl_pettingzoo", "torchrl_ppo"])
def test_examples_take_no_illegal_action(name: str, tmp_path: Path) -> None:
    assert re.search(r"none of (the actions|them) illegal", run_example(name, folder=tmp_path))


def test_the_page(tmp_path: Path) -> None:
    run_page("torchrl", tmp_path)


# PettingZoo's interface.


@pytest.mark.parametrize(
    "kwargs", [{"num_players": 4}, {"rules": "classic", "episode": "match", "reward": "points"}]
)
def test_specs_of_the_pettingzoo_environment(kwargs: dict[str, object]) -> None:
    for game in (pocket_uno_v0.env(**kwargs), pocket_uno_v0.raw_env(**kwargs)):
        for groups in (None, {"players": game.possible_agents}):
            env = PettingZooWrapper(game, use_mask=True, group_map=groups, seed=3)
            check_env_specs(env, seed=3)


def test_every_seat_is_paid_at_the_end() -> None:
    game = pocket_uno_v0.raw_env(max_cycles=3000)
    env = PettingZooWrapper(game, True, use_mask=True, group_map={"all": game.possible_agents})
    env.set_seed(1)
    played = env.rollout(3000)
    paid, done = played["next", "all", "reward"].squeeze(-1), played["next", "done"].squeeze(-1)
    assert done.sum() == 1 and sorted(paid[done][0].tolist()) == [-1.0, 1.0]
    assert not paid[~done].any()
    assert (played["next", "all", "done"].squeeze(-1) == done[:, None]).all()


def test_an_illegal_action_raises() -> None:
    game = pocket_uno_v0.raw_env()
    env = PettingZooWrapper(game, use_mask=True, group_map={"all": game.possible_agents}, seed=1)
    start = env.reset()
    mask = start["all", "action_mask"][start["all", "mask"]][0]
    start["all", "action"] = torch.full((2,), int((~mask).nonzero()[0]))
    with pytest.raises(ValueError, match="is not legal"):
        env.step(start)


# The batched environment.


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"num_players": 3, "opponents": ["greedy", "random"], "reward": "points"},
        {"rules": "classic", "view": "canonical", "skip_forced": True, "max_cycles": 60},
        {"episode": "match", "reward": "match", "scores": "match", "max_rounds": 4},
    ],
)
def test_the_batched_environment_plays_what_the_native_vec_env_plays(kwargs: dict) -> None:
    check_env_specs(LearnerTorchEnv(5, **kwargs), seed=1)
    env, native = LearnerTorchEnv(40, seed=6, **kwargs), LearnerVecEnv(40, seed=6, **kwargs)
    rng, ended = np.random.default_rng(2), 0
    now, observations = env.reset(), native.reset()
    for _ in range(120):
        masks = native.action_masks()
        assert np.array_equal(now["observation"].numpy(), observations)
        assert np.array_equal(now["action_mask"].numpy(), masks)
        actions = (masks * rng.random(masks.shape)).argmax(axis=1)
        now["action"] = torch.from_numpy(actions)
        found, now = env.step_and_maybe_reset(now)
        observations, rewards, dones, infos = native.step(actions)
        after = found["next"]
        assert np.array_equal(after["reward"].numpy()[:, 0], rewards)
        assert np.array_equal(after["done"].numpy()[:, 0], dones)
        assert not now["done"].any()
        for i in np.flatnonzero(dones):
            ended += 1
            assert bool(after["truncated"][i]) == infos[i]["TimeLimit.truncated"]
            assert bool(after["terminated"][i]) != infos[i]["TimeLimit.truncated"]
            assert np.array_equal(after["observation"][i].numpy(), infos[i]["terminal_observation"])
            assert not after["action_mask"][i].any()
    assert ended > 20


def test_scores_of_a_reset_hold_for_its_episodes_alone() -> None:
    env = LearnerTorchEnv(4, scores=[10, 20], max_cycles=40, seed=1)
    rows = env.games.rows
    before = env.reset(scores=[30, 40])
    assert rows["scores"][:, :2].tolist() == [[30, 40]] * 4
    chosen = torch.tensor([True, False, False, True])[:, None]
    env.reset(before.clone().set("_reset", chosen), scores=[[50, 60]])
    assert rows["scores"][:, :2].tolist() == [[50, 60], [30, 40], [30, 40], [50, 60]]
    env.rollout(60, break_when_any_done=False, auto_reset=False, tensordict=env.reset())
    assert rows["scores"][:, :2].tolist() == [[10, 20]] * 4
    with pytest.raises(ValueError, match="expected a whole number for each of 2 seats"):
        env.reset(scores=[1, 2, 3])


def test_any_games_can_be_dealt_anew() -> None:
    env = LearnerTorchEnv(8, seed=1)
    before = env.reset()
    chosen = torch.tensor([True, False] * 4)[:, None]
    after = env.reset(before.clone().set("_reset", chosen))
    same = (before["observation"] == after["observation"]).all(dim=-1)
    assert same.tolist() == [False, True] * 4
    env.set_seed(1)
    assert (env.reset()["observation"] == before["observation"]).all()
    assert (env.reset()["observation"] != before["observation"]).any()


def test_an_illegal_action_raises_and_changes_nothing() -> None:
    env = LearnerTorchEnv(4, seed=1)
    with pytest.raises(RuntimeError, match="call reset"):
        env.step(env.fake_tensordict())
    start = env.rand_action(env.reset())
    rows = env.games.rows.copy()
    wrong = start.clone()
    wrong["action"][2] = int((~start["action_mask"][2]).nonzero()[0])
    with pytest.raises(ValueError, match="is not legal in game 2"):
        env.step(wrong)
    assert rows.tobytes() == env.games.rows.tobytes()
    env.step(start)


def test_gyms_wrapper_does_not_take_our_vector_environment() -> None:
    """As the page says; if it does one day, the page is to be changed."""
    vector = gymnasium.make_vec("pocket_uno/PocketUno-v0", num_envs=4)
    with pytest.raises(AttributeError, match="autoreset_mode"):
        GymWrapper(vector)
