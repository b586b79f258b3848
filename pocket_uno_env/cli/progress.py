"""How far a long task is, on a terminal and anywhere else."""

from __future__ import annotations

import os
import shlex
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from .program import docstring

Report = Callable[[int, Mapping[str, float]], None]
"""Called with how many decisions have been made, and figures worth showing."""


class Display(AbstractContextManager["Display"]):
    """One task after the other, each with a name and a total; writes to standard error.

    Parameters
    ----------
    every : float
        Seconds between lines where standard error is not a terminal.
    last_line : bool
        Whether a task that has ended gets a line there, however short it was.
    """

    def __init__(self, every: float = 10.0, last_line: bool = True) -> None:
        self.every = every
        self._last_line = last_line
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[figures]}", markup=False),
            console=console(stderr=True),
            disable=not sys.stderr.isatty(),
            refresh_per_second=4,
        )
        self._task = self._bar.add_task("", visible=False, figures="")
        self._name, self._total, self._first = "", 1, 0
        self._reports, self._ended = 0, False
        self._began = self._shown = time.monotonic()

    def __enter__(self) -> Display:
        self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if not self._bar.disable:  # Rich's older versions end a bar that never was with a line.
            self._bar.stop()

    def begin(self, name: str, total: int, done: int = 0) -> None:
        """Start on the next task, of which `done` is done already."""
        self._bar.remove_task(self._task)
        self._task = self._bar.add_task(name, total=total, completed=done, figures="")
        self._name, self._total, self._first = name, total, done
        self._reports, self._ended = 0, False
        self._began = self._shown = time.monotonic()

    def say(self, text: str) -> None:
        """A line of its own."""
        self._bar.console.print(text, soft_wrap=True)

    def report(self, done: int, figures: Mapping[str, float]) -> None:
        """So much is done; `figures` as in ``{"win_rate": 0.5}``."""
        if self._bar.disable:
            now = time.monotonic()
            self._reports += 1
            if self._reports <= 2:
                # The first piece of work waits for kernels to be compiled: the clock starts after.
                self._began, self._first = now, done
            last = self._last_line and done >= self._total and not self._ended
            if self._ended or (now - self._shown < self.every and not last):
                return
            self._shown, self._ended = now, last
            speed = ""
            if done > self._first:
                rate = (done - self._first) / max(now - self._began, 1e-9)
                left = max(self._total - done, 0) / rate
                speed = f", {rate:,.0f}/s, {left:.0f} s left"
            self.say(
                f"{self._name}: {min(done, self._total):,} of {self._total:,}{speed}"
                f"{_text(figures, ', ')}"
            )
        else:
            self._bar.update(self._task, completed=done, figures=_text(figures, ""))


def _text(figures: Mapping[str, float], before: str) -> str:
    parts = [f"{name.replace('_', ' ')} {value:.3g}" for name, value in figures.items()]
    return before + ", ".join(parts) if parts else ""


def console(stderr: bool = False) -> Console:
    """Where to print tables: text is shown as it is, since agents' names are no markup."""
    return Console(stderr=stderr, markup=False, highlight=False, emoji=False)


def help_text(file: str, known: str = "") -> str:
    """The head of a program's --help, for tyro: its docstring, and what names it knows.

    Paragraphs are filled to 78 columns; lines that are indented stay as they are. The space before
    each line keeps tyro from joining them.
    """
    parts = []
    for part in [*docstring(file).split("\n\n"), *[known] * bool(known)]:
        kept = any(line.startswith(" ") for line in part.splitlines())
        lines = part.splitlines() if kept else textwrap.wrap(part, 78)
        parts.append("\n".join(f" {line}" for line in lines))
    return "\n\n".join(parts)


def this_python() -> str:
    """The running Python, as one would type it here."""
    relative = os.path.relpath(sys.executable)
    return shlex.quote(sys.executable if relative.startswith("..") else relative)
