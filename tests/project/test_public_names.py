"""The names of the package itself: there, typed and loaded late."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pocket_uno_env


def test_every_name_is_there_and_listed() -> None:
    assert set(pocket_uno_env.__all__) <= set(dir(pocket_uno_env))
    for name in pocket_uno_env.__all__:
        assert getattr(pocket_uno_env, name) is not None
    with pytest.raises(AttributeError, match="'pocket_uno_env' has no attribute 'rows_of'"):
        pocket_uno_env.rows_of  # noqa: B018 - reading it is the test


def test_types_and_values_come_from_the_same_module() -> None:
    tree = ast.parse(Path(pocket_uno_env.__file__).read_text("utf-8"))
    (checked,) = (node for node in tree.body if isinstance(node, ast.If))
    typed = {
        alias.name: node.module
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed.pop("pocket_uno_v0") is None
    assert typed == pocket_uno_env._HOMES


def test_importing_the_package_loads_no_compiler() -> None:
    code = "import sys, pocket_uno_env; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
