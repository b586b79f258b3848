"""Advice on a position: ranked actions, from what one player sees of the table.

    pocket-uno advise position.json --agents strong
    echo '{"hand": ["R5"], "top": "R7", "others": [3]}' | pocket-uno advise

The position is a JSON object. You are seat 0, seat 1 is on your left.
  hand       your cards, such as ["R5", "W+2"]
  top        the top card, and color ("red" or "R") if it is a wild
  others     how many cards the others hold, from your left
  rules, direction (1 or -1), scores
  discards   the cards under the top card (under before_top, if that is given)
  phase      play (default), drawn, challenge, uno, catch or give
  drawn      in phase drawn: the card you drew
  before_top, before_color   in the last four: what the top card was played on
  silent     in phase catch: the seat that said nothing
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.table import Table

from pocket_uno_env.agents import Agent, AgentError
from pocket_uno_env.agents.position import AdviceError, position_rows, read_position
from pocket_uno_env.agents.registry import usages
from pocket_uno_env.cli.program import print_error, program_name
from pocket_uno_env.cli.progress import console, help_text
from pocket_uno_env.display.seat_view import sight
from pocket_uno_env.display.text import render_text
from pocket_uno_env.files import FileError, parse_json, read_file

from .analysis import analyse
from .estimate import estimate
from .guarded import load_guarded

MAX_BYTES = 1_000_000
"""A position is far smaller."""


def advise(fields: dict[str, Any], agents: Sequence[Agent]) -> dict[str, Any]:
    """What agents make of a position (`position.read_position`).

    Returns
    -------
    dict
        ``sight``, the table as you see it (`seat_view.sight`), and ``advice``, for each agent what
        `analysis.analyse` says.

    Raises
    ------
    AdviceError, AgentError
        When there is no such position, or an agent cannot play such games.
    """
    position = read_position(fields)
    rows = position_rows(position)
    judged = estimate(position.rules, rows)
    return {
        "sight": sight(position.rules, rows, 0),
        "advice": [analyse(position.rules, rows.copy(), agent, judged) for agent in agents],
    }


@dataclass
class Options:
    """The fields are the options of the command line."""

    position: tyro.conf.Positional[Path] = Path("-")
    """A file with the position; "-" reads standard input."""
    agents: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME ...")] = ("strong",)
    """Who advises: names of agents, or trained runs."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Answer in JSON."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    known = f"Agents: {', '.join(usages())}, or a path."
    about = help_text(__file__, known)
    options = tyro.cli(Options, prog=program_name("advise"), args=arguments, description=about)
    try:
        fields = parse_json(read(options.position), "the position")
        agents = [load_guarded(name) for name in options.agents]
        found = advise(fields, agents)
    except (AdviceError, AgentError, FileError) as error:
        print_error("advise", error)
        return 2
    if options.json:
        print(json.dumps(found))
        return 0
    names = ["seat 0 (you)", *(f"seat {seat}" for seat in range(1, len(found["sight"]["hands"])))]
    print(render_text(found["sight"], names, sys.stdout.isatty()))
    for advice in found["advice"]:
        console().print(_table(advice))
    return 0


def read(file: Path) -> str | bytes:
    """All of a file, or of standard input for "-"; AdviceError or FileError if there is none."""
    if str(file) != "-":
        return read_file(file, MAX_BYTES)
    try:
        text = sys.stdin.read(MAX_BYTES + 1)
    except UnicodeDecodeError as error:
        raise AdviceError(f"standard input is no {error.encoding} text") from None
    if len(text) > MAX_BYTES:
        raise AdviceError(f"standard input is longer than {MAX_BYTES:,} bytes")
    if not text.strip():
        raise AdviceError("no position: name a file, before --agents, or write to standard input")
    return text


def _table(advice: dict[str, Any]) -> Table:
    """The actions with their figures, the best first."""
    table = Table(title=f"{advice['agent']}: {advice['choice']}", caption=advice["about"])
    table.add_column("action")
    table.add_column("probability", justify="right")
    table.add_column("chance to win", justify="right")
    for entry in advice["actions"]:
        cells = ("" if v is None else f"{100 * v:.1f} %" for v in list(entry.values())[1:])
        table.add_row(entry["action"], *cells)
    if advice["value"] is not None:
        table.add_row("the position", "", f"{100 * advice['value']:.1f} %", style="bold")
    return table
