"""Advice on a position: ranked actions, from what one player sees of the table.

    pocket-uno advise position.json --agents strong
    echo '{"hand": ["R5"], "top": "R7", "others": [3]}' | pocket-uno advise

The position is a JSON object. You are seat 0, seat 1 is on your left.
  hand       your cards, such as ["R5", "W+2"]
  top        the top card, and color ("red" or "R") if it is a wild
  others     how many cards the others hold, from your left
  rules, direction (1 or -1)
  scores     points in the match, yours first; without, a single round
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
from pocket_uno_env.display.text import chances_text, render_text
from pocket_uno_env.files import FileError, parse_json, read_file

from .analysis import analyse
from .chances import race_for
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
    race = None
    if "scores" in fields:
        race = race_for(position.rules, len(position.scores))
    if race is not None and max(position.scores) >= position.rules.match_goal:
        raise AdviceError(
            f"'scores' has {max(position.scores)}; expected points from 0 to "
            f"{position.rules.match_goal - 1}, with which the match is not over"
        )
    judged = estimate(position.rules, rows, race=race)
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
        console().print(_table(advice, names))
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


def _table(advice: dict[str, Any], names: Sequence[str]) -> Table:
    """The actions with their figures, the best first."""
    match, about = advice["match"], advice["about"]
    columns = {"probability": "probability", "value": "chance to win"}
    if match is not None:
        columns.update(value="wins the round", match="wins the match")
        about = f"{chances_text(match, names)} {about}"
    table = Table(title=f"{advice['agent']}: {advice['choice']}", caption=about)
    table.add_column("action")
    for title in columns.values():
        table.add_column(title, justify="right")
    for entry in advice["actions"]:
        table.add_row(entry["action"], *(_percent(entry[name]) for name in columns))
    own = None if match is None else match[0]
    position = {"probability": None, "value": advice["value"], "match": own}
    if any(figure is not None for figure in position.values()):
        cells = (_percent(position[name]) for name in columns)
        table.add_row("the position", *cells, style="bold")
    return table


def _percent(chance: float | None) -> str:
    return "" if chance is None else f"{100 * chance:.1f} %"
