"""OpenSpiel's Crazy Eights, two uniformly random players, from Python. For bench.py."""

import json
import random
import sys
import time

import pyspiel

game = pyspiel.load_game("crazy_eights", {"players": 2})
print("ready", flush=True)
for line in sys.stdin:
    limit, decisions, rounds, start = float(line), 0, 0, time.process_time()
    while (passed := time.process_time() - start) < limit:
        state = game.new_initial_state()
        while not state.is_terminal():
            if not state.is_chance_node():
                decisions += 1
            state.apply_action(random.choice(state.legal_actions()))
        rounds += 1
    print(json.dumps({"decisions": decisions, "rounds": rounds, "seconds": passed}), flush=True)
