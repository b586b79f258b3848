"""Play against agents, in the terminal or in the browser.

    pocket-uno play --opponents strong greedy
    pocket-uno play --rules classic --round
    pocket-uno play --web

You sit in seat 0. The record of the game is written after every decision.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

from pocket_uno_env.agents import AgentError
from pocket_uno_env.agents.registry import usages
from pocket_uno_env.arguments import check_seed
from pocket_uno_env.cli.program import print_error, program_name
from pocket_uno_env.cli.progress import help_text
from pocket_uno_env.files import FileError
from pocket_uno_env.rules.rules import PRESETS, RulesError

from .guarded import load_guarded
from .table import Table, write_record
from .terminal import Left, Terminal, use_color

RECORDS = Path("runs") / "play"
PROCESS = '[sys.executable, "-m", "pocket_uno_env", "play", "--web"]'


@dataclass
class Options:
    """The fields are the options of the command line."""

    opponents: tuple[str, ...] = ("strong",)
    """Who plays against you, clockwise from your left: names of agents, or trained runs."""
    rules: str = "pocket"
    """The rules: the name of a preset, or a file (.toml or .json)."""
    round: bool = False
    """Play a single round instead of a match."""
    watch: bool = False
    """Only watch: the opponents fill all the seats."""
    seed: int | None = None
    """The same seed deals the same cards; without one every game is another."""
    record: Path | None = None
    """Where to write the record of the game; without it a new file in runs/play/."""
    web: bool = False
    """Play in the browser, on a page that this machine serves to itself."""
    port: int = 8177
    """With --web: the port of the page; 0 takes a free one."""
    host: str = "127.0.0.1"
    """With --web: the address to listen on; others than this machine's own let others in."""
    origin: tuple[str, ...] = ()
    """With --web: where a proxy serves the page, such as https://games.example.org."""
    browser: bool = True
    """With --web: open the page."""


def new_record() -> Path:
    """A path for the record of a new game, named after the time."""
    name = time.strftime("%Y-%m-%d-%H%M%S")
    suffixes = itertools.chain([""], (f"-{i}" for i in itertools.count(2)))
    paths = (RECORDS / f"{name}{suffix}.jsonl" for suffix in suffixes)
    return next(path for path in paths if not path.exists())


class Keeper:
    """Writes the record of a game; where that fails it says so once, and the game goes on."""

    def __init__(self, table: Table, path: Path) -> None:
        self.table, self.path = table, path
        self.kept = True

    def keep(self) -> None:
        """Write the record as it is now."""
        try:
            write_record(self.path, self.table.record())
        except FileError as error:
            if self.kept:
                text = f"The record is not kept: {error}. The game goes on."
                print(f"{program_name('play')}: {text}", file=sys.stderr)
            self.kept = False
        else:
            self.kept = True


def play_here(options: Options) -> int:
    """Play in this terminal; the exit code."""
    agents = [load_guarded(name) for name in options.opponents]
    seats = agents if options.watch else [None, *agents]
    if options.seed is not None:
        check_seed("--seed", options.seed)
    table = Table(options.rules, seats, not options.round, options.seed)
    path = new_record() if options.record is None else options.record
    if path.exists():
        raise ValueError(f"{path} is there already; name another file with --record, or move it")
    keeper = Keeper(table, path)
    if options.record is None:
        keeper.keep()
    else:  # a file that was asked for is worth a refusal, while there is nothing to lose
        write_record(path, table.record())
    print("Type ? for help, q to leave.")
    seat = None if options.watch else 0
    code = 0
    try:
        Terminal(table, seat, color=use_color(), on_change=keeper.keep).play()
    except KeyboardInterrupt:
        print()
        code = 130
    except AgentError as error:
        print_error("play", error)
        code = 2
    except Left:
        pass
    keeper.keep()
    if keeper.kept:
        print(f"The record is in {path}")
    return code


def refuse_unused(options: Options) -> None:
    """The page has its own places for some options: ValueError if one is given with --web."""
    for name in ("rules", "round", "watch", "seed", "record"):
        if getattr(options, name) != getattr(Options, name):
            raise ValueError(
                f"--{name} does not go with --web: choose it on the page (records are kept in "
                f"{RECORDS})"
            )


def refuse_running_loop() -> None:
    """A page needs an event loop of its own: ValueError where one runs, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise ValueError(
        "--web cannot start where an event loop runs already, as in a notebook; give it a process "
        f"of its own: import subprocess, sys; subprocess.Popen({PROCESS})"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    known = f"Agents: {', '.join(usages())}, or a path. Rules: {', '.join(PRESETS)}."
    about = help_text(__file__, known)
    options = tyro.cli(Options, prog=program_name("play"), args=arguments, description=about)
    try:
        if options.web:
            refuse_unused(options)
            refuse_running_loop()
            from pocket_uno_env.play.web.serve import serve  # it needs the extra 'play'

            here = options.host, options.port, options.opponents, options.browser
            return serve(*here, RECORDS, options.origin)
        return play_here(options)
    except (AgentError, RulesError, ValueError, OSError) as error:
        print_error("play", error)
    return 2
