"""Small runs of train.py, in this process and in one of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from pocket_uno_env.training import program as train

ROOT = Path(__file__).parents[2]
SMALL = [
    *("--games", "64", "--rollout", "16", "--batch-size", "256", "--network", "32", "16"),
    *("--epochs", "2", "--deals", "0", "--checkpoint-every", "2048", "--seed", "3"),
    *("--opponents", "greedy", "--teacher", "None", "--lookahead-steps", "0"),
]


def run(out, *arguments):
    """A small run in this process; its folder."""
    assert train.main([*SMALL, "--out", str(out), *map(str, arguments)]) == 0
    return out


def start(*arguments):
    """train.py in a process of its own."""
    return subprocess.Popen(
        [sys.executable, str(ROOT / "train.py"), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "80"},
        cwd=ROOT,
    )
