"""Play in the terminal: whole games by numbers and names, clean ends, records that hold."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from unruly import ANSWERS, Unruly

from pocket_uno_env.agents import Agent, AgentError, ObservationAgent, load
from pocket_uno_env.equity.tables import match_equity
from pocket_uno_env.play.guarded import Guarded
from pocket_uno_env.play.program import Keeper, main
from pocket_uno_env.play.table import MAX_DECISIONS, Table, TableError
from pocket_uno_env.play.terminal import HELP, Left, Terminal, chosen_action
from pocket_uno_env.records.record import Transcript
from pocket_uno_env.reference.referee import check_record
from pocket_uno_env.rules.rules import Rules, RulesError

ROOT = Path(__file__).resolve().parents[2]


ELIMINATION = Rules.preset("pocket", elimination=True)


def seated(*opponents: str, **options: Any) -> Table:
    return Table(options.pop("rules", "pocket"), [None, *map(load, opponents)], seed=7, **options)


def sit(
    table: Table,
    answers: Iterable[str],
    seat: int | None = 0,
    written: list[str] | None = None,
) -> list[str]:
    """Play at a terminal with these answers; the lines that were written."""
    written = [] if written is None else written
    given = iter(answers)

    def read(prompt: str) -> str:
        try:
            return next(given)
        except StopIteration:
            raise EOFError from None

    Terminal(table, seat, read, written.append).play()
    return "\n".join(written).splitlines()


def forever(answer: str) -> Iterable[str]:
    while True:
        yield answer


@pytest.mark.parametrize("rules", ["pocket", "classic", "pocket51", "mini"])
@pytest.mark.parametrize("match", [True, False])
def test_a_whole_game_by_numbers(rules: str, match: bool) -> None:
    table = seated("greedy", rules=rules, match=match)
    lines = sit(table, forever("1"))
    assert table.over and max(map(len, lines)) <= 80
    record = json.loads(json.dumps(table.record()))
    check_record(record)
    assert record["players"] == ["person", "greedy"] and record["match"] is match
    if match:
        assert ("You win the match." in lines) == (table.winner == 0)
        assert (len(record["rounds"]) > 1) == ("-- Round 2 of a match" in "\n".join(lines))


def test_between_rounds_the_chances_to_win_the_match_are_told() -> None:
    table = seated("greedy")
    lines = sit(table, forever("1"))
    told = [line for line in lines if line.startswith("Chances to win the match: you ")]
    assert len(told) == table.round and told  # not after the last
    scores = table.record()["rounds"][0]["result"]["points"]
    you, other = 100 * match_equity("pocket", scores)
    assert told[0] == f"Chances to win the match: you {you:.1f} %, greedy {other:.1f} %."


def test_a_table_knows_the_chances_at_the_scores() -> None:
    table = Table("pocket", [load("greedy")] * 3, seed=4)
    while True:
        before = match_equity("pocket", table.sight(None)["scores"]).round(4).tolist()
        while table.running:
            assert table.chances == before
            table.ask_agent()
        after = table.chances
        assert after == match_equity("pocket", table.sight(None)["scores"]).round(4).tolist()
        if table.over:
            break
        assert after != before or table.sight(None)["result"]["winner"] is None
        table.next_round()
    assert after == [float(seat == table.winner) for seat in range(3)]
    for rules, match in (("pocket", False), ("pocket51", True), (ELIMINATION, True)):
        assert Table(rules, [load("greedy")] * 2, match).chances is None


def test_house_rules_and_five_players() -> None:
    rules = Rules.preset(
        "classic", stacking="any", seven_zero=True, jump_in=True, wild_draw_four="challenge",
        opening_wild="first_player_chooses", elimination=True, match_goal=60,
    )  # fmt: skip
    table = seated("greedy", "strong", "random-uno", "counter", rules=rules)
    lines = sit(table, forever("1"))
    assert table.over and max(map(len, lines)) <= 80
    check_record(json.loads(json.dumps(table.record())))


def test_agents_can_be_watched() -> None:
    table = Table("pocket", [load("strong"), load("greedy")], match=False, seed=2)
    lines = sit(table, [], seat=None)
    drawn = [event for event in table.events(None) if event["do"] == "draw"]
    assert table.over and drawn and all(f"  {event['text']}" in lines for event in drawn)


@pytest.mark.parametrize(
    ("answer", "legal", "action"),
    [
        ("2", ["play R5", "draw"], "draw"),
        ("0", ["play R5", "draw"], None),
        ("3", ["play R5", "draw"], None),
        ("d", ["play R5", "draw"], "draw"),
        ("PLAY r5", ["play R5", "draw"], "play R5"),
        ("r5", ["play R5", "play B5", "draw"], "play R5"),
        ("r", ["play R5", "play R6"], None),
        ("r", ["play R5", "play B6", "draw"], "play R5"),
        ("w:b", ["play W:R", "play W:B", "play WD:B"], "play W:B"),
        ("w:blue", ["play W:R", "play W:B", "play WD:B"], "play W:B"),
        ("w", ["play W:R", "play W:B"], None),
        ("name green", ["name R", "name G"], "name G"),
        ("green", ["name R", "name G"], None),
        ("s", ["say uno", "stay silent"], None),
        ("say", ["say uno", "stay silent"], "say uno"),
        ("uno", ["say uno", "stay silent"], "say uno"),
        ("chalenge", ["challenge", "accept"], "challenge"),
        ("give y1", ["give Y1", "give Y+1"], "give Y1"),
        ("y1", ["give Y1", "give Y+1"], "give Y1"),
        ("R+1", ["play R1", "play R+1"], "play R+1"),
        ("", ["draw"], None),
        ("²", ["draw"], None),
    ],
)
def test_what_an_answer_means(answer: str, legal: list[str], action: str | None) -> None:
    assert chosen_action(answer, legal) == action


def test_answers_that_mean_nothing_are_asked_again() -> None:
    table, written = seated("greedy"), []
    with pytest.raises(Left):
        sit(table, ["nonsense", "99", "?", "t", "quit"], written=written)
    assert HELP in written and all(event["seat"] != 0 for event in table.events(0))
    assert sum("is none of them" in line for line in written) == 2


def test_nobody_is_told_what_they_may_not_know() -> None:
    """Of the cards that the others hold or drew, only those that were played are ever written."""
    table = seated("greedy", "strong", match=False)
    written: list[str] = []
    turns = 0

    def read(prompt: str) -> str:
        nonlocal turns
        turns += 1
        seen = table.sight(0)
        allowed = {*seen["hands"][0]["cards"], *seen["discard_pile"]}
        allowed |= {card for hand in seen["hands"] for card in hand["known"]}
        allowed |= {c for e in table.events(0) if e["cards"] for c in e["cards"]}
        words = {w.strip(".") for line in written for w in line.replace(":", " ").split()}
        hidden = {c for hand in table.sight(None)["hands"][1:] for c in hand["cards"]} - allowed
        assert not words & {card for card in hidden if len(card) > 1}
        return "1"

    Terminal(table, 0, read, lambda text: written.extend(text.splitlines())).play()
    assert turns > 3


def test_a_table_refuses_what_cannot_be_done() -> None:
    table = seated("greedy", match=False)
    while table.to_act != 0:
        table.ask_agent()
    before, turn = table.rows.copy(), table.turn
    for action in ("play R0", "catch", "", "nonsense"):
        with pytest.raises(TableError, match="is not legal now; legal: "):
            table.act(action)
    with pytest.raises(TableError, match="not an agent's turn"):
        table.ask_agent()
    with pytest.raises(TableError, match="still runs"):
        table.next_round()
    with pytest.raises(TableError, match="would show the hidden cards"):
        table.record(finished_only=True)
    assert (table.rows == before).all() and table.turn == turn
    sit(table, forever("1"))
    with pytest.raises(TableError, match="the round is over"):
        table.act("draw")
    with pytest.raises(TableError, match="the game is over"):
        table.next_round()
    assert table.record(finished_only=True) == table.record()


def test_tables_refuse_agents_and_seats_that_do_not_fit() -> None:
    with pytest.raises(RulesError, match="2 to 5"):
        seated(*["greedy"] * 5)

    class Two(Agent):
        name = "two"

        def check(self, rules: Rules, num_players: int) -> None:
            raise AgentError("only two")

        def act_rows(self, rules: Rules, rows: Any, index: Any) -> Any:
            raise NotImplementedError

    with pytest.raises(AgentError, match="only two"):
        Table("pocket", [None, Two()])
    wrong = ObservationAgent("wrong", lambda observations, masks: [0] * len(masks))
    table = Table("pocket", [wrong, wrong], seed=1)
    before = table.rows.copy()
    with pytest.raises(AgentError, match="chose action 0"):
        while True:
            before = table.rows.copy()
            table.ask_agent()
    assert (table.rows == before).all()


def test_a_round_that_never_ends_is_truncated() -> None:
    stubborn = ObservationAgent("stubborn", draw_or_else)
    table = Table("pocket", [stubborn, stubborn], match=False, seed=1)
    while table.running:
        table.ask_agent()
    result = table.record()["rounds"][0]["result"]
    assert result["end"] in ("blocked", "truncated") and table.turn <= MAX_DECISIONS + 1


def test_events_are_those_of_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are noted as they happen; the round is not played again for each."""
    replays, replay = [], Transcript.replay

    def counted(transcript: Transcript, rules: Rules) -> dict[str, Any]:
        replays.append(1)
        return replay(transcript, rules)

    monkeypatch.setattr(Transcript, "replay", counted)
    table = Table("classic", [load("random-uno"), load("counter"), load("greedy")], seed=6)
    for _ in range(400):
        if table.over:
            break
        if table.running:
            table.ask_agent()
        else:
            table.next_round()
        assert not replays
        assert table._events == replay(table._rounds[-1], table.rules)["events"]
        told = table.events(0)
        assert table.events(0, 7) == told[-7:] and len(told) == len(table._events)
    assert table.round > 1


@pytest.mark.parametrize("way", sorted({*ANSWERS} - {"is interrupted"}))  # Ctrl-C passes here
def test_an_agent_that_fails_is_named_and_nothing_has_happened(way: str) -> None:
    agent = Guarded(Unruly(way))
    table = Table("pocket", [agent, agent], seed=1)
    before, turn = table.rows.tobytes(), table.turn
    with pytest.raises(AgentError, match=way):
        table.ask_agent()
    assert table.rows.tobytes() == before and table.turn == turn


def draw_or_else(observations: Any, masks: Any) -> Any:
    from pocket_uno_env.rules.actions import catalogue

    draw, keep = (catalogue(Rules()).id(name) for name in ("draw", "keep"))
    return [draw if mask[draw] else keep if mask[keep] else int(mask.argmax()) for mask in masks]


# The command.


def test_the_command_plays_and_writes_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("builtins.input", lambda prompt: "1")
    record = tmp_path / "deep" / "game.jsonl"
    options = ["--opponents", "greedy", "strong", "--round", "--seed", "3", "--record", str(record)]
    assert main(options) == 0
    assert f"The record is in {record}" in capsys.readouterr().out
    (line,) = record.read_text().splitlines()
    game = json.loads(line)
    check_record(game)
    assert game["players"] == ["person", "greedy", "strong"] and game["seed"] == 3


BROKEN = """
import sys
from pocket_uno_env.agents import Agent

class Broken(Agent):
    name = "broken"

    def act_rows(self, rules, rows, index):
        sys.exit(7)
"""


def test_a_game_with_a_broken_agent_ends_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own_broken.py").write_text(BROKEN)
    monkeypatch.syspath_prepend(str(tmp_path))
    record = tmp_path / "game.jsonl"
    options = ["--watch", "--opponents", "greedy", "own_broken:Broken", "--record", str(record)]
    assert main([*options, "--seed", "1"]) == 2
    out, err = capsys.readouterr()
    assert err.count("\n") == 1 and "agent 'own_broken:Broken' failed: SystemExit: 7" in err
    assert f"The record is in {record}" in out
    check_record(json.loads(record.read_text()))


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("/dev/full", "write /dev/full"),
        ("/proc/game.jsonl", "write /proc/game.jsonl"),
        ("/proc/no/game.jsonl", "make the folder /proc/no"),
    ],
)
def test_a_record_that_cannot_be_written_stops_no_game(
    place: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A full disk, and folders where nobody can write."""
    table = seated("greedy")
    keeper = Keeper(table, Path(place))
    answers = forever("1")
    Terminal(table, 0, lambda prompt: next(iter(answers)), lambda text: None,
             on_change=keeper.keep).play()  # fmt: skip
    assert table.over and not keeper.kept
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and f"The record is not kept: cannot {says}: " in err


def test_a_folder_where_nobody_can_write_stops_no_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").write_text("no folder")
    monkeypatch.setattr("builtins.input", lambda prompt: "1")
    assert main(["--round", "--opponents", "greedy"]) == 0
    out, err = capsys.readouterr()
    assert "The record is not kept: " in err and err.count("\n") == 1
    assert "out" in out and "The record is in" not in out
    (tmp_path / "runs").unlink()  # once there is room it is written again
    assert main(["--round", "--opponents", "greedy"]) == 0
    assert "The record is in" in capsys.readouterr().out


def test_records_get_a_file_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("builtins.input", lambda prompt: "q")
    assert main([]) == main([]) == 0
    assert len(list((tmp_path / "runs" / "play").glob("*.jsonl"))) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--opponents", "gredy"], "did you mean 'greedy'?"),
        (["--opponents", *["greedy"] * 5], "2 to 5 players"),
        (["--rules", "poket"], "unknown rules 'poket'"),
        (["--seed", "-1"], "--seed is -1"),
        (["--record", "/proc/nowhere/game.jsonl"], "/proc/nowhere"),
        (["--record", __file__], "there already"),
        (["--web", "--record", "game.jsonl"], "--record does not go with --web"),
        (["--web", "--rules", "nosuch"], "--rules does not go with --web"),
        (["--web", "--origin", "games.org"], "--origin is 'games.org'; expected the address"),
    ],
)
def test_wrong_options_are_named(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(options) == 2
    err = capsys.readouterr().err
    assert message in err and err.count("\n") <= 2


def test_a_page_beside_an_event_loop(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """In a notebook a loop is running: what is said to do then is done."""

    async def in_a_notebook() -> int:
        return main(["--web", "--no-browser", "--port", "0"])

    assert asyncio.run(in_a_notebook()) == 2
    err = capsys.readouterr().err
    line = re.search(r"subprocess\.Popen\((.*)\)$", err)
    assert err.count("\n") == 1 and line is not None
    assert line[1] in (ROOT / "docs" / "quick_start.md").read_text("utf-8")
    process = subprocess.Popen(
        [*eval(line[1]), "--no-browser", "--port", "0"],
        cwd=tmp_path, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert "http://127.0.0.1:" in process.stdout.readline()
    finally:
        process.terminate()
        process.communicate()


def start_play(folder: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "pocket_uno_env", "play", "--record", "game.jsonl", *options],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def test_the_end_of_the_input_is_a_clean_end(tmp_path: Path) -> None:
    process = start_play(tmp_path)
    out, err = process.communicate("1\n", timeout=120)
    assert process.returncode == 0 and "Traceback" not in err
    assert "The record is in game.jsonl" in out
    check_record(json.loads((tmp_path / "game.jsonl").read_text()))


def person_has_acted(record: dict[str, Any]) -> bool:
    return any(event[0] == 0 for event in record["rounds"][0]["events"])


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_lost_when_it_is_stopped(tmp_path: Path, sent: signal.Signals) -> None:
    process = start_play(tmp_path, "--seed", "3")
    assert process.stdin is not None
    process.stdin.write("1\n")
    process.stdin.flush()
    file, deadline = tmp_path / "game.jsonl", time.monotonic() + 300  # it may have to compile
    while not (file.exists() and person_has_acted(json.loads(file.read_text()))):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(sent)
    _, err = process.communicate(timeout=60)
    assert process.returncode == (130 if sent == signal.SIGINT else -9)
    assert "Traceback" not in err
    record = json.loads((tmp_path / "game.jsonl").read_text())
    check_record(record)
    assert person_has_acted(record)
