"""The settings of a training: the options of train.py, and what numbers they may have."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from pocket_uno_env.agents.registry import runs_code
from pocket_uno_env.agents.trained import run_folder


@dataclass
class Settings:
    """The fields are the options of the command line; config.json keeps them."""

    rules: str = "pocket"
    """The rules: the name of a preset, or a file (.toml or .json)."""
    num_players: int = 2
    """Seats at the table; one is the learner's."""
    opponents: tuple[str, ...] = ("greedy", "strong")
    """Agents, by name or path, from which the other seats are drawn anew each round.
    One that is listed twice comes twice as often."""
    self_play: float = 0.0
    """How much of the opponents are past selves instead, drawn by how hard they are."""
    pool: int = 12
    """How many past selves are kept."""
    pool_every: int = 500_000
    """Decisions between two of them."""
    steps: int = 3_000_000
    """The learner's decisions in PPO, rounded up to whole rollouts. In its first few hundred
    thousand an agent has hardly learned to play its cards. 0 leaves PPO out."""
    seed: int = 0
    """The same seed and settings give the same weights, on the same kind of processor."""
    out: Path | None = None
    """The folder of the run, new or empty. Without it the next free runs/RULES-Np-NUMBER."""
    resume: Path | None = None
    """Go on with the run in this folder, from its newest checkpoint and with its settings.
    Only --steps, --threads and --deals can be changed."""
    trust: bool = False
    """With --resume: import the agents of your own that the run names. Whoever made the folder
    decides what code that is."""
    threads: int = 1
    """PyTorch's threads. More help on an idle machine and hurt on a busy one. Sums are rounded
    otherwise, so the weights differ."""

    reward: Literal["win", "points"] = "win"
    """What a round pays: win or lose, or points over the match goal."""
    view: Literal["plain", "canonical"] = "canonical"
    """What the network sees: colours by name, or the active one first, the others by cards held."""
    network: tuple[int, ...] = (256, 256)
    """Sizes of the hidden layers."""
    critic_network: tuple[int, ...] | None = None
    """Those of the critic's, if they are others."""
    critic: Literal["own-hand", "all-hands"] = "all-hands"
    """What the critic sees, in training alone: what the learner knows, or the hidden cards too."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of the multiplications in training. Auto: bfloat16 where the processor has it; the run
    keeps what that was."""

    skip_forced: bool = True
    """Whether decisions with one legal action are made without asking the learner. --steps counts
    the others."""
    games: int = 1024
    """Rounds that run side by side."""
    rollout: int = 32
    """Decisions in each game between two updates."""
    batch_size: int = 2048
    """Decisions in a gradient step."""
    epochs: int = 2
    """Passes over each rollout."""
    learning_rate: float = 1e-3
    """At the start; it falls in a straight line."""
    last_learning_rate: float = 0.0
    """At the end."""
    gamma: float = 0.99
    """Discount for each of the learner's decisions. Near 1 it learns to win by long sieges."""
    gae_lambda: float = 0.25
    """Of the generalized advantage estimate. Luck drowns what is far off: small is better."""
    clip_range: float = 0.2
    """How far PPO lets the probability of an action move."""
    entropy: float = 0.02
    """Weight of the entropy bonus at the start; it falls in a straight line."""
    last_entropy: float = 0.0
    """At the end."""
    value_weight: float = 0.5
    """Weight of the critic's loss."""
    max_grad_norm: float = 0.5
    """Gradients are cut to this norm."""

    teacher: str | None = "strong"
    """Agent that the network learns from before PPO begins; None for none."""
    teacher_steps: int = 1_000_000
    """Decisions to learn to act as it does."""
    teacher_batch_size: int = 512
    """Decisions in a gradient step of that."""
    teacher_learning_rate: float = 1e-3
    """At the start; it falls to a twentieth in a straight line."""
    lookahead_steps: int = 0
    """Decisions after that and before PPO, in which every legal action is tried, up to the next
    decision, and the critic judges what comes of it."""
    lookahead_batch_size: int = 512
    """Decisions in a gradient step of that, about."""
    lookahead_learning_rate: float = 1e-3
    """At the start; it falls to 0 in a straight line."""
    lookahead_entropy: float = 0.01
    """Weight of the entropy bonus at the start; it falls to 0."""

    checkpoint_every: int = 200_000
    """Decisions between checkpoints."""
    keep: int = 3
    """How many checkpoints are kept, the newest ones."""
    deals: int = 2_000
    """Deals against each opponent in the evaluation at the end, each with all seat rotations.
    0 for no evaluation."""


RESUME_CHANGES = ("steps", "threads", "deals", "trust")
"""What may be changed when a run is resumed."""
NOT_KEPT = ("out", "resume", "trust")
"""What is said anew each time: config.json has all else."""
LONG = 10**12
COUNTS = {
    **dict.fromkeys(("epochs", "threads", "pool"), (1, 1000)),
    **dict.fromkeys(("games", "rollout"), (1, 2**20)),
    **dict.fromkeys(("batch_size", "teacher_batch_size", "lookahead_batch_size"), (1, 2**24)),
    **dict.fromkeys(("checkpoint_every", "pool_every", "keep"), (1, LONG)),
    **dict.fromkeys(("steps", "teacher_steps", "lookahead_steps"), (0, LONG)),
    "deals": (0, 10**7),
    "seed": (0, 2**32 - 1),
}
"""The least and the most of whole numbers."""
MOST_IN_ROLLOUT = 2**24
"""Decisions that are kept until the next update; each takes some kilobytes."""
RANGES = {
    "gamma": (0.0, 1.0),
    "gae_lambda": (0.0, 1.0),
    "learning_rate": (1e-9, 1.0),
    "teacher_learning_rate": (1e-9, 1.0),
    "lookahead_learning_rate": (1e-9, 1.0),
    "lookahead_entropy": (0.0, 10.0),
    "clip_range": (1e-3, 10.0),
    "last_learning_rate": (0.0, 1.0),
    "entropy": (0.0, 10.0),
    "last_entropy": (0.0, 10.0),
    "self_play": (0.0, 1.0),
    "value_weight": (0.0, 100.0),
    "max_grad_norm": (1e-6, 1e6),
}


def check(settings: Settings) -> None:
    """Raise RunError for numbers that make no training."""
    for name, (least, most) in COUNTS.items():
        if not least <= getattr(settings, name) <= most:
            raise run_folder.RunError(f"{option(name)} must be from {least} to {most:,}")
    for name, (low, high) in RANGES.items():
        if not low <= getattr(settings, name) <= high:
            raise run_folder.RunError(f"{option(name)} must be from {low:g} to {high:g}")
    for name in ("network", "critic_network"):
        sizes = getattr(settings, name)
        if sizes is not None and min(sizes, default=0) < 1:
            raise run_folder.RunError(f"{option(name)} must be sizes of at least 1")
        # An observation has some hundred values.
        if sizes is not None and run_folder.weights_in((1000, *sizes)) > run_folder.MOST_WEIGHTS:
            raise run_folder.RunError(
                f"{option(name)} makes a network of more than {run_folder.MOST_WEIGHTS:,} weights; "
                "expected smaller layers"
            )
    copies = settings.pool if settings.self_play else 0
    if copies * run_folder.weights_in((1000, *settings.network)) > 8 * run_folder.MOST_WEIGHTS:
        raise run_folder.RunError(
            f"--pool copies of --network have more than {8 * run_folder.MOST_WEIGHTS:,} weights together"
        )
    together = settings.games * settings.rollout
    if together > MOST_IN_ROLLOUT:
        raise run_folder.RunError(
            f"a rollout of {settings.games} games x {settings.rollout} decisions is longer than "
            f"{MOST_IN_ROLLOUT:,} decisions (--games, --rollout)"
        )
    if together % settings.batch_size:
        raise run_folder.RunError(
            f"a rollout of {settings.games} games x {settings.rollout} decisions is not a whole "
            f"number of batches of {settings.batch_size} (--games, --rollout, --batch-size)"
        )
    if not settings.opponents:
        raise run_folder.RunError("--opponents names nobody; expected one agent or more")
    if settings.resume is not None and settings.out is not None:
        raise run_folder.RunError("--out cannot be changed when a run is resumed")


def option(name: str) -> str:
    """A setting as it is typed."""
    return f"--{name.replace('_', '-')}"


def kept(settings: Settings) -> dict[str, Any]:
    """The settings as config.json keeps them."""
    values = {k: v for k, v in vars(settings).items() if k not in NOT_KEPT}
    return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}


def from_config(path: Path, config: dict[str, Any]) -> Settings:
    """The settings of the run whose ``config.json`` was read from `path`.

    Raises
    ------
    RunError
        Naming the file and the setting.
    """
    where = f"{path}: settings"
    names = [field.name for field in fields(Settings) if field.name not in NOT_KEPT]
    values = config["settings"]
    if wrong := [name for name in NOT_KEPT if name in values]:
        raise run_folder.RunError(f"{where} has a field {wrong[0]!r}, which is said anew each time")
    settings: Settings = run_folder.check_fields(where, values, Settings, names)
    for name in ("num_players", "view"):
        if config[name] != getattr(settings, name):
            raise run_folder.RunError(
                f"{path}: {name} is {config[name]!r}, and {getattr(settings, name)!r} in settings"
            )
    if settings.precision == "auto":
        raise run_folder.RunError(f"{where}: precision is 'auto'; expected 'float32' or 'bfloat16'")
    try:
        check(settings)
    except run_folder.RunError as error:
        raise run_folder.RunError(f"{where}: {error}") from error
    return settings


def names_of_code(settings: Settings) -> list[str]:
    """Those among the agents for which a module would be imported."""
    named = (*settings.opponents, *([settings.teacher] if settings.teacher else []))
    return [name for name in named if runs_code(name)]
