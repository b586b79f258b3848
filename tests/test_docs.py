"""What the documents say is true: examples run, generated parts are current, links lead on."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Their blocks run where the framework is installed: in ecosystem/.
ELSEWHERE = {"onnx.md", "openspiel.md", "rlcard.md", "rllib.md", "tianshou.md", "torchrl.md"}
EXAMPLES = {
    # The blocks of a page build on one another, as a reader's session would.
    page.name: "\n".join(
        re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    )
    for page in PAGES
    if page.name not in ELSEWHERE
}


def test_there_are_examples() -> None:
    assert "pocket_uno_v0.env(" in EXAMPLES["README.md"] and EXAMPLES["agents.md"]


@pytest.mark.parametrize("page", [page for page, code in EXAMPLES.items() if code])
def test_examples_run(page: str, tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", EXAMPLES[page]],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr


def test_generated_parts_are_current() -> None:
    result = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr


def anchors(page: Path) -> set[str]:
    """The anchors that headings get on common hosts: lower case, words joined by dashes."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {heading.replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text("utf-8")):
        if re.match(r"https?:|mailto:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page.name}: {target}"
        assert not anchor or anchor in anchors(file), f"{page.name}: {target}"


def test_faults_name_tests_that_exist() -> None:
    tests = Path(__file__).parent
    functions = {
        name
        for file in tests.glob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", file.read_text("utf-8"), re.MULTILINE)
    }
    cases = [
        json.loads(line)["name"]
        for file in (tests / "cases").glob("*.jsonl")
        for line in file.read_text("utf-8").splitlines()
    ]
    page = (ROOT / "docs" / "faults.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ") and "#" in line]
    assert len(rows) >= 29
    for row in rows:
        named = re.findall(r"`([^`]+)`", row.split(" | ")[-1])
        assert named, row
        for name in named:
            found = name in functions or any(case.startswith(name) for case in cases)
            assert found, f"{name!r} in: {row}"
