"""The scores that episodes start from: their forms, how they are drawn, how long they hold."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from games import play, raw_env

from pocket_uno_env import Rules, pocket_uno_v0
from pocket_uno_env.agents import Agent, load
from pocket_uno_env.agents.scripted.policies import Policy
from pocket_uno_env.batch import Batch
from pocket_uno_env.envs.gym import PocketUnoEnv
from pocket_uno_env.envs.gym_vector import PocketUnoVectorEnv
from pocket_uno_env.envs.learner_games import LearnerGames
from pocket_uno_env.episodes.episode import DRAWN, episode_of, occurring_scores, read_scores
from pocket_uno_env.equity.tables import EquityError, file_name

POCKET = Rules.preset("pocket")


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Gives rules the table of match equity in which each round pays 5 points."""
    monkeypatch.setattr("pocket_uno_env.equity.tables.user_folder", lambda: tmp_path)

    def measure(rules: Rules, num_players: int) -> None:
        table = {"format": "uno-equity/1", "num_players": num_players, "points": {"5": 1}}
        file = tmp_path / file_name(rules, num_players)
        file.write_text(json.dumps({**table, "rules": rules.to_dict()}))

    return measure


# Their forms.


def starts(scores: Any, rules: Rules = POCKET, num_players: int = 2) -> list[list[int]]:
    return read_scores(rules, num_players, scores).tolist()


def test_scores_come_in_three_forms() -> None:
    assert starts(None) == []
    assert starts([120, 80]) == starts((120, 80)) == [[120, 80]]
    assert starts([[0, 1], [2, 249]]) == [[0, 1], [2, 249]]
    for kind in (np.uint8, np.int32, np.uint64):
        assert starts(np.array([7, 9], kind)) == [[7, 9]]
    assert starts("match") == occurring_scores(POCKET, 2).tolist()
    given = np.asfortranarray(np.arange(12).reshape(6, 2))
    read = read_scores(POCKET, 2, given)
    assert read.tolist() == given.tolist() and read.dtype == np.int64
    # Compiled code knows one order, and the caller's array stays the caller's.
    assert read.flags.c_contiguous and not np.shares_memory(read, given)


SHAPE = r"expected a whole number for each of 2 seats, several such lines, or 'match'"


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([1, 2, 3], SHAPE),
        ([1], SHAPE),
        (7, SHAPE),
        ([], SHAPE),
        ([[1, 2], [3]], SHAPE),
        ([[[1, 2]]], SHAPE),
        ([1.0, 2.0], SHAPE),
        ([True, False], SHAPE),
        (["1", "2"], SHAPE),
        ({"player_0": 1}, SHAPE),
        ([2**70, 0], SHAPE),
        ([-1, 0], "scores has -1; expected points from 0 to 249, with which the match is not over"),
        ([[0, 0], [0, 250]], "scores has 250; expected points from 0 to 249"),
        (np.array([2**63, 0], np.uint64), f"scores has {2**63}; expected points"),
        ("120:80", "scores is '120:80'; expected points by seat, or 'match'"),
    ],
)
def test_what_are_no_scores_is_refused_everywhere(scores: Any, message: str) -> None:
    makers = (
        lambda s: pocket_uno_v0.raw_env(scores=s),
        lambda s: Batch(2, scores=s),
        lambda s: LearnerGames(2, scores=s),
        lambda s: PocketUnoEnv(scores=s),
        lambda s: PocketUnoVectorEnv(2, scores=s),
    )
    for make in makers:
        with pytest.raises(ValueError, match=message):
            make(scores)
    env, batch = raw_env(3), Batch(2)
    batch.reset(3)
    games = PocketUnoVectorEnv(2)
    games.reset(seed=3)
    before = [env.rows.tobytes(), batch.rows.tobytes(), games.games.rows.tobytes()]
    with pytest.raises(ValueError, match=message):
        env.reset(seed=4, options={"scores": scores})
    with pytest.raises(ValueError, match=message):
        batch.reset(4, scores=scores)
    with pytest.raises(ValueError, match=message):
        games.reset(seed=4, options={"scores": scores})
    assert [env.rows.tobytes(), batch.rows.tobytes(), games.games.rows.tobytes()] == before


def test_without_match_equity_the_message_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("pocket_uno_env.equity.tables.user_folder", lambda: tmp_path)
    command = r"pocket-uno equity --measure --rules mini --num-players 2"
    knocked_out = replace(POCKET, elimination=True)
    for options in ({"reward": "match"}, {"scores": "match"}):
        for make in (pocket_uno_v0.raw_env, PocketUnoEnv, lambda **o: Batch(2, **o)):
            with pytest.raises(EquityError, match=command):
                make(rules="mini", **options)
            with pytest.raises(EquityError, match="play for elimination"):
                make(rules=knocked_out, **options)
    assert starts([249, 0], knocked_out) == [[249, 0]]  # given ones need no table


def test_rules_of_ones_own_are_paid_once_they_are_measured(measured: Any) -> None:
    rules = replace(POCKET, name="custom", hand_size=3, match_goal=10)
    measured(rules, 2)
    episode = episode_of(rules, 2, "match", "match", scores="match")
    assert set(map(tuple, episode.scores.tolist())) == {(0, 0), (5, 0), (0, 5), (5, 5)}
    env = raw_env(1, rules=rules, reward="match", scores=[5, 5])
    list(play(env, Policy.GREEDY))
    assert sorted(env.rewards.values()) == pytest.approx([-0.5, 0.5])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"episode": "set"}, r"episode is 'set'; expected one of \['round', 'match'\]"),
        ({"reward": "score"}, r"reward is 'score'; expected one of \['win', 'points', 'match'\]"),
        ({"max_rounds": 0}, "max_rounds is 0"),
        ({"max_cycles": 0}, "max_cycles is 0"),
    ],
)
def test_options_that_are_no_episode(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LearnerGames(2, **options)
    with pytest.raises(ValueError, match=message):
        Batch(2, **options)


# Scores as they occur.


@pytest.mark.parametrize(("rules", "players"), [("pocket", 2), ("pocket", 4), ("classic", 3)])
def test_occurring_scores_are_matches_line_by_line(rules: str, players: int) -> None:
    made = Rules.of(rules)
    lines = occurring_scores(made, players)
    assert DRAWN <= len(lines) < DRAWN + 200 and lines.max() < made.match_goal
    assert not lines[0].any() and not lines.flags.writeable
    fresh = ~lines[1:].any(axis=1)
    steps = np.diff(lines, axis=0)
    assert ((np.count_nonzero(steps, axis=1) <= 1) | fresh).all()
    assert ((steps >= 0).all(axis=1) | fresh).all()
    occurring_scores.cache_clear()
    assert (occurring_scores(made, players) == lines).all()


def test_occurring_scores_favour_no_seat_and_are_those_of_real_matches() -> None:
    lines = occurring_scores(POCKET, 2)
    assert abs(lines[:, 0].mean() - lines[:, 1].mean()) < 5
    ahead, behind = (lines[:, 0] > lines[:, 1]).mean(), (lines[:, 0] < lines[:, 1]).mean()
    assert ahead == pytest.approx(behind, abs=0.05)
    batch = Batch(300, episode="match")
    actions = np.zeros(300, np.int64)
    batch.reset(6)
    begun = np.full(300, -1)
    real = []
    for _ in range(1200):
        new = batch.rows["round_index"] != begun
        real.append(batch.rows["scores"][new, :2].copy())
        begun = batch.rows["round_index"].copy()
        batch.play(Policy.STRONG, actions)
    played = np.sort(np.concatenate(real), axis=1)
    assert len(played) > 8000
    drawn = np.sort(lines, axis=1)
    for share in (0.25, 0.5, 0.75, 0.9):
        expected = np.quantile(played, share, axis=0)
        assert np.quantile(drawn, share, axis=0) == pytest.approx(expected, abs=15)
    at_zero = (played == 0).all(axis=1).mean()
    assert (drawn == 0).all(axis=1).mean() == pytest.approx(at_zero, abs=0.02)


class Asked(Agent):
    """A scripted agent that has to be asked like any other."""

    def __init__(self, name: str) -> None:
        self._agent = load(name)
        self.name = name

    def act_rows(self, rules: Any, rows: Any, index: Any) -> Any:
        return self._agent.act_rows(rules, rows, index)


# How long they hold, and how they are drawn.


def first_scores(rows: Any, n: int = 2) -> list[list[int]]:
    assert not rows["round_index"].any()
    return rows["scores"][:, :n].tolist()


def test_scores_of_a_reset_hold_for_its_episode_alone() -> None:
    env = raw_env(1, scores=[10, 20])
    assert env.snapshot()["scores"] == [10, 20]
    for scores, found in (([30, 40], [30, 40]), ([[5, 6]], [5, 6]), (None, [10, 20])):
        env.reset(seed=1, options={"scores": scores})
        assert env.snapshot()["scores"] == found
    env.reset(seed=1)
    assert env.snapshot()["scores"] == [10, 20]

    batch, actions = Batch(8, scores=[10, 20], max_cycles=3), np.zeros(8, np.int64)
    batch.reset(1, scores=[30, 40])
    assert first_scores(batch.rows) == [[30, 40]] * 8
    for _ in range(3):
        batch.play(Policy.FIRST, actions)
    assert first_scores(batch.rows) == [[10, 20]] * 8


def test_scores_of_a_reset_in_gymnasium() -> None:
    env = gymnasium.make("pocket_uno/PocketUno-v0", scores=[10, 20]).unwrapped
    for options, found in (({"scores": [30, 40]}, [30, 40]), (None, [10, 20])):
        env.reset(seed=1, options=options)
        assert first_scores(env.games.rows) == [found]

    vector = PocketUnoVectorEnv(4, scores=[10, 20], max_cycles=40)
    vector.reset(seed=1)
    mask = np.array([True, False, False, True])
    _, infos = vector.reset(options={"reset_mask": mask, "scores": [30, 40]})
    assert first_scores(vector.games.rows) == [[30, 40], [10, 20], [10, 20], [30, 40]]
    for _ in range(60):  # when the episode is over, so are its scores
        *_, infos = vector.step(infos["action_mask"].argmax(axis=1))
    assert first_scores(vector.games.rows) == [[10, 20]] * 4
    with pytest.raises(ValueError, match="did you mean 'scores'"):
        vector.reset(options={"score": [1, 2]})


def test_scores_of_a_reset_in_stable_baselines() -> None:
    env = pytest.importorskip("pocket_uno_env.envs.sb3").LearnerVecEnv(3, max_cycles=40, seed=1)
    env.set_options([{}, {"scores": [30, 40]}, {"scores": [[50, 60]], "dealer": 1}])
    env.reset()
    assert first_scores(env.games.rows) == [[0, 0], [30, 40], [50, 60]]
    assert env.games.rows["dealer"][2] == 1
    env.reset()
    assert first_scores(env.games.rows) == [[0, 0]] * 3


@pytest.mark.parametrize("opponent", ["greedy", Asked("greedy")], ids=["compiled", "asked"])
def test_an_episode_that_is_passed_over_is_followed_by_one_with_the_same_scores(
    opponent: Any,
) -> None:
    short = replace(POCKET, name="custom", hand_size=1)  # whoever can play wins
    games = LearnerGames(200, short, opponents=[opponent])
    games.start(np.uint64(2), options={"scores": [30, 40]})
    fresh = LearnerGames(200, short, opponents=[opponent])
    fresh.start(np.uint64(2))
    assert first_scores(games.rows) == [[30, 40]] * 200
    assert (games.rows["draw_pile"] == fresh.rows["draw_pile"]).all()
    won = games.rows["decisions"] == 0  # some learner was dealt in only after others had won
    assert 0 < won.sum() < 200


LINES = [[10 * i, 240 - 10 * i] for i in range(10)]


def test_each_line_is_drawn_about_as_often() -> None:
    batch, actions = Batch(4000, scores=LINES, max_cycles=1), np.zeros(4000, np.int64)
    batch.reset(3)
    for _ in range(2):  # as the games are dealt first, and as they follow one another
        assert all(list(scores) in LINES for scores in batch.rows["scores"][:, :2].tolist())
        counts = np.bincount(batch.rows["scores"][:, 0] // 10, minlength=10)
        assert counts.min() > 310 and counts.max() < 490  # 400 with a standard deviation of 19
        drawn = batch.rows["scores"][:, 0].copy()
        batch.play(Policy.FIRST, actions)
    assert abs(np.corrcoef(drawn, batch.rows["scores"][:, 0])[0, 1]) < 0.08
    games = LearnerGames(2000, scores=LINES)
    games.start(np.uint64(3))
    counts = np.bincount(games.rows["scores"][:, 0] // 10, minlength=10)
    assert counts.min() > 130 and counts.max() < 270


@pytest.mark.parametrize("episode", ["round", "match"])
def test_the_lines_are_drawn_by_the_game_alone(episode: str) -> None:
    """Neither how many games there are, nor threads, nor their order matter."""

    def played(num_games: int, **options: Any) -> bytes:
        batch = Batch(num_games, episode=episode, scores="match", reward="match", **options)
        actions, payoffs = np.zeros(num_games, np.int64), np.zeros((num_games, 2), np.float32)
        batch.reset(5)
        found = []
        for _ in range(200):
            batch.play(Policy.GREEDY, actions, payoffs=payoffs)
            found += [actions[:4].tobytes(), payoffs[:4].tobytes()]
        return batch.rows[:4].tobytes() + b"".join(found)

    assert played(4) == played(33) == played(33, threads=3) == played(4)

    one, other = (LearnerGames(n, episode=episode, scores="match") for n in (3, 20))
    for games in (one, other):
        games.start(np.uint64(9))
        for _ in range(60):
            games.look()
            games.step(games.everywhere, games.masks.argmax(axis=1))
    assert one.rows.tobytes() == other.rows[:3].tobytes()


@pytest.mark.parametrize("episode", ["round", "match"])
def test_one_line_of_scores_changes_no_card(episode: str) -> None:
    """Without scores, with zeros, and with others games are dealt and go the same way."""

    def played(scores: Any) -> np.ndarray:
        batch, actions = Batch(20, episode=episode, scores=scores), np.zeros(20, np.int64)
        batch.reset(5)
        for _ in range(150):
            batch.play(Policy.RANDOM, actions)
        return batch.rows.copy()

    without, zeros, others = played(None), played([0, 0]), played([3, 1])
    assert without.tobytes() == zeros.tobytes()
    if episode == "round":
        assert (others["scores"][:, :2] == [3, 1]).all()
    others["scores"] = without["scores"]
    assert without.tobytes() == others.tobytes()
    by_name = [raw_env(4, episode=episode, scores=s).rows.copy() for s in (None, [3, 1])]
    by_name[1]["scores"] = 0
    assert by_name[0].tobytes() == by_name[1].tobytes()
