"""RLCard's UNO, two of its random agents: `env.run()`, counted in decisions. For bench.py."""

import json
import sys
import time

import rlcard
from rlcard.agents import RandomAgent

env = rlcard.make("uno")
env.set_agents([RandomAgent(num_actions=env.num_actions) for _ in range(env.num_players)])
env.run(is_training=False)
print("ready", flush=True)
for line in sys.stdin:
    limit, decisions, rounds, start = float(line), 0, 0, time.process_time()
    while (passed := time.process_time() - start) < limit:
        trajectories, _ = env.run(is_training=False)
        # A trajectory alternates states and actions and ends with a state.
        decisions += sum(len(trajectory) // 2 for trajectory in trajectories)
        rounds += 1
    print(json.dumps({"decisions": decisions, "rounds": rounds, "seconds": passed}), flush=True)
