"""RLlib's own env runners on the AEC environment: legal, and paid once."""

from collections import defaultdict

import numpy as np
import pytest
from ray.rllib.core.columns import Columns
from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner
from rllib_pettingzoo import config

from pocket_uno_env import match_equity
from pocket_uno_env.envs.rllib import PocketUnoMultiAgentEnv

PLAYERS = (2, 3, 4)


def payoffs(env):
    """What each agent is due, by the result of the round."""
    winner = env.env.snapshot()["result"]["winner"]
    if winner is None:
        return dict.fromkeys(env.possible_agents, 0.0)
    loss = -1 / (len(env.possible_agents) - 1)
    return {agent: 1.0 if i == winner else loss for i, agent in enumerate(env.possible_agents)}


@pytest.mark.parametrize("players", PLAYERS)
def test_only_the_seat_to_act_is_asked_and_all_are_paid_at_the_end(players):
    env = PocketUnoMultiAgentEnv({"num_players": players, "max_cycles": 400})
    assert env.possible_agents == [f"player_{seat}" for seat in range(players)]
    generator = np.random.default_rng(1)
    ended = 0
    for seed in range(20):
        observations, _ = env.reset(seed=seed)
        returns = defaultdict(float)
        over = False
        while not over:
            (agent,) = observations
            assert env.observation_spaces[agent].contains(observations[agent])
            mask = observations[agent]["action_mask"]
            action = int(generator.choice(np.flatnonzero(mask)))
            observations, rewards, terminated, truncated, _ = env.step({agent: action})
            for one, reward in rewards.items():
                returns[one] += reward
            over = terminated["__all__"] or truncated["__all__"]
            assert over == (len(observations) == players)
        assert returns == pytest.approx(payoffs(env))
        ended += terminated["__all__"]
    assert ended > 3


def test_rounds_of_a_match_are_paid_as_they_end():
    scores = [150, 120, 200]
    options = {"episode": "match", "reward": "match", "scores": scores, "max_rounds": 3}
    env = PocketUnoMultiAgentEnv({"num_players": 3, "max_cycles": 400, **options})
    generator = np.random.default_rng(1)
    rounds = 0
    for seed in range(10):
        observations, _ = env.reset(seed=seed)
        returns, over = defaultdict(float), False
        while not over:
            (agent,) = observations
            mask = observations[agent]["action_mask"]
            action = int(generator.choice(np.flatnonzero(mask)))
            observations, rewards, terminated, truncated, _ = env.step({agent: action})
            over = terminated["__all__"] or truncated["__all__"]
            for one, reward in rewards.items():
                returns[one] += reward
        after = env.env.snapshot()["scores"]
        change = match_equity("pocket", after) - match_equity("pocket", scores)
        assert list(returns[one] for one in env.possible_agents) == pytest.approx(change.tolist())
        assert terminated["__all__"] == (max(after) >= 250)
        rounds += len(env.env.record()["rounds"])
    assert rounds > 12


def test_an_illegal_action_is_refused():
    env = PocketUnoMultiAgentEnv()
    observations, _ = env.reset(seed=1)
    ((agent, seen),) = observations.items()
    with pytest.raises(ValueError, match="legal"):
        env.step({agent: int(np.flatnonzero(seen["action_mask"] == 0)[0])})


@pytest.mark.parametrize("players", PLAYERS)
def test_episodes_are_legal_and_paid_once(players, cluster):
    """Over several samples, so that rounds are cut between them."""
    due = {}

    def note(*, episode, env, env_index, **kwargs):
        due[episode.id_] = payoffs(env.envs[env_index].unwrapped)

    settings = config(players, env_runners=0, seed=3).callbacks(on_episode_end=note)
    settings.environment(env_config={"num_players": players, "max_cycles": 150})
    settings.env_runners(num_envs_per_env_runner=4)
    runner = MultiAgentEnvRunner(config=settings, worker_index=0)
    returns = defaultdict(lambda: defaultdict(float))
    decisions = 0
    for _ in range(4):
        for episode in runner.sample(num_timesteps=400):
            for agent, seat in episode.agent_episodes.items():
                actions = seat.get_actions()
                masks = seat.get_observations()["action_mask"][:-1]
                assert masks[np.arange(len(actions)), actions].all(), "an illegal action"
                logits = seat.get_extra_model_outputs(Columns.ACTION_DIST_INPUTS)
                assert (logits[masks == 0] < -1e30).all()
                returns[episode.id_][agent] += seat.get_return()
                decisions += len(actions)
    assert decisions >= 1500 and len(due) >= 5
    assert any(any(due[name].values()) for name in due)
    for name, paid in due.items():
        found = returns[name]
        assert found == pytest.approx({agent: paid[agent] for agent in found})
        # Only a seat that never got to decide is missing.
        assert len(found) >= 2
