"""One measure of this project, repeated on demand. For bench.py.

python worker.py NAME       then a number of seconds on each line of standard input

All seconds are of this process's CPU time: what else runs on the machine does not count.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Counts = dict[str, float]
"""``decisions`` and ``rounds``; some measures add seconds spent in a part of their work."""
Measure = Callable[[], Iterator[Counts]]


# PettingZoo's loop: last, a random legal action, step.


def aec(env: Any) -> Iterator[Counts]:
    """The loop over any AEC environment whose observation holds its mask."""
    generator = np.random.default_rng(0)
    env.reset(seed=0)
    while True:
        rounds = 0
        for _ in range(200):
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.reset()
                rounds += 1
                continue
            legal = observation["action_mask"].nonzero()[0]
            env.step(legal[int(generator.random() * len(legal))])
        yield {"decisions": 200 - rounds, "rounds": rounds}


def aec_raw() -> Iterator[Counts]:
    """PettingZoo environment without wrappers."""
    from pocket_uno_env import pocket_uno_v0

    return aec(pocket_uno_v0.raw_env())


def aec_wrapped() -> Iterator[Counts]:
    """PettingZoo environment as it comes: illegal actions end the game, order is enforced."""
    from pocket_uno_env import pocket_uno_v0

    return aec(pocket_uno_v0.env())


def aec_bound() -> Iterator[Counts]:
    """What the loop makes of an environment without a game: one compiled call, two copies."""
    from numba import njit
    from pettingzoo import AECEnv

    @njit
    def nothing(table: Any, rows: Any, action: Any, observation: Any, mask: Any) -> Any:
        return 0

    class Empty(AECEnv):  # type: ignore[misc]
        possible_agents = ("player_0", "player_1")
        seen, mask = np.zeros(338, np.float32), np.ones(123, np.int8)
        table, rows = np.zeros(800, np.uint8), np.zeros(800, np.uint8)

        def reset(self, seed: Any = None, options: Any = None) -> None:
            self.agents = list(self.possible_agents)
            self.agent_selection = self.agents[0]
            self.rewards = dict.fromkeys(self.agents, 0.0)
            self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
            self.terminations = dict.fromkeys(self.agents, False)
            self.truncations = dict.fromkeys(self.agents, False)
            self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}

        def observe(self, agent: Any) -> Any:
            return {"observation": self.seen.copy(), "action_mask": self.mask.copy()}

        def step(self, action: Any) -> None:
            nothing(self.table, self.rows, action, self.seen, self.mask)
            self.agent_selection = self.agents[self.agent_selection == self.agents[0]]

    return aec(Empty())


# The batch.


def batch(
    policy: str, dtype: Any, *, masks: bool = True, num_players: int = 2, num_games: int = 4096
) -> Measure:
    """The batch, all seats played by a scripted policy, with the outputs that are asked for."""

    def run() -> Iterator[Counts]:
        from pocket_uno_env.agents.scripted.policies import Policy
        from pocket_uno_env.batch import Batch

        games = Batch(num_games, num_players=num_players)
        mask = np.zeros((num_games, games.n_actions), np.int8) if masks else None
        seen = None if dtype is None else np.zeros((num_games, games.observation_size), dtype)
        actions, ends = np.zeros(num_games, np.int64), np.zeros(num_games, np.uint8)
        games.reset(1, mask, seen)
        while True:
            rounds = 0
            for _ in range(10):
                games.play(Policy[policy.upper()], actions, mask, seen, ends=ends)
                rounds += int(np.count_nonzero(ends))
            yield {"decisions": 10 * num_games, "rounds": rounds}

    return run


def greedy_rounds() -> Iterator[Counts]:
    """Greedy against greedy inside the arena's compiled loop."""
    from pocket_uno_env.agents import load
    from pocket_uno_env.evaluation.arena import play

    agents, seed = [load("greedy")], 0
    while True:
        (games,) = play("pocket", 2, agents, 2000, seed)
        seed += 1
        yield {"decisions": int(games.decisions.sum()), "rounds": games.decisions.size}


def search() -> Iterator[Counts]:
    """What `search:1000` decides in games between two `strong`."""
    from pocket_uno_env.agents import load
    from pocket_uno_env.agents.scripted.policies import Policy
    from pocket_uno_env.batch import Batch

    agent, games, every = load("search:1000"), Batch(16), np.arange(16)
    agent.check(games.rules, games.num_players)
    games.reset(1)
    actions = np.zeros(16, np.int64)
    while True:
        for _ in range(5):
            games.play(Policy.STRONG, actions)
        agent.act_rows(games.rules, games.rows.copy(), every)
        yield {"decisions": len(every), "rounds": 0}


# Stable-Baselines3. The loop is what it does with a VecEnv in every step, networks aside.


def vec_loop(env: Any) -> Iterator[Counts]:
    """Masks as sb3-contrib stacks them, a step, the observations copied into a buffer."""
    buffer = np.zeros((env.num_envs, *env.observation_space.shape), np.float32)
    env.reset()
    while True:
        masks = np.stack(env.env_method("action_masks"))
        observations, _, dones, _ = env.step(masks.argmax(axis=1))
        buffer[:] = observations
        yield {"decisions": env.num_envs, "rounds": int(np.count_nonzero(dones))}


def vec_env(num_envs: int, view: str = "plain") -> Measure:
    """The native VecEnv against greedy; the learner's decisions."""

    def run() -> Iterator[Counts]:
        from pocket_uno_env.envs.sb3 import LearnerVecEnv

        return vec_loop(LearnerVecEnv(num_envs, seed=0, view=view))

    return run


def dummy_vec_env() -> Iterator[Counts]:
    """The single-learner environment in SB3's DummyVecEnv."""
    from stable_baselines3.common.vec_env import DummyVecEnv

    from pocket_uno_env.envs.gym import PocketUnoEnv

    return vec_loop(DummyVecEnv([PocketUnoEnv] * 16))


def vec_env_bound() -> Iterator[Counts]:
    """What the loop makes of a native VecEnv of 1,024 games that plays no game."""
    from pocket_uno_env.envs.sb3 import LearnerVecEnv

    class Empty(LearnerVecEnv):
        def step_async(self, actions: Any) -> None:
            pass

        def step_wait(self) -> Any:
            n = self.num_envs
            seen = self.first.copy()
            return seen, np.zeros(n, np.float32), np.zeros(n, bool), [{} for _ in range(n)]

    env = Empty(1024, seed=0)
    env.first = env.reset()
    return vec_loop(env)


def new_training(**changed: Any) -> Any:
    """Settings, environment, pool and model, as train.py sets them up."""
    from dataclasses import replace

    import torch

    from pocket_uno_env.training.program import (
        Settings,
        environment,
        new_model,
        rules_of,
        with_precision,
    )

    torch.set_num_threads(1)
    settings = with_precision(replace(Settings(), **changed))
    env, visible, pool = environment(settings, rules_of(settings))
    return settings, env, pool, new_model(settings, env, visible)


def training() -> Iterator[Counts]:
    """MaskablePPO as train.py sets it up, one rollout and its updates at a time."""
    import torch

    settings, env, _, model = new_training()
    spent: Counter[str] = Counter()
    inside: list[str] = []

    def timed(owner: Any, name: str, part: str) -> None:
        plain = getattr(owner, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            inside.append(part)
            began = time.process_time()
            try:
                return plain(*args, **kwargs)
            finally:
                inside.pop()
                if not inside:
                    spent[part] += time.process_time() - began

        setattr(owner, name, call)

    for name in ("forward", "evaluate_actions", "predict_values"):
        timed(model.policy, name, "network")
    timed(torch.Tensor, "backward", "learning")
    timed(model.policy.optimizer, "step", "learning")
    for name in ("step_async", "step_wait", "env_method"):
        timed(env, name, "env")
    decisions = settings.games * settings.rollout
    while True:
        spent.clear()
        model.learn(decisions, reset_num_timesteps=False)
        yield {"decisions": decisions, "rounds": 0, **spent}


def training_against(opponent: str, self_play: float = 0.0) -> Measure:
    """The same against one opponent, or a pool that is full of past selves."""

    def run() -> Iterator[Counts]:
        from pocket_uno_env.training.self_play import SelfPlay

        # Each call of learn is a whole training, at whose end the rate would have fallen to 0.
        changed = {"opponents": (opponent,), "self_play": self_play, "last_learning_rate": 1e-3}
        settings, _, pool, model = new_training(**changed)
        decisions = settings.games * settings.rollout
        callback = None if pool is None else SelfPlay(pool, decisions)
        for number in itertools.count(1):
            model.learn(decisions, callback, reset_num_timesteps=False)
            if pool is None or number >= settings.pool:
                yield {"decisions": decisions, "rounds": 0}

    return run


def lookahead_against(opponent: str) -> Measure:
    """Lookahead after some imitation, one rollout at a time."""

    def run() -> Iterator[Counts]:
        from pocket_uno_env.agents import load
        from pocket_uno_env.training.imitation import imitate
        from pocket_uno_env.training.lookahead import look_ahead

        settings, _, _, model = new_training(opponents=(opponent,), rollout=8)
        decisions = settings.games * settings.rollout
        imitate(model, load("strong"), 300_000, 1e-3, 512, lambda *shown: None)
        for made in itertools.count(0, decisions):
            look_ahead(model, made + decisions, 1e-3, 512, 0.01, lambda *shown: None, made)
            yield {"decisions": decisions, "rounds": 0}

    return run


def network() -> Iterator[Counts]:
    """A trained network of two layers of 512, asked about 1,024 games at once."""
    from pocket_uno_env.agents import load
    from pocket_uno_env.agents.scripted.policies import Policy
    from pocket_uno_env.batch import Batch

    agent, games = load("pocket-2p"), Batch(1024)
    actions, everywhere = np.zeros(1024, np.int64), np.arange(1024)
    games.reset(1)
    for _ in range(40):
        games.play(Policy.STRONG, actions)
    while True:
        agent.act_rows(games.rules, games.rows, everywhere)
        yield {"decisions": 1024, "rounds": 0}


MEASURES: dict[str, Measure] = {
    "aec raw": aec_raw,
    "aec wrapped": aec_wrapped,
    "aec without a game": aec_bound,
    "batch, rules only": batch("random", None, masks=False),
    "batch, mask": batch("random", None),
    "batch, mask + uint8": batch("random", np.uint8),
    "batch, mask + float32": batch("random", np.float32),
    "batch, mask + uint8, 3 players": batch("random", np.uint8, num_players=3),
    "batch, mask + uint8, 4 players": batch("random", np.uint8, num_players=4),
    "batch, mask + uint8, 5 players": batch("random", np.uint8, num_players=5),
    "batch, rules only, 5 players": batch("random", None, masks=False, num_players=5),
    "batch, rules only, greedy": batch("greedy", None, masks=False),
    "batch, rules only, strong": batch("strong", None, masks=False),
    "batch, rules only, strong, 4 players": batch("strong", None, masks=False, num_players=4),
    "batch, rules only, counter": batch("counter", None, masks=False),
    "batch, mask + uint8, greedy": batch("greedy", np.uint8),
    "batch, mask + float32, greedy": batch("greedy", np.float32),
    **{
        f"batch, mask + uint8, N = {n}": batch("random", np.uint8, num_games=n)
        for n in (1, 16, 256, 16384)
    },
    "greedy rounds": greedy_rounds,
    "search:1000": search,
    "sb3 VecEnv": vec_env(1024),
    "sb3 VecEnv, canonical": vec_env(1024, "canonical"),
    "sb3 VecEnv without a game": vec_env_bound,
    "sb3 DummyVecEnv": dummy_vec_env,
    "training": training,
    "training against strong": training_against("strong"),
    "training against pocket-2p": training_against("pocket-2p"),
    "training against past selves": training_against("strong", 1.0),
    "lookahead against strong": lookahead_against("strong"),
    "lookahead against pocket-2p": lookahead_against("pocket-2p"),
    "network, 1,024 games": network,
}


def main(name: str) -> None:
    """Warm up, say so, and measure as often as asked."""
    run = MEASURES[name]()
    for _ in range(3):
        next(run)
    print("ready", flush=True)
    for line in sys.stdin:
        limit, found, start = float(line), Counter[str](), time.process_time()
        while (passed := time.process_time() - start) < limit:
            found.update(next(run))  # type: ignore[arg-type]
        print(json.dumps({**found, "seconds": passed}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
