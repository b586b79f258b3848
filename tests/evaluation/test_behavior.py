"""The behaviour profile, against counts made in plain Python from the records."""

from collections import Counter

import numpy as np
import pytest

from pocket_uno_env.agents import load
from pocket_uno_env.evaluation.arena import Chunk, GameSetup
from pocket_uno_env.evaluation.behavior import (
    RATES,
    Stat,
    count_behavior,
    opening_hands,
    profile,
)
from pocket_uno_env.reference.referee import check_record
from pocket_uno_env.rules.rules import Rules


def chunk(rules, agents, deals=24, episode="round"):
    setup = GameSetup(Rules.of(rules), len(agents), 3, episode, 3000)
    return Chunk(setup, [load(a) for a in agents], tuple(range(len(agents))), 0, deals, True)


def counted(records, name):
    """What can be read off the records alone."""
    found = Counter()
    for record in records:
        for entry in record["rounds"]:
            events, result = entry["events"], entry["result"]
            acted = [e for e in events if e[0] != "reshuffle" and e[1] != "forced"]
            seat = record["players"].index(name)
            found["ROUNDS"] += 1
            found["LENGTH"] += len(acted)
            found["WINS"] += result["winner"] == seat
            found["POINTS"] += result["points"][seat]
            for place, event in enumerate(events):
                if event[0] != seat or event[1] == "forced":
                    continue
                action = event[1]
                found["DECISIONS"] += 1
                found["DRAWS"] += action == "draw"
                found["KEPT"] += action == "keep"
                found["WILDS"] += action.startswith("play W")
                found["CHALLENGES"] += action == "challenge"
                found["CHALLENGE_OFFERS"] += action in ("challenge", "accept")
                found["UNO_CALLS"] += action in ("say uno", "stay silent")
                found["UNO_SILENT"] += action == "stay silent"
                found["CATCH_OFFERS"] += action in ("catch", "let go")
                found["CATCHES"] += action == "catch"
                if action == "challenge":
                    forced = next(e for e in events[place + 1 :] if e[1] == "forced")
                    found["CHALLENGES_WON"] += forced[0] != seat
    return found


@pytest.mark.parametrize(
    ("rules", "agents"),
    [
        ("pocket", ["random", "strong"]),
        ("pocket", ["noisy:0.4", "attacker", "random-uno"]),
        (Rules.preset("classic", wild_draw_four="challenge"), ["challenger", "noisy:0.5"]),
    ],
)
@pytest.mark.parametrize("episode", ["round", "match"])
def test_counts_agree_with_the_records(rules, agents, episode):
    deals = 24 if episode == "round" else 3
    games = chunk(rules, agents, deals, episode)
    counts = count_behavior(games.finished_games()).sum(axis=1)
    records = games.records()
    for record in records:
        check_record(record)
    for place, name in enumerate(agents):
        expected = counted(records, name)
        found = {name: int(counts[place, Stat[name]]) for name in expected}
        assert found == dict(expected)
    totals = counts.sum(axis=0)
    assert totals[Stat.CHALLENGED] == totals[Stat.CHALLENGES]
    assert totals[Stat.BLUFFS_CAUGHT] == totals[Stat.CHALLENGES_WON]
    assert totals[Stat.SILENT_CAUGHT] == totals[Stat.CATCHES]
    for part, whole, _ in RATES.values():
        if part not in (
            Stat.WILD_CARDS,
            Stat.LENGTH,
            Stat.TURNS,
            Stat.POINTS,
        ):
            assert totals[part] <= totals[whole]


def test_what_agents_are_known_to_do():
    counts = count_behavior(chunk("pocket", ["greedy", "random"], 60).finished_games())
    greedy, random = (profile(count) for count in counts)
    assert greedy["voluntary_draws"] == greedy["kept"] == greedy["uno_missed"] == 0
    assert greedy["bluff_rate"] == greedy["wilds_unforced"] == greedy["challenge_rate"] == 0
    assert greedy["catch_rate"] == 1
    assert random["silent_caught"] == 1
    assert random["catch_rate"] is None
    assert 0.4 < random["uno_missed"] < 0.6
    assert random["voluntary_draws"] > 0.3
    assert random["bluff_rate"] > 0.3
    assert greedy["counts"]["rounds"] == 120
    (bold, greedy) = (
        profile(count)
        for count in count_behavior(chunk("pocket", ["challenger", "greedy"], 60).finished_games())
    )
    assert bold["challenge_rate"] == 1
    assert bold["challenge_accuracy"] == 0  # greedy never bluffs


def test_positions_count_from_the_dealers_left():
    games = chunk("pocket", ["greedy", "random", "greedy"][:2], 40)
    counts = count_behavior(games.finished_games())
    wins = np.zeros(2)
    for record in games.records():
        entry = record["rounds"][0]
        if entry["result"]["winner"] is not None:
            wins[(entry["result"]["winner"] - entry["dealer"] - 1) % 2] += 1
    assert counts[:, :, Stat.WINS].sum(axis=0).tolist() == wins.tolist()
    assert (counts[:, :, Stat.ROUNDS] == 40).all()


def test_opening_hands_are_those_of_the_records():
    games = chunk("classic", ["greedy", "first", "strong"], 20)
    rows, _ = games.deal()
    rules = games.setup.rules
    hands, first = opening_hands(rules, rows[::3])
    for deal, record in enumerate(games.records()[::3]):
        entry = record["rounds"][0]
        seat = next(e[0] for e in entry["events"] if e[1] != "forced" and e[0] != "reshuffle")
        assert (seat - entry["dealer"] - 1) % 3 == first[deal]
        held = [list(hand) for hand in entry["hands"]]
        for event in entry["events"]:
            if event[1] != "forced":
                break
            held[event[0]] += event[2]
        for position in range(3):
            expected = Counter(held[(entry["dealer"] + 1 + position) % 3])
            found = {
                kind.name: int(count)
                for kind, count in zip(rules.kinds, hands[deal, position], strict=True)
                if count
            }
            assert found == dict(expected)
