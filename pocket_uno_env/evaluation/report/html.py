"""A report as one HTML page that needs no network and no other file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from pocket_uno_env.evaluation.statistics.verdicts import Verdict

from . import plots
from .tables import (
    SHOWN,
    cell,
    in_rotations,
    in_short,
    rate_kinds,
    rating_kinds,
    remarks,
    rules_title,
    sequential_text,
    shown_figures,
    undecided,
)

STYLE = """
:root { color-scheme: light; --line: #d9dce1; --soft: #f4f5f7; --ink: #1d2530; --dim: #5d6672; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); margin: 0 auto; max-width: 62rem;
  padding: 2rem 1.2rem; }
h1 { font-size: 1.6rem; margin: 0 0 .2rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
p { max-width: 46rem; } .dim { color: var(--dim); }
table { border-collapse: collapse; margin: .4rem 0; } .wide { overflow-x: auto; }
th, td { padding: .3rem .7rem; text-align: right; border-bottom: 1px solid var(--line);
  font-variant-numeric: tabular-nums; white-space: nowrap; }
th { font-weight: 600; background: var(--soft); } th.l, td.l { text-align: left; }
td.l { white-space: normal; overflow-wrap: anywhere; min-width: 6rem; }
.better { color: #1d6b3a; } .worse { color: #a13a2c; } .undecided { color: var(--dim); }
pre { background: var(--soft); padding: .7rem .9rem; overflow-x: auto; font-size: .85rem; }
figure { margin: .6rem 0; overflow-x: auto; } svg { max-width: 100%; height: auto; }
details { margin: .6rem 0; } summary { cursor: pointer; }
"""


def page(report: dict[str, Any]) -> str:
    """The whole page, from a `report.tournament_report`."""
    n = report["num_players"]
    title = f"{rules_title(report['rules'])}, {n} players"
    rounds = f"{sum(of['rounds'] for of in report['line_ups']):,} rounds"
    matches = sum(of.get("matches", 0) for of in report["line_ups"])
    played = f"{matches:,} matches of {rounds}" if matches else rounds
    parts = [
        f"<h1>{escape(title[0].upper() + title[1:])}</h1>",
        f'<p class="dim">{report["deals"]:,} deals for every line-up, {in_rotations(report)}; '
        f"{played} in all; seed {report['seed']}.</p>",
        *_results(report),
        *_ratings(report),
        *_picture("payoff", "Payoff matrix", report),
        *_control(report),
        *_behavior(report),
        *_picture("convergence", "How the estimates settled", report),
        *_how(report),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _results(report: dict[str, Any]) -> list[str]:
    n, rates = report["num_players"], rate_kinds(report)
    rows = []
    for of, figure in shown_figures(report):
        points = figure["points_per_round"]
        found = Verdict(**figure["verdict"]) if "verdict" in figure else None
        rows.append(
            [
                figure["agent"],
                in_short(figure["against"]),
                *_rate_cells(figure, rates),
                f"{points['mean']:.1f}",
                _interval(points, 1, 1),
                f"{of.get('matches', of['rounds']):,}",
                f"{of['unwon']:,}",
                "" if found is None else _Html(f'<span class="{found.claim}">{found.claim}</span>'),
            ]
        )
    heads = [head for name in rates.values() for head in (name, "95 %")]
    heads = ["agent", "against", *heads, "points", "95 %", "games", "unwon", "verdict"]
    count = report["comparisons"]
    notes = [
        f"An even game is {1 / n:.1%}. The deal with all its rotations is the sample. A game "
        f"without a winner counts 1/{n}. Points are per round. "
        + ("Rounds are those of the matches; verdicts go by matches. " if len(rates) > 1 else "")
        + "Verdicts are given only where the design has a power of "
        f"{report['power']:.0%} to find the difference"
        + (f", and allow for {count} comparisons (Bonferroni)" if count > 1 else "")
        + f'; "even" means within {100 * report["margin"]:g} percentage points.'
    ]
    sequential = sequential_text(report)
    return [
        "<h2>Results</h2>",
        *([f"<p><b>{escape(sequential)}.</b></p>"] if sequential else []),
        _table(heads, rows, 2),
        f'<p class="dim">{escape(notes[0])}</p>',
        *(f"<p>{escape(line)}.</p>" for line in [*undecided(report), *remarks(report)]),
    ]


def _ratings(report: dict[str, Any]) -> list[str]:
    found = report["ratings"]
    if not found:
        return []
    kinds = rating_kinds(report)
    rows = []
    for name in found["elo"]:
        rows.append([name])
        for kind in kinds:
            value, digits = found[kind][name], int(kind == "openskill")
            rows[-1] += [f"{value['mean']:.{digits}f}", _interval(value, 1, digits)]
    heads = ["agent", *(head for kind in kinds.values() for head in (kind, "95 %"))]
    return [*_picture("ratings", "Ratings", report), _table(heads, rows, 1)]


def _control(report: dict[str, Any]) -> list[str]:
    rates = rate_kinds(report)
    rows = [
        [
            figure["agent"],
            in_short(figure["against"]),
            *_rate_cells(figure["adjusted"], rates),
            *(f"{figure['adjusted'][kind]['games_needed']:.0%}" for kind in rates),
        ]
        for _, figure in shown_figures(report)
        if "adjusted" in figure
    ]
    if not rows:
        return []
    heads = [head for name in rates.values() for head in (name, "95 %")]
    return [
        "<h2>Without the luck of the draws</h2>",
        _table(["agent", "against", *heads, *["games needed"] * len(rates)], rows, 2),
        '<p class="dim">Control variates of the cards drawn: the same to expect, and less '
        "variance. Games needed: how many of them tell as much as all without. Verdicts go by "
        "these figures.</p>",
    ]


def _behavior(report: dict[str, Any]) -> list[str]:
    found = report["behavior"]
    if not found:
        return []
    seats = range(report["num_players"])
    heads = [
        "agent",
        *(head for head, _ in SHOWN.values()),
        "turns",
        "length",
        *(f"wins at {position}" for position in seats),
    ]
    rows = [
        [name]
        + [cell(key, figures[key]) for key in (*SHOWN, "turns_per_round", "round_length")]
        + [cell("win_rate", rate) for rate in figures["by_position"]]
        for name, figures in found.items()
    ]
    return [
        *_picture("behavior", "Behaviour", report),
        _table(heads, rows, 1),
        '<p class="dim">In %, but wild@, pts, turns (its own, in a round) and length (all '
        "decisions of a round). Positions count from the dealer's left, which is 0.</p>",
    ]


def _how(report: dict[str, Any]) -> list[str]:
    agents = [
        [
            agent["name"],
            agent["kind"],
            _Html(f"<code>{escape(agent['fingerprint'])}</code>"),
            "yes" if agent["repeatable"] else "no, it goes by the clock",
        ]
        for agent in report["agents"]
    ]
    versions = ", ".join(f"{name} {number}" for name, number in report["versions"].items())
    return [
        "<h2>How to repeat it</h2>",
        f"<pre>python {escape(report['command'])}</pre>",
        _table(["agent", "kind", "fingerprint", "repeats itself"], agents, 1),
        f'<p class="dim">{escape(versions)}.</p>',
        "<details><summary>The rules</summary>"
        f"<pre>{escape(json.dumps(report['rules'], indent=1))}</pre></details>",
    ]


def _picture(name: str, title: str, report: dict[str, Any]) -> list[str]:
    made = plots.PLOTS[name](report)
    if made is None:
        return []
    return [f"<h2>{title}</h2>", f"<figure>{plots.svg(made, name)}</figure>"]


def _rate_cells(figure: dict[str, Any], rates: Iterable[str]) -> list[str]:
    cells = ((figure[key]["mean"], _interval(figure[key], 100, 1)) for key in rates)
    return [text for mean, interval in cells for text in (f"{mean:.1%}", interval)]


class _Html(str):
    """Text that is HTML already."""


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], left: int) -> str:
    """An HTML table whose first `left` columns are text."""

    def line(tag: str, cells: Sequence[str]) -> str:
        return "".join(
            f"<{tag}{' class=l' if place < left else ''}>"
            f"{text if isinstance(text, _Html) else escape(text)}</{tag}>"
            for place, text in enumerate(cells)
        )

    body = "".join(f"<tr>{line('td', row)}</tr>" for row in rows)
    return (
        f'<div class="wide"><table><thead><tr>{line("th", heads)}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _interval(estimate: dict[str, Any], factor: float, digits: int) -> str:
    low, high = estimate["low"], estimate["high"]
    if low is None or low == high:
        return ""
    return f"{factor * low:.{digits}f} - {factor * high:.{digits}f}"
