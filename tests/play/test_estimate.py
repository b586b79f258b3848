"""The chance to win after each action: from what a seat knows, and right where it is certain."""

from __future__ import annotations

import numpy as np
from dealt_hands import start
from games import ODD_RULES, play, raw_env
from hidden_cards import permute_hidden

from pocket_uno_env import Rules
from pocket_uno_env.agents.scripted.policies import Policy
from pocket_uno_env.display.seat_view import Blocks
from pocket_uno_env.play.chances import race_for
from pocket_uno_env.play.estimate import estimate
from pocket_uno_env.rows import legal_names
from pocket_uno_env.rules.actions import catalogue

HANDS = [
    ["R1", "B3", "G4", "WD", "W+2"],
    ["R6", "B6", "G7", "Y8", "YS"],
    ["B4", "G5", "GV", "R3", "Y6"],
]


def test_a_sure_win_and_what_throws_it_away() -> None:
    from pocket_uno_env.agents.position import position_rows, read_position

    position = read_position({"hand": ["R5"], "top": "R7", "others": [7]})
    found = estimate(position.rules, position_rows(position), 200)
    names = catalogue(position.rules)
    assert found.wins[names.id("play R5")] == 1.0
    assert 0.0 < found.wins[names.id("draw")] < 1.0
    assert np.isnan(found.wins).sum() == len(names) - 2


def test_hidden_cards_change_nothing_and_the_game_stays_as_it_was() -> None:
    rng, moved = np.random.default_rng(1), 0
    for rules, players in ((Rules(), 3), (Rules.preset("classic"), 2), (ODD_RULES["house"], 4)):
        env = raw_env(4, rules=rules, num_players=players)
        for decision, raw in enumerate(play(env, Policy.GREEDY, limit=40)):
            if decision % 5:
                continue
            saved, seat = raw.rows.copy(), int(raw.rows["to_act"][0])
            race = race_for(Rules(), players)  # of any game
            before = estimate(rules, raw.rows, 20, race=race)
            assert (raw.rows == saved).all()
            legal = [catalogue(rules).names[i] for i in np.flatnonzero(~np.isnan(before.wins))]
            assert legal == legal_names(rules, raw.rows)
            policy_rng = raw.rows["policy_rng"].copy()
            moved += permute_hidden(rules, raw.rows, seat, rng)
            raw.rows["policy_rng"] = policy_rng
            after = estimate(rules, raw.rows, 20, race=race)
            assert np.array_equal(after.wins, before.wins, equal_nan=True)
            assert np.array_equal(after.match, before.match, equal_nan=True)
            assert (after.holdings == before.holdings).all()
            raw.rows[:] = saved
    assert moved > 100


def test_holdings_are_those_of_the_guesses() -> None:
    env = start(HANDS, "R9", ["B8", "G8", "B7", "G6"], ["play W+2:G", "challenge"])
    found, blocks = estimate(env.rules, env.rows, 400), Blocks(env.rules, 3, env.rows, 1)
    ids = env.rules.kind_ids
    for card in ("R1", "B3", "G4", "WD"):  # the challenger has seen them
        assert found.holdings[0, ids[card]] == 1.0
    for card in HANDS[1]:
        assert found.holdings[1, ids[card]] == 1.0 and found.holdings[0, ids[card]] == 0.0
    for seat in range(3):
        several = np.array([kind.copies for kind in env.rules.kinds]) > 1
        assert found.holdings[seat, ~several].sum() <= blocks.size(seat) + 1e-9
    assert estimate(env.rules, env.rows, 50).error > found.error > 0
