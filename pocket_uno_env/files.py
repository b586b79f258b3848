"""Files that are whole or not there, JSON that says one thing only, folders with one writer."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


class FileError(ValueError):
    """A file that cannot be read or written; the message says which, and why."""


@contextmanager
def whole_file(path: Path) -> Iterator[IO[str]]:
    """A text file to write that appears under its name only when all is written.

    Until then it has a hidden name that ends in ``.part``; after an exception, Ctrl-C and a full
    disk included, that is gone and what was under the name before is still there. A device such
    as ``/dev/stdout`` is written directly.

    Raises
    ------
    FileError
        At once, when the file cannot be written; and when the disk is full.
    """
    with _whole(path, "w", encoding="utf-8", newline="") as file:
        yield file


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, if they are not there; FileError says why that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = error.strerror or error
        if isinstance(error, FileExistsError | NotADirectoryError):
            taken = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
            link = _dangling(folder)
            why = f"{taken} is a file" if link is None else f"{link}, which is not there"
        raise FileError(f"cannot make the folder {folder}: {why}") from error


def _dangling(path: Path) -> str | None:
    """Where a link on the way to `path` leads, if nothing is there; None if there is no such."""
    for link in (path, *path.parents):
        if link.is_symlink() and not link.exists():
            return f"{link} is a link to {os.path.realpath(link)}"
    return None


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """What the system says against writing here becomes a FileError that names `path`.

    Except a reader's end, `BrokenPipeError`, which is no fault.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from error


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that, whatever happens, the old or the new one is there; or FileError."""
    with _whole(path, "wb") as file:
        file.write(data)


def remove_partial(path: Path) -> None:
    """Delete what is left of writes of `path` whose process died; nobody else may be writing it."""
    for part in path.parent.glob(f".{path.name}.*.part"):
        part.unlink()


@contextmanager
def _whole(path: Path, mode: str, **how: str) -> Iterator[IO[Any]]:
    place = Path(os.path.realpath(path))
    special = os.path.exists(place) and not place.is_file() and not place.is_dir()
    part = place if special else place.with_name(f".{place.name}.{os.getpid()}.part")
    if os.path.isdir(place):
        raise FileError(f"cannot write {path}: it is a folder")
    if not os.path.isdir(place.parent):
        link = _dangling(path)
        why = f"{link}, and there is no folder {place.parent}"
        if link is None:
            why = f"there is no folder {path.parent}"
        raise FileError(f"cannot write {path}: {why}")
    with writing(path):
        file = part.open(mode, **how)  # type: ignore[call-overload]
    try:
        with file:
            yield file
            if not special:
                file.flush()
                os.fsync(file.fileno())
        if not special:
            os.replace(part, place)
    except BaseException as error:
        if not special:
            part.unlink(missing_ok=True)
        # What comes from another file has its name with it.
        if isinstance(error, OSError) and error.filename is None:
            with writing(path):
                raise
        raise


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A folder to fill that appears under its name only when all is in it.

    Until then it has a hidden name that ends in ``.part``; after an exception, Ctrl-C and a full
    disk included, that is gone. What a killed process left there is removed by the next one.

    Raises
    ------
    FileError
        At once, when something else has the name or another process is filling the folder; and
        when the disk is full.
    """
    place = Path(os.path.realpath(folder))
    part = place.with_name(f".{place.name}.part")
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        what = "is not empty" if place.is_dir() else "is a file"
        raise FileError(f"{folder} {what}; choose the name of a new folder")
    make_folder(part)
    with only_writer(part):
        try:
            for left in part.iterdir():
                if left.name != ".lock":
                    shutil.rmtree(left) if left.is_dir() else left.unlink()
            yield part
            with writing(folder):
                for path in part.rglob("*"):
                    if path.is_file():
                        _sync(path)
                (part / ".lock").unlink()
                os.replace(part, place)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise


def _sync(path: Path) -> None:
    """Have the disk hold what was written to a file."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def write_json(path: Path, value: Any, indent: int | None = 1) -> None:
    """Write `value` as JSON, whole; without `indent` on one line."""
    write_whole(path, (json.dumps(value, indent=indent) + "\n").encode())


def read_file(path: Path, limit: int) -> bytes:
    """All of a file of at most `limit` bytes; FileError if it is longer or cannot be read."""
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise FileError(f"cannot read {path}: {reason}") from error
    if len(data) > limit:
        raise FileError(f"{path} is longer than {limit:,} bytes, too long for what it should hold")
    return data


def read_json(path: Path, limit: int = 10_000_000) -> Any:
    """The value in a JSON file, as `parse_json` reads it; FileError names the file."""
    return parse_json(read_file(path, limit), str(path))


def parse_json(text: str | bytes, name: str) -> Any:
    """The value that JSON text holds; FileError, in a sentence that begins with `name`, if none.

    A byte order mark is passed over. Refused are, besides what is no JSON: a key that comes twice
    in an object, NaN and infinity, numbers too large, and nesting too deep for Python.
    """
    try:
        plain = text.decode("utf-8-sig") if isinstance(text, bytes) else text.removeprefix("\ufeff")
        return json.loads(
            plain,
            object_pairs_hook=_single_keys,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
    except RecursionError:
        raise FileError(f"{name} is nested too deeply") from None
    except UnicodeDecodeError as error:
        raise FileError(f"{name} is not UTF-8: {error.reason} at byte {error.start}") from None
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        raise FileError(f"{name} is not JSON: {error.msg} ({line}column {error.colno})") from None
    except ValueError as error:
        raise FileError(f"{name} is not JSON: {error}") from None


def _single_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {key[:80]!r} comes twice in one object")
            seen.add(key)
    return found


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:40]} is too large")
    return value


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Be the only process that writes into `folder`; FileError at once if another one does.

    The lock ends with the process, however that ends.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise FileError(
            f"{folder} is being written by another process; wait for its end, or stop it"
        ) from None
    except OSError as error:
        raise FileError(f"cannot write into {folder}: {error.strerror or error}") from error
    try:
        yield
    finally:
        lock.release()
