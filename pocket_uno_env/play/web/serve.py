"""``pocket-uno play --web``: runs the server until it is stopped.

It listens on this machine alone unless told otherwise.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from aiohttp import web

from pocket_uno_env.play.analysis import analyse
from pocket_uno_env.play.chances import at_scores
from pocket_uno_env.play.table import Table

from .doors import Doors
from .hall import Hall
from .server import RUNNING, Server


def serve(
    host: str,
    port: int,
    agents: Sequence[str],
    browser: bool,
    records: Path | None = None,
    origins: Sequence[str] = (),
) -> int:
    """Serve the page until it is stopped; the exit code.

    Parameters
    ----------
    host, port
        Where to listen; port 0 takes a free one.
    agents : sequence of str
        The opponents that a page proposes, registered agents or others.
    browser : bool
        Whether to open the page.
    records : Path, optional
        A folder for the records of games.
    origins : sequence of str
        Where a proxy serves the page.
    """
    if not 0 <= port < 2**16:
        raise ValueError(f"--port is {port}; expected a number from 0 to {2**16 - 1}")
    server = Server(agents, records, Doors(host, origins))
    try:
        _warm_up(server.hall)
        asyncio.run(_serve(server, host, port, browser))
    except KeyboardInterrupt:
        print("\nThe server has stopped.")
    return 0


def _warm_up(hall: Hall) -> None:
    """Play a round, so that everything is compiled before the first page asks for it."""
    table = Table("pocket", [hall.agent("strong")] * 2, match=False, seed=0)
    analyse(table.rules, table.rows.copy(), hall.agent("strong"))
    at_scores(table.rules, [0, 0])
    while table.running:
        table.sight(0)
        table.ask_agent()


def _not_listening(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {port} is taken, perhaps by another server of this game; name another by "
            "--port, or 0 for one that is free"
        )
    why = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
    return f"cannot listen at {host!r}, port {port}: {why}"


async def _serve(server: Server, host: str, port: int, browser: bool) -> None:
    runner = web.AppRunner(server.app(), **RUNNING)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            raise ValueError(_not_listening(host, port, error)) from None
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{runner.addresses[0][1]}/"
        print(f"Playing at {address} (Ctrl-C stops the server)", flush=True)
        if not server.doors.local:
            print("Everyone who can reach this address can play.", flush=True)
        if browser:
            webbrowser.open(address)
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()
