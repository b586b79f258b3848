"""One game through ``gymnasium.make``: you, here at random, against greedy opponents.

    python examples/gymnasium_single.py

Needs the package alone.
"""

import gymnasium
import numpy as np

import pocket_uno_env  # noqa: F401 - registers the environment

ROUNDS = 100

env = gymnasium.make(
    "pocket_uno/PocketUno-v0",
    rules="pocket",
    num_players=3,
    opponents=["greedy", "strong"],
    illegal="raise",  # by default an illegal action ends the round with a penalty
)
env = gymnasium.wrappers.RecordEpisodeStatistics(env, buffer_length=ROUNDS)
env.action_space.seed(7)

for number in range(ROUNDS):
    observation, info = env.reset(seed=7 if number == 0 else None)
    over = False
    while not over:
        # Your agent: from the observation and the mask to a legal action.
        action = env.action_space.sample(info["action_mask"])
        observation, reward, terminated, truncated, info = env.step(action)
        over = terminated or truncated

won = np.mean(np.array(env.return_queue) > 0)
print(f"{ROUNDS} rounds, {won:.0%} won, {np.mean(env.length_queue):.1f} decisions a round")
env.close()
