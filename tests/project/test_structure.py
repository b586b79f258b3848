"""The packages keep their order: each imports only from below, and the core is light."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from structure import ROOT, TOP, Import, all_imports, circles, sources

FLOORS = [
    "files arguments guard version compiled cli",
    "reference",
    "rules",
    "engine equity",
    "episodes",
    "observation",
    "records",
    "row_kernels",
    "rows",
    "display",
    "agents",
    "batch",
    "play",
    "envs evaluation",
    "datasets",
    "training",
    "exploitability",
    "pocket_uno_v0",
    "__init__",
    "__main__",
]
"""Packages, and modules at the root, from the ground up. Those of one floor are independent."""

AGENTS = [
    "agent",
    "scripted trained",
    "search",
    "noisy position",
    "registry",
    "rlcard",
    "__init__",
]
"""The same within agents/."""

EXCEPTIONS = {
    ("compiled.code_cache", "agents"): "a prefix of modules' names; nothing is imported",
    ("envs.registration", "pocket_uno_v0"): "an entry point, which PettingZoo imports on demand",
    ("agents.registry", "agents"): "the group of entry points; nothing is imported",
    ("agents.registry", "agents.rlcard"): "shows RLCard our agents by name, and is one by name",
}
"""Names in strings that may lead upward, and why. Each is needed: a test looks."""

UNKNOWN = {
    TOP: "the public names, loaded on demand; they are imported for types as well",
    "__main__": "programs by the name of a command; their modules stand there in strings",
    "agents.registry": "agents that users write, `import:MODULE:NAME`, and optional packages",
}
"""Modules that import what a variable names, and what that is."""

MODULES = sources()
IMPORTS = all_imports(MODULES)
OURS = [one for one in IMPORTS if one.how != "unknown" and one.target.split(".")[0] == TOP]
CORE = {TOP, "numpy", "numba", "llvmlite", *sys.stdlib_module_names}
"""What the core imports."""
LIGHT = {"arguments", "guard", "version", "compiled", "reference", "rules", "engine"}
LIGHT |= {"equity", "episodes", "observation", "records", "row_kernels", "rows", "batch"}
"""Rooms that import nothing else, not even inside functions."""


def short(module: str) -> str:
    return module.removeprefix(f"{TOP}.")


def exempt(one: Import) -> bool:
    return one.how == "name" and (short(one.module), short(one.target)) in EXCEPTIONS


def room(module: str) -> str:
    """The first folder within the package, or the module at its root."""
    return short(module).split(".")[0] if module != TOP else "__init__"


def room_of_agents(module: str) -> str:
    return module.split(".")[2] if module.count(".") > 1 else "__init__"


def heights(floors: list[str]) -> dict[str, int]:
    return {name: height for height, floor in enumerate(floors) for name in floor.split()}


def test_every_package_has_a_floor() -> None:
    assert {room(module) for module in MODULES} == set(heights(FLOORS))
    inside = {room_of_agents(module) for module in MODULES if room(module) == "agents"}
    assert inside == set(heights(AGENTS))


def test_packages_import_only_from_below() -> None:
    """So there is no circle of packages either, since independent ones share a floor."""
    height = heights(FLOORS)
    arrows = [(room(one.module), room(one.target), one) for one in OURS if not exempt(one)]
    assert len({(here, there) for here, there, _ in arrows if here != there}) > 60
    upward = [
        str(one) for here, there, one in arrows if here != there and height[there] >= height[here]
    ]
    assert not upward


def test_agents_import_only_from_below() -> None:
    height = heights(AGENTS)
    inside = [
        (room_of_agents(one.module), room_of_agents(one.target), one)
        for one in OURS
        if room(one.module) == room(one.target) == "agents" and not exempt(one)
    ]
    upward = [
        str(one) for here, there, one in inside if here != there and height[there] >= height[here]
    ]
    assert len(inside) > 20 and not upward


def test_no_modules_import_one_another_in_a_circle() -> None:
    arrows: dict[str, set[str]] = {}
    for one in OURS:
        if one.target != one.module and one.how != "type" and not exempt(one):
            arrows.setdefault(one.module, set()).add(one.target)
    assert circles(arrows) == []
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}) == [["a", "b", "c"]]


def test_names_in_strings_lead_to_modules() -> None:
    assert not [str(one) for one in OURS if one.how == "name" and one.target not in MODULES]


def test_what_a_variable_names_is_known() -> None:
    unknown = [one for one in IMPORTS if one.how == "unknown"]
    assert {short(one.module) for one in unknown} <= set(UNKNOWN)
    pieced = [str(one) for one in unknown if TOP in one.target]
    assert not pieced, "write the name of the module in full"


def test_every_exception_is_needed() -> None:
    found = {(short(one.module), short(one.target)) for one in OURS if exempt(one)}
    assert found == set(EXCEPTIONS)


def test_no_private_name_is_imported() -> None:
    assert not [str(one) for one in OURS if one.private]


def test_the_reference_imports_nothing_of_the_engine() -> None:
    taken = [one for one in IMPORTS if room(one.module) == "reference"]
    foreign = {one.target for one in taken if one.target not in MODULES}
    ours = {room(one.target) for one in taken if one.target in MODULES}
    assert foreign <= set(sys.stdlib_module_names)
    # JSON read strictly, values in messages, how a program ends: nothing about the game.
    assert ours <= {"reference", "files", "arguments", "cli"}


def test_the_core_needs_numpy_and_numba_alone() -> None:
    """What is loaded for `Batch`, and all that those rooms may import later."""
    loaded, left = set(), [f"{TOP}.batch"]
    while left:
        module = left.pop()
        if module in loaded or module not in MODULES:
            continue
        loaded.add(module)
        left += [module.rpartition(".")[0]] if "." in module else []
        left += [one.target for one in OURS if one.module == module and not one.deferred]
    assert f"{TOP}.engine.transition" in loaded
    assert not {room(module) for module in loaded} & {"cli", "display", "play", "evaluation"}
    assert not [
        str(one)
        for one in IMPORTS
        if one.how == "import" and one.target.split(".")[0] not in CORE
        if room(one.module) in LIGHT or (one.module in loaded and not one.deferred)
    ]


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
    heavy = "torch stable_baselines3 rich matplotlib pandas PIL pygame aiohttp tyro ray"
    assert not set(heavy.split()) & set(loaded)


def test_importing_compiles_nothing(tmp_path: Path) -> None:
    code = (
        "from numba.core import event\n"
        "with event.install_recorder('numba:compile') as seen:\n"
        "    import pocket_uno_env, pocket_uno_env.agents, pocket_uno_env.envs.gym\n"
        "    from pocket_uno_env import pocket_uno_v0\n"
        "    from pocket_uno_env.batch import Batch\n"
        "    pocket_uno_v0.env(); Batch(8)\n"
        "    made = len(seen.buffer)\n"
        "    from pocket_uno_env.compiled.rng import mix; import numpy as np\n"
        "    mix(np.uint64(1)); print(made, len(seen.buffer) > 0)"
    )
    assert run(code, NUMBA_CACHE_DIR=str(tmp_path)) == "0 True"


@pytest.mark.parametrize("module", MODULES, ids=short)
def test_every_module_says_what_it_holds(module: str) -> None:
    text = ast.get_docstring(ast.parse(MODULES[module].read_text("utf-8")))
    assert text, "a module begins with a docstring"
    words = set(re.findall(r"[a-z]+", text.split("\n")[0].lower()))
    own = set(re.findall(r"[a-z]+", short(module).lower()))
    assert len(words - own) >= 2, f"says little more than its name: {text.splitlines()[0]!r}"


SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]


def test_every_package_is_installed() -> None:
    packages = {module for module, path in MODULES.items() if path.name == "__init__.py"}
    assert sorted(packages) == SETUPTOOLS["packages"]
    assert {path.parent for path in MODULES.values()} == {
        MODULES[package].parent for package in packages
    }


def test_every_file_of_data_is_installed() -> None:
    listed = {
        path
        for package, patterns in SETUPTOOLS["package-data"].items()
        for pattern in patterns
        for path in MODULES[package].parent.glob(pattern)
    }
    found = {
        path
        for folder in (ROOT / TOP, ROOT / "agents")
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".py" and "__pycache__" not in path.parts
    }
    assert listed == found and len(found) > 20
