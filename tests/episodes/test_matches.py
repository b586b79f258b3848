"""Whole matches, in the batch and for a learner, against the same matches played by hand."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pytest
from games import raw_env

from pocket_uno_env import Rules, match_equity, pocket_uno_v0
from pocket_uno_env.agents.scripted.policies import Policy, act_rows
from pocket_uno_env.batch import Batch
from pocket_uno_env.engine.deal import deal_round
from pocket_uno_env.engine.state import NO_SEAT
from pocket_uno_env.envs.learner_games import LearnerGames
from pocket_uno_env.observation.canonical import plain_actions
from pocket_uno_env.records.snapshot import snapshot
from pocket_uno_env.row_kernels import observe_row
from pocket_uno_env.rows import mask_rows, step_rows
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.phases import End

ONE = np.zeros(1, np.int64)
SHORT = replace(Rules.preset("pocket"), name="custom", hand_size=1, match_goal=100)
"""Whoever can play wins: many rounds end before some seat has had a decision."""
GAMES = [
    pytest.param({}, id="pocket"),
    pytest.param({"num_players": 3, "reward": "points", "scores": [0, 200, 7]}, id="points, 3"),
    pytest.param({"reward": "match", "scores": [[120, 80], [240, 3]]}, id="equity"),
    pytest.param({"reward": "match", "max_rounds": 2, "max_cycles": 45}, id="capped"),
    pytest.param({"rules": "classic", "num_players": 4, "scores": "match"}, id="classic, 4"),
    pytest.param({"rules": SHORT, "num_players": 3, "reward": "points"}, id="short, 3"),
    pytest.param(
        {"rules": replace(SHORT, elimination=True), "num_players": 3, "max_rounds": 9},
        id="elimination",
    ),
]


@pytest.mark.parametrize("options", GAMES)
def test_the_batch_plays_the_matches_of_the_pettingzoo_environment(options: dict[str, Any]) -> None:
    """One game of each, from the same row on, until five matches are over."""
    batch = Batch(1, episode="match", **options)
    n = batch.num_players
    actions, ends = np.zeros(1, np.int64), np.zeros(1, np.uint8)
    payoffs, rounds = np.zeros((1, n), np.float32), 0
    for seed in range(5):
        env = raw_env(seed, episode="match", **options)
        batch.reset(0)
        batch.rows[:] = env.rows
        while env.agents and not (env.truncations["player_0"] or env.terminations["player_0"]):
            assert batch.rows.tobytes() == env.rows.tobytes()
            batch.act(Policy.GREEDY, actions)
            env.rows["policy_rng"] = batch.rows["policy_rng"]  # the agent's lots are in the row
            batch.step(actions, payoffs=payoffs, ends=ends)
            env.step(int(actions[0]))
            assert payoffs[0].tolist() == np.float32(list(env.rewards.values())).tolist()
            over = env.terminations["player_0"] or env.truncations["player_0"]
            assert (ends[0] != End.RUNNING) == over
        assert (ends[0] == End.TRUNCATED) == env.truncations["player_0"]
        assert batch.rows["round_index"][0] == 0 and batch.rows["end"][0] == End.RUNNING
        rounds += len(env.record()["rounds"])
    assert rounds > 9


class Played(NamedTuple):
    """What came of a learner's decision, by hand."""

    row: Any
    reward: float
    rounds: int
    end: int


class ByHand:
    """Plays matches one decision after the other, and reckons in plain Python what they pay."""

    def __init__(self, games: LearnerGames, options: dict[str, Any]) -> None:
        self.rules, self.n = games.rules, games.num_players
        self.reward = options.get("reward", "win")
        self.max_cycles = options.get("max_cycles", 20_000)
        self.max_rounds = options.get("max_rounds", 100)
        self.skip_forced = options.get("skip_forced", False)

    def decide(self, row: Any, seat: int, opponents: Any, action: int) -> Played:
        """Take the action and go on to the learner's next decision, or the end of the match."""
        reward, rounds = 0.0, 0
        step_rows(self.rules.table, row, ONE, np.array([action]), self.max_cycles)
        while True:
            if row["end"][0] != End.RUNNING:
                rounds += 1
                paid, end = self.settle(row[0], seat)
                reward += paid
                if end != End.RUNNING:
                    return Played(row, reward, rounds, end)
                deal_round(self.rules._table[0], row[0], NO_SEAT, None, None)
                continue
            turn, chosen = int(row["to_act"][0]), np.zeros(1, np.int64)
            if turn == seat:
                mask = np.zeros((1, len(catalogue(self.rules))), np.int8)
                mask_rows(self.rules.table, row, ONE, mask)
                if not self.skip_forced or mask.sum() > 1:
                    return Played(row, reward, rounds, End.RUNNING)
                chosen[0] = mask[0].argmax()
            else:
                act_rows(self.rules.table, row, ONE, int(opponents[turn]), chosen)
            step_rows(self.rules.table, row, ONE, chosen, self.max_cycles)

    def settle(self, row: Any, seat: int) -> tuple[float, int]:
        """What a finished round pays the seat, and whether it ends the match."""
        goal, table = self.rules.match_goal, snapshot(self.rules, row)
        scores = row["scores"][: self.n]
        points, out = row["points"][: self.n], row["end"] == End.OUT
        winners = [s for s in range(self.n) if scores[s] >= goal]
        if self.rules.elimination:
            left = [s for s in range(self.n) if scores[s] < goal]
            winners = left if len(left) == 1 else []
        paid = 0.0
        if self.reward == "points" and out:
            worth = {kind.name: kind.points for kind in self.rules.kinds}
            held = [sum(worth[card] for card in hand) for hand in table["hands"]]
            paid = (sum(held) if seat == row["winner"] else -held[seat]) / goal
        if self.reward == "match" and out:
            equities = match_equity(self.rules, [scores - points, scores])
            paid = equities[1, seat] - equities[0, seat]
        if self.reward == "win" and winners:
            paid = 1.0 if winners == [seat] else -1 / (self.n - 1)
        if winners:
            return paid, End.OUT
        return paid, End.TRUNCATED if row["round_index"] + 1 == self.max_rounds else End.RUNNING


LEARNERS = [
    *GAMES,
    pytest.param(
        {"rules": SHORT, "num_players": 3, "reward": "points", "skip_forced": True}, id="forced"
    ),
    pytest.param({"max_cycles": 30, "max_rounds": 3, "view": "canonical"}, id="canonical"),
]


@pytest.mark.parametrize("options", LEARNERS)
def test_a_learner_plays_the_matches_that_are_played_by_hand(options: dict[str, Any]) -> None:
    games = LearnerGames(16, opponents=["greedy", "random"], episode="match", **options)
    hand, rng = ByHand(games, options), np.random.default_rng(1)
    games.start(np.uint64(7))
    games.look()
    seen = {"matches": 0, "together": 0}
    owed = games.books["owed"].copy()
    for _ in range(400):
        before, books = games.rows.copy(), games.books.copy()
        actions = (games.masks * rng.random(games.masks.shape)).argmax(axis=1)
        plain = actions.copy()
        if options.get("view") == "canonical":
            plain_actions(games._tables, games.orders, actions, plain)
        games.step(games.everywhere, actions)
        for i in range(16):
            seat = int(books["learner"][i])
            played = hand.decide(before[i : i + 1], seat, books["opponents"][i], int(plain[i]))
            assert games.ends[i] == played.end
            assert games.rewards[i] == pytest.approx(owed[i] + played.reward, abs=1e-12)
            seen["together"] += played.rounds > 1
            owed[i] = 0
            if played.end == End.RUNNING:
                assert games.rows[i : i + 1].tobytes() == played.row.tobytes()
                assert games.books["learner"][i] == seat
                assert (games.books["opponents"][i] == books["opponents"][i]).all()
                continue
            seen["matches"] += 1
            assert games.final_rows[i : i + 1].tobytes() == played.row.tobytes()
            observation = np.zeros((1, games.observation_size), np.float32)
            observe_row(games._table, played.row, seat, observation[0])
            if options.get("view") != "canonical":
                assert (games.final(np.array([i])) == observation).all()
            assert games.rows["end"][i] == End.RUNNING
            owed[i] = games.books["owed"][i]
        assert games.look().shape == (16, games.observation_size) and games.masks.any(axis=1).all()
        if seen["matches"] > 12:
            break
    assert seen["matches"] > 5
    assert seen["together"] > 0 or games.rules.hand_size > 1


def test_rounds_before_the_first_decision_are_paid_with_it() -> None:
    """Seat 0 wins the first round with its only card, before seat 1 has been asked."""
    rules = replace(SHORT, match_goal=250)
    deck = list(rules.deck)
    for card in ("R1", "B+1", "R9"):
        deck.remove(card)
    options = {"deck": ["R1", "B+1", "R9", *deck], "dealer": 1}  # the cards of seats 0 and 1, open
    games = LearnerGames(20, rules, episode="match", reward="points")
    games.start(np.uint64(1), options=options)
    games.look()
    first = games.books["learner"] == 0
    assert 0 < first.sum() < 20
    assert (games.rows["round_index"][first] == 0).all() and not games.books["owed"][first].any()
    waited = ~first
    # It held a card worth 20 points. Seat 1 begins the second round, since seat 0 deals it.
    assert (games.rows["round_index"][waited] == 1).all()
    assert games.books["owed"][waited].tolist() == [-20 / 250] * waited.sum()
    assert not games.rewards.any() and not games.ends.any()

    copies = games.copies(games.everywhere)
    state = pickle.loads(pickle.dumps(games))
    games.books["owed"][:] = 0
    for each in (games, copies, state):
        each.step(each.everywhere, games.masks.argmax(axis=1))
    assert (copies.rewards == state.rewards).all()
    difference = copies.rewards - games.rewards
    assert difference == pytest.approx(np.where(waited, -20 / 250, 0), abs=1e-12)
    assert not copies.books["owed"][copies.ends == End.RUNNING].any()


def test_a_round_that_goes_on_is_no_end_for_stable_baselines() -> None:
    sb3 = pytest.importorskip("pocket_uno_env.envs.sb3")
    env = sb3.LearnerVecEnv(30, episode="match", reward="match", max_rounds=4, compact=True, seed=3)
    rng, ended = np.random.default_rng(0), {False: 0, True: 0}
    observations, dealt = env.reset(), 0
    for _ in range(300):
        assert observations.dtype == np.uint8
        rounds, seats = env.games.rows["round_index"].copy(), env.games.books["learner"].copy()
        masks = np.stack(env.env_method("action_masks"))
        observations, _, dones, infos = env.step((masks * rng.random(masks.shape)).argmax(axis=1))
        dealt += int((env.games.rows["round_index"] > rounds).sum())
        for i, info in enumerate(infos):
            if not dones[i]:
                assert info == {} and env.games.rows["round_index"][i] >= rounds[i]
                continue
            cut = info["TimeLimit.truncated"]
            ended[cut] += 1
            assert info["end"] == ("truncated" if cut else "out")
            final = env.games.final_rows[i]
            assert cut == (final["scores"].max() < 250) and final["round_index"] <= 3
            scores = final["scores"][[seats[i], 1 - seats[i]]] / 250
            block = info["terminal_observation"][328:330] / 240
            assert block == pytest.approx(np.minimum(scores, 1), abs=0.01)
        assert env.action_masks().any(axis=1).all()
    assert dealt > 100 and min(ended.values()) > 2


def test_gymnasium_single_and_vector_play_the_same_matches() -> None:
    options = {"episode": "match", "reward": "points", "max_rounds": 6, "scores": "match"}
    single = gymnasium.make("pocket_uno/PocketUno-v0", **options)
    vector = gymnasium.make_vec("pocket_uno/PocketUno-v0", num_envs=1, **options)
    paid = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        observation, info = single.reset(seed=seed)
        observations, _ = vector.reset(seed=seed)
        over = False
        while not over:
            assert (observation == observations[0]).all() and info["action_mask"].any()
            action = int(rng.choice(np.flatnonzero(info["action_mask"])))
            observation, reward, terminated, truncated, info = single.step(action)
            observations, rewards, ends, cuts, infos = vector.step(np.array([action]))
            assert (reward, terminated, truncated) == (rewards[0], ends[0], cuts[0])
            over = terminated or truncated
            paid += reward != 0 and not over
        assert (infos["final_obs"][0] == observation).all() and not info["action_mask"].any()
        assert infos["final_info"]["end"][0] == info["end"] == ("truncated" if truncated else "out")
    assert paid > 3


def test_a_match_is_called_one_where_it_is_shown() -> None:
    env = gymnasium.make(
        "pocket_uno/PocketUno-v0", render_mode="ansi", episode="match", max_rounds=1, max_cycles=9
    ).unwrapped
    with pytest.raises(RuntimeError, match="there is no match yet"):
        env.render()
    _, info = env.reset(seed=1)
    over = False
    while not over:
        *_, terminated, truncated, info = env.step(info["action_mask"].argmax())
        over = terminated or truncated
    assert "the match is over (" in env.render()
    with pytest.raises(RuntimeError, match="the match is over"):
        env.step(0)


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])
def test_copies_of_matches_go_on_as_the_original(clone: Any) -> None:
    env = pocket_uno_v0.raw_env(episode="match", reward="match", scores="match", num_players=3)
    env.reset(seed=2)
    rng = np.random.default_rng(0)
    for steps in (7, 60, 300):
        for _ in range(steps):
            if not env.agents or env.terminations[env.agent_selection]:
                env.reset()
            env.step(int(rng.choice(np.flatnonzero(env.last()[0]["action_mask"]))))
        twin = clone(env)
        while env.agents and not env.terminations[env.agent_selection]:
            action = int(rng.choice(np.flatnonzero(env.last()[0]["action_mask"])))
            for each in (env, twin):
                each.step(action)
            assert env.rewards == twin.rewards
        assert env.record() == twin.record()
        for each in (env, twin):
            each.reset()
        assert env.snapshot() == twin.snapshot()


def test_the_state_of_matches_is_taken_up_again() -> None:
    sb3 = pytest.importorskip("pocket_uno_env.envs.sb3")
    options = {"episode": "match", "reward": "points", "rules": SHORT, "num_players": 3}
    env = sb3.LearnerVecEnv(12, seed=1, scores=[[1, 2, 3], [30, 20, 10]], **options)
    other = sb3.LearnerVecEnv(12, seed=8, scores=[[1, 2, 3], [30, 20, 10]], **options)
    env.reset()
    while not env.games.books["owed"].any():
        env.step(env.action_masks().argmax(axis=1))
    state = env.state()
    other.set_state(state)
    for _ in range(60):
        actions = env.action_masks().argmax(axis=1)
        one, two = env.step(actions), other.step(actions)
        assert all(map(np.array_equal, one[:3], two[:3]))
    books = np.frombuffer(state["books"].tobytes(), env.games.books.dtype).copy()
    books["owed"][3] = np.nan
    before = other.games.rows.tobytes()
    with pytest.raises(ValueError, match="game 3 is none: owed of its book is nan"):
        other.set_state({**state, "books": np.frombuffer(books.tobytes(), np.uint8)})
    assert other.games.rows.tobytes() == before
