"""The whole of an evaluation, where the answer is known beforehand."""

import numpy as np
import pytest

from pocket_uno_env.agents import AgentError, load
from pocket_uno_env.evaluation.arena import play
from pocket_uno_env.evaluation.ladder import FOLDER, RUNGS, read
from pocket_uno_env.evaluation.statistics.estimates import rate_estimate
from pocket_uno_env.evaluation.statistics.sprt import Sprt
from pocket_uno_env.evaluation.statistics.verdicts import verdict
from pocket_uno_env.rules.rules import Rules


@pytest.mark.parametrize(("name", "seats"), [("noisy:0.3", 2), ("random-uno", 3)])
def test_two_copies_of_an_agent_are_even_in_95_of_100_runs(name, seats):
    runs, deals = 100, 40
    copies = [load(name) for _ in range(seats)]
    for number, agent in enumerate(copies):
        agent.name = f"{name} {number}"
    lineup = [(0, *range(1, seats))]
    (games,) = play("pocket", seats, copies, runs * deals, 11, lineups=lineup, max_cycles=2000)
    parts = games.win_rates(0).reshape(runs, deals)
    assert parts.std() > 0.1
    intervals = [rate_estimate(part) for part in parts]
    held = np.mean([of.low <= 1 / seats <= of.high for of in intervals])
    # Of 100 tries of 95 %, 87 or fewer succeed once in a thousand times.
    assert 0.87 < held < 1
    claims = [verdict(part, 1 / seats).claim for part in parts]
    assert claims.count("better") + claims.count("worse") <= 7


def test_a_sequential_test_of_copies_and_of_unequal_agents():
    copies = [load("noisy:0.3"), load("noisy:0.3")]
    copies[1].name = "copy"
    (games,) = play("pocket", 2, copies, 6000, 4)
    answers = [Sprt(0.5, 0.56).stop(part)[1] for part in games.win_rates(0).reshape(12, 500)]
    assert answers.count("high") <= 3  # 5 % each: four of twelve come once in 450 times
    assert answers.count("low") >= 8
    (games,) = play("pocket", 2, [load("greedy"), load("noisy:0.3")], 2000, 4)
    answers = [Sprt(0.5, 0.56).stop(part)[1] for part in games.win_rates(0).reshape(10, 200)]
    assert answers == ["high"] * 10


@pytest.mark.parametrize("ladder", sorted(path.stem for path in FOLDER.glob("*.json")))
def test_the_ladders_are_what_their_agents_play(ladder):
    """If this fails, an agent plays differently: measure the ladders anew (`make ladders`)."""
    rules, players = ladder.rsplit("-", 1)
    found = read(rules, int(players[:-1]))
    names = list(found["ratings"])
    assert set(RUNGS) <= set(names)
    assert found["version"] >= 1
    agents = [load(name) for name in names]
    deals = 150
    for entry in found["win_rates"]:
        if "random" in entry["agents"][1:] and found["num_players"] > 2:
            continue  # tables full of random play take very long
        lineup = [tuple(names.index(name) for name in entry["agents"])]
        (games,) = play(
            Rules.from_dict(found["rules"]), found["num_players"], agents, deals, 99, lineups=lineup
        )
        blocks = games.win_rates(lineup[0][0])
        error = max(blocks.std(), 0.1) / np.sqrt(deals)
        assert abs(blocks.mean() - entry["mean"]) < 4.5 * error, entry["agents"]


@pytest.mark.parametrize(
    ("changes", "low", "high"),
    [
        ({}, 0.97, 1.0),
        # As in RLCard's own game, where it wins 54-55 %: no UNO to forget, no choice to draw.
        ({"uno_call": "automatic", "forced_play": True}, 0.53, 0.59),
    ],
)
def test_rlcards_rule_agent_against_random_play(changes, low, high):
    rules = Rules.preset("classic", **changes)
    (games,) = play(rules, 2, [load("rlcard-rule"), load("random")], 2500, 0)
    found = rate_estimate(games.win_rates(0))
    assert low < found.low < found.high < high
    if changes:
        assert found.low > 0.5


def test_rlcards_rule_agent_plays_as_rlcards_does():
    rules = Rules.preset("classic")
    names = [kind.name for kind in rules.kinds]
    from pocket_uno_env import pocket_uno_v0

    seen = {"coloured": set(), "wild": set(), "w4": set(), "draw": 0}
    agent = load("rlcard-rule")
    env = pocket_uno_v0.raw_env(rules=rules)
    for seed in range(60):
        env.reset(seed=seed)
        while env.agents:
            if env.terminations[env.agent_selection]:
                env.step(None)
                continue
            legal = env.legal_names()
            action = env.action_name(agent.act(env))
            plays = [name for name in legal if name.startswith("play ")]
            if plays and ("draw" in legal or "keep" in legal):
                coloured = [name for name in plays if name[5:] in names[:-2]]
                four = [name for name in plays if "W+4" in name]
                if coloured:
                    assert action in coloured
                    seen["coloured"].add(coloured.index(action))
                elif four:
                    assert action in four
                    hand = env.snapshot()["hands"][env.possible_agents.index(env.agent_selection)]
                    colors = [sum(card[0] == c for card in hand) for c in "RBGY"]
                    assert colors["RBGY".index(action[-1])] == max(colors)
                    seen["w4"].add(action)
                else:
                    seen["wild"].add(action)
            elif "draw" in legal:
                assert action == "draw"
                seen["draw"] += 1
            env.step(env.action_id(action))
    assert len(seen["coloured"]) > 3
    assert len(seen["wild"]) == 4
    assert len(seen["w4"]) > 1
    assert seen["draw"] > 100
    with pytest.raises(AgentError, match="plays the classic game"):
        agent.check(Rules.preset("pocket"), 2)


@pytest.mark.parametrize(
    "spec", ["noisy:", "noisy:x", "noisy:2", "noisy:-1,greedy", "noisy:0.1,no"]
)
def test_noisy_agents_are_checked(spec):
    with pytest.raises(AgentError):
        load(spec)
