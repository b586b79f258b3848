"""Masked double DQN in Tianshou on the Gymnasium environment: the opponents move inside `step`.

    python examples/tianshou_dqn.py

A transition runs from one decision of the learner to its next, and losses are paid as wins are.
Needs ``tianshou``.
"""

from typing import Any

import gymnasium
import numpy as np
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

from pocket_uno_env.envs.gym import PocketUnoEnv

GAMES, EPOCHS, EPOCH = 16, 3, 2000


class MaskInObservation(gymnasium.Wrapper):
    """Tianshou looks for the mask in the observation, and wants infos with the same keys always."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        mask = gymnasium.spaces.MultiBinary(int(env.action_space.n))
        self.observation_space = gymnasium.spaces.Dict({"obs": env.observation_space, "mask": mask})

    def reset(self, **kwargs: Any) -> Any:
        """Gymnasium's, the mask inside."""
        observation, _ = self.env.reset(**kwargs)
        return self._with_mask(observation), {}

    def step(self, action: Any) -> Any:
        """Gymnasium's, the mask inside."""
        observation, reward, terminated, truncated, _ = self.env.step(action)
        return self._with_mask(observation), reward, terminated, truncated, {}

    def _with_mask(self, observation: np.ndarray) -> dict[str, np.ndarray]:
        return {"obs": observation, "mask": self.env.unwrapped.action_masks().astype(bool)}


def make() -> gymnasium.Env:
    """One game, in which an illegal action raises."""
    return MaskInObservation(PocketUnoEnv(num_players=2, opponents=["random"], illegal="raise"))


env = make()
net = Net(
    state_shape=env.observation_space["obs"].shape,
    action_shape=env.action_space.n,
    hidden_sizes=[128, 128],
)
algorithm = DQN(
    policy=DiscreteQLearningPolicy(model=net, action_space=env.action_space, eps_training=0.1),
    optim=AdamOptimizerFactory(lr=1e-3),
    gamma=0.97,
    n_step_return_horizon=3,
    target_update_freq=100,
)

games = DummyVectorEnv([make] * GAMES)
games.seed(7)
buffer = VectorReplayBuffer(50_000, GAMES)
result = algorithm.run_training(
    OffPolicyTrainerParams(
        training_collector=Collector(algorithm, games, buffer, exploration_noise=True),
        max_epochs=EPOCHS,
        epoch_num_steps=EPOCH,
        collection_step_num_env_steps=GAMES * 10,
        batch_size=128,
        update_step_num_gradient_steps_per_sample=0.1,
        show_progress=False,
    )
)

taken = buffer.sample_indices(0)  # all of them
mask, action, paid = buffer.obs.mask[taken], buffer.act[taken], buffer.rew[taken]
assert mask[np.arange(len(taken)), action].all(), "an illegal action"
print(
    f"{result.train_step} decisions, none of them illegal; "
    f"{int((paid > 0).sum())} rounds won and {int((paid < 0).sum())} lost in training"
)
