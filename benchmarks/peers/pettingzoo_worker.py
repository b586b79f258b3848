"""PettingZoo's tic-tac-toe, raw: last, a random legal action, step. For bench.py."""

import json
import sys
import time

import numpy as np
from pettingzoo.classic.tictactoe import tictactoe

env = tictactoe.raw_env()
generator = np.random.default_rng(0)
print("ready", flush=True)
for line in sys.stdin:
    limit, decisions, rounds, start = float(line), 0, 0, time.process_time()
    while (passed := time.process_time() - start) < limit:
        env.reset()
        while True:
            observation, _, terminated, truncated, info = env.last()
            if terminated or truncated:
                break
            mask = (
                observation["action_mask"] if isinstance(observation, dict) else info["action_mask"]
            )
            legal = mask.nonzero()[0]
            env.step(legal[int(generator.random() * len(legal))])
            decisions += 1
        rounds += 1
    print(json.dumps({"decisions": decisions, "rounds": rounds, "seconds": passed}), flush=True)
