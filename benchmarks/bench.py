"""Throughput as ratios: all measures in one run, interleaved, medians of several repeats.

    python benchmarks/bench.py            measure; results.json, results.png (`make bench`)
    python benchmarks/bench.py --check    measure, and hold the ratios against results.json

Machines differ and are noisy, so what counts is how many times RLCard's UNO a measure makes in the
same run: decisions per second by its `env.run()` with two random agents. Each measure lives in a
process of its own, counts that process's CPU seconds, and gets its turn in every repeat right
after RLCard had one. `make bench` builds the peers' environments.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.json"
PLOT = HERE / "results.png"
RLCARD = "rlcard uno"
PEERS = {
    RLCARD: (".venv-rlcard", "rlcard_worker.py"),
    "openspiel crazy eights": (".venv-openspiel", "openspiel_worker.py"),
    "pettingzoo tic-tac-toe": (".venv-pettingzoo", "pettingzoo_worker.py"),
}
TOLERANCE = 0.7
"""A ratio may fall to this share of the one in results.json before --check complains."""

Repeat = dict[str, dict[str, float]]
"""What each measure made in one repeat, all per CPU second."""


class Target(NamedTuple):
    """A figure that the project promises."""

    about: str
    unit: str
    figure: Callable[[Repeat], float]
    bound: float
    most: bool = False
    """Whether the bound is the most that is allowed, not the least."""


def _rlcard(name: str, what: str = "decisions") -> Callable[[Repeat], float]:
    return lambda r: r[name][what] / r[name][f"rlcard {what}"]


def _ratio(name: str, other: str) -> Callable[[Repeat], float]:
    return lambda r: _rlcard(name)(r) / _rlcard(other)(r)


def _outside(r: Repeat) -> float:
    return 100 * (1 - r["training"]["network"] - r["training"]["learning"])


def _search(r: Repeat) -> float:
    """Milliseconds of a decision on a machine where RLCard makes 51,600 decisions a second."""
    measure = r["search:1000"]
    return 1000 / measure["decisions"] * measure["rlcard decisions"] / 51_600


U8, U8_5 = "batch, mask + uint8", "batch, mask + uint8, 5 players"
U8_1 = "batch, mask + uint8, N = 1"
TARGETS = (
    Target("batch, mask + uint8 observation", "x RLCard", _rlcard(U8), 250),
    Target("the same, of the loop without observation", "x", _ratio(U8, "batch, mask"), 0.5),
    Target("batch, mask + float32", "x RLCard", _rlcard("batch, mask + float32"), 150),
    Target("batch, mask + uint8, a single game", "x RLCard", _rlcard(U8_1), 6),
    Target("batch, rules only", "x RLCard", _rlcard("batch, rules only"), 500),
    Target("greedy rounds in the batch", "x RLCard",
           _rlcard("batch, rules only, greedy", "rounds"), 300),
    Target("strong rounds in the batch", "x RLCard",
           _rlcard("batch, rules only, strong", "rounds"), 400),
    Target("the same, 4 players", "x RLCard",
           _rlcard("batch, rules only, strong, 4 players", "rounds"), 220),
    Target("counter rounds in the batch", "x RLCard",
           _rlcard("batch, rules only, counter", "rounds"), 450),
    Target("search:1000, a decision, scaled by RLCard", "ms", _search, 1.0, most=True),
    Target("PettingZoo raw_env", "x RLCard", _rlcard("aec raw"), 5),
    Target("PettingZoo env, as it comes", "x RLCard", _rlcard("aec wrapped"), 5),
    Target("SB3 VecEnv, of DummyVecEnv", "x", _ratio("sb3 VecEnv", "sb3 DummyVecEnv"), 20),
    Target("the same, of a VecEnv without a game", "x",
           _ratio("sb3 VecEnv", "sb3 VecEnv without a game"), 0.5),
    Target("a network of 512-512, 1,024 games", "x RLCard", _rlcard("network, 1,024 games"), 1.6),
    Target("training against pocket-2p, of strong", "x",
           _ratio("training against pocket-2p", "training against strong"), 0.6),
    Target("training against past selves, of strong", "x",
           _ratio("training against past selves", "training against strong"), 0.8),
    Target("lookahead against pocket-2p, of strong", "x",
           _ratio("lookahead against pocket-2p", "lookahead against strong"), 0.4),
    Target("training outside network and optimizer", "%", _outside, 15, most=True),
    Target("a decision of 5 players, of one of 2, rules only", "x",
           _ratio("batch, rules only", "batch, rules only, 5 players"), 1.3, most=True),
    Target("the same with an observation, twice as long", "x", _ratio(U8, U8_5), 1.3, most=True),
)  # fmt: skip
"""Two players, pocket, random legal play, one core, unless it says something else."""


class Worker:
    """A process that measures one thing whenever it is told to."""

    def __init__(self, command: list[str]) -> None:
        path = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path} if "peers" not in command[1] else None,
        )
        while (line := self._line()) != "ready":
            print(line, file=sys.stderr)
        self.measure(0.3)  # the first turn meets what is compiled late

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a worker died: {self.process.args}")
        return line.strip()

    def measure(self, seconds: float) -> dict[str, float]:
        """Decisions and rounds per CPU second, and shares of it spent in parts of the work."""
        assert self.process.stdin is not None
        print(seconds, file=self.process.stdin, flush=True)
        found = json.loads(self._line())
        passed = found.pop("seconds")
        return {key: value / passed for key, value in found.items()}

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
        elif name == RLCARD:
            raise SystemExit(f"{folder} is missing, and everything is measured against it: run "
                             "`make bench`, which builds it")  # fmt: skip
        else:
            print(f"{name}: {folder} is missing, `make bench` builds it", file=sys.stderr)
    return found


def run(repeats: int, seconds: float) -> list[Repeat]:
    """Measure everything so often; each measure with RLCard's turn just before it."""
    workers = {}
    for name, command in commands().items():
        print(f"starting {name}", file=sys.stderr)
        workers[name] = Worker(command)
    found = []
    for number in range(repeats):
        repeat: Repeat = {}
        for name, worker in workers.items():
            base = workers[RLCARD].measure(seconds)
            repeat[name] = worker.measure(seconds)
            repeat[name] |= {f"rlcard {key}": base[key] for key in ("decisions", "rounds")}
        found.append(repeat)
        print(f"repeat {number + 1} of {repeats}", file=sys.stderr)
    for worker in workers.values():
        worker.close()
    return found


STARTUP = """
import time
began = time.process_time()
import pocket_uno_env
imported = time.process_time()
from pocket_uno_env import pocket_uno_v0
env = pocket_uno_v0.env()
made = time.process_time()
env.reset(seed=1)
print(imported - began, time.process_time() - made)
"""
FIRST_SEARCH = """
import time
from pocket_uno_env import pocket_uno_v0
from pocket_uno_env.agents import load
env, agent = pocket_uno_v0.env(), load("search:1000")
env.reset(seed=1)
began = time.process_time()
agent.act(env)
print(time.process_time() - began)
"""


def startup() -> dict[str, float]:
    """CPU seconds to import the package, of a first reset and of a search's first decision."""

    def measure(code: str, **environment: str) -> list[float]:
        out = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": str(HERE.parent), **environment},
            capture_output=True,
            text=True,
            check=True,
        )
        return [float(word) for word in out.stdout.split()]

    with tempfile.TemporaryDirectory() as folder:
        cold = measure(STARTUP, NUMBA_CACHE_DIR=folder)[1]
        search = measure(FIRST_SEARCH, NUMBA_CACHE_DIR=folder)[0]
    imports, warm = zip(*(measure(STARTUP) for _ in range(5)), strict=True)
    return {
        "import": round(statistics.median(imports), 2),
        "first reset": round(statistics.median(warm), 2),
        "first reset ever": round(cold, 1),
        "first decision of a search ever": round(search, 1),
    }


def middle(values: list[float]) -> list[float]:
    """The median and the quartiles around it."""
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return [round(value, 4 - len(str(int(value))) if value < 1000 else 0)
            for value in (median, low, high)]  # fmt: skip


def report(repeats: list[Repeat], seconds: float) -> dict[str, Any]:
    """What results.json holds: of each figure the median and the quartiles."""
    measures = {}
    for name in repeats[0]:
        values = [repeat[name] for repeat in repeats]
        about = {
            "decisions_per_second": middle([v["decisions"] for v in values]),
            "ratio": middle([v["decisions"] / v["rlcard decisions"] for v in values]),
        }
        if values[0]["rounds"]:
            about["rounds_per_second"] = middle([v["rounds"] for v in values])
            about["rounds_ratio"] = middle([v["rounds"] / v["rlcard rounds"] for v in values])
        for part in ("env", "network", "learning"):
            if part in values[0]:
                about[part] = middle([v[part] for v in values])
        measures[name] = about
    return {
        "date": date.today().isoformat(),
        "machine": machine(),
        "repeats": len(repeats),
        "seconds": seconds,
        "targets": [
            {
                "about": target.about,
                "unit": target.unit,
                "figure": middle([target.figure(repeat) for repeat in repeats]),
                "at most" if target.most else "at least": target.bound,
            }
            for target in TARGETS
        ],
        "startup": startup(),
        "measures": measures,
    }


def machine() -> str:
    """The processor, how many cores of it, and the Python."""
    name = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text("utf-8").splitlines()
        models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
        name = models[0] if models else name
    return f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}"


def slower(now: dict[str, Any], before: dict[str, Any]) -> list[str]:
    """Which ratios have fallen too far, in words."""
    found = []
    for name, measure in now["measures"].items():
        kept = before["measures"].get(name)
        if kept is not None and measure["ratio"][0] < TOLERANCE * kept["ratio"][0]:
            found.append(f"{name}: {measure['ratio'][0]:g} x RLCard, was {kept['ratio'][0]:g}")
    return found


def plot(found: dict[str, Any], path: Path) -> None:
    """A bar for each measure, as a multiple of RLCard, with the quartiles."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    measures = sorted(found["measures"].items(), key=lambda item: item[1]["ratio"][0])
    names = [name for name, _ in measures]
    middles, lows, highs = zip(*(measure["ratio"] for _, measure in measures), strict=True)
    kinds = {"this project": "#4477aa", "bounds: no game in it": "#bbbbbb", "others": "#bb5566"}
    ours, bounds, others = kinds.values()
    colors = [others if n in PEERS else bounds if "without a game" in n else ours for n in names]
    figure, axes = plt.subplots(figsize=(8, 0.3 * len(names) + 1))
    axes.barh(names, [m - 1 for m in middles], left=1, color=colors)
    axes.hlines(names, lows, highs, color="black", linewidth=1)
    for name, median, low, high in zip(names, middles, lows, highs, strict=True):
        side, place = ("left", high * 1.1) if median >= 1 else ("right", low / 1.1)
        axes.text(place, name, f"{median:.3g}", ha=side, va="center", fontsize=9)
    for about, color in kinds.items():
        axes.bar(0, 0, color=color, label=about)
    axes.legend(frameon=False, loc="lower right")
    axes.set_xscale("log")
    axes.set_xlabel("decisions per CPU second, times RLCard's UNO in the same run")
    axes.margins(x=0.15, y=0.02)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=100, metadata={"Software": None})


def show(found: dict[str, Any]) -> None:
    """Print everything, 80 columns wide."""
    print(f"{'measure':<32} {'decisions/s':>12} {'x RLCard':>9} {'quartiles':>15}")
    for name, measure in found["measures"].items():
        median, low, high = measure["ratio"]
        speed = measure["decisions_per_second"][0]
        print(f"{name:<32} {speed:>12,.0f} {median:>9.3g} {low:>7.3g} {high:>7.3g}")
    for name, seconds in found["startup"].items():
        print(f"{name:<32} {seconds:>10g} s")
    print(f"\n{'target':<49} {'wanted':>8} {'found':>12}")
    for target in found["targets"]:
        word = "at most" if "at most" in target else "at least"
        median, bound = target["figure"][0], target[word]
        met = median <= bound if word == "at most" else median >= bound
        mark = "" if met else "  missed"
        wanted = f"{'<=' if word == 'at most' else '>='} {bound:g}"
        print(f"{target['about']:<49} {wanted:>8} {median:>7.3g} {target['unit']}{mark}")


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.3, help="per measure and repeat")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args()
    if options.repeats < 2:
        parser.error("--repeats must be at least 2")
    found = report(run(options.repeats, options.seconds), options.seconds)
    show(found)
    if options.check:
        complaints = slower(found, json.loads(RESULTS.read_text("utf-8")))
        for complaint in complaints:
            print(f"slower: {complaint}", file=sys.stderr)
        return int(bool(complaints))
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    plot(found, PLOT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
