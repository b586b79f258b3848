"""The Gymnasium environments: conformance, masks, illegal actions, single and vector alike."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks
from stable_baselines3.common.env_checker import check_env as check_env_sb3
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

from pocket_uno_env.agents import ObservationAgent
from pocket_uno_env.envs.gym import PocketUnoEnv
from pocket_uno_env.envs.gym_vector import PocketUnoVectorEnv
from pocket_uno_env.envs.registration import GYM_ID
from pocket_uno_env.observation.encoders import COMPACT_SCALE
from pocket_uno_env.rules.rules import Rules

GAMES = [
    {},
    {"num_players": 5, "opponents": ["greedy", "random"], "reward": "points"},
    {"rules": "classic", "num_players": 4},
    {"view": "canonical", "compact": True},
    {"num_players": 3, "skip_forced": True, "max_cycles": 200},
]


def choose(mask: np.ndarray, rng: np.random.Generator) -> int:
    return int(rng.choice(np.flatnonzero(mask)))


@pytest.mark.parametrize("kwargs", GAMES, ids=str)
def test_checkers_are_content(kwargs: dict[str, Any]) -> None:
    env = gymnasium.make(GYM_ID, **kwargs)
    check_env(env.unwrapped)
    check_env_sb3(PocketUnoEnv(**kwargs))


@pytest.mark.parametrize("kwargs", GAMES, ids=str)
def test_a_vector_of_one_plays_what_the_single_env_plays(kwargs: dict[str, Any]) -> None:
    env, vector = PocketUnoEnv(**kwargs), gymnasium.make_vec(GYM_ID, num_envs=1, **kwargs)
    assert isinstance(vector.unwrapped, PocketUnoVectorEnv)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        observation, info = env.reset(seed=seed)
        observations, infos = vector.reset(seed=seed)
        terminated = truncated = False
        while not (terminated or truncated):
            assert (observation == observations[0]).all()
            assert (info["action_mask"] == infos["action_mask"][0]).all()
            assert (env.action_masks() == info["action_mask"]).all() and info["action_mask"].any()
            action = choose(info["action_mask"], rng)
            observation, reward, terminated, truncated, info = env.step(action)
            observations, rewards, ends, cuts, infos = vector.step(np.array([action]))
            assert (reward, terminated, truncated) == (rewards[0], ends[0], cuts[0])
        assert infos["_final_obs"][0] and (infos["final_obs"][0] == observation).all()
        assert infos["_final_info"][0] and infos["final_info"]["end"][0] == info["end"]
        assert not env.action_masks().any() and vector.unwrapped.action_masks().any()


def test_games_do_not_depend_on_how_many_there_are() -> None:
    seen = []
    for n in (3, 16):
        vector = PocketUnoVectorEnv(n, num_players=3)
        observations, infos = vector.reset(seed=1)
        seen.append([])
        for _ in range(100):
            masks = infos["action_mask"]
            actions = np.array([int(np.flatnonzero(mask)[-1]) for mask in masks])
            observations, rewards, *_, infos = vector.step(actions)
            seen[-1].append((observations[:3].copy(), rewards[:3].copy()))
    for one, other in zip(*seen, strict=True):
        assert all((a == b).all() for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("view", ["plain", "canonical"])
def test_compact_observations_are_the_float_ones_scaled(view: str) -> None:
    exact, compact = (PocketUnoVectorEnv(8, view=view, compact=c) for c in (False, True))
    (seen, infos), (small, other) = exact.reset(seed=1), compact.reset(seed=1)
    ends = 0
    while ends < 5:
        assert small.dtype == np.uint8 and compact.single_observation_space.contains(small[0])
        assert (small == np.floor(seen * np.float32(COMPACT_SCALE) + 0.5)).all()
        assert (infos["action_mask"] == other["action_mask"]).all()
        actions = infos["action_mask"].argmax(axis=1)
        seen, *_, infos = exact.step(actions)
        small, *_, other = compact.step(actions)
        ends += "final_obs" in infos
    over = infos["_final_obs"]
    assert (other["final_obs"][over] == np.floor(infos["final_obs"][over] * 240 + 0.5)).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [DummyVecEnv, SubprocVecEnv])
def test_maskable_ppo_gets_the_masks_of_every_game(kind: Any) -> None:
    env = kind([partial(PocketUnoEnv, illegal="raise")] * 2)
    model = MaskablePPO("MlpPolicy", env, n_steps=64, batch_size=64, n_epochs=1, seed=0)
    model.learn(256)  # an illegal action would raise
    masks = get_action_masks(env)
    assert masks.shape == (2, 123) and masks.any(axis=1).all()
    env.close()


def test_gymnasiums_own_vector_environment_says_as_much() -> None:
    usual = SyncVectorEnv([PocketUnoEnv] * 64, autoreset_mode=AutoresetMode.SAME_STEP)
    vector = gymnasium.make_vec(GYM_ID, num_envs=64)
    assert vector.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    assert vector.observation_space == usual.observation_space
    assert vector.action_space == usual.action_space
    said = []
    for env in (usual, vector):
        observations, infos = env.reset(seed=4)
        while "final_obs" not in infos:
            *told, infos = env.step(infos["action_mask"].argmax(axis=1))
        told = [array.dtype for array in (observations, *told)]
        said.append((told, set(infos), set(infos["final_info"]) - {"action_mask", "_action_mask"}))
    assert said[0] == said[1]


def test_rewards_come_at_the_end_and_both_ways() -> None:
    vector, rng = PocketUnoVectorEnv(64), np.random.default_rng(2)
    _, infos = vector.reset(seed=2)
    paid = []
    for _ in range(400):
        actions = np.array([choose(mask, rng) for mask in infos["action_mask"]])
        _, rewards, terminations, truncations, infos = vector.step(actions)
        over = terminations | truncations
        assert not rewards[~over].any() and ("final_obs" in infos) == over.any()
        paid += rewards[over].tolist()
    # A random player wins hardly ever against greedy, and most rounds are lost.
    assert set(paid) <= {-1.0, 1.0} and -1.0 < np.mean(paid) < -0.8


def test_an_illegal_action_ends_the_episode_or_raises() -> None:
    env = PocketUnoEnv(penalty=-7)
    _, info = env.reset(seed=1)
    illegal = int(np.flatnonzero(info["action_mask"] == 0)[0])
    _, reward, terminated, truncated, info = env.step(illegal)
    assert (reward, terminated, truncated, info["illegal"]) == (-7.0, True, False, True)
    with pytest.raises(RuntimeError, match="reset"):
        env.step(illegal)

    strict = PocketUnoEnv(illegal="raise")
    observation, _ = strict.reset(seed=1)
    before = strict.games.rows.tobytes()
    with pytest.raises(ValueError, match=rf"action {illegal} .*phase .*legal: "):
        strict.step(illegal)
    assert strict.games.rows.tobytes() == before
    assert (strict.games.look()[0] == observation).all()

    vector = PocketUnoVectorEnv(4, penalty=-7)
    observations, infos = vector.reset(seed=1)
    actions = np.array([choose(mask, np.random.default_rng(0)) for mask in infos["action_mask"]])
    actions[2] = int(np.flatnonzero(infos["action_mask"][2] == 0)[0])
    after, rewards, terminations, _, infos = vector.step(actions)
    assert rewards[2] == -7 and terminations[2] and infos["_final_obs"][2]
    assert (infos["final_obs"][2] == observations[2]).all()
    assert infos["final_info"]["illegal"].tolist() == [False, False, True, False]
    assert not infos["final_info"]["_end"].any()
    assert infos["action_mask"][2].any() and (after[2] != observations[2]).any()
    with pytest.raises(ValueError, match="game 1"):
        strict_vector = PocketUnoVectorEnv(4, illegal="raise")
        strict_vector.reset(seed=1)
        strict_vector.step(np.array([*actions[:1], -3, *actions[2:]]))


def test_opponents_that_are_not_scripted_are_asked_in_one_call() -> None:
    calls = []

    def last(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        calls.append(len(masks))
        return masks.shape[1] - 1 - masks[:, ::-1].argmax(axis=1)

    vector = PocketUnoVectorEnv(128, opponents=[ObservationAgent("last", last)])
    _, infos = vector.reset(seed=3)
    calls.clear()
    rng = np.random.default_rng(3)
    for _ in range(20):
        actions = np.array([choose(mask, rng) for mask in infos["action_mask"]])
        *_, infos = vector.step(actions)
    assert len(calls) < 20 * 15 and max(calls) > 30


@pytest.mark.parametrize("make", [PocketUnoEnv, PocketUnoVectorEnv])
@pytest.mark.parametrize(
    ("kwargs", "word"),
    [
        ({"illegal": "ignore"}, "illegal"),
        ({"opponents": "greedy"}, "opponents"),
        ({"opponents": ["gredy"]}, "greedy"),
        ({"opponents": [None]}, "opponents holds None"),
        ({"reward": "score"}, "reward"),
        ({"num_players": 9}, "num_players"),
        ({"render_mode": "gif"}, "render_mode"),
        ({"max_cycles": 0}, "max_cycles"),
        ({"compact": "x"}, "compact"),
    ],
)
def test_bad_arguments(make: Any, kwargs: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        make(**kwargs)


def test_actions_that_are_no_numbers_or_too_large() -> None:
    env = PocketUnoEnv()
    env.reset(seed=1)
    assert env.step(2**70)[1:4] == (-1.0, True, False)
    env = PocketUnoEnv(illegal="raise")
    env.reset(seed=1)
    with pytest.raises(ValueError, match="1180591620717411303424 is not legal"):
        env.step(2**70)
    vector = PocketUnoVectorEnv(3)
    vector.reset(seed=1)
    for wrong in ([0.0, 0.0, 0.0], ["a"] * 3, [1, 2], None):
        with pytest.raises(ValueError, match="actions"):
            vector.step(wrong)  # type: ignore[arg-type]
    _, rewards, *_ = vector.step(np.array([2**63, 0, 0], np.uint64))
    assert rewards[0] == -1


@pytest.mark.parametrize("mode", ["ansi", "human"])
def test_render_shows_the_table_also_after_the_end(mode: str, capsys: Any) -> None:
    env = PocketUnoEnv(render_mode=mode)

    def shown() -> str:
        return str(env.render() if mode == "ansi" else capsys.readouterr().out)

    with pytest.raises(RuntimeError, match="reset"):
        env.render()
    _, info = env.reset(seed=1)
    assert "you are player_" in (text := shown()) and "draw pile" in text
    terminated, rng = False, np.random.default_rng(0)
    while not terminated:
        assert not info.get("end")
        *_, terminated, _, info = env.step(choose(info["action_mask"], rng))
        text = shown()
    assert "the round is over (out)" in text and "is out and scores" in text
    _, info = env.reset(seed=1)
    env.step(int(np.flatnonzero(info["action_mask"] == 0)[0]))
    assert "illegal action: -1" in (text := shown()) and "draw pile" in text


DECK = ["R1", "B1", "R2", "B2", "R3", "B3", "R4", "B4", "R5", "B5", "G9"]


def set_up() -> dict[str, Any]:
    """Every hand is known: the dealer holds one colour, the other seat the other."""
    rest = list(Rules().deck)
    for card in DECK:
        rest.remove(card)
    return {"deck": DECK + rest, "dealer": 1}


def is_set_up(row: np.void) -> bool:
    blue = [Rules().kind_ids[card] for card in DECK[1:10:2]]
    return row["dealer"] == 1 and sum(int(row["hand_kinds"][1]) >> kind & 1 for kind in blue) >= 3


def vec_env() -> Any:
    return pytest.importorskip("pocket_uno_env.envs.sb3").LearnerVecEnv(3)


def reset_by_options(env: Any, options: dict[str, Any] | None) -> Any:
    if hasattr(env, "set_options"):
        env.set_options(options)
        env.seed(1)
        env.reset()
    else:
        env.reset(seed=1, options=options)
    return games_of(env).rows


def games_of(env: Any) -> Any:
    return env.games if hasattr(env, "games") else env.unwrapped.games


ENVIRONMENTS = [
    lambda: gymnasium.make("pocket_uno/PocketUno-v0"),
    lambda: gymnasium.make_vec("pocket_uno/PocketUno-v0", num_envs=3),
    vec_env,
]


@pytest.mark.parametrize("make", ENVIRONMENTS)
def test_deck_and_dealer_are_dealt_as_asked(make: Any) -> None:
    env = make()
    rows = reset_by_options(env, set_up())
    assert all(is_set_up(row) for row in rows)
    again = reset_by_options(make(), set_up())
    assert rows.tobytes() == again.tobytes()
    assert not all(is_set_up(row) for row in reset_by_options(env, None))


@pytest.mark.parametrize("make", ENVIRONMENTS)
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dek": DECK}, "did you mean 'deck'"),
        ({"Dealer": 0}, "did you mean 'dealer'"),
        ({"reset-mask": np.ones(3, bool)}, "did you mean 'reset_mask'"),
        ({"deck": ["R1"]}, "options\\['deck'\\] has"),
        ({"dealer": 2}, "expected a seat from 0 to 1"),
    ],
)
def test_options_that_make_no_game_are_refused(make: Any, options: Any, words: str) -> None:
    env = make()
    rows = reset_by_options(env, None)
    before = rows.tobytes()
    with pytest.raises(ValueError, match=words):
        reset_by_options(env, options)
    assert rows.tobytes() == before


def test_a_reset_mask_deals_the_games_that_it_names() -> None:
    env = gymnasium.make_vec("pocket_uno/PocketUno-v0", num_envs=4)
    with pytest.raises(RuntimeError, match="no rounds yet"):
        env.reset(seed=1, options={"reset_mask": np.ones(4, bool)})
    _, infos = env.reset(seed=1)
    for _ in range(3):
        _, _, _, _, infos = env.step(infos["action_mask"].argmax(axis=1))
    rows = games_of(env).rows
    before = rows.copy()
    mask = np.array([True, False, True, False])
    observations, infos = env.reset(options={"reset_mask": mask})
    changed = np.array([rows[i].tobytes() != before[i].tobytes() for i in range(4)])
    assert (changed == mask).all() and (rows["decisions"][mask] <= 3).all()
    assert observations.shape[0] == 4 and infos["action_mask"].any(axis=1).all()
    env.reset(options={"reset_mask": ~mask, **set_up()})
    assert [is_set_up(row) for row in rows] == [False, True, False, True]
    before = rows.tobytes()
    for wrong in (np.ones(3, bool), np.ones(4, np.int64), [True] * 4):
        with pytest.raises(ValueError, match="expected bool of shape"):
            env.reset(options={"reset_mask": wrong})
    assert rows.tobytes() == before
    for other in (gymnasium.make("pocket_uno/PocketUno-v0"), vec_env()):
        with pytest.raises(ValueError, match=r"is for the environments of gymnasium\.make_vec"):
            reset_by_options(other, {"reset_mask": np.ones(1, bool)})


@pytest.mark.slow
@pytest.mark.parametrize("start", ["spawn", "forkserver"])
def test_ids_in_workers_that_start_afresh(start: str) -> None:
    """As from a notebook: the program has no file that a worker could import."""
    code = (
        "import gymnasium; from gymnasium.vector import AsyncVectorEnv\n"
        "from stable_baselines3.common.env_util import make_vec_env\n"
        "from stable_baselines3.common.vec_env import SubprocVecEnv\n"
        f"ID, START = 'pocket_uno_env:{GYM_ID}', {start!r}\n"
        "plain = AsyncVectorEnv([lambda: gymnasium.make(ID)] * 2, context=START)\n"
        "print(len(plain.reset(seed=7)[0])); plain.close()\n"
        "made = gymnasium.make_vec(ID, 2, 'async', vector_kwargs={'context': START})\n"
        "print(len(made.reset(seed=7)[0])); made.close()\n"
        "kind = {'vec_env_cls': SubprocVecEnv, 'vec_env_kwargs': {'start_method': START}}\n"
        "sb3 = make_vec_env(ID, 2, seed=7, **kind); print(len(sb3.reset())); sb3.close()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["2", "2", "2"], done.stderr
