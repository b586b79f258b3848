"""Programs and their standard streams: closed, full, narrow, without a reader."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
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
    "train": "-m pocket_uno_env train --steps 0 --deals 5 --teacher None --lookahead-steps 0 "
    "--network 8",
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
    assert code in (0, 141) and "rror" not in err  # 0 if all was written before the reader left


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


@pytest.mark.parametrize("name", [*QUICK, "train"])
def test_a_reader_that_has_left_is_status_141(folder: Path, name: str) -> None:
    """And not 1, which would say of `check` that a game breaks a rule."""
    read, write = os.pipe()
    os.close(read)
    arguments = PROGRAMS[name].split()
    try:
        done = subprocess.run(
            [sys.executable, *(arguments if name != "train" else [*arguments[:3], "--help"])],
            cwd=folder, stdout=write, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
    finally:
        os.close(write)
    # Older versions of tyro end --help with 0.
    assert done.returncode == 141 or (done.returncode == 0 and name == "train")
    assert b"rror" not in done.stderr


EARLY = {
    "train.py": ("tyro", "torch"),
    "evaluate.py": ("tyro", "rich", "numba"),
    "-m pocket_uno_env train": ("tyro", "torch"),
    "-m pocket_uno_env evaluate": ("tyro", "rich", "numba"),
    "-m pocket_uno_env play": ("tyro", "numba"),
    "-c from~pocket_uno_env.__main__~import~run;run() play": ("rich", "numba"),
}
"""Programs, and what each of them imports first; the last is what `pocket-uno` is."""


@pytest.mark.parametrize(
    ("program", "module"), [(program, module) for program, of in EARLY.items() for module in of]
)
def test_ctrl_c_while_modules_are_imported(tmp_path: Path, program: str, module: str) -> None:
    """A module of that name stands before the real one and says when it is being imported."""
    (tmp_path / f"{module}.py").write_text(
        "import pathlib, time\npathlib.Path('importing').touch()\ntime.sleep(120)\n"
    )
    words = [word.replace("~", " ") for word in program.split()]
    if words[0].endswith(".py"):
        words[0] = str(ROOT / words[0])
    process = subprocess.Popen(
        [sys.executable, *words], cwd=tmp_path, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])},
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not (tmp_path / "importing").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, f"{module} is not imported"
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "")
