"""Play agents against each other on the same deals and print how strong they are.

    evaluate.py --agents greedy random --deals 1000
    evaluate.py --agents runs/mine greedy strong --out runs/table
    evaluate.py --agents runs/mine strong --sprt 0.50,0.52 --deals 100000
    evaluate.py --resume runs/table
    evaluate.py ladder runs/mine

Every deal is played with all seat rotations, so that nobody gets the better
cards. As many agents as players sit down as given; otherwise every agent plays
every other, one of it against a table full of the other.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import tyro

from pocket_uno_env import ladder, tables
from pocket_uno_env.agents import AgentError
from pocket_uno_env.agents.registry import usages
from pocket_uno_env.arena import MAX_CYCLES, MAX_ROUNDS, ArenaError
from pocket_uno_env.designs import DesignError
from pocket_uno_env.files import FileError, whole_file
from pocket_uno_env.journal import PLAN, DiskJournal, JournalError, read_plan
from pocket_uno_env.program import run_program
from pocket_uno_env.progress import Display, console, help_text
from pocket_uno_env.report import tournament_report
from pocket_uno_env.rules import PRESETS, RulesError
from pocket_uno_env.sprt import ERROR_RATE, Sprt
from pocket_uno_env.tournament import Plan, plan_of, run
from pocket_uno_env.verdicts import MARGIN
from pocket_uno_env.workers import WorkersError, make_workers

KEPT = ("num_players", "seed", "episode", "max_cycles", "max_rounds", "chunk_deals", "control")
"""Options that are fields of a `Plan`: a run goes on with those it began with."""
ERRORS = (
    *(AgentError, ArenaError, DesignError, FileError, JournalError, RulesError, WorkersError),
    ladder.LadderError,
)


@dataclass
class Options:
    """The fields are the options of the command line."""

    agents: list[str] = field(default_factory=list)
    """Who plays: names of agents, or the folders of trained runs. One plays against itself."""
    rules: str = "pocket"
    """The rules: the name of a preset, or a file (.toml or .json)."""
    num_players: int = 2
    """Seats at the table."""
    design: str = "auto"
    """Who meets whom: auto, table, round-robin, gauntlet (the first against each other) or mixed
    (every group at one table)."""
    deals: int | None = None
    """Deals for each line-up, 1000 if not given; each is played once for each seat rotation. With
    --sprt the most there may be; with --resume more than before extend the run."""
    seed: int = 0
    """The same seed gives the same deals, and with the same agents the same result."""
    episode: str = "round"
    """What a deal is: round, or match (to the rules' goal)."""
    sprt: str | None = None
    """Two win rates, such as 0.50,0.52: stop as soon as the first agent's is shown to be at most
    the one or at least the other."""
    error_rate: float = ERROR_RATE
    """How often --sprt may be wrong, either way."""
    margin: float = MARGIN
    """Win rates that differ by less from an even game's are called even."""
    control: bool = False
    """Take the luck of the draws out of the results: the same to expect, and less variance."""
    behavior: bool = False
    """Print what the agents do, too."""
    processes: int = 0
    """Processes to play in; 0: as many as pay."""
    ray: str | None = None
    """Play on a Ray cluster: its address, or "local"."""
    chunk_deals: int | None = None
    """Deals that are played and kept as one: 256, or 16 with agents that search."""
    max_cycles: int = MAX_CYCLES
    """Decisions after which a round is truncated."""
    max_rounds: int = MAX_ROUNDS
    """Rounds after which a match has no winner."""
    out: Path | None = None
    """A new folder for everything: what is played is kept there as it comes, then tables, plots
    and a page."""
    resume: Path | None = None
    """The folder of an interrupted run: go on with it. Its own options hold."""
    json: Path | None = None
    """Write everything found to this file."""
    csv: Path | None = None
    """Write the figures to this file, one agent in one line-up a line."""
    html: Path | None = None
    """Write a page to this file that opens without a network."""
    records: Path | None = None
    """Write the record of every game to this file, one a line."""


def make_plan(options: Options) -> Plan:
    """Check the options and the agents; what is to be played."""
    check_margin(options.margin)
    try:
        sprt = None if options.sprt is None else Sprt.parse(options.sprt, options.error_rate)
    except ValueError as error:
        raise ArenaError(str(error)) from error
    return plan_of(
        options.agents,
        options.rules,
        options.num_players,
        1000 if options.deals is None else options.deals,
        options.seed,
        design=options.design,
        episode=options.episode,
        max_cycles=options.max_cycles,
        max_rounds=options.max_rounds,
        chunk_deals=options.chunk_deals,
        records=options.records is not None,
        behavior=bool(options.behavior or options.out or options.json or options.html),
        control=options.control,
        sprt=sprt,
    )


def check_margin(margin: Any) -> None:
    """`ArenaError` for one that no verdict can go by."""
    if not isinstance(margin, int | float) or not 0 <= margin < 0.5:
        raise ArenaError(f"margin is {margin!r}; expected a number from 0, below 0.5")


def began_with(folder: Path) -> Options:
    """The options that a run began with; those that may be given anew are as by default."""
    plan, about = read_plan(folder)
    try:
        check_margin(about["margin"])
        test = plan.sprt
        return Options(
            **{name: about[name] for name in ("rules", "design", "margin")},
            **{name: getattr(plan, name) for name in KEPT},
            sprt=None if test is None else f"{test.low},{test.high}",
            error_rate=ERROR_RATE if test is None else test.alpha,
        )
    except (KeyError, ArenaError) as error:
        raise JournalError(f"{folder / PLAN} is damaged: {error}") from error


def refuse_changes(began: Options, given: Options) -> None:
    """`JournalError` if a run is to go on with other options than it began with."""
    for name in (*KEPT, "rules", "design", "margin", "sprt", "error_rate"):
        old, new = getattr(began, name), getattr(given, name)
        if name == "sprt" and old and new and _same_test(old, new):
            continue
        if old != new:
            raise JournalError(
                f"{given.resume} began with --{name.replace('_', '-')} {old}, not {new}; leave the "
                "option out, or start a new run"
            )


def _same_test(old: str, new: str) -> bool:
    try:
        return Sprt.parse(old) == Sprt.parse(new)
    except ValueError:
        return False


def evaluate(options: Options) -> dict[str, Any]:
    """Check the options, play, write the files; the report."""
    files = [getattr(options, name) for name in ("json", "csv", "html", "records")]
    named = [file.resolve() for file in files if file is not None]
    for file in files:
        if file is not None and named.count(file.resolve()) > 1:
            raise FileError(f"two options name the file {file}")
    plan = make_plan(options) if options.resume is None else None
    with ExitStack() as stack:
        folder = options.resume or options.out
        journal = None
        if folder is not None:
            about = {"design": options.design, "rules": options.rules, "margin": options.margin}
            journal = stack.enter_context(DiskJournal(folder, plan, about))
            if options.resume is not None and options.deals is not None:
                journal.extend(options.deals)
            plan = journal.plan
            options.design, options.rules = journal.about["design"], journal.about["rules"]
            options.margin = journal.about["margin"]
        assert plan is not None
        agents = plan.load_agents()
        open_file = {
            file: stack.enter_context(whole_file(file)) for file in files if file is not None
        }
        display = stack.enter_context(Display(last_line=False))
        display.begin("rounds" if plan.episode == "round" else "matches", plan.games)
        records = _records(options, plan, open_file)
        played = run(
            plan,
            make_workers(agents, options.processes, options.ray),
            journal,
            display.report,
            None if records is None else lambda some: records.writelines(f"{r}\n" for r in some),
        )
        report = tournament_report(
            plan, agents, played, options.design, options.margin, options.rules
        )
        _write(report, options, open_file, folder)
    return report


def _records(options: Options, plan: Plan, files: dict[Path, IO[str]]) -> IO[str] | None:
    if options.records is None:
        return None
    if not plan.records:
        raise JournalError(f"{options.resume} keeps no records; ask for them when a run begins")
    return files[options.records]


def _write(
    report: dict[str, Any], options: Options, files: dict[Path, IO[str]], folder: Path | None
) -> None:
    """Write what was asked for, and in a folder everything."""
    from pocket_uno_env.page import page

    def dump(file: IO[str]) -> None:
        print(json.dumps(report, indent=1), file=file)

    writers = [
        (options.json, dump),
        (options.csv, lambda file: tables.write_results(report, file)),
        (options.html, lambda file: file.write(page(report))),
    ]
    for path, write in writers:
        if path is not None:
            write(files[path])
    if folder is not None:
        from pocket_uno_env.plots import save

        with ExitStack() as stack:
            into = {
                name: stack.enter_context(whole_file(folder / name))
                for name in ("report.json", "results.csv", "behavior.csv", "report.html")
            }
            dump(into["report.json"])
            tables.write_results(report, into["results.csv"])
            tables.write_behavior(report, into["behavior.csv"])
            into["report.html"].write(page(report))
        save(report, folder / "plots")


def show(report: dict[str, Any], behavior: bool) -> None:
    """Print a report."""
    out = console()
    out.print(tables.table(report))
    for line in [*tables.undecided(report), *tables.remarks(report)]:
        out.print(line)
    parts = [tables.control_table(report), tables.ratings_table(report)]
    for part in [*parts, *[tables.behavior_table(report)] * behavior]:
        if part is not None:
            out.print()
            out.print(part)
    if (text := tables.sequential_text(report)) is not None:
        out.print(f"\n{text}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    sys.path[:0] = [""] * ("" not in sys.path)  # so that agents of one's own are found here
    known = f"Agents: {', '.join(usages())}, or a path. Rules: {', '.join(PRESETS)}."
    described = help_text(__file__, known)
    climb = arguments[:1] == ["ladder"]
    options: Any = (
        tyro.cli(ladder.Options, prog="evaluate.py ladder", args=arguments[1:])
        if climb
        else tyro.cli(Options, args=arguments, description=described)
    )
    try:
        if climb:
            with Display(last_line=False) as display:
                placed = ladder.climb(options, display)
            console().print(ladder.table(placed))
            return 0
        if options.resume is not None:
            if options.agents or options.out:
                raise JournalError("--resume takes its agents and its folder from the run")
            # Parsed once more, so that what is not given is what the run began with.
            began = began_with(options.resume)
            options = tyro.cli(Options, args=arguments, default=began)
            refuse_changes(began, options)
        report = evaluate(options)
    except ERRORS as error:
        print(f"evaluate.py: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"evaluate.py: interrupted, {_kept(options)}", file=sys.stderr)
        return 130
    show(report, options.behavior)
    if (folder := options.resume or options.out) is not None:
        print(f"\nEverything is in {folder}: open {folder / 'report.html'}")
    return 0


def _kept(options: Options | ladder.Options) -> str:
    if isinstance(options, ladder.Options):
        if options.out is not None and options.out.exists():
            return f"what was played is kept in {options.out}; the same command goes on with it"
        return "no file was written"
    folder = options.resume or options.out
    if folder is not None and (folder / PLAN).exists():
        return f"what was played is kept; --resume {folder} goes on"
    return "no file was written"


if __name__ == "__main__":
    run_program(main)
