"""The page in a real browser: whole games by clicks and by keys, on a phone, with lost connections.

Needs Playwright and a Chromium: ``apt install chromium``, or ``playwright install chromium``.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pocket_uno_env.reference.referee import check_record

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytest.importorskip("aiohttp", reason="the extra 'play' is not installed")

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        try:
            found = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        except sync_api.Error as error:
            pytest.skip(f"there is no Chromium: {str(error).splitlines()[0]}")
        yield found
        found.close()


class Running:
    """A server in a process of its own."""

    def __init__(self, folder: Path, port: int = 0, *options: str) -> None:
        command = [
            "-m",
            "pocket_uno_env",
            "play",
            "--web",
            "--no-browser",
            "--port",
            str(port),
        ]
        command += options
        self.process = subprocess.Popen(
            [sys.executable, *command], stdout=subprocess.PIPE, text=True, cwd=folder,
            env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"},
        )  # fmt: skip
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("Playing at http://127.0.0.1:"), line
        self.address = line.split()[2]

    @property
    def port(self) -> int:
        return int(self.address.rstrip("/").rsplit(":", 1)[1])

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)
        if self.process.stdout is not None:
            self.process.stdout.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running(tmp_path_factory.mktemp("server"))
    yield running
    running.stop()


class Visitor:
    """A page, what went wrong in it, and what the server told it."""

    def __init__(self, browser: Any, address: str, width: int = 1280, height: int = 860) -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": height}, reduced_motion="reduce"
        )
        self.context.set_default_timeout(60_000)
        self.page = self.context.new_page()
        self.address = address
        self.wrong: list[str] = []
        self.told: list[dict[str, Any]] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda m: self.wrong.append(m.text) if m.type == "error" else None)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("websocket", self._listen)
        self.page.goto(address)
        self.page.wait_for_selector(".lobby")

    def _listen(self, socket: Any) -> None:
        socket.on("framereceived", lambda payload: self.told.append(json.loads(payload)))

    def deal(self, **choices: str) -> None:
        for name, value in {"pace": "0", **choices}.items():
            self.page.select_option(f"#{name}", value)
        self.page.click("button.go")
        self.wait()

    def wait(self) -> None:
        self.page.wait_for_selector(
            ".prompt.yours .question:not(:text-is('…')), .prompt.done, .prompt .error"
        )

    @property
    def done(self) -> bool:
        return bool(self.page.query_selector(".prompt.done"))

    def click_on(self) -> None:
        """Do the first thing that reacts."""
        for what in (".chooser button.color", ".hand button.legal", ".actions button:enabled"):
            if found := self.page.query_selector(what):
                self.wait_after(found.click)
                return

    def wait_after(self, act: Callable[[], None]) -> None:
        """Act, and wait until the page shows what came of it."""
        moment = self.page.get_attribute(".play", "data-moment")
        act()
        self.page.wait_for_selector(f".play:not([data-moment='{moment}'])")
        self.wait()

    def play_round(self, act: Callable[[], None] | None = None) -> None:
        self.wait()
        for _ in range(600):
            if self.done:
                return
            (act or self.click_on)()
        raise AssertionError("the round does not end")

    def states(self) -> list[dict[str, Any]]:
        return [message for message in self.told if message["type"] == "state"]

    def close(self) -> None:
        assert not self.wrong, self.wrong
        self.context.close()


@pytest.fixture
def visit(browser: Any, server: Running) -> Iterator[Callable[..., Visitor]]:
    visitors: list[Visitor] = []

    def come(width: int = 1280, height: int = 860) -> Visitor:
        visitors.append(Visitor(browser, server.address, width, height))
        return visitors[-1]

    yield come
    for visitor in visitors:
        visitor.close()


@pytest.mark.slow
def test_a_newcomer_plays_a_whole_match_by_clicking(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.deal()
    page = visitor.page
    for _ in range(60):
        visitor.play_round()
        if page.query_selector(".won"):
            break
        visitor.wait_after(lambda: page.click("text=Next round"))
    assert "the match" in page.inner_text(".won")
    with page.expect_download() as download:
        page.click('[data-key="record"]')
    record = json.loads(Path(download.value.path()).read_text())
    check_record(record)
    assert len(record["rounds"]) > 1 and record["match"]
    # On the wire: not once did a state of a running round show another hand or a card drawn.
    running = [state for state in visitor.states() if not state["sight"]["result"]]
    assert len(running) > 30
    for state in running:
        assert state["sight"]["hands"][1]["cards"] is None
        for event in state["events"]:
            if event["do"] in ("draw", "forced") and event["seat"] == 1:
                assert event["cards"] is None
    assert all(url.startswith((visitor.address, "data:", "blob:")) for url in visitor.requests)


def test_only_legal_cards_react(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.deal()
    page = visitor.page
    while not page.query_selector(".hand button:not(.legal)"):
        visitor.click_on()
    turn = visitor.states()[-1]["turn"]
    for card in page.query_selector_all(".hand button:not(.legal)"):
        assert card.get_attribute("aria-disabled") == "true"
        card.click(force=True)  # Playwright itself would wait until it reacts
    page.wait_for_timeout(150)
    assert visitor.states()[-1]["turn"] == turn and not page.query_selector("#toast.shown")


def test_a_round_by_keys_alone(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.deal(players="3", match="round")
    page = visitor.page

    def press() -> None:
        if page.query_selector(".hand button.legal"):
            page.keyboard.press("ArrowRight")
            page.keyboard.press("Enter")
            if page.query_selector(".chooser"):
                page.keyboard.press("g")
        else:
            page.keyboard.press(page.inner_text(".actions kbd"))

    visitor.play_round(lambda: visitor.wait_after(press))
    assert "out and score" in page.inner_text(".question")


@pytest.mark.parametrize("rules", ["pocket", "classic"])
def test_a_round_of_five_on_a_phone(visit: Callable[..., Visitor], rules: str) -> None:
    visitor = visit(390, 844)
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390
    visitor.deal(rules=rules, players="5", match="round")
    widths = []

    def act() -> None:
        widths.append(visitor.page.evaluate("document.documentElement.scrollWidth"))
        visitor.click_on()

    visitor.play_round(act)
    visitor.page.click("text=Watch the replay")
    visitor.page.wait_for_selector(".replay .opinion")
    widths.append(visitor.page.evaluate("document.documentElement.scrollWidth"))
    visitor.page.click("text=Advisor")
    visitor.page.wait_for_selector(".palette")
    widths.append(visitor.page.evaluate("document.documentElement.scrollWidth"))
    assert max(widths) <= 390


def test_every_card_of_a_large_hand_can_be_touched(visit: Callable[..., Visitor]) -> None:
    # Cards beneath each other show a strip that a finger hits, and their middle, where one aims.
    touch = """(count) => {
        const hand = document.querySelector('.hand'), wide = document.documentElement;
        while (hand.children.length < count) hand.append(hand.children[0].cloneNode(true));
        while (hand.children.length > count) hand.lastChild.remove();
        hand.style.setProperty('--n', Math.max(count, 2));
        const cards = [...hand.children], wrong = [];
        cards.forEach((card, i) => {
            card.scrollIntoView({ block: 'center' });
            const { left, top, width, height } = card.getBoundingClientRect();
            for (const x of [1, width / 4, width / 2]) {
                const hit = document.elementFromPoint(left + x, top + height / 2);
                if (!card.contains(hit)) wrong.push([count, i, x, hit && hit.className]);
            }
            if (width * .6 < 24) wrong.push([count, i, width]);
        });
        if (wide.scrollWidth > innerWidth) wrong.push([count, wide.scrollWidth]);
        const rows = new Set(cards.map((card) => card.offsetTop)).size;
        return [wrong, rows];
    }"""
    for width, height, one_row in ((320, 640, 6), (390, 844, 8), (700, 900, 16), (1280, 860, 17)):
        visitor = visit(width, height)
        visitor.deal(players="5", match="round")
        for count in (1, 2, one_row, one_row + 2, 40):
            wrong, rows = visitor.page.evaluate(touch, count)
            assert not wrong, (width, wrong)
            assert (rows == 1) == (count <= one_row), (width, count, rows)


def test_house_rules_can_be_chosen_and_played(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    page.select_option("#rules", "classic")
    page.click("summary")
    page.select_option("#stacking", "any")
    for box in page.query_selector_all(".check input"):
        box.check()
    visitor.deal(players="4", match="round")
    visitor.play_round()
    phases = {state["sight"]["phase"] for state in visitor.states()}
    assert "jump" in phases and visitor.states()[-1]["rules"]["house"]["seven_zero"]


def test_a_reload_and_a_second_tab_come_back_to_the_table(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.deal()
    visitor.click_on()
    page, second = visitor.page, visitor.context.new_page()
    page.reload()
    visitor.wait()
    second.goto(page.url)
    second.wait_for_selector(".prompt.yours, .prompt.done")
    assert second.inner_text(".hand") == page.inner_text(".hand")
    if not visitor.done:
        before = visitor.states()[-1]["turn"]
        visitor.click_on()
        if page.query_selector(".chooser"):  # A wild is played by two clicks.
            visitor.click_on()
        assert visitor.states()[-1]["turn"] > before


def test_a_server_that_comes_back_is_found_again(browser: Any, tmp_path: Path) -> None:
    running = Running(tmp_path)
    visitor = Visitor(browser, running.address)
    visitor.deal()
    running.stop()
    visitor.page.wait_for_selector("#status:has-text('connection lost')")
    again = Running(tmp_path, running.port)
    try:
        visitor.page.wait_for_selector("#toast.shown:has-text('not there any more')")
        visitor.page.wait_for_selector(".lobby")
        visitor.deal()
        visitor.click_on()
    finally:
        again.stop()
    visitor.context.close()  # the console has complained of the lost connection, rightly


FAILING = """
import time
import numpy as np
from pocket_uno_env.agents import Agent, load

class Moody(Agent):
    name = "moody"
    asked = 0

    def act_rows(self, rules, rows, index):
        Moody.asked += 1
        if Moody.asked == 1:
            raise ZeroDivisionError("division by zero")
        return load("greedy").act_rows(rules, rows, index)

class Exits(Agent):
    name = "exits"

    def act_rows(self, rules, rows, index):
        raise SystemExit(3)

class Sleeps(Agent):
    name = "sleeps"

    def act_rows(self, rules, rows, index):
        time.sleep(1000)
"""


def test_a_table_whose_agent_fails_says_so_and_can_go_on(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(FAILING)
    agents = ("failing:Moody", "failing:Exits", "failing:Sleeps")
    running = Running(tmp_path, 0, "--opponents", *agents)
    visitor = Visitor(browser, running.address)
    page = visitor.page
    try:
        assert page.input_value("#players") == "4"
        assert [page.input_value(f"#seat-{seat}") for seat in (1, 2, 3)] == list(agents)
        visitor.deal(players="2")
        while not page.query_selector(".prompt .error"):
            visitor.click_on()
        assert "ZeroDivisionError: division by zero" in page.inner_text(".prompt .error")
        page.keyboard.press("n")
        page.wait_for_selector(".prompt:not(:has(.error))")
        visitor.play_round()
        # One that ends the program ends nothing, nor does its advice.
        visitor.wait_after(lambda: page.click("text=Next round"))
        page.click("[data-key=analysis]")
        page.select_option("#analyst", "failing:Exits")
        page.wait_for_selector(".analysis .error:has-text('SystemExit: 3')")
        # One that never answers does not keep the server from stopping.
        page.click("text=Play")
        page.wait_for_selector(".lobby")
        page.select_option("#seat-0", "failing:Sleeps")
        page.select_option("#seat-1", "failing:Sleeps")
        page.click("button.go")
        page.wait_for_selector(".question:has-text('decides')")
        assert running.process.poll() is None
        running.process.send_signal(signal.SIGINT)
        assert running.process.wait(20) == 0
    finally:
        running.process.kill()
        running.stop()
    assert not visitor.wrong[:-1], visitor.wrong  # the last is the connection that was lost
    visitor.context.close()


def test_the_analysis_advises_when_asked(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.deal()
    page = visitor.page
    if visitor.done:
        visitor.wait_after(lambda: page.click("text=Next round"))
    assert not [m for m in visitor.told if m["type"] == "analysis"]
    page.keyboard.press("i")
    page.wait_for_selector(".opinion:has-text('strong would')")
    page.select_option("#analyst", "counter")
    page.wait_for_selector(".opinion:has-text('counter would')")
    found = [m for m in visitor.told if m["type"] == "analysis"][-1]
    assert found["choice"] in visitor.states()[-1]["sight"]["legal"]
    assert "may hold" in page.inner_text(".analysis")


def test_a_game_is_replayed_and_shared_as_one_file(
    visit: Callable[..., Visitor], browser: Any, tmp_path: Path
) -> None:
    visitor = visit()
    visitor.deal(match="round")
    visitor.play_round()
    page = visitor.page
    page.click("text=Watch the replay")
    page.wait_for_selector(".replay .where:has-text('1 of')")
    page.keyboard.press("End")
    last = page.inner_text(".where")
    page.keyboard.press("Home")
    page.keyboard.press("d")
    where = page.inner_text(".where")
    assert last.split(" of ")[0] == last.split(" of ")[1] and where != last
    if where != "no more differences":
        assert "strong would" in page.inner_text(".side")
    with page.expect_download() as download:
        page.click("text=Save as one file")
    file = tmp_path / "game.html"
    download.value.save_as(file)
    # The file is opened without any server, and asks for nothing.
    context = browser.new_context(offline=True)
    alone, requests, wrong = context.new_page(), [], []
    alone.on("request", lambda request: requests.append(request.url))
    alone.on("console", lambda message: wrong.append(message.text))
    alone.on("pageerror", lambda error: wrong.append(str(error)))
    alone.goto(file.as_uri())
    alone.wait_for_selector(".table")
    alone.select_option("[aria-label='seen from']", "0")
    assert alone.query_selector(".others .card-art [points^='26,72']") is not None  # face down
    alone.keyboard.press("End")
    assert "out and score" in alone.inner_text(".next")
    assert requests == [file.as_uri()] and not wrong
    context.close()


def test_the_chances_to_win_a_match_stand_beside_the_points(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    visitor.deal()
    visitor.play_round()
    shown = {float(text.split()[0]) for text in page.locator(".plate .chance").all_inner_texts()}
    assert shown == {round(100 * chance) for chance in visitor.states()[-1]["chances"]}
    assert sum(shown) == pytest.approx(100, abs=1)
    page.click("text=Watch the replay")
    page.wait_for_selector(".replay .opinion .river")
    assert page.locator(".river").count() == 2 and page.locator(".plate .chance").count() == 2
    page.locator(".river").first.click()
    assert not page.inner_text(".where").startswith("1 of")
    # Seen from a seat, nothing is shown that comes from other hands.
    page.select_option("[aria-label='seen from']", "0")
    assert page.locator(".river").count() == 0 and page.locator(".plate .chance").count() == 2


def test_a_single_round_has_no_chances_to_win_a_match(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.deal(match="round")
    visitor.play_round()
    assert visitor.page.locator(".plate .chance").count() == 0
    visitor.page.click("text=Watch the replay")
    visitor.page.wait_for_selector(".replay .opinion .river")
    assert visitor.page.locator(".river").count() == 1


def test_networks_are_offered_where_they_can_play(visit: Callable[..., Visitor]) -> None:
    page = visit().page
    for rules, players, network in (("pocket", "2", "pocket-2p"), ("classic", "2", "classic-2p")):
        page.select_option("#rules", rules)
        page.select_option("#players", players)
        offered = page.locator("#seat-1 option").all_inner_texts()
        assert [name for name in offered if name.endswith("p")] == [network]
    page.select_option("#seat-1", "classic-2p")
    page.select_option("#players", "3")  # which it cannot play
    assert page.input_value("#seat-1") == "strong"
    assert "classic-2p" not in page.locator("#seat-1 option").all_inner_texts()


def test_a_file_that_is_no_record_is_named(visit: Callable[..., Visitor], tmp_path: Path) -> None:
    visitor = visit()
    file = tmp_path / "broken.jsonl"
    file.write_text('{"format": "uno-record/1"}\n')
    visitor.page.click("text=Replay")
    visitor.page.set_input_files("#records", file)
    visitor.page.wait_for_selector(".error")
    assert "line 1: field" in visitor.page.inner_text(".error")
    visitor.wrong.clear()  # the browser logs the refusal itself


def test_the_advisor_answers_and_refuses(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    page.click("text=Advisor")
    for card in ("R5", "G7", "W"):
        page.click(f'.palette [data-card="{card}"]')
    page.click("button.go")
    page.wait_for_selector(".error:has-text(\"'top' is missing\")")
    page.click("#box-top")
    page.click('.palette [data-card="R7"]')
    page.fill("#advise-others", "3")
    page.click("button.go")
    page.wait_for_selector(".opinion:has-text('strong would')")
    assert page.is_disabled('.palette [data-card="R5"]')
    visitor.wrong.clear()  # the browser logs the refusal itself


def test_help_explains_the_cards_of_the_game(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.page.keyboard.press("?")
    assert "Wild dip" in visitor.page.inner_text(".help")
    visitor.page.keyboard.press("Escape")  # the page hears of it a task later
    visitor.page.wait_for_selector(".help", state="detached")
    visitor.deal(rules="classic", match="round")
    visitor.page.click("#help")
    text = visitor.page.inner_text(".help")
    assert "Wild draw four" in text and "Wild dip" not in text and "500 points" in text
    turn = visitor.states()[-1]["turn"]
    visitor.page.keyboard.press("d")
    visitor.page.click("text=Back to the game")
    assert visitor.states()[-1]["turn"] == turn


def test_every_button_has_a_name(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    unnamed = """() => [...document.querySelectorAll('button, select, input')].filter(
        e => !(e.innerText.trim() || e.getAttribute('aria-label') || e.labels?.length)).length"""
    assert visitor.page.evaluate(unnamed) == 0
    visitor.deal()
    assert visitor.page.evaluate(unnamed) == 0
    visitor.page.click("text=Advisor")
    assert visitor.page.evaluate(unnamed) == 0
