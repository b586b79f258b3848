"""Behaviour cloning: a network learns from a dataset what the agents in it did.

    pocket-uno dataset --agents strong --deals 5000 --split 0.9 0.1 --out data/strong
    python examples/offline_cloning.py data/strong --out runs/cloned

The network sees what the seat saw, chooses among the legal actions, and is written as a run that
evaluate.py, the registry and the browser can play. Needs the extra ``train``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import tyro
from torch import nn

from pocket_uno_env import Rules, files
from pocket_uno_env.agents import load
from pocket_uno_env.agents.trained import run_folder
from pocket_uno_env.datasets import Dataset, load_dataset
from pocket_uno_env.evaluation import play, rate_estimate


@dataclass
class Args:
    """The arguments and options of the command line."""

    data: Annotated[Path, tyro.conf.Positional]
    """The folder that `pocket-uno dataset` wrote."""
    out: Path | None = None
    """The run's folder; by default the next free one in runs/."""
    steps: int = 4000
    """Gradient steps."""
    batch_size: int = 512
    """Decisions in each."""
    learning_rate: float = 1e-3
    """At the beginning; it falls to 0 in a straight line."""
    hidden: int = 256
    """Width of both hidden layers."""
    deals: int = 500
    """Deals against each opponent at the end, in all seat rotations."""
    seed: int = 1
    """Of weights and batches."""


def losses(policy: nn.Module, batch: dict[str, np.ndarray]) -> tuple[torch.Tensor, torch.Tensor]:
    """The cross-entropy over the legal actions, and the share of actions that are the same."""
    logits = policy(torch.from_numpy(batch["observations"]))
    logits = logits.masked_fill(~torch.from_numpy(batch["action_masks"]), -1e9)
    actions = torch.from_numpy(batch["actions"])
    same = (logits.argmax(1) == actions).float().mean()
    return nn.functional.cross_entropy(logits, actions), same


def train(args: Args) -> Path:
    """Train, save the run, and return its folder."""
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    random = np.random.default_rng(args.seed)
    data = load_dataset(args.data)
    size, n_actions = data.observations.shape[1], data.action_masks.shape[1]
    policy = nn.Sequential(
        *(nn.Linear(size, args.hidden), nn.ReLU()),
        *(nn.Linear(args.hidden, args.hidden), nn.ReLU()),
        nn.Linear(args.hidden, n_actions),
    )
    optimizer = torch.optim.Adam(policy.parameters(), args.learning_rate)
    for step in range(args.steps):
        optimizer.param_groups[0]["lr"] = args.learning_rate * (1 - step / args.steps)
        loss, same = losses(policy, data.batch(random.integers(len(data), size=args.batch_size)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 500 == 499:
            print(f"{step + 1:>6} steps, loss {loss:.3f}, same action {same:.1%}", flush=True)
    if "validation" in data.about["splits"]:
        others = load_dataset(args.data, "validation")
        with torch.no_grad():
            loss, same = losses(policy, others.batch(np.arange(len(others))))
        print(f"On {len(others):,} decisions of other deals: {loss:.3f}, same action {same:.1%}")
    folder = save(args, data, policy)
    evaluate(folder, data, args.deals)
    return folder


def save(args: Args, data: Dataset, policy: nn.Sequential) -> Path:
    """Write a run as train.py's."""
    about = data.about
    rules, players = Rules.from_dict(about["rules"]), about["num_players"]
    folder = run_folder.new_folder(args.out, rules.name, players)
    layers = list(policy[::2])
    tensors = {}
    for i, layer in enumerate(layers):
        tensors[f"policy.{i}.weight"] = layer.weight.detach().numpy()
        tensors[f"policy.{i}.bias"] = layer.bias.detach().numpy()
    sizes = [data.observations.shape[1], *(layer.out_features for layer in layers)]
    settings = {"data": str(args.data), "steps": args.steps, "seed": args.seed}
    config = run_folder.config_of(rules, players, about["view"], sizes, settings, __file__)
    files.write_json(folder / run_folder.CONFIG, config)
    run_folder.save_tensors(folder / run_folder.MODEL, tensors)
    return folder


def evaluate(folder: Path, data: Dataset, deals: int) -> None:
    """Print the win rates against a table of random and one of greedy."""
    rules, players = Rules.from_dict(data.about["rules"]), data.about["num_players"]
    agents = [load(str(folder)), load("random"), load("greedy")]
    lineups = [(0, *[other] * (players - 1)) for other in (1, 2)]
    for games in play(rules, players, agents, deals, seed=7, lineups=lineups):
        found = rate_estimate(games.win_rates(0))
        against = games.name(games.lineup[1])
        print(f"wins {found.mean:.1%} ({found.low:.1%} - {found.high:.1%}) against {against}")


if __name__ == "__main__":
    print(f"Model: {train(tyro.cli(Args)) / run_folder.MODEL}")
