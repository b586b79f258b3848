"""The results of a tournament in a folder; it survives Ctrl-C, ``kill -9`` and power cuts.

| file | holds |
|---|---|
| ``plan.json`` | the `plan.Plan`: everything that decides the result |
| ``chunks.sqlite`` | the result of each task, as arrays, with the fingerprint of ``plan.json`` |
| ``.lock`` | locked by the process that may write here |

SQLite makes sure that each result is stored whole or not at all. Nothing is pickled, and a folder
from somebody else is read as data: what does not fit the plan is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import sys
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from pocket_uno_env.files import (
    FileError,
    make_folder,
    only_writer,
    read_json,
    remove_partial,
    write_json,
)
from pocket_uno_env.rules.phases import End

from .behavior import Stat
from .draw_luck import FEATURES
from .games import COLUMNS, Games
from .names import title_of
from .plan import Plan, Task
from .tournament import Played

FORMAT = "uno-tournament/3"
PLAN = "plan.json"
CHUNKS = "chunks.sqlite"
SECONDS = 2.0
"""Between commits: the most work that can be lost."""

_TABLE = (
    "(line_up integer, first integer, count integer, plan text, arrays blob, records blob, "
    "primary key (line_up, first))"
)
_FAILURES = {
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN),
    *(sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOLFS),
}
"""SQLite's errors about the disk, not about the contents of the file."""
_RECORD_BYTES = 10_000
"""An upper bound of a record's size for each round and each decision."""


class JournalError(FileError):
    """A folder that does not hold a tournament, or cannot; the message says why."""


class DiskJournal:
    """The journal in a folder, a context manager; it locks the folder against other processes.

    Parameters
    ----------
    folder : Path
    plan : Plan or None
        For a new tournament, in a folder that is empty or does not exist; None to continue the
        one in the folder.
    about : dict, optional
        Other data to store with a new one, as JSON. What was played belongs to them too: they
        cannot be changed later.

    Raises
    ------
    FileError
        Also when another process has locked the folder, and later when the disk is full.
    """

    def __init__(
        self, folder: Path, plan: Plan | None = None, about: Mapping[str, Any] | None = None
    ) -> None:
        self.folder = folder
        if plan is None:
            read_plan(folder)  # before anything is written into what is no tournament
        else:
            _make(folder)
        with ExitStack() as stack:
            stack.enter_context(only_writer(folder))
            if plan is not None:
                _begin(folder, plan, about or {})
            self.plan, self.about = read_plan(folder)
            with self._explained():
                self._base = sqlite3.connect(folder / CHUNKS, isolation_level=None, timeout=1)
                stack.callback(self._base.close)
                self._open_table()
            self._committed = time.monotonic()
            self._left = stack.pop_all()

    def _open_table(self) -> None:
        self._base.execute("pragma trusted_schema = off")
        self._base.execute("pragma locking_mode = exclusive")
        self._base.execute("begin exclusive")
        self._base.execute(f"create table if not exists chunk {_TABLE}")
        found = self._base.execute("select type, sql from sqlite_master where sql is not null")
        if found.fetchall() != [("table", f"CREATE TABLE chunk {_TABLE}")]:
            raise self._damaged("it holds other tables than the results of a tournament")

    def __enter__(self) -> DiskJournal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._left:
            try:
                with self._explained():
                    self._base.execute("commit")
            except FileError:
                if error is None:
                    raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn errors of SQLite into a `JournalError`."""
        try:
            yield
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _FAILURES:
                raise JournalError(f"cannot write {self.folder / CHUNKS}: {error}") from error
            raise self._damaged(error) from error

    def _damaged(self, why: object) -> JournalError:
        return JournalError(
            f"{self.folder / CHUNKS} cannot be used: {why}; move it away, and --resume "
            f"{self.folder} plays everything again"
        )

    @property
    def fingerprint(self) -> str:
        """A hash that tells whether a stored result belongs to the plan and the data beside it."""
        if not self.about:
            return self.plan.fingerprint
        fields = [self.plan.fingerprint, self.about]
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:16]

    def done(self) -> dict[Task, Played]:
        """See `tournament.Journal`. Damaged results are left out, so that they are played again."""
        tasks, found = set(self.plan.tasks()), {}
        query = "select line_up, first, count, plan, arrays, records from chunk"
        with self._explained():
            for *key, plan, arrays, records in self._base.execute(query):
                task: Task = tuple(key)
                if task not in tasks or plan != self.fingerprint:
                    raise JournalError(
                        f"{self.folder / CHUNKS} does not belong to {PLAN} beside it; put back the "
                        "one that does, or start a new run"
                    )
                try:
                    found[task] = _unpacked(self.plan, task, arrays, records)
                except (zlib.error, ValueError, TypeError):
                    number, first, count = task
                    print(
                        f"{self.folder / CHUNKS}: line-up {number}, deals {first} to "
                        f"{first + count - 1} cannot be read; they are played again",
                        file=sys.stderr,
                    )
        return found

    def records(self, task: Task) -> list[str]:
        """See `tournament.Journal`."""
        query = "select records from chunk where line_up = ? and first = ?"
        with self._explained():
            (packed,) = self._base.execute(query, task[:2]).fetchone()
        text = zlib.decompress(packed).decode()
        return text.split("\n") if text else []

    def extend(self, deals: int) -> None:
        """Plan more deals for each line-up; a last task with fewer deals is played again.

        Raises
        ------
        JournalError
            When more are planned already.
        ArenaError
            When there are too many.
        """
        if deals < self.plan.deals:
            raise JournalError(
                f"{self.folder} is planned for {self.plan.deals} deals; expected as many or more, "
                f"not {deals}"
            )
        self.plan = replace(self.plan, deals=deals)
        tasks = set(self.plan.tasks())
        with self._explained():
            for task in self._base.execute("select line_up, first, count from chunk").fetchall():
                if task not in tasks:
                    self._base.execute(
                        "delete from chunk where line_up = ? and first = ?", task[:2]
                    )
            self._base.execute("commit")
            _write_plan(self.folder, self.plan, self.about)
            self._base.execute("begin exclusive")

    def add(self, task: Task, played: Played) -> None:
        """See `tournament.Journal`."""
        values = (*task, self.fingerprint, *_packed(self.plan, task, played))
        with self._explained():
            self._base.execute("insert or replace into chunk values (?, ?, ?, ?, ?, ?)", values)
            if time.monotonic() - self._committed > SECONDS:
                self._base.execute("commit")
                self._base.execute("begin exclusive")
                self._committed = time.monotonic()


def read_plan(folder: Path) -> tuple[Plan, dict[str, Any]]:
    """The plan and the other data of a tournament's folder; `JournalError` if it is not one."""
    path = folder / PLAN
    if not os.path.isfile(path):
        raise JournalError(f"{folder} is no tournament: {PLAN} is missing")
    try:
        fields = read_json(path, limit=50_000_000)
    except FileError as error:
        raise JournalError(str(error)) from error
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        found = fields.get("format") if isinstance(fields, dict) else None
        raise JournalError(
            f"{path} is of the format {str(found)[:80]!r}, not {FORMAT!r}, so that this version "
            "cannot go on with it; start a new run"
        )
    try:
        for name in ("plan", "about"):
            if not isinstance(fields.get(name), dict):
                raise ValueError(f"expected an object {name!r}")
        if len(fields) != 3:
            raise ValueError("expected nothing but 'format', 'about' and 'plan'")
        return Plan.from_dict(fields["plan"]), fields["about"]
    except ValueError as error:
        raise JournalError(f"{path} is damaged: {error}; restore it, or start a new run") from error


def _make(folder: Path) -> None:
    try:
        make_folder(folder)
    except FileError as error:
        raise JournalError(str(error)) from error


def _begin(folder: Path, plan: Plan, about: Mapping[str, Any]) -> None:
    """Write the plan; the lock is held, so partial files are those of a dead process."""
    remove_partial(folder / PLAN)
    if any(entry.name != ".lock" for entry in folder.iterdir()):
        hint = f"go on with it by --resume {folder}, or " if (folder / PLAN).exists() else ""
        raise JournalError(f"{folder} is not empty; {hint}choose another folder")
    _write_plan(folder, plan, about)


def _write_plan(folder: Path, plan: Plan, about: Mapping[str, Any]) -> None:
    write_json(folder / PLAN, {"format": FORMAT, "about": dict(about), "plan": plan.to_dict()})


def _layout(plan: Plan, task: Task) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Types and shapes of the arrays of a task's result, in order."""
    number, _, count = task
    n, games = plan.num_players, (count, plan.games_of(number))
    found: dict[str, tuple[str, tuple[int, ...]]] = {
        "winner": ("<i1", games),
        "points": ("<i4", (*games, n)),
        "end": ("<u1", games),
        "decisions": ("<i4", games),
        "rounds": ("<i4", games),
        "rounds_won": ("<i4", (*games, n)),
    }
    if plan.behavior:
        found["behavior"] = ("<i8", (n, n, len(Stat)))
    if plan.control:
        found["luck"] = ("<f4", (count, n, FEATURES))
    return found


def _packed(plan: Plan, task: Task, played: Played) -> tuple[bytes, bytes]:
    data = b""
    for name, (kind, shape) in _layout(plan, task).items():
        array = getattr(played.games if name in COLUMNS else played, name)
        assert array.shape == shape, name
        data += array.astype(kind, casting="equiv").tobytes()
    return zlib.compress(data, 1), zlib.compress("\n".join(played.records).encode())


def _unpacked(plan: Plan, task: Task, packed: bytes, records: bytes) -> Played:
    """A task's result without its records; ValueError if the data cannot be one."""
    layout = _layout(plan, task)
    sizes = [np.dtype(kind).itemsize * int(np.prod(shape)) for kind, shape in layout.values()]
    data = _inflated(packed, sum(sizes))
    if len(data) != sum(sizes):
        raise ValueError("other arrays")
    found, at = {}, 0
    for (name, (kind, shape)), size in zip(layout.items(), sizes, strict=True):
        found[name] = np.frombuffer(data[at : at + size], kind).reshape(shape)
        at += size
    lineup = plan.line_ups[task[0]]
    names = tuple(title_of(plan.agents[agent]) for agent in lineup)
    played = Played(
        Games(lineup, names, *(found[name] for name in COLUMNS)),
        found.get("behavior"),
        found.get("luck"),
        [],
    )
    _check(played)
    games = played.games
    steps = games.winner.size + int(games.decisions.sum()) + int(games.rounds.sum())
    text = _inflated(records, _RECORD_BYTES * steps)
    lines = text.count(b"\n") + 1 if text else 0
    if lines != games.winner.size * plan.records:
        raise ValueError("other records")
    text.decode()
    return played


def _inflated(packed: bytes, most: int) -> bytes:
    """Decompressed data; ValueError if it is damaged or more than `most` bytes."""
    reader = zlib.decompressobj()
    data = reader.decompress(packed, most + 1)
    if len(data) > most or not reader.eof:
        raise ValueError("too long, or cut short")
    return data


def _check(played: Played) -> None:
    """Raise ValueError for values that no game has."""
    games = played.games
    good = (
        np.isin(games.winner, range(-1, len(games.lineup))).all()
        and np.isin(games.end, (End.OUT, End.BLOCKED, End.TRUNCATED)).all()
        and (games.points >= 0).all()
        and (games.decisions >= 0).all()
        and (games.rounds > 0).all()
        and (games.rounds_won >= 0).all()
        and (games.rounds_won.sum(axis=2) <= games.rounds).all()
        and (played.behavior is None or (played.behavior >= 0).all())
        and (played.luck is None or np.isfinite(played.luck).all())
    )
    if not good:
        raise ValueError("figures that no game has")
