"""A report as tables for a terminal of 80 columns, and as CSV."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

from pocket_uno_env.evaluation.behavior import RATES
from pocket_uno_env.evaluation.statistics.verdicts import Verdict
from pocket_uno_env.rules.rules import Rules

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

SHOWN = {
    "draw_rate": ("draws", "turns begun with a draw"),
    "voluntary_draws": ("choice", "of those, with a playable card"),
    "wild_cards": ("wild@", "cards in hand when a wild is played"),
    "bluff_rate": ("bluffs", "of wild draws"),
    "challenge_rate": ("chall.", "of wild draws challenged"),
    "challenge_accuracy": ("right", "challenges that succeed"),
    "uno_missed": ("silent", "UNO calls missed"),
    "catch_rate": ("catch", "others' missed calls caught"),
    "points_per_win": ("pts", "points of a round won"),
}
"""The columns of the behaviour table."""
PLAIN_FIGURES = {"wild_cards", "turns_per_round", "round_length", "points_per_win"}
"""Figures that are no shares."""


def table(report: dict[str, Any]) -> Table:
    """A report's results, 80 columns wide or less.

    Of one agent against others that are all alike, it shows the one; the report has both. Games
    without a winner have a column where there are any. Of matches it shows what was won of them
    and of their rounds, side by side.
    """
    from rich.table import Table

    n, matches = report["num_players"], report["episode"] == "match"
    what = f"{report['deals']:,} deals{' of matches' if matches else ''}"
    share = "Matches won, rounds won in them, each" if matches else "Win rate"
    notes = [
        f"{share} with its {report['confidence']:.0%} interval, even play {1 / n:.0%}. The deal is "
        f"the sample; a game without a winner (unwon) counts 1/{n}. Points: scored per round."
    ]
    judged = any("verdict" in figure for of in report["line_ups"] for figure in of["figures"])
    if judged:
        notes.append(_about_verdicts(report))
    unwon = any(_unwon(of) for of in report["line_ups"])
    made = Table(
        # All columns leave little room for names.
        padding=(0, 0 if judged and (unwon or matches) else 1),
        title=f"{rules_title(report['rules'])}, {n} players, {what} {in_rotations(report)}",
        caption=" ".join(notes),
        caption_justify="left",
        title_justify="left",
    )
    made.add_column("agent", overflow="fold", min_width=7)
    made.add_column("against", overflow="fold", min_width=7)
    rates = rate_kinds(report)
    shares = [heading for rate in rates.values() for heading in (rate, "interval")]
    for heading in [*shares, "points", *["rounds"] * (not matches), *["unwon"] * unwon]:
        made.add_column(heading, justify="right", no_wrap=True)
    if judged:
        made.add_column("verdict", no_wrap=True)
    for of, figure in shown_figures(report):
        made.add_row(
            _Name(figure["agent"]),
            _Name(in_short(figure["against"])),
            *(cell for rate in rates for cell in _share_cells(figure[rate])),
            f"{figure['points_per_round']['mean']:.1f}",
            *[f"{of['rounds']}"] * (not matches),
            *[f"{_unwon(of)}"] * unwon,
            *[figure["verdict"]["claim"] if "verdict" in figure else ""] * judged,
            end_section=figure is of["figures"][-1],
        )
    return made


def undecided(report: dict[str, Any]) -> list[str]:
    """A line for each comparison that is not decided."""
    lines = []
    for of, figure in shown_figures(report):
        found = figure.get("verdict")
        mirrored = report["num_players"] == 2 and figure is not of["figures"][0]
        if found is not None and found["claim"] == "undecided" and not mirrored:
            against = in_short(figure["against"])
            lines.append(f"{figure['agent']} against {against}: {Verdict(**found).text}")
    return lines


def remarks(report: dict[str, Any]) -> list[str]:
    """What to know before the figures are believed, each a line."""
    lines = []
    if report.get("sprt"):
        lines.append(
            "Intervals and verdicts ignore that the sequential test chose when to stop; "
            "go by the test"
        )
    if names := report.get("control_refused"):
        lines.append(
            f"--control left out: draws are no surprise to {', '.join(names)}, which cheats"
        )
    return lines


def ratings_table(report: dict[str, Any]) -> Table | None:
    """The agents' ratings, the best first; None where there are none."""
    from rich.table import Table

    found = report.get("ratings")
    if not found:
        return None
    made = Table(
        title="Ratings",
        caption="Elo's scale: 400 more win ten times as often. Intervals by bootstrap over deals; "
        "the agent without one is the anchor.",
        caption_justify="left",
        title_justify="left",
    )
    made.add_column("agent", overflow="fold")
    for heading in rating_kinds(report).values():
        made.add_column(heading, justify="right", no_wrap=True)
        made.add_column("interval", justify="right", no_wrap=True)
    for name in found["elo"]:
        cells = []
        for kind in rating_kinds(report):
            value, digits = found[kind][name], int(kind == "openskill")
            cells += [f"{value['mean']:.{digits}f}", _range(value, digits)]
        made.add_row(name, *cells)
    return made


def rate_kinds(report: dict[str, Any]) -> dict[str, str]:
    """The win rates that a report has, and their headings: of rounds, or of matches and rounds."""
    if report["episode"] == "match":
        return {"win_rate": "matches", "round_win_rate": "rounds"}
    return {"win_rate": "win rate"}


def rating_kinds(report: dict[str, Any]) -> dict[str, str]:
    """The kinds of ratings that a report has, and their headings."""
    by_rounds = "round_elo" in report["ratings"]
    heads = {
        "elo": "by matches" if by_rounds else "rating",
        "round_elo": "by rounds",
        "openskill": "OpenSkill",
    }
    return {kind: head for kind, head in heads.items() if kind in report["ratings"]}


def behavior_table(report: dict[str, Any]) -> Table | None:
    """What the agents do; None where it was not counted."""
    from rich import box
    from rich.table import Table

    found = report.get("behavior")
    if not found:
        return None
    made = Table(
        title="Behaviour",
        caption="In %, but wild@ and pts. "
        + "; ".join(f"{head}: {text}" for head, text in SHOWN.values())
        + ". JSON and CSV have more, by position, too.",
        caption_justify="left",
        title_justify="left",
        box=box.SIMPLE,
        padding=(0, 0, 0, 1),
        pad_edge=False,
    )
    made.add_column("agent", overflow="fold", min_width=12)
    for heading, _ in SHOWN.values():
        made.add_column(heading, justify="right", no_wrap=True)
    for name, figures in found.items():
        made.add_row(name, *[cell(key, figures[key]) for key in SHOWN])
    return made


def control_table(report: dict[str, Any]) -> Table | None:
    """The results without the luck of the draws; None where it was not measured."""
    from rich.table import Table

    rows = [figure for _, figure in shown_figures(report) if "adjusted" in figure]
    if not rows:
        return None
    made = Table(
        padding=(0, 0 if report["episode"] == "match" else 1),
        title="Without the luck of the draws",
        caption="Control variates leave what is to be expected as it is. Games: how many of them "
        "tell as much as all without. Verdicts go by these figures.",
        caption_justify="left",
        title_justify="left",
    )
    made.add_column("agent", overflow="fold")
    made.add_column("against", overflow="fold")
    for name in rate_kinds(report).values():
        for heading in (name, "interval", "games"):
            made.add_column(heading, justify="right", no_wrap=True)
    for figure in rows:
        cells = []
        for kind in rate_kinds(report):
            rate = figure["adjusted"][kind]
            cells += [*_share_cells(rate), f"{rate['games_needed']:.0%}"]
        made.add_row(_Name(figure["agent"]), _Name(in_short(figure["against"])), *cells)
    return made


def sequential_text(report: dict[str, Any]) -> str | None:
    """What the sequential test says; None where there was none."""
    found = report.get("sprt")
    if not found:
        return None
    test = (
        f"Sequential test of {found['agent']}'s win rate, {found['low']:.1%} against "
        f"{found['high']:.1%}, error rates {found['alpha']:.0%} and {found['beta']:.0%}"
    )
    if found["accepted"] == "open":
        low, high = found["bounds"]
        return (
            f"{test}: not decided after {found['deals']:,} deals (log likelihood ratio "
            f"{found['llr']:.2f}, bounds {low:.2f} and {high:.2f})"
        )
    claim = (
        f"at least {found['high']:.1%} accepted"
        if found["accepted"] == "high"
        else f"at most {found['low']:.1%} accepted"
    )
    return f"{test}: {claim} after {found['deals']:,} deals"


def write_results(report: dict[str, Any], file: IO[str]) -> None:
    """The figures of all line-ups as CSV, one agent in one line-up a line."""
    out = csv.writer(file, lineterminator="\n")
    keys = ("mean", "low", "high")
    rates = list(rate_kinds(report))
    games = {"matches": "games", "rounds": "rounds"} if len(rates) > 1 else {"rounds": "games"}
    out.writerow(
        ["agent", "against", "deals", *games.values(), "blocked", "truncated", "unwon"]
        + [f"{name}_{key}" for name in (*rates, "points") for key in keys]
        + [f"adjusted_{name}_{key}" for name in rates for key in keys]
        + ["verdict", "more_deals"]
    )
    for of in report["line_ups"]:
        for figure in of["figures"]:
            without = figure.get("adjusted", {})
            found = figure.get("verdict", {})
            out.writerow(
                [figure["agent"], " ".join(figure["against"])]
                + [of[key] for key in ("deals", *games, "blocked", "truncated", "unwon")]
                + [figure[name][key] for name in (*rates, "points_per_round") for key in keys]
                + [without.get(name, {}).get(key) for name in rates for key in keys]
                + [found.get("claim"), found.get("more_deals")]
            )


def write_behavior(report: dict[str, Any], file: IO[str]) -> None:
    """The behaviour as CSV, one agent a line."""
    out = csv.writer(file, lineterminator="\n")
    positions = [f"win_rate_position_{p}" for p in range(report["num_players"])]
    found = report["behavior"]
    counts = list(next(iter(found.values()))["counts"])
    out.writerow(["agent", "num_players", *RATES, *positions, *counts])
    for name, figures in found.items():
        out.writerow(
            [name, report["num_players"]]
            + [figures[key] for key in RATES]
            + figures["by_position"]
            + [figures["counts"][key] for key in counts]
        )


def shown_figures(report: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The line-ups with their figures, of one agent against others all alike only its own."""
    for of in report["line_ups"]:
        alone = report["num_players"] > 2 and len(of["figures"]) == 2
        alone = alone and of["agents"].count(of["agents"][0]) == 1
        for figure in of["figures"][:1] if alone else of["figures"]:
            yield of, figure


def rules_title(fields: dict[str, Any]) -> str:
    """The rules in short: a preset, and the fields that differ from it."""
    usual = Rules.preset(fields["name"]).to_dict()
    changed = [f"{key}={value}" for key, value in fields.items() if value != usual[key]]
    return str(fields["name"]) + (f" with {', '.join(changed)}" if changed else "")


def in_rotations(report: dict[str, Any]) -> str:
    """How often each deal is played."""
    n, turns = report["num_players"], report["rotations"]
    if turns == n:
        return f"in all {n} seat rotations"
    return "once each: equal agents repeat themselves" if turns == 1 else f"{turns} times each"


def in_short(names: list[str]) -> str:
    """Several names in short: ``"greedy, 2 random"``."""
    return ", ".join(
        f"{times} {name}" if times > 1 else name for name, times in Counter(names).items()
    )


def cell(key: str, value: float | None) -> str:
    """A figure of `behavior.RATES` as text."""
    if value is None:
        return "-"
    return f"{value:.1f}" if key in PLAIN_FIGURES else f"{100 * value:.1f}"


class _Name:
    """An agent's name for rich: where it is too long for its column, it breaks after a comma."""

    def __init__(self, text: str) -> None:
        self.pieces = re.findall(r"[^,:= ]*[,:= ]+|[^,:= ]+", text)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        from rich.text import Text

        line = ""
        for piece in self.pieces:
            if line and len(line) + len(piece.rstrip()) > options.max_width:
                yield Text(line, overflow="fold")
                line = ""
            line += piece
        yield Text(line, overflow="fold")

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        from rich.measure import Measurement

        return Measurement(max(map(len, self.pieces)), sum(map(len, self.pieces)))


def _about_verdicts(report: dict[str, Any]) -> str:
    count = report["comparisons"]
    many = f"allowing for {count} comparisons (Bonferroni), " if count > 1 else ""
    return (
        f"Verdicts: {many}only where the power to find the difference is {report['power']:.0%}; "
        f"even: within {100 * report['margin']:g} points of it."
    )


def _share_cells(rate: dict[str, Any]) -> list[str]:
    """A share in %, and its interval."""
    low, high = rate["low"], rate["high"]
    return [f"{rate['mean']:.1%}", "-" if low is None else f"{100 * low:.1f}-{100 * high:.1f}"]


def _unwon(of: dict[str, Any]) -> int:
    return int(of.get("unwon", of["blocked"] + of["truncated"]))


def _range(estimate: dict[str, float], digits: int) -> str:
    low, high = estimate["low"], estimate["high"]
    return "" if low == high else f"{low:.{digits}f}-{high:.{digits}f}"
