"""The chance to win the match: by what scores are worth, between rounds and in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from games import play, raw_env

from pocket_uno_env import Rules
from pocket_uno_env.agents.position import position_rows, read_position
from pocket_uno_env.agents.scripted.policies import Policy
from pocket_uno_env.compiled.kernel import as_record
from pocket_uno_env.engine.transition import truncate
from pocket_uno_env.equity.tables import match_equity
from pocket_uno_env.play.chances import LONGEST, at_scores, outlook, race_for
from pocket_uno_env.play.estimate import add_result, estimate
from pocket_uno_env.rules.actions import catalogue

RULES = Rules()


def at(scores: list[int], **fields: Any) -> np.ndarray:
    described = {"hand": ["R5"], "top": "R7", "others": [7] * (len(scores) - 1), **fields}
    return position_rows(read_position({**described, "scores": scores}))


def test_between_rounds_it_is_match_equity() -> None:
    for scores in ([0, 0], [200, 30], [249, 0, 120], [250, 10]):
        found = at_scores(RULES, scores)
        assert found == match_equity(RULES, scores).round(4).tolist()
        assert sum(found) == pytest.approx(1, abs=1e-3)
    assert at_scores(RULES, [250, 10]) == [1.0, 0.0]


@pytest.mark.parametrize(
    "rules",
    [
        "pocket51",
        Rules.preset("pocket", elimination=True),
        Rules.preset("pocket", match_goal=LONGEST + 1),
    ],
)
def test_without_match_equity_there_is_none(rules: str | Rules) -> None:
    assert at_scores(Rules.of(rules), [0, 0]) is None and race_for(Rules.of(rules), 2) is None


def test_in_a_round_it_is_what_the_playouts_are_worth() -> None:
    rows, race, names = at([200, 30, 90]), race_for(RULES, 3), catalogue(RULES)
    single, found = estimate(RULES, rows, 200), estimate(RULES, rows, 200, race=race)
    assert single.match is None and np.array_equal(single.wins, found.wins, equal_nan=True)
    legal = ~np.isnan(found.wins)
    assert (np.isnan(found.match).all(axis=1) == ~legal).all()
    assert found.match[legal].sum(axis=1) == pytest.approx(1)
    card, draw = names.id("play R5"), names.id("draw")
    # The card wins the round, and the seven cards of two hands are worth some points.
    assert match_equity(RULES, [201, 30, 90])[0] < found.match[card, 0] <= 1
    assert found.match[card, 0] > found.match[draw, 0]


def test_where_one_round_decides_the_match_both_chances_are_the_same() -> None:
    rows, race = at([249, 249], others=[3], hand=["R5", "G7", "B2"]), race_for(RULES, 2)
    found = estimate(RULES, rows, 100, race=race)
    assert np.array_equal(found.match[:, 0], found.wins, equal_nan=True)
    both = outlook(RULES, rows, 100, race)
    assert both["round"] == both["match"] and 0 < both["round"][0] < 1


def test_a_round_that_nobody_wins_leaves_the_scores() -> None:
    rows, race = at([200, 30, 90]), race_for(RULES, 3)
    truncate(rows[0])
    wins, match = np.zeros((2, 3))
    add_result(as_record(rows), race, wins, match)
    assert wins == pytest.approx([1 / 3] * 3)
    assert match == pytest.approx(match_equity(RULES, [200, 30, 90]))
    found = outlook(RULES, rows, 10, race)
    assert found["round"] == [0, 0, 0]
    assert found["match"] == at_scores(RULES, [200, 30, 90])


def test_open_hands_are_seen_and_nothing_changes() -> None:
    race, sure = race_for(RULES, 2), 0
    env = raw_env(3, num_players=2, episode="match", max_rounds=3, scores=[100, 60])
    for raw in play(env, Policy.GREEDY, limit=120):
        saved = raw.rows.copy()
        found = outlook(raw.rules, raw.rows, 50, race)
        assert (raw.rows == saved).all()
        assert outlook(raw.rules, raw.rows, 50, race) == found
        assert sum(found["round"]) == pytest.approx(1, abs=1e-3)
        assert sum(found["match"]) == pytest.approx(1, abs=1e-3)
        assert outlook(raw.rules, raw.rows, 50, None) == {"round": found["round"], "match": None}
        sure += 1.0 in found["round"]
    assert sure > 3  # which no seat may know


def test_the_order_of_the_draw_pile_stays_unknown() -> None:
    rows, race = at([0, 0], hand=["R5", "G7"], top="B1", others=[2]), race_for(RULES, 2)
    found, count = outlook(RULES, rows, 2000, race), int(rows["draw_count"][0])
    rows["draw_pile"][0, :count] = rows["draw_pile"][0, :count][::-1].copy()
    again = outlook(RULES, rows, 2000, race)
    assert again["round"] == pytest.approx(found["round"], abs=0.06)
    assert 0.05 < found["round"][0] < 0.95
