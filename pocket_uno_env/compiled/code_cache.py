"""Compiled code on disk: what one process has compiled, the next one loads.

A file holds one kernel that Python calls, for one signature, with all that it calls. Its name is a
hash of all that the code is made of: the sources of the kernel's module and of all that it imports
from this package. Numba's own cache looks at the kernel's file alone.

The cache is a convenience, never a condition. Where no folder takes a file every process compiles
for itself, a file that is damaged is made anew, and a lock that nobody gives back is waited for
no longer than `PATIENCE`.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import logging
import multiprocessing
import os
import pickle
import re
import secrets
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import caching, compiler, config
from numba.core.compiler_lock import global_compiler_lock

try:
    import fcntl
except ImportError:  # Windows: processes that start together compile the same
    fcntl = None  # type: ignore[assignment]

LIMIT = 1_000_000_000
"""Bytes in a folder, beyond which the files that were not used for longest are removed."""
PATIENCE = 300.0
"""Seconds to wait for another process that compiles the same."""
SILENT = 20
"""So many kernels are compiled without a notice: about a second's worth."""

_HERE = Path(__file__).parents[1]
_AGENTS = _HERE / "agents" if (_HERE / "agents").is_dir() else _HERE.parent / "agents"
_IMPORT = re.compile(r"^[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|.*)", re.M)
_NAME = re.compile(r"(\w+)(?:[ \t]+as[ \t]+\w+)?")
_COMMENT = re.compile(r"#.*")
_COMPILER = (numba.__version__, np.__version__, sys.implementation.cache_tag, config.BOUNDSCHECK)
_DIGEST = hashlib.sha256().digest_size

_log = logging.getLogger(__name__)


# Where.


def _folders() -> list[Path]:
    """Where compiled code may lie, the best place first; what is shared among users comes last."""
    found = [Path(config.CACHE_DIR) / "pocket_uno_env"] if config.CACHE_DIR else []
    with suppress(RuntimeError):  # there are users without a home
        found.append(_user_cache() / "pocket_uno_env")
    if hasattr(os, "getuid"):
        temporary = Path(os.environ.get("TMPDIR") or "/tmp")
        found.append(temporary / f"pocket_uno_env-{os.getuid()}")
    return found


def _user_cache() -> Path:
    """The folder for such files by the platform's conventions."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    base = os.environ.get("XDG_CACHE_HOME", "")
    return Path(base) if os.path.isabs(base) else Path.home() / ".cache"


class Store:
    """Files in the first folder that takes them.

    Parameters
    ----------
    folders : list of Path
        The best first. In one whose name ends in the user's id only files of that user are read,
        since they hold code.
    """

    def __init__(self, folders: list[Path]) -> None:
        self.folders = folders
        self._at = 0
        self._refused: list[str] = []
        self._tried = False
        self._told: set[str] = set()
        self._lock: int | None = None
        self._compiled = 0

    def read(self, name: str) -> bytes | None:
        """What was written under a name; None if there is nothing, or nothing whole."""
        for folder in self.folders[: self._at + 1]:
            file = folder / name
            try:
                if not _is_safe(folder):
                    continue
                data = file.read_bytes()
            except OSError:
                continue
            if hashlib.sha256(data[_DIGEST:]).digest() == data[:_DIGEST]:
                with suppress(OSError):  # so that it is known to be in use
                    if time.time() - file.stat().st_mtime > 3600:
                        os.utime(file)
                return data[_DIGEST:]
        return None

    def write(self, name: str, data: bytes) -> None:
        """Keep something, if that is possible anywhere; say once if it is not where it should."""
        whole = hashlib.sha256(data).digest() + data
        folder = self._first_that_takes(lambda folder: _put(folder, name, whole))
        reason = "; ".join(self._refused) or "there is no home folder"
        if folder is None:
            self._tell(
                f"Compiled code cannot be kept, so every start compiles anew ({reason}). "
                "NUMBA_CACHE_DIR names another folder."
            )
        elif self._refused or _is_shared(folder):
            self._tell(f"Compiled code is kept in {folder} ({reason}).")

    def _first_that_takes(self, put: Callable[[Path], None]) -> Path | None:
        while self._at < len(self.folders):
            folder = self.folders[self._at]
            try:
                _make(folder)
                put(folder)
            except OSError as error:
                self._refused.append(f"{folder}: {error.strerror or error}")
                self._at += 1
            else:
                return folder
        return None

    def wait(self, name: str) -> bytes | None:
        """What another process is just compiling; None if that is up to the caller.

        The caller then holds the lock of that name, and gives it back by `release`.
        """
        if not self._tried:
            self._tried = True
            if (folder := self._first_that_takes(_try)) is not None:
                _shrink(folder, LIMIT)
        end = time.monotonic() + PATIENCE
        while not self._claim(name):
            self._tell_of_compiling(alone=False)
            time.sleep(0.1)
            if (found := self.read(name)) is not None or time.monotonic() > end:
                return found
        found = self.read(name)
        if found is None:
            self.count()
        return found

    def count(self) -> None:
        """One more kernel is compiled here; say so once, when they are many."""
        self._compiled += 1
        if self._compiled > SILENT:
            self._tell_of_compiling(alone=True)

    def release(self, name: str) -> None:
        """Let others have the lock of a name."""
        if self._lock is not None:
            with suppress(OSError):
                fcntl.lockf(self._lock, fcntl.LOCK_UN, 1, _place(name))

    def _claim(self, name: str) -> bool:
        """Take the lock of a name, a byte of one file; True as well where there are no locks."""
        if fcntl is None or self._at == len(self.folders):
            return True
        if self._lock is None:
            try:
                file = self.folders[self._at] / "lock"
                self._lock = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
            except OSError:
                return True
        try:
            fcntl.lockf(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(name))
        except (BlockingIOError, PermissionError):
            return False
        except OSError:
            return True
        return True

    def _tell_of_compiling(self, alone: bool) -> None:
        text = "Compiling. This can take a minute, the first time only."
        # Of several workers one speaks, and none if their parent has spoken.
        if text not in self._told and ((self._claim("notice") and alone) or not _is_worker()):
            self._told.add(text)
            _log.warning(text)

    def _tell(self, text: str) -> None:
        if not self._told.intersection(("kept", text)) and not _is_worker():
            _log.warning(text)
        self._told.add("kept")


def _is_worker() -> bool:
    return multiprocessing.parent_process() is not None


def _is_shared(folder: Path) -> bool:
    return hasattr(os, "getuid") and folder.name == f"pocket_uno_env-{os.getuid()}"


def _is_safe(folder: Path) -> bool:
    """Whether nobody else can have put code into a folder that lies among those of other users."""
    if not _is_shared(folder):
        return True
    about = folder.lstat()
    return (
        stat.S_ISDIR(about.st_mode)
        and about.st_uid == os.getuid()
        and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def _make(folder: Path) -> None:
    folder.mkdir(0o700 if _is_shared(folder) else 0o777, parents=True, exist_ok=True)
    if not _is_safe(folder):
        raise PermissionError(None, "it belongs to another user")


def _put(folder: Path, name: str, data: bytes) -> None:
    part = folder / f"{name}.{secrets.token_hex(8)}.part"
    try:
        part.write_bytes(data)
        os.replace(part, folder / name)
    finally:
        with suppress(OSError):
            part.unlink()


def _try(folder: Path) -> None:
    _put(folder, name := f"try.{secrets.token_hex(8)}.nbc", bytes(10_000))
    (folder / name).unlink()


def _place(name: str) -> int:
    """The byte of the lock's file that stands for a name."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:5], "big")


def _shrink(folder: Path, limit: int) -> None:
    """Remove the files that were not used for longest, down to so many bytes."""
    files = []
    for file in folder.glob("*.nbc*"):
        with suppress(OSError):
            about = file.stat()
            files.append((about.st_mtime, about.st_size, file))
    total = 0
    for _, size, file in sorted(files, reverse=True):
        total += size
        if total > limit:
            with suppress(OSError):
                file.unlink()


# What.


@functools.cache
def _source(path: Path) -> tuple[bytes, tuple[Path, ...]]:
    """The hash of a source file, as this process saw it first, and what it imports of ours."""
    text = path.read_bytes()
    found = set()
    for dots, base, names in _IMPORT.findall(text.decode(errors="replace")):
        start = _package_of(path, len(dots)) if dots else ""
        module = ".".join(part for part in (start, base) if part)
        for name in _NAME.findall(_COMMENT.sub("", names)):
            # A module of that name in the package, or something in the package or module itself.
            found.add(_file(f"{module}.{name}") or _file(module))
    return hashlib.sha256(text).digest(), tuple(file for file in found if file is not None)


def _package_of(path: Path, dots: int) -> str:
    """The package that so many dots mean in a file of ours."""
    for name, folder in (("pocket_uno_env.agents", _AGENTS), ("pocket_uno_env", _HERE)):
        if path.is_relative_to(folder):
            parts = [*name.split("."), *path.relative_to(folder).parts]
            return ".".join(parts[:-dots])
    return ""


def _file(module: str) -> Path | None:
    """The file of a module of ours, ``__init__.py`` for a package; None for other modules."""
    top, *rest = module.split(".")
    if top != "pocket_uno_env":
        return None
    folder, rest = (_AGENTS, rest[1:]) if rest[:1] == ["agents"] else (_HERE, rest)
    place = folder.joinpath(*rest)
    files = [place / "__init__.py", *([place.with_suffix(".py")] if rest else [])]
    return next((file for file in files if file.is_file()), None)


def _label(file: Path) -> str:
    """A name of a source file that is the same wherever the package is installed."""
    for name, folder in (("agents", _AGENTS), ("", _HERE)):
        if file.is_relative_to(folder):
            return (Path(name) / file.relative_to(folder)).as_posix()
    return file.name


@functools.cache
def sources_hash(path: Path) -> str:
    """A hash of a source file and of all that it imports from this package, directly or not."""
    found: set[Path] = set()
    left = [path]
    while left:
        if (file := left.pop()) not in found:
            found.add(file)
            left += _source(file)[1]
    digest = hashlib.sha256()
    for label, file in sorted((_label(file), file) for file in found):
        digest.update(label.encode() + _source(file)[0])
    return digest.hexdigest()[:16]


class Cache(caching.NullCache):
    """The compiled code of one function, as Numba's dispatcher asks for it.

    Parameters
    ----------
    function : callable
        Plain Python.
    store : Store

    Raises
    ------
    OSError, TypeError
        When it has no source file.
    """

    def __init__(self, function: Callable[..., Any], store: Store) -> None:
        path = Path(inspect.getfile(function))
        ours = path.is_relative_to(_HERE) or path.is_relative_to(_AGENTS)
        name = function.__qualname__
        # Outside of this package two projects may have modules of one name.
        where = "" if ours else str(path)
        self._about = repr((_COMPILER, sources_hash(path), where, function.__module__, name))
        self._title = re.sub(r"[^\w.]", "", f"{path.stem}.{name}")[:80]
        self._py_func = function
        self._store = store
        self._claimed: list[str] = []

    _index_key = caching.Cache._index_key

    def _name(self, signature: Any, codegen: Any) -> str:
        about = f"{self._about} {self._index_key(signature, codegen)!r}"
        return f"{self._title}.{hashlib.sha256(about.encode()).hexdigest()[:32]}.nbc"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The code for a signature, from the disk or another process; None to compile it."""
        target_context.refresh()
        name = self._name(sig, target_context.codegen())
        data = self._store.read(name)
        if data is None:
            self._claimed.append(name)
            data = self._store.wait(name)
        if data is None:
            return None
        try:
            return compiler.CompileResult._rebuild(target_context, *pickle.loads(data))
        except Exception:  # whatever is wrong with it, it is compiled and written anew
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the code for a signature, if that is possible."""
        if data.library.has_dynamic_globals:  # addresses, which are others in the next process
            return
        try:
            made = caching.dumps(data._reduce())
        except Exception:  # a closure over something that cannot be pickled
            return
        self._store.write(self._name(sig, data.codegen), made)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Around all compiling: what this process has taken on, it gives back in the end."""
        with global_compiler_lock:
            before = len(self._claimed)
            try:
                yield
            finally:
                while len(self._claimed) > before:
                    self._store.release(self._claimed.pop())


STORE = Store(_folders())
