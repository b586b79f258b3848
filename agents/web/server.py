"""The server of the page: HTTP for files and records, one WebSocket for each open page.

The server is the authority: it checks every message, and a page holds nothing but what it was
told. It listens on this machine alone unless told otherwise, and answers no other site's pages.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
import webbrowser
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from aiohttp import WSCloseCode, WSMsgType, web

from pocket_uno_env.agents import AgentError
from pocket_uno_env.agents.advise import advise
from pocket_uno_env.agents.analysis import analyse
from pocket_uno_env.agents.estimate import estimate
from pocket_uno_env.agents.position import AdviceError
from pocket_uno_env.agents.replay import ReplayError, film, page_of, read_records
from pocket_uno_env.agents.table import Table, TableError
from pocket_uno_env.agents.web import hall as halls
from pocket_uno_env.agents.web.hall import Guests, Hall, HallError, Place
from pocket_uno_env.agents.web.messages import MAX_BYTES, MessageError, parse, read
from pocket_uno_env.rules import RulesError

PAGE = Path(__file__).parent / "page"
MAX_UPLOAD = 16 * 2**20
MAX_PAGES = 100
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Refused = (
    MessageError, HallError, TableError, RulesError, AgentError, ReplayError, AdviceError,
)  # fmt: skip
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


class Server:
    """The web application.

    Parameters
    ----------
    agents : sequence of str
        Agents offered beside the registered ones.
    local : bool
        Answer only requests that name this machine: a page of another site, whose name was made to
        lead here, names that site.
    records : Path, optional
        A folder that gets the record of every game, written after each round.
    """

    def __init__(
        self, agents: Sequence[str] = (), local: bool = True, records: Path | None = None
    ) -> None:
        self.hall = Hall(agents)
        for name in agents:
            self.hall.agent(name)  # a wrong name should stop the server, not a game
        self.local, self.records = local, records
        # Thinking must not stop the talking; one thought at a time is fair to a small machine. Long
        # records are read beside the games.
        self._thinkers, self._readers = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self._runners: dict[Guests, asyncio.Task[None]] = {}
        self._pages: set[web.WebSocketResponse] = set()

    def app(self) -> web.Application:
        """The application, ready for aiohttp."""
        app = web.Application(client_max_size=MAX_UPLOAD, middlewares=[self._guard])
        app.router.add_get("/", self._index)
        app.router.add_get("/ws", self._socket)
        app.router.add_post("/replay", self._replay)
        app.router.add_post("/replay.html", self._export)
        app.router.add_post("/advise", self._advise)
        app.router.add_static("/page", PAGE)
        app.on_shutdown.append(self._close)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse other sites, turn errors into answers, and add the headers."""
        if self.local and not _is_local(request.host):
            raise web.HTTPForbidden(text="This server answers to this machine's own names alone.\n")
        origin = request.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != request.host:
            raise web.HTTPForbidden(text="This server does not answer other sites' pages.\n")
        try:
            response = await handler(request)
        except Refused as error:
            response = web.json_response({"error": str(error)}, status=400)
        if not response.prepared:
            response.headers.update(HEADERS)
        return response

    async def _index(self, request: web.Request) -> web.StreamResponse:
        return web.FileResponse(PAGE / "index.html")

    async def _think(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thinkers, work, *arguments)

    async def _read(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._readers, work, *arguments)

    # Records and positions.

    async def _replay(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(await self._filmed(request))

    async def _export(self, request: web.Request) -> web.StreamResponse:
        page = await self._read(page_of, await self._filmed(request))
        return web.Response(text=page, content_type="text/html")

    async def _filmed(self, request: web.Request) -> dict[str, Any]:
        """The film of the record in the body, ``{"records": text, "game": 1, "agents": []}``."""
        asked = parse(await request.read(), MAX_UPLOAD)
        text, game, names = asked.get("records"), asked.get("game", 1), asked.get("agents", [])
        if not isinstance(text, str):
            raise MessageError("'records' should be the text of a file of records")
        if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
            raise MessageError("'agents' should be a list of names of agents")
        agents = [self.hall.agent(name) for name in names[:4]]
        return dict(await self._read(lambda: film(read_records(text, game), agents)))

    async def _advise(self, request: web.Request) -> web.StreamResponse:
        asked = parse(await request.read(), MAX_BYTES)
        names = asked.pop("agents", ["strong"])
        if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
            raise MessageError("'agents' should be a list of names of agents")
        agents = [self.hall.agent(name) for name in names[:4]]
        return web.json_response(await self._read(advise, asked, agents))

    # Pages.

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        page = web.WebSocketResponse(max_msg_size=MAX_BYTES, heartbeat=20)
        await page.prepare(request)
        if len(self._pages) >= MAX_PAGES:
            await page.close(code=WSCloseCode.TRY_AGAIN_LATER, message=b"too many pages")
            return page
        self._pages.add(page)
        place: Place | None = None
        try:
            await self._tell(page, self.hall.welcome())
            async for message in page:
                if message.type != WSMsgType.TEXT:
                    await self._tell(page, _error("a message should be text", None))
                    continue
                place = await self._answer(page, place, message.data)
        finally:
            self._pages.discard(page)
            if place is not None:
                place.pages.discard(page)
        return page

    async def _answer(
        self, page: web.WebSocketResponse, place: Place | None, text: str
    ) -> Place | None:
        """Do what a message asks; the place where the page now sits."""
        do = None
        try:
            message = read(text)
            do = message["do"]
            if do in ("new", "sit"):
                if do == "sit":
                    sits = self.hall.place(message["token"])
                else:
                    sits = await self._think(self.hall.open, message)
                if place is not None:
                    place.pages.discard(page)
                place = sits
                place.pages.add(page)
                if do == "new":
                    await self._tell(page, halls.seated(place))
                await self._tell(page, halls.state(place))
                self._run(place.guests)
                return place
            if place is None:
                raise HallError("you sit at no table; say 'new' or 'sit' first")
            await self._at_table(page, place, message)
        except Refused as error:
            await self._tell(page, _error(str(error), do))
        return place

    async def _at_table(
        self, page: web.WebSocketResponse, place: Place, message: dict[str, Any]
    ) -> None:
        guests, do = place.guests, message["do"]
        guests.used = time.monotonic()
        if do == "analyse":
            halls.check_analysis(place, message)
            table, agent = guests.table, self.hall.agent(message["agent"])
            rows = table.rows.copy()
            judged = await self._think(estimate, table.rules, rows)
            found = await self._think(analyse, table.rules, rows, agent, judged)
            await self._tell(page, {"type": "analysis", "turn": message["turn"], **found})
            return
        if do == "record":
            await self._tell(page, {"type": "record", "record": halls.record(place)})
            return
        if do == "act":
            halls.act(place, message)
        elif do == "next":
            halls.next_round(place, message)
        elif do == "pace":
            guests.pace = message["pace"]
        elif do == "step":
            halls.check_step(place, message)
            await self._move(guests)
        await self._changed(guests)

    # Agents.

    def _run(self, guests: Guests) -> None:
        """Let the agents play until a person is asked, if they are not at it already."""
        runner = self._runners.get(guests)
        if runner is None or runner.done():
            self._runners[guests] = asyncio.create_task(self._agents(guests))

    async def _agents(self, guests: Guests) -> None:
        try:
            # Nobody looks: nothing happens, and nothing is missed.
            while guests.pace is not None and _is_agents_turn(guests) and guests.pages:
                await asyncio.sleep(guests.pace / 1000)
                if guests.pace is None or not _is_agents_turn(guests):
                    break
                await self._move(guests)
                await self._told(guests)
        except AgentError as error:
            for page in guests.pages:
                await self._tell(page, _error(str(error), None))
        finally:
            self._runners.pop(guests, None)

    async def _move(self, guests: Guests) -> None:
        """One decision of the agent to act."""
        table = guests.table
        turn = table.turn
        action = await self._think(table.choose)
        if table.turn == turn:  # two pages may have asked for the same step
            table.take(action)
            self._keep(guests)

    async def _changed(self, guests: Guests) -> None:
        self._keep(guests)
        await self._told(guests)
        self._run(guests)

    async def _told(self, guests: Guests) -> None:
        """Tell every page of a table how it stands."""
        for place in guests.places:
            if place.pages:
                text = halls.state(place)
                await asyncio.gather(*(self._tell(page, text) for page in set(place.pages)))

    def _keep(self, guests: Guests) -> None:
        """Write the record after every round, whatever becomes of the server."""
        if self.records is None or guests.table.running:
            return
        from pocket_uno_env.files import write_json

        with contextlib.suppress(OSError):  # a full disk should not stop the game
            self.records.mkdir(parents=True, exist_ok=True)
            path = self.records / f"{guests.opened}-{guests.places[0].token[:6]}.jsonl"
            write_json(path, guests.table.record(), indent=None)

    async def _tell(self, page: web.WebSocketResponse, message: dict[str, Any]) -> None:
        # A page that is gone, or does not listen, misses it; it asks again when it is back.
        with contextlib.suppress(ConnectionError, asyncio.TimeoutError, RuntimeError):
            await asyncio.wait_for(page.send_str(json.dumps(message)), 10)

    async def _close(self, app: web.Application) -> None:
        for runner in list(self._runners.values()):
            runner.cancel()
        for page in set(self._pages):
            await page.close(code=WSCloseCode.GOING_AWAY, message=b"the server stops")
        for pool in (self._thinkers, self._readers):
            pool.shutdown(wait=False, cancel_futures=True)


def _is_agents_turn(guests: Guests) -> bool:
    table = guests.table
    return table.to_act is not None and table.agents[table.to_act] is not None


def _is_local(host: str) -> bool:
    name = urlsplit(f"//{host}").hostname or ""
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def _error(text: str, do: Any) -> dict[str, Any]:
    return {"type": "error", "error": text, "do": do}


def serve(
    host: str, port: int, agents: Sequence[str], browser: bool, records: Path | None = None
) -> int:
    """Serve the page until it is stopped; the exit code.

    Parameters
    ----------
    host, port
        Where to listen; port 0 takes a free one.
    agents : sequence of str
        Agents offered beside the registered ones.
    browser : bool
        Whether to open the page.
    """
    if not 0 <= port < 2**16:
        raise ValueError(f"--port is {port}; expected a number from 0 to {2**16 - 1}")
    local = host == "localhost" or _is_local(f"[{host}]" if ":" in host else host)
    server = Server(agents, local, records)
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
    while table.running:
        table.sight(0)
        table.ask_agent()


async def _serve(server: Server, host: str, port: int, browser: bool) -> None:
    runner = web.AppRunner(server.app(), access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{runner.addresses[0][1]}/"
        print(f"Playing at {address} (Ctrl-C stops the server)", flush=True)
        if not server.local:
            print("Everyone who can reach this address can play.", flush=True)
        if browser:
            webbrowser.open(address)
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()
