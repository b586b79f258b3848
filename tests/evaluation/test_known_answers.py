"""The whole of an evaluation, where the answer is known beforehand."""

import math

import numpy as np
import pytest

from pocket_uno_env.agents import AgentError, load
from pocket_uno_env.evaluation.arena import play
from pocket_uno_env.evaluation.games import COLUMNS, Games, round_rate
from pocket_uno_env.evaluation.ladder import FOLDER, RUNGS, read
from pocket_uno_env.evaluation.statistics.estimates import mean_estimate, rate_estimate
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


def drawn_matches(share, goal, deals, luck, rng):
    """Matches of two in both rotations: who first wins `goal` rounds, each with chance `share`.

    A round's cards decide it alike in both rotations with the probability `luck`.
    """
    won = np.zeros((deals, 2, 2), np.int32)
    while (running := won.max(axis=2) < goal).any():
        cards, own = rng.random((deals, 1)), rng.random((deals, 2))
        first = np.where(rng.random((deals, 2)) < luck, cards, own) < share
        won[:, :, 0] += running & first
        won[:, :, 1] += running & ~first
    winner = won.argmax(axis=2).astype(np.int8)
    rounds = won.sum(axis=2)
    return Games((0, 1), ("a", "b"), winner, 10 * won, 0 * rounds + 1, rounds, rounds, won)


@pytest.mark.parametrize("luck", [0, 0.6, 1])
@pytest.mark.parametrize("share", [0.5, 0.65, 0.97])
@pytest.mark.parametrize("deals", [10, 50])
def test_rounds_of_simulated_matches_have_their_share_and_an_interval_that_holds_it(
    share, luck, deals
):
    """By Wald's identity the rounds won are `share` of those played, whenever matches end."""
    goal, runs = 4, 1000
    rng = np.random.default_rng(deals)
    games = drawn_matches(share, goal, runs * deals, luck, rng)
    # The match is won by who first wins `goal`: the negative binomial distribution.
    chances = [
        math.comb(goal - 1 + lost, lost) * share**goal * (1 - share) ** lost for lost in range(goal)
    ]
    assert games.win_rates(0).mean() == pytest.approx(sum(chances), abs=0.012)
    assert games.round_win_rates(0).mean() == pytest.approx(share, abs=0.004)
    parts = [part(games, first, deals) for first in range(0, runs * deals, deals)]
    rates = [round_rate(of, 0) for of in parts]
    # Of 1,000 tries of 95 %, fewer than 928 succeed once in a thousand times.
    assert np.mean([rate.low <= share <= rate.high for rate in rates]) > 0.928
    points = [mean_estimate(of.mean_points(0)) for of in parts]
    if share < 0.9:
        assert np.mean([of.low <= 10 * share <= of.high for of in points]) > 0.92
        # Not for safety's sake: an interval of rounds that knew nothing of deals would be too
        # narrow where both rotations go alike, and as wide where they do not.
        narrow = np.sqrt([share * (1 - share) / of.rounds.sum() for of in parts])
        found = np.array([rate.high - rate.low for rate in rates]) / (2 * 1.96 * narrow)
        assert found.mean() == pytest.approx(math.sqrt(1 + luck), rel=0.1 if deals == 50 else 0.35)


def part(games, first, deals):
    """Some of the deals."""
    columns = (getattr(games, name)[first : first + deals] for name in COLUMNS)
    return Games(games.lineup, games.names, *columns)


@pytest.mark.parametrize("seats", [2, 3])
def test_rounds_of_matches_are_won_as_often_as_single_rounds(seats):
    """These agents do not look at the scores, so that a round in a match is a round."""
    agents = [load("strong"), load("first")]
    lineup = [(0, *[1] * (seats - 1))]
    (single,) = play("pocket", seats, agents, 4000, 3, lineups=lineup)
    (games,) = play("pocket", seats, agents, 700, 4, lineups=lineup, episode="match")
    one, other = rate_estimate(single.win_rates(0)), round_rate(games, 0)
    error = math.hypot(one.high - one.low, other.high - other.low) / (2 * 1.96)
    assert abs(one.mean - other.mean) < 3.5 * error < 0.04
    one, other = mean_estimate(single.mean_points(0)), mean_estimate(games.mean_points(0))
    error = math.hypot(one.high - one.low, other.high - other.low) / (2 * 1.96)
    assert abs(one.mean - other.mean) < 3.5 * error
    # The better one wins yet more of the matches: there the luck of many rounds cancels.
    assert rate_estimate(games.win_rates(0)).low > round_rate(games, 0).high


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
            *(Rules.from_dict(found["rules"]), found["num_players"], agents, deals, 99),
            lineups=lineup,
            episode=found.get("episode", "round"),
        )
        first = lineup[0][0]
        known = [(games.win_rates(first), entry["mean"])]
        if "rounds" in entry:
            known.append((games.round_win_rates(first), entry["rounds"]["mean"]))
        for blocks, mean in known:
            error = max(blocks.std(), 0.1) / np.sqrt(deals)
            assert abs(blocks.mean() - mean) < 4.5 * error, entry["agents"]


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
