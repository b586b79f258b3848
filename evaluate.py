"""Play agents against each other on the same deals and print how strong they are.

    evaluate.py --agents greedy random --deals 1000
    evaluate.py --agents runs/mine greedy --num-players 4 --json result.json

Every deal is played with all seat rotations, so that nobody gets the better
cards. As many agents as players sit down as given; otherwise every agent plays
every other, one of it against a table full of the other.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from pocket_uno_env.agents import AgentError, load
from pocket_uno_env.agents.registry import usages
from pocket_uno_env.arena import MAX_CYCLES, ArenaError, play
from pocket_uno_env.designs import line_ups
from pocket_uno_env.kernel import compiling_notice
from pocket_uno_env.progress import help_text
from pocket_uno_env.report import ReportError, evaluation, table, whole_file
from pocket_uno_env.rules import PRESETS, Rules, RulesError


@dataclass
class Options:
    """The fields are the options of the command line."""

    agents: list[str]
    """Who plays: names of agents, or the folders of trained runs. One plays against itself."""
    rules: str = "pocket"
    """The rules: the name of a preset, or a file (.toml or .json)."""
    num_players: int = 2
    """Seats at the table."""
    deals: int = 1000
    """Deals for each line-up; each is played once for each seat rotation."""
    seed: int = 0
    """The same seed gives the same deals, and with the same agents the same result."""
    max_cycles: int = MAX_CYCLES
    """Decisions after which a round is truncated."""
    json: Path | None = None
    """Write everything found to this file."""
    records: Path | None = None
    """Write the record of every game to this file, one a line."""


def evaluate(options: Options) -> dict[str, Any]:
    """Check the options, play, write the files; the report."""
    rules = Rules.of(options.rules)
    specs = list(dict.fromkeys(options.agents))
    agents = [load(spec) for spec in specs]
    seats = rules.check_players(options.num_players)
    tables = line_ups([specs.index(spec) for spec in options.agents], seats) if agents else []
    if options.json and options.records and options.json.resolve() == options.records.resolve():
        raise ReportError(f"--json and --records both name {options.json}")
    with ExitStack() as stack:
        report_file = stack.enter_context(whole_file(options.json)) if options.json else None
        records = stack.enter_context(whole_file(options.records)) if options.records else None
        progress = stack.enter_context(progress_bar())
        task = progress.add_task("rounds", total=len(tables) * max(options.deals, 0) * seats)
        games = play(
            rules,
            seats,
            agents,
            options.deals,
            options.seed,
            lineups=tables,
            max_cycles=options.max_cycles,
            on_record=None if records is None else lambda r: print(json.dumps(r), file=records),
            on_finished=lambda count: progress.advance(task, count),
        )
        report = evaluation(rules, seats, options.deals, options.seed, options.max_cycles, games)
        if report_file is not None:
            print(json.dumps(report, indent=1), file=report_file)
    return report


def progress_bar() -> Progress:
    """A bar with the time that is left, on a terminal; nothing elsewhere."""
    return Progress(
        *("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
        transient=True,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    known = f"Agents: {', '.join(usages())}, or a path. Rules: {', '.join(PRESETS)}."
    options = tyro.cli(Options, args=arguments, description=help_text(str(__doc__), known))
    if (notice := compiling_notice()) is not None:
        print(notice, file=sys.stderr)
    try:
        report = evaluate(options)
    except (AgentError, ArenaError, ReportError, RulesError) as error:
        print(f"evaluate.py: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("evaluate.py: interrupted, no file was written", file=sys.stderr)
        return 130
    Console().print(table(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
