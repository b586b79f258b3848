"""Throughput as ratios: all measures in one run, interleaved, medians of several repeats.

    python benchmarks/bench.py --repeats 7 --seconds 1

Machines differ and are noisy, so what counts is how many times RLCard's UNO a measure makes in the
same run: decisions per second by its `env.run()` with two random agents. Each measure lives in a
process of its own and gets its turn in every repeat. `make bench` builds the peers' environments.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RLCARD = "rlcard uno"
PEERS = {
    RLCARD: (".venv-rlcard", "rlcard_worker.py"),
    "openspiel crazy eights": (".venv-openspiel", "openspiel_worker.py"),
    "pettingzoo tic-tac-toe": (".venv-pettingzoo", "pettingzoo_worker.py"),
}


class Worker:
    """A process that measures one thing whenever it is told to."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        while (line := self._line()) != "ready":
            print(line, file=sys.stderr)

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a worker died: {self.process.args}")
        return line.strip()

    def measure(self, seconds: float) -> dict[str, float]:
        """Decisions and rounds per second."""
        assert self.process.stdin is not None
        print(seconds, file=self.process.stdin, flush=True)
        found = json.loads(self._line())
        return {key: found[key] / found["seconds"] for key in ("decisions", "rounds")}

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def commands() -> dict[str, list[str]]:
    """How to start each measure's worker; peers only where their environment is built."""
    sys.path.insert(0, str(HERE))
    from worker import MEASURES

    found = {name: [sys.executable, str(HERE / "worker.py"), name] for name in MEASURES}
    for name, (folder, script) in PEERS.items():
        python = HERE.parent / folder / "bin" / "python"
        if python.exists():
            found[name] = [str(python), str(HERE / "peers" / script)]
        else:
            print(f"{name}: {folder} is missing, `make bench` builds it", file=sys.stderr)
    return found


def run(repeats: int, seconds: float) -> dict[str, Any]:
    """Measure everything; medians, and ratios to RLCard within each repeat."""
    workers = {name: Worker(command) for name, command in commands().items()}
    found: dict[str, list[dict[str, float]]] = {name: [] for name in workers}
    for repeat in range(repeats):
        for name, worker in workers.items():
            found[name].append(worker.measure(seconds))
        print(f"repeat {repeat + 1} of {repeats}", file=sys.stderr)
    for worker in workers.values():
        worker.close()
    base = found.get(RLCARD)
    measures = {}
    for name, values in found.items():
        measure = {
            key: statistics.median(value[key] for value in values)
            for key in ("decisions", "rounds")
        }
        if base:
            ratios = [v["decisions"] / b["decisions"] for v, b in zip(values, base, strict=True)]
            measure["ratio"] = statistics.median(ratios)
            measure["rounds_ratio"] = statistics.median(
                v["rounds"] / b["rounds"] for v, b in zip(values, base, strict=True)
            )
        measures[name] = measure
    return {
        "date": date.today().isoformat(),
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "repeats": repeats,
        "seconds": seconds,
        "measures": measures,
    }


def plot(report: dict[str, Any], path: Path) -> None:
    """A bar for each measure, as a multiple of RLCard."""
    import matplotlib.pyplot as plt

    measures = sorted(report["measures"].items(), key=lambda item: item[1].get("ratio", 0))
    names = [name for name, _ in measures]
    ratios = [measure.get("ratio", 0) for _, measure in measures]
    figure, axes = plt.subplots(figsize=(8, 0.32 * len(names) + 1))
    bars = axes.barh(names, ratios, color="#4477aa")
    axes.bar_label(bars, [f"{ratio:.3g}" for ratio in ratios], padding=3)
    axes.set_xscale("log")
    axes.set_xlabel("decisions per second, times RLCard's UNO in the same run")
    axes.margins(x=0.12)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.0, help="per measure and repeat")
    parser.add_argument("--json", type=Path, default=HERE / "latest.json")
    parser.add_argument("--plot", type=Path, default=HERE / "latest.png")
    options = parser.parse_args()
    report = run(options.repeats, options.seconds)
    options.json.write_text(json.dumps(report, indent=1) + "\n")
    plot(report, options.plot)
    print(f"{'measure':<32} {'decisions/s':>12} {'x RLCard':>9} {'rounds/s':>10}")
    for name, measure in report["measures"].items():
        ratio = measure.get("ratio", float("nan"))
        print(
            f"{name:<32} {measure['decisions']:>12,.0f} {ratio:>9.3g} {measure['rounds']:>10,.0f}"
        )


if __name__ == "__main__":
    main()
