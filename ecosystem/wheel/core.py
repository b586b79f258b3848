"""Uses the installed package with nothing but the core: run outside of the clone."""

import sys
from pathlib import Path

import gymnasium
import numpy as np
import pettingzoo

import pocket_uno_env
from pocket_uno_env import Rules, agents, pocket_uno_v0, replay
from pocket_uno_env.agents.scripted.policies import Policy
from pocket_uno_env.batch import Batch

assert Path(pocket_uno_env.__file__).is_relative_to(sys.prefix), pocket_uno_env.__file__

for rules, seats in (("pocket", 4), ("classic", 2)):
    env = pocket_uno_v0.env(rules=rules, num_players=seats)
    env.reset(seed=1)
    agent = agents.load("strong")
    for name in env.agent_iter():
        over = env.terminations[name] or env.truncations[name]
        env.step(None if over else agent.act(env))
    replay(env.unwrapped.record())
assert "spiel:BOT" in agents.registry.usages()  # by its entry point
assert Rules.preset("pocket").deck and "hand_sizes" in pocket_uno_env.describe()
if hasattr(pettingzoo, "make"):
    pettingzoo.make("aec", "pocket_uno/pocket_uno_v0").reset(seed=1)

single = gymnasium.make("pocket_uno/PocketUno-v0", opponents=["greedy"])
observation, info = single.reset(seed=1)
single.step(int(np.argmax(info["action_mask"])))

batch = Batch(64, "pocket", num_players=2)
masks, actions = np.zeros((64, batch.n_actions), np.int8), np.zeros(64, np.int64)
batch.reset(1, masks)
for _ in range(50):
    batch.act(Policy.GREEDY, actions)
    batch.step(actions, masks)

heavy = {"torch", "stable_baselines3", "scipy", "matplotlib", "safetensors", "rich", "tyro"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
print("core: played")
