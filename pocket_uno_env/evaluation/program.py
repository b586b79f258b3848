"""Play agents against each other on the same deals and print how strong they are.

    pocket-uno evaluate --agents greedy random --deals 1000
    pocket-uno evaluate --agents runs/mine greedy strong --out runs/table
    pocket-uno evaluate --agents runs/mine strong --sprt 0.5,0.52 --deals 50000
    pocket-uno evaluate --resume runs/table
    pocket-uno evaluate ladder runs/mine
    pocket-uno evaluate exploit runs/mine --minutes 30
    pocket-uno evaluate compare runs/new runs/old --field strong greedy

Every deal is played with all seat rotations, so that nobody gets better
cards. As many agents as players sit at one table as given; otherwise every
agent plays every other, one copy of it against a table full of the other.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

import tyro

from pocket_uno_env.agents import AgentError
from pocket_uno_env.agents.registry import usages
from pocket_uno_env.cli.program import print_error, program_name
from pocket_uno_env.cli.progress import Display, console, help_text
from pocket_uno_env.evaluation import ladder, rivals
from pocket_uno_env.evaluation.games import ArenaError
from pocket_uno_env.evaluation.journal import PLAN, DiskJournal, JournalError, read_plan
from pocket_uno_env.evaluation.line_ups import DesignError, check_design
from pocket_uno_env.evaluation.names import named_code
from pocket_uno_env.evaluation.plan import Plan, plan_of
from pocket_uno_env.evaluation.report import tables
from pocket_uno_env.evaluation.report.report import tournament_report
from pocket_uno_env.evaluation.statistics.sprt import ERROR_RATE, Sprt
from pocket_uno_env.evaluation.statistics.verdicts import MARGIN
from pocket_uno_env.evaluation.tournament import WorkersError, run
from pocket_uno_env.evaluation.workers import make_workers
from pocket_uno_env.files import FileError, whole_file, write_whole, writing
from pocket_uno_env.rules.limits import MAX_CYCLES, MAX_ROUNDS
from pocket_uno_env.rules.rules import PRESETS, Rules, RulesError

KEPT = ("num_players", "seed", "episode", "max_cycles", "max_rounds", "chunk_deals", "control")
"""Options that are fields of a `Plan`: a run goes on with those it began with."""
ABOUT = ("rules", "design", "margin")
"""Options that are kept beside it."""
ERRORS = (
    *(AgentError, ArenaError, DesignError, FileError, JournalError, RulesError, WorkersError),
    ladder.LadderError,
)


@dataclass
class Options:
    """The fields are the options of the command line."""

    agents: list[str] = field(default_factory=list)
    """The agents, by name or by the folder of a trained run; NAME=AGENT calls one NAME in tables
    and files, and runs/mine,sample draws from its policy. A single one plays against itself."""
    rules: str = "pocket"
    """The rules: the name of a preset, or a file (.toml or .json)."""
    num_players: int = 2
    """Seats at the table."""
    design: str = "auto"
    """Which agents meet: auto, table, round-robin, gauntlet (the first against each of the others),
    rivals (the first two against each of the others) or mixed (every group at one table)."""
    deals: int | None = None
    """Deals for each line-up, by default 1000, each played in all seat rotations. With --sprt the
    maximum; with --resume a larger number extends the run."""
    seed: int = 0
    """The same seed gives the same deals, and with the same agents the same results."""
    episode: str = "round"
    """What is played with a deal: a round, or a match (to the goal of the rules), whose rounds are
    counted beside."""
    sprt: str | None = None
    """Sequential test of two win rates, such as 0.50,0.52: stop as soon as that of the first agent
    is shown to be at most the one or at least the other."""
    error_rate: float = ERROR_RATE
    """Error rate of --sprt, on either side."""
    margin: float = MARGIN
    """Win rates that differ by less than this from that of an even game are called even."""
    control: bool = False
    """Control variates: subtract the luck of the draws from the results, for less variance."""
    behavior: bool = False
    """Also print how the agents play."""
    processes: int = 0
    """Processes to play in; 0 chooses a number."""
    ray: str | None = None
    """Play on a Ray cluster: its address, or "local"."""
    chunk_deals: int | None = None
    """Deals of a task, by default 256, or 16 with agents that search."""
    max_cycles: int = MAX_CYCLES
    """Decisions after which a round is truncated."""
    max_rounds: int = MAX_ROUNDS
    """Rounds after which a match has no winner."""
    out: Path | None = None
    """A new folder for the results, which are saved as they arrive, and for tables, plots and a
    page."""
    resume: Path | None = None
    """Continue the interrupted run in this folder, with its options."""
    trust: bool = False
    """With --resume: import the Python modules of agents that the folder names (MODULE:NAME), and
    run their code. For folders of your own, or of somebody you trust."""
    json: Path | None = None
    """Write the report to this file."""
    csv: Path | None = None
    """Write the figures to this file, one line for each agent in each line-up."""
    html: Path | None = None
    """Write the report as a page to this file, which opens without a network."""
    records: Path | None = None
    """Write the record of every game to this file, one per line."""


def make_plan(options: Options) -> Plan:
    """Check the options and the agents; the plan."""
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
    """Raise ArenaError unless the margin is a number from 0, below 0.5."""
    if type(margin) not in (int, float) or not 0 <= margin < 0.5:
        raise ArenaError(f"margin is {margin!r}; expected a number from 0, below 0.5")


def began_with(folder: Path) -> Options:
    """The options of a saved run; those that it does not keep have their defaults."""
    plan, about = read_plan(folder)
    named = about.get("rules"), about.get("design")
    if about.keys() != set(ABOUT) or not all(isinstance(name, str) for name in named):
        raise JournalError(
            f"{folder / PLAN} is damaged: 'about' is {str(about)[:200]}; expected the names of "
            "rules and design, and a margin, as evaluate.py --out writes them"
        )
    try:
        check_margin(about["margin"])
        check_design(about["design"])
        is_file = about["rules"].endswith((".toml", ".json"))  # which may have changed or gone
        if not is_file and Rules.of(about["rules"]) != plan.setup.rules:
            raise ArenaError(f"rules is {about['rules']!r}, but the plan has other rules")
    except (ArenaError, DesignError, RulesError) as error:
        raise JournalError(f"{folder / PLAN} is damaged: 'about': {error}") from error
    test = plan.sprt
    return Options(
        **about,
        **{name: getattr(plan, name) for name in KEPT},
        sprt=None if test is None else f"{test.low},{test.high}",
        error_rate=ERROR_RATE if test is None else test.alpha,
    )


def refuse_code(folder: Path, plan: Plan) -> None:
    """Raise JournalError if a saved run names agents whose modules would be imported."""
    for spec in plan.agents:
        if named_code(spec):
            raise JournalError(
                f"{folder / PLAN} names the agent {spec!r}, a Python module that would be imported "
                "and run; if you trust it, add --trust"
            )


def refuse_changes(began: Options, given: Options) -> None:
    """Raise JournalError if a run is resumed with other options than it was started with."""
    for name in (*KEPT, *ABOUT, "sprt", "error_rate"):
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
    """Check the options, play, write the files; returns the report."""
    files = [getattr(options, name) for name in ("json", "csv", "html", "records")]
    named = [os.path.realpath(file) for file in files if file is not None]
    for file in files:
        if file is not None and named.count(os.path.realpath(file)) > 1:
            raise FileError(f"two options name the file {file}")
    plan = make_plan(options) if options.resume is None else None
    with ExitStack() as stack:
        folder = options.resume or options.out
        journal = None
        if folder is not None:
            about = {name: getattr(options, name) for name in ABOUT}
            journal = stack.enter_context(DiskJournal(folder, plan, about))
            if options.resume is not None and not options.trust:
                refuse_code(folder, journal.plan)
            if options.resume is not None and options.deals is not None:
                journal.extend(options.deals)
            plan = journal.plan
        assert plan is not None
        agents = plan.load_agents()
        open_file = {
            file: stack.enter_context(whole_file(file)) for file in files if file is not None
        }
        display = stack.enter_context(Display(last_line=False))
        display.begin("rounds" if plan.episode == "round" else "matches", plan.games)
        keep_records = _records(options, plan, open_file)
        played = run(
            plan,
            make_workers(agents, options.processes, options.ray),
            journal,
            display.report,
            keep_records,
        )
        report = tournament_report(
            plan, agents, played, options.design, options.margin, options.rules
        )
        _write(report, options, open_file, folder)
    return report


def _records(
    options: Options, plan: Plan, files: dict[Path, IO[str]]
) -> Callable[[list[str]], None] | None:
    """A function that writes records as they arrive, if they are to be written."""
    path = options.records
    if path is None:
        return None
    if not plan.records:
        raise JournalError(f"{options.resume} keeps no records; ask for them when a run begins")

    def keep(some: list[str]) -> None:
        with writing(path):
            files[path].writelines(f"{record}\n" for record in some)

    return keep


def _write(
    report: dict[str, Any], options: Options, files: dict[Path, IO[str]], folder: Path | None
) -> None:
    """Write the files asked for, and all of them in a folder."""
    from pocket_uno_env.evaluation.report.html import page

    results = io.StringIO()
    tables.write_results(report, results)
    as_json, as_csv = json.dumps(report, indent=1) + "\n", results.getvalue()
    as_html = page(report) if options.html is not None or folder is not None else ""
    asked = [(options.json, as_json), (options.csv, as_csv), (options.html, as_html)]
    for path, text in asked:
        if path is not None:
            with writing(path):
                files[path].write(text)
    if folder is not None:
        from pocket_uno_env.evaluation.report.plots import save

        texts = {"report.json": as_json, "results.csv": as_csv, "report.html": as_html}
        if report["behavior"] is not None:
            behavior = io.StringIO()
            tables.write_behavior(report, behavior)
            texts["behavior.csv"] = behavior.getvalue()
        for name, text in texts.items():
            write_whole(folder / name, text.encode())
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


class Task(NamedTuple):
    """Something else than a tournament, by the first word of the command line."""

    options: type
    run: Callable[[Any, Display], dict[str, Any]]
    table: Callable[[dict[str, Any]], Any]


TASKS = {
    "ladder": Task(ladder.Options, ladder.climb, ladder.table),
    "compare": Task(rivals.Options, rivals.compare_rivals, rivals.table),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    sys.path[:0] = [""] * ("" not in sys.path)  # so that agents of one's own are found here
    known = f"Agents: {', '.join(usages())}, or a path. Rules: {', '.join(PRESETS)}."
    described = help_text(__file__, known)
    name = program_name("evaluate")
    task = TASKS.get(arguments[0]) if arguments else None
    options: Any = (
        tyro.cli(Options, prog=name, args=arguments, description=described)
        if task is None
        else tyro.cli(task.options, prog=f"{name} {arguments[0]}", args=arguments[1:])
    )
    try:
        if task is not None:
            with Display(last_line=False) as display:
                found = task.run(options, display)
            console().print(task.table(found))
            return 0
        if options.trust and options.resume is None:
            raise JournalError("--trust is for --resume; agents that you name yourself are trusted")
        if options.resume is not None:
            if options.agents or options.out:
                raise JournalError("--resume takes its agents and its folder from the run")
            # Parsed once more, so that what is not given is what the run began with.
            began = began_with(options.resume)
            options = tyro.cli(Options, prog=name, args=arguments, default=began)
            refuse_changes(began, options)
        report = evaluate(options)
    except ERRORS as error:
        print_error("evaluate", error)
        return 2
    except KeyboardInterrupt:
        print(f"{name}: interrupted, {_kept(options)}", file=sys.stderr)
        return 130
    show(report, options.behavior)
    if (folder := options.resume or options.out) is not None:
        print(f"\nEverything is in {folder}: open {folder / 'report.html'}")
    return 0


def _kept(options: Any) -> str:
    if not isinstance(options, Options):
        if options.out is not None and options.out.exists():
            return f"what was played is kept in {options.out}; the same command goes on with it"
        return "no file was written"
    folder = options.resume or options.out
    if folder is not None and os.path.exists(folder / PLAN):
        own = options.trust or any(map(named_code, options.agents))
        return f"what was played is kept; --resume {folder}{' --trust' * own} goes on"
    return "no file was written"
