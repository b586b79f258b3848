"""Episodes: what rounds and matches pay by match equity, and that it adds up everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from games import play, raw_env

from pocket_uno_env import Rules, match_equity, pocket_uno_v0
from pocket_uno_env.agents.scripted.policies import Policy
from pocket_uno_env.batch import Batch
from pocket_uno_env.engine.state import new_rows
from pocket_uno_env.envs.gym import PocketUnoEnv
from pocket_uno_env.envs.gym_vector import PocketUnoVectorEnv
from pocket_uno_env.episodes.episode import episode_of
from pocket_uno_env.episodes.kernels import finish_round
from pocket_uno_env.rules.phases import End

POCKET = Rules.preset("pocket")
DEALT = ["R1", "B1", "R2", "B2", "R3", "B3", "R4", "B4", "R5", "B5", "R9", "Y1", "Y2", "Y3", "Y4"]
"""Seat 0 gets red, seat 1 blue; red opens, and seat 1 draws what it may keep."""


def one_round(**kwargs: Any) -> Any:
    """Seat 0 plays R1 to R5 and is out; seat 1 holds nine cards, worth 1 to 5 and 1 to 4."""
    rest = list(POCKET.deck)
    for card in DEALT:
        rest.remove(card)
    env = pocket_uno_v0.raw_env(**kwargs)
    env.reset(seed=1, options={"deck": DEALT + rest, "dealer": 1})
    moves = [["play R1"], ["play R2"], ["play R3"], ["play R4", "say uno"], ["play R5"]]
    for move in moves:
        if env.agent_selection == "player_1":
            env.step(env.action_id("draw"))
            env.step(env.action_id("keep"))
        for name in move:
            assert not any(env.rewards.values())
            env.step(env.action_id(name))
    return env


# What is paid.


@pytest.mark.parametrize(
    ("before", "episode"), [([0, 0], "round"), ([120, 80], "round"), ([120, 80], "match")]
)
def test_a_round_pays_what_it_did_to_the_chance_to_win_the_match(
    before: list[int], episode: str
) -> None:
    env = one_round(reward="match", scores=before, episode=episode)
    after = [before[0] + 25, before[1]]
    change = match_equity("pocket", after) - match_equity("pocket", before)
    assert list(env.rewards.values()) == pytest.approx(change.tolist(), abs=1e-12)
    assert change.sum() == pytest.approx(0) and 0.05 < change[0] <= 1
    assert all(env.terminations.values()) == (episode == "round")
    assert env.rows["scores"][0, :2].tolist() == after


def test_the_example_of_the_page_has_the_right_figures() -> None:
    """Its code is run by the tests of all pages; here is what its text says."""
    text = (Path(__file__).parents[2] / "docs" / "environment.md").read_text("utf-8")
    text = " ".join(text.split())
    env = one_round(reward="match", scores=[120, 80])
    before, after = match_equity("pocket", [[120, 80], [145, 80]])[:, 0]
    points = env.snapshot()["result"]["points"]
    cards = len(env.snapshot()["hands"][1])
    assert points == [25, 0] and cards == 9
    assert f"120 to 80, which wins the match in {100 * before:.1f} % of all cases" in text
    assert "It goes out against nine cards worth 25 points" in text
    assert f"it wins in {100 * after:.1f} %, so the round pays it {after - before:.3f}," in text


def test_the_round_that_wins_the_match_pays_the_rest() -> None:
    for episode in ("round", "match"):
        env = one_round(reward="match", scores=[225, 249], episode=episode)
        left = 1 - match_equity("pocket", [225, 249])[0]
        assert list(env.rewards.values()) == pytest.approx([left, -left], abs=1e-12)
        assert all(env.terminations.values())
    env = one_round(reward="win", scores=[225, 249], episode="match")
    assert list(env.rewards.values()) == [1, -1]


def test_rounds_of_equal_players_pay_nothing_on_average() -> None:
    """The equity of a score is the mean of those that may follow it, so rounds are fair."""
    batch = Batch(2000, num_players=3, reward="match", scores=[150, 30, 80])
    actions, payoffs = np.zeros(2000, np.int64), np.zeros((2000, 3), np.float32)
    ends, paid = np.zeros(2000, np.uint8), []
    batch.reset(4)
    for _ in range(300):
        batch.play(Policy.STRONG, actions, payoffs=payoffs, ends=ends)
        paid.append(payoffs[ends == End.OUT])
    rounds = np.concatenate(paid)
    assert len(rounds) > 5000
    assert np.abs(rounds).max() <= 1 and np.allclose(rounds.sum(axis=1), 0, atol=1e-6)
    margin = 5 * rounds.std(axis=0) / np.sqrt(len(rounds))
    assert (np.abs(rounds.mean(axis=0)) < margin).all()


@pytest.mark.parametrize("reward", ["win", "points", "match"])
def test_rounds_without_a_winner_pay_nothing_and_the_match_goes_on(reward: str) -> None:
    episode = episode_of(POCKET, 2, "match", reward, max_rounds=2)
    for end in (End.TRUNCATED, End.BLOCKED):
        row, payoffs = new_rows(1)[0], np.full(2, 7.0)
        row["num_players"], row["players_in"], row["end"] = 2, 2, end
        row["scores"][:2] = 120, 80
        assert finish_round(POCKET._table[0], row, episode, payoffs) == End.RUNNING
        assert payoffs.tolist() == [0, 0]
        row["round_index"], payoffs[:] = 1, 7.0
        assert finish_round(POCKET._table[0], row, episode, payoffs) == End.TRUNCATED
        assert payoffs.tolist() == [0, 0]


def test_a_capped_match_pays_nothing_more() -> None:
    env = raw_env(2, episode="match", reward="match", max_cycles=5, max_rounds=3, scores=[30, 200])
    seen = [dict(raw.rewards) for raw in play(env)]
    assert len(seen) == 15 and len(env.record()["rounds"]) == 3
    assert not any(value for rewards in (*seen, env.rewards) for value in rewards.values())
    assert all(env.truncations.values()) and not any(env.terminations.values())
    assert env.snapshot()["scores"] == [30, 200]


# Over a match it adds up.


def adds_up(paid: Any, seat: Any, before: Any, after: Any) -> None:
    """What a seat was paid from one score to another; the goal is 250."""
    change = match_equity("pocket", after)[seat] - match_equity("pocket", before)[seat]
    assert paid == pytest.approx(change, abs=1e-5)
    if max(after) >= 250:
        assert match_equity("pocket", after)[seat] == (after[seat] >= 250)


STARTS = [
    pytest.param({"scores": scores, "max_rounds": rounds}, id=f"{scores}, {rounds} rounds")
    for scores, rounds in ((None, 100), ([120, 80], 100), ([120, 80], 2))
]


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("options", STARTS)
def test_a_match_adds_up_in_pettingzoo(options: dict[str, Any], wrapped: bool) -> None:
    make = pocket_uno_v0.env if wrapped else pocket_uno_v0.raw_env
    for seed in range(5):
        env = make(episode="match", reward="match", **options)
        env.reset(seed=seed)
        action_rng = np.random.default_rng(seed)
        earned = dict.fromkeys(env.possible_agents, 0.0)
        for agent in env.agent_iter():
            observation, reward, terminated, truncated, _ = env.last()
            earned[agent] += reward
            legal = np.flatnonzero(observation["action_mask"])
            env.step(None if terminated or truncated else int(action_rng.choice(legal)))
        after = env.unwrapped.snapshot()["scores"]
        assert (max(after) >= 250) or options["max_rounds"] == 2
        for seat, paid in enumerate(earned.values()):
            adds_up(paid, seat, options["scores"] or [0, 0], after)


@pytest.mark.parametrize("scores", [None, [120, 80]])
def test_a_match_adds_up_in_the_batch(scores: list[int] | None) -> None:
    batch = Batch(40, reward="match", episode="match", scores=scores)
    actions, payoffs = np.zeros(40, np.int64), np.zeros((40, 2), np.float32)
    ends, paid, seen = np.zeros(40, np.uint8), np.zeros((40, 2)), 0
    batch.reset(3)
    before = scores or [0, 0]
    for _ in range(1500):
        stood = batch.rows["scores"][:, :2].copy()
        batch.play(Policy.GREEDY, actions, payoffs=payoffs, ends=ends)
        paid += payoffs
        running = ends == End.RUNNING
        assert (batch.rows["scores"][~running, :2] == before).all()
        assert not batch.rows["round_index"][~running].any()
        for i in np.flatnonzero(ends == End.OUT):
            winner = int(paid[i].argmax())
            after = stood[i].copy()
            after[winner] = 250
            for seat in range(2):
                adds_up(paid[i, seat], seat, before, after)
            seen += 1
        for i in np.flatnonzero(payoffs.any(axis=1) & running):
            adds_up(paid[i, 0], 0, before, batch.rows["scores"][i, :2])
        paid[~running] = 0
        if seen > 30:
            return
    raise AssertionError("too few matches")


def learners(kind: str, **kwargs: Any) -> Any:
    """An environment for learners, and what a step of it answers: rewards, over, truncated."""
    if kind == "vec":
        sb3 = pytest.importorskip("pocket_uno_env.envs.sb3")
        env = sb3.LearnerVecEnv(20, seed=5, **kwargs)
        env.reset()

        def step(actions: np.ndarray) -> Any:
            _, rewards, dones, infos = env.step(actions)
            assert all(("terminal_observation" in info) == done
                       for info, done in zip(infos, dones, strict=True))  # fmt: skip
            return rewards, dones, [info.get("TimeLimit.truncated", False) for info in infos]

        return env.games, step
    if kind == "vector":
        vector = PocketUnoVectorEnv(20, **kwargs)
        vector.reset(seed=5)

        def step(actions: np.ndarray) -> Any:
            _, rewards, terminated, truncated, infos = vector.step(actions)
            assert ("final_obs" in infos) == (terminated | truncated).any()
            return rewards, terminated | truncated, truncated

        return vector.games, step
    single = PocketUnoEnv(illegal="raise", **kwargs)
    single.reset(seed=5)

    def step(actions: np.ndarray) -> Any:
        _, reward, terminated, truncated, info = single.step(actions[0])
        assert ("end" in info) == (terminated or truncated)
        if terminated or truncated:
            single.reset()
        return np.array([reward]), np.array([terminated or truncated]), np.array([truncated])

    return single.games, step


@pytest.mark.parametrize("kind", ["vec", "vector", "single"])
@pytest.mark.parametrize("options", STARTS)
def test_a_match_adds_up_for_a_learner(kind: str, options: dict[str, Any]) -> None:
    games, step = learners(kind, episode="match", reward="match", **options)
    rng = np.random.default_rng(2)
    before = options["scores"] or [0, 0]
    paid, counts = np.zeros(games.num_games), {"over": 0, "truncated": 0, "on the way": 0}
    for _ in range(2500):
        seats = games.books["learner"].copy()
        actions = (games.masks * rng.random(games.masks.shape)).argmax(axis=1)
        rewards, over, truncated = step(actions)
        paid += rewards
        counts["on the way"] += int((rewards[~np.asarray(over)] != 0).sum())
        for i in np.flatnonzero(over):
            after = games.final_rows["scores"][i, :2].tolist()
            adds_up(paid[i], seats[i], before, after)
            counts["truncated" if truncated[i] else "over"] += 1
            assert truncated[i] == (max(after) < 250)
            paid[i] = 0
        if counts["over"] + counts["truncated"] >= 8:
            break
    assert counts["on the way"] and (counts["truncated"] > 0) == (options["max_rounds"] == 2)
