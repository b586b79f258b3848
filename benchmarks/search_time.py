"""What a decision of a search costs in processor time, and where that goes.

    python benchmarks/search_time.py --agents search:1000 search:10000

The agents are asked in rounds between two `strong`. Counted is the time that the process works, on
however busy a machine. A core that others share works more slowly: how much so, tells how fast
`greedy` plays itself in between, which docs/speed.md has for a quiet machine ("greedy rounds").
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

from pocket_uno_env.agents import AgentError, load
from pocket_uno_env.agents.scripted.policies import Policy, act
from pocket_uno_env.agents.search.agent import SearchAgent
from pocket_uno_env.agents.search.flat import begin
from pocket_uno_env.agents.search.playouts import imagine, play_out
from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.compiled.rng import row_seed
from pocket_uno_env.engine.deal import deal_round, new_game
from pocket_uno_env.engine.state import NO_SEAT, new_rows
from pocket_uno_env.engine.transition import apply
from pocket_uno_env.evaluation.arena import play
from pocket_uno_env.rows import mask_rows
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.phases import End, Phase
from pocket_uno_env.rules.rules import Rules


@dataclass
class Options:
    """The fields are the options of the command line."""

    agents: list[str]
    """The agents to time."""
    rounds: int = 100
    """Rounds in which they are asked, two players."""
    repeats: int = 300
    """Guesses and playouts of each position in the breakdown."""
    seed: int = 0
    """The same seed gives the same positions."""
    json: Path | None = None
    """Write what was found to this file."""


@kernel
def collect(rules: Any, rows: Any, positions: Any, rounds: Any, seed: Any) -> Any:
    """Play rounds in the first row; what seat 0 decides goes into `positions`."""
    count, row = 0, rows[0]
    for number in range(rounds):
        new_game(row, 2, row_seed(seed, np.uint64(number)))
        deal_round(rules[0], row, NO_SEAT, None, None)
        while row.end == End.RUNNING and count < positions.shape[0]:
            if row.to_act == 0:
                positions[count] = row
                count += 1
            apply(rules[0], row, act(rules[0], row, Policy.STRONG), None, None)
    return count


@kernel
def work(
    rules: Any, rows: Any, prior: Any, method: Any, bench: Any, weigh: Any, guess: Any, finish: Any
) -> Any:
    """In every position weigh the unseen cards and guess so many times, and perhaps play it out.

    Returns how many decisions the playouts had.
    """
    decisions = 0
    for i in range(rows.shape[0]):
        move = act(rules[0], rows[i], Policy.STRONG)
        seat = np.int64(rows[i].to_act)
        for _ in range(weigh):
            begin(rules[0], rows[i], move, prior, method, bench)
        for number in range(guess):
            imagine(rules[0], rows[i], seat, np.uint64(i), number, method, bench)
            if finish:
                before = bench.rows[0].decisions
                play_out(rules[0], bench.rows[0], seat, method)
                decisions += bench.rows[0].decisions - before
    return decisions


def parts(agent: SearchAgent, rules: Rules, rows: Any, repeats: int) -> dict[str, float]:
    """Microseconds of weighing, a guess and a playout, and decisions in a playout."""
    method, bench = agent.prepare(rules, 2)
    prior = np.zeros(len(catalogue(rules)), np.float32)

    def clock(*how: Any) -> tuple[float, int]:
        began = time.process_time()
        decisions = work(rules._table, rows, prior, method, bench, *how)
        return 1e6 * (time.process_time() - began) / (len(rows) * repeats), decisions

    clock(1, 1, True)  # compile
    weighing = clock(repeats, 0, False)[0]
    guessing = clock(1, repeats, False)[0]
    playing, decisions = clock(1, repeats, True)
    return {
        "weigh": weighing,
        "guess": guessing,
        "playout": playing - guessing,
        "decisions of a playout": decisions / (len(rows) * repeats),
    }


def greedy_speed() -> float:
    """Million decisions a second of greedy against greedy."""
    agents = [load("greedy")]
    began, decisions = time.process_time(), 0
    for seed in range(20):
        (games,) = play("pocket", 2, agents, 2000, seed)
        decisions += int(games.decisions.sum())
    return decisions / (time.process_time() - began) / 1e6


def measure(options: Options) -> dict[str, Any]:
    """Everything that was found, as plain data."""
    rules = Rules.preset("pocket")
    rows = new_rows(60 * options.rounds)
    rows = rows[: collect(rules._table, new_rows(1), rows, options.rounds, np.uint64(options.seed))]
    every = np.arange(len(rows))
    masks = np.zeros((len(rows), len(catalogue(rules))), np.int8)
    mask_rows(rules, rows, every, masks)
    searched = (
        (masks.sum(axis=1) > 1) & (rows["phase"] != Phase.UNO) & (rows["phase"] != Phase.CATCH)
    )
    found: dict[str, Any] = {}
    greedy_speed()  # compile
    for spec in options.agents:
        agent = load(spec)
        agent.check(rules, 2)
        agent.act_rows(rules, rows.copy(), every[:1])  # compile
        before = greedy_speed()
        began = time.process_time()
        agent.act_rows(rules, rows.copy(), every)
        spent = 1000 * (time.process_time() - began)
        found[spec] = {
            "asked": spent / len(rows),
            "with a choice": spent / int(searched.sum()),
            "greedy": (before + greedy_speed()) / 2,
        }
        if isinstance(agent, SearchAgent):
            found[spec] |= parts(agent, rules, rows[searched][::8].copy(), options.repeats)
    return {"settings": asdict(options) | {"json": None}, "agents": found}


def main() -> int:
    """Measure, print, write."""
    options = tyro.cli(Options, description=__doc__)
    try:
        report = measure(options)
    except AgentError as error:
        print(error, file=sys.stderr)
        return 2
    for spec, line in report["agents"].items():
        text = (
            f"{spec}: {line['asked']:.2f} ms a decision, {line['with a choice']:.2f} with a choice"
        )
        text += f", while greedy makes {line['greedy']:.2f} million a second"
        if "playout" in line:
            text += (
                f"; {line['weigh']:.1f} us to weigh the cards, {line['guess']:.1f} a guess, "
                f"{line['playout']:.1f} a playout of {line['decisions of a playout']:.1f} decisions"
            )
        print(text)
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
