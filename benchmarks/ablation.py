"""What each part of the training is worth: the default, and the default with one thing changed.

    python benchmarks/ablation.py            train what is missing, write docs/training.md's table
    python benchmarks/ablation.py --table    write the table from what is there

All variants get the same small budget and are measured on the same deals. Each is a run of
train.py in runs/ablation/; one that was interrupted is taken up again.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

from pocket_uno_env.agents import load
from pocket_uno_env.evaluation.arena import play
from pocket_uno_env.evaluation.statistics.estimates import rate_estimate

ROOT = Path(__file__).resolve().parent.parent
RUNS = ROOT / "runs" / "ablation"
RESULTS = ROOT / "docs" / "results" / "training" / "ablation.json"
PAGE = ROOT / "docs" / "training.md"

BUDGET = "--steps 300000 --teacher-steps 100000 --seed 1 --threads 2 --deals 0"
DEALS = 2_500
SEED = 30_001
MAX_CYCLES = 1_000
"""Weak networks may besiege each other for ever; a round that is cut off counts half."""
VARIANTS = {
    "default": "",
    "plain colours": "--view plain",
    "no lesson before PPO": "--teacher None",
    "critic sees its own hand alone": "--critic own-hand",
    "half of the opponents from a pool": "--self-play 0.5 --pool-every 50000",
    "lambda 0.95": "--gae-lambda 0.95",
    "gamma 1": "--gamma 1.0",
    "lookahead in place of PPO": "--lookahead-steps 300000 --steps 0",
}
Rates = dict[str, tuple[float, float]]


def train(name: str) -> Path:
    """Run a variant, or go on with it; its folder."""
    folder = RUNS / name.replace(" ", "-")
    if not (folder / "model.safetensors").exists():
        begun = (folder / "config.json").exists()
        arguments = f"{BUDGET} {VARIANTS[name]} --out {folder}".split()
        where = ["--resume", str(folder)] if begun else arguments
        subprocess.run([sys.executable, str(ROOT / "train.py"), *where], check=True, cwd=ROOT)
    return folder


def measure(folder: Path) -> Rates:
    """The win rate against greedy and strong, and half the width of its 95 % interval."""
    agents = [load(str(folder)), load("greedy"), load("strong")]
    games = play("pocket", 2, agents, DEALS, SEED, lineups=[(0, 1), (0, 2)], max_cycles=MAX_CYCLES)
    rates = {}
    for agent, found in zip(agents[1:], games, strict=True):
        rate = rate_estimate(found.win_rates(0))
        assert rate.low is not None and rate.high is not None
        rates[agent.name] = (rate.mean, (rate.high - rate.low) / 2)
    return rates


def table(results: dict[str, Rates]) -> str:
    """The results in Markdown, in %."""
    lines = ["| | changed | greedy | strong |", "|---|---|---:|---:|"]
    for name, found in results.items():
        options = f"`{VARIANTS[name]}`" if VARIANTS[name] else ""
        cells = [f"{100 * mean:.1f} ± {100 * half:.1f}" for mean, half in found.values()]
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
            results[name] = measure(train(name))
            RESULTS.parent.mkdir(parents=True, exist_ok=True)
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    made = f"`{BUDGET}`\n\n{table(results)}"
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
