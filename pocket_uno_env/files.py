"""Files that are whole or not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


class FileError(ValueError):
    """A file that cannot be written; the message says why."""


@contextmanager
def whole_file(path: Path) -> Iterator[IO[str]]:
    """A text file to write that appears under its name only when all is written.

    Until then it is called ``path + ".part"``; after an exception, Ctrl-C included, it is gone and
    what was under the name before is still there. A device such as ``/dev/stdout`` is written
    directly.

    Raises
    ------
    FileError
        At once, when the file cannot be written.
    """
    place = path.resolve()
    special = place.exists() and not place.is_file() and not place.is_dir()
    part = place if special else place.with_name(place.name + ".part")
    if place.is_dir():
        raise FileError(f"cannot write {path}: it is a folder")
    if not place.parent.is_dir():
        raise FileError(f"cannot write {path}: there is no folder {path.parent}")
    try:
        file = part.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from error
    try:
        with file:
            yield file
        if not special:
            os.replace(part, place)
    except BaseException:
        if not special:
            part.unlink(missing_ok=True)
        raise
