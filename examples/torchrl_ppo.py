"""PPO in TorchRL on hundreds of games in one compiled batch, masks included.

    python examples/torchrl_ppo.py

The learner sits in one seat of each game and the opponents move inside `step`. Needs ``torchrl``.
"""

import torch
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.envs import check_env_specs
from torchrl.modules import MLP, MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from pocket_uno_env.envs.torchrl import LearnerTorchEnv

GAMES, ROLLOUT, UPDATES, EPOCHS, PART = 256, 32, 6, 3, 1024

torch.manual_seed(7)
env = LearnerTorchEnv(GAMES, "pocket", num_players=2, opponents=["random"], seed=7)
check_env_specs(env)

size, n_actions = env.games.observation_size, env.games.n_actions
cells = {"num_cells": [128, 128], "activation_class": torch.nn.ReLU}
actor = ProbabilisticActor(
    TensorDictModule(MLP(size, n_actions, **cells), ["observation"], ["logits"]),
    in_keys={"logits": "logits", "mask": "action_mask"},
    distribution_class=MaskedCategorical,
    return_log_prob=True,
)
critic = ValueOperator(MLP(size, 1, **cells), in_keys=["observation"])
advantage = GAE(gamma=0.99, lmbda=0.95, value_network=critic)
loss = ClipPPOLoss(actor, critic, entropy_coeff=0.01)
optimizer = torch.optim.Adam(loss.parameters(), 1e-3)

frames = GAMES * ROLLOUT
collector = Collector(
    env,
    actor,
    frames_per_batch=frames,
    total_frames=frames * UPDATES,
    auto_register_policy_transforms=False,  # the policy has no memory
)
for rollout in collector:  # batch size (GAMES, ROLLOUT)
    taken = rollout["action"].unsqueeze(-1)
    assert rollout["action_mask"].gather(-1, taken).all(), "an illegal action"
    advantage(rollout)
    decisions = rollout.reshape(-1)
    for _ in range(EPOCHS):
        for part in torch.randperm(len(decisions)).split(PART):
            losses = loss(decisions[part])
            optimizer.zero_grad()
            sum(value for name, value in losses.items() if name.startswith("loss_")).backward()
            torch.nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
            optimizer.step()
    paid = rollout["next", "reward"][rollout["next", "done"]]
    print(f"{len(paid):4} rounds ended, {int((paid > 0).sum()):4} of them won")
collector.shutdown()
print(f"{frames * UPDATES:,} decisions, none of them illegal")
