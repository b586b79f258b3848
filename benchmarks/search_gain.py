"""What a search gains by one decision over the strong heuristic, and what is to be gained at all.

    python benchmarks/search_gain.py --agents search:1000 search:1000,belief=uniform

In rounds between two `strong`, every agent is asked in each decision of seat 0. Each legal move is
played out, `strong` in both seats, from hundreds of hands that the other seat may hold by all that
it has done (`posterior`), and compared with the move of `strong` on the same hands. The mean
difference is what an agent gains by moving otherwise once; the sum over a round is about what it
gains in a match. It tells variants of a search apart with far fewer games than matches do, since
the luck of the cards is averaged out, and all agents meet the same positions. It says nothing of
what a search gains by searching again later.

Two more lines choose the move that is best on half as many hands: "perfect belief" on one half of
them, judged by the other half, "learned belief" on guesses as search makes them. The difference is
what a better belief could gain.
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
from posterior import LONGEST, advantages, play_on

from pocket_uno_env.agents import AgentError, load
from pocket_uno_env.agents.scripted.policies import Policy, act_rows
from pocket_uno_env.agents.search.agent import SearchAgent
from pocket_uno_env.agents.search.flat import begin_row, compare
from pocket_uno_env.cli.progress import Display
from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.compiled.rng import mix, row_seed
from pocket_uno_env.engine.deal import deal_round, new_game
from pocket_uno_env.engine.state import NO_SEAT, new_rows
from pocket_uno_env.rows import mask_rows
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.phases import End
from pocket_uno_env.rules.rules import Rules, RulesError

PERFECT = "perfect belief"
LEARNED = "learned belief"


@dataclass
class Options:
    """The fields are the options of the command line."""

    agents: list[str]
    """The agents to measure."""
    rules: str = "pocket"
    """The rules, by the name of a preset; two players."""
    rounds: int = 200
    """Rounds, the independent sample."""
    hands: int = 400
    """Guesses of the other hand that judge each decision."""
    thin: int = 15
    """Steps of the Markov chain from one to the next."""
    seed: int = 0
    """The same seed gives the same positions."""
    json: Path | None = None
    """Write what was found to this file."""


@kernel
def deal_rounds(rules: Any, rows: Any, seed: Any) -> None:
    """Deal a round for two in every row."""
    for i in range(rows.shape[0]):
        new_game(rows[i], 2, row_seed(seed, np.uint64(i)))
        deal_round(rules[0], rows[i], NO_SEAT, None, None)


def judge(options: Options, rules: Rules, rows: np.ndarray, seen: Any, asked: Any) -> np.ndarray:
    """The gain of every move over that of `strong`: float64, ``(m, 2, n_actions)``.

    ``asked`` are the places of the m games and the moves of `strong`; ``seen`` is what `play_on`
    remembers.
    """
    past, actions, counts = seen
    gains = np.zeros((len(asked[0]), 2, len(catalogue(rules))))
    for j, (place, move) in enumerate(zip(*asked, strict=True)):
        seed = np.uint64(mix(np.uint64(int(rows["decisions"][place]) * 1_000_003 + int(place))))
        shares = (past[place].copy(), actions[place], counts[place])
        limits = (options.hands, options.thin, seed, gains[j])
        if advantages(rules._table, rows, place, move, *shares, *limits) < 0:
            raise RuntimeError("the true hand does not explain what its seat did")
    return gains


@kernel
def _compare(rules, rows, place, count, more, seed, method, bench):
    compare(rules[0], rows[place], count, 0, more, seed, method, bench)


def by_guesses(options: Options, rules: Rules, rows: np.ndarray, index: Any, strong: Any) -> Any:
    """What is best on half as many guesses of a search as there are hands; int64, ``(m,)``."""
    search = load("search:1")
    assert isinstance(search, SearchAgent)
    method, bench = search.prepare(rules, 2)
    prior = np.zeros(len(catalogue(rules)), np.float32)
    best, rows, more = strong.copy(), rows.copy(), options.hands // 2
    for j, (place, move) in enumerate(zip(index, strong, strict=True)):
        count, seed = begin_row(rules._table, rows, place, move, prior, method, bench)
        _compare(rules._table, rows, place, count, more, np.uint64(seed), method, bench)
        if count > 1 and bench.sums[1:count].max() > 0:
            best[j] = bench.moves[1 + bench.sums[1:count].argmax()]
    return best


def measure(options: Options) -> dict[str, Any]:
    """Everything that was found, as plain data."""
    rules = Rules.preset(options.rules)
    rows = new_rows(options.rounds)
    deal_rounds(rules._table, rows, np.uint64(options.seed))
    agents = {spec: load(spec) for spec in options.agents}
    for agent in agents.values():
        agent.check(rules, 2)
        agent.act_rows(rules, rows[:1].copy(), np.zeros(1, np.int64))  # compile
    names = [*agents, LEARNED, PERFECT]
    gains = {name: np.zeros(len(rows)) for name in names}
    spent, differs = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0)
    seen = (
        new_rows(options.rounds * LONGEST).reshape(-1, LONGEST),
        np.zeros((options.rounds, LONGEST), np.int64),
        np.zeros(options.rounds, np.int64),
    )
    masks = np.zeros((len(rows), len(catalogue(rules))), np.int8)
    moves = np.full(len(rows), -1)
    decisions = 0
    with Display() as display:
        display.begin("rounds", len(rows))
        while True:
            play_on(rules._table, rows, moves, *seen)
            index = np.flatnonzero((rows["end"] == End.RUNNING) & (seen[2] < LONGEST - 2))
            display.report(len(rows) - len(index), {})
            if len(index) == 0:
                break
            moves[:] = -1
            found = np.zeros(len(index), np.int64)
            act_rows(rules, rows, index, int(Policy.STRONG), found)
            moves[index] = found
            mask_rows(rules, rows, index, masks)
            index = index[masks[: len(index)].sum(axis=1) > 1]
            strong, here = moves[index], np.arange(len(index))
            decisions += len(index)
            halves = judge(options, rules, rows, seen, (index, strong))
            for name, agent in agents.items():
                began = time.process_time()
                chosen = agent.act_rows(rules, rows.copy(), index)
                spent[name] += time.process_time() - began
                gains[name][index] += halves.mean(axis=1)[here, chosen]
                differs[name] += int((chosen != strong).sum())
            best = by_guesses(options, rules, rows, index, strong)
            gains[LEARNED][index] += halves.mean(axis=1)[here, best]
            differs[LEARNED] += int((best != strong).sum())
            for half in (0, 1):
                best = halves[:, half].argmax(axis=1)
                best = np.where(halves[here, half, best] > 0, best, strong)
                gains[PERFECT][index] += halves[here, 1 - half, best] / 2
                differs[PERFECT] += int((best != strong).sum()) / 2
    lines = {}
    for name, gain in gains.items():
        over = gain - gains[options.agents[0]]
        if name == PERFECT:
            over = gain - gains[LEARNED]
        lines[name] = {
            "differs": differs[name] / decisions,
            "gain": _interval(gain),
            "over": _interval(over),
            "milliseconds": 1000 * spent[name] / decisions,
        }
    settings = asdict(options) | {"json": None}
    return {"settings": settings, "decisions": decisions / options.rounds, "agents": lines}


def _interval(gain: np.ndarray) -> list[float]:
    """Mean and half the width of the 95 % interval, in per cent."""
    return [100 * float(gain.mean()), 196 * float(gain.std(ddof=1)) / len(gain) ** 0.5]


def main() -> int:
    """Measure, print, write."""
    options = tyro.cli(Options, description=__doc__)
    try:
        report = measure(options)
    except (AgentError, RulesError) as error:
        print(error, file=sys.stderr)
        return 2
    for name, line in report["agents"].items():
        (mean, half), (over, over_half) = line["gain"], line["over"]
        base = LEARNED if name == PERFECT else "the first"
        print(
            f"{name}: {100 * line['differs']:.1f} % of moves differ; {mean:+.2f} ± {half:.2f} % a "
            f"round, {over:+.2f} ± {over_half:.2f} over {base}; "
            f"{line['milliseconds']:.2f} ms a decision"
        )
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
