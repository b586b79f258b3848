"""Progress where there is no terminal: what is said, and from when on the clock counts."""

from __future__ import annotations

import pytest

from pocket_uno_env import progress
from pocket_uno_env.progress import Display


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
