"""Who imports whom in the packages, read from the sources.

Every import counts: at the top of a module, inside functions, under ``TYPE_CHECKING``, by
``importlib.import_module``, and by a name in a registry or a table of programs, which is a string
that begins with ``pocket_uno_env.``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOP = "pocket_uno_env"
NAMED = re.compile(rf"{TOP}(?:\.\w+)+(?=[:.]?\w*$)")
"""A string that names a module, or something in one after a colon."""


@dataclass(frozen=True)
class Import:
    """One import: the module that imports, the line, and what it imports."""

    module: str
    line: int
    target: str
    how: str
    """``"import"``; ``"type"``, for the type checker alone; ``"name"`` of a string; ``"unknown"``
    where the program decides."""
    deferred: bool = False
    """Whether it happens when a function is called, or never."""
    private: str = ""
    """The private name that is taken from the target, if any."""

    def __str__(self) -> str:
        what = f"{self.target}, private {self.private}" if self.private else self.target
        return f"{self.module}:{self.line} imports {what}"


def sources(root: Path = ROOT) -> dict[str, Path]:
    """All modules of the packages, by their full names; a package by the name of its folder."""
    found = {}
    for folder, prefix in ((root / TOP, TOP), (root / "agents", f"{TOP}.agents")):
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            found[".".join((prefix, *parts))] = path
    return found


def all_imports(modules: Mapping[str, Path]) -> list[Import]:
    """What all the modules import."""
    return [one for name, path in modules.items() for one in imports(name, path, modules)]


def imports(module: str, path: Path, modules: Mapping[str, Path]) -> Iterator[Import]:
    """What a module imports: of ours the modules, of others the name at the top."""
    tree = ast.parse(path.read_text("utf-8"))
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    bound: dict[str, str] = {}  # names of this module that are modules of ours
    for node, place in _walk(tree):
        deferred, how = place != "top", "type" if place == "type" else "import"
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module, line, _known(alias.name, modules), how, deferred)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                up = package.rsplit(".", node.level - 1)[0]
                base = f"{up}.{base}" if base else up
            for alias in node.names:
                target = _known(f"{base}.{alias.name}", modules)
                if target == f"{base}.{alias.name}":
                    bound[alias.asname or alias.name] = target
                private = alias.name if _is_private(alias.name) and target in modules else ""
                yield Import(module, line, target, how, deferred, private)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in bound and _is_private(node.attr):
                yield Import(module, line, bound[node.value.id], how, deferred, node.attr)
        elif isinstance(node, ast.Call) and _called(node) in ("import_module", "__import__"):
            if not isinstance(node.args[0], ast.Constant):
                yield Import(module, line, ast.unparse(node.args[0]), "unknown", True)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            named = NAMED.match(node.value)
            if named:
                yield Import(module, line, named[0], "name", True)


def _walk(node: ast.AST, place: str = "top") -> Iterator[tuple[ast.AST, str]]:
    """All nodes below one, each with its place: the top, a function, or for types alone."""
    for child in ast.iter_child_nodes(node):
        yield child, place
        inside = place
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            inside = "function"
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            inside = "type"
        yield from _walk(child, inside)


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _known(name: str, modules: Mapping[str, Path]) -> str:
    """The module of ours that a dotted name leads to; of others the first part."""
    if name.split(".")[0] != TOP:
        return name.split(".")[0]
    while name not in modules and "." in name:
        name = name.rpartition(".")[0]
    return name


def circles(arrows: Mapping[str, set[str]]) -> list[list[str]]:
    """Groups of two or more that lead to one another (Tarjan's strongly connected components)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(one: str) -> None:
        number[one] = low[one] = len(number)
        stack.append(one)
        for other in sorted(arrows.get(one, ())):
            if other not in number:
                visit(other)
                low[one] = min(low[one], low[other])
            elif other in stack:
                low[one] = min(low[one], number[other])
        if low[one] == number[one]:
            place = stack.index(one)
            group = stack[place:]
            del stack[place:]
            if len(group) > 1:
                found.append(sorted(group))

    for one in sorted(arrows):
        if one not in number:
            visit(one)
    return found
