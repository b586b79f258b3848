"""`kernel`: the decorator of every compiled function, with a disk cache that cannot go stale.

Numba looks only at a function's own file to decide whether its cached code is current, but
compiled code holds copies of the constants and helpers it uses from other files. So the cache
lies in a folder named after a hash of all sources that kernels are made of: an edit in any of them
starts afresh.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import cgutils, config
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])

JIT = not config.DISABLE_JIT
"""False under ``NUMBA_DISABLE_JIT=1``, where kernels run as plain Python."""


def _core_sources() -> list[Path]:
    """The modules with kernels, and those that they import, directly or not."""
    paths = {path.stem: path for path in Path(__file__).parent.glob("*.py")}
    imports = {
        name: set(re.findall(r"^\s*from \.(\w+) import", path.read_text("utf-8"), re.MULTILINE))
        for name, path in paths.items()
    }
    core: set[str] = set()
    found = {name for name, imported in imports.items() if "kernel" in imported}
    while found - core:
        core |= found
        found = set().union(*(imports[name] for name in core)) & set(paths)
    return [paths[name] for name in sorted(core)]


def _sources_hash() -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    for path in _core_sources():
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _cache_dir() -> str:
    """``NUMBA_CACHE_DIR`` if set, else beside the sources, else the user's cache folder."""
    name = f"kernels-{_sources_hash()}"
    if config.CACHE_DIR:
        return str(Path(config.CACHE_DIR) / name)
    here = Path(__file__).parent / "__pycache__"
    try:
        here.mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=here):
            return str(here / name)
    except OSError:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        return str(Path(base) / "pocket_uno_env" / name)


CACHE_DIR = _cache_dir()


def compiling_notice() -> str | None:
    """What a program should say if most of its kernels have yet to be compiled."""
    if len(list(Path(CACHE_DIR).rglob("*.nbi"))) > 40:
        return None
    return "Compiling the game. This takes up to a minute, the first time only."


def kernel(function: Function) -> Function:
    """Compile `function` on first call, without the GIL; keep the result in `CACHE_DIR`."""
    return _compiled(function, inline=False)


def atomic(function: Function) -> Function:
    """A `kernel` that keeps the GIL: for a single game, which two threads might share.

    No other thread of Python runs meanwhile, so none sees or makes half a change.
    """
    return _compiled(function, inline=False, nogil=False)


def inlined(function: Function) -> Function:
    """A `kernel` that is part of whatever calls it: for what happens in every decision.

    LLVM by itself does not inline kernels beyond a certain size, and calls them with all fields of
    every array. Together that costs a third of the time of a step.
    """
    return _compiled(function, inline=True)


def _compiled(function: Function, inline: bool, nogil: bool = True) -> Function:
    default = config.CACHE_DIR
    config.CACHE_DIR = CACHE_DIR
    options = {"cache": True, "nogil": nogil, "error_model": "numpy", "forceinline": inline}
    try:
        compiled = numba.njit(**options)(function)
    finally:
        config.CACHE_DIR = default
    if JIT:
        _name_files_by_signature(compiled._cache._cache_file)
    return compiled  # type: ignore[no-any-return]


def _name_files_by_signature(files: Any) -> None:
    """Let several processes compile at once.

    Numba numbers the files of a function's signatures. Two processes that compile two signatures
    at the same time both take the next number, and one is later handed the other's machine code,
    which crashes. With a name of its own for each signature the worst is to compile one twice.
    """

    def save(key: Any, data: Any) -> None:
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        name = f"{Path(files._index_path).stem}.{digest}.nbc"
        files._save_data(name, data)
        overloads = files._load_index()
        overloads[key] = name
        files._save_index(overloads)

    files.save = save


@intrinsic
def _unowned(context, array):  # type: ignore[no-untyped-def]
    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        fields = context.make_array(signature.args[0])(context, builder, arguments[0])
        fields.meminfo = cgutils.get_null_value(fields.meminfo.type)
        fields.parent = cgutils.get_null_value(fields.parent.type)
        return fields._getvalue()

    return array(array), code


def _itself(array: Any) -> Any:
    return array


unowned = _unowned if JIT else _itself
"""In a kernel: the same array without an owner, whose views cost no reference counting.

A kernel that takes a view of every line of an array counts references in each, which costs more
than a small kernel's work. The caller holds the array for as long as the kernel runs, so nothing
needs to be counted.
"""
