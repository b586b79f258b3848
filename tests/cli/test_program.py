"""Programs and their standard streams: closed, full, narrow, without a reader."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from games import play, raw_env

import pocket_uno_env
from pocket_uno_env.agents.scripted.policies import Policy
from pocket_uno_env.cli.program import docstring
from pocket_uno_env.play import advise, film
from pocket_uno_env.training import export_onnx

ROOT = Path(pocket_uno_env.__file__).parents[1]
FULL = "cannot write to standard output: No space left on device\n"
PROGRAMS = {
    "check": "-m pocket_uno_env check games.jsonl",
    "show": "-m pocket_uno_env show games.jsonl",
    "evaluate": "-m pocket_uno_env evaluate --agents greedy first --deals 5 --seed 1",
    "train": "-m pocket_uno_env train --steps 0 --deals 5 --teacher-steps 0 --network 8",
    "play": "-m pocket_uno_env play --round --seed 1",
    "advise": "-m pocket_uno_env advise position.json --agents greedy",
    "replay": "-m pocket_uno_env replay games.jsonl",
}
QUICK = [name for name in PROGRAMS if name != "train"]
C = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    env = raw_env(1)
    list(play(env, Policy.GREEDY))
    record = {**env.record(), "players": ["é\u2028", "\u5361"]}
    text = json.dumps(record, ensure_ascii=False)
    (tmp_path / "games.jsonl").write_text(f"{text}\n{text}\n", "utf-8")
    position = {"hand": ["R5", "W"], "top": "R7", "others": [3]}
    (tmp_path / "position.json").write_text(json.dumps(position))
    return tmp_path


def run(folder: Path, name: str, redirected: str, **environment: str) -> tuple[int, str, str]:
    done = subprocess.run(
        ["bash", "-c", f'"{sys.executable}" {PROGRAMS[name]} {redirected}'],
        cwd=folder, capture_output=True, stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )  # fmt: skip
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_streams_that_are_closed_or_full(folder: Path, name: str) -> None:
    code, out, err = run(folder, name, "")
    assert code == 0 and out and "Traceback" not in err and "\x1b" not in out + err
    assert run(folder, name, ">&- 2>&-") == (0, "", "")
    assert run(folder, name, "2>/dev/full")[0] == 0
    for buffered in ("", "1"):
        code, _, err = run(folder, name, ">/dev/full", PYTHONUNBUFFERED=buffered)
        assert code == 2 and err.endswith(FULL) and "Error" not in err
    code, _, err = run(folder, name, "| true; exit ${PIPESTATUS[0]}")
    assert code in (0, 1) and "rror" not in err  # 0 if all was written before the reader left


@pytest.mark.parametrize(
    ("name", "narrow"),
    [
        *((name, C) for name in QUICK),
        ("show", {"PYTHONIOENCODING": "ascii"}),
        ("evaluate", {"PYTHONIOENCODING": "koi8-r"}),
    ],
)
def test_narrow_terminals(folder: Path, name: str, narrow: dict[str, str]) -> None:
    code, out, err = run(folder, name, "", **narrow)
    assert code == 0 and out.isascii() and "rror" not in err


@pytest.mark.parametrize("name", QUICK)
def test_help_without_docstrings(folder: Path, name: str) -> None:
    _, out, _ = run(folder, name, "--help")
    _, bare, err = run(folder, name, "--help", PYTHONOPTIMIZE="2")
    assert bare == out and len(out) > 200 and err == ""


def test_programs_say_what_they_are() -> None:
    for module in (advise, export_onnx, film):
        assert docstring(module.__file__) == (module.__doc__ or "").strip()


def test_a_byte_order_mark(folder: Path) -> None:
    for file in ("position.json", "games.jsonl"):
        (folder / file).write_bytes(b"\xef\xbb\xbf" + (folder / file).read_bytes())
    for name in ("advise", "replay"):
        code, _, err = run(folder, name, "")
        assert (code, err) == (0, "")
    assert "of 1 to" not in (folder / "game.html").read_text("utf-8")
