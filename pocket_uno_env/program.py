"""What all programs have in common: standard streams, whatever they are, and a text for --help."""

from __future__ import annotations

import ast
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn


def run_program(main: Callable[[], int]) -> NoReturn:
    """Run a program and exit with what `main` returns.

    With 1, without a word, if the reader of standard output has seen enough; with 2, and one line,
    if it is full.
    """
    open_streams()
    status = 1
    try:
        try:
            status = main()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        status = 1
    except OSError as error:
        if not _output_fails():
            raise
        _discard_output()
        print(f"cannot write to standard output: {error.strerror}", file=sys.stderr)
        status = 2
    sys.exit(status)


def docstring(file: str) -> str:
    """What a source file says it is, which ``python -OO`` forgets."""
    return ast.get_docstring(ast.parse(Path(file).read_text("utf-8"))) or ""


def open_streams() -> None:
    """Make the standard streams take everything that a program writes, and give what they hold."""
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # names may hold anything, terminals show some
    if isinstance(sys.stderr, io.TextIOWrapper) and not sys.stderr.isatty():
        sys.stderr = _Patient(
            io.FileIO(sys.stderr.fileno(), "w", closefd=False),
            encoding=sys.stderr.encoding,
            errors="backslashreplace",
            write_through=True,
        )
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # as after `>&-`
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - it stays open


class _Patient(io.TextIOWrapper):
    """Loses what cannot be written: a log that is full should not end a training."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except BrokenPipeError:
            raise
        except OSError:
            return len(text)


def _output_fails() -> bool:
    try:
        sys.stdout.flush()
    except OSError:
        return True
    return False


def _discard_output() -> None:
    """Python writes what is left in the buffer once more when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
