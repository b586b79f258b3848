"""What a decision costs in RLlib, where, and what that lets more machines do.

    python ecosystem/rllib/throughput.py --rounds 7

Trains by turns on both paths with one and two env runners, an iteration each, and on the batch
with two learners as well. It prints Markdown: decisions a second as they came, and the processor
time that a decision took in the processes that play and in those that learn. That says, better
than a clock on a busy machine, what more processes would do; the second table is computed from it.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import ray
import torch
import tyro

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

import rllib_batch
import rllib_pettingzoo

SETTINGS = {
    "PettingZoo": [(1, 0), (2, 0)],
    "batch": [(1, 0), (2, 0), (2, 2)],
}
"""By path: env runners, and processes that learn, where 0 is the one that drives."""

LEARNERS = {"PettingZoo": (1, 10), "batch": (1, 10, 100)}
"""What the second table is computed for."""


def build(path: str, env_runners: int, learners: int) -> Any:
    """One of the examples, to be trained in turn with the others."""
    if path == "batch":
        settings = rllib_batch.config("pocket", 2, env_runners, learners, 256, seed=1)
    else:
        settings = rllib_pettingzoo.config(2, env_runners, seed=1)
    return settings.build_algo()


def clocks(algorithm: Any) -> tuple[float, float, float]:
    """Seconds so far: by the clock; of processors that play; of processors that learn."""
    playing = algorithm.env_runner_group.foreach_env_runner(
        lambda runner: time.process_time(), local_env_runner=False
    )
    learning = time.process_time()
    if algorithm.config.num_learners:
        learning += sum(
            found.get()
            for found in algorithm.learner_group.foreach_learner(
                lambda learner: time.process_time()
            )
        )
    return time.monotonic(), sum(playing), learning


def measure(rounds: int) -> dict[tuple[str, int, int], np.ndarray]:
    """Microseconds a decision, ``(rounds, 3)`` as `clocks` counts them, for each setting."""
    made = {
        (path, *counts): build(path, *counts) for path, all_ in SETTINGS.items() for counts in all_
    }
    found: dict[tuple[str, int, int], list[list[float]]] = {key: [] for key in made}
    for algorithm in made.values():
        for _ in range(3):  # the kernels, and the first long rounds
            algorithm.train()
    for i in range(rounds):
        for key, algorithm in made.items():
            before = clocks(algorithm)
            decisions = int(algorithm.train()["env_runners"]["num_env_steps_sampled"])
            after = clocks(algorithm)
            spent = [1e6 * (b - a) / decisions for a, b in zip(before, after, strict=True)]
            found[key].append(spent)
        print(f"round {i + 1} of {rounds}, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    return {key: np.array(spent) for key, spent in found.items()}


def cell(values: np.ndarray, digits: int) -> str:
    """The median, with the quartiles in brackets."""
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
    return f"{median:,.{digits}f} [{low:,.{digits}f}, {high:,.{digits}f}]"


def measured(found: dict[tuple[str, int, int], np.ndarray]) -> str:
    """The first table."""
    lines = [
        "| path | env runners | learners | decisions/s | µs playing | µs learning |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for (path, env_runners, learners), spent in found.items():
        lines.append(
            f"| {path} | {env_runners} | {learners or 1} | {cell(1e6 / spent[:, 0], 0)} | "
            f"{cell(spent[:, 1], 0)} | {cell(spent[:, 2], 0)} |"
        )
    return "\n".join(lines)


def expected(found: dict[tuple[str, int, int], np.ndarray]) -> str:
    """The second table: first so many play, then so many learn, each on a core of its own."""
    lines = ["| path | learners | 1 env runner | 2 | 10 | 100 |", "|---|---:|---:|---:|---:|---:|"]
    for path in SETTINGS:
        of_path = [times for (name, *_), times in found.items() if name == path]
        _, play, learn = np.median(np.concatenate(of_path), axis=0)
        for learners in LEARNERS[path]:
            rates = [1e6 / (play / n + learn / learners) for n in (1, 2, 10, 100)]
            cells = " | ".join(f"{rate:,.0f}" for rate in rates)
            lines.append(f"| {path} | {learners} | {cells} |")
    return "\n".join(lines)


def main(rounds: int = 7) -> None:
    """Measure and print.

    Parameters
    ----------
    rounds
        Iterations of each setting.
    """
    torch.set_num_threads(1)  # one core for each process, as for the others
    places = os.pathsep.join(path for path in sys.path if path)
    ray.init(
        num_cpus=16,  # as many processes as the settings have, by turns, on the cores there are
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        runtime_env={"env_vars": {"PYTHONPATH": places, "OMP_NUM_THREADS": "1"}},
    )
    found = measure(rounds)
    ray.shutdown()
    print(measured(found))
    print()
    print(expected(found))


if __name__ == "__main__":
    tyro.cli(main)
