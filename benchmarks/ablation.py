"""What each part of the training is worth: the default, and the default with one thing changed.

    python benchmarks/ablation.py            train what is missing, write docs/training.md's table
    python benchmarks/ablation.py --table    write the table from what is there

All variants get the same small budget and several seeds, and are measured on the same deals, in
single rounds and in matches. Each is a run of train.py in runs/ablation/; one that was interrupted
is taken up again.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from scipy.stats import t

from pocket_uno_env.agents import load
from pocket_uno_env.evaluation.arena import play

ROOT = Path(__file__).resolve().parent.parent
RUNS = ROOT / "runs" / "ablation"
RESULTS = ROOT / "docs" / "results" / "training" / "ablation.json"
PAGE = ROOT / "docs" / "training.md"

BUDGET = "--steps 300000 --teacher-steps 100000 --lookahead-steps 0 --deals 0"
SEEDS = (1, 2, 3)
DEALS = {"round": 2_500, "match": 1_000}
SEED = 30_001
MAX_CYCLES = 1_000
"""Weak networks may besiege each other for ever; a round that is cut off counts half."""
RIVALS = ("greedy", "strong")
VARIANTS = {
    "default": "",
    "paid for rounds won": "--reward win",
    "paid in points": "--reward points",
    "plain colours": "--view plain",
    "no lesson before PPO": "--teacher None",
    "critic sees its own hand alone": "--critic own-hand",
    "half of the opponents from a pool": "--self-play 0.5 --pool-every 50000",
    "lambda 0.95": "--gae-lambda 0.95",
    "gamma 1": "--gamma 1.0",
    "lookahead in place of PPO": "--lookahead-steps 300000 --steps 0",
}
Rates = dict[str, dict[str, list[float]]]
"""By episode and rival, the win rate of each seed."""


def train(name: str, seed: int) -> Path:
    """Run a variant, or go on with it; its folder."""
    folder = RUNS / f"{name.replace(' ', '-')}-{seed}"
    if not (folder / "model.safetensors").exists():
        begun = (folder / "config.json").exists()
        arguments = f"{BUDGET} {VARIANTS[name]} --seed {seed} --out {folder}".split()
        where = ["--resume", str(folder)] if begun else arguments
        subprocess.run([sys.executable, str(ROOT / "train.py"), *where], check=True, cwd=ROOT)
    return folder


def measure(folders: list[Path]) -> Rates:
    """The win rates of the runs of a variant."""
    rates: Rates = {}
    lineups = [(0, 1), (0, 2)]
    for episode, deals in DEALS.items():
        found = rates[episode] = {rival: [] for rival in RIVALS}
        for folder in folders:
            agents = [load(str(folder)), *map(load, RIVALS)]
            games = play(
                "pocket",
                2,
                agents,
                deals,
                SEED,
                lineups=lineups,
                episode=episode,
                max_cycles=MAX_CYCLES,
            )
            for rival, line_up in zip(RIVALS, games, strict=True):
                found[rival].append(float(line_up.win_rates(0).mean()))
    return rates


def cell(rates: list[float]) -> str:
    """The mean over the seeds, and half the width of its 95 % interval by Student's t, in %."""
    half = t.ppf(0.975, len(rates) - 1) * np.std(rates, ddof=1) / len(rates) ** 0.5
    return f"{100 * np.mean(rates):.1f} ± {100 * half:.1f}"


def table(results: dict[str, Rates]) -> str:
    """The results in Markdown."""
    lines = [
        "| | changed | matches, `greedy` | `strong` | rounds, `greedy` | `strong` |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for name, found in results.items():
        options = f"`{VARIANTS[name]}`" if VARIANTS[name] else ""
        cells = [cell(found[episode][rival]) for episode in ("match", "round") for rival in RIVALS]
        lines.append(f"| {name} | {options} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    """Train, measure, write the figures and the table."""
    parser = argparse.ArgumentParser(
        description=str(__doc__), formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", action="store_true", help="train and measure nothing")
    options = parser.parse_args()
    results: dict[str, Rates] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in () if options.table else VARIANTS:
        if name not in results:
            results[name] = measure([train(name, seed) for seed in SEEDS])
            RESULTS.parent.mkdir(parents=True, exist_ok=True)
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    seeds = ", ".join(map(str, SEEDS))
    made = f"`{BUDGET}`, seeds {seeds}\n\n{table(results)}"
    text, count = re.subn(
        r"(<!-- generated:ablation -->\n).*?(<!-- /generated -->)",
        lambda match: f"{match[1]}{made}\n{match[2]}",
        PAGE.read_text("utf-8"),
        flags=re.DOTALL,
    )
    assert count == 1
    PAGE.write_text(text, "utf-8")
    print(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
