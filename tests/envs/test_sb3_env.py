"""The native VecEnv: Stable-Baselines3's contract, and what a learner's transition is."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecMonitor

from pocket_uno_env import Rules
from pocket_uno_env.agents import Agent, AgentError, ObservationAgent, load
from pocket_uno_env.envs.learner_games import LearnerGames
from pocket_uno_env.envs.sb3 import LearnerVecEnv
from pocket_uno_env.episodes.payoff import REWARDS, round_payoffs
from pocket_uno_env.evaluation.arena import play
from pocket_uno_env.observation.blocks import observation_size
from pocket_uno_env.observation.canonical import color_tables, plain_actions
from pocket_uno_env.row_kernels import observe_row
from pocket_uno_env.rows import mask_rows, observe_rows, step_rows
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.phases import End

HOUSE = Rules.preset(
    "classic", stacking="any", seven_zero=True, jump_in=True, forced_play=True, elimination=True
)
GAMES = [("pocket", 2), ("pocket", 4), ("classic", 3), ("mini", 2), (HOUSE, 3)]


class Asked(Agent):
    """A scripted agent that has to be asked like any other."""

    def __init__(self, name):
        self._agent = load(name)
        self.name = name
        self.calls = 0

    def act_rows(self, rules, rows, index):
        self.calls += 1
        return self._agent.act_rows(rules, rows, index)


def pick(env, rng):
    """Random legal actions."""
    masks = np.stack(env.env_method("action_masks"))
    return (masks * rng.random(masks.shape)).argmax(axis=1)


def rollout(env, steps, seed=0):
    """Everything that `steps` random steps return."""
    rng = np.random.default_rng(seed)
    found = [env.reset()]
    for _ in range(steps):
        observations, rewards, dones, infos = env.step(pick(env, rng))
        found += [observations, rewards, dones, np.stack(env.env_method("action_masks"))]
        found += [info["terminal_observation"] for info in infos if info]
    return found


def same(one, two):
    return len(one) == len(two) and all(map(np.array_equal, one, two))


# What a transition is.


@pytest.mark.parametrize("reward", ["win", "points"])
@pytest.mark.parametrize("opponent", ["greedy", "random"])
@pytest.mark.parametrize(("rules", "num_players"), GAMES)
def test_transitions_run_from_one_decision_of_the_learner_to_the_next(
    rules, num_players, opponent, reward
):
    """The games are played a second time, decision by decision, in plain Python."""
    env = LearnerVecEnv(12, rules, num_players, [opponent], reward=reward, max_cycles=60, seed=5)
    made = env.rules
    agent = load(opponent)
    rng = np.random.default_rng(1)
    env.reset()
    ended = 0
    for _ in range(60):
        before = env.games.rows.copy()
        learner = before["to_act"].astype(int)
        actions = pick(env, rng)
        observations, rewards, dones, infos = env.step(actions)
        for i in range(env.num_envs):
            row = before[i : i + 1]
            zero = np.zeros(1, np.int64)
            step_rows(made.table, row, zero, actions[i : i + 1], 60)
            while row["end"][0] == End.RUNNING and row["to_act"][0] != learner[i]:
                step_rows(made.table, row, zero, agent.act_rows(made, row, zero), 60)
            assert dones[i] == (row["end"][0] != End.RUNNING)
            if not dones[i]:
                assert rewards[i] == 0 and infos[i] == {}
                assert row.tobytes() == env.games.rows[i : i + 1].tobytes()
                continue
            ended += 1
            payoffs = np.zeros(num_players)
            round_payoffs(made._table[0], row[0], REWARDS[reward], np.zeros((0, 2, 1)), payoffs)
            assert abs(payoffs.sum()) < 1e-12
            assert rewards[i] == np.float32(payoffs[learner[i]])
            assert infos[i]["TimeLimit.truncated"] == (row["end"][0] == End.TRUNCATED)
            assert infos[i]["end"] == End(row["end"][0]).name.lower()
            final = np.zeros_like(observations[i])
            observe_row(made._table, row, learner[i], final)
            assert np.array_equal(infos[i]["terminal_observation"], final)
            assert env.games.rows["end"][i] == End.RUNNING
            assert env.games.rows["rng"][i] != row["rng"][0]
    assert ended > 12


@pytest.mark.parametrize(("learner", "opponent"), [("greedy", "greedy"), ("random", "greedy")])
@pytest.mark.parametrize("num_players", [2, 3])
def test_what_is_earned_is_what_the_arena_measures(learner, opponent, num_players):
    """The opponents' wins reach the learner as losses, as often as they happen."""
    agents = [load(learner), load(opponent)]
    lineup = [(0, *[1] * (num_players - 1))]
    games = play("pocket", num_players, agents, 1000, 0, lineups=lineup)[0]
    expected = games.win_rates(0).mean()
    env = LearnerVecEnv(500, "pocket", num_players, [opponent], seed=3)
    env.reset()
    earned = []
    while len(earned) < 6000:
        _, rewards, dones, _ = env.step(env.ask(agents[0]))
        earned += list(rewards[dones])
    won = np.array(earned) == 1
    lost = np.isclose(earned, -1 / (num_players - 1))
    assert (won | lost | (np.array(earned) == 0)).all()
    assert won.mean() == pytest.approx(expected, abs=0.035)
    assert lost.mean() == pytest.approx(1 - expected, abs=0.035)


def test_the_learner_sits_in_every_seat_and_meets_every_opponent():
    env = LearnerVecEnv(300, num_players=3, opponents=["greedy", "random"], seed=0)
    env.reset()
    seats = np.bincount(env.games.rows["to_act"], minlength=3)
    assert seats.min() > 60
    opponents = [
        o for book in env.games.books for o in np.delete(book["opponents"][:3], book["learner"])
    ]
    codes = [load("greedy").policy, load("random").policy]
    assert set(opponents) == set(codes)
    assert min(opponents.count(code) for code in codes) > 200


def test_an_opponent_listed_twice_comes_twice_as_often():
    env = LearnerVecEnv(600, opponents=["greedy", "random", "greedy"], seed=0)
    env.reset()
    book = env.games.books
    drawn = book["opponents"][np.arange(600), 1 - book["learner"]]
    assert 350 < (drawn == load("greedy").policy).sum() < 450


# Agents that are not compiled.


@pytest.mark.parametrize("name", ["greedy", "random"])
@pytest.mark.parametrize("num_players", [2, 4])
def test_it_makes_no_difference_whether_an_opponent_is_compiled_or_asked(name, num_players):
    asked = Asked(name)
    one = rollout(LearnerVecEnv(20, "pocket", num_players, [name, "greedy"], seed=2), 40)
    two = rollout(LearnerVecEnv(20, "pocket", num_players, [asked, Asked("greedy")], seed=2), 40)
    mixed = rollout(LearnerVecEnv(20, "pocket", num_players, [asked, "greedy"], seed=2), 40)
    assert same(one, two) and same(one, mixed)
    assert asked.calls > 0


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda count: np.full(count, 122), r"greedy.*legal: "),
        (lambda count: np.full(count, 10**6), "chose action 1000000 .which does not exist"),
        (lambda count: np.full(count, -(2**62)), "which does not exist"),
        (lambda count: np.zeros(0, np.int64), r"answered with int64 of shape \(0,\)"),
        (lambda count: np.zeros((count, 2), np.int64), r"of shape \(\d, 2\)"),
        (lambda count: np.zeros(count), "answered with float64"),
        (lambda count: np.full(count, 2**64 - 1, np.uint64), "which does not exist"),
        (lambda count: ["draw"] * count, "answered with <U4"),
        (lambda count: [[1], [2, 3]], "cannot be read"),
        (lambda count: None, "answered with object"),
    ],
)
@pytest.mark.parametrize("alone", [False, True])
def test_an_opponent_that_plays_illegally_is_named(answer, message, alone):
    class Wrong(Asked):
        def act_rows(self, rules, rows, index):
            return answer(len(index))

    wrong = Wrong("greedy")
    if alone:
        wrong = Asked("greedy")
        wrong.act_rows = lambda rules, rows, index: answer(len(index))
    env = LearnerVecEnv(4, opponents=[wrong], seed=0)
    with pytest.raises(AgentError, match=message):
        for _ in range(5):
            env.reset()


def test_first_legal_actions_as_opponent():
    first = ObservationAgent("first", lambda observations, masks: masks.argmax(axis=1))
    env = LearnerVecEnv(8, "classic", 3, [first, "greedy"], seed=0)
    assert len(rollout(env, 30)) > 30


# Repeatable.


@pytest.mark.parametrize("view", ["plain", "canonical"])
def test_the_same_seed_gives_the_same_games(view):
    made = [LearnerVecEnv(10, view=view, seed=seed) for seed in (4, 4, 5)]
    one, two, other = (rollout(env, 50) for env in made)
    assert same(one, two)
    assert not same(one, other)
    again = rollout(
        made[0], 50
    )  # a reset without a seed deals other games, the same ones each time
    assert not same(one, again) and same(again, rollout(made[1], 50))
    made[2].seed(4)
    assert same(one, rollout(made[2], 50))


def test_a_game_does_not_depend_on_how_many_run_beside_it():
    few = LearnerVecEnv(3, num_players=3, opponents=["greedy", "random", Asked("greedy")], seed=9)
    many = LearnerVecEnv(17, num_players=3, opponents=["greedy", "random", Asked("greedy")], seed=9)
    assert np.array_equal(few.reset(), many.reset()[:3])
    for step in range(80):
        seen = []
        for env in (few, many):
            masks = np.stack(env.env_method("action_masks"))
            weight = (np.arange(masks.shape[1]) * 7919 + step * 104729) % 1009 + 1
            seen.append(env.step((masks * weight).argmax(axis=1)))
        for one, two in zip(seen[0][:3], seen[1][:3], strict=True):
            assert np.array_equal(one, two[:3])
    assert few.games.rows.tobytes() == many.games.rows[:3].tobytes()


def test_a_state_continues_where_it_was():
    env = LearnerVecEnv(6, view="canonical", seed=1)
    env.reset()
    rng = np.random.default_rng(0)
    for _ in range(7):
        env.step(pick(env, rng))
    state = env.state()
    other = LearnerVecEnv(6, view="canonical", seed=8)
    other.set_state(state)
    for _ in range(30):
        actions = pick(env, rng)
        one, two = env.step(actions), other.step(actions)
        assert all(map(np.array_equal, one[:3], two[:3]))
    with pytest.raises(ValueError, match="another number of games"):
        LearnerVecEnv(7, seed=8).set_state(state)


def test_views_show_the_same_games():
    plain, canonical = (LearnerVecEnv(15, view=view, seed=6) for view in ("plain", "canonical"))
    plain.reset(), canonical.reset()
    rng = np.random.default_rng(3)
    for _ in range(60):
        actions = pick(canonical, rng)
        meant = np.zeros_like(actions)
        plain_actions(color_tables(plain.rules, 2), canonical.orders, actions, meant)
        one, two = plain.step(meant), canonical.step(actions)
        assert np.array_equal(one[1], two[1]) and np.array_equal(one[2], two[2])
        assert plain.games.rows.tobytes() == canonical.games.rows.tobytes()
        for a, b in zip(one[3], two[3], strict=True):
            if a:
                sums = (v["terminal_observation"].sum() for v in (a, b))
                assert next(sums) == pytest.approx(next(sums))


# Stable-Baselines3's contract.


@pytest.mark.parametrize(("rules", "num_players"), GAMES)
def test_observations_and_masks_are_those_of_the_seat_to_act(rules, num_players):
    env = LearnerVecEnv(20, rules, num_players, seed=0)
    observations = env.reset()
    rng = np.random.default_rng(0)
    for _ in range(40):
        assert observations.dtype == np.float32
        assert observations.shape == (20, *env.observation_space.shape)
        assert all(env.observation_space.contains(o) for o in observations)
        index = np.arange(20)
        expected = np.zeros_like(observations)
        masks = np.zeros((20, env.action_space.n), np.int8)
        observe_rows(env.rules.table, env.games.rows, index, expected)
        mask_rows(env.rules.table, env.games.rows, index, masks)
        assert np.array_equal(observations, expected)
        assert np.array_equal(np.stack(env.env_method("action_masks")), masks == 1)
        assert masks.any(axis=1).all()
        observations, rewards, dones, _ = env.step(pick(env, rng))
        assert rewards.dtype == np.float32 and dones.dtype == np.bool_


def test_capped_rounds_are_truncated_and_blocked_ones_terminated():
    capped = LearnerVecEnv(30, opponents=["random"], max_cycles=12, seed=0)
    rng = np.random.default_rng(0)
    capped.reset()
    for _ in range(40):
        _, rewards, dones, infos = capped.step(pick(capped, rng))
        for i in np.flatnonzero(dones):
            assert infos[i]["TimeLimit.truncated"] == (infos[i]["end"] == "truncated")
            assert infos[i]["end"] == "out" or rewards[i] == 0
        assert (capped.games.rows["decisions"] < 12).all()
    # Nobody ever plays: soon the piles are dry.
    rules = Rules.preset("mini")
    env = LearnerVecEnv(30, rules, 2, ["random"], seed=0)
    draw, keep = catalogue(rules).id("draw"), catalogue(rules).id("keep")
    env.reset()
    seen = set()
    for _ in range(3000):
        masks = env.action_masks()
        passes = np.where(masks[:, draw], draw, keep)
        forced = masks[np.arange(30), passes]
        _, rewards, dones, infos = env.step(np.where(forced, passes, masks.argmax(axis=1)))
        for i in np.flatnonzero(dones):
            seen.add(infos[i]["end"])
            if infos[i]["end"] == "blocked":
                assert rewards[i] == 0 and not infos[i]["TimeLimit.truncated"]
        if "blocked" in seen:
            break
    assert "blocked" in seen


@pytest.mark.parametrize("view", ["plain", "canonical"])
def test_what_is_returned_belongs_to_the_caller(view):
    env, twin = (LearnerVecEnv(10, view=view, seed=2) for _ in range(2))
    rng = np.random.default_rng(0)
    observations = env.reset()
    twin.reset()
    kept = []
    for _ in range(40):
        actions = pick(env, rng)
        step, other = env.step(actions), twin.step(actions)
        masks = env.env_method("action_masks")
        parts = [observations, *step[:3], *masks]
        parts += [info["terminal_observation"] for info in step[3] if info]
        kept += [(part, part.copy()) for part in parts]
        assert all(map(np.array_equal, step[:3], other[:3]))
        observations = step[0]
    assert all(np.array_equal(part, copy) for part, copy in kept)
    for part, _ in kept:
        part[...] = 1  # whoever writes into them changes nothing
    assert all(map(np.array_equal, env.action_masks(), twin.action_masks()))
    actions = pick(twin, rng)
    assert all(map(np.array_equal, env.step(actions)[:3], twin.step(actions)[:3]))


def test_attributes_and_methods_of_the_games():
    env = LearnerVecEnv(5)
    env.reset()
    assert env.has_attr("action_masks") and not env.has_attr("nothing")
    assert env.get_attr("num_players", [0, 3]) == [2, 2]
    assert env.get_attr("render_mode") == [None] * 5 and env.render_mode is None
    with pytest.raises(AttributeError):
        env.get_attr("nothing")
    assert len(env.env_method("action_masks", indices=[1, 4])) == 2
    assert len(env.env_method("action_masks", indices=2)) == 1
    with pytest.raises(AttributeError, match="action_masks"):
        env.env_method("nothing")
    assert env.env_is_wrapped(Monitor) == [False] * 5
    env.set_attr("note", 7)
    assert env.get_attr("note", 1) == [7]
    with pytest.raises(ValueError, match="shared"):
        env.set_attr("note", 8, indices=[0])
    assert env.get_images() == [None] * 5
    assert env.seed(3) == [3, 4, 5, 6, 7]
    env.close()


@pytest.mark.parametrize("count", [1, 2, 7])
def test_a_list_of_masks_is_stacked_as_it_stands(count):
    env = LearnerVecEnv(count, seed=0)
    env.reset()
    whole = env.action_masks()
    assert whole.dtype == np.bool_ and np.array_equal(whole, env.games.masks == 1)

    lists = [env.env_method("action_masks") for _ in range(7)]
    lists[1].reverse()
    lists[2].append(lists[2][0])
    lists[3][-1] = ~lists[3][-1]
    lists[4].insert(1, lists[4][-1])
    lists[5][0][:9] = lists[6][-1][:9] = True
    lists += [lists[0][:1], 2 * lists[0][:1], [mask[3:] for mask in lists[0]], np.array(lists[0])]
    lists += [copy.deepcopy(lists[0]), pickle.loads(pickle.dumps(lists[0]))]
    lists += [env.env_method("action_masks", indices=[0, count - 1])]
    for masks in lists:
        plain = [np.array(mask) for mask in masks]
        for stacked, right in (
            (np.stack(masks), np.stack(plain)),
            (np.stack(masks, axis=1), np.stack(plain, axis=1)),
            (np.concatenate(masks), np.concatenate(plain)),
        ):
            assert type(stacked) is np.ndarray and stacked.dtype == np.bool_
            assert np.array_equal(stacked, right)
        np.stack(masks)[:] = True  # a stack is a copy
        assert all(map(np.array_equal, masks, plain))
    assert np.array_equal(env.action_masks(), whole)
    assert env.env_method("action_masks", indices=[]) == []
    first = env.env_method("action_masks")[0]
    for computed, right in (
        (first.sum(), whole[0].sum()),
        (first.argmax(), whole[0].argmax()),
        (first.any(), whole[0].any()),
        (first[2], whole[0][2]),
        (~first, ~whole[0]),
        (first & first, whole[0]),
        (first == 1, whole[0]),
        (np.flatnonzero(first), np.flatnonzero(whole[0])),
    ):
        assert type(computed) is type(right) and np.array_equal(computed, right)


def test_works_through_vec_monitor():
    env = VecMonitor(LearnerVecEnv(16, opponents=["random"], seed=0))
    assert is_masking_supported(env)
    env.reset()
    rng = np.random.default_rng(0)
    episodes = []
    for _ in range(300):
        assert np.array_equal(get_action_masks(env), env.unwrapped.action_masks())
        _, _, _, infos = env.step(pick(env, rng))
        episodes += [info["episode"] for info in infos if info]
    assert len(episodes) > 10
    assert {float(episode["r"]) for episode in episodes} == {-1.0, 1.0}
    assert all(episode["l"] >= 1 for episode in episodes)


@pytest.mark.parametrize("view", ["plain", "canonical"])
def test_an_illegal_action_is_refused_and_changes_nothing(view):
    env = LearnerVecEnv(4, view=view, seed=0)
    with pytest.raises(RuntimeError, match="reset"):
        env.step(np.zeros(4, np.int64))
    env.reset()
    good = env.action_masks().argmax(axis=1)
    before = env.games.rows.tobytes()
    wrong = good.copy()
    wrong[2] = catalogue(env.rules).id("let go")
    with pytest.raises(ValueError, match=r"'let go'.*game 2.*phase 'play'.*legal: draw, play"):
        env.step(wrong)
    for value in (-1, 123, 10**9):
        wrong[2] = value
        with pytest.raises(ValueError, match=f"action {value} is not legal in game 2"):
            env.step(wrong)
    with pytest.raises(ValueError, match="shape"):
        env.step(good[:3])
    with pytest.raises(ValueError, match="float64"):
        env.step(good.astype(float))
    assert env.games.rows.tobytes() == before
    with pytest.raises(RuntimeError, match="step_async"):
        env.step_wait()
    env.step(good)
    assert env.games.rows.tobytes() != before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_envs": 0}, "num_envs is 0"),
        ({"rules": "poket"}, "poket"),
        ({"num_players": 6}, "num_players is 6"),
        ({"opponents": []}, "opponents"),
        ({"opponents": "greedy"}, "opponents"),
        ({"opponents": ["gredy"]}, "gredy"),
        ({"reward": "money"}, "money"),
        ({"view": "blind"}, "blind"),
        ({"max_cycles": 0}, "max_cycles"),
    ],
)
def test_arguments_that_make_no_environment(arguments, message):
    with pytest.raises(ValueError, match=message):
        LearnerVecEnv(**{"num_envs": 2, **arguments})


def test_maskable_ppo_learns_and_evaluates_on_it_as_it_is():
    env = LearnerVecEnv(16, "mini", 2, ["random"], seed=0)
    model = MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=128, seed=0, device="cpu")
    model.learn(1024)
    rewards, lengths = evaluate_policy(
        model, VecMonitor(env), n_eval_episodes=20, return_episode_rewards=True
    )
    assert set(rewards) <= {-1.0, 0.0, 1.0} and min(lengths) >= 1


def test_a_vector_of_single_games_earns_the_same():
    """DummyVecEnv over one PettingZoo game each, against the native batch."""
    import gymnasium
    from stable_baselines3.common.vec_env import DummyVecEnv

    from pocket_uno_env import pocket_uno_v0

    greedy, agent = load("greedy"), load("random")

    class Single(gymnasium.Env):
        def __init__(self, number):
            self.game = pocket_uno_v0.raw_env()
            size = observation_size(self.game.rules, 2)
            self.observation_space = gymnasium.spaces.Box(0, 1, (size,), np.float32)
            self.action_space = self.game.action_space("player_0")
            self.number = number

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.game.reset(seed=None if seed is None else seed + 1)
            self.learner = f"player_{self.np_random.integers(2)}"
            self._opponents()
            return self.game.observe(self.learner)["observation"], {}

        def _opponents(self):
            while self.game.agent_selection != self.learner and not self._over():
                self.game.step(greedy.act(self.game))

        def _over(self):
            return any(self.game.terminations.values())

        def step(self, action):
            self.game.step(int(action))
            self._opponents()
            observation = self.game.observe(self.learner)["observation"]
            return observation, self.game.rewards[self.learner], self._over(), False, {}

        def action_masks(self):
            return self.game.observe(self.learner)["action_mask"]

        def choose(self):
            return agent.act(self.game)

    lengths, earned = {}, {}
    dummy = DummyVecEnv([lambda i=i: Single(i) for i in range(16)])
    dummy.seed(0)
    native = LearnerVecEnv(16, seed=0)
    for env in (dummy, native):
        monitored = VecMonitor(env)
        monitored.reset()
        rng = np.random.default_rng(0)
        episodes = []
        while len(episodes) < 250:
            _, _, _, infos = monitored.step(pick(monitored, rng))
            episodes += [info["episode"] for info in infos if "episode" in info]
        lengths[env] = np.mean([episode["l"] for episode in episodes])
        earned[env] = np.mean([episode["r"] for episode in episodes])
    assert lengths[dummy] == pytest.approx(lengths[native], rel=0.2)
    assert earned[dummy] == pytest.approx(earned[native], abs=0.1)


# Many decisions.


def long_rollout(steps):
    env = LearnerVecEnv(256, num_players=4, opponents=["random", "greedy"], seed=1)
    env.reset()
    rng = np.random.default_rng(0)
    for _ in range(steps // 256):
        env.step(pick(env, rng))


def test_a_hundred_thousand_masked_decisions_are_legal():
    long_rollout(100_000)


@pytest.mark.soak
def test_a_million_masked_decisions_are_legal():
    long_rollout(1_000_000)


@pytest.mark.parametrize("view", ["plain", "canonical"])
@pytest.mark.parametrize("opponent", ["greedy", Asked("greedy")], ids=["compiled", "asked"])
def test_no_games_at_all_are_looked_at_and_stepped(view, opponent):
    games = LearnerGames(3, "pocket", 2, [opponent], view=view)
    games.start(np.uint64(1))
    before = games.rows.copy()
    nothing = np.zeros(0, np.int64)
    copies = games.copies(nothing)
    for _ in range(2):
        assert copies.look().shape == (0, copies.observation_size)
        copies.step(copies.everywhere, nothing)
        assert copies.rewards.shape == copies.ends.shape == (0,)
    copies.step(nothing, nothing)
    assert copies.final(nothing).shape == (0, copies.observation_size)
    assert np.array_equal(games.rows, before)
