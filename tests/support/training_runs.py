"""Small runs of train.py, in this process and in one of their own."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SMALL = [
    *("--games", "64", "--rollout", "16", "--batch-size", "256", "--network", "32", "16"),
    *("--epochs", "2", "--deals", "0", "--checkpoint-every", "2048", "--seed", "3"),
    *("--opponents", "greedy", "--teacher", "None"),
]


def load_train():
    spec = importlib.util.spec_from_file_location("train", ROOT / "train.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["train"] = module
    spec.loader.exec_module(module)
    return module


train = load_train()


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
