"""Masked PPO in one file, without a framework: self-play on `Batch`, every seat the learner's.

    python examples/cleanrl_ppo.py --out runs/cleanrl
    python evaluate.py --agents runs/cleanrl random greedy --deals 2000

One network plays all seats of hundreds of games at once. The batch writes observations, masks and
payoffs straight into the rollout, and what a seat earns is credited along that seat's decisions
alone. Ctrl-C ends the training and keeps what was learned. Needs the extra ``train``.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
import tyro
from torch import nn
from torch.distributions import Categorical

from pocket_uno_env import files
from pocket_uno_env.agents.trained import run_folder
from pocket_uno_env.batch import Batch


@dataclass
class Args:
    """The fields are the options of the command line."""

    out: Path | None = None
    """The run's folder; by default the next free one in runs/."""
    rules: str = "pocket"
    """The rules: the name of a preset, or a file."""
    num_players: int = 2
    """Seats at the table, all of them the learner's."""
    steps: int = 2_000_000
    """Decisions in all."""
    games: int = 256
    """Games that run side by side."""
    rollout: int = 64
    """Decisions in each game between two updates."""
    epochs: int = 3
    """Passes over a rollout."""
    batch_size: int = 2048
    """Decisions in a step of the optimizer."""
    learning_rate: float = 1e-3
    """At the beginning; it falls to 0 in a straight line."""
    gamma: float = 0.99
    """What a payoff is worth one decision of the seat earlier."""
    gae_lambda: float = 0.95
    """How far advantages look ahead."""
    clip: float = 0.2
    """How far a probability may move in one update."""
    entropy: float = 0.01
    """Weight of the bonus for entropy."""
    hidden: int = 128
    """Width of both hidden layers, of the policy and of the critic."""
    seed: int = 1
    """Of games, weights and sampling."""
    threads: int = 1
    """Of PyTorch; two are slower than one where the cores are busy."""


def network(inputs: int, hidden: int, outputs: int, gain: float) -> nn.Sequential:
    """Two hidden layers with ReLU, orthogonal weights, the last ones scaled by `gain`."""
    sizes = [inputs, hidden, hidden, outputs]
    layers: list[nn.Module] = []
    for i in range(3):
        linear = nn.Linear(sizes[i], sizes[i + 1])
        nn.init.orthogonal_(linear.weight, gain if i == 2 else 2**0.5)
        nn.init.zeros_(linear.bias)
        layers += [linear, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def masked(logits: torch.Tensor, masks: torch.Tensor) -> Categorical:
    """The policy over the legal actions: illegal ones get probability 0."""
    return Categorical(logits=logits.masked_fill(masks == 0, -1e9), validate_args=False)


def advantages(
    values: np.ndarray,
    seats: np.ndarray,
    payoffs: np.ndarray,
    ends: np.ndarray,
    gamma: float,
    gae_lambda: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Generalized advantages along the decisions of each seat.

    Parameters
    ----------
    values, seats : shape ``(steps + 1, games)``
        What the critic expects for the seat to act, and that seat.
    payoffs : shape ``(steps, games, num_players)``
    ends : shape ``(steps, games)``
        Not 0 where the round ended.

    Returns
    -------
    advantages : float32, shape ``(steps, games)``
        0 where not known.
    known : bool, shape ``(steps, games)``
        False for decisions whose seat neither acts again in the rollout nor sees the round end.
    """
    steps, games, num_players = payoffs.shape
    every = np.arange(games)
    found = np.zeros((steps, games), np.float32)
    known = np.zeros((steps, games), bool)
    # For each seat what follows its decision: earned until its next one, and the critic's and the
    # advantage's value there.
    earned, value, advantage = np.zeros((3, games, num_players), np.float32)
    follows = np.zeros((games, num_players), bool)
    value[every, seats[steps]] = values[steps]
    follows[every, seats[steps]] = True
    for step in reversed(range(steps)):
        over = ends[step] != 0
        earned[over], value[over], advantage[over] = payoffs[step][over], 0, 0
        follows[over] = True
        at = every, seats[step]
        delta = earned[at] + gamma * value[at] - values[step]
        known[step] = follows[at]
        found[step] = (delta + gamma * gae_lambda * advantage[at]) * known[step]
        earned[at], value[at], advantage[at] = 0, values[step], found[step]
        follows[at] = True
    return found, known


def train(args: Args) -> Path:
    """Train, save the run, and return its folder."""
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    batch = Batch(args.games, args.rules, args.num_players)
    size, n_actions = batch.observation_size, batch.n_actions
    policy = network(size, args.hidden, n_actions, 0.01)
    critic = network(size, args.hidden, 1, 1.0)
    parameters = [*policy.parameters(), *critic.parameters()]
    optimizer = torch.optim.Adam(parameters, args.learning_rate, eps=1e-5)
    folder = run_folder.new_folder(args.out, batch.rules.name, args.num_players)

    # One line more than a rollout has decisions: the last one is where the next rollout begins.
    steps, games = args.rollout, args.games
    observations = np.zeros((steps + 1, games, size), np.float32)
    masks = np.zeros((steps + 1, games, n_actions), np.int8)
    seats = np.zeros((steps + 1, games), np.int64)
    payoffs = np.zeros((steps, games, args.num_players), np.float32)
    ends = np.zeros((steps, games), np.uint8)
    actions = np.zeros((steps, games), np.int64)
    log_probs = np.zeros((steps, games), np.float32)

    def play() -> None:
        """Fill the rollout."""
        for t in range(steps):
            seats[t] = batch.to_act
            with torch.no_grad():
                logits = policy(torch.from_numpy(observations[t]))
                choice = masked(logits, torch.from_numpy(masks[t]))
                action = choice.sample()
            actions[t], log_probs[t] = action, choice.log_prob(action)
            # Raises if an action is illegal, and names it.
            batch.step(actions[t], masks[t + 1], observations[t + 1], payoffs[t], ends[t])
        seats[steps] = batch.to_act

    def learn() -> float:
        """Improve both networks by the rollout; the mean entropy of the policy."""
        with torch.no_grad():
            values = critic(torch.from_numpy(observations)).squeeze(-1).numpy()
        gains, known = advantages(values, seats, payoffs, ends, args.gamma, args.gae_lambda)
        columns = (observations[:-1], masks[:-1], actions, log_probs, gains, gains + values[:-1])
        data = [torch.from_numpy(column[known]) for column in columns]
        data[4] = (data[4] - data[4].mean()) / (data[4].std() + 1e-8)
        for _ in range(args.epochs):
            for part in torch.randperm(len(data[0])).split(args.batch_size):
                observed, legal, taken, before, gain, returns = (column[part] for column in data)
                choice = masked(policy(observed), legal)
                ratio = (choice.log_prob(taken) - before).exp()
                clipped = ratio.clamp(1 - args.clip, 1 + args.clip)
                policy_loss = -torch.min(ratio * gain, clipped * gain).mean()
                value_loss = (critic(observed).squeeze(-1) - returns).pow(2).mean()
                entropy = choice.entropy().mean()
                loss = policy_loss + 0.5 * value_loss - args.entropy * entropy
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(parameters, 0.5)
                optimizer.step()
        return float(entropy.detach())

    batch.reset(args.seed, masks[0], observations[0])
    began, updates = time.monotonic(), max(1, args.steps // (steps * games))
    try:
        for update in range(1, updates + 1):
            optimizer.param_groups[0]["lr"] = args.learning_rate * (1 - (update - 1) / updates)
            play()
            entropy = learn()
            observations[0], masks[0] = observations[-1], masks[-1]
            left = (time.monotonic() - began) / update * (updates - update)
            print(
                f"{update * steps * games:>10,} decisions, "
                f"{steps * games / max(1, np.count_nonzero(ends)):6.1f} a round, "
                f"entropy {entropy:.2f}, {left:.0f} s left",
                flush=True,
            )
    except KeyboardInterrupt:
        print("Interrupted; what was learned until here is kept.")
    save(folder, args, batch, policy, critic)
    return folder


def save(
    folder: Path, args: Args, batch: Batch, policy: nn.Sequential, critic: nn.Sequential
) -> None:
    """Write a run as train.py's, which evaluate.py, the registry and the browser can play."""
    tensors = {}
    for name, net in (("policy", policy), ("value", critic)):
        for i, layer in enumerate(net[::2]):
            tensors[f"{name}.{i}.weight"] = layer.weight.detach().numpy()
            tensors[f"{name}.{i}.bias"] = layer.bias.detach().numpy()
    layers = [batch.observation_size, *(layer.out_features for layer in policy[::2])]
    settings = {**asdict(args), "out": str(folder), "reward": "win"}
    config = run_folder.config_of(
        batch.rules, args.num_players, "plain", layers, settings, "examples/cleanrl_ppo.py"
    )
    files.write_json(folder / run_folder.CONFIG, config)
    run_folder.save_tensors(folder / run_folder.MODEL, tensors, {"steps": args.steps})


if __name__ == "__main__":
    print(f"Model: {train(tyro.cli(Args)) / run_folder.MODEL}")
