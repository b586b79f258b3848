"""Masked double DQN in Tianshou on the PettingZoo environment, against Tianshou's random player.

    python examples/tianshou_multiagent.py

One algorithm for each seat, as Tianshou's multi-agent interface wants it. What this interface does
not tell a seat, and the way around it, is in docs/ecosystem/tianshou.md. Needs ``tianshou``.
"""

import numpy as np
from tianshou.algorithm import DQN, MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.algorithm.random import MARLRandomDiscreteMaskedOffPolicyAlgorithm
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

from pocket_uno_env import pocket_uno_v0

GAMES = 8


def make() -> PettingZooEnv:
    """One game; without PettingZoo's own wrappers an illegal action raises."""
    return PettingZooEnv(pocket_uno_v0.raw_env(num_players=2))


env = make()
space = env.observation_space["observation"]
net = Net(state_shape=space.shape, action_shape=env.action_space.n, hidden_sizes=[128, 128])
learner = DQN(
    policy=DiscreteQLearningPolicy(model=net, action_space=env.action_space, eps_training=0.2),
    optim=AdamOptimizerFactory(lr=1e-3),
    target_update_freq=100,
)
other = MARLRandomDiscreteMaskedOffPolicyAlgorithm(action_space=env.action_space)
algorithm = MultiAgentOffPolicyAlgorithm(algorithms=[learner, other], env=env)

games = DummyVectorEnv([make for _ in range(GAMES)])
games.seed(7)
buffer = VectorReplayBuffer(20_000, GAMES)
collector = Collector(algorithm, games, buffer, exploration_noise=True)
collector.reset()
training = algorithm.run_training(
    OffPolicyTrainerParams(
        training_collector=collector,
        max_epochs=2,
        epoch_num_steps=2000,
        collection_step_num_env_steps=400,
        batch_size=128,
        update_step_num_gradient_steps_per_sample=0.1,
        multi_agent_return_reduction=lambda rewards: rewards[:, 0],
        show_progress=False,
    )
)

taken = buffer.sample_indices(0)  # all of them
mask, action = buffer.obs.mask[taken], buffer.act[taken]
assert mask[np.arange(len(taken)), action].all(), "an illegal action"
print(
    f"{training.train_step} decisions, {training.train_episode} rounds ended, "
    "none of the actions illegal"
)
