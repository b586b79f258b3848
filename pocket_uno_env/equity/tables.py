"""Match equity of the games that people play: a table of points for each, and what follows from it.

A table says how many points rounds between good players pay, for exact rules and a number of
players. Those of the presets that are matches come with the package, in ``equity/points``;
``pocket-uno equity --measure`` makes others, which lie in the user's data folder and are found by
what they hold. The goal of the match is no part of a table: points are what they are whatever is
played for.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from pocket_uno_env.files import FileError, read_json
from pocket_uno_env.rules.rules import PRESETS, Rules, RulesError

from .race import race_table, write_equities

FORMAT = "uno-equity/1"
PACKAGED = Path(__file__).parent / "points"
FREE = ("name", "match_goal", "max_players")
"""Fields of the rules that change nothing in how many points a round pays."""


class EquityError(ValueError):
    """There is no match equity for these rules, or a table is damaged; the message says why."""


def match_equity(rules: str | Rules = "pocket", scores: Sequence[int] | np.ndarray = (0, 0)) -> Any:
    """The chance of each seat to win the match, between players of equal strength.

    Parameters
    ----------
    rules : str or Rules
        A preset, a file, or `Rules`.
    scores : integers, shape ``(..., num_players)``
        Each seat's points in the match, before the next round is dealt. A seat that has the goal
        has won.

    Returns
    -------
    float64 array, shape ``(..., num_players)``
        They sum to 1; a seat's own rises with its own score.

    Raises
    ------
    ValueError
        For scores that cannot be those of a match.
    EquityError
        If nobody has measured how many points a round of these rules pays; the message names the
        command that does.

    Notes
    -----
    Source: see `equity.race`.

    Examples
    --------
    >>> match_equity("pocket", [0, 0])
    array([0.5, 0.5])
    """
    found = Rules.of(rules)
    points = np.asarray(scores)
    if points.ndim == 0 or points.dtype.kind not in "iu" or (points.size and points.min() < 0):
        raise ValueError(f"scores is {scores!r}; expected whole numbers from 0, one for each seat")
    try:
        race = race_of(found, found.check_players(points.shape[-1]))
    except RulesError as error:
        raise ValueError(f"scores is {scores!r}, and {error}") from None
    if ((points >= found.match_goal).sum(-1) > 1).any():
        raise ValueError(
            f"scores is {scores!r}; a match is over when one seat has {found.match_goal} points"
        )
    points = np.minimum(points, found.match_goal).astype(np.int64)
    lines = np.ascontiguousarray(points.reshape(-1, points.shape[-1]))
    equities = np.empty(lines.shape)
    for line, out in zip(lines, equities, strict=True):
        write_equities(race, line, out)
    return equities.reshape(points.shape)


@lru_cache(maxsize=64)
def race_of(rules: Rules, num_players: int) -> np.ndarray:
    """The `race.race_table` of a game, read-only; `EquityError` if there is none."""
    if rules.elimination:
        raise EquityError(
            f"rules {rules.name!r} play for elimination, where points count against a seat; match "
            "equity is for matches that the first with the goal wins"
        )
    points = read_points(find(rules, num_players))
    try:
        race = race_table(points, rules.match_goal)
    except ValueError as error:
        raise EquityError(f"rules {rules.name!r}: {error}") from None
    race.setflags(write=False)
    return race


def find(rules: Rules, num_players: int) -> Path:
    """The file of the table for a game; `EquityError` if there is none, naming the command."""
    wanted = fields_of(rules)
    for folder in (PACKAGED, user_folder()):
        for file in sorted(folder.glob(f"*-{num_players}p.json")):
            with suppress(FileError, EquityError):
                table = _read(file)
                if table["num_players"] == num_players and _fields(table["rules"]) == wanted:
                    return file
    preset = rules.name in PRESETS and fields_of(Rules.of(rules.name)) == wanted
    variant = rules.name in PRESETS and not preset
    shown = rules.name if preset else "FILE"
    hint = "" if preset else ", with the file that rules.save writes"
    raise EquityError(
        f"no match equity is known for {'a variant of ' * variant}rules {rules.name!r} with "
        f"{num_players} players; measure it once{hint}: pocket-uno equity --measure "
        f"--rules {shown} --num-players {num_players}"
    )


def read_points(file: Path) -> np.ndarray:
    """How often a round paid 0, 1, ... points, int64, from a table's file.

    Raises
    ------
    EquityError, FileError
        If it is damaged.
    """
    points = _read(file)["points"]
    counts = np.zeros(1 + max(map(int, points)), np.int64)
    for number, count in points.items():
        counts[int(number)] = count
    return counts


def fields_of(rules: Rules) -> dict[str, Any]:
    """What the points of a round depend on."""
    return _fields(rules.to_dict())


def file_name(rules: Rules, num_players: int) -> str:
    """What a table of one's own is called: different rules, different files."""
    text = json.dumps(fields_of(rules), sort_keys=True)
    return f"{rules.name}-{hashlib.sha256(text.encode()).hexdigest()[:10]}-{num_players}p.json"


def user_folder(kind: str = "equity") -> Path:
    """Where what one has measured oneself lies, by the platform's conventions."""
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        base = Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    else:
        named = os.environ.get("XDG_DATA_HOME", "")
        base = Path(named) if os.path.isabs(named) else Path.home() / ".local" / "share"
    return base / "pocket_uno_env" / kind


def _fields(rules: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in rules.items() if name not in FREE}


def _read(file: Path) -> dict[str, Any]:
    table: dict[str, Any] = read_json(file)
    whole = (
        isinstance(table, dict)
        and table.get("format") == FORMAT
        and isinstance(table.get("num_players"), int)
        and isinstance(table.get("rules"), dict)
        and isinstance(points := table.get("points"), dict)
        and any(number != "0" for number in points)
        and all(n.isdecimal() and len(n) < 6 and str(int(n)) == n for n in points)
        and all(type(count) is int and 0 < count < 2**50 for count in points.values())
    )
    if not whole:
        raise EquityError(f"{file} is no table of points ({FORMAT}); measure it anew")
    return table
