"""Tianshou: masked DQN on both environments, and what the page says that Tianshou does not do."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
import pytest
from programs import ROOT, run_example, run_page
from tianshou.algorithm import PPO, MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.algorithm.random import MARLRandomDiscreteMaskedOffPolicyAlgorithm
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.utils.net.common import Net
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic

from pocket_uno_env import pocket_uno_v0
from pocket_uno_env.envs.gym import PocketUnoEnv


@pytest.mark.parametrize("name", ["tianshou_multiagent", "tianshou_dqn"])
def test_examples_take_no_illegal_action(name: str, tmp_path: Path) -> None:
    printed = run_example(name, folder=tmp_path)
    found = re.search(r"([\d,]+) decisions.*none of (?:the actions|them) illegal", printed)
    assert found and int(found[1].replace(",", "")) >= 4000


def test_the_page(tmp_path: Path) -> None:
    run_page("tianshou", tmp_path)


def make_round() -> PettingZooEnv:
    return PettingZooEnv(pocket_uno_v0.raw_env(rules="mini"))


def test_a_round_is_never_told_to_who_loses_it_between_several_agents() -> None:
    """As the page says; if it is told one day, the page is to be changed."""
    env = make_round()
    players = [MARLRandomDiscreteMaskedOffPolicyAlgorithm(env.action_space) for _ in range(2)]
    games = DummyVectorEnv([make_round] * 4)
    games.seed(1)
    buffer = VectorReplayBuffer(2000, 4)
    collector = Collector(MultiAgentOffPolicyAlgorithm(algorithms=players, env=env), games, buffer)
    collector.reset()
    collector.collect(n_step=1600)
    taken = buffer.sample_indices(0)
    mask, action = buffer.obs.mask[taken], buffer.act[taken]
    assert mask[np.arange(len(taken)), action].all()
    mover = np.array([env.agent_idx[agent] for agent in buffer.obs.agent_id[taken]])
    own = buffer.rew[taken][np.arange(len(taken)), mover]
    over = buffer.terminated[taken]
    assert over.sum() > 20 and not own[~over].any()
    assert (own[over] == 1).sum() > 20 and not (own < 0).any()


def example(name: str) -> ModuleType:
    """The definitions of an example, not what it does with them."""
    spec = importlib.util.spec_from_loader(name, None)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    text = (ROOT / "examples" / f"{name}.py").read_text("utf-8").split("\nenv = make()")[0]
    exec(compile(text, name, "exec"), module.__dict__)
    return module


def test_wins_and_losses_reach_a_single_learner() -> None:
    wrapper: Any = example("tianshou_dqn").MaskInObservation

    def make() -> gymnasium.Env[Any, Any]:
        return wrapper(PocketUnoEnv(rules="mini", opponents=["random"], illegal="raise"))

    player = MARLRandomDiscreteMaskedOffPolicyAlgorithm(make().action_space)
    games = DummyVectorEnv([make] * 4)
    games.seed(1)
    buffer = VectorReplayBuffer(2000, 4)
    collector = Collector(player, games, buffer)
    collector.reset()
    collector.collect(n_step=1600)
    taken = buffer.sample_indices(0)
    paid, over = buffer.rew[taken], buffer.terminated[taken]
    assert (paid == 1).sum() > 20 and (paid == -1).sum() > 20 and not paid[~over].any()


def test_algorithms_beyond_dqn_do_not_mask() -> None:
    """As the page says; if they do one day, the page is to be changed."""
    wrapper: Any = example("tianshou_dqn").MaskInObservation

    class Plain(gymnasium.ObservationWrapper[Any, Any, Any]):
        """PPO cannot read a mask and wants the observation alone."""

        def observation(self, observation: Any) -> Any:
            return observation["obs"]

    env = Plain(wrapper(PocketUnoEnv(illegal="raise")))
    size, n_actions = env.observation_space["obs"].shape, int(env.action_space.n)
    nets = [Net(state_shape=size, hidden_sizes=[16]) for _ in range(2)]
    actor = DiscreteActor(preprocess_net=nets[0], action_shape=n_actions)
    algorithm = PPO(
        policy=DiscreteActorPolicy(actor=actor, action_space=env.action_space),
        critic=DiscreteCritic(preprocess_net=nets[1]),
        optim=AdamOptimizerFactory(),
    )
    collector = Collector(algorithm, DummyVectorEnv([lambda: env]))
    collector.reset()
    with pytest.raises(ValueError, match="is not legal"):
        collector.collect(n_step=50)
