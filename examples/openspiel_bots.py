"""Agents and OpenSpiel's bots at one table, in OpenSpiel.

    python examples/openspiel_bots.py

It needs the extra `spiel`. The other way round, OpenSpiel's bots play in evaluate.py:

    python evaluate.py --agents spiel:ismcts:100 greedy --deals 50
"""

import numpy as np
import pyspiel
from open_spiel.python.algorithms import ismcts

import pocket_uno_env.envs.openspiel.game  # noqa: F401 - registers the game
from pocket_uno_env.agents import load
from pocket_uno_env.agents.scripted.policies import Policy
from pocket_uno_env.envs.openspiel.bots import AgentBot, Playouts

ROUNDS = 6
SIMULATIONS = 50

game = pyspiel.load_game("python_pocket_uno(rules=pocket,players=3)")
random = np.random.RandomState(0)
bots = [
    AgentBot(load("strong")),
    ismcts.ISMCTSBot(game, Playouts(Policy.GREEDY, random), 2.0, SIMULATIONS, random_state=random),
    pyspiel.make_uniform_random_bot(2, 0),
]
names = ["strong", "OpenSpiel's ISMCTS", "OpenSpiel's random"]
totals = np.zeros(3)
for number in range(ROUNDS):
    returns = pyspiel.evaluate_bots(game.new_initial_state(), bots, number)
    totals += returns
    print(f"round {number}: {names[int(np.argmax(returns))]} wins")
for name, total in zip(names, totals, strict=True):
    print(f"{name:<20} {total / ROUNDS:+.2f} a round")
