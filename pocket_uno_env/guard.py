"""`Guard`: one thread at a time in an object whose calls change it."""

from __future__ import annotations

import os
import threading
from typing import Any

_forks = 0
"""How often this process and those it comes from were forked."""


def _forked() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class Guard:
    """``with guard:`` around each call of an object that threads must not share.

    Compiled code runs without the GIL, so a second thread would step games that the first has half
    stepped. It gets RuntimeError instead. Copies, pickles and forked processes have guards of
    their own.

    Parameters
    ----------
    what : str
        What is guarded, for the message.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = threading.Lock()
        self._born = _forks

    def __enter__(self) -> None:
        if self._born != _forks:
            if self._lock.locked():
                raise RuntimeError(
                    f"the process was forked while a thread was using this {self._what}, whose "
                    "games are half stepped; make a new one"
                )
            self._born = _forks
        if not self._lock.acquire(False):
            raise RuntimeError(
                f"another thread is using this {self._what}; make one for each thread"
            )

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[Any, ...]:
        return Guard, (self._what,)
