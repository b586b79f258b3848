"""Make a film of a game record: a page to step through, one file that needs nothing.

    pocket-uno replay games.jsonl --game 3 --agents strong --out game.html

The agents are asked what they would have done at every decision; the page jumps to those where
they differ from each other or from what was played.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import webbrowser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from pocket_uno_env.agents import Agent, AgentError, load
from pocket_uno_env.cli.program import print_error, program_name
from pocket_uno_env.cli.progress import help_text
from pocket_uno_env.display.narration import seat_names, seen_events
from pocket_uno_env.display.seat_view import Blocks, sight
from pocket_uno_env.files import write_whole
from pocket_uno_env.records.record import positions
from pocket_uno_env.reference.record_format import RecordError, parse_record
from pocket_uno_env.reference.referee import check_record
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.rules import Rules, RulesError

from .analysis import analyse
from .chances import at_scores, outlook, race_for
from .estimate import estimate

MAX_FRAMES = 10_000
GUESSES = 300
"""Guesses of the hidden cards at each decision."""
PLAYOUTS = 400
"""Playouts of each position with all hands open."""
PAGE = Path(__file__).parent / "web" / "page"
SCRIPTS = ("cards.js", "table.js", "chances.js", "replay.js", "film.js")


class ReplayError(ValueError):
    """Records that cannot be shown; the message names the line and what is wrong."""


def read_records(text: str, game: Any = 1) -> tuple[dict[str, Any], int]:
    """One game of a file of records, checked by the referee, and how many there are.

    Parameters
    ----------
    game : int
        Counted from 1.
    """
    text = text.removeprefix("\ufeff")
    found = re.finditer(r"\S[^\n]*", text)
    chosen, games = None, 0
    for games, line in enumerate(found, 1):
        if games == game:
            chosen = line
    if not games:
        raise ReplayError("there is no record in it; a file of records has one game a line")
    if type(game) is not int or chosen is None:
        raise ReplayError(f"game {game!r} is not there; expected a number from 1 to {games}")
    number = text.count("\n", 0, chosen.start()) + 1
    try:
        record = parse_record(chosen[0])
        check_length(record)
        check_record(record)
    except (RecordError, ReplayError) as error:
        raise ReplayError(f"line {number}: {error}") from None
    return record, games


def check_length(record: Any) -> None:
    """Refuse a game of too many decisions before anything is played; ReplayError says so."""
    rounds = record.get("rounds") if isinstance(record, dict) else None
    entries = [entry for entry in _items(rounds) if isinstance(entry, dict)]
    decisions = sum(
        isinstance(event, list) and event[:1] != ["reshuffle"] and event[1:2] != ["forced"]
        for entry in entries
        for event in _items(entry.get("events"))
    )
    if decisions + len(entries) > MAX_FRAMES:
        raise ReplayError(f"the game has more than {MAX_FRAMES:,} decisions, which is too long")


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def film(
    game: tuple[dict[str, Any], int],
    agents: Sequence[Agent] = (),
    stop: Callable[[], bool] = lambda: False,
) -> dict[str, Any]:
    """A game, frame by frame, ready for `film_text`.

    Parameters
    ----------
    game : tuple
        As `read_records` returns it.
    agents : sequence of Agent
        Who is asked at every decision.
    stop : callable
        Asked before every decision, whether nobody wants the film any more.

    Returns
    -------
    dict
        ``players``, ``rules``, ``match``, ``games`` (how many there were); ``agents``, their names;
        ``rounds``, for each what everybody saw of its events (``all`` and by seat); and ``frames``:
        ``round``, ``sight`` (`seat_view.sight`, all open), ``known`` (the cards that each seat
        knows in other hands), ``events`` (how many lie behind), ``action`` (what comes next, or
        None), ``opinions`` by agent (`analysis.analyse`), ``chances`` (to win the match, at the
        scores: `chances.at_scores`, or None) and ``open`` (`chances.outlook`, by all hands).

    Raises
    ------
    ReplayError, AgentError
        When the game is too long, an agent cannot play such games, or `stop` says so.
    """
    record, games = game
    check_length(record)
    players = seat_names(record["players"])
    try:
        rules = Rules.from_dict(record["rules"])
        for agent in agents:
            agent.check(rules, rules.check_players(len(players)))
        frames, ends = _frames(record, rules, agents, stop)
    except (RulesError, RecordError) as error:  # games that are larger than the engine plays
        raise ReplayError(str(error)) from None
    rounds = [
        {
            str(key): seen_events(entry["events"], seat, players, to_act)
            for key, seat in [("all", None), *((seat, seat) for seat in range(len(players)))]
        }
        for entry, to_act in zip(record["rounds"], ends, strict=True)
    ]
    return {
        "players": players,
        "rules": {"name": rules.name, "match_goal": rules.match_goal, "colors": rules.colors},
        "match": record["match"],
        "games": games,
        "agents": [agent.name for agent in agents],
        "rounds": rounds,
        "frames": frames,
    }


def _frames(
    record: dict[str, Any], rules: Rules, agents: Sequence[Agent], stop: Callable[[], bool]
) -> tuple[list[dict[str, Any]], list[int | None]]:
    """The frames, and the seat to act at the end of each round."""
    frames: list[dict[str, Any]] = []
    ends: list[int | None] = []
    seats = len(record["players"])
    match = record["match"] or any(record.get("scores", ()))
    race = race_for(rules, seats) if match else None
    for position in positions(record):
        if stop():
            raise ReplayError("nobody waits for this film any more")
        seen = sight(rules, position.rows)
        name = None if position.action is None else catalogue(rules).name(position.action)
        opinions = {}
        if name is not None and agents:
            judged = estimate(rules, position.rows, GUESSES, race=race)
            opinions = {
                agent.name: analyse(rules, position.rows, agent, judged) for agent in agents
            }
        frames.append(
            {
                "round": position.round,
                "sight": seen,
                "known": _known(rules, position.rows, seats),
                "events": position.events,
                "action": name,
                "opinions": opinions,
                "chances": None if race is None else at_scores(rules, seen["scores"]),
                "open": outlook(rules, position.rows, PLAYOUTS, race),
            }
        )
        if name is None:
            ends.append(seen["to_act"])
    return frames, ends


def film_text(film: dict[str, Any]) -> str:
    """A film as JSON. Frame by frame, because other threads wait while JSON is written."""
    head = json.dumps({key: value for key, value in film.items() if key != "frames"})
    frames = ",".join(json.dumps(frame, separators=(",", ":")) for frame in film["frames"])
    return f'{head[:-1]}, "frames": [{frames}]}}'


def page_of(film: dict[str, Any]) -> str:
    """A page with the film in it, that works from a file and loads nothing."""
    scripts = [(PAGE / name).read_text("utf-8") for name in SCRIPTS]
    style = (PAGE / "style.css").read_text("utf-8")
    # In a script element only "<" can do harm; escaped it is the same JSON.
    data = film_text(film).replace("<", "\\u003c")
    allowed = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    policy = f"default-src 'none'; script-src {allowed}; style-src 'sha256-{_digest(style)}'"
    parts = {
        "policy": policy,
        "style": f"<style>{style}</style>",
        "title": html.escape(" against ".join(film["players"])),
        "film": data,
        "scripts": "\n".join(f"<script>{script}</script>" for script in scripts),
    }
    page = (PAGE / "film.html").read_text("utf-8")
    head, *rest = page.split("{{")
    return head + "".join(
        parts[name] + after for name, _, after in (piece.partition("}}") for piece in rest)
    )


class Replay:
    """A game to step through in a notebook: the page of `page_of`, in a frame.

    Parameters
    ----------
    record : dict
        As ``env.record()`` returns it, or a line of a file of records.
    agents : sequence of str or Agent
        Who is asked at every decision.
    height : int
        Pixels.
    """

    def __init__(
        self, record: dict[str, Any], agents: Sequence[str | Agent] = (), height: int = 720
    ) -> None:
        asked = [load(agent) if isinstance(agent, str) else agent for agent in agents]
        self.film = film(read_records(json.dumps(record)), asked)
        self.height = height

    def _repr_html_(self) -> str:
        page = html.escape(page_of(self.film))
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" width="100%" '
            f'height="{self.height}" style="border: 0"></iframe>'
        )


def _known(rules: Rules, rows: Any, seats: int) -> dict[str, dict[str, list[str]]]:
    found = {}
    for seat in range(seats):
        blocks = Blocks(rules, seats, rows, seat)
        cards = {str(o): blocks.known(o) for o in range(seats) if o != seat and blocks.known(o)}
        if cards:
            found[str(seat)] = cards
    return found


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@dataclass
class Options:
    """The fields are the options of the command line."""

    records: tyro.conf.Positional[Path]
    """A file of game records, one a line, as `evaluate` and `play` write them."""
    game: int = 1
    """Which game of the file, counted from 1."""
    agents: tuple[str, ...] = ()
    """Agents that are asked what they would have done."""
    out: Path = Path("game.html")
    """Where to write the page."""
    browser: bool = False
    """Open the page."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    about = help_text(__file__)
    options = tyro.cli(Options, prog=program_name("replay"), args=arguments, description=about)
    try:
        agents = [load(name) for name in options.agents]
        doing = f"read {options.records}"
        text = options.records.read_text("utf-8")
        made = film(read_records(text, options.game), agents)
        doing = f"write {options.out}"
        write_whole(options.out, page_of(made).encode())
    except OSError as error:
        print_error("replay", f"cannot {doing}: {error.strerror}")
        return 2
    except (AgentError, ReplayError, UnicodeDecodeError) as error:
        print_error("replay", error)
        return 2
    print(f"{len(made['frames'])} positions in {options.out}")
    if options.browser:
        webbrowser.open(options.out.resolve().as_uri())
    return 0
