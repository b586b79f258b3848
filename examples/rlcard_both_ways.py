"""RLCard's agents in the classic game here, and the agents here in RLCard's UNO.

    python examples/rlcard_both_ways.py --games 2000

Needs the extra `rlcard`, and PyTorch for RLCard's DQN (`--episodes 0` leaves it out). Everything is
played twice with the same cards, from both seats.
"""

from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO

import numpy as np
import rlcard
import tyro
from rlcard.agents import RandomAgent
from rlcard.utils import reorganize

from pocket_uno_env.agents import Agent, load
from pocket_uno_env.agents.rlcard import RlcardAgent, RlcardPlayer
from pocket_uno_env.evaluation import play, rate_estimate

OURS = ("random", "greedy", "strong", "classic-2p")


@dataclass
class Options:
    """What to play."""

    games: int = 100
    """Games of each pair, half of them from each seat."""
    episodes: int = 50
    """Games from which RLCard's DQN learns, against RLCard's random agent."""


def percent(rates: np.ndarray) -> str:
    """A win rate with its 95 % interval, from one value for each deal."""
    found = rate_estimate(rates)
    return f"{100 * found.mean:.1f} ± {50 * (found.high - found.low):.1f} %"


def train_dqn(episodes: int) -> object:
    """RLCard's DQN, by RLCard's own loop."""
    from rlcard.agents import DQNAgent  # only there if PyTorch is

    env = rlcard.make("uno", config={"seed": 0})
    agent = DQNAgent(
        num_actions=env.num_actions, state_shape=env.state_shape[0], mlp_layers=[64, 64]
    )
    env.set_agents([agent, RandomAgent(env.num_actions)])
    with redirect_stdout(StringIO()):  # it prints a line for every step
        for _ in range(episodes):
            trajectories, payoffs = env.run(is_training=True)
            for transition in reorganize(trajectories, payoffs)[0]:
                agent.feed(transition)
    return agent


def play_here(theirs: Agent, ours: str, games: int) -> str:
    """An agent of RLCard's against one of ours, in the classic game here."""
    (played,) = play("classic", 2, [theirs, load(ours)], deals=games // 2, seed=1)
    return percent(played.win_rates(0))


def play_there(ours: str, theirs: object, games: int) -> str:
    """One of our agents against one of RLCard's, in RLCard's game."""
    env = rlcard.make("uno", config={"seed": 0})
    player = RlcardPlayer(ours)
    rates = np.zeros(games // 2)
    for deal in range(games // 2):
        for seat, agents in enumerate(([player, theirs], [theirs, player])):
            np.random.seed(deal)
            env.seed(deal)
            env.set_agents(agents)
            _, payoffs = env.run()
            rates[deal] += (payoffs[seat] > 0) / 2
    return percent(rates)


options = tyro.cli(Options, description=__doc__)
visitors: dict[str, Agent] = {name: load(f"rlcard:{name}") for name in ("random", "uno-rule-v1")}
if options.episodes:
    visitors["dqn"] = RlcardAgent(train_dqn(options.episodes), "dqn")

print("RLCard's agents in the classic game here, the share of games that they win")
for name, visitor in visitors.items():
    for ours in OURS:
        print(f"  {name:12} against {ours:12} {play_here(visitor, ours, options.games)}")

print("The agents here in RLCard's game, the share of games that they win")
rule = rlcard.models.load("uno-rule-v1").agents[0]
for ours in OURS:
    for name, theirs in (("random", RandomAgent(61)), ("uno-rule-v1", rule)):
        print(f"  {ours:12} against {name:12} {play_there(ours, theirs, options.games)}")
