"""One measure of this project, repeated on demand. For bench.py.

python worker.py NAME       then a number of seconds on each line of standard input
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Counts = tuple[int, int]
"""Decisions and rounds."""


def aec(env: Any) -> Iterator[Counts]:
    """PettingZoo's loop: last, a random legal action, step."""
    generator = np.random.default_rng(0)
    env.reset(seed=0)
    while True:
        for _ in range(200):
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.reset()
                yield 0, 1
                continue
            legal = np.flatnonzero(observation["action_mask"])
            env.step(legal[int(generator.random() * len(legal))])
        yield 200, 0


def aec_raw() -> Iterator[Counts]:
    """PettingZoo environment without wrappers."""
    from pocket_uno_env import pocket_uno_v0

    return aec(pocket_uno_v0.raw_env())


def aec_wrapped() -> Iterator[Counts]:
    """PettingZoo environment in its usual wrappers."""
    from pocket_uno_env import pocket_uno_v0

    return aec(pocket_uno_v0.env())


def batch(
    policy: str, masks: bool, dtype: Any, num_players: int = 2, num_games: int = 4096
) -> Callable[[], Iterator[Counts]]:
    """The batch, both seats played by a scripted policy, with the outputs that are asked for."""

    def run() -> Iterator[Counts]:
        from pocket_uno_env.batch import Batch
        from pocket_uno_env.scripted import Policy

        games = Batch(num_games, num_players=num_players)
        mask = np.zeros((num_games, games.n_actions), np.int8) if masks else None
        seen = None if dtype is None else np.zeros((num_games, games.observation_size), dtype)
        actions, ends = np.zeros(num_games, np.int64), np.zeros(num_games, np.uint8)
        games.reset(1, mask, seen)
        while True:
            for _ in range(10):
                games.act(Policy[policy.upper()], actions)
                games.step(actions, mask, seen, ends=ends)
            yield 10 * num_games, 10 * int((ends != 0).sum())

    return run


def greedy_rounds() -> Iterator[Counts]:
    """Greedy against greedy inside the arena's compiled loop."""
    from pocket_uno_env.agents import load
    from pocket_uno_env.arena import play

    agents, seed = [load("greedy")], 0
    while True:
        (games,) = play("pocket", 2, agents, 2000, seed)
        seed += 1
        yield int(games.decisions.sum()), games.decisions.size


def vec_env(num_envs: int) -> Callable[[], Iterator[Counts]]:
    """The SB3 VecEnv against greedy, masks included; learner's decisions."""

    def run() -> Iterator[Counts]:
        from pocket_uno_env.sb3_env import LearnerVecEnv

        env = LearnerVecEnv(num_envs, seed=0)
        env.reset()
        while True:
            masks = np.stack(env.env_method("action_masks"))
            _, _, dones, _ = env.step(masks.argmax(axis=1))
            yield num_envs, int(dones.sum())

    return run


def dummy_vec_env() -> Iterator[Counts]:
    """The single-learner environment in SB3's DummyVecEnv."""
    from stable_baselines3.common.vec_env import DummyVecEnv

    from pocket_uno_env.gym_env import PocketUnoEnv

    env = DummyVecEnv([PocketUnoEnv] * 16)
    env.reset()
    while True:
        masks = np.stack(env.env_method("action_masks"))
        _, _, dones, _ = env.step(masks.argmax(axis=1))
        yield 16, int(dones.sum())


MEASURES: dict[str, Callable[[], Iterator[Counts]]] = {
    "aec raw": aec_raw,
    "aec wrapped": aec_wrapped,
    "batch, rules only": batch("random", False, None),
    "batch, mask": batch("random", True, None),
    "batch, mask + uint8": batch("random", True, np.uint8),
    "batch, mask + float32": batch("random", True, np.float32),
    "batch, mask + uint8, greedy": batch("greedy", True, np.uint8),
    "batch, mask + uint8, 5 players": batch("random", True, np.uint8, 5),
    **{
        f"batch, mask + uint8, N = {n}": batch("random", True, np.uint8, 2, n)
        for n in (1, 16, 256, 16384)
    },
    "greedy rounds": greedy_rounds,
    "sb3 VecEnv, N = 1024": vec_env(1024),
    "sb3 DummyVecEnv": dummy_vec_env,
}


def main(name: str) -> None:
    """Warm up, say so, and measure as often as asked."""
    run = MEASURES[name]()
    for _ in range(3):
        next(run)
    print("ready", flush=True)
    for line in sys.stdin:
        limit, decisions, rounds, start = float(line), 0, 0, time.perf_counter()
        while (passed := time.perf_counter() - start) < limit:
            more, ended = next(run)
            decisions += more
            rounds += ended
        found = {"decisions": decisions, "rounds": rounds, "seconds": passed}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
