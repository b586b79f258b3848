"""Runs what the documents show: the examples, and the Python blocks of a page."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run_example(name: str, *arguments: str, folder: Path) -> str:
    """What ``examples/NAME.py`` prints, run in `folder`; fails where it fails."""
    return _run([str(ROOT / "examples" / f"{name}.py"), *arguments], folder)


def run_page(name: str, folder: Path) -> str:
    """What the Python blocks of ``docs/ecosystem/NAME.md`` print, one after the other."""
    text = (ROOT / "docs" / "ecosystem" / f"{name}.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert blocks, f"{name}.md shows no Python"
    return _run(["-c", "\n".join(blocks)], folder)


def _run(arguments: list[str], folder: Path) -> str:
    result = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, cwd=folder
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout
