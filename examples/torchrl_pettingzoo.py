"""Self-play rollouts in TorchRL: the PettingZoo environment, one network for all seats, masks.

    python examples/torchrl_pettingzoo.py

Needs ``torchrl``.
"""

import torch
from tensordict.nn import ProbabilisticTensorDictModule, TensorDictModule, TensorDictSequential
from torchrl.envs import check_env_specs
from torchrl.envs.libs.pettingzoo import PettingZooWrapper
from torchrl.modules import MLP, MaskedCategorical

from pocket_uno_env import pocket_uno_v0

STEPS = 500

torch.manual_seed(7)
# Without PettingZoo's own wrappers an illegal action raises.
game = pocket_uno_v0.raw_env(num_players=2)
# AEC environments need use_mask: ("players", "mask") says whose turn it is.
env = PettingZooWrapper(game, use_mask=True, group_map={"players": game.possible_agents}, seed=7)
check_env_specs(env)

size = env.observation_spec["players", "observation", "observation"].shape[-1]
n_actions = env.observation_spec["players", "action_mask"].shape[-1]
logits = TensorDictModule(
    MLP(size, n_actions, num_cells=[128, 128], activation_class=torch.nn.ReLU),
    in_keys=[("players", "observation", "observation")],
    out_keys=[("players", "logits")],
)
choice = ProbabilisticTensorDictModule(
    in_keys={"logits": ("players", "logits"), "mask": ("players", "action_mask")},
    out_keys=[("players", "action")],
    distribution_class=MaskedCategorical,
    return_log_prob=True,
)
policy = TensorDictSequential(logits, choice)

with torch.no_grad():
    played = env.rollout(STEPS, policy, break_when_any_done=False)
acting = played["players", "mask"]
legal = played["players", "action_mask"].gather(-1, played["players", "action"].unsqueeze(-1))
assert acting.sum(dim=-1).eq(1).all(), "one seat acts at a time"
assert legal.squeeze(-1)[acting].all(), "an illegal action"
paid = played["next", "players", "reward"].squeeze(-1)
print(
    f"{len(played)} decisions, {int(played['next', 'done'].sum())} rounds ended, "
    f"paid to the seats: {paid.sum(dim=0).tolist()}, none of the actions illegal"
)
