"""A report as pictures: payoff matrix, ratings, behaviour, convergence.

Each function makes a matplotlib figure of its own, without a window; `save` writes PNG and SVG.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pocket_uno_env.files import write_whole, writing

from .tables import SHOWN, cell, in_short, rate_kinds, rating_kinds, shown_figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, GREY, RED = "#2f6f9f", "#8a8f98", "#b5483a"


def payoff(report: dict[str, Any]) -> Figure | None:
    """Win rate of each row's agent against each column's; None for fewer than three agents."""
    kinds = rate_kinds(report)
    rates: dict[tuple[str, str], list[dict[str, float]]] = {}
    for of in report["line_ups"]:
        for figure in of["figures"]:
            if len(set(figure["against"])) == 1:
                pair = figure["agent"], figure["against"][0]
                rates[pair] = [figure[kind] for kind in kinds]
    if report["num_players"] > 2:
        alone = {(of["agents"][0], of["agents"][-1]) for of in report["line_ups"]}
        rates = {pair: rate for pair, rate in rates.items() if pair in alone}
    names = [name for name in _names(report) if any(name in pair for pair in rates)]
    if len(names) < 3:
        return None
    n, even = len(names), 1 / report["num_players"]
    values = np.full((n, n), np.nan)
    made, axes = _figure(2.2 + 0.95 * n, 1.6 + 0.62 * n)
    reach = max((abs(shown[0]["mean"] - even) for shown in rates.values()), default=0.1)
    for (one, other), shown in rates.items():
        row, column = names.index(one), names.index(other)
        values[row, column] = shown[0]["mean"]
        strong = abs(shown[0]["mean"] - even) > 0.6 * reach
        half = "\n±" if len(kinds) == 1 else " ±"
        axes.text(
            column,
            row,
            "\n".join(
                f"{100 * rate['mean']:.1f}{half}{50 * (rate['high'] - rate['low']):.1f}"
                for rate in shown
            ),
            ha="center",
            va="center",
            fontsize=8,
            color="white" if strong else "black",
        )
    axes.imshow(values, cmap="RdBu", vmin=even - reach, vmax=even + reach, aspect="auto")
    axes.set_xticks(range(n), names, rotation=35, ha="right")
    axes.set_yticks(range(n), names)
    title = "Win rate in %" if len(kinds) == 1 else "Matches won and rounds won in %"
    axes.set_title(f"{title}, row against column\n(even: {100 * even:.0f})", fontsize=10)
    for side in axes.spines.values():
        side.set_visible(False)
    return made


def ratings(report: dict[str, Any]) -> Figure | None:
    """The agents' ratings with their intervals; None where there are none."""
    found = report.get("ratings")
    if not found:
        return None
    names = list(found["elo"])[::-1]
    made, axes = _figure(7, 1.4 + 0.38 * len(names))
    kinds = {kind: head for kind, head in rating_kinds(report).items() if kind != "openskill"}
    for (kind, head), color, below in zip(kinds.items(), (BLUE, RED), (0, 0.25), strict=False):
        for row, name in enumerate(names):
            elo, place = found[kind][name], row - below
            axes.plot([elo["low"], elo["high"]], [place, place], color=color, lw=3, alpha=0.5)
            axes.plot(elo["mean"], place, "o", color=color, ms=6, label=None if row else head)
            if not below:
                axes.annotate(
                    f"{elo['mean']:.0f}", (elo["mean"], place), (0, 7), textcoords="offset points",
                    ha="center", fontsize=8,
                )  # fmt: skip
    if len(kinds) > 1:
        axes.legend(fontsize=8, frameon=False)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.6, len(names) - 0.2)
    axes.set_xlabel("rating (Elo's scale) with its 95 % interval")
    axes.grid(axis="x", alpha=0.3)
    return made


def behavior(report: dict[str, Any]) -> Figure | None:
    """What the agents do, one small chart for each figure; None where it was not counted."""
    found = report.get("behavior")
    if not found:
        return None
    from matplotlib.figure import Figure

    names = list(found)[::-1]
    made = Figure(figsize=(10, 3 * (0.9 + 0.24 * len(names))), layout="constrained")
    grid = made.subplots(3, 3, sharey=True)
    for axes, (key, (head, text)) in zip(grid.flat, SHOWN.items(), strict=True):
        values = [found[name][key] for name in names]
        axes.barh(range(len(names)), [value or 0 for value in values], color=BLUE, height=0.7)
        top = max([value or 0 for value in values] + [1e-9])
        for place, value in enumerate(values):
            axes.text((value or 0) + 0.02 * top, place, cell(key, value), va="center", fontsize=7)
        axes.set_xlim(0, 1.25 * top)
        axes.set_xticks([])
        axes.set_title(f"{head}: {text}", fontsize=8)
        axes.set_yticks(range(len(names)), names, fontsize=8)
        for side in ("top", "right", "bottom"):
            axes.spines[side].set_visible(False)
    return made


def convergence(report: dict[str, Any], most: int = 12) -> Figure | None:
    """The win rate and its interval as the deals come in; of the first `most` line-ups."""
    lines = [
        (of, points)
        for of, points in zip(report["line_ups"], report.get("convergence", []), strict=False)
        if len(of["figures"]) > 1
    ][:most]
    if not lines:
        return None
    from matplotlib.figure import Figure

    columns = min(3, len(lines))
    rows = -(-len(lines) // columns)
    made = Figure(figsize=(max(3.6 * columns, 6), 2.4 * rows + 0.3), layout="constrained")
    grid = np.atleast_1d(made.subplots(rows, columns, sharex=True, squeeze=False)).ravel()
    even = 100 / report["num_players"]
    for axes, (of, points) in zip(grid, lines, strict=False):
        deals = [point["deals"] for point in points]
        by_rounds = [point["rounds"] for point in points if "rounds" in point]
        for rates, color, head in ((points, BLUE, "matches"), (by_rounds, RED, "rounds")):
            if rates:
                low, mean, high = ([100 * p[key] for p in rates] for key in ("low", "mean", "high"))
                axes.fill_between(deals, low, high, color=color, alpha=0.25, lw=0)
                axes.plot(deals, mean, color=color, label=head)
        if by_rounds:
            axes.legend(fontsize=7, frameon=False)
        axes.axhline(even, color=GREY, lw=1, ls="--")
        axes.set_xscale("log")
        first = of["figures"][0]
        axes.set_title(f"{first['agent']} against {in_short(first['against'])}", fontsize=8)
        axes.tick_params(labelsize=7)
        axes.grid(alpha=0.25)
    for axes in grid[len(lines) :]:
        axes.set_visible(False)
    made.supxlabel("deals", fontsize=9)
    made.supylabel("win rate in %, 95 % interval", fontsize=9)
    return made


def calibration(report: dict[str, Any]) -> Figure:
    """How often matches were won, against the chance by match equity: a line for each agent.

    Parameters
    ----------
    report : dict
        What ``pocket-uno equity --calibrate`` writes.
    """
    made, axes = _figure(4.6, 4.2)
    axes.plot([0, 100], [0, 100], color=GREY, lw=1, ls="--")
    for number, found in enumerate(report["agents"]):
        bins = [b for b in found["bins"] if b["positions"]]
        predicted, won = ([100 * b[key] for b in bins] for key in ("predicted", "won"))
        label = f"{found['agent']} ({100 * found['error']:.2f})"
        axes.plot(predicted, won, "o-", ms=4, lw=1, color=f"C{number}", label=label)
    axes.set_xlabel("chance to win the match by the table, in %")
    axes.set_ylabel("matches won, in %")
    axes.set_aspect("equal")
    axes.grid(alpha=0.25)
    axes.legend(title="mean difference", fontsize=8, title_fontsize=8, frameon=False)
    return made


PLOTS: dict[str, Callable[[dict[str, Any]], Figure | None]] = {
    "payoff": payoff,
    "ratings": ratings,
    "behavior": behavior,
    "convergence": convergence,
}
"""All pictures, by name."""


def save(report: dict[str, Any], folder: Path) -> list[Path]:
    """Write each picture there is as PNG and SVG; the files. FileError if they can't be."""
    with writing(folder):
        folder.mkdir(exist_ok=True)
    files = []
    for name, draw in PLOTS.items():
        made = draw(report)
        if made is not None:
            files += [folder / f"{name}.{ending}" for ending in ("png", "svg")]
            for file in files[-2:]:
                write(made, file)
    return files


def write(figure: Figure, file: Path) -> None:
    """Write a figure as its file's ending says, png or svg."""
    import matplotlib

    ending, drawn = file.suffix[1:], io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": file.stem}):
        figure.savefig(drawn, format=ending, dpi=130, metadata=_metadata(ending))
    write_whole(file, drawn.getvalue())


def svg(figure: Figure, name: str) -> str:
    """A figure as SVG to stand in HTML; `name` keeps its ids apart from other figures'."""
    import matplotlib

    file = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name}):
        figure.savefig(file, format="svg", metadata=_metadata("svg"))
    text = file.getvalue()
    return text[text.index("<svg") :]


def _metadata(ending: str) -> dict[str, str | None]:
    """Without the date, so that the same report gives the same picture."""
    return {"Date": None} if ending == "svg" else {"Software": None}


def _names(report: dict[str, Any]) -> list[str]:
    """The agents, the best first where they are rated."""
    found = report.get("ratings")
    if found:
        return list(found["elo"])
    return list(dict.fromkeys(figure["agent"] for _, figure in shown_figures(report)))


def _figure(width: float, height: float) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, height), layout="constrained")
    return made, made.subplots()
