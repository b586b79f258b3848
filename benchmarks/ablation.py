"""What each part of the training is worth: the default, and the default with one thing changed.

    python benchmarks/ablation.py            train what is missing, write docs/training.md's table
    python benchmarks/ablation.py --table    write the table from what is there

All variants get the same small budget and are measured on the same deals. Each is a run of
train.py in runs/ablation/; one that was interrupted is taken up again.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNS = ROOT / "runs" / "ablation"
RESULTS = ROOT / "docs" / "results" / "training" / "ablation.json"
PAGE = ROOT / "docs" / "training.md"

BUDGET = "--steps 1000000 --teacher-steps 500000 --deals 5000 --seed 1"
VARIANTS = {
    "default": "",
    "plain colours": "--view plain",
    "no imitation": "--teacher None",
    "critic sees its own hand alone": "--critic own-hand",
    "lambda 0.95": "--gae-lambda 0.95",
    "lambda 0.25": "--gae-lambda 0.25",
    "gamma 1": "--gamma 1.0",
    "opponents greedy alone": "--opponents greedy",
    "half of the opponents from a pool": "--self-play 0.5 --pool-every 100000",
    "constant entropy and learning rate": "--last-entropy 0.01 --last-learning-rate 0.002",
}


def train(name: str, options: str) -> dict[str, list[float]]:
    """Run a variant, or go on with it; its win rates with their intervals, by opponent."""
    folder = RUNS / name.replace(" ", "-")
    if not (folder / "results.json").exists():
        begun = (folder / "config.json").exists()
        arguments = f"{BUDGET} {options}".split()
        where = ["--resume", str(folder)] if begun else [*arguments, "--out", str(folder)]
        subprocess.run([sys.executable, str(ROOT / "train.py"), *where], check=True, cwd=ROOT)
    return rates(folder)


def rates(folder: Path) -> dict[str, list[float]]:
    """Mean and interval of the win rate against each opponent, from ``results.json``."""
    found = json.loads((folder / "results.json").read_text())
    return {
        line["agents"][1]: [line["figures"][0]["win_rate"][key] for key in ("mean", "low", "high")]
        for line in found["line_ups"]
    }


def table(results: dict[str, dict[str, list[float]]]) -> str:
    """The results in Markdown, in % with their 95 % intervals."""
    lines = ["| | options | greedy | strong |", "|---|---|---:|---:|"]
    for name, found in results.items():
        options = f"`{VARIANTS[name]}`" if VARIANTS[name] else ""
        cells = [
            f"{100 * mean:.1f} ± {50 * (high - low):.1f}"
            for mean, low, high in (found[opponent] for opponent in ("greedy", "strong"))
        ]
        lines.append(f"| {name} | {options} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    """Train, write the figures and the table."""
    if "--table" not in sys.argv:
        results = {name: train(name, options) for name, options in VARIANTS.items()}
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    made = table(json.loads(RESULTS.read_text()))
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
