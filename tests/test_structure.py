"""The house keeps its order: light core, one direction of imports, a cache that cannot go stale."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pocket_uno_env

PACKAGE = Path(pocket_uno_env.__file__).parent
ROOT = PACKAGE.parent
# Ground floor first: each imports only what stands above it.
ROOMS = [
    "kernel", "bits", "spread", "cards", "rng", "buffers", "guard", "rules", "actions", "state",
    "validity", "piles", "deal", "engine", "information", "observation", "canonical", "row_kernels",
    "layers", "critic", "payoff",
    "baselines", "turns", "counting", "counter",
    "weights", "heuristics", "scripted", "determinize", "belief", "search", "tree", "snapshot",
    "rows", "batch", "sight", "story", "record", "events", "deals", "chance", "history", "picture",
    "window", "render", "set_up", "aec_env", "pocket_uno_v0",
]  # fmt: skip
# The rooms of evaluation stand on those, and on the agents.
EVALUATION = [
    "matchplay", "behavior", "control", "designs", "arena", "statistics", "sprt", "verdicts",
    "adjustment", "ratings", "files", "progress", "tournament", "journal", "workers",
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


COPY = (
    "import sys; sys.path.insert(0, {folder!r}); sys.meta_path[:] = "
    "[f for f in sys.meta_path if 'editable' not in repr(f).lower()];"
)
"""Makes Python import the package from a folder, whatever is installed."""


def copied(tmp_path: Path) -> tuple[Path, str]:
    """A copy of the package without caches, and the code that makes Python import it."""
    copy = tmp_path / "pocket_uno_env"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy, COPY.format(folder=str(tmp_path))


def kernel_modules() -> set[str]:
    """All modules that compiled code is made of: those with kernels and what they import."""
    sources = {path.stem: path.read_text("utf-8") for path in PACKAGE.glob("*.py")}
    found = {name for name, text in sources.items() if "@kernel" in text or "@inlined" in text}
    while (more := found.union(*(imports(module)[0] & set(sources) for module in found))) != found:
        found = more
    return found


def test_an_edit_in_any_core_file_starts_a_fresh_cache(tmp_path: Path) -> None:
    _, start = copied(tmp_path)
    code = start + (
        "import pocket_uno_env.kernel as k; before = k._sources_hash(); changed = []\n"
        "assert k.__file__.startswith(sys.path[0]) and k.CACHE_DIR.startswith(sys.path[0])\n"
        "for path in sorted(k.Path(k.__file__).parent.glob('*.py')):\n"
        "    path.write_text(path.read_text() + '\\n# edited\\n')\n"
        "    changed += [path.stem] * (k._sources_hash() != before); before = k._sources_hash()\n"
        "print(*changed)"
    )
    changed = set(run(code).split())
    assert len(kernel_modules()) > 20 and kernel_modules() <= changed
    assert "train" not in changed and "sb3_env" not in changed and "aec_env" not in changed


def test_compiled_code_follows_an_edit_in_another_file(tmp_path: Path) -> None:
    """Numba's own cache sees only the file of the kernel itself."""
    copy, start = copied(tmp_path)
    constant, probe = copy / "cards.py", copy / "bits.py"
    plain = constant.read_text()
    probe.write_text(
        probe.read_text() + "\n\nfrom .cards import PROBE\nfrom .kernel import kernel\n\n\n"
        "@kernel\ndef probe():\n    return PROBE\n"
    )
    code = start + "from pocket_uno_env.bits import probe; print(probe())"
    for value in ("11", "22", "11"):
        constant.write_text(f"{plain}\nPROBE = {value}\n")
        assert run(code) == value
        assert run(code) == value  # from the cache
    assert len(list(copy.rglob("bits.probe*.nbi"))) == 2


def test_importing_compiles_nothing(tmp_path: Path) -> None:
    code = (
        "from numba.core import event\n"
        "with event.install_recorder('numba:compile') as seen:\n"
        "    import pocket_uno_env, pocket_uno_env.agents, pocket_uno_env.gym_env\n"
        "    from pocket_uno_env import pocket_uno_v0; from pocket_uno_env.batch import Batch\n"
        "    pocket_uno_v0.env(); Batch(8)\n"
        "    made = len(seen.buffer); from pocket_uno_env.rng import mix; import numpy as np\n"
        "    mix(np.uint64(1)); print(made, len(seen.buffer) > 0)"
    )
    assert run(code, NUMBA_CACHE_DIR=str(tmp_path)) == "0 True"


def test_each_signature_has_a_cache_file_of_its_own(tmp_path: Path) -> None:
    """Two processes that compile different signatures at once must not share a file."""
    code = (
        "import numpy as np; from pocket_uno_env.rng import mix; mix(np.uint64(1)); "
        "mix(np.uint32(1)); print(*mix._cache._cache_file._load_index().values())"
    )
    names = run(code, NUMBA_CACHE_DIR=str(tmp_path)).split()
    assert len(set(names)) == 2 and all(len(name.split(".")[-2]) == 16 for name in names)
    again = run(code, NUMBA_CACHE_DIR=str(tmp_path)).split()
    assert sorted(again) == sorted(names)


@pytest.mark.parametrize("file", sorted(p.name for p in PACKAGE.glob("*.py")))
def test_every_module_says_what_it_is(file: str) -> None:
    assert ast.get_docstring(ast.parse((PACKAGE / file).read_text()))
