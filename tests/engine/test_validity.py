"""Rows from a file: those of games are let through, all others are refused before a kernel runs."""

from __future__ import annotations

import numpy as np
import pytest
from games import every_game

from pocket_uno_env import Rules
from pocket_uno_env.agents.scripted.policies import Policy
from pocket_uno_env.batch import Batch
from pocket_uno_env.engine.state import ROW
from pocket_uno_env.engine.validity import check_rows
from pocket_uno_env.envs.sb3 import LearnerVecEnv


def played(rules, num_players, seed=0, games=64):
    """Rows in the middle of games, again and again."""
    batch = Batch(games, rules, num_players=num_players)
    batch.reset(seed)
    actions = np.zeros(games, np.int64)
    for step in range(60):
        batch.act((Policy.RANDOM_UNO, Policy.RANDOM, Policy.STRONG)[step % 3], actions)
        batch.step(actions)
        yield batch.rows.copy()


@pytest.mark.parametrize(("rules", "num_players"), every_game())
def test_games_are_let_through(rules, num_players):
    phases = set()
    for rows in played(rules, num_players):
        check_rows(rules, rows, num_players, running=True)
        phases |= set(rows["phase"].tolist())
    assert len(phases) > 1


def some_rows(rules="classic", num_players=3):
    *_, rows = played(Rules.preset(rules), num_players)
    return rows


FREE = {"rng", "policy_rng", "unused", "draw_pile", "discard_pile", "scores", "decisions", "passes"}
FREE |= {"round_index", "guilty", "caught", "stack", "top_before", "color_before", "off_color"}
"""Fields that may have several values in one position."""


@pytest.mark.parametrize("field", sorted(set(ROW.names) - {"rng", "policy_rng", "unused"}))
def test_a_number_that_no_game_has_is_refused_by_the_name_of_its_field(field):
    rules = Rules.preset("classic")
    rows = some_rows()
    place = 17
    part = rows[field][place : place + 1]
    part.view(np.uint8)[...] = 254
    with pytest.raises(ValueError, match=r"row 17 is no game .+: \w+( is [-\w]+)?; expected .+"):
        check_rows(rules, rows, 3, running=True)


@pytest.mark.parametrize("field", sorted(set(ROW.names) - FREE))
def test_what_a_row_says_twice_it_says_alike(field):
    """A field of another game's row fits nowhere, unless it is the same."""
    rules = Rules.preset("classic")
    rows = some_rows()
    first = rows[:1]
    refused = 0
    for other in range(1, len(rows)):
        mixed = first.copy()
        mixed[field] = rows[field][other]
        try:
            check_rows(rules, mixed, 3, running=True)
        except ValueError:
            refused += 1
    may_differ = {
        "dealer",
        "direction",
        "phase",
        "to_act",
        "actor",
        "active_color",
        "winner",
        "end",
    }
    may_differ |= {"out", "num_players", "players_in", "drawn_card", "points", "known", "shown"}
    assert refused > 0.8 * len(rows) or field in may_differ


def test_a_card_is_in_one_place():
    rules = Rules.preset("pocket")
    *_, rows = played(rules, 2)
    twice = rows.copy()
    twice["draw_pile"][3, 0] = twice["draw_pile"][3, 1]
    with pytest.raises(ValueError, match=r"row 3 is no game .+: draw_pile; expected .+ each once"):
        check_rows(rules, twice, 2, running=True)


def test_rows_of_other_rules_or_players_are_refused():
    rows = some_rows("pocket", 3)
    for rules, num_players in (("pocket", 2), ("classic", 3), ("mini", 3), ("pocket51", 3)):
        with pytest.raises(ValueError, match="is no"):
            check_rows(rules, rows, num_players, running=True)


def test_an_environment_takes_no_state_that_is_none():
    env = LearnerVecEnv(8, "pocket", 3, ["greedy", "strong"], seed=0)
    env.reset()
    state, other = env.state(), LearnerVecEnv(8, "pocket", 3, ["greedy", "strong"], seed=1)
    other.reset()
    before = other.state()
    rng = np.random.default_rng(0)
    for name in ("rows", "books"):
        for _ in range(20):
            noise = rng.integers(256, size=state[name].size).astype(np.uint8)
            with pytest.raises(ValueError, match="is no"):
                other.set_state({**state, name: noise})
            assert all(np.array_equal(other.state()[part], before[part]) for part in before)
    for bit in rng.integers(8 * state["rows"].size, size=300):
        flipped = state["rows"].copy()
        flipped[bit // 8] ^= 1 << bit % 8
        try:
            other.set_state({**state, "rows": flipped})
        except ValueError:
            continue
        for _ in range(3):  # a game, if not the same one
            other.step(other.action_masks().argmax(1))
