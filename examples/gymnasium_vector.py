"""A thousand games in one call through ``gymnasium.make_vec``.

    python examples/gymnasium_vector.py

All games are stepped by compiled code, the opponents included. A round that ends is followed by
the next in the same step (``AutoresetMode.SAME_STEP``). Needs the package alone.
"""

import time

import gymnasium
import numpy as np

import pocket_uno_env  # noqa: F401 - registers the environment

GAMES, STEPS = 1024, 200

envs = gymnasium.make_vec(
    "pocket_uno/PocketUno-v0", num_envs=GAMES, num_players=2, opponents=["greedy"], illegal="raise"
)
rng = np.random.default_rng(7)
observations, infos = envs.reset(seed=7)  # float32, (GAMES, size)

paid = []
began = time.perf_counter()
for _ in range(STEPS):
    # Your agent: from observations and masks to a legal action in each game.
    masks = infos["action_mask"]  # int8, (GAMES, actions)
    actions = (masks * rng.random(masks.shape, np.float32)).argmax(axis=1)
    observations, rewards, terminations, truncations, infos = envs.step(actions)
    over = terminations | truncations
    paid += rewards[over].tolist()  # what a learner sees last is in infos["final_obs"]
speed = GAMES * STEPS / (time.perf_counter() - began)

print(f"{len(paid)} rounds, {np.mean(np.array(paid) > 0):.1%} won, {speed:,.0f} decisions a second")
envs.close()
