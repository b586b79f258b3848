"""One open page, as the server knows it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web

from .messages import MAX_BYTES

HEARTBEAT = 20.0
"""Seconds between the questions whether a page is still there; half as many to answer."""
PATIENCE = 20.0
"""Seconds that a page may take to read a message."""
MAX_UNREAD = 64
"""Messages that may wait for a page."""


class Page:
    """A page and what it has yet to be told: who tells it something never waits for it.

    One that does not read is lost. It comes back by itself, and is told how things stand then.
    """

    def __init__(self) -> None:
        self._socket = web.WebSocketResponse(max_msg_size=MAX_BYTES, heartbeat=HEARTBEAT)
        self._unread: asyncio.Queue[str] = asyncio.Queue(MAX_UNREAD)
        self._request: web.Request | None = None

    @contextlib.asynccontextmanager
    async def opened(self, request: web.Request) -> AsyncIterator[web.WebSocketResponse]:
        """The connection that `request` asks for; what the page is told is sent while it lasts."""
        await self._socket.prepare(request)
        self._request = request
        sender = asyncio.create_task(self._send())
        try:
            yield self._socket
        finally:
            sender.cancel()

    def tell(self, message: dict[str, Any]) -> None:
        """Tell it something, in time."""
        try:
            self._unread.put_nowait(json.dumps(message))
        except asyncio.QueueFull:
            self.drop()

    async def messages(self) -> AsyncIterator[str | None]:
        """What it says; None where that is not text. It is heard again when it has heard."""
        async for message in self._socket:
            yield message.data if message.type == WSMsgType.TEXT else None
            await self._unread.join()

    async def close(self, code: WSCloseCode, reason: bytes) -> None:
        """Part in good order."""
        await self._socket.close(code=code, message=reason)

    def drop(self) -> None:
        """End the connection at once, without a word."""
        transport = None if self._request is None else self._request.transport
        if transport is not None:
            transport.abort()

    async def _send(self) -> None:
        with contextlib.suppress(ConnectionError, asyncio.TimeoutError, RuntimeError):
            while True:
                text = await self._unread.get()
                await asyncio.wait_for(self._socket.send_str(text), PATIENCE)
                self._unread.task_done()
        self.drop()
