"""Make the pictures of README.md and docs/play.md anew: a game in a headless Chromium.

    python docs/screenshots.py

Needs the extras `play` and `render`, Playwright and a Chromium. The deals are seeded, so the games
are the same each time; fonts differ from machine to machine.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

from aiohttp import web
from PIL import Image
from playwright.async_api import Browser, Page, async_playwright

from pocket_uno_env import pocket_uno_v0
from pocket_uno_env.agents import load
from pocket_uno_env.play.web.server import Server

IMAGES = Path(__file__).resolve().parent / "images"
AGENT = "pocket-2p"
QUALITY = 88
SEEDS = (32, 32, 1)
"""The deals of the three tables, in the order of the pictures."""


async def seated(browser: Browser, address: str, width: int, height: int, **new: Any) -> Page:
    """A page at a new table."""
    page = await browser.new_page(
        viewport={"width": width, "height": height}, device_scale_factor=1, reduced_motion="reduce"
    )
    await page.goto(address)
    await page.wait_for_selector(".lobby")
    message = {"do": "new", "rules": "pocket", "match": True, "pace": 0, **new}
    # What the lobby would send, by a socket of its own, whose table we then open.
    token = await page.evaluate(
        """message => new Promise(done => {
            const socket = new WebSocket(`ws://${location.host}/ws`);
            socket.onopen = () => socket.send(JSON.stringify(message));
            socket.onmessage = event => {
                const found = JSON.parse(event.data);
                if (found.type === 'seated') { done(found.token); socket.close(); }
            };
        })""",
        message,
    )
    await page.goto(f"{address}#t={token}")
    await page.wait_for_selector(".prompt")
    return page


async def play(page: Page, decisions: int) -> None:
    """Make so many decisions, plays rather than draws, and wait for the next question."""
    done = 0
    while True:
        await page.wait_for_selector(".prompt.yours .question:not(:text-is('…')), .prompt.done")
        if following := await page.query_selector('[data-key="next"]'):
            await following.click()
            await page.wait_for_selector(".prompt:not(.done)")
            continue
        choosing = await page.query_selector(".chooser")
        if done == decisions and not choosing:
            return
        done += not choosing
        moment = await page.get_attribute(".play", "data-moment")
        for what in (".chooser button.color", ".hand button.legal", ".actions .action"):
            if found := await page.query_selector(what):
                await found.click()
                break
        await page.wait_for_selector(f".play:not([data-moment='{moment}'])")


async def shoot(page: Page, name: str) -> None:
    """Save what the page shows."""
    await page.mouse.move(0, 0)
    await page.wait_for_timeout(300)
    await page.screenshot(path=IMAGES / f"{name}.jpg", type="jpeg", quality=QUALITY)
    print(f"docs/images/{name}.jpg")


async def shoot_all(browser: Browser, address: str) -> None:
    """The table, the analysis, the phone, a replay."""
    three = ["person", "strong", "greedy"]
    page = await seated(browser, address, 1280, 760, seats=three)
    await play(page, 7)
    await shoot(page, "challenge")
    page = await seated(browser, address, 1280, 760, seats=["person", "strong"])
    await play(page, 30)
    await page.click('[data-key="analysis"]')
    await page.select_option("#analyst", AGENT)
    await page.wait_for_selector(f".opinion:has-text('{AGENT} would')")
    await shoot(page, "analysis")
    five = ["person", "strong", "greedy", "counter", "attacker"]
    page = await seated(browser, address, 390, 844, seats=five)
    await play(page, 4)
    await shoot(page, "phone")
    page = await browser.new_page(viewport={"width": 1280, "height": 860})
    await page.goto(f"{address}#replay")
    await page.set_input_files(
        "#records",
        {"name": "game.jsonl", "mimeType": "application/json", "buffer": example_record()},
    )
    await page.wait_for_selector(".replay .opinion")
    await page.select_option("#watcher-1", AGENT)
    await page.wait_for_selector(f".opinion:has-text('{AGENT} would')")
    await page.click(".river", position={"x": 150, "y": 10})
    for _ in range(2):
        await page.keyboard.press("d")
    await shoot(page, "replay")


def example_record() -> bytes:
    """A match between two agents."""
    env = pocket_uno_v0.raw_env(num_players=2, episode="match")
    env.reset(seed=12)
    players = [load("greedy"), load("counter")]
    while env.agents and not env.terminations[env.agent_selection]:
        env.step(players[env.possible_agents.index(env.agent_selection)].act(env))
    record = {**env.record(), "players": [player.name for player in players]}
    return json.dumps(record).encode()


def picture() -> None:
    """What render() returns in the mode rgb_array."""
    env = pocket_uno_v0.raw_env(num_players=4, render_mode="rgb_array", render_seat=0)
    env.reset(seed=9)
    agent = load("greedy")
    for _ in range(10):
        env.step(agent.act(env))
    Image.fromarray(env.render()).save(IMAGES / "rgb_array.png", optimize=True)
    print("docs/images/rgb_array.png")


async def main() -> None:
    """Start a server and a browser, and take all pictures."""
    IMAGES.mkdir(exist_ok=True)
    picture()
    runner = web.AppRunner(Server(seeds=SEEDS).app(), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        await shoot_all(browser, f"http://127.0.0.1:{runner.addresses[0][1]}/")
        await browser.close()
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main())
