"""Work in threads, beside the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any

NAME = "beside the talking"
"""Of all such threads."""


async def in_thread(work: Callable[..., Any], *arguments: Any) -> Any:
    """What ``work(*arguments)`` returns or raises, from a thread of its own.

    The program can end while the thread is still at work: an agent that thinks for ever stops
    nobody but those who wait for it.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if not future.done():  # who waited may have gone
            future.set_result(result) if error is None else future.set_exception(error)

    def run() -> None:
        result, error = None, None
        try:
            result = work(*arguments)
        except Exception as caught:
            error = caught
        except BaseException as caught:  # SystemExit and its like would end the server
            error = RuntimeError(f"a thread ended by {type(caught).__name__}")
        with contextlib.suppress(RuntimeError):  # the server has stopped meanwhile
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name=NAME, daemon=True).start()
    return await future
