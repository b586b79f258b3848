"""A user's program, which mypy checks strictly against the installed package."""

from typing import assert_type

import numpy as np

from pocket_uno_env import (
    Agent,
    Batch,
    ObservationAgent,
    Policy,
    Rules,
    describe,
    load,
    pocket_uno_v0,
    replay,
)
from pocket_uno_env.agents import describe as about
from pocket_uno_env.agents import names
from pocket_uno_env.envs.gym import PocketUnoEnv
from pocket_uno_env.envs.gym_vector import PocketUnoVectorEnv
from pocket_uno_env.evaluation.arena import play
from pocket_uno_env.evaluation.statistics.estimates import rate_estimate

rules = Rules.preset("pocket", two_player_reverse="literal")
assert_type(rules, Rules)
assert_type(rules.n_cards, int)
assert_type(describe(rules), str)
assert_type(names(), list[str])
assert_type(about("greedy"), str)

env = pocket_uno_v0.raw_env(rules=rules, num_players=3)
env.reset(seed=1)
assert_type(env.legal_names(), list[str])
env.step(env.action_id("draw"))
replay(env.record())

agent = load("greedy")
assert_type(agent, Agent)
assert_type(agent.act(env), int)


def first(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """The first legal action."""
    actions: np.ndarray = masks.argmax(axis=1)
    return actions


own = ObservationAgent("first", first)
games = play(rules, 2, [own, agent], deals=10, seed=1)[0]
assert_type(rate_estimate(games.win_rates(0)).mean, float)

batch = Batch(8, rules, num_players=2)
actions = np.zeros(8, np.int64)
batch.reset(1)
batch.act(Policy.GREEDY, actions)
batch.step(actions)
assert_type(batch.n_actions, int)

single = PocketUnoEnv(opponents=["greedy"])
observation, info = single.reset(seed=1)
reward = single.step(int(info["action_mask"].argmax()))[1]
assert_type(float(reward), float)
vector = PocketUnoVectorEnv(num_envs=4)
vector.reset(seed=1)
