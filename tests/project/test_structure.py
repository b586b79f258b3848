"""The house keeps its order: light core, one direction of imports."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import pocket_uno_env

PACKAGE = Path(pocket_uno_env.__file__).parent
ROOT = PACKAGE.parent
# Ground floor first: each imports only what stands above it.
ROOMS = [
    "code_cache", "kernel", "excerpt", "bits", "spread", "cards", "rng", "buffers", "guard",
    "rules", "actions", "state", "validity", "saved_rows", "piles", "deal", "engine", "information",
    "observation", "canonical", "row_kernels", "layers", "critic", "payoff",
    "baselines", "turns", "counting", "counter",
    "weights", "heuristics", "scripted", "determinize", "belief", "search", "tree", "snapshot",
    "rows", "batch", "sight", "story", "files", "reference", "record_format", "referee", "record",
    "events", "deals", "chance", "history", "picture",
    "window", "render", "set_up", "aec_env", "pocket_uno_v0",
]  # fmt: skip
# The rooms of evaluation stand on those, and on the agents.
EVALUATION = [
    "matchplay", "behavior", "control", "designs", "arena", "statistics", "sprt", "verdicts",
    "adjustment", "ratings", "program", "progress", "tournament", "journal", "workers",
    "ray_workers", "tables", "report", "plots", "page", "ladder",
]  # fmt: skip
CORE = ROOMS[: ROOMS.index("picture")]
HEAVY = {"gymnasium", "pettingzoo", "torch", "stable_baselines3", "sb3_contrib", "scipy", "rich"}


def imports(module: str) -> tuple[set[str], set[str]]:
    """What a module imports at its top level: rooms of the package, and foreign packages."""
    rooms, foreign = set(), set()
    for node in ast.parse((PACKAGE / f"{module}.py").read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            rooms |= {node.module} if node.module else {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            foreign.add(node.module.split(".")[0])
        elif isinstance(node, ast.Import):
            foreign |= {alias.name.split(".")[0] for alias in node.names}
    return rooms, foreign


@pytest.mark.parametrize("module", ROOMS)
def test_rooms_import_only_what_stands_below(module: str) -> None:
    rooms, _ = imports(module)
    below = set(ROOMS[: ROOMS.index(module)])
    assert rooms <= below, f"{module} imports {rooms - below}"


@pytest.mark.parametrize("module", EVALUATION)
def test_rooms_of_evaluation_import_only_what_stands_below(module: str) -> None:
    rooms, foreign = imports(module)
    below = {*ROOMS, *EVALUATION[: EVALUATION.index(module)]}
    known = {room for room in rooms if room.split(".")[0] != "agents"} - {"__version__"}
    assert known <= below, f"{module} imports {known - below}"
    allowed = {"numpy", "rich", "tyro"} if module in ("progress", "ladder") else {"numpy"}
    assert foreign - set(sys.stdlib_module_names) <= allowed


@pytest.mark.parametrize("module", CORE)
def test_the_core_is_light(module: str) -> None:
    _, foreign = imports(module)
    assert not foreign & HEAVY
    assert foreign - set(sys.stdlib_module_names) <= {"numpy", "numba", "llvmlite"}


def test_the_reference_imports_nothing_of_the_engine() -> None:
    rooms, foreign = imports("reference")
    assert not rooms and foreign <= set(sys.stdlib_module_names)


def run(code: str, **environment: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_importing_the_package_loads_nothing_heavy() -> None:
    loaded = run(
        "import sys, pocket_uno_env, pocket_uno_env.agents as a; from pocket_uno_env import "
        "pocket_uno_v0; a.load('greedy'); print(*sys.modules)"
    ).split()
    assert not {
        "torch",
        "stable_baselines3",
        "rich",
        "matplotlib",
        "pandas",
        "PIL",
        "pygame",
        "aiohttp",
    } & set(loaded)


def test_importing_compiles_nothing(tmp_path: Path) -> None:
    code = (
        "from numba.core import event\n"
        "with event.install_recorder('numba:compile') as seen:\n"
        "    import pocket_uno_env, pocket_uno_env.agents, pocket_uno_env.envs.gym\n"
        "    from pocket_uno_env import pocket_uno_v0; from pocket_uno_env.batch import Batch\n"
        "    pocket_uno_v0.env(); Batch(8)\n"
        "    made = len(seen.buffer); from pocket_uno_env.compiled.rng import mix; import numpy as np\n"
        "    mix(np.uint64(1)); print(made, len(seen.buffer) > 0)"
    )
    assert run(code, NUMBA_CACHE_DIR=str(tmp_path)) == "0 True"


@pytest.mark.parametrize("file", sorted(p.name for p in PACKAGE.glob("*.py")))
def test_every_module_says_what_it_is(file: str) -> None:
    assert ast.get_docstring(ast.parse((PACKAGE / file).read_text()))
