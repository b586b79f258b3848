"""What an evaluation found: as JSON, as a table, and as files that are whole or not there."""

from __future__ import annotations

import os
import platform
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from . import __version__
from .arena import Games
from .rules import Rules
from .state import End
from .statistics import CONFIDENCE, Estimate, mean_estimate, rate_estimate

if TYPE_CHECKING:
    from rich.table import Table

FORMAT = "uno-evaluation/1"


class ReportError(ValueError):
    """A file that cannot be written; the message says why."""


def evaluation(
    rules: Rules, num_players: int, deals: int, seed: int, max_cycles: int, games: Sequence[Games]
) -> dict[str, Any]:
    """Everything about an evaluation, ready for ``json.dumps``; the same games, the same text.

    Returns
    -------
    dict
        ``format``, ``versions``, ``rules``, ``num_players``, ``deals``, ``rotations``, ``seed``,
        ``max_cycles``, ``confidence``; and ``line_ups``, one `line_up` for each of `games`.
    """
    packages = {name: version(name) for name in ("numpy", "numba")}
    if "torch" in sys.modules:
        packages["torch"] = version("torch")
    return {
        "format": FORMAT,
        "versions": {
            "pocket_uno_env": __version__,
            "python": platform.python_version(),
            **packages,
        },
        "rules": rules.to_dict(),
        "num_players": num_players,
        "deals": deals,
        "rotations": num_players,
        "seed": seed,
        "max_cycles": max_cycles,
        "confidence": CONFIDENCE,
        "line_ups": [line_up(of) for of in games],
    }


def line_up(games: Games) -> dict[str, Any]:
    """The figures of one line-up.

    Returns
    -------
    dict
        ``agents`` (names, place by place), ``rounds``, ``blocked``, ``truncated``,
        ``decisions_per_round``, and ``figures``: for each agent ``agent``, ``against`` (the names
        of the others), ``win_rate`` and ``points_per_round``, each with ``mean``, ``low``,
        ``high`` (the interval, null where there is none). A round without a winner counts 1/n.
    """
    figures = []
    for agent in games.agents:
        against = list(games.names)
        against.remove(games.name(agent))
        figures.append(
            {
                "agent": games.name(agent),
                "against": against,
                "win_rate": _plain(rate_estimate(games.win_rates(agent))),
                "points_per_round": _plain(mean_estimate(games.mean_points(agent))),
            }
        )
    return {
        "agents": list(games.names),
        "rounds": games.end.size,
        "blocked": games.count(End.BLOCKED),
        "truncated": games.count(End.TRUNCATED),
        "decisions_per_round": float(games.decisions.mean()),
        "figures": figures,
    }


def _plain(estimate: Estimate) -> dict[str, float | None]:
    return {"mean": estimate.mean, "low": estimate.low, "high": estimate.high}


def table(report: dict[str, Any]) -> Table:
    """An `evaluation` as a table for the terminal, 80 columns wide or less.

    Of one agent against others that are all alike, it shows the one; `evaluation` has both. Rounds
    without a winner have a column where there are any.
    """
    from rich.table import Table

    n = report["num_players"]
    made = Table(
        title=f"{_title(report['rules'])}, {n} players, {report['deals']:,} deals in all "
        f"{n} seat rotations",
        caption=f"Win rate with its {report['confidence']:.0%} interval, even play {1 / n:.0%}. "
        f"The deal is the sample; a round without a winner (unwon: blocked or truncated) counts "
        f"1/{n}. Points: scored per round.",
        caption_justify="left",
        title_justify="left",
    )
    made.add_column("agent", overflow="fold")
    made.add_column("against", overflow="fold")
    unwon = any(of["blocked"] + of["truncated"] for of in report["line_ups"])
    for heading in ("win rate", "interval", "points", "rounds", *["unwon"] * unwon):
        made.add_column(heading, justify="right", no_wrap=True)
    for of in report["line_ups"]:
        alone = n > 2 and len(of["figures"]) == 2 and of["agents"].count(of["agents"][0]) == 1
        for figure in of["figures"][:1] if alone else of["figures"]:
            rate, points = figure["win_rate"], figure["points_per_round"]
            made.add_row(
                figure["agent"],
                _count(figure["against"]),
                f"{rate['mean']:.1%}",
                f"{100 * rate['low']:.1f}-{100 * rate['high']:.1f}",
                f"{points['mean']:.1f}",
                f"{of['rounds']}",
                *[f"{of['blocked'] + of['truncated']}"] * unwon,
            )
        made.add_section()
    return made


def _title(fields: dict[str, Any]) -> str:
    """The rules in short: a preset, and the fields that differ from it."""
    usual = Rules.preset(fields["name"]).to_dict()
    changed = [f"{key}={value}" for key, value in fields.items() if value != usual[key]]
    return str(fields["name"]) + (f" with {', '.join(changed)}" if changed else "")


def _count(names: list[str]) -> str:
    """Several names in short: ``"greedy, 2 random"``."""
    return ", ".join(
        f"{times} {name}" if times > 1 else name for name, times in Counter(names).items()
    )


@contextmanager
def whole_file(path: Path) -> Iterator[IO[str]]:
    """A text file to write that appears under its name only when all is written.

    Until then it is called ``path + ".part"``; after an exception, Ctrl-C included, it is gone and
    what was under the name before is still there. A device such as ``/dev/stdout`` is written
    directly.

    Raises
    ------
    ReportError
        At once, when the file cannot be written.
    """
    place = path.resolve()
    special = place.exists() and not place.is_file() and not place.is_dir()
    part = place if special else place.with_name(place.name + ".part")
    if place.is_dir():
        raise ReportError(f"cannot write {path}: it is a folder")
    if not place.parent.is_dir():
        raise ReportError(f"cannot write {path}: there is no folder {path.parent}")
    try:
        file = part.open("w", encoding="utf-8")
    except OSError as error:
        raise ReportError(f"cannot write {path}: {error.strerror}") from error
    try:
        with file:
            yield file
        if not special:
            os.replace(part, place)
    except BaseException:
        if not special:
            part.unlink(missing_ok=True)
        raise
