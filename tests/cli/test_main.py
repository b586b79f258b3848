"""The command line: one verb a program."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import pocket_uno_env
from pocket_uno_env.__main__ import VERBS, main, run

ROOT = Path(pocket_uno_env.__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def narrow(text: str) -> bool:
    return all(len(line) <= 80 and line == line.rstrip() for line in text.splitlines())


def test_the_verbs_are_listed_with_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--help"], ["-h"]):
        assert main(arguments) == 0
        out, err = capsys.readouterr()
        assert out.startswith("usage: pocket-uno VERB ...\n") and narrow(out) and not err
        listed = re.findall(r"^  ([a-z-]+)  +\S", out, re.MULTILINE)
        assert listed == list(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_help_says_how_it_was_called(
    verb: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    package = Path(pocket_uno_env.__file__).parent
    calls = {
        "/usr/bin/pocket-uno": "pocket-uno",
        str(package / "__main__.py"): "python -m pocket_uno_env",
    }
    for called, name in calls.items():
        monkeypatch.setattr(sys, "argv", [called, verb, "--help"])
        with pytest.raises(SystemExit) as exit:
            main()
        out, err = capsys.readouterr()
        assert exit.value.code == 0 and not err
        assert out.startswith(f"usage: {name} {verb} ")
        assert all(len(line) <= 80 for line in out.splitlines())


@pytest.mark.parametrize("verb", ["train", "evaluate"])
def test_the_programs_at_the_top_are_the_same(verb: str) -> None:
    found = [
        subprocess.run(
            [sys.executable, *command, "--help"], capture_output=True, text=True, check=True
        ).stdout
        for command in ([str(ROOT / f"{verb}.py")], ["-m", "pocket_uno_env", verb])
    ]
    first, second = (out.splitlines() for out in found)
    assert first[0].startswith(f"usage: {verb}.py ") and first[1:] == second[1:]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "expected a command"),
        (["pley"], "no command 'pley'; did you mean 'play'?"),
        (["evalute"], "no command 'evalute'; did you mean 'evaluate'?"),
        (["verify"], "no command 'verify' (--help lists them)"),
        (["--version"], "no command '--version'"),
    ],
)
def test_other_commands_are_one_line_and_status_2(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert not out and err.startswith("pocket-uno: error: ") and says in err
    assert err.count("\n") == 1


def test_a_missing_extra_is_one_sentence() -> None:
    needy = [verb for verb, about in VERBS.items() if about.extra is not None]
    code = (
        "import sys; sys.modules['tyro'] = None; from pocket_uno_env.__main__ import main;"
        f"print(*[main([verb]) for verb in {needy}])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"2"}
    for verb, line in zip(needy, done.stderr.splitlines(), strict=True):
        extra = VERBS[verb].extra
        assert extra in PROJECT["optional-dependencies"]
        assert f"pocket-uno {verb}: error: this needs the extra {extra!r} (pip install " in line


def test_only_the_verb_that_is_called_is_loaded() -> None:
    code = (
        "import sys; from pocket_uno_env.__main__ import main; main(['--help']);"
        "main(['check', '/none']); print(*sys.modules)"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    loaded = set(out.splitlines()[-1].split())
    assert not {"numba", "torch", "tyro", "rich", "aiohttp", "pocket_uno_env.batch"} & loaded


def test_the_console_script_is_the_same_program() -> None:
    script = EntryPoint("pocket-uno", PROJECT["scripts"]["pocket-uno"], "console_scripts")
    assert script.load() is run
