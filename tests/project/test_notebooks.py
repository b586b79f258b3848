"""What can be said of the notebooks without running them, and that their check can fail.

`make test-notebooks` runs them.
"""

from __future__ import annotations

import ast
import copy
import importlib
import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nbclient", reason="needs nbclient, of the extra dev")

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
CHECK = runpy.run_path(str(FOLDER / "check.py"))
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_stored_as_run_from_top_to_bottom(path: Path) -> None:
    cells = code_cells(json.loads(path.read_text("utf-8")))
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert outputs
    for output in outputs:
        assert output["output_type"] != "error" and output.get("name") != "stderr", output


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_notebooks_import_is_there(path: Path) -> None:
    count = 0
    for cell in code_cells(json.loads(path.read_text("utf-8"))):
        source = re.sub(r"^%.*", "", "".join(cell["source"]), flags=re.MULTILINE)
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("pocket_uno_env"):
                module = importlib.import_module(str(node.module))
                for alias in node.names:
                    if not hasattr(module, alias.name):
                        importlib.import_module(f"{node.module}.{alias.name}")
                    count += 1
    assert count


def notebook(text: str, **metadata: Any) -> dict[str, Any]:
    output = {"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}
    code = {"cell_type": "code", "metadata": metadata, "outputs": [output]}
    return {"cells": [{"cell_type": "markdown", "metadata": {}}, code]}


LINE = "R5: it wins 57.6% (56.6% to 58.5%) of 44.4-45.7, +8.5 points, 1,015,808 decisions\n"


@pytest.mark.parametrize(
    ("fresh", "tolerance", "differs"),
    [
        (LINE, 0, False),
        (LINE.replace("57.6", "57.7"), 0, True),
        (LINE.replace("57.6", "57.7"), 0.1, False),
        (LINE.replace("57.6", "57.8"), 0.1, True),
        (LINE.replace("+8.5", "-0.7"), 3, True),
        (LINE.replace("+8.5", "-0.7"), 10, False),
        (LINE.replace("-45.7", "-46.7"), 1, False),
        (LINE.replace("1,015,808", "1,015,812"), 3, True),
        (LINE.replace("R5", "R6"), 3, True),
        (LINE.replace("wins", "loses"), 3, True),
        (LINE + "and more\n", 3, True),
        ("", 3, True),
    ],
)
def test_the_check_notices(fresh: str, tolerance: float, differs: bool) -> None:
    stored = notebook(LINE, **({"tolerance": tolerance} if tolerance else {}))
    assert bool(list(CHECK["differences"](stored, notebook(fresh)))) == differs


def test_the_check_notices_a_number_and_a_picture_of_a_stored_notebook() -> None:
    stored = json.loads((FOLDER / "comparing_strategies.ipynb").read_text("utf-8"))
    assert not list(CHECK["differences"](stored, stored))
    other = copy.deepcopy(stored)
    for cell in code_cells(other):
        for output in cell["outputs"]:
            if "deals at a fixed number" in "".join(output.get("text", "")):
                output["text"] = [line.replace("8,591", "28,943") for line in output["text"]]
    (found,) = CHECK["differences"](stored, other)
    assert "8,591 deals" in found and "28,943 deals" in found
    picture = next(
        cell for cell in code_cells(stored) if "image/png" in cell["outputs"][-1].get("data", {})
    )
    picture["outputs"].pop()
    assert any("image/png" in text for text in CHECK["differences"](stored, other))
