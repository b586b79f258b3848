"""What a search gains by one decision: its moves against the strong heuristic's, on true hands.

    python benchmarks/search_gain.py --agents search:1000 search:1000,belief=uniform

In rounds that `strong` plays against itself, every agent is asked in each decision of seat 0.
Wherever it would move differently, both moves are played out many times from the true hands, with
the draw pile shuffled anew, `strong` in all seats. The mean difference is what the agent gains by
deviating once, the sum over a round about what it gains in a match. It tells variants of a search
apart with far fewer games than matches do, since all luck but that of the hidden hands is averaged
out, and all agents meet the same positions. It says nothing of what a search gains by searching
again later.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro

from pocket_uno_env.agents import load
from pocket_uno_env.batch import act_rows
from pocket_uno_env.deal import deal_round, new_game
from pocket_uno_env.engine import apply
from pocket_uno_env.kernel import kernel
from pocket_uno_env.piles import shuffle
from pocket_uno_env.rng import mix, row_seed
from pocket_uno_env.rules import Rules
from pocket_uno_env.scripted import Policy, act
from pocket_uno_env.state import NO_SEAT, End, new_rows


@dataclass
class Options:
    """The fields are the options of the command line."""

    agents: list[str]
    """The agents to measure."""
    rules: str = "pocket"
    """The rules, by the name of a preset."""
    num_players: int = 2
    """Seats at the table."""
    rounds: int = 500
    """Rounds, the independent sample."""
    truths: int = 200
    """Playouts of each move that differs."""
    seed: int = 0
    """The same seed gives the same positions."""
    json: Path | None = None
    """Write what was found to this file."""


@kernel
def deal_rounds(rules: Any, rows: Any, num_players: int, seed: Any) -> None:
    """Deal a round in every row."""
    for i in range(rows.shape[0]):
        new_game(rows[i], num_players, row_seed(seed, np.uint64(i)))
        deal_round(rules[0], rows[i], NO_SEAT, None, None)


@kernel
def play_on(rules: Any, rows: Any, strong: Any) -> None:
    """Let `strong` move for seat 0 as ``strong[i]`` says, then for the others until it is asked."""
    for i in range(rows.shape[0]):
        row = rows[i]
        if row.end == End.RUNNING and row.to_act == 0 and strong[i] >= 0:
            apply(rules[0], row, strong[i], None, None)
        while row.end == End.RUNNING and row.to_act != 0 and row.decisions < 400:
            apply(rules[0], row, act(rules[0], row, Policy.STRONG), None, None)


@kernel
def true_gain(rules: Any, rows: Any, place: int, move: Any, other: Any, truths: int) -> float:
    """How much more often `move` wins than `other`, in ``rows[place]`` as it is."""
    seat = rows[place].to_act
    scratch = rows[:1].copy()
    row = scratch[0]
    total = 0.0
    for k in range(truths):
        for sign in (1.0, -1.0):
            scratch[0] = rows[place]
            row.rng = mix(np.uint64(k * 7919 + place))
            shuffle(row, row.draw_pile, np.int64(row.draw_count))
            apply(rules[0], row, move if sign > 0 else other, None, None)
            while row.end == End.RUNNING and row.decisions < 800:
                apply(rules[0], row, act(rules[0], row, Policy.STRONG), None, None)
            if row.end == End.OUT and row.winner == seat:
                total += sign
    return total / truths


def measure(options: Options) -> dict[str, Any]:
    """Everything that was found, as plain data."""
    rules = Rules.preset(options.rules)
    rows = new_rows(options.rounds)
    deal_rounds(rules.table, rows, options.num_players, np.uint64(options.seed))
    agents = {spec: load(spec) for spec in options.agents}
    # An agent that remembers must see the same array every time.
    seen = {spec: rows.copy() for spec in agents}
    gains = {spec: np.zeros(len(rows)) for spec in agents}
    spent, differs = dict.fromkeys(agents, 0.0), dict.fromkeys(agents, 0)
    decisions = 0
    for agent in agents.values():
        agent.check(rules, options.num_players)
        agent.act_rows(rules, rows[:1].copy(), np.zeros(1, np.int64))  # compile
    strong = np.full(len(rows), -1)
    while True:
        play_on(rules.table, rows, strong)
        index = np.flatnonzero((rows["end"] == End.RUNNING) & (rows["decisions"] < 400))
        if len(index) == 0:
            break
        decisions += len(index)
        chosen = np.zeros(len(index), np.int64)
        act_rows(rules.table, rows, index, int(Policy.STRONG), chosen)
        strong[:] = -1
        strong[index] = chosen
        known: dict[tuple[int, int], float] = {}
        for spec, agent in agents.items():
            seen[spec][:] = rows
            began = time.process_time()
            moves = agent.act_rows(rules, seen[spec], index)
            spent[spec] += time.process_time() - began
            for j in np.flatnonzero(moves != chosen).tolist():
                key = int(index[j]), int(moves[j])
                if key not in known:
                    known[key] = true_gain(rules.table, rows, *key, chosen[j], options.truths)
                gains[spec][index[j]] += known[key]
                differs[spec] += 1
    found = {}
    for spec, gain in gains.items():
        half = 1.96 * gain.std(ddof=1) / len(gain) ** 0.5
        first = gain - gains[options.agents[0]]
        over = 1.96 * first.std(ddof=1) / len(gain) ** 0.5
        found[spec] = {
            "differs": differs[spec] / decisions,
            "gain": [100 * float(gain.mean()), 100 * float(half)],
            "over_first": [100 * float(first.mean()), 100 * float(over)],
            "milliseconds": 1000 * spent[spec] / decisions,
        }
        print(
            f"{spec}: {100 * differs[spec] / decisions:.1f} % of moves differ; "
            f"{100 * gain.mean():+.2f} ± {100 * half:.2f} % a round, "
            f"{100 * first.mean():+.2f} ± {100 * over:.2f} over the first; "
            f"{1000 * spent[spec] / decisions:.2f} ms a decision",
            flush=True,
        )
    settings = asdict(options) | {"json": None}
    return {"settings": settings, "decisions": decisions / options.rounds, "agents": found}


def main() -> int:
    """Measure, print, write."""
    options = tyro.cli(Options, description=__doc__)
    report = measure(options)
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
