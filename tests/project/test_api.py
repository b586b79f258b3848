"""The page of public names is held against the code: all exist, are listed, and are described."""

from __future__ import annotations

import ast
import importlib
import re
import runpy

import pytest
from structure import ROOT, TOP, sources

API = runpy.run_path(str(ROOT / "docs" / "generate_api.py"))
MODULES = sources()
PUBLIC: dict[str, list[str]] = API["public"]()
PAGES = {page.stem: page.read_text("utf-8") for page in (ROOT / "docs" / "api").glob("*.md")}
UNLISTED = {"pocket_uno_env.play.guarded", "pocket_uno_env.play.web.hall"}
"""Modules whose ``__all__`` is for other modules of the package."""


def defined(module: str) -> set[str]:
    """The names that a module defines or imports at its top, by its text."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text("utf-8"))):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            found.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def described() -> set[str]:
    """The modules that the reference describes."""
    found = set()
    for page in PAGES.values():
        for name, whole in re.findall(r"^::: (\S+)\n(    options:\n.*?\n\n?)?", page, re.M | re.S):
            below = name + "." if "show_submodules" in whole else name
            found |= {name, *(module for module in MODULES if module.startswith(below))}
    return found


@pytest.mark.parametrize("module", PUBLIC)
def test_public_names_exist(module: str) -> None:
    assert set(PUBLIC[module]) <= defined(module) | {"__version__", "pocket_uno_v0"}
    assert len(PUBLIC[module]) == len(set(PUBLIC[module]))


@pytest.mark.parametrize("module", API["PACKAGES"])
def test_public_names_can_be_imported_and_are_described(module: str) -> None:
    loaded = importlib.import_module(module)
    for name in PUBLIC.get(module, []):
        home = getattr(getattr(loaded, name), "__module__", None)  # tables have none
        assert home is None or home in described(), f"no page describes {home}, which has {name}"


def test_the_page_lists_every_public_module() -> None:
    for module, names in PUBLIC.items():
        row = re.search(rf"^\| `{re.escape(module)}` \|.*$", PAGES["index"], re.M)
        assert row is not None, module
        assert re.findall(r"`(\w+)`", row[0].rsplit("|", 2)[1]) == names
    rows = re.findall(r"^\| `([\w.]+)` \|", PAGES["index"], re.M)
    assert rows == list(PUBLIC)


def test_whatever_has_a_list_of_public_names_is_public() -> None:
    """A new ``__all__`` is a promise: it gets onto the page, or is none."""
    listing = {module for module in MODULES if API["listed"](module)}
    assert listing - UNLISTED <= set(API["PACKAGES"]) | set(API["CLASSES"])


def test_every_package_has_a_page() -> None:
    missing = {
        module
        for module, path in MODULES.items()
        if path.name == "__init__.py" and not any(m.startswith(module) for m in described())
    }
    assert missing <= {f"{TOP}.compiled", f"{TOP}.cli"}
