"""The settings of a training run: the options of train.py, and the ranges of their values."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from pocket_uno_env.agents.registry import runs_code
from pocket_uno_env.agents.trained import run_folder
from pocket_uno_env.rules.limits import MAX_CYCLES


@dataclass
class Settings:
    """The fields are the options of the command line; config.json keeps them."""

    rules: str = "pocket"
    """The rules: the name of a preset, or a file (.toml or .json)."""
    num_players: int = 2
    """Seats at the table; one is the learner's."""
    opponents: tuple[str, ...] = ("greedy", "strong")
    """Agents, by name or path, from which each other seat is drawn anew each round.
    One that is listed twice is drawn twice as often."""
    self_play: float = 0.0
    """Fraction of the opponents that are past selves instead, the harder ones more often."""
    pool: int = 12
    """How many past selves are kept."""
    pool_every: int = 500_000
    """Decisions between two copies of the policy into the pool."""
    steps: int = 4_000_000
    """The learner's decisions in PPO, rounded up to whole rollouts; 0 for no PPO. A few hundred
    thousand are too few to learn much more than to play cards."""
    seed: int = 0
    """The same seed and settings give the same weights, on the same kind of processor."""
    initial: str | None = None
    """Start from the weights of this run or network of the package, instead of random ones. The
    sizes of the networks and --view follow it. Its moves are kept with --teacher None only."""
    out: Path | None = None
    """The folder of the run, new or empty. By default the next free runs/RULES-Np-NUMBER."""
    resume: Path | None = None
    """Continue the run in this folder, from its newest checkpoint and with its settings.
    Only --steps, --threads and --deals can be changed."""
    trust: bool = False
    """With --resume: import the Python modules of agents that the run names (MODULE:NAME), and
    run their code. For folders of your own, or of somebody you trust."""
    threads: int = 1
    """PyTorch's threads. More are faster on an idle machine and slower on a busy one. Sums are
    rounded differently, so the weights differ."""

    reward: Literal["match", "win", "points"] = "match"
    """Reward of a round: what it does to the chance to win the match, from scores as they occur in
    matches; or win or loss, or points divided by the match goal, of first rounds."""
    view: Literal["plain", "canonical"] = "canonical"
    """Order of the colours in observations: by name, or the active one first and the others by the
    number of cards held."""
    network: tuple[int, ...] = (256, 256)
    """Sizes of the hidden layers."""
    critic_network: tuple[int, ...] | None = None
    """Sizes of the critic's hidden layers, if they differ."""
    critic: Literal["own-hand", "all-hands"] = "all-hands"
    """What the critic sees, during training only: what the learner knows, or the hidden cards
    too."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of the matrix products in training. Auto: bfloat16 where the processor supports it; the
    choice is kept in the run's config.json."""

    max_cycles: int = MAX_CYCLES
    """Decisions, everybody's, after which a round is truncated and pays nothing."""
    skip_forced: bool = True
    """Whether decisions with a single legal action are made without the learner. --steps counts
    the others."""
    games: int = 1024
    """Rounds that are played in parallel."""
    rollout: int = 32
    """Decisions in each game between two updates."""
    batch_size: int = 2048
    """Decisions in a gradient step."""
    epochs: int = 2
    """Epochs over each rollout."""
    learning_rate: float = 5e-4
    """Learning rate at the start; it falls linearly."""
    last_learning_rate: float = 0.0
    """Learning rate at the end."""
    gamma: float = 0.999
    """Discount per decision of the learner, towards the worst loss. At 1 it may learn to win by
    very long rounds."""
    gae_lambda: float = 0.9
    """Lambda of the generalized advantage estimate."""
    clip_range: float = 0.2
    """PPO's clipping range of the probability ratio."""
    entropy: float = 0.005
    """Weight of the entropy bonus at the start; it falls linearly."""
    last_entropy: float = 0.0
    """Weight of the entropy bonus at the end."""
    value_weight: float = 0.5
    """Weight of the critic's loss."""
    max_grad_norm: float = 0.5
    """Gradients are clipped to this norm."""

    teacher: str | None = "strong"
    """Agent that the network imitates before PPO; None for none."""
    teacher_steps: int = 500_000
    """Decisions of imitation."""
    teacher_batch_size: int = 512
    """Decisions in a gradient step of imitation."""
    teacher_learning_rate: float = 1e-3
    """Learning rate of imitation at the start; it falls linearly to a twentieth."""
    lookahead_steps: int = 1_000_000
    """Decisions of lookahead, after imitation and before PPO: every legal action is played in a
    copy of the game up to the next decision, and the critic evaluates the position reached."""
    lookahead_batch_size: int = 512
    """Decisions in a gradient step of lookahead, approximately."""
    lookahead_learning_rate: float = 1e-3
    """Learning rate of lookahead at the start; it falls linearly to 0."""
    lookahead_entropy: float = 0.01
    """Weight of the entropy bonus of lookahead at the start; it falls linearly to 0."""

    checkpoint_every: int = 200_000
    """Decisions between checkpoints."""
    keep: int = 3
    """How many of the newest checkpoints are kept."""
    deals: int = 1_000
    """Deals of matches against each opponent in the evaluation at the end, in all seat rotations;
    0 for no evaluation."""


RESUME_CHANGES = ("steps", "threads", "deals", "trust")
"""What may be changed when a run is resumed."""
ADDED = ("initial", "max_cycles")
"""Settings that config.json of earlier versions does not have; such a run has their defaults."""
NOT_KEPT = ("out", "resume", "trust")
"""Options of one call of the program, which config.json does not keep."""
LONG = 10**12
"""The largest number of decisions."""
COUNTS = {
    **dict.fromkeys(("epochs", "threads", "pool"), (1, 1000)),
    **dict.fromkeys(("games", "rollout"), (1, 2**20)),
    **dict.fromkeys(("batch_size", "teacher_batch_size", "lookahead_batch_size"), (1, 2**24)),
    "max_cycles": (1, LONG),
    **dict.fromkeys(("checkpoint_every", "pool_every", "keep"), (1, LONG)),
    **dict.fromkeys(("steps", "teacher_steps", "lookahead_steps"), (0, LONG)),
    "deals": (0, 10**7),
    "seed": (0, 2**32 - 1),
}
"""The range of each whole number."""
MOST_IN_ROLLOUT = 2**24
"""Decisions in a rollout; each takes some kilobytes of memory."""
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
"""The range of each real number."""


def check(settings: Settings) -> None:
    """Raise RunError for values out of range, or that do not go together."""
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
            f"--pool copies of --network have more than {8 * run_folder.MOST_WEIGHTS:,} weights "
            "together"
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
    """The option of a setting, as it is typed: ``--batch-size``."""
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
        raise run_folder.RunError(
            f"{where} has a field {wrong[0]!r}, which is an option of one call and is not kept"
        )
    needed = [name for name in names if name not in ADDED]
    settings: Settings = run_folder.check_fields(where, values, Settings, needed)
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
    named = (*settings.opponents, settings.teacher, settings.initial)
    return [name for name in named if name and runs_code(name)]
