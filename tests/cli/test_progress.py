"""Progress where there is no terminal: what is said, and from when on the clock counts."""

from __future__ import annotations

import pytest
from rich.table import Table

from pocket_uno_env.cli import progress
from pocket_uno_env.cli.progress import Display, console


def test_compilation_does_not_count(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    with Display(every=0.0) as display:
        display.begin("rounds", 1000)
        for seconds, done in [(0.0, 0), (60.0, 100), (70.0, 200), (80.0, 300)]:
            clock[0] = seconds
            display.report(done, {"win_rate": 0.5})
    assert capsys.readouterr().err.splitlines() == [
        "rounds: 0 of 1,000, win rate 0.5",
        "rounds: 100 of 1,000, win rate 0.5",
        "rounds: 200 of 1,000, 10/s, 80 s left, win rate 0.5",
        "rounds: 300 of 1,000, 10/s, 70 s left, win rate 0.5",
    ]


def test_names_are_no_markup(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """A run's folder may be called anything, on a terminal, too."""
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True)
    name = "runs/[red]x[/red] :smile: [/]"
    with Display() as display:
        display.say(name)
        display.begin(name, 10)
        display.report(10, {})
    table = Table(title=name)
    table.add_column(name)
    table.add_row(name)
    console().print(table)
    out, err = capsys.readouterr()
    assert err.count(name) >= 2 and out.count(name) == 3
