"""What the learner is paid: the scale of rewards, and the cost of time."""

from __future__ import annotations

import numpy as np
import pytest
from training_runs import run

from pocket_uno_env.agents.trained import run_folder
from pocket_uno_env.agents.trained.policy import load_policy
from pocket_uno_env.envs.learner_games import LearnerGames
from pocket_uno_env.envs.sb3 import LearnerVecEnv
from pocket_uno_env.training.ppo import Monitor
from pocket_uno_env.training.reward_scale import reward_scale, worst_payoff


@pytest.mark.parametrize(("reward", "rules"), [("match", "pocket"), ("points", "classic")])
def test_a_round_pays_about_one_after_scaling(reward: str, rules: str) -> None:
    scores = "match" if reward == "match" else None
    options = {"reward": reward, "scores": scores}
    scale = reward_scale(LearnerGames(2, rules, 3, ["strong"], **options))
    games = LearnerGames(256, rules, 3, ["strong"], **options)
    games.start(np.uint64(5))
    paid = []
    for _ in range(150):
        games.look()
        games.step(games.everywhere, games.ask(games.opponents[0]))
        paid.append(games.rewards[games.ends != 0])
    found = scale * np.concatenate(paid)
    assert len(found) > 1000
    assert np.sqrt(np.square(found).mean()) == pytest.approx(1, abs=0.1)


def test_wins_are_not_scaled() -> None:
    assert reward_scale(LearnerGames(2, "pocket", 4)) == 1
    assert worst_payoff(LearnerGames(2, "pocket", 4)) == pytest.approx(1 / 3)
    assert worst_payoff(LearnerGames(2, "pocket", 4, reward="points")) == 1


def test_time_costs_while_a_round_goes_on_and_the_books_are_kept_in_payoffs() -> None:
    env = LearnerVecEnv(64, "pocket", 2, ["greedy"], seed=1)
    plain = LearnerVecEnv(64, "pocket", 2, ["greedy"], seed=1)
    monitored = Monitor(env, reward_scale=2.0, time_cost=0.25)
    monitored.reset()
    plain.reset()
    ended = 0
    for _ in range(40):
        actions = env.action_masks().argmax(axis=1)
        _, rewards, dones, infos = monitored.step(actions)
        _, expected, over, _ = plain.step(actions)
        assert np.array_equal(dones, over) and rewards.dtype == np.float32
        assert np.array_equal(rewards, 2 * expected - 0.25 * ~over)
        for i in np.flatnonzero(dones):
            assert infos[i]["episode"]["r"] == expected[i]
            ended += 1
    assert ended > 20


def test_discounting_towards_the_worst_is_a_cost_of_time() -> None:
    gamma, worst = 0.9, 1.5
    payoff, steps = 0.7, 6
    towards = payoff
    for _ in range(steps):
        towards = gamma * (towards + worst) - worst
    env = Monitor(LearnerVecEnv(steps + 1, "pocket", 2), time_cost=(1 - gamma) * worst)
    paid = env.to_learner(np.array([0.0] * steps + [payoff]), np.arange(steps + 1) == steps)
    assert towards == pytest.approx(gamma ** np.arange(steps + 1) @ paid)


def test_a_run_for_matches_says_what_its_critic_is_scaled_by(tmp_path) -> None:
    out = run(tmp_path / "run", "--steps", 0)
    config = run_folder.read_config(out)
    assert config["settings"]["reward"] == "match"
    scale = reward_scale(LearnerGames(2, reward="match", scores="match"))
    assert config["reward_scale"] == pytest.approx(scale)
    agent = load_policy(out)
    critic = agent.critic()
    assert critic is not None and critic.of_match and critic.scale == pytest.approx(scale)
    assert not agent.judges
    run_folder.write_config(out, {**config, "reward_scale": 0.0})
    with pytest.raises(run_folder.RunError, match="expected a number above 0"):
        load_policy(out)
