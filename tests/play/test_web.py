"""The server of the page: whole games over the wire, nothing hidden on it, no harm done."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hidden_cards import permute_hidden
from unruly import ANSWERS, OPINIONS, Opinionated, Unruly

from pocket_uno_env.agents import Agent, ObservationAgent, load
from pocket_uno_env.agents.agent import AgentError
from pocket_uno_env.equity.tables import match_equity
from pocket_uno_env.play.analysis import analyse
from pocket_uno_env.play.chances import race_for
from pocket_uno_env.play.estimate import estimate
from pocket_uno_env.play.guarded import Guarded
from pocket_uno_env.reference.referee import check_record
from pocket_uno_env.rules.rules import Rules

pytest.importorskip("aiohttp", reason="the extra 'play' is not installed")
from aiohttp import WSMsgType, WSServerHandshakeError
from aiohttp.test_utils import TestClient, TestServer

from pocket_uno_env.play.web import hall as halls
from pocket_uno_env.play.web import pages
from pocket_uno_env.play.web import server as servers
from pocket_uno_env.play.web.doors import Doors, is_local
from pocket_uno_env.play.web.hall import Hall, HallError
from pocket_uno_env.play.web.messages import FIELDS, MAX_BYTES, MessageError, read
from pocket_uno_env.play.web.serve import serve
from pocket_uno_env.play.web.server import Server
from pocket_uno_env.play.web.threads import NAME, in_thread

NEW = {
    "do": "new", "rules": "pocket", "seats": ["person", "greedy"], "match": False, "pace": 0,
}  # fmt: skip


HOUSE = {"match": True, "rules": {"name": "pocket", "jump_in": True}}
"""A match for which there is no match equity."""
SEED = 3
"""The deal of all tables, unless a test names others."""


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
    server = Server(**{"seeds": itertools.repeat(SEED), **options})

    async def run() -> None:
        site = TestServer(server.app())
        # aiohttp's own test server has this one set.
        how = {k: v for k, v in servers.RUNNING.items() if k != "handler_cancellation"}
        await site.start_server(**how)
        async with TestClient(site) as client:
            await asyncio.wait_for(scenario(client, server), 120)

    try:
        asyncio.run(run())
    finally:
        # A test leaves no thread at work behind it.
        for thread in threading.enumerate():
            if thread.name == NAME:
                thread.join(120)
    return server


def dealt(new: dict[str, Any]) -> halls.Place:
    """A new table of the deal `SEED`."""
    return Hall(seeds=[SEED]).open(new)


def a_record() -> str:
    """A round of two agents, as a line of a file."""
    table = dealt({**NEW, "seats": ["greedy", "counter"]}).guests.table
    while table.running:
        table.ask_agent()
    return json.dumps(table.record())


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
                await page.say(**{**NEW, "rules": rules, "seats": ["person", *opponents]})
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

    with_server(scenario, seeds=range(4))


def test_what_is_sent_does_not_depend_on_hidden_cards() -> None:
    rng, moved = np.random.default_rng(0), 0
    place = dealt({**NEW, "match": True, "seats": ["person", "greedy", "strong"]})
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


def test_in_a_match_the_chances_to_win_it_are_told() -> None:
    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        async with opened(client) as page:
            for changed, told in (({"match": True}, True), ({}, False), (HOUSE, False)):
                await page.say(**{**NEW, **changed})
                state = await page.my_turn()
                while state["sight"]["result"]:
                    await page.say(do="next", turn=state["turn"])
                    state = await page.my_turn()
                found = await page.ask("analysis", do="analyse", turn=state["turn"], agent="strong")
                assert (state["chances"] is not None) == (found["match"] is not None) == told
                state = await play_round(page, state)
                if told:
                    scores = state["sight"]["scores"]
                    assert state["chances"] == match_equity("pocket", scores).round(4).tolist()
                    assert sum(found["match"]) == pytest.approx(1, abs=1e-3)

    with_server(scenario)


def analysed(table: Any, name: str) -> str:
    rows, race = table.rows.copy(), race_for(table.rules, len(table.agents))
    judged = estimate(table.rules, rows, 30, race=race)
    return json.dumps(analyse(table.rules, rows, load(name), judged))


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
                assert record["seed"] == (SEED if state["over"] else None)
                if state["over"]:
                    break
                await page.say(do="next", turn=state["turn"])
                state = await page.my_turn()
            assert state["winner"] in (0, 1) and max(state["sight"]["scores"]) >= 250

    with_server(scenario, records=tmp_path)
    (file,) = tmp_path.glob("*.jsonl")
    check_record(json.loads(file.read_text()))


def test_no_page_chooses_or_learns_the_deal() -> None:
    """At a second table of agents with the same deal it would see every hand of the first."""

    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        async with opened(client) as page:
            for seed in (SEED, 0, None):
                error = await page.ask("error", **NEW, seed=seed)
                assert "'new' has no field 'seed'" in error["error"]
            assert not server.hall.tables
            deals = set()
            for seats in (["person", "person"], ["greedy", "greedy"], ["greedy", "greedy"]):
                await page.say(**{**NEW, "seats": seats, "match": True, "pace": None})
                await page.hear("state")
                table = server.hall.tables[-1].table
                deals.add(json.dumps(table.sight(None)["hands"]))
                if seats[0] == "greedy":  # every hand is open, so its record is given at any time
                    assert (await page.ask("record", do="record"))["record"]["seed"] is None
            assert len(deals) == 3
            assert not any("seed" in m for m in page.heard)

    with_server(scenario, seeds=())


def test_a_seed_is_told_at_the_end_of_the_game_alone() -> None:
    place = dealt({**NEW, "seats": ["greedy", "greedy"], "match": True})
    table = place.guests.table
    while not table.over:
        assert halls.record(place)["seed"] is None
        while table.running:
            table.ask_agent()
        if not table.over:
            table.next_round()
    assert halls.record(place)["seed"] == SEED
    assert "seed" not in halls.state(place)


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


def test_no_page_takes_the_table_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(halls, "MAX_TABLES", 6)
    monkeypatch.setattr(halls, "MAX_OWN", 3)
    hall = Hall()
    away = hall.open(NEW, "another page")  # its page has lost the connection for a moment
    mine = [hall.open(NEW, "page") for _ in range(9)]
    assert hall.tables == [place.guests for place in (away, *mine[-3:])]
    with pytest.raises(HallError, match="not there any more"):
        hall.place(mine[0].token)
    for place in mine:
        place.pages.add("page")
    with pytest.raises(HallError, match="this page has opened 3 tables, and all are in use"):
        hall.open(NEW, "page")
    kept = [hall.open(NEW, f"page {i}") for i in range(2)]
    with pytest.raises(HallError, match="all 6 tables are taken"):
        hall.open(NEW, "a last page")
    assert hall.place(away.token) is away
    # What was left for long makes room.
    away.guests.used -= halls.KEPT
    last = hall.open(NEW, "a last page")
    assert hall.tables[-3:] == [kept[0].guests, kept[1].guests, last.guests]
    with pytest.raises(HallError, match="not there any more"):
        hall.place(away.token)


# Nonsense.

POSITION = {"hand": ["R5", "W"], "top": "R7", "others": [3], "discards": ["B2"], "scores": [1, 2]}
BAD = [
    ("", "the message is not JSON"),
    ("nonsense", "the message is not JSON"),
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
    ('{"do": "record", "do": "record"}', "the key 'do' comes twice"),
    ('{"do": "act", "turn": 1e999, "action": "draw"}', "the number 1e999 is too large"),
    ('{"do": "act", "turn": ' + "9" * 4300 + ', "action": "draw"}', "'turn' is 999"),
    ('{"do": "act", "turn": ' + "9" * 4301 + ', "action": "draw"}', "the message is not JSON"),
    ("[" * 10_000, "the message is nested too deeply"),
    ("9" * 10_000, "the message is not JSON"),
    (json.dumps({"do": "sit", "token": "x" * (MAX_BYTES - 40)}), "'token' is 'xxx"),
]


@pytest.mark.parametrize(("text", "says"), BAD, ids=lambda value: value[:30])
def test_messages_that_are_none_are_named(text: str, says: str) -> None:
    with pytest.raises(MessageError) as error:
        read(text)
    assert says in str(error.value) and len(str(error.value)) < 400


KEYS = ("cls", "self", "rules", "__class__", "base", "changed")
WHOLE = ("colors", "hand_size", "max_players", "match_goal", "draw_limit")
HUGE = 10**4300 - 1
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
    *(({**NEW, "rules": {key: "x"}}, f"Rules has no field {key!r}") for key in KEYS),
    ({**NEW, "rules": {"name": "x" * 9999}}, "unknown rules 'xxx"),
    *(({**NEW, "rules": {field: HUGE}}, f"Rules.{field} is 999") for field in WHOLE),
    ({**NEW, "rules": {"symbols": {"1": HUGE}}}, "Rules.symbols['1'] is 999"),
    ({**NEW, "rules": {"wild_copies": {"W": HUGE}}}, "Rules.wild_copies['W'] is 999"),
    ({**NEW, "rules": {"symbols": {"x" * 9999: 1}}}, "Rules.symbols names 'xxx"),
    ({**NEW, "seed": 3}, "'new' has no field 'seed'"),
    ({**NEW, "seed": None}, "'new' has no field 'seed'"),
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
        HUGE, -HUGE, "x" * 9999, ["person", "x" * 199], [HUGE, "person"], {"x" * 5000: HUGE},
        *({"name": "pocket", key: HUGE} for key in (*KEYS, *WHOLE, "name")),
        {"symbols": {"1": HUGE}}, {"wild_copies": {"W": HUGE}}, {"symbols": {"x" * 3000: True}},
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
        sent = text.encode("utf-8", "replace")
        return sent.decode() if len(sent) <= MAX_BYTES else odd()

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
            for i in range(4000):
                await other.socket.send_str(odd())
                if i % 100 == 0:
                    await asyncio.sleep(0)
            await other.socket.ping()
            while sum(answers.values()) < 3900:
                await asyncio.sleep(0.02)
            listener.cancel()
            assert answers["error"] > 3400
            for sentence in {m["error"] for m in other.heard if m["type"] == "error"}:
                assert "Traceback" not in sentence and len(sentence) <= 600
                assert "made a mistake" not in sentence
            assert (server.hall.tables[0].table.rows == rows).all()
            await play_round(page, state)

    with_server(scenario)


def test_fuzzed_uploads_do_no_harm() -> None:
    """Records and positions with one thing changed: an answer or a clear refusal, never more."""
    rng = random.Random(3)
    record, position = json.loads(a_record()), POSITION
    values = [
        None, True, -1, 1.5, 10**30, "", "R5", "W", "\ud800", [], ["R5"], {}, [[1, "draw"]],
        HUGE, -HUGE, "x" * 9999, [HUGE], *({key: HUGE} for key in (*KEYS, *WHOLE)),
    ]  # fmt: skip

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
        for _ in range(200):
            for path, body in (
                ("/replay", {"records": json.dumps(changed(record)), "agents": ["strong"]}),
                ("/replay", changed({"records": json.dumps(record), "game": 1, "agents": []})),
                ("/advise", {**changed(position), "agents": ["strong"]}),
            ):
                answer = await client.post(path, data=json.dumps(body))
                found = json.loads(await answer.text())
                answers[answer.status] += 1
                if answer.status != 200:
                    assert answer.status == 400 and 0 < len(found["error"]) <= 600, found
        assert answers[400] > 270 and answers[200] > 30
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


@pytest.mark.parametrize("seats", [["counter", "person"], ["counter", "greedy"]])
def test_an_agent_that_fails_stops_nothing_else(seats: list[str]) -> None:
    """The table says so and waits; asked again, the agent may go on; all others never notice."""

    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        async with opened(client) as page:
            for way in ANSWERS:
                server.hall._agents["counter"] = Guarded(Unruly(way))
                await page.say(**{**NEW, "seats": seats})
                await page.hear("seated")
                table = server.hall.tables[-1].table
                while not (state := await page.hear("state"))["trouble"]:
                    if state["sight"]["to_act"] == state["sight"]["seat"]:
                        await page.say(do="act", turn=state["turn"], action=simplest(state))
                assert way in state["trouble"] and len(state["trouble"]) <= 600, state["trouble"]
                assert "\n" not in state["trouble"]
                before = table.rows.tobytes()
                again = await page.ask("state", do="step", turn=state["turn"])
                assert again["trouble"] == state["trouble"] and again["turn"] == state["turn"]
                assert table.rows.tobytes() == before
            table.agents[0] = load("greedy")  # it has been mended
            mended = await page.ask("state", do="step", turn=state["turn"])
            assert mended["trouble"] is None and mended["turn"] == state["turn"] + 1
            await page.say(**NEW)
            await play_round(page, await page.my_turn())

    with_server(scenario)


def test_an_opinion_that_is_none_is_refused() -> None:
    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        async with opened(client) as page:
            await page.say(**{**NEW, "pace": None, "seats": ["greedy", "strong"]})
            state = await page.hear("state")
            # `Agent.opinion` takes the first number of any answer.
            for what in {*OPINIONS, *ANSWERS} - {"answers floats", "answers too much"}:
                agent = Unruly(what) if what in ANSWERS else Opinionated(what, load("greedy"))
                server.hall._agents["counter"] = Guarded(agent)
                error = await page.ask("error", do="analyse", turn=state["turn"], agent="counter")
                assert agent.name in error["error"] and error["do"] == "analyse"
                body = {**POSITION, "agents": ["counter"]}
                answer = await client.post("/advise", data=json.dumps(body))
                assert answer.status == 400
                assert agent.name in json.loads(await answer.text())["error"]

    with_server(scenario)


@contextlib.contextmanager
def waiting_agent(hall: Hall, name: str) -> Iterator[threading.Event]:
    """Makes an agent one that plays only from when the event is set."""
    go, greedy = threading.Event(), load("greedy")

    class Waiting(Agent):
        name = "waiting"

        def act_rows(self, rules: Rules, rows: Any, index: Any) -> Any:
            assert go.wait(100)
            return greedy.act_rows(rules, rows, index)

    hall._agents[name] = Guarded(Waiting())
    try:
        yield go
    finally:
        go.set()


def test_an_agent_that_thinks_for_ever_stops_nothing_else() -> None:
    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        with waiting_agent(server.hall, "counter") as go:
            async with opened(client) as page, opened(client) as other:
                await other.say(**{**NEW, "seats": ["counter", "greedy"]})
                await other.hear("seated")
                await page.say(**NEW)
                await play_round(page, await page.my_turn())
                go.set()
                assert (await other.my_turn())["sight"]["result"]

    with_server(scenario)


def test_a_replay_stops_nothing_else() -> None:
    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        body = json.dumps({"records": a_record(), "agents": ["counter"]})
        with waiting_agent(server.hall, "counter") as go:
            replay = asyncio.create_task(client.post("/replay", data=body))
            for _ in range(3):
                answer = await client.post("/advise", data=json.dumps(POSITION))
                assert answer.status == 200
            async with opened(client) as page:
                await page.say(**NEW)
                await play_round(page, await page.my_turn())
            assert not replay.done()
            go.set()
            film = await (await replay).json()
            assert all(frame["opinions"] for frame in film["frames"][:-1])

    with_server(scenario)


def test_a_replay_ends_when_its_page_has_gone() -> None:
    asked = []

    def choose(observations: Any, masks: Any) -> Any:
        asked.append(1)
        time.sleep(0.1)
        return masks.argmax(axis=1)

    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        server.hall._agents["counter"] = Guarded(ObservationAgent("slow", choose))
        body = json.dumps({"records": a_record(), "agents": ["counter"]})
        replay = asyncio.create_task(client.post("/replay", data=body))
        while not asked:
            await asyncio.sleep(0.01)
        replay.cancel()
        await asyncio.sleep(0.5)
        so_far = len(asked)
        await asyncio.sleep(0.5)
        assert len(asked) == so_far < 10

    with_server(scenario)


def test_one_search_agent_serves_a_table_and_the_advisor_at_once() -> None:
    """Its buffers are its own: used by two threads at a time it would end the server."""

    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        async with opened(client) as page, opened(client) as other:
            ends = 0
            for watcher in (page, other):
                await watcher.say(**{**NEW, "seats": ["ismcts:300"] * 4, "match": True})

            async def advised() -> None:
                for _ in range(30):
                    body = json.dumps({**POSITION, "agents": ["ismcts:300"]})
                    answer = await client.post("/advise", data=body)
                    assert answer.status == 200, await answer.text()

            async def watched(watcher: Page) -> None:
                nonlocal ends
                for _ in range(2):
                    state = await watcher.my_turn()
                    assert state["trouble"] is None and state["sight"]["result"]["end"] == "out"
                    ends += 1
                    await watcher.say(do="next", turn=state["turn"])

            await asyncio.gather(advised(), advised(), watched(page), watched(other))
            assert ends == 4

    with_server(scenario, agents=["ismcts:300"])


def test_the_same_seed_gives_the_same_game_however_often_a_step_is_asked() -> None:
    records = []

    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        new = {**NEW, "seats": ["random", "random-uno"], "pace": None}
        async with opened(client) as page, opened(client) as other:
            await page.say(**new)
            token = (await page.hear("seated"))["token"]
            if records:
                await other.say(do="sit", token=token)
            table = server.hall.tables[-1].table
            for _ in range(20):
                turn = table.turn
                for one in (page, other) if records else (page,):
                    await one.say(do="step", turn=turn)
                while table.turn == turn:
                    await page.hear("state")
            records.append(table.record()["rounds"][0]["events"])

    with_server(scenario)
    with_server(scenario)
    assert records[0] == records[1][: len(records[0])]


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
        for origin in ("https://example.org", "null", "", f"https://{client.host}:{client.port}"):
            foreign = {"Origin": origin}
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


LOCAL = ("localhost", "127.0.0.1", "::1", "127.8.8.8")
MACHINE = socket.gethostname()


@pytest.mark.parametrize(
    ("doors", "host", "origin", "answered"),
    [
        *((Doors(), f"{name}:80", None, True) for name in (*LOCAL[:2], "[::1]", "LocalHost")),
        *((Doors(), name, None, False) for name in ("10.0.0.1", "0.0.0.0", MACHINE, "localhost.")),
        (Doors(), "127.0.0.1:80", "http://127.0.0.1:80", True),
        (Doors(), "127.0.0.1:80", "https://127.0.0.1:80", False),
        (Doors(), "127.0.0.1:80", "http://127.0.0.1:81", False),
        (Doors(), "127.0.0.1:80", "http://localhost:80", False),
        # Listening for others, it answers to addresses and the machine's names: no other can lead
        # a browser here.
        *((Doors("0.0.0.0"), host, None, True) for host in ("10.0.0.1:80", "[fe80::1]", MACHINE)),
        *((Doors("::"), host, None, True) for host in ("localhost", "0.0.0.0", f"{MACHINE}.local")),
        *((Doors("0.0.0.0"), host, None, False) for host in ("example.org", "10.0.0.1.nip.io")),
        (Doors("0.0.0.0"), "example.org:80", "http://example.org:80", False),
        (Doors("0.0.0.0"), "10.0.0.1:80", "http://10.0.0.1:80", True),
        (Doors("0.0.0.0"), "10.0.0.1:80", "https://10.0.0.1:80", False),
        (Doors("games.lan"), "games.lan:80", None, True),
        # A proxy that passes the host on, and one that does not.
        *(
            (Doors("127.0.0.1", ["https://games.example.org"]), host, origin, answered)
            for host in ("games.example.org", "127.0.0.1:8177")
            for origin, answered in (
                ("https://games.example.org", True),
                (None, True),
                ("https://other.example.org", False),
                ("https://games.example.org:444", False),
            )
        ),
        (Doors("::1", ["https://a.org:443/"]), "a.org", "https://a.org", True),
        (Doors("::1", ["https://a.org"]), "a.org", "http://a.org", True),
        (Doors("::1", ["https://a.org"]), "b.org", "https://a.org", False),
    ],
)
def test_who_is_answered(doors: Doors, host: str, origin: str | None, answered: bool) -> None:
    refusal = doors.refusal([host], [] if origin is None else [origin])
    assert (refusal is None) == answered, refusal


def test_origins_that_are_none_are_named() -> None:
    for wrong in ("games.example.org", "ftp://a.org", "https://", "https://a.org/path", "http://["):
        with pytest.raises(ValueError, match=r"--origin is .* expected the address of a page"):
            Doors("127.0.0.1", [wrong])


STRANGE = [
    b"", b" ", b"[", b"[::1", b"::1]", b"[]", b"[::1]:x", b"127.0.0.1:99999999",
    b"127.0.0.1:80:80", b"a@127.0.0.1", b"127.0.0.1/", b"127.0.0.1?", b"127.0.0.1#", b"//127.0.0.1",
    b"127.0.0.1, example.org", b"2130706433", b"0x7f.1", b"127.1", b"localhost.example.org",
    b"\xff\xfe", b"xn--", b"\xe2\x84\xa1", b"x" * 8000, b"x" * 9000, b"." * 300, b"%31",
    b"127.0.0.1%00", b"[v1.a]", b"[::1%25lo]x",
    b"127.0.0.1\r\nHost: example.org", b"127.0.0.1\r\nHost: 127.0.0.1",
    b"127.0.0.1\r\nOrigin: http://127.0.0.1\r\nOrigin: http://example.org",
]  # fmt: skip


def test_strange_requests_are_refused(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        answers: Counter[int] = Counter()
        for host in STRANGE:
            status = await status_of(client, b"GET / HTTP/1.1\r\nHost: " + host)
            assert status in (400, 403), host
            answers[status] += 1
        own = b"\r\nHost: 127.0.0.1"
        for path in (
            b"x" * 300,
            b"x" * 5000,
            b"%00",
            b"%ff",
            b"..%2f..%2fetc%2fpasswd",
            b"%",
            b"\xff",
        ):
            answers[await status_of(client, b"GET /page/" + path + b" HTTP/1.1" + own)] += 1
        for line in (
            b"GET / HTTP/1.0",
            b"BREW / HTTP/1.1" + own,
            b"nonsense",
            b"GET /" + b"x" * 9999,
        ):
            answers[await status_of(client, line)] += 1
        assert set(answers) <= {400, 403, 404, 405, 414, 431}, answers
        assert sum(answers.values()) == len(STRANGE) + 11
        assert (await client.get("/")).status == 200
        assert not caplog.records

    with_server(scenario)


async def status_of(client: TestClient[Any, Any], head: bytes) -> int:
    """The status that answers a request, byte for byte as it is."""
    reader, writer = await asyncio.open_connection(client.host, client.port)
    writer.write(head + b"\r\nConnection: close\r\n\r\n")
    line = await asyncio.wait_for(reader.readline(), 30)
    writer.close()
    return int(line.split()[1])


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
    from pocket_uno_env.play.program import Options, main

    assert Options().host == "127.0.0.1" and Doors(Options().host).local
    assert all(map(is_local, LOCAL))
    assert not any(map(is_local, ("example.org", "10.0.0.1", "localhost.example.org", "")))
    with pytest.raises(ValueError, match="--port is 65536; expected"):
        serve("127.0.0.1", 65536, [], False)
    with pytest.raises(HallError, match="no agent 'nobody'"):
        serve("127.0.0.1", 0, ["nobody"], False)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["--web", "--no-browser", "--port", str(port)]) == 2
    assert f"port {port} is taken, perhaps by another server" in capsys.readouterr().err
    assert main(["--web", "--no-browser", "--host", "no.such.host.invalid"]) == 2
    assert "cannot listen at 'no.such.host.invalid', port 8177: " in capsys.readouterr().err


# Connections that are lost, and pages that do not read.


def test_a_page_that_does_not_read_stalls_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PATIENCE", 100.0)

    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        async with opened(client) as page:
            await page.say(**{**NEW, "seats": ["greedy"] * 5, "pace": None})
            token = (await page.hear("seated"))["token"]
            (place,) = server.hall.tables[0].places
            deaf = await deaf_page(client, token)
            while len(place.pages) < 2:
                await asyncio.sleep(0.01)
            for _ in range(20_000):
                await page.ask("state", do="pace", pace=None)
                if len(place.pages) == 1:
                    break
            else:
                raise AssertionError("the page is not lost")
            await page.say(do="pace", pace=0)
            await page.my_turn()
            deaf.close()

    with_server(scenario)


async def deaf_page(client: TestClient[Any, Any], token: str) -> asyncio.StreamWriter:
    """A page that sits down and never reads what it is told."""
    _, writer = await asyncio.open_connection(client.host, client.port, limit=1024)
    head = (
        f"GET /ws HTTP/1.1\r\nHost: {client.host}:{client.port}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    text = json.dumps({"do": "sit", "token": token}).encode()
    # A short text frame, masked by zeros.
    writer.write(head.encode() + bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text)
    await writer.drain()
    return writer


def test_half_open_connections_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(servers.RUNNING, "keepalive_timeout", 0.4)
    monkeypatch.setattr(servers, "SECONDS", 0.4)
    monkeypatch.setattr(pages, "HEARTBEAT", 0.4)
    own = b"Host: 127.0.0.1\r\n"

    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        async def ends(said: bytes) -> bytes:
            """All that answers; fails if the connection stays."""
            reader, writer = await asyncio.open_connection(client.host, client.port)
            writer.write(said)
            found = await asyncio.wait_for(reader.read(), 15)
            writer.close()
            return found

        assert await ends(b"") == b""
        assert await ends(b"GET / HT") == b""
        assert await ends(b"GET / HTTP/1.1\r\n" + own) == b""
        assert (await ends(b"GET / HTTP/1.1\r\n" + own + b"\r\nGET /")).startswith(b"HTTP/1.1 200")
        half = b"POST /advise HTTP/1.1\r\n" + own + b"Content-Length: 99\r\n\r\n{"
        assert (await ends(half)).startswith(b"HTTP/1.1 408")
        key = b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
        silent = await ends(b"GET /ws HTTP/1.1\r\n" + own + upgrade + key)  # it answers no ping
        assert silent.startswith(b"HTTP/1.1 101") and not server._pages

    with_server(scenario)


def test_work_in_threads_ends_well() -> None:
    async def scenario() -> None:
        assert await in_thread(max, 1, 2) == 2
        with pytest.raises(ZeroDivisionError):
            await in_thread(lambda: 1 / 0)
        with pytest.raises(RuntimeError, match="a thread ended by SystemExit"):
            await in_thread(sys.exit)

    asyncio.run(scenario())


# Records.


@pytest.mark.parametrize("folder", ["/proc", "/proc/nowhere", __file__])
def test_a_record_that_cannot_be_written_stops_no_game(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scenario(client: TestClient[Any, Any], server: Server) -> None:
        async with opened(client) as page:
            await page.say(**{**NEW, "match": True})
            state = await play_round(page, await page.my_turn())
            error = await page.hear("error")
            assert "The record is not kept: " in error["error"] and error["do"] is None
            await page.say(do="next", turn=state["turn"])
            await play_round(page, await page.my_turn())
            check_record((await page.ask("record", do="record"))["record"])

    with_server(scenario, records=Path(folder))
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "The game goes on." in err


def test_the_page_says_how_agents_of_ones_own_play(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "welcomed.py").write_text('def mine():\n    """Holds its wilds back."""\n')
    (tmp_path / "run").mkdir()
    hall = Hall(["welcomed:mine", str(tmp_path / "run")])
    said = [agent["about"] for agent in hall.welcome()["agents"][:2]]
    assert said[0] == "Holds its wilds back." and said[1].startswith("A trained model")
    (tmp_path / "run").rmdir()
    assert hall.welcome()["agents"][1]["about"] == ""


def test_the_page_knows_opponents_and_which_games_they_play() -> None:
    welcome = Hall(["pocket-3p", "strong", "strong"]).welcome()
    assert welcome["opponents"] == ["pocket-3p", "strong", "strong"]
    games = {agent["name"]: agent["games"] for agent in welcome["agents"]}
    assert games["pocket-3p"] == [("pocket", 3)] and games["classic-2p"] == [("classic", 2)]
    assert games["greedy"] is None and ("pocket", 2) in games["strong"]
    assert ("pocket", 5) in games["strong"] and ("classic", 10) in games["strong"]
