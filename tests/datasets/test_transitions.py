"""What is in a dataset: each seat's decisions, as the records of the same games have them."""

from __future__ import annotations

import numpy as np
import pytest
from hidden_cards import permute_hidden

from pocket_uno_env.agents import load
from pocket_uno_env.datasets.transitions import Transitions, transitions
from pocket_uno_env.episodes.episode import episode_of
from pocket_uno_env.equity.tables import match_equity
from pocket_uno_env.evaluation.arena import Chunk, GameSetup
from pocket_uno_env.observation.blocks import observation_size
from pocket_uno_env.observation.canonical import color_tables, to_view, view_actions
from pocket_uno_env.records.record import positions
from pocket_uno_env.row_kernels import look_row, observe_row
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.phases import End
from pocket_uno_env.rules.rules import Rules

FEW_CARDS = Rules.preset("pocket", hand_size=1)
"""Whose rounds are often over before everybody came to act."""


def played(agents, rules="pocket", seats=2, deals=6, episode="round", reward="win", **limits):
    """A chunk of games, and its transitions in the plain view."""
    setup = GameSetup(Rules.of(rules), seats, 3, episode, **limits)
    loaded = [load(name) for name in agents]
    table = tuple(range(len(agents))) if len(agents) == seats else (0, *[1] * (seats - 1))
    chunk = Chunk(setup, loaded, table, 2, deals, keep_actions=True, rotations=seats)
    how = episode_of(setup.rules, seats, episode, reward, setup.max_cycles, setup.max_rounds)
    return chunk, transitions(chunk, how, "plain", 100)


def by_hand(chunk, reward):
    """The same from the records: per game and seat what it saw, did and earned, and before that."""
    rules, n = chunk.setup.rules, chunk.setup.num_players
    limit = chunk.setup.max_cycles
    for record in chunk.records():
        seen = [[] for _ in range(n)]
        before, last = np.zeros(n), None
        for moment in positions(record):
            row = moment.rows
            scores = row["scores"][0, :n].copy()
            if moment.action is not None:
                seat = int(row["to_act"][0])
                sight = np.zeros(observation_size(rules, n), np.float32)
                mask = np.zeros(len(catalogue(rules)), np.int8)
                look_row(rules._table, row, sight, mask)
                seen[seat].append([sight, mask, moment.action, 0.0, moment.round])
            last, points = row.copy(), row["points"][0, :n].astype(int)
            over = row["end"][0] != End.RUNNING
            if moment.action is None and over and row["end"][0] == End.OUT:
                winner = int(row["winner"][0])
                paid = np.full(n, -1 / (n - 1))
                paid[winner] = 1.0
                if reward == "match":
                    paid = match_equity(rules, scores) - match_equity(rules, scores - points)
                elif record["match"] and scores.max() < rules.match_goal:
                    paid[:] = 0
                for of in range(n):
                    if seen[of]:
                        seen[of][-1][3] += paid[of]
                    else:
                        before[of] += paid[of]
        assert limit and last is not None
        yield record, seen, before, last


CASES = [
    (("greedy", "random-uno"), "pocket", 2, "round", "win"),
    (("strong", "random", "greedy", "first"), "pocket", 4, "round", "win"),
    (("greedy", "strong", "greedy"), "classic", 3, "match", "win"),
    (("greedy", "strong"), "pocket", 2, "match", "match"),
]


@pytest.mark.parametrize(("agents", "rules", "seats", "episode", "reward"), CASES)
def test_it_is_what_the_records_say(agents, rules, seats, episode, reward):
    chunk, data = played(agents, rules, seats, 3, episode, reward)
    line = number = 0
    for game, (_, seen, before, _) in enumerate(by_hand(chunk, reward)):
        for seat in range(seats):
            own = slice(line, line + len(seen[seat]))
            line += len(seen[seat])
            sights, masks, actions, rewards, rounds = (
                np.array([step[i] for step in seen[seat]]) for i in range(5)
            )
            assert np.abs(data.observations[own] / 240 - sights).max() < 0.0022
            assert np.array_equal(data.action_masks[own], masks)
            assert np.array_equal(data.actions[own], actions)
            assert np.allclose(data.rewards[own], rewards, atol=1e-6)
            assert np.array_equal(data.rounds[own], rounds)
            assert np.array_equal(data.steps[own], np.arange(len(actions)))
            assert data.terminated[own].tolist() == [False] * (len(actions) - 1) + [True]
            assert set(data.seats[own]) == {seat} and set(data.games[own]) == {100 + game}
            assert set(data.deals[own]) == {2 + game // seats}
            assert set(data.agents[own]) == {chunk.seated[game, seat]}
            assert data.episode_steps[number] == len(actions)
            assert data.episode_rotations[number] == game % seats
            assert data.episode_earned_before[number] == pytest.approx(before[seat])
            number += 1
    assert line == len(data) and number == len(data.episode_games)
    assert not data.truncated.any() and len(data.final_observations) == 0


def earned(data: Transitions) -> np.ndarray:
    """What each episode earned in all."""
    ends = np.cumsum(data.episode_steps)
    sums = np.concatenate([[0], np.cumsum(data.rewards, dtype=np.float64)])
    return sums[ends] - sums[ends - data.episode_steps] + data.episode_earned_before


def test_nothing_is_lost_of_seats_that_never_came_to_act():
    chunk, data = played(("greedy",) * 4, FEW_CARDS, 4, 100)
    idle = data.episode_steps == 0
    assert 0.2 < idle.mean() < 0.8
    assert np.isin(data.episode_earned_before[idle], np.float32([-1 / 3, 1])).all()
    assert not data.episode_earned_before[~idle].any()
    totals = earned(data).reshape(-1, 4)
    assert np.allclose(totals.sum(axis=1), 0, atol=1e-6)
    won = chunk.book.winner
    assert np.array_equal(totals.argmax(axis=1)[won >= 0], won[won >= 0])


def test_rounds_that_are_over_before_a_first_decision_are_earned_before_it():
    _, data = played(("greedy",) * 4, FEW_CARDS, 4, 20, "match", "points")
    early = (data.episode_earned_before != 0) & (data.episode_steps > 0)
    assert early.any()
    first = np.cumsum(data.episode_steps) - data.episode_steps
    assert (data.rounds[first[early]] > 0).all()
    assert np.allclose(earned(data).reshape(-1, 4).sum(axis=1), 0, atol=1e-4)


@pytest.mark.parametrize("episode", ["round", "match"])
def test_what_a_cap_ends_is_truncated_and_has_a_last_sight(episode):
    limits = {"max_cycles": 6} if episode == "round" else {"max_cycles": 6, "max_rounds": 3}
    chunk, data = played(("greedy", "first"), deals=5, episode=episode, **limits)
    assert data.truncated.sum() == 20 == len(data.final_observations)
    assert not data.terminated.any() and not data.rewards.any()
    finals = iter(data.final_observations)
    for _, _, _, last in by_hand(chunk, "win"):
        for seat in range(2):
            sight = np.zeros(observation_size(chunk.setup.rules, 2), np.float32)
            observe_row(chunk.setup.rules._table, last, seat, sight)
            assert np.abs(next(finals) / 240 - sight).max() < 0.0022


def test_the_canonical_view_is_that_of_the_environments():
    chunk, plain = played(("greedy", "strong"))
    rules = chunk.setup.rules
    how = episode_of(rules, 2, "round", "win", chunk.setup.max_cycles)
    viewed = transitions(chunk, how, "canonical", 100)
    seen, masks = plain.observations.copy(), plain.action_masks.copy()
    orders = np.zeros((len(seen), rules.colors), np.int64)
    actions = plain.actions.astype(np.int64)
    to_view(color_tables(rules, 2), seen, masks, orders)
    view_actions(color_tables(rules, 2), orders, actions, actions)
    for name, expected in (("observations", seen), ("action_masks", masks), ("actions", actions)):
        assert np.array_equal(getattr(viewed, name), expected)
        assert not np.array_equal(getattr(plain, name), expected)
    assert viewed.action_masks[np.arange(len(viewed)), viewed.actions].all()
    assert np.array_equal(viewed.rewards, plain.rewards)


def test_the_data_show_nothing_that_the_seat_cannot_know():
    """With all hidden cards exchanged the seat would have written the same bytes."""
    chunk, data = played(("strong", "greedy"), deals=2)
    rng, rules = np.random.default_rng(0), chunk.setup.rules
    lines = {(int(g), int(s)): 0 for g, s in zip(data.games, data.seats, strict=True)}
    starts = dict(zip(zip(data.episode_games, data.episode_seats, strict=True),
                      np.cumsum(data.episode_steps) - data.episode_steps, strict=True))  # fmt: skip
    moved = 0
    for game, record in enumerate(chunk.records()):
        for moment in positions(record):
            if moment.action is None:
                continue
            row, seat = moment.rows.copy(), int(moment.rows["to_act"][0])
            moved += permute_hidden(rules, row, seat, rng)
            sight = np.zeros(observation_size(rules, 2), np.float32)
            mask = np.zeros(len(catalogue(rules)), np.int8)
            look_row(rules._table, row, sight, mask)
            key = 100 + game, seat
            line = starts[key] + lines[key]
            lines[key] += 1
            assert np.abs(data.observations[line] / 240 - sight).max() < 0.0022
            assert np.array_equal(data.action_masks[line], mask)
    assert moved > 1000
