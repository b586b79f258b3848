"""What games and rollouts take: bytes, not impressions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer

from pocket_uno_env.batch import Batch
from pocket_uno_env.envs.learner_games import LearnerGames
from pocket_uno_env.envs.sb3 import LearnerVecEnv
from pocket_uno_env.training.rollout_buffer import RolloutBuffer

MB = 10**6


def held(thing: Any) -> int:
    """The bytes of all arrays that an object holds by name."""
    arrays = {id(v): v for v in vars(thing).values() if isinstance(v, np.ndarray)}
    return sum(array.nbytes for array in arrays.values())


def test_4096_games_with_all_that_is_returned_take_less_than_16_mb() -> None:
    for num_players, dtype in ((2, np.float32), (5, np.uint8)):
        batch = Batch(4096, "pocket", num_players)
        outputs = [
            np.zeros((4096, batch.n_actions), np.int8),
            np.zeros((4096, batch.observation_size), dtype),
            np.zeros((4096, num_players), np.float32),
            np.zeros(4096, np.int64),
        ]
        batch.reset(1, outputs[0], outputs[1])
        assert 3 * MB < held(batch) + sum(array.nbytes for array in outputs) < 16 * MB
    games = LearnerGames(4096, "pocket", 2, ["greedy"], max_cycles=1000)
    games.start(np.uint64(1))
    assert 3 * MB < held(games) < 16 * MB


def test_a_million_buffered_decisions_in_bytes_take_less_than_600_mb() -> None:
    env = LearnerVecEnv(1000, compact=True)
    buffer = RolloutBuffer(1000, env.observation_space, env.action_space, "cpu", n_envs=1000)
    assert buffer.observations.size == 1_000_000 * env.observation_space.shape[0]
    assert 461 * MB <= held(buffer) < 600 * MB


def filled(
    kind: type[MaskableRolloutBuffer], compact: bool, **settings: Any
) -> MaskableRolloutBuffer:
    env = LearnerVecEnv(6, seed=1, compact=compact, view="canonical")
    model = MaskablePPO(
        "MlpPolicy",
        env,
        n_steps=5,
        rollout_buffer_class=kind,
        rollout_buffer_kwargs=settings,
        seed=2,
    )
    buffer = model.rollout_buffer
    for _ in range(2):  # the second rollout overwrites the first
        model._setup_learn(30)
        model.collect_rollouts(env, model._init_callback(None), buffer, 5)
    return buffer


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("batch_size", [7, 30, None])
def test_minibatches_are_those_of_sb3_contribs_buffer(compact: bool, batch_size: int) -> None:
    usual, ours = filled(MaskableRolloutBuffer, compact), filled(RolloutBuffer, compact)
    assert held(ours) < held(usual)
    for _ in range(2):
        np.random.seed(3)
        expected = list(usual.get(batch_size))
        np.random.seed(3)
        found = list(ours.get(batch_size))
        assert len(found) == len(expected)
        for one, two in zip(found, expected, strict=True):
            for name, tensor in one._asdict().items():
                other = getattr(two, name)
                assert tensor.shape == other.shape, name
                assert (tensor == other).all(), name
            assert one.observations.dtype == two.observations.dtype


@pytest.mark.parametrize("compact", [False, True])
def test_observations_are_kept_in_bfloat16_as_the_networks_would_round_them(compact: bool) -> None:
    usual = filled(MaskableRolloutBuffer, compact)
    ours = filled(RolloutBuffer, compact, bfloat16=True)
    assert ours.observations.nbytes == 2 * usual.observations.size
    np.random.seed(3)
    expected = list(usual.get(7))
    np.random.seed(3)
    found = list(ours.get(7))
    for one, two in zip(found, expected, strict=True):
        assert one.observations.dtype == torch.bfloat16
        assert (one.observations == two.observations.bfloat16()).all()
        for name in ("actions", "old_values", "advantages", "returns", "action_masks"):
            assert (getattr(one, name) == getattr(two, name)).all()


def test_a_rollout_is_not_read_before_it_is_full() -> None:
    env = LearnerVecEnv(3)
    buffer = RolloutBuffer(4, env.observation_space, env.action_space, "cpu", n_envs=3)
    with pytest.raises(RuntimeError, match="0 of 4 steps"):
        next(iter(buffer.get(6)))
