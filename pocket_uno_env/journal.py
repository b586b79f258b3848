"""What a tournament has played so far, in a folder: it survives Ctrl-C, ``kill -9`` and power cuts.

| file | holds |
|---|---|
| ``plan.json`` | the `tournament.Plan`: all that decides the result |
| ``chunks.sqlite`` | the result of each task, as arrays |

SQLite takes care that each result is there whole or not at all. Nothing is pickled.
"""

from __future__ import annotations

import io
import json
import sqlite3
import sys
import time
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from .arena import COLUMNS, Games
from .tournament import Plan, Played, Task

FORMAT = "uno-tournament/1"
PLAN = "plan.json"
CHUNKS = "chunks.sqlite"
SECONDS = 2.0
"""Between commits: so much work may be lost at worst."""


class JournalError(ValueError):
    """A folder that is no tournament, or cannot become one; the message says why."""


class DiskJournal:
    """The journal of a folder; a context manager.

    Parameters
    ----------
    folder : Path
    plan : Plan or None
        To begin a new tournament in a folder that is empty or not there; None to go on with what
        is there.
    about : dict, optional
        What else to remember of a new one, as JSON.

    Raises
    ------
    JournalError
    """

    def __init__(
        self, folder: Path, plan: Plan | None = None, about: Mapping[str, Any] | None = None
    ) -> None:
        self.folder = folder
        if plan is not None:
            _begin(folder, plan, about or {})
        self.plan, self.about = read_plan(folder)
        self._base = sqlite3.connect(folder / CHUNKS, isolation_level=None, timeout=1)
        try:
            self._base.execute("pragma locking_mode = exclusive")
            self._base.execute("begin exclusive")
            self._base.execute(
                "create table if not exists chunk (line_up integer, first integer, count integer, "
                "arrays blob, records blob, primary key (line_up, first))"
            )
        except sqlite3.Error as error:
            self._base.close()
            if "locked" in str(error):
                raise JournalError(
                    f"cannot use {folder / CHUNKS}: {error}; is another process at it?"
                ) from error
            raise self._damaged(error) from error
        self._committed = time.monotonic()

    def __enter__(self) -> DiskJournal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._base.execute("commit")
        except sqlite3.Error as failure:
            if error is None:
                raise self._damaged(failure) from failure
        finally:
            self._base.close()

    def _damaged(self, error: Exception) -> JournalError:
        return JournalError(
            f"{self.folder / CHUNKS} cannot be used: {error}; move it away, and --resume "
            f"{self.folder} plays everything again"
        )

    def done(self) -> dict[Task, Played]:
        """See `tournament.Journal`. What is damaged is left out, so that it is played again."""
        tasks, found = set(self.plan.tasks()), {}
        try:
            for number, first, count, arrays, records in self._base.execute("select * from chunk"):
                if (number, first, count) not in tasks:
                    raise JournalError(
                        f"{self.folder / CHUNKS} does not belong to {PLAN} beside it"
                    )
                played = self._read(number, first, count, arrays, records)
                if played is not None:
                    found[number, first, count] = played
        except sqlite3.Error as error:
            raise self._damaged(error) from error
        return found

    def _read(
        self, number: int, first: int, count: int, arrays: bytes, records: bytes
    ) -> Played | None:
        lineup = self.plan.line_ups[number]
        names = tuple(self.plan.agents[agent] for agent in lineup)
        try:
            played = _unpacked(arrays, lineup, names)
            if played.games.winner.shape != (count, len(lineup)):
                raise ValueError("other deals")
            zlib.decompress(records)
        except (zlib.error, zipfile.BadZipFile, ValueError, KeyError, TypeError, EOFError):
            print(
                f"{self.folder / CHUNKS}: line-up {number}, deals {first} to {first + count - 1} "
                "cannot be read; they are played again",
                file=sys.stderr,
            )
            return None
        return played

    def records(self, task: Task) -> list[str]:
        """See `tournament.Journal`."""
        query = "select records from chunk where line_up = ? and first = ?"
        (packed,) = self._base.execute(query, task[:2]).fetchone()
        text = zlib.decompress(packed).decode()
        return text.split("\n") if text else []

    def extend(self, deals: int) -> None:
        """Plan more deals for each line-up; a last task that was cut short is played again.

        Raises
        ------
        JournalError
            When there are more already.
        """
        if deals < self.plan.deals:
            raise JournalError(
                f"{self.folder} is planned for {self.plan.deals} deals; expected as many or more, "
                f"not {deals}"
            )
        self.plan = replace(self.plan, deals=deals)
        tasks = set(self.plan.tasks())
        for task in self._base.execute("select line_up, first, count from chunk").fetchall():
            if task not in tasks:
                self._base.execute("delete from chunk where line_up = ? and first = ?", task[:2])
        self._base.execute("commit")
        _write_plan(self.folder, self.plan, self.about)
        self._base.execute("begin exclusive")

    def add(self, task: Task, played: Played) -> None:
        """See `tournament.Journal`."""
        self._base.execute(
            "insert or replace into chunk values (?, ?, ?, ?, ?)", (*task, *_packed(played))
        )
        if time.monotonic() - self._committed > SECONDS:
            self._base.execute("commit")
            self._base.execute("begin exclusive")
            self._committed = time.monotonic()


def read_plan(folder: Path) -> tuple[Plan, dict[str, Any]]:
    """The plan of a tournament's folder and what else is known; `JournalError` if it is none."""
    try:
        fields = json.loads((folder / PLAN).read_text("utf-8"))
    except OSError as error:
        raise JournalError(
            f"{folder} is no tournament: {PLAN} is missing ({error.strerror})"
        ) from error
    except ValueError as error:
        raise JournalError(f"{folder / PLAN} is not JSON: {error}") from error
    if not isinstance(fields, Mapping) or fields.get("format") != FORMAT:
        raise JournalError(f"{folder / PLAN} is not of the format {FORMAT!r}")
    try:
        plan = Plan.from_dict(fields["plan"])
        _ = plan.setting  # checks it
        about = dict(fields["about"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else error
        raise JournalError(
            f"{folder / PLAN} is damaged: {what}; restore it, or start a new run"
        ) from error
    return plan, about


def _begin(folder: Path, plan: Plan, about: Mapping[str, Any]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = any(folder.iterdir())
        if not taken:
            _write_plan(folder, plan, about)
    except OSError as error:
        raise JournalError(f"cannot make the folder {folder}: {error.strerror}") from error
    if taken:
        hint = f"go on with it by --resume {folder}, or " if (folder / PLAN).exists() else ""
        raise JournalError(f"{folder} is not empty; {hint}choose another folder")


def _write_plan(folder: Path, plan: Plan, about: Mapping[str, Any]) -> None:
    part = folder / (PLAN + ".part")
    text = json.dumps({"format": FORMAT, "about": dict(about), "plan": plan.to_dict()}, indent=1)
    part.write_text(text + "\n", "utf-8")
    part.replace(folder / PLAN)


def _packed(played: Played) -> tuple[bytes, bytes]:
    arrays = {name: getattr(played.games, name) for name in COLUMNS}
    for name in ("behavior", "luck"):
        if getattr(played, name) is not None:
            arrays[name] = getattr(played, name)
    file = io.BytesIO()
    np.savez(file, **arrays)
    return zlib.compress(file.getvalue(), 1), zlib.compress("\n".join(played.records).encode())


def _unpacked(arrays: bytes, lineup: tuple[int, ...], names: tuple[str, ...]) -> Played:
    with np.load(io.BytesIO(zlib.decompress(arrays)), allow_pickle=False) as file:
        found = {name: file[name] for name in file.files}
    games = Games(lineup, names, *(found[name] for name in COLUMNS))
    return Played(games, found.get("behavior"), found.get("luck"), [])
