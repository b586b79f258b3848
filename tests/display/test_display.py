"""What is shown: a seat sees what it may know, in words, in text and in pictures."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from dealt_hands import start
from games import every_game, play, raw_env
from hidden_cards import permute_hidden

from pocket_uno_env import pocket_uno_v0
from pocket_uno_env.agents.scripted.policies import Policy
from pocket_uno_env.display.narration import seat_names, seen_events
from pocket_uno_env.display.prompts import PROMPTS
from pocket_uno_env.display.seat_view import sight
from pocket_uno_env.display.text import hand_lines, render_text
from pocket_uno_env.rules.phases import Phase

PLAYERS = ["ann", "bob", "cid"]
HANDS = [
    ["R1", "B3", "G4", "WD", "W+2"],
    ["R6", "B6", "G7", "Y8", "YS"],
    ["B4", "G5", "GV", "R3", "Y6"],
]


def told(env: Any, seat: int | None) -> list[str]:
    events = env.record()["rounds"][-1]["events"]
    to_act = env.snapshot()["to_act"]
    return [event["text"] for event in seen_events(events, seat, PLAYERS, to_act)]


@pytest.mark.parametrize(("rules", "num_players"), every_game())
def test_hidden_cards_change_nothing_that_a_seat_sees(rules: Any, num_players: int) -> None:
    rng, moved = np.random.default_rng(2), 0
    env = raw_env(5, rules=rules, num_players=num_players, episode="match")
    for decision, raw in enumerate(play(env, Policy.GREEDY, limit=45)):
        if decision % 3:
            continue
        saved = raw.rows.copy()
        for seat in range(num_players):
            before = json.dumps(sight(rules, raw.rows, seat))
            moved += permute_hidden(rules, raw.rows, seat, rng)
            assert json.dumps(sight(rules, raw.rows, seat)) == before
            raw.rows[:] = saved
    assert moved > 15 or rules.name == "mini"


def test_a_spectator_sees_what_the_snapshot_says() -> None:
    env = raw_env(3, num_players=4)
    for raw in play(env, Policy.GREEDY):
        seen, table = sight(raw.rules, raw.rows), raw.snapshot()
        assert [hand["cards"] for hand in seen["hands"]] == table["hands"]
        assert seen["top"] == table["top"] and seen["to_act"] == table["to_act"]
        assert seen["draw_pile"] == len(table["draw_pile"])
        assert sorted(seen["legal"]) == raw.legal_names()
        for seat in range(4):
            own = sight(raw.rules, raw.rows, seat)
            assert own["hands"][seat]["cards"] == table["hands"][seat]
            assert sum(hand["cards"] is not None for hand in own["hands"]) == 1
            assert bool(own["legal"]) == (seat == table["to_act"])
    assert all(hand["cards"] is not None for hand in sight(env.rules, env.rows, 0)["hands"])


def test_the_challenger_alone_sees_the_hand_that_was_shown() -> None:
    env = start(HANDS, "R9", ["B8", "G8", "B7", "G6"], ["play W+2:G", "challenge"])
    assert sight(env.rules, env.rows, 1)["hands"][0]["known"] == ["R1", "B3", "G4", "WD"]
    assert sight(env.rules, env.rows, 2)["hands"][0]["known"] == []
    assert "R1 B3 G4 WD ## ##" in render_text(sight(env.rules, env.rows, 1))
    assert " ## ## ## ## ## ##" in render_text(sight(env.rules, env.rows, 2))


def test_a_drawn_card_is_told_to_its_owner() -> None:
    env = start(HANDS, "R9", ["R8", "G8"], ["draw"])
    assert sight(env.rules, env.rows, 0)["drawn"] == "R8"
    assert sight(env.rules, env.rows, 1)["drawn"] is None
    assert told(env, 0) == ["You draw R8."]
    assert told(env, 1) == ["ann draws a card."]
    assert told(env, None) == ["ann draws R8."]


def test_a_gift_is_told_to_giver_and_receiver() -> None:
    env = start(HANDS, "R9", ["B8", "G8"], ["play WD:B", "give G4"])
    assert told(env, 0) == [
        "You play WD and name blue.",
        "You have to draw B8.",
        "You give bob G4.",
    ]
    assert told(env, 1)[2] == "ann gives you G4." and "ann gives bob G4." in told(env, None)
    seen = told(env, 2)
    assert seen == [
        "ann plays WD and names blue.",
        "ann has to draw a card.",
        "ann gives bob a card.",
    ]
    events = env.record()["rounds"][-1]["events"]
    assert "G4" not in json.dumps(seen_events(events, 2, PLAYERS, 1))
    assert "B8" not in json.dumps(seen_events(events, 1, PLAYERS, 1))


@pytest.mark.parametrize(("rules", "num_players"), every_game())
def test_no_event_shows_a_card_that_was_drawn_unseen(rules: Any, num_players: int) -> None:
    env = raw_env(6, rules=rules, num_players=num_players)
    raw = list(play(env, Policy.GREEDY, limit=120))[-1]
    events = raw.record()["rounds"][-1]["events"]
    for seat in range(num_players):
        names = seat_names(["x"] * num_players)
        for event, seen in zip(
            events, seen_events(events, seat, names, raw.snapshot()["to_act"]), strict=True
        ):
            assert seen["text"].endswith((".", "!"))
            if event[0] == "reshuffle":
                assert seen["cards"] is None and seen["count"] == len(event[1])
            elif len(event) > 2 and event[0] != seat:
                assert seen["cards"] is None and seen["count"] == len(event[2])


def test_same_names_are_told_apart() -> None:
    assert seat_names(["greedy", "you", "greedy"]) == ["greedy 0", "you", "greedy 2"]


def test_every_phase_has_a_prompt() -> None:
    assert set(PROMPTS) == {phase.name.lower() for phase in Phase if phase != Phase.OVER}
    for prompt in PROMPTS.values():
        words = re.findall(r"\{(\w*)\}", prompt.question)
        assert set(words) <= {"actor", "top", "drawn"}
        words = re.findall(r"\{(\w*)\}", prompt.explained)
        assert set(words) <= {"actor", "top", "drawn", "cards", "more"}


def test_text_fits_a_terminal_however_many_cards() -> None:
    env = raw_env(1, num_players=5)
    seen = sight(env.rules, env.rows, 0)
    seen["hands"][0] = {"size": 40, "cards": ["R+1"] * 40, "known": []}
    seen["hands"][1] = {"size": 40, "cards": None, "known": ["G4"]}
    lines = render_text(seen).splitlines()
    assert max(map(len, lines)) <= 80 and sum(line.count("R+1") for line in lines) == 40
    assert hand_lines(seen["hands"][1], 50) == [["G4", "##", "x39"]]
    colored = render_text(seen, color=True)
    assert "\x1b[97;41mR+1\x1b[0m" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == render_text(seen)


def test_the_viewer_is_spoken_to_as_you() -> None:
    env = raw_env(4)
    for _ in play(env, Policy.GREEDY):
        pass
    seen = sight(env.rules, env.rows, 0)
    names = ["greedy", "greedy"]
    names[seen["result"]["winner"]] = "you"
    assert re.search(r"^you are out and score \d+$", render_text(seen, names), re.MULTILINE)
    assert re.search(r"^player_\d is out and scores \d+$", render_text(seen), re.MULTILINE)


def test_ansi_is_colored_unless_it_is_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    env = raw_env(1, render_mode="ansi")
    assert "\x1b[" in env.render()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in env.render()


@pytest.mark.parametrize("num_players", [2, 5, 10])
def test_pictures_show_the_table(num_players: int) -> None:
    pytest.importorskip("PIL")
    rules = "classic" if num_players > 5 else "pocket"
    env = raw_env(1, rules=rules, num_players=num_players, render_mode="rgb_array", render_seat=0)
    before = env.render()
    assert before.shape == (640, 1024, 3) and before.dtype == np.uint8
    assert len(np.unique(before.reshape(-1, 3), axis=0)) > 100
    assert (env.render() == before).all()
    list(play(env, Policy.GREEDY, limit=1))
    assert (env.render() != before).any()


def test_a_picture_from_one_seat_does_not_show_the_other_hands() -> None:
    pytest.importorskip("PIL")
    env, rng = (
        raw_env(1, num_players=3, render_mode="rgb_array", render_seat=1),
        np.random.default_rng(0),
    )
    before = env.render()
    assert permute_hidden(env.rules, env.rows, 1, rng) > 20
    assert (env.render() == before).all()
    env.render_seat = None
    everything = env.render()
    permute_hidden(env.rules, env.rows, 1, rng)
    assert (env.render() != everything).any()


def test_every_card_has_its_own_face() -> None:
    pytest.importorskip("PIL")
    from pocket_uno_env.display.picture import card_image

    names = {
        kind.name for rules in ("pocket", "classic") for kind in raw_env(rules=rules).rules.kinds
    }
    # In grey, too: the shapes and symbols alone tell the cards apart.
    faces = {card_image(name, 60).convert("L").tobytes() for name in [*names, "back"]}
    assert len(faces) == len(names) + 1


def test_notebooks_show_a_picture() -> None:
    image = pytest.importorskip("PIL.Image")
    env = pocket_uno_v0.raw_env()
    assert env._repr_png_() is None
    env.reset(seed=1)
    assert image.open(io.BytesIO(env._repr_png_())).size == (1024, 640)


def test_frames_make_a_gif(tmp_path: Any) -> None:
    image = pytest.importorskip("PIL.Image")
    env = raw_env(1, render_mode="rgb_array")
    frames = [image.fromarray(raw.render()) for raw in play(env, Policy.GREEDY, limit=5)]
    frames[0].save(tmp_path / "game.gif", save_all=True, append_images=frames[1:], duration=800)
    with image.open(tmp_path / "game.gif") as gif:
        assert gif.n_frames == 5


def human(code: str, **environment: str) -> str:
    hidden = {"DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"}
    clean = {key: value for key, value in os.environ.items() if key not in hidden}
    result = subprocess.run(
        [sys.executable, "-c", code], env={**clean, **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout


HUMAN = """
import sys
from pocket_uno_env import pocket_uno_v0
env = pocket_uno_v0.raw_env(render_mode="human")
env.reset(seed=1)
env.step(env.action_id("draw"))
env.close()
print("pygame" in sys.modules)
"""


def test_human_prints_where_there_is_no_screen() -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("the window system of this machine is always there")
    out = human(HUMAN)
    assert "draw pile" in out and out.endswith("False\n")


def test_human_opens_a_window_where_there_is_a_screen() -> None:
    pytest.importorskip("pygame")
    out = human(HUMAN, SDL_VIDEODRIVER="dummy")
    assert "draw pile" not in out and out.endswith("True\n")
