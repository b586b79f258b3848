"""What the documents say is true: examples run, generated parts are current, links lead on."""

from __future__ import annotations

import json
import posixpath
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pocket_uno_env import replay
from pocket_uno_env.reference.referee import check_record

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Their blocks run where the framework is installed: in ecosystem/.
ELSEWHERE = {
    f"{name}.md"
    for file in (ROOT / "ecosystem").glob("*/test_*.py")
    for name in re.findall(r'run_page\("(\w+)"', file.read_text("utf-8"))
}
EXAMPLES = {
    # The blocks of a page build on one another, as a reader's session would.
    page.relative_to(ROOT).as_posix(): "\n".join(
        re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    )
    for page in PAGES
    if page.name not in ELSEWHERE
}


def test_there_are_examples() -> None:
    assert "pocket_uno_v0.env(" in EXAMPLES["README.md"] and EXAMPLES["docs/agents.md"]
    assert "torchrl.md" in ELSEWHERE and "gymnasium.md" not in ELSEWHERE


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text("utf-8")):
        if re.match(r"https?:|mailto:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page.name}: {target}"
        assert not anchor or anchor in anchors(file), f"{page.name}: {target}"


HOOKS = runpy.run_path(str(ROOT / "docs" / "hooks.py"))


def test_the_sites_navigation_lists_every_page() -> None:
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]
    listed = HOOKS["pages_of"](HOOKS["named"](nav))
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")]
    assert len(listed) == len(set(listed))
    assert sorted(set(listed) - set(made_pages())) == sorted(pages)


def made_pages() -> dict[str, Path]:
    """What the site shows of files outside of docs/, by its name there."""
    files = HOOKS["outside_files"](sorted((ROOT / "docs").rglob("*.md")))
    return {HOOKS["site_uri"](file): file for file in files}


def test_the_sites_links_lead_somewhere() -> None:
    made = made_pages()
    pages = {page.relative_to(ROOT / "docs").as_posix(): page for page in PAGES[2:]}
    count = 0
    for uri, file in {**pages, **made}.items():
        if file.is_dir():
            text = HOOKS["source_page"](file)
        elif file.suffix == ".md":
            text = HOOKS["resolved"](file.read_text("utf-8"), file, uri)
        else:
            continue
        for target in re.findall(r"\]\((?!\w+:|#)([^)#\s]+)", re.sub(r"(?s)```.*?```", "", text)):
            there = posixpath.normpath(posixpath.join(posixpath.dirname(uri), target))
            assert there in pages or there in made or (ROOT / "docs" / there).is_file(), target
            count += 1
    assert count > 50


def test_the_reference_names_modules_that_exist() -> None:
    named = [
        name
        for page in (ROOT / "docs" / "api").glob("*.md")
        for name in re.findall(r"^::: (\S+)$", page.read_text("utf-8"), re.MULTILINE)
    ]
    assert len(named) == len(set(named)) > 30
    for name in named:
        path = ROOT / name.replace("pocket_uno_env.agents.", "agents.").replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__init__.py").is_file(), name


def test_a_link_that_is_the_name_of_a_page_shows_its_title() -> None:
    page = ROOT / "docs" / "quick_start.md"
    text = HOOKS["resolved"](page.read_text("utf-8"), page, "quick_start.md")
    assert "[Training](training.md)" in text and "[training.md]" not in text


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 140


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda p: p.stem)
def test_notebooks_are_pages(path: Path) -> None:
    page = HOOKS["source_page"](path)
    assert page.startswith("# ") and "````python\n" in page and "\x1b" not in page


def test_the_record_that_is_shown_is_a_game() -> None:
    text = (ROOT / "docs" / "records.md").read_text("utf-8")
    record = json.loads(re.findall(r"^```json\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[0])
    check_record(record)
    assert replay(record)["result"] == record["rounds"][0]["result"]


def test_faults_name_tests_that_exist() -> None:
    tests = ROOT / "tests"
    functions = {
        name
        for file in tests.rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", file.read_text("utf-8"), re.MULTILINE)
    }
    cases = [
        json.loads(line)["name"]
        for file in (tests / "engine" / "cases").glob("*.jsonl")
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
