"""The server of the page: whole games over the wire, nothing hidden on it, no harm done."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_hiding import permute_hidden

from pocket_uno_env.agents import Agent, load
from pocket_uno_env.agents.analysis import analyse
from pocket_uno_env.agents.protocol import AgentError
from pocket_uno_env.referee import check_record
from pocket_uno_env.rules import Rules

pytest.importorskip("aiohttp", reason="the extra 'play' is not installed")
from aiohttp import WSMsgType, WSServerHandshakeError
from aiohttp.test_utils import TestClient, TestServer

from pocket_uno_env.agents.web import hall as halls
from pocket_uno_env.agents.web.hall import Hall, HallError
from pocket_uno_env.agents.web.messages import FIELDS, MAX_BYTES, MessageError, read
from pocket_uno_env.agents.web.server import Server, serve

NEW = {
    "do": "new", "rules": "pocket", "seats": ["person", "greedy"], "match": False, "pace": 0,
    "seed": 3,
}  # fmt: skip


class Page:
    """One open page: what it says and hears."""

    def __init__(self, socket: Any) -> None:
        self.socket = socket
        self.heard: list[dict[str, Any]] = []

    async def say(self, **message: Any) -> None:
        await self.socket.send_str(json.dumps(message))

    async def hear(self, *types: str) -> dict[str, Any]:
        """The next message of one of these types."""
        while True:
            # The first analysis waits for kernels to be compiled, on a busy machine for a minute.
            message = await asyncio.wait_for(self.socket.receive(), 300)
            assert message.type == WSMsgType.TEXT, message
            found = json.loads(message.data)
            self.heard.append(found)
            if found["type"] in types:
                return found

    async def ask(self, kind: str, **message: Any) -> dict[str, Any]:
        await self.say(**message)
        return await self.hear(kind)

    async def my_turn(self) -> dict[str, Any]:
        """The next state in which this page is asked something or the round is over."""
        while True:
            state = await self.hear("state")
            if state["sight"]["result"] or state["sight"]["to_act"] == state["sight"]["seat"]:
                return state


@contextlib.asynccontextmanager
async def opened(client: TestClient[Any, Any]) -> AsyncIterator[Page]:
    async with client.ws_connect("/ws") as socket:
        page = Page(socket)
        welcome = await page.hear("welcome")
        assert {agent["name"] for agent in welcome["agents"]} >= {"greedy", "strong"}
        yield page


def with_server(
    scenario: Callable[[TestClient[Any, Any], Server], Awaitable[None]], **options: Any
) -> Server:
    """Run a scenario against a server on a free port of this machine."""
    server = Server(**options)

    async def run() -> None:
        async with TestClient(TestServer(server.app())) as client:
            await asyncio.wait_for(scenario(client, server), 120)

    asyncio.run(run())
    return server


def simplest(state: dict[str, Any]) -> str:
    """Any play rather than a draw; deterministic."""
    legal: list[str] = state["sight"]["legal"]
    return legal[0]


async def play_round(page: Page, state: dict[str, Any]) -> dict[str, Any]:
    while not state["sight"]["result"]:
        if state["sight"]["to_act"] == state["sight"]["seat"]:
            await page.say(do="act", turn=state["turn"], action=simplest(state))
        state = await page.my_turn()
    return state


# The wire.


@pytest.mark.parametrize("rules", ["pocket", "classic"])
@pytest.mark.parametrize("opponents", [["greedy"], ["strong", "random-uno", "counter"]])
def test_hidden_cards_never_reach_a_page(rules: str, opponents: list[str]) -> None:
    """Every message of whole rounds, against the table behind it."""

    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        async with opened(client) as page:
            for seed in range(4):
                new = {**NEW, "rules": rules, "seats": ["person", *opponents], "seed": seed}
                await page.say(**new)
                await page.hear("seated")
                table = server.hall.tables[-1].table
                copies = Counter(table.rules.deck)
                state = await page.my_turn()
                while not state["sight"]["result"]:
                    check(state, table, copies)
                    if seed == 0:
                        found = await page.ask(
                            "analysis", do="analyse", turn=state["turn"], agent="strong"
                        )
                        assert found["choice"] in state["sight"]["legal"]
                    await page.say(do="act", turn=state["turn"], action=simplest(state))
                    state = await page.my_turn()
        assert len(page.heard) > 40

    def check(state: dict[str, Any], table: Any, copies: Counter[str]) -> None:
        sight, truth = state["sight"], table.sight(None)
        assert sight["seat"] == 0 and state["turn"] == table.turn
        for seat, hand in enumerate(sight["hands"]):
            actual = truth["hands"][seat]["cards"]
            assert hand["size"] == len(actual)
            if seat == 0:
                assert hand["cards"] == actual
            else:
                assert hand["cards"] is None
                # Known are only cards that passed between the two, or that a challenge showed.
                shown = [e for e in state["events"] if e["do"] in ("give", "challenge")]
                assert not hand["known"] or shown
        # All card names in the message are of cards that this seat may place.
        place = Counter(sight["hands"][0]["cards"]) + Counter(truth["discard_pile"])
        named = Counter(sight["hands"][0]["cards"]) + Counter(sight["discard_pile"])
        assert named == place
        for event in state["events"]:
            mine = event["seat"] == 0 or event["to"] == 0
            if event["do"] in ("draw", "forced", "give") and not mine:
                assert event["cards"] is None
                assert not any(kind in event["text"].split(" ") for kind in copies)

    with_server(scenario)


def test_what_is_sent_does_not_depend_on_hidden_cards() -> None:
    rng, moved = np.random.default_rng(0), 0
    hall = Hall()
    place = hall.open({**NEW, "seats": ["person", "greedy", "strong"]})
    table = place.guests.table
    while table.running:
        before, saved = json.dumps(halls.state(place)), table.rows.copy()
        moved += permute_hidden(table.rules, table.rows, 0, rng)
        assert json.dumps(halls.state(place)) == before
        if table.to_act == 0:
            found = [analysed(table, name) for name in ("strong", "counter")]
            table.rows[:] = saved
            assert found == [analysed(table, name) for name in ("strong", "counter")]
            table.act(table.sight(0)["legal"][0])
        else:
            table.rows[:] = saved
            table.ask_agent()
    assert moved > 100


def analysed(table: Any, name: str) -> str:
    return json.dumps(analyse(table.rules, table.rows.copy(), load(name)))


def test_a_whole_match_and_its_record(tmp_path: Path) -> None:
    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        async with opened(client) as page:
            await page.say(**{**NEW, "match": True})
            rounds = 0
            state = await page.my_turn()
            while True:
                if not rounds and not state["sight"]["result"]:
                    error = await page.ask("error", do="record")
                    assert "would show the hidden cards" in error["error"]
                state = await play_round(page, state)
                rounds += 1
                record = (await page.ask("record", do="record"))["record"]
                check_record(record)
                assert len(record["rounds"]) == rounds
                # The seed would tell the deals to come.
                assert record["seed"] == (3 if state["over"] else None)
                if state["over"]:
                    break
                await page.say(do="next", turn=state["turn"])
                state = await page.my_turn()
            assert state["winner"] in (0, 1) and max(state["sight"]["scores"]) >= 250

    with_server(scenario, records=tmp_path)
    (file,) = tmp_path.glob("*.jsonl")
    check_record(json.loads(file.read_text()))


def test_people_play_each_other_each_with_a_link_of_their_own() -> None:
    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        async with opened(client) as first, opened(client) as second:
            await first.say(**{**NEW, "seats": ["person", "greedy", "person"]})
            seated = await first.hear("seated")
            (invited,) = seated["invite"]
            assert invited["seat"] == 2 and invited["token"] != seated["token"]
            await second.say(do="sit", token=invited["token"])
            table = server.hall.tables[0].table
            while table.running:
                for page, seat in ((first, 0), (second, 2)):
                    if table.to_act == seat:
                        state = halls.state(server.hall.tables[0].places[seat // 2])
                        await page.say(do="act", turn=table.turn, action=simplest(state))
                        await page.hear("state")
                await asyncio.sleep(0)
            for page, seat in ((first, 0), (second, 2)):
                states = [m for m in page.heard if m["type"] == "state"]
                assert states and all(m["sight"]["seat"] == seat for m in states)
                running = [m for m in states if not m["sight"]["result"]]
                assert all(m["sight"]["hands"][2 - seat]["cards"] is None for m in running)

    with_server(scenario)


def test_agents_alone_are_watched_step_by_step() -> None:
    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        async with opened(client) as page:
            await page.say(**{**NEW, "seats": ["strong", "greedy"], "pace": None})
            state = await page.hear("state")
            assert state["sight"]["seat"] is None and all(
                hand["cards"] for hand in state["sight"]["hands"]
            )
            await page.say(do="step", turn=state["turn"])
            after = await page.hear("state")
            assert after["turn"] == state["turn"] + 1
            error = await page.ask("error", do="step", turn=state["turn"])
            assert "this came late" in error["error"]
            analysis = await page.ask("analysis", do="analyse", turn=after["turn"], agent="counter")
            assert analysis["choice"] in after["sight"]["legal"]
            await page.say(do="pace", pace=0)
            while not (state := await page.hear("state"))["sight"]["result"]:
                pass
            check_record((await page.ask("record", do="record"))["record"])

    with_server(scenario)


def test_nobody_decides_or_is_advised_for_another_seat() -> None:
    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        async with opened(client) as page:
            for seats in (["person", "greedy"], ["greedy", "person"], ["greedy", "strong"]):
                await page.say(**{**NEW, "seats": seats, "pace": None})
                state = await page.hear("state")
                guests = server.hall.tables[-1]
                while guests.table.to_act is not None and seats[guests.table.to_act] == "person":
                    await page.say(do="act", turn=state["turn"], action=simplest(state))
                    state = await page.hear("state")
                # An agent is to act, and what it may do is legal: but not for this page.
                rows, legal = guests.table.rows.copy(), guests.table.sight(None)["legal"]
                for action in legal:
                    error = await page.ask("error", do="act", turn=state["turn"], action=action)
                    assert error["error"] == "it is not your turn"
                if "person" in seats:
                    error = await page.ask(
                        "error", do="analyse", turn=state["turn"], agent="strong"
                    )
                    assert "of your own decisions" in error["error"]
                assert (guests.table.rows == rows).all()

    with_server(scenario)


# Two pages, lost pages.


def test_two_pages_show_the_same_and_the_later_click_is_refused() -> None:
    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        async with opened(client) as first, opened(client) as second:
            await first.say(**NEW)
            token = (await first.hear("seated"))["token"]
            await second.say(do="sit", token=token)
            one, two = await first.my_turn(), await second.my_turn()
            while one["turn"] != two["turn"]:
                one = await first.my_turn() if one["turn"] < two["turn"] else one
                two = await second.my_turn() if two["turn"] < one["turn"] else two
            assert one == two
            action = simplest(one)
            await first.say(do="act", turn=one["turn"], action=action)
            await first.hear("state")
            error = await second.ask("error", do="act", turn=one["turn"], action=action)
            assert "this came late" in error["error"] and error["do"] == "act"
            assert (await second.ask("state", do="sit", token=token))["token"] == token

    with_server(scenario)


def test_a_lost_page_comes_back_to_the_game() -> None:
    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        async with opened(client) as page:
            await page.say(**NEW)
            token = (await page.hear("seated"))["token"]
            state = await page.my_turn()
            await page.say(do="act", turn=state["turn"], action=simplest(state))
            await page.socket.close()
        async with client.ws_connect("/ws") as socket:  # gone in the middle of a message, too
            await socket.send_str('{"do": "sit", "tok')
        table = server.hall.tables[0].table
        for _ in range(100):
            if table.to_act in (0, None):
                break
            await asyncio.sleep(0.01)
        async with opened(client) as page:
            await page.say(do="sit", token=token)
            state = await page.my_turn()
            assert any(event["seat"] == 0 for event in state["events"])
            await play_round(page, state)
            assert not server.hall.tables[0].table.running

    with_server(scenario)


def test_agents_wait_while_nobody_looks() -> None:
    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        async with opened(client) as page:
            await page.say(**{**NEW, "seats": ["greedy", "greedy"], "pace": 50})
            await page.hear("state")
        await asyncio.sleep(0.2)
        turn = server.hall.tables[0].table.turn
        await asyncio.sleep(0.3)
        assert server.hall.tables[0].table.turn == turn and not server._runners

    with_server(scenario)


def test_the_oldest_empty_table_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(halls, "MAX_TABLES", 2)
    hall = Hall()
    first, second = hall.open(NEW), hall.open(NEW)
    first.pages.add("page")
    third = hall.open(NEW)
    assert hall.tables == [first.guests, third.guests] and hall.place(first.token) is first
    with pytest.raises(HallError, match="not there any more"):
        hall.place(second.token)
    third.pages.add("page")
    with pytest.raises(HallError, match="all 2 tables are taken"):
        hall.open(NEW)


# Nonsense.

BAD = [
    ("", "this is not JSON"),
    ("nonsense", "this is not JSON"),
    ("[1]", "expected a JSON object"),
    ("{}", "'do' is None"),
    ('{"do": "explode"}', "'do' is 'explode'"),
    ('{"do": ["act"]}', "'do' is ['act']"),
    ('{"do": "act", "turn": 1}', "needs the field 'action'"),
    ('{"do": "act", "turn": "1", "action": "draw"}', "'turn' is '1'"),
    ('{"do": "act", "turn": true, "action": "draw"}', "'turn' is True"),
    ('{"do": "act", "turn": -1, "action": "draw"}', "'turn' is -1"),
    ('{"do": "act", "turn": 1, "action": "draw", "seat": 1}', "no field 'seat'"),
    ('{"do": "act", "turn": 1e99, "action": "draw"}', "'turn' is 1e+99"),
    ('{"do": "act", "turn": NaN, "action": "draw"}', "NaN is no JSON"),
    ('{"do": "pace", "pace": 1.5}', "'pace' is 1.5"),
    ('{"do": "sit", "token": ""}', "'token' is ''"),
    ("[" * 10_000, "this is not JSON"),
    ("9" * 10_000, "this is not JSON"),
    (json.dumps({"do": "sit", "token": "x" * (MAX_BYTES - 40)}), "'token' is 'xxx"),
]


@pytest.mark.parametrize(("text", "says"), BAD, ids=lambda value: value[:30])
def test_messages_that_are_none_are_named(text: str, says: str) -> None:
    with pytest.raises(MessageError) as error:
        read(text)
    assert says in str(error.value) and len(str(error.value)) < 400


REFUSED = [
    ({"do": "act", "turn": 1, "action": "draw"}, "you sit at no table"),
    ({"do": "sit", "token": "nobody"}, "not there any more"),
    ({**NEW, "seats": ["person"]}, "expected a list of 2 to 10 names"),
    ({**NEW, "seats": ["person"] * 6}, "2 to 5 players"),
    ({**NEW, "seats": ["person", "gredy"]}, "there is no agent 'gredy' here"),
    ({**NEW, "seats": ["person", "import:os:system"]}, "there is no agent 'import:os:system' here"),
    ({**NEW, "seats": ["person", "ppo:/etc"]}, "there is no agent 'ppo:/etc' here"),
    ({**NEW, "rules": "poker"}, "unknown rules 'poker'"),
    ({**NEW, "rules": "rules.toml"}, "unknown rules 'rules.toml'"),
    ({**NEW, "rules": {"name": "pocket", "colors": 9}}, "Rules.colors is 9"),
    ({**NEW, "rules": {"name": 3}}, "the name of the rules should be a text"),
    ({**NEW, "rules": {"pickle": "x"}}, "Rules has no field 'pickle'"),
    ({**NEW, "seed": -4}, "'seed' is -4"),
]


def test_what_cannot_be_done_is_refused_and_the_page_stays() -> None:
    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        async with opened(client) as page:
            for message, says in REFUSED:
                error = await page.ask("error", **message)
                assert says in error["error"], error
            assert not server.hall.tables
            await page.socket.send_bytes(b"\x80\x04.")
            assert "should be text" in (await page.hear("error"))["error"]
            await page.say(**NEW)
            state = await page.my_turn()
            for action in ("play R0", "catch", "deal me a W+4"):
                error = await page.ask("error", do="act", turn=state["turn"], action=action)
                assert "is not legal now; legal: " in error["error"]
            error = await page.ask("error", do="next", turn=state["turn"])
            assert "still runs" in error["error"]
            error = await page.ask("error", do="analyse", turn=state["turn"], agent="nobody")
            assert "there is no agent" in error["error"]
            assert (await play_round(page, state))["sight"]["result"]["end"] == "out"

    with_server(scenario)


def test_fuzzed_messages_do_no_harm() -> None:
    """Thousands of broken and odd messages beside a game, which goes on untouched."""
    rng = random.Random(5)
    values = [
        None, True, -1, 0, 1, 2**63, 1.5, "", "x", "draw", "play R5", "person", "greedy", "\ud800",
        "\x00", "__class__", [], [[]], {}, {"a": []}, ["person", "greedy"], "😀" * 30, "pocket",
    ]  # fmt: skip

    def odd() -> str:
        do = rng.choice([*FIELDS, "x", None])
        message = {"do": do, **{name: rng.choice(values) for name in FIELDS.get(str(do), {})}}
        if rng.random() < 0.3:
            message[rng.choice(["seat", "turn", "do", "token", ""])] = rng.choice(values)
        text = json.dumps(message, ensure_ascii=rng.random() < 0.5)
        if rng.random() < 0.3:
            cut = rng.randrange(len(text))
            text = text[:cut] + rng.choice(["", "\x00", '"', "}", "\\"]) + text[cut + 1 :]
        return text.encode("utf-8", "replace").decode()

    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        async with opened(client) as page, opened(client) as other:
            await page.say(**NEW)
            state = await page.my_turn()
            rows = server.hall.tables[0].table.rows.copy()
            answers: Counter[str] = Counter()

            async def listen() -> None:
                while True:
                    answers[(await other.hear("error", "state", "seated", "record"))["type"]] += 1

            listener = asyncio.create_task(listen())
            for i in range(3000):
                await other.socket.send_str(odd())
                if i % 100 == 0:
                    await asyncio.sleep(0)
            await other.socket.ping()
            while sum(answers.values()) < 2900:
                await asyncio.sleep(0.02)
            listener.cancel()
            assert answers["error"] > 2500
            for sentence in {m["error"] for m in other.heard if m["type"] == "error"}:
                assert "Traceback" not in sentence and len(sentence) < 700
            assert (server.hall.tables[0].table.rows == rows).all()
            await play_round(page, state)

    with_server(scenario)


def test_fuzzed_uploads_do_no_harm() -> None:
    """Records and positions with one thing changed: an answer or a clear refusal, never more."""
    rng = random.Random(3)
    hall = Hall()
    table = hall.open({**NEW, "seats": ["greedy", "counter"]}).guests.table
    while table.running:
        table.ask_agent()
    record = json.loads(json.dumps(table.record()))
    position = {
        "hand": ["R5", "W"],
        "top": "R7",
        "others": [3],
        "discards": ["B2"],
        "scores": [1, 2],
    }
    values = [None, True, -1, 1.5, 10**30, "", "R5", "W", "\ud800", [], ["R5"], {}, [[1, "draw"]]]

    def changed(value: Any) -> Any:
        value = json.loads(json.dumps(value))
        place = value
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                return value
            key = rng.choice(keys)
            if not isinstance(place[key], dict | list) or rng.random() < 0.2:
                if rng.random() < 0.3:
                    del place[key]
                else:
                    place[key] = rng.choice(values)
                return value
            place = place[key]

    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        answers: Counter[int] = Counter()
        for _ in range(150):
            for path, body in (
                ("/replay", {"records": json.dumps(changed(record)), "agents": ["strong"]}),
                ("/replay", changed({"records": json.dumps(record), "game": 1, "agents": []})),
                ("/advise", {**changed(position), "agents": ["strong"]}),
            ):
                answer = await client.post(path, data=json.dumps(body))
                found = json.loads(await answer.text())
                answers[answer.status] += 1
                if answer.status != 200:
                    assert answer.status == 400 and 0 < len(found["error"]) < 1000, found
        assert answers[400] > 200 and answers[200] > 20
        for path in ("/replay", "/replay.html", "/advise"):
            for data in (b"", b"\x80\x04\x95pickle.", b"[" * 9999):
                assert (await client.post(path, data=data)).status == 400

    with_server(scenario)


def test_a_message_that_is_too_long_ends_that_page_alone() -> None:
    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        async with opened(client) as page, opened(client) as other:
            await other.socket.send_str("x" * (MAX_BYTES + 1))
            message = await asyncio.wait_for(other.socket.receive(), 10)
            assert message.type in (WSMsgType.CLOSE, WSMsgType.CLOSED)
            await page.say(**NEW)
            await play_round(page, await page.my_turn())

    with_server(scenario)


def test_an_agent_that_fails_stops_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(Agent):
        name = "greedy"

        def act_rows(self, rules: Rules, rows: Any, index: Any) -> Any:
            raise AgentError("it broke")

    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        async with opened(client) as page:
            server.hall._agents["counter"] = Broken()
            await page.say(**{**NEW, "seats": ["counter", "person"]})
            while (message := await page.hear("state", "error"))["type"] == "state":
                if message["sight"]["to_act"] == 1:
                    await page.say(do="act", turn=message["turn"], action=simplest(message))
            assert message["error"] == "it broke"
            await page.say(**NEW)
            await play_round(page, await page.my_turn())

    with_server(scenario)


def test_those_who_see_all_neither_play_with_people_nor_advise() -> None:
    hall = Hall()
    hall.agent("greedy").clairvoyant = True
    with pytest.raises(HallError, match="plays against agents only"):
        hall.open(NEW)
    place = hall.open({**NEW, "seats": ["greedy", "strong"]})
    with pytest.raises(AgentError, match="looks at hidden cards"):
        analyse(place.guests.table.rules, place.guests.table.rows, hall.agent("greedy"))


# Other sites and addresses.


def test_other_sites_are_refused() -> None:
    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        foreign = {"Origin": "https://example.org"}
        with pytest.raises(WSServerHandshakeError) as error:
            await client.ws_connect("/ws", headers=foreign)
        assert error.value.status == 403
        for path in ("/replay", "/replay.html", "/advise"):
            assert (await client.post(path, data="{}", headers=foreign)).status == 403
        rebound = {"Host": "example.org:80"}
        assert (await client.get("/", headers=rebound)).status == 403
        own = {"Origin": f"http://{client.host}:{client.port}"}
        assert (await client.post("/advise", data="{}", headers=own)).status == 400

    with_server(scenario)


def test_the_page_needs_nothing_from_elsewhere() -> None:
    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        page = await client.get("/")
        text = await page.text()
        assert "default-src 'none'" in page.headers["Content-Security-Policy"]
        files = [word.split('"')[1] for word in text.split() if word.startswith(("src=", "href="))]
        for file in files:
            if file.startswith("/page/"):
                answer = await client.get(file)
                body = await answer.text()
                assert answer.status == 200
                assert "http://" not in body.replace("http://www.w3.org/2000/svg", "")
                assert "https://" not in body
            else:
                assert file.startswith(("#", "data:"))
        for outside in ("/page/../server.py", "/page/%2e%2e/server.py", "/etc/passwd"):
            assert (await client.get(outside)).status in (403, 404)

    with_server(scenario)


def test_it_listens_on_this_machine_alone(capsys: pytest.CaptureFixture[str]) -> None:
    from pocket_uno_env.agents.play import Options
    from pocket_uno_env.agents.web.server import _is_local

    assert Options().host == "127.0.0.1"
    assert all(map(_is_local, ("localhost:80", "127.0.0.1:1", "[::1]:1", "127.8.8.8")))
    assert not any(map(_is_local, ("example.org", "10.0.0.1:80", "localhost.example.org", "")))
    with pytest.raises(ValueError, match="--port is 65536; expected"):
        serve("127.0.0.1", 65536, [], False)
    with pytest.raises(HallError, match="no agent 'nobody'"):
        serve("127.0.0.1", 0, ["nobody"], False)
