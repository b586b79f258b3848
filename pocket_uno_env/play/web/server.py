"""The web application of the page: HTTP for files and records, one WebSocket for each open page.

The server is the authority: it checks every message, and a page holds nothing but what it was
told. It answers no other site's pages. `serve` runs it.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from aiohttp import WSCloseCode, web

from pocket_uno_env.agents import AgentError
from pocket_uno_env.agents.position import AdviceError
from pocket_uno_env.cli.program import program_name
from pocket_uno_env.files import FileError
from pocket_uno_env.play.advise import advise
from pocket_uno_env.play.analysis import analyse
from pocket_uno_env.play.chances import race_for
from pocket_uno_env.play.estimate import estimate
from pocket_uno_env.play.film import ReplayError, film, film_text, page_of, read_records
from pocket_uno_env.play.guarded import Guarded
from pocket_uno_env.play.table import TableError, write_record
from pocket_uno_env.rules.rules import RulesError

from . import hall as halls
from .doors import Doors
from .hall import Guests, Hall, HallError, Place
from .messages import MAX_BYTES, MessageError, clip, parse, read, short
from .pages import Page
from .threads import in_thread

PAGE = Path(__file__).parent / "page"
FILES = frozenset(file.name for file in PAGE.iterdir())
MAX_UPLOAD = 16 * 2**20
MAX_PAGES = 100
MAX_ASKED = 4
"""Agents that one replay or one advice may ask."""
SECONDS = 30.0
"""How long a request may take to arrive, and an idle connection stays open."""
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
REFUSED = (
    MessageError, HallError, TableError, RulesError, AgentError, ReplayError, AdviceError,
)  # fmt: skip
log = logging.getLogger(__name__)
requests_log = log.getChild("requests")
requests_log.setLevel(logging.CRITICAL)  # what is no HTTP is refused, and no news
RUNNING: dict[str, Any] = {
    "access_log": None,
    "logger": requests_log,
    "keepalive_timeout": SECONDS,
    "handler_cancellation": True,  # work ends for who has gone,
    "shutdown_timeout": 1.0,  # and the server for all
}
"""How aiohttp runs the application."""
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
        The opponents that a page proposes, registered agents or others.
    records : Path, optional
        A folder that gets the record of every game, written after each round.
    doors : Doors, optional
        Which hosts and origins are answered; without it this machine's alone.
    seeds : iterable of int
        The deals of the tables to come (`hall.Hall`), for tests and pictures.
    """

    def __init__(
        self,
        agents: Sequence[str] = (),
        records: Path | None = None,
        doors: Doors | None = None,
        seeds: Iterable[int] = (),
    ) -> None:
        self.hall = Hall(agents, seeds)
        for name in agents:
            self.hall.agent(name)  # a wrong name should stop the server, not a game
        self.records = records
        self.doors = Doors() if doors is None else doors
        # Long records are read beside advice, and both beside the games.
        self._films, self._advices = asyncio.Semaphore(2), asyncio.Semaphore(4)
        self._runners: dict[Guests, asyncio.Task[None]] = {}
        self._pages: set[Page] = set()

    def app(self) -> web.Application:
        """The application, ready for aiohttp to run it as `RUNNING` says."""
        app = web.Application(client_max_size=MAX_UPLOAD, middlewares=[self._guard])
        app.router.add_get("/", self._index)
        app.router.add_get("/ws", self._socket)
        app.router.add_post("/replay", self._replay)
        app.router.add_post("/replay.html", self._export)
        app.router.add_post("/advise", self._advise)
        app.router.add_get("/page/{name}", self._file)
        app.on_response_prepare.append(_add_headers)
        app.on_shutdown.append(self._close)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse other sites, and turn errors into answers."""
        hosts, origins = (request.headers.getall(name, []) for name in ("Host", "Origin"))
        if (why := self.doors.refusal(hosts, origins)) is not None:
            raise web.HTTPForbidden(text=f"{why}\n")
        try:
            return await handler(request)
        except REFUSED as error:
            return web.json_response({"error": clip(str(error))}, status=400)
        except web.HTTPException:
            raise
        except Exception as error:
            return web.json_response({"error": _mistake(error)}, status=500)

    async def _index(self, request: web.Request) -> web.StreamResponse:
        return web.FileResponse(PAGE / "index.html")

    async def _file(self, request: web.Request) -> web.StreamResponse:
        if (name := request.match_info["name"]) not in FILES:
            raise web.HTTPNotFound(text="There is no such file.\n")
        return web.FileResponse(PAGE / name)

    # Records and positions.

    async def _replay(self, request: web.Request) -> web.StreamResponse:
        text = await self._filmed(request, film_text)
        return web.Response(text=text, content_type="application/json")

    async def _export(self, request: web.Request) -> web.StreamResponse:
        page = await self._filmed(request, page_of)
        return web.Response(text=page, content_type="text/html")

    async def _filmed(self, request: web.Request, shown: Callable[[dict[str, Any]], str]) -> str:
        """The film of the record in the body, ``{"records": text, "game": 1, "agents": []}``."""
        asked = await _body(request, MAX_UPLOAD)
        text, game, names = asked.get("records"), asked.get("game", 1), asked.get("agents", [])
        if not isinstance(text, str):
            raise MessageError("'records' should be the text of a file of records")
        _check_asked(names)
        gone = threading.Event()

        def made() -> str:
            record = read_records(text, game)
            return shown(film(record, self._asked(names), gone.is_set))

        try:
            async with self._films:
                return str(await in_thread(made))
        finally:  # a page that is gone needs no film
            gone.set()

    async def _advise(self, request: web.Request) -> web.StreamResponse:
        asked = await _body(request, MAX_BYTES)
        names = asked.pop("agents", ["strong"])
        _check_asked(names)
        async with self._advices:
            found = await in_thread(lambda: advise(asked, self._asked(names)))
        return web.json_response(found)

    def _asked(self, names: Sequence[str]) -> list[Guarded]:
        return [self.hall.agent(name) for name in names]

    # Pages.

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        page, place = Page(), None
        async with page.opened(request) as socket:
            if len(self._pages) >= MAX_PAGES:
                await page.close(WSCloseCode.TRY_AGAIN_LATER, b"too many pages")
                return socket
            self._pages.add(page)
            try:
                page.tell(self.hall.welcome())
                async for text in page.messages():
                    if text is None:
                        page.tell(_error("a message should be text"))
                    else:
                        place = await self._answer(page, place, text)
            finally:
                self._pages.discard(page)
                _leave(page, place)
        return socket

    async def _answer(self, page: Page, place: Place | None, text: str) -> Place | None:
        """Do what a message asks; the place where the page now sits."""
        do = None
        try:
            message = read(text)
            do = message["do"]
            if do in ("new", "sit"):
                if do == "sit":
                    sits = self.hall.place(message["token"])
                else:
                    sits = await in_thread(self.hall.open, message, page)
                _leave(page, place)
                place = sits
                place.pages.add(page)
                if do == "new":
                    page.tell(halls.seated(place))
                page.tell(halls.state(place))
                self._run(place.guests)
                return place
            if place is None:
                raise HallError("you sit at no table; say 'new' or 'sit' first")
            # It is done even if the page leaves meanwhile.
            await asyncio.shield(self._at_table(page, place, message))
        except REFUSED as error:
            page.tell(_error(str(error), do))
        except Exception as error:
            page.tell(_error(_mistake(error), do))
        return place

    async def _at_table(self, page: Page, place: Place, message: dict[str, Any]) -> None:
        guests, do = place.guests, message["do"]
        guests.used = time.monotonic()
        if do == "analyse":
            halls.check_analysis(place, message)
            table, rows = guests.table, guests.table.rows.copy()

            def analysed() -> dict[str, Any]:
                agent = self.hall.agent(message["agent"])
                race = race_for(table.rules, len(table.agents)) if table.match else None
                judged = estimate(table.rules, rows, race=race)
                return analyse(table.rules, rows, agent, judged)

            found = await in_thread(analysed)
            page.tell({"type": "analysis", "turn": message["turn"], **found})
            return
        if do == "record":
            page.tell({"type": "record", "record": halls.record(place)})
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
            while guests.pace is not None and _may_move(guests) and guests.pages:
                await asyncio.sleep(guests.pace / 1000)
                if guests.pace is None or not _may_move(guests):
                    break
                await self._move(guests)
                self._tell_all(guests)
                await self._keep(guests)
        finally:
            self._runners.pop(guests, None)

    async def _move(self, guests: Guests) -> None:
        """One decision of the agent to act; if it fails, the table is in trouble."""
        table, turn = guests.table, guests.table.turn
        async with guests.moving:
            if table.turn != turn:  # another page asked for the same step
                return
            try:
                action = await in_thread(table.choose)
            except AgentError as error:
                guests.trouble = clip(str(error))
            except Exception as error:
                guests.trouble = _mistake(error)
            else:
                guests.trouble = None
                table.take(action)

    async def _changed(self, guests: Guests) -> None:
        self._tell_all(guests)
        self._run(guests)
        await self._keep(guests)

    def _tell_all(self, guests: Guests) -> None:
        """Tell every page of a table how it stands."""
        for place in guests.places:
            if place.pages:
                state = halls.state(place)
                for page in place.pages:
                    page.tell(state)

    async def _keep(self, guests: Guests) -> None:
        """Write the record after every round, whatever becomes of the server.

        Where that fails, the table and whoever runs the server are told once, and the game goes on.
        """
        table = guests.table
        if self.records is None or table.running or guests.written == table.turn:
            return
        guests.written = table.turn
        path = self.records / f"{guests.opened}-{guests.places[0].token[:6]}.jsonl"
        try:
            await in_thread(write_record, path, table.record())
        except FileError as error:
            if guests.kept:
                text = f"The record is not kept: {error}. The game goes on."
                print(f"{program_name('play')}: {text}", file=sys.stderr)
                for page in guests.pages:
                    page.tell(_error(text))
            guests.kept = False
        else:
            guests.kept = True

    async def _close(self, app: web.Application) -> None:
        for runner in list(self._runners.values()):
            runner.cancel()
        going = [page.close(WSCloseCode.GOING_AWAY, b"the server stops") for page in self._pages]
        await asyncio.gather(*going, return_exceptions=True)


async def _add_headers(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)


async def _body(request: web.Request, longest: int) -> dict[str, Any]:
    """The JSON object in the body of a request."""
    try:
        data = await asyncio.wait_for(request.read(), SECONDS)
    except TimeoutError:
        raise web.HTTPRequestTimeout(text="The request did not arrive in time.\n") from None
    return dict(await in_thread(parse, data, longest))


def _check_asked(names: Any) -> None:
    """Whether these may be agents that are asked."""
    texts = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not texts or len(names) > MAX_ASKED:
        raise MessageError(
            f"'agents' is {short(names)}; expected a list of at most {MAX_ASKED} names of agents"
        )


def _may_move(guests: Guests) -> bool:
    """Whether an agent is to act, and may be asked."""
    table = guests.table
    agents_turn = table.to_act is not None and table.agents[table.to_act] is not None
    return agents_turn and guests.trouble is None


def _leave(page: Page, place: Place | None) -> None:
    if place is not None:
        place.pages.discard(page)
        place.guests.used = time.monotonic()


def _error(text: str, do: Any = None) -> dict[str, Any]:
    return {"type": "error", "error": clip(text), "do": do}


def _mistake(error: Exception) -> str:
    """What to say of an error that should not be; whoever runs the server sees where it was."""
    log.error("a mistake of the server's", exc_info=error)
    return f"the server made a mistake ({type(error).__name__}); nothing has changed"
