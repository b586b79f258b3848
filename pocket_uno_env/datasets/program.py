"""Play games and write them as a dataset for offline learning.

    pocket-uno dataset --agents strong pocket-2p --deals 5000 --out data/strong
    pocket-uno dataset --agents strong --split 0.8 0.1 0.1 --out data/splits
    pocket-uno dataset --agents strong --format minari --out data/minari

Every deal is played in all seat rotations, as by evaluate.py. What each seat saw, was allowed to
do, did and earned is written for each of its decisions, and nothing that the seat could not know.
docs/datasets.md describes the files.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import tyro

from pocket_uno_env.agents import AgentError
from pocket_uno_env.agents.registry import usages
from pocket_uno_env.cli.program import print_error, program_name
from pocket_uno_env.cli.progress import Display, help_text
from pocket_uno_env.evaluation.games import ArenaError
from pocket_uno_env.evaluation.line_ups import DesignError
from pocket_uno_env.evaluation.plan import plan_of
from pocket_uno_env.files import whole_folder
from pocket_uno_env.rules.limits import MAX_CYCLES, MAX_ROUNDS
from pocket_uno_env.rules.rules import PRESETS, RulesError

from .minari_format import dataset_id
from .npz import DatasetError
from .write import split_deals, write


@dataclass
class Options:
    """The fields are the options of the command line."""

    out: Path | None = None
    """A new folder for the dataset. With --format minari it is the root of Minari's datasets."""
    agents: list[str] = field(default_factory=list)
    """The agents, as evaluate.py takes them: by name or by the folder of a trained run,
    NAME=AGENT to call one NAME, runs/mine,sample to draw from a network's policy."""
    rules: str = "pocket"
    """The rules: the name of a preset, or a file (.toml or .json)."""
    num_players: int = 2
    """Seats at the table."""
    design: str = "auto"
    """Which agents meet: auto, table, round-robin, gauntlet or mixed, as in evaluate.py."""
    deals: int = 1000
    """Deals for each line-up, each played in all seat rotations."""
    seed: int = 0
    """The same seed gives the same deals, and with the same agents the same dataset."""
    episode: Literal["round", "match"] = "round"
    """What is played with a deal: a round, or a match to the goal of the rules."""
    reward: Literal["win", "points", "match"] = "win"
    """What a round pays each seat, as in the environments."""
    view: Literal["plain", "canonical"] = "plain"
    """Order of the colours in observations, masks and actions: by name, or the active one first."""
    split: tuple[float, ...] = (1.0,)
    """Shares of the deals for train, validation and test: 0.8 0.1 0.1. No deal is in two."""
    format: Literal["npz", "minari"] = "npz"
    """NumPy's npz files, or datasets of Minari in HDF5 (the extra 'datasets')."""
    max_cycles: int = MAX_CYCLES
    """Decisions after which a round is truncated."""
    max_rounds: int = MAX_ROUNDS
    """Rounds after which a match is truncated."""


def make(options: Options, command: str, display: Display) -> dict[str, Any]:
    """Check the options, play, write the folder; what its ``dataset.json`` says."""
    if options.out is None:
        raise DatasetError("no folder; expected a new one for the dataset, as in --out data/mine")
    if options.format == "minari":
        _check_minari()
    plan = plan_of(
        options.agents,
        options.rules,
        options.num_players,
        options.deals,
        options.seed,
        design=options.design,
        episode=options.episode,
        max_cycles=options.max_cycles,
        max_rounds=options.max_rounds,
    )
    split_deals(options.split, options.deals)
    finished = 0

    def count(games: int) -> None:
        nonlocal finished
        finished += games
        display.report(finished, {})

    display.begin("games", plan.games)
    with whole_folder(options.out) as folder:
        return write(
            plan,
            plan.load_agents(),
            folder,
            shares=options.split,
            reward=options.reward,
            view=options.view,
            data_format=options.format,
            command=command,
            on_finished=count,
        )


def _check_minari() -> None:
    try:
        import h5py  # noqa: F401 - Minari looks for it only when it writes
        import minari  # noqa: F401
    except ImportError as error:
        raise DatasetError(
            "--format minari needs the extra 'datasets' (pip install 'pocket-uno-env[datasets]'): "
            f"{error}"
        ) from error


def summary(about: dict[str, Any], folder: Path) -> str:
    """What was written, and how to read it."""
    lines = [
        f"{split}: {of['decisions']:,} decisions of {of['episodes']:,} seats in {of['games']:,} "
        f"games of {of['deals']:,} deals"
        for split, of in about["splits"].items()
    ]
    if about["data_format"] == "npz":
        how = f"pocket_uno_env.datasets.load_dataset({str(folder)!r})"
    else:
        first = dataset_id(next(iter(about["splits"])))
        how = f"MINARI_DATASETS_PATH={folder}, minari.load_dataset({first!r})"
    return "\n".join([*lines, f"Read it by {how}"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    sys.path[:0] = [""] * ("" not in sys.path)  # so that agents of one's own are found here
    name = program_name("dataset")
    known = f"Agents: {', '.join(usages())}, or a path. Rules: {', '.join(PRESETS)}."
    described = help_text(__file__, known)
    options = tyro.cli(Options, prog=name, args=arguments, description=described)
    command = shlex.join(["pocket-uno", "dataset", *arguments])
    try:
        with Display(last_line=False) as display:
            about = make(options, command, display)
    except (AgentError, ArenaError, DesignError, RulesError, ValueError) as error:
        print_error("dataset", error)
        return 2
    except KeyboardInterrupt:
        print(f"{name}: interrupted, nothing was written", file=sys.stderr)
        return 130
    assert options.out is not None
    print(summary(about, options.out))
    return 0
