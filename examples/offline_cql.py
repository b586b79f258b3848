"""Offline reinforcement learning: conservative Q-learning over the legal actions of a dataset.

    pocket-uno dataset --agents strong noisy:0.3,strong --deals 10000 --out data/mixed
    python examples/offline_cql.py data/mixed

Q-learning from games that others played trusts actions that nobody tried. The conservative term
holds down the values of all legal actions and up that of the one that was taken; without a mask it
would work on actions that cannot be taken. Needs the extra ``train``.

Source: A. Kumar and others, "Conservative Q-Learning for Offline Reinforcement Learning", NeurIPS
2020, for discrete actions (its CQL(H)), on double Q-learning with a slow copy of the network.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import tyro
from torch import Tensor, nn

from pocket_uno_env import Rules
from pocket_uno_env.agents import load
from pocket_uno_env.agents.trained.policy import PolicyAgent
from pocket_uno_env.datasets import load_dataset
from pocket_uno_env.evaluation import play, rate_estimate


@dataclass
class Args:
    """The arguments and options of the command line."""

    data: Annotated[Path, tyro.conf.Positional]
    """The folder that `pocket-uno dataset` wrote."""
    steps: int = 10_000
    """Gradient steps."""
    batch_size: int = 512
    """Decisions in each."""
    learning_rate: float = 5e-4
    """At the beginning; it falls to 0 in a straight line."""
    alpha: float = 0.5
    """Weight of the conservative term; 0 is plain Q-learning."""
    gamma: float = 0.99
    """What a reward is worth one decision earlier."""
    follow: float = 0.005
    """How far the slow copy moves towards the network in each step."""
    hidden: int = 256
    """Width of both hidden layers."""
    deals: int = 500
    """Deals against each opponent at the end, in all seat rotations."""
    seed: int = 1
    """Of weights and batches."""


def loss_of(q: nn.Module, slow: nn.Module, batch: dict[str, Tensor], args: Args) -> Tensor:
    """The loss of a batch: the error of the values, and the conservative term."""
    values = q(batch["observations"]).masked_fill(~batch["action_masks"], -torch.inf)
    taken = values.gather(1, batch["actions"][:, None])[:, 0]
    over = batch["terminated"] | batch["truncated"]  # few are truncated: they count as over
    with torch.no_grad():
        masks = batch["next_action_masks"] | over[:, None]
        best = q(batch["next_observations"]).masked_fill(~masks, -torch.inf).argmax(1)
        following = slow(batch["next_observations"]).gather(1, best[:, None])[:, 0]
        targets = batch["rewards"] + args.gamma * following.masked_fill(over, 0.0)
    conservative = (values.logsumexp(1) - taken).mean()
    return nn.functional.smooth_l1_loss(taken, targets) + args.alpha * conservative


def train(args: Args) -> PolicyAgent:
    """Train; the agent that takes the legal action of the highest value."""
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    random = np.random.default_rng(args.seed)
    data = load_dataset(args.data)
    size, n_actions = data.observations.shape[1], data.action_masks.shape[1]
    q = nn.Sequential(
        *(nn.Linear(size, args.hidden), nn.ReLU()),
        *(nn.Linear(args.hidden, args.hidden), nn.ReLU()),
        nn.Linear(args.hidden, n_actions),
    )
    slow = deepcopy(q)
    optimizer = torch.optim.Adam(q.parameters(), args.learning_rate)
    for step in range(args.steps):
        optimizer.param_groups[0]["lr"] = args.learning_rate * (1 - step / args.steps)
        batch = data.batch(random.integers(len(data), size=args.batch_size))
        tensors = {name: torch.from_numpy(array) for name, array in batch.items()}
        loss = loss_of(q, slow, tensors, args)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for behind, ahead in zip(slow.parameters(), q.parameters(), strict=True):
                behind.lerp_(ahead, args.follow)
        if step % 1000 == 999:
            print(f"{step + 1:>6} steps, loss {loss:.3f}", flush=True)
    layers = [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in q[::2]]
    rules, players = Rules.from_dict(data.about["rules"]), data.about["num_players"]
    return PolicyAgent("cql", layers, rules, players, data.about["view"])


def main(args: Args) -> None:
    """Train, and print the win rates against a table of random and one of greedy."""
    agent = train(args)
    agents = [agent, load("random"), load("greedy")]
    lineups = [(0, *[other] * (agent.num_players - 1)) for other in (1, 2)]
    for games in play(agent.rules, agent.num_players, agents, args.deals, 7, lineups=lineups):
        found = rate_estimate(games.win_rates(0))
        against = games.name(games.lineup[1])
        print(f"wins {found.mean:.1%} ({found.low:.1%} - {found.high:.1%}) against {against}")


if __name__ == "__main__":
    main(tyro.cli(Args))
