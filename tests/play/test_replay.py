"""Films of records: every position as it was, one file that asks for nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from games import every_game, play, raw_env

from pocket_uno_env.agents import load
from pocket_uno_env.agents.scripted.policies import Policy
from pocket_uno_env.display.seat_view import sight
from pocket_uno_env.equity.tables import match_equity
from pocket_uno_env.play.film import (
    MAX_FRAMES,
    Replay,
    ReplayError,
    film,
    film_text,
    main,
    page_of,
    read_records,
)
from pocket_uno_env.records.record import positions


def record_of(seed: int = 1, limit: int = 400, **game: Any) -> dict[str, Any]:
    env = raw_env(seed, **game)
    list(play(env, Policy.GREEDY, limit=limit))
    return json.loads(json.dumps(env.record()))


def line(record: Any) -> str:
    return json.dumps(record) + "\n"


@pytest.mark.parametrize(("rules", "num_players"), every_game())
def test_positions_are_those_of_the_game(rules: Any, num_players: int) -> None:
    env = raw_env(3, rules=rules, num_players=num_players, episode="match", max_rounds=2)
    seen = [
        (json.dumps(sight(rules, raw.rows)), raw.agent_selection)
        for raw in play(env, Policy.GREEDY, limit=120)
    ]
    made = [
        json.dumps(sight(rules, position.rows))
        for position in positions(json.loads(json.dumps(env.record())))
        if position.action is not None
    ]
    assert made == [text for text, _ in seen]


def test_a_film_holds_what_each_seat_saw_and_what_agents_think() -> None:
    record = record_of(num_players=3)
    agents = [load("strong"), load("greedy")]
    made = film((record, 1), agents)
    assert made["players"] == ["player_0", "player_1", "player_2"]
    assert made["agents"] == ["strong", "greedy"]
    actions = [e for e in record["rounds"][0]["events"] if e[0] != "reshuffle" and e[1] != "forced"]
    assert [frame["action"] for frame in made["frames"]] == [*(e[1] for e in actions), None]
    assert made["frames"][-1]["sight"]["result"]["end"] == "out"
    for frame in made["frames"][:-1]:
        # The record was played by greedy.
        assert frame["opinions"]["greedy"]["choice"] == frame["action"]
        assert set(frame["opinions"]) == {"strong", "greedy"}
    assert any(f["opinions"]["strong"]["choice"] != f["action"] for f in made["frames"][:-1])
    (events,) = made["rounds"]
    assert set(events) == {"all", "0", "1", "2"}
    for seat in range(3):
        for event in events[str(seat)]:
            assert event["do"] not in ("draw", "forced") or (event["cards"] is None) == (
                event["seat"] != seat
            )


def test_matches_and_unfinished_games_are_films_too() -> None:
    match = record_of(episode="match", max_rounds=3, limit=90)
    made = film((match, 1))
    assert {frame["round"] for frame in made["frames"]} == set(range(len(match["rounds"])))
    assert made["frames"][-1]["action"] is None and made["match"]


def test_a_film_holds_the_chances_to_win_the_round_and_the_match() -> None:
    match = record_of(num_players=3, episode="match", max_rounds=2, limit=200)
    made = film((match, 1), [load("strong")])
    for frame in made["frames"]:
        result, scores = frame["sight"]["result"], frame["sight"]["scores"]
        assert frame["chances"] == match_equity("pocket", scores).round(4).tolist()
        for chances in frame["open"].values():
            assert sum(chances) == pytest.approx(1, abs=1e-3)
        if result:
            assert frame["open"]["match"] == frame["chances"]
            assert frame["open"]["round"] == [float(s == result["winner"]) for s in range(3)]
        else:
            assert len(frame["opinions"]["strong"]["match"]) == 3
    # Who holds a single card that fits is seen to be ahead.
    last = [frame for frame in made["frames"] if frame["action"]][-1]
    assert last["open"]["round"][last["sight"]["to_act"]] > 0.5


def test_chances_to_win_the_match_are_for_matches() -> None:
    single = film((record_of(), 1), [load("greedy")])
    unknown = film((record_of(rules="pocket51", episode="match", max_rounds=1), 1))
    for frame in [*single["frames"], *unknown["frames"]]:
        assert frame["chances"] is None and frame["open"]["match"] is None
        assert all(found["match"] is None for found in frame["opinions"].values())
    begun = film((record_of(scores=[200, 0]), 1))  # a round that starts at scores is one of a match
    assert begun["frames"][0]["chances"][0] > 0.9
    assert begun["frames"][0]["open"]["match"][0] > begun["frames"][0]["open"]["round"][0]


def test_one_game_of_many_is_chosen() -> None:
    text = line(record_of(1)) + "\n" + line(record_of(2))
    assert read_records(text)[0] == record_of(1)
    record, games = read_records(text, 2)
    assert record == record_of(2) and games == 2
    for wrong in (0, 3, "1", None, True):
        with pytest.raises(ReplayError, match="expected a number from 1 to 2"):
            read_records(text, wrong)


def test_only_line_feeds_end_lines() -> None:
    record = {**record_of(1), "players": ["a\u2028b", "c\u0085d"]}
    text = json.dumps(record, ensure_ascii=False)
    assert read_records(f"\ufeff{text}\r\n{text}\n", 2) == (record, 2)


def test_broken_records_are_named_by_line() -> None:
    good = record_of(1)
    wrong = {**good, "rounds": [{**good["rounds"][0], "opening": "R0"}]}
    for text, says in (
        ("", "there is no record"),
        ("\n\n{", "line 3: the line is not JSON"),
        (
            "\n " + line(good)[:-2] + ', "seed": 1}',
            "line 2: the line is not JSON: the key 'seed' comes twice",
        ),
        ('{"seed": ' + "9" * 4301 + "}", "line 1: the line is not JSON"),
        (line(wrong), "line 1: round 0"),
        ("[" * 100_000, "line 1: the line is nested too deeply"),
        (line([1]), "line 1: the record must be an object"),
    ):
        with pytest.raises(ReplayError) as error:
            read_records(text)
        assert says in str(error.value)


def test_lines_end_where_json_lines_end() -> None:
    """A byte order mark and line separators of Unicode inside a text are part of the record."""
    record = {**record_of(1), "players": ["a\u2028b", "c\x85d"]}
    text = "\ufeff" + json.dumps(record, ensure_ascii=False) + "\r\n\r\n" + line(record_of(2))
    assert read_records(text) == (record, 2)
    assert read_records(text, 2)[0] == record_of(2)


def test_a_game_that_is_too_long_is_refused_before_it_is_played() -> None:
    record = record_of(1)
    (entry,) = record["rounds"]
    long = {**record, "rounds": [{**entry, "events": [[0, "draw", []]] * MAX_FRAMES}]}
    many = {**record, "match": True, "rounds": [entry] * (MAX_FRAMES // 3)}
    for wrong in (long, many):
        with pytest.raises(ReplayError, match="line 1: the game has more than 10,000 decisions"):
            read_records(line(wrong))
        with pytest.raises(ReplayError, match="more than 10,000 decisions"):
            film((wrong, 1))


def test_a_film_that_nobody_wants_is_not_made() -> None:
    wanted = [False] * 3
    with pytest.raises(ReplayError, match="nobody waits"):
        film((record_of(1), 1), stop=lambda: not wanted or wanted.pop())
    assert not wanted


def test_a_film_is_the_same_as_json_in_pieces() -> None:
    made = film((record_of(1), 1), [load("greedy")])
    assert json.loads(film_text(made)) == json.loads(json.dumps(made))


def test_the_page_is_whole_and_cannot_be_broken_by_names() -> None:
    record = record_of(1)
    nasty = '</script><script>alert(1)</script>{{film}}<img src=x onerror=alert(1)>"&'
    record["players"] = [nasty, "b"]
    page = page_of(film((record, 1)))
    assert page.count("<script") == 6 and page.count("</script>") == 6  # the film and five scripts
    assert "<img" not in page and page.count('id="film"') == 1
    data = re.search(r'<script id="film" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert data is not None
    assert json.loads(data[1])["players"][0] == nasty
    assert not re.search(r'(src|href)="(?!data:)', page)
    assert "default-src 'none'" in page


def test_notebooks_show_a_game_in_a_frame() -> None:
    shown = Replay(record_of(1), ["strong"], height=500)._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!doctype html&gt;') and 'height="500"' in shown
    assert shown.count('"') == 10  # nothing of the page ends its attribute
    with pytest.raises(ReplayError):
        Replay({"format": "no"})


def test_the_command_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    games, out = tmp_path / "games.jsonl", tmp_path / "game.html"
    games.write_text(line(record_of(1)) + line(record_of(2)))
    assert main([str(games), "--game", "2", "--agents", "strong", "--out", str(out)]) == 0
    assert f"positions in {out}" in capsys.readouterr().out
    assert out.read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["missing.jsonl"], "missing.jsonl"),
        (["games.jsonl", "--game", "9"], "expected a number from 1 to 1"),
        (["games.jsonl", "--agents", "gredy"], "did you mean 'greedy'"),
        (["bytes.jsonl"], "utf-8"),
    ],
    ids=str,
)
def test_the_command_says_what_is_wrong(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("games.jsonl").write_text(line(record_of(1)))
    Path("bytes.jsonl").write_bytes(b"\xff\xfe\x80\x04.")
    assert main(options) == 2
    err = capsys.readouterr().err
    assert says in err and "Traceback" not in err and not Path("game.html").exists()
