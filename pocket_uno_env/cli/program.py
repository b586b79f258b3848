"""What all programs have in common: their name, standard streams, and a text for --help."""

from __future__ import annotations

import ast
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

INTERRUPTED = 130
"""The status of a program that Ctrl-C ended: 128 + SIGINT, as shells count."""
READER_LEFT = 141
"""Of one whose reader has seen enough: 128 + SIGPIPE."""


class OutputError(Exception):
    """Standard output cannot be written; the message says why.

    No OSError, which would be taken for one of the file at hand.
    """


def run_program(main: Callable[[], int]) -> NoReturn:
    """Run a program and exit with what `main` returns.

    Without a word with `READER_LEFT`, if the reader of its output has seen enough, and with
    `INTERRUPTED` on Ctrl-C; with 2, and one line, if standard output is full. So `main` should
    import what takes time, and not the module that calls this.
    """
    status = 1
    try:
        open_streams()
        try:
            status = main()
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BrokenPipeError:  # that of standard error
        status = READER_LEFT
    except OutputError as error:
        _discard_output()
        if isinstance(error.__cause__, BrokenPipeError):
            status = READER_LEFT
        else:
            print(f"cannot write to standard output: {error}", file=sys.stderr)
            status = 2
    sys.exit(status)


def program_name(verb: str = "") -> str:
    """What usage and messages call the running program: as it was called.

    That is ``train.py`` or ``evaluate.py``, ``python -m pocket_uno_env VERB``, or, also where a
    program was called by other code, ``pocket-uno VERB``.
    """
    called = Path(sys.argv[0] if sys.argv else "")
    if verb and called.name == f"{verb}.py":
        return called.name
    module = (called.parent.name, called.name) == ("pocket_uno_env", "__main__.py")
    return f"{'python -m pocket_uno_env' if module else 'pocket-uno'} {verb}".rstrip()


def print_error(verb: str, error: object) -> None:
    """Write one line to standard error: which program, and what is wrong."""
    print(f"{program_name(verb)}: error: {error}", file=sys.stderr)


def docstring(file: str) -> str:
    """What a source file says it is, which ``python -OO`` forgets."""
    return ast.get_docstring(ast.parse(Path(file).read_text("utf-8"))) or ""


def open_streams() -> None:
    """Make the standard streams take everything that a program writes, and give what they hold."""
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # names may hold anything, terminals show some
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout = _over(sys.stdout, _Output)
    if isinstance(sys.stderr, io.TextIOWrapper) and not sys.stderr.isatty():
        sys.stderr = _over(sys.stderr, _Log)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # as after `>&-`
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - it stays open


def _over(stream: io.TextIOWrapper, kind: type[io.TextIOWrapper]) -> io.TextIOWrapper:
    """Another stream over the same descriptor."""
    through = kind is _Log or stream.write_through
    return kind(
        open(stream.fileno(), "wb", buffering=0 if through else -1, closefd=False),
        encoding=stream.encoding,
        errors="replace",
        write_through=through,
    )


class _Output(io.TextIOWrapper):
    """Raises `OutputError`."""

    def write(self, text: str) -> int:
        with self._as_output_error():
            return super().write(text)

    def flush(self) -> None:
        with self._as_output_error():
            super().flush()

    @staticmethod
    @contextmanager
    def _as_output_error() -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OutputError(error.strerror or str(error)) from error


class _Log(io.TextIOWrapper):
    """Loses what cannot be written: a log that is full should not end a training."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except BrokenPipeError:
            raise
        except OSError:
            return len(text)


def _discard_output() -> None:
    """Python writes what is left in the buffer once more when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
