"""The pieces of the training: who sees what, who is drawn as an opponent, what is kept."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from pocket_uno_env.agents import Agent, load
from pocket_uno_env.agents.trained.critic import judge, new_critic
from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.envs.sb3 import LearnerVecEnv
from pocket_uno_env.observation.blocks import layout
from pocket_uno_env.observation.canonical import color_tables
from pocket_uno_env.records.snapshot import snapshot
from pocket_uno_env.training.all_hands import AllHands
from pocket_uno_env.training.imitation import imitate
from pocket_uno_env.training.lookahead import action_advantages, look_ahead, policy_loss
from pocket_uno_env.training.networks import actor_layers, as_agent, weights
from pocket_uno_env.training.ppo import linear_schedule, make_model
from pocket_uno_env.training.self_play import Pool, SelfPlay, snapshots

GAMES = 64


def model_on(env, **settings):
    return make_model(
        env,
        visible=getattr(env, "visible", env.observation_space.shape[0]),
        network=(32, 16),
        bfloat16=False,
        seed=0,
        **{"n_steps": 8, "batch_size": 128, "learning_rate": linear_schedule(1e-3, 0), **settings},
    )


def pooled(count=3, share=0.5, num_players=2, opponents=("greedy", "strong"), seed=0):
    games = LearnerVecEnv(1, "pocket", num_players)
    past = snapshots(count, (32, 16), games.rules, num_players, "plain")
    env = LearnerVecEnv(GAMES, "pocket", num_players, [*opponents, *past], seed=seed)
    return Pool(env, past, share)


# Forced decisions.


def test_forced_decisions_are_made_for_the_learner():
    env = LearnerVecEnv(GAMES, "pocket", 3, ["greedy"], seed=2, skip_forced=True)
    env.reset()
    ended = 0
    for _ in range(60):
        assert (env.action_masks().sum(1) > 1).all()
        _, rewards, dones, _ = env.step(env.ask(load("greedy")))
        assert not rewards[~dones].any() and rewards[dones].all()
        ended += dones.sum()
    assert ended > 200


def test_rounds_go_the_same_way_with_and_without_being_asked():
    """Greedy in the learner's place decides the same, whoever plays the forced moves."""

    def outcomes(skip):
        env = LearnerVecEnv(1, "pocket", 2, ["greedy"], seed=3, skip_forced=skip)
        env.reset()
        found = []
        while len(found) < 60:
            _, rewards, dones, _ = env.step(env.ask(load("greedy")))
            found += rewards[dones].tolist()
        return found

    assert outcomes(True) == outcomes(False)


# The critic that sees all hands.


@pytest.mark.parametrize(("rules", "num_players"), [("pocket", 2), ("pocket", 4), ("classic", 3)])
def test_the_hidden_values_are_the_other_hands_and_the_next_card(rules, num_players):
    env = AllHands(LearnerVecEnv(8, rules, num_players, ["greedy"], seed=1))
    observations = env.reset()
    kinds = env.unwrapped.rules.kinds
    for _ in range(20):
        for row, values in zip(env.unwrapped.games.rows, observations, strict=True):
            shown = snapshot(env.unwrapped.rules, row)
            parts = values[env.visible :].reshape(num_players, len(kinds))
            for places, part in enumerate(parts[:-1], start=1):
                hand = shown["hands"][(row["to_act"] + places) % num_players]
                expected = [hand.count(kind.name) / kind.copies for kind in kinds]
                assert np.allclose(part, expected)
            top = shown["draw_pile"][0] if shown["draw_pile"] else None
            assert parts[-1].tolist() == [kind.name == top for kind in kinds]
        observations = env.step(env.unwrapped.ask(load("random")))[0]


def test_the_hidden_values_are_in_the_view_of_the_observation():
    plain = AllHands(LearnerVecEnv(32, "pocket", 2, ["greedy"], seed=1))
    view = AllHands(LearnerVecEnv(32, "pocket", 2, ["greedy"], view="canonical", seed=1))
    one, other = plain.reset(), view.reset()
    tables = color_tables(plain.unwrapped.rules, 2)
    n_kinds = len(plain.unwrapped.rules.kinds)
    assert not np.array_equal(one[:, plain.visible :], other[:, view.visible :])
    for game, order in enumerate(view.unwrapped.orders):
        for block in range(2):
            start = plain.visible + block * n_kinds
            for place, color in enumerate(order):
                here, there = start + tables.hand[color], start + tables.hand[place]
                assert np.array_equal(one[game, here], other[game, there])


def test_the_actor_sees_nothing_of_it_and_the_critic_does():
    env = AllHands(LearnerVecEnv(GAMES, "pocket", 2, ["greedy"], view="canonical", seed=0))
    model = model_on(env)
    model.learn(GAMES * 16)
    observations = torch.from_numpy(env.with_hidden(env.venv.reset()))
    changed = observations.clone()
    changed[:, env.visible :] = 1 - changed[:, env.visible :]
    with torch.no_grad():
        assert torch.equal(model.policy.logits(observations), model.policy.logits(changed))
        values, others = map(model.policy.predict_values, (observations, changed))
    assert not torch.isclose(values, others).any()
    observations.requires_grad_()
    model.policy.logits(observations).sum().backward()
    assert not observations.grad[:, env.visible :].any()
    assert observations.grad[:, : env.visible].any()


@kernel
def _judge(rules, rows, mask, critic):
    return judge(rules[0], rows[0], mask, critic)


@pytest.mark.parametrize("view", ["plain", "canonical"])
@pytest.mark.parametrize(("rules", "num_players"), [("pocket", 2), ("classic", 3)])
def test_the_compiled_critic_says_what_the_trained_one_says(rules, num_players, view):
    env = AllHands(LearnerVecEnv(GAMES, rules, num_players, ["greedy"], view=view, seed=1))
    games, model = env.unwrapped.games, model_on(env)
    tensors = weights(model.policy)
    layers = [(tensors[f"value.{i}.weight"], tensors[f"value.{i}.bias"]) for i in range(3)]
    critic = new_critic(games.rules, num_players, layers, view, "match", 4.0)
    mask = np.zeros(games.n_actions, np.int8)
    with torch.no_grad():
        values = model.policy.predict_values(torch.from_numpy(env.reset()))[:, 0].numpy()
    found = [_judge(games.rules._table, games.rows[i : i + 1], mask, critic) for i in range(GAMES)]
    assert np.allclose(found, values / 4, atol=1e-5)
    assert np.std(values) > 1e-3


def test_the_agent_of_such_a_model_needs_what_a_seat_may_know_alone():
    games = LearnerVecEnv(GAMES, "pocket", 2, ["greedy"], view="canonical", seed=0)
    env = AllHands(games)
    model = model_on(env)
    model.learn(GAMES * 8)
    observations = env.reset()
    said, _ = model.predict(observations, deterministic=True, action_masks=games.action_masks())
    agent = as_agent(model, "mine")
    assert agent.layer_sizes[0] == sum(block.length for block in layout(games.rules, 2))
    assert np.array_equal(said, games.ask(agent))


def test_a_truncated_round_ends_in_an_observation_of_the_same_length():
    env = AllHands(LearnerVecEnv(4, "pocket", 2, ["greedy"], max_cycles=2, seed=0))
    env.reset()
    for _ in range(3):
        _, _, dones, infos = env.step(env.unwrapped.ask(load("greedy")))
        for game in np.flatnonzero(dones):
            final = infos[game]["terminal_observation"]
            assert final.shape == env.observation_space.shape
            assert final.any() and not final[env.visible :].any()
            return
    raise AssertionError("no round ended")


# The pool of past selves.


def test_an_empty_pool_leaves_the_named_opponents():
    pool = pooled(share=0.8)
    assert pool.probabilities().tolist() == [0.5, 0.5, 0, 0, 0]
    assert sorted(set(pool.games.codes)) == sorted({o.policy for o in pool.games.opponents[:2]})


def test_the_harder_copy_is_drawn_more_often():
    pool = pooled(share=0.8)
    for step in (10, 20):
        pool.add([(0 * w, 0 * b) for w, b in blank(pool)], step)
    pool.played[:2], pool.won[:2] = 998, (199, 599)  # of 1,000 it wins 200 and 600
    shares = pool.probabilities()
    assert shares[:2] == pytest.approx([0.1, 0.1]) and shares[4] == 0
    assert shares[2] / shares[3] == pytest.approx(0.8**2 / 0.4**2)
    assert shares.sum() == pytest.approx(1)


def blank(pool):
    sizes = pool.slots[0].layer_sizes
    return [(np.zeros((b, a)), np.zeros(b)) for a, b in pairwise(sizes)]


def test_a_full_pool_gives_up_its_easiest_copy():
    pool = pooled(count=2)
    for step in (10, 20):
        pool.add(blank(pool), step)
    pool.played[:], pool.won[:] = 100, (30, 70)
    pool.add([(w + 1, b) for w, b in blank(pool)], 30)
    assert pool.steps.tolist() == [10, 30]
    assert pool.played.tolist() == [100, 0] and pool.won.tolist() == [30, 0]
    assert pool.slots[1].weights.any() and not pool.slots[0].weights.any()


@pytest.mark.parametrize("num_players", [2, 4])
def test_rounds_are_counted_for_the_copies_at_the_table(num_players):
    """Who sat there is told by the books, before the round is over."""
    pool = pooled(share=1.0, num_players=num_players, opponents=["random", "greedy"])
    for step in (1, 2, 3):
        pool.add(blank(pool), step)
    pool.refresh()
    pool.reset()
    base = pool.unwrapped
    played, won = np.zeros(3), np.zeros(3)
    for _ in range(60):
        before = base.games.books.copy()
        _, rewards, dones, _ = pool.step(base.ask(load("greedy")))
        for game in np.flatnonzero(dones):
            for seat in range(num_players):
                code = before["opponents"][game, seat]
                if seat != before["learner"][game] and code < 0:
                    played[-1 - code] += 1
                    won[-1 - code] += rewards[game] > 0
    assert played.sum() > 100 and 0 < won.sum() < played.sum()
    assert pool.played.tolist() == played.tolist() and pool.won.tolist() == won.tolist()


def test_copies_play_as_the_policy_did():
    pool = pooled()
    model = model_on(pool)
    model.learn(GAMES * 32, callback=SelfPlay(pool, GAMES * 8, before=0))
    assert (pool.steps >= 0).all() and len(set(pool.steps.tolist())) == 3
    pool.add(actor_layers(model.policy), model.num_timesteps)
    newest = pool.slots[int(pool.steps.argmax())]
    assert np.array_equal(newest.weights, as_agent(model, "mine").weights)
    assert newest.sample


def test_a_pool_goes_on_from_its_state():
    def play(pool, steps):
        return [pool.step(pool.unwrapped.ask(load("greedy")))[1] for _ in range(steps)]

    pool = pooled()
    generator = np.random.default_rng(0)
    for step in (5, 6):
        pool.add([(generator.standard_normal(w.shape), b) for w, b in blank(pool)], step)
    pool.refresh()
    pool.reset()
    play(pool, 30)
    kept = pool.state()
    expected = play(pool, 30)
    other = pooled(seed=9)
    observations = other.set_state(kept)
    assert observations.shape == (GAMES, other.observation_space.shape[0])
    assert np.array_equal(expected, play(other, 30))
    for name in ("steps", "won", "played"):
        assert np.array_equal(getattr(pool, name), getattr(other, name))
    assert np.array_equal(pool.probabilities(), other.probabilities())


# Before PPO.


def quiet(made, figures):
    """No report."""


def test_an_imitator_comes_to_act_as_its_teacher():
    env = LearnerVecEnv(GAMES, "pocket", 2, ["greedy"], view="canonical", seed=0, skip_forced=True)
    model = model_on(env)
    strong = load("strong")

    def agreement():
        observations = env.reset()
        same = []
        for _ in range(40):
            advised = env.ask(strong)
            masks = env.action_masks()
            said, _ = model.predict(observations, deterministic=True, action_masks=masks)
            same.append((said == advised).mean())
            observations = env.step(advised)[0]
        return np.mean(same)

    before = agreement()
    imitate(model, strong, 30_000, 3e-3, 64, quiet)
    assert agreement() > max(0.6, before + 0.15)


def judged(env, value):
    """A model on `env` whose critic gives every position the value `value`."""
    model = model_on(env)
    for parameter in model.policy.value_net.parameters():
        torch.nn.init.constant_(parameter, 0.0)
    torch.nn.init.constant_(model.policy.value_net.bias, value)
    model._last_obs = model.env.reset()
    return model


@pytest.mark.parametrize("critic", ["own-hand", "all-hands"])
@pytest.mark.parametrize("view", ["plain", "canonical"])
def test_every_legal_action_is_played_with_the_luck_that_the_game_has(view, critic):
    games = LearnerVecEnv(GAMES, "pocket", 3, ["strong"], view=view, seed=0, skip_forced=True)
    model = judged(AllHands(games) if critic == "all-hands" else games, 0.2)
    model.env.time_cost = np.float32(0.03)
    for _ in range(12):
        model.env.step(games.ask(load("strong")))
    before = games.games.rows.copy(), games.games.books.copy(), games.games.masks.copy()
    masks = games.action_masks()
    advantages = action_advantages(model, np.arange(GAMES), masks)
    after = games.games.rows, games.games.books, games.games.masks
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    assert np.allclose(advantages.sum(1), 0, atol=1e-5) and not advantages[~masks].any()
    advised = games.ask(load("strong"))
    _, rewards, dones, _ = model.env.step(advised)
    # A round that goes on has the critic's value, one that is over its reward.
    later = model.gamma * 0.2 - 0.03
    q_values = np.where(dones, rewards, later)
    mean = q_values - advantages[np.arange(GAMES), advised]
    each = (advantages + mean[:, None])[masks].astype(np.float64)
    assert np.isin(np.round(each, 3), np.round((1.0, -0.5, later), 3)).all()
    assert len(set(np.round(each, 3))) == 3


@pytest.mark.parametrize("critic", ["own-hand", "all-hands"])
def test_advantages_of_some_games_and_of_none(critic):
    env = LearnerVecEnv(GAMES, "pocket", 2, ["greedy", "strong"], view="canonical", seed=0)
    model = judged(AllHands(env) if critic == "all-hands" else env, 0.0)
    masks = env.action_masks()
    every = action_advantages(model, np.arange(GAMES), masks)
    some = np.array([5, 3, 40])
    assert np.array_equal(action_advantages(model, some, masks[some]), every[some])
    assert action_advantages(model, some[:0], masks[:0]).shape == (0, env.action_space.n)


def test_opponents_that_are_asked_are_asked_for_the_copies_too():
    """A network in the other seats, which gives the same answers each time."""
    scripted = LearnerVecEnv(GAMES, "pocket", 2, ["first"], seed=0)
    asked = LearnerVecEnv(GAMES, "pocket", 2, [First()], seed=0)
    advantages = []
    for env in (scripted, asked):
        model = judged(env, 0.5)
        advantages.append(action_advantages(model, np.arange(GAMES), env.action_masks()))
    assert np.array_equal(*advantages) and advantages[0].any()


class First(Agent):
    """As the scripted `first`, but not compiled."""

    name = "own"

    def act_rows(self, rules, rows, index):
        return load("first").act_rows(rules, rows, index)


def test_the_loss_falls_where_better_actions_are_likelier():
    advantages = torch.tensor([[0.5, -0.5, 0.0]])
    legal = torch.tensor([[True, True, False]])

    def loss(logits, entropy=0.0):
        log_probs = torch.where(legal, torch.tensor([logits]), -1e8).log_softmax(1)
        return policy_loss(log_probs, advantages, entropy)

    assert loss([10.0, -10.0, 7.0])[0] == pytest.approx(-0.5)
    assert loss([-10.0, 10.0, 7.0])[0] == pytest.approx(0.5)
    even, mean_entropy = loss([1.0, 1.0, 7.0], entropy=0.1)
    assert mean_entropy == pytest.approx(np.log(2)) and even == pytest.approx(-0.1 * np.log(2))


def test_lookahead_beats_the_random_agent_it_began_as():
    env = AllHands(
        LearnerVecEnv(GAMES, "mini", 2, ["greedy"], view="canonical", seed=0, skip_forced=True)
    )
    model = model_on(env)

    def rate():
        games = env.unwrapped
        env.reset()
        won = []
        while len(won) < 3000:
            rewards, dones = env.step(games.ask(as_agent(model, "mine")))[1:3]
            won += (rewards[dones] > 0).tolist()
        return np.mean(won)

    before = rate()
    look_ahead(model, 120_000, 3e-3, 64, 0.02, quiet)
    assert rate() > before + 0.1
