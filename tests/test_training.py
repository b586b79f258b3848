"""The pieces of the training: who sees what, who is drawn as an opponent, what is kept."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from pocket_uno_env.agents import Agent, AgentError, load
from pocket_uno_env.canonical import color_tables
from pocket_uno_env.observation import layout
from pocket_uno_env.sb3_env import LearnerVecEnv
from pocket_uno_env.snapshot import snapshot
from pocket_uno_env.training.all_hands import AllHands
from pocket_uno_env.training.learning import line, make_model
from pocket_uno_env.training.lessons import Imitation, Playouts
from pocket_uno_env.training.networks import actor_layers, as_agent
from pocket_uno_env.training.self_play import Pool, SelfPlay, snapshots

GAMES = 64


def model_on(env, **settings):
    return make_model(
        env,
        visible=getattr(env, "visible", env.observation_space.shape[0]),
        network=(32, 16),
        bfloat16=False,
        seed=0,
        **{"n_steps": 8, "batch_size": 128, "learning_rate": line(1e-3, 0), **settings},
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
    assert pool.frequencies().tolist() == [0.5, 0.5, 0, 0, 0]
    assert sorted(set(pool.games.codes)) == sorted({o.policy for o in pool.games.opponents[:2]})


def test_the_harder_copy_is_drawn_more_often():
    pool = pooled(share=0.8)
    for step in (10, 20):
        pool.add([(0 * w, 0 * b) for w, b in blank(pool)], step)
    pool.played[:2], pool.won[:2] = 998, (199, 599)  # of 1,000 it wins 200 and 600
    shares = pool.frequencies()
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
    model.learn(GAMES * 32, callback=SelfPlay(pool, GAMES * 8))
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
    assert np.array_equal(pool.frequencies(), other.frequencies())


# Lessons.


def test_imitation_teaches_the_teachers_choices():
    env = LearnerVecEnv(GAMES, "pocket", 2, ["greedy"], view="canonical", seed=0)
    model = model_on(env)
    model._last_obs = env.reset()
    lesson = Imitation(load("strong"))
    actions, targets = lesson.act(model)
    assert np.array_equal(actions, env.ask(load("strong")))
    assert np.array_equal(targets.argmax(1), actions) and (targets.sum(1) == 1).all()
    legal = torch.from_numpy(env.action_masks())
    right = torch.from_numpy(100 * targets)
    assert lesson.loss(right, legal, torch.from_numpy(targets)) < 1e-6
    assert lesson.loss(0 * right, legal, torch.from_numpy(targets)) > 0.5


@pytest.mark.parametrize("view", ["plain", "canonical"])
def test_playouts_try_each_legal_action_to_the_end(view):
    """With the teacher at every seat the action it takes earns what then happens."""
    env = LearnerVecEnv(GAMES, "pocket", 3, ["strong"], view=view, seed=0, skip_forced=True)
    model = model_on(env)
    model._last_obs = env.reset()
    lesson, strong = Playouts(load("strong")), load("strong")
    before = env.games.rows.copy()
    actions, targets = lesson.act(model)
    assert np.array_equal(env.games.rows, before)
    masks = env.action_masks()
    assert masks[np.arange(GAMES), actions].all() and not targets[~masks].any()
    assert np.allclose(targets.sum(1), 0, atol=1e-5)
    # Two actions of one decision differ by 1.5: a win, or half of another's.
    spread = np.where(masks, targets, -np.inf).max(1) - np.where(masks, targets, np.inf).min(1)
    assert set(np.round(spread, 3)) == {0.0, 1.5}
    advised = env.ask(strong)
    mean = np.zeros(GAMES)
    outcome = np.full(GAMES, np.nan)
    while np.isnan(outcome).any():
        _, rewards, dones, _ = env.step(env.ask(strong))
        outcome[dones & np.isnan(outcome)] = rewards[dones & np.isnan(outcome)]
    mean = outcome - targets[np.arange(GAMES), advised]
    won = targets + mean[:, None]
    assert np.isin(np.round(won[masks], 3), (1.0, -0.5)).all()


def test_the_loss_of_playouts_is_least_where_logits_are_what_actions_win():
    legal = torch.tensor([[True, True, False]])
    targets = torch.tensor([[0.5, -0.5, 0.0]])
    logits = torch.tensor([[10.0, -10.0, 7.0]]) + 3
    lesson = Playouts(load("strong"))
    assert lesson.loss(logits, legal, targets) < 1e-10
    assert lesson.loss(-logits, legal, targets) > 1


def test_only_a_scripted_teacher_can_play_on():
    class Own(Agent):
        name = "own"

        def act_rows(self, rules, rows, index):
            raise NotImplementedError

    with pytest.raises(AgentError, match="not a scripted agent"):
        Playouts(Own())
