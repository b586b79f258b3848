"""The commands `check` and `show` of game records."""

from __future__ import annotations

import copy
import itertools
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from reference_play import (
    Record,
    new_round,
    play_match,
    play_on,
    random_house_rules,
    record_of,
)

import pocket_uno_env
from pocket_uno_env.__main__ import main
from pocket_uno_env.reference.commands import describe_game
from pocket_uno_env.reference.game import HOUSE_OFF, Game, deck_of, preset


def round_of(seed: int, **changed: Any) -> Record:
    rng = random.Random(seed)
    return record_of([play_on(new_round(preset("pocket", **changed), 3, rng), rng)])


def write(path: Path, *records: Any) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(path)


def decisions_of(record: Record) -> int:
    events = [event for entry in record["rounds"] for event in entry["events"]]
    return sum(event[0] != "reshuffle" and event[1] != "forced" for event in events)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "games.jsonl"


def fault_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a command that cannot be carried out; return the one line it says."""
    with pytest.raises(SystemExit) as exit:
        sys.exit(main(arguments))
    out, err = capsys.readouterr()
    assert exit.value.code == 2 and out == ""
    assert err.count("\n") == 1 and err.startswith(f"pocket-uno {arguments[0]}: error: ")
    return err


# check


def test_good_games(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(1)
    match = record_of(play_match(preset("pocket", elimination=True), 3, rng), match=True)
    running = new_round(preset("pocket"), 2, rng)
    records = [round_of(1), match, record_of([running]), round_of(2, jump_in=True)]
    assert main(["check", write(file, *records)]) == 0
    out, err = capsys.readouterr()
    rounds, decisions = len(match["rounds"]) + 3, sum(map(decisions_of, records))
    first, second = out.splitlines()
    assert first == f"{file}: 4 games, {rounds} rounds, {decisions:,} decisions, all by the rules"
    assert second.startswith("rounds: ") and "1 running" in second
    assert err == ""
    assert main(["check", write(file, round_of(1))]) == 0
    assert "1 game, 1 round, " in capsys.readouterr().out


def test_blank_lines_and_other_line_ends_are_no_fault(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = json.dumps(round_of(1))
    file.write_bytes(f"\n{text}\r\n  \n{text}".encode())
    assert main(["check", str(file)]) == 0
    assert "2 games" in capsys.readouterr().out


def test_byte_order_marks_and_other_separators_are_no_fault(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = round_of(1)
    record["players"][0] = "a\u2028b\u0085c\x0bd\x0ce"
    text = json.dumps(record, ensure_ascii=False)
    # Two files, one behind the other, each with its mark.
    file.write_bytes(f"\ufeff{text}\n\ufeff\n\ufeff{text}\n".encode())
    assert main(["check", str(file)]) == 0
    assert "2 games" in capsys.readouterr().out
    assert main(["show", str(file), "--game", "2"]) == 0
    assert "0 a?b?c?d?e" in capsys.readouterr().out
    file.write_bytes("\ufeff\n".encode())
    assert "holds no game" in fault_of(capsys, "check", str(file))


def test_a_line_that_is_too_long_is_not_read(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = json.dumps(round_of(1)).encode()
    monkeypatch.setattr("pocket_uno_env.reference.commands.LONGEST_LINE", len(text) + 1)
    file.write_bytes(text + b"\n" + b"[" * 10 * len(text) + b"\n" + text + b"\n" + text + b"  ")
    assert main(["check", str(file)]) == 1
    out = capsys.readouterr().out.splitlines()
    limit = f"the line is longer than {len(text) + 1:,} bytes, too long for a game"
    assert out == [f"{file}:2: {limit}", f"{file}:4: {limit}", f"{file}: 2 of 4 games at fault"]
    assert main(["show", str(file), "--game", "2"]) == 1
    assert capsys.readouterr().err == f"{file}:2: {limit}\n"


def test_faults_are_named_by_line_round_and_event(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = round_of(1)
    wrong_seat, wrong_format, no_rules = (copy.deepcopy(good) for _ in range(3))
    wrong_seat["rounds"][0]["events"][3][0] = 9
    wrong_format["format"] = "uno-record/2"
    del no_rules["rules"]
    write(file, good, wrong_seat, wrong_format, no_rules, [1])
    with file.open("ab") as stream:
        stream.write(b'{"format": "uno-record/1", oh}\n')
        stream.write(b'{"format": "\xff"}\n')
        stream.write(b"[" * 100_000 + b"\n")
        stream.write(b"1" * 100_000 + b"\n")
        stream.write(b'{"format": NaN}\n')
        stream.write(json.dumps(good).encode() + b"\n")
    assert main(["check", str(file)]) == 1
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert [line.startswith(f"{file}:") for line in lines] == [True] * 10
    assert lines[0].startswith(f"{file}:2: round 0, event 3: seat 9 cannot ")
    assert lines[1] == f"{file}:3: format 'uno-record/2' is unknown, not 'uno-record/1'"
    assert lines[2] == f"{file}:4: field 'rules' is missing"
    assert lines[3] == f"{file}:5: the record must be an object"
    assert lines[4].startswith(f"{file}:6: the line is not JSON: Expecting property name ")
    assert lines[4].endswith("(column 28)")
    assert lines[5] == f"{file}:7: the line is not UTF-8: invalid start byte at byte 12"
    assert lines[6] == f"{file}:8: the line is nested too deeply"
    assert lines[7].startswith(f"{file}:9: the line is not JSON: Exceeds the limit")
    assert lines[8] == f"{file}:10: the line is not JSON: NaN is no JSON number"
    assert lines[9] == f"{file}: 9 of 11 games at fault"
    assert err == ""


def test_only_the_first_faults_are_shown(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(file, *([{}] * 30), round_of(1))
    for arguments, shown in (([], 10), (["--faults", "3"], 3), (["--faults", "30"], 30)):
        assert main(["check", str(file), *arguments]) == 1
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == shown + 1
        more = f", the first {shown} are shown" if shown < 30 else ""
        assert lines[-1] == f"{file}: 30 of 31 games at fault{more}"


def test_progress_on_a_terminal_alone(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(file, round_of(1), {}, round_of(2))
    clock = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    assert main(["check", str(file)]) == 1
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["check", str(file)]) == 1
    out, err = capsys.readouterr()
    assert "\r1 game, " in err and "\r3 games, 100 %" in err
    assert err.endswith(" \r") and "\r" not in out


# show


def told(record: Record) -> list[str]:
    lines = list(describe_game(record))
    assert all(len(line) <= 80 and line == line.rstrip() for line in lines)
    return lines


def scripted(rules: dict[str, Any], hands: str, opening: str, pile: str, *steps: str) -> Game:
    """Play `steps`, each a seat and an action, from this deal; the last seat deals."""
    dealt = [hand.split() for hand in hands.split("|")]
    front = [card for hand in dealt for card in hand] + [opening, *pile.split()]
    rest = Counter(deck_of(rules)) - Counter(front)
    whole = [*pile.split(), *rest.elements()]
    back = ["W"] if rules["name"] == "pocket" else []
    game = Game(rules, dealt, opening, whole, len(dealt) - 1, back)
    for step in steps:
        seat, _, name = step.partition(" ")
        game.apply(int(seat), name)
    return game


def test_a_game_to_read() -> None:
    game = scripted(
        preset("pocket", hand_size=3),
        *("W+2 R2 G9 | B3 B4 WD", "R9", "Y1 Y2 Y3 Y4 Y5"),
        *("0 play W+2:B", "1 challenge", "1 play WD:B", "1 give B3", "0 draw", "1 draw"),
    )
    record = {**record_of([game]), "players": ["greedy", "ppo"], "seed": None}
    assert told(record) == [
        "pocket, 2 players, single round, no seed",
        "  hand_size: 3",
        "",
        "round 0: 1 ppo deals",
        "       0 greedy  W+2 R2 G9",
        "       1 ppo     B3 B4 WD",
        "                 opening card R9, after W put back",
        "    0  0 greedy  plays W+2, names blue (2 left)",
        "    1  1 ppo     challenges: guilty",
        "    2  0 greedy  has to draw: Y1 Y2",
        "    3  1 ppo     plays WD, names blue (2 left)",
        "    4  1 ppo     has to draw: Y3",
        "    5  1 ppo     gives B3 to 0 greedy",
        "    6  0 greedy  draws Y4",
        "    7  1 ppo     draws Y5",
        "round 0 still runs; 0 greedy is to act",
    ]


def test_a_game_of_house_rules_to_read() -> None:
    house = {"stacking": "same", "jump_in": True, "seven_zero": True, "elimination": True}
    game = scripted(
        preset("classic", hand_size=3, **house),
        *("R5 R7 R0 | R5 B+2 G1 | R+2 G2 G3", "R9", "Y1 Y2 Y3 Y4 Y5 Y6 Y7 R+2 Y8 Y9"),
        *("0 play R5", "1 jump in", "2 pass", "0 pass", "2 play R+2", "0 pass", "1 pass"),
        *("0 accept", "1 play B+2", "1 stay silent", "2 let go", "0 catch", "2 pass", "0 pass"),
        *("2 accept", "0 draw", "1 draw", "1 play R+2", "2 pass", "0 pass", "2 accept"),
        *("0 play R7", "1 pass", "2 pass", "0 swap 1", "1 play R0"),
    )
    game.truncate()
    record = {**record_of([game], match=True), "players": ["a", "b", "c"]}
    assert told(record) == [
        "classic, 3 players, match, seed 7",
        "  hand_size: 3",
        "  house rule stacking: same",
        "  house rule seven_zero: true",
        "  house rule jump_in: true",
        "  house rule elimination: true",
        "",
        "round 0: 2 c deals",
        "       0 a  R5 R7 R0",
        "       1 b  R5 B+2 G1",
        "       2 c  R+2 G2 G3",
        "            opening card R9",
        "    0  0 a  plays R5 (2 left)",
        "    1  1 b  jumps in with R5 (2 left)",
        "    2  2 c  does not jump in",
        "    3  0 a  does not jump in",
        "    4  2 c  plays R+2 (2 left)",
        "    5  0 a  does not jump in",
        "    6  1 b  does not jump in",
        "    7  0 a  accepts",
        "    8  0 a  has to draw: Y1 Y2",
        "    9  1 b  plays B+2 (1 left)",
        "   10  1 b  stays silent",
        "   11  2 c  lets the silent player go",
        "   12  0 a  catches the silent player",
        "   13  1 b  has to draw: Y3 Y4",
        "   14  2 c  does not jump in",
        "   15  0 a  does not jump in",
        "   16  2 c  accepts",
        "   17  2 c  has to draw: Y5 Y6",
        "   18  0 a  draws Y7",
        "   19  1 b  draws R+2",
        "   20  1 b  plays R+2 (3 left)",
        "   21  2 c  does not jump in",
        "   22  0 a  does not jump in",
        "   23  2 c  accepts",
        "   24  2 c  has to draw: Y8 Y9",
        "   25  0 a  plays R7 (4 left)",
        "   26  1 b  does not jump in",
        "   27  2 c  does not jump in",
        "   28  0 a  swaps hands with 1 b",
        "   29  1 b  plays R0 (3 left)",
        "       all hands are passed on",
        "round 0 is truncated; no points",
        "match: 0 a 0, 1 b 0, 2 c 0",
    ]


def test_reshuffles_and_the_end_of_a_blocked_round() -> None:
    rules = preset(
        "mini",
        symbols={"1": 1, "2": 1, "+1": 1},
        wild_copies={"W": 0, "WD": 0, "W+2": 0, "W+4": 0},
    )
    game = Game(rules, [["R+1", "B2"], ["R2", "B1"]], "R1", ["B+1"], dealer=1)
    game.apply(0, "play R+1")
    game.apply(0, "draw", reshuffle=["R1"])
    game.apply(0, "keep")
    assert told(record_of([game]))[-5:] == [
        "    1  1 somebody  has to draw: B+1",
        "    2              the discard pile becomes the draw pile: 1 card",
        "    3  0 somebody  draws R1",
        "    4  0 somebody  keeps it",
        "round 0 still runs; 1 somebody is to act",
    ]
    game = Game(rules, [["B1", "B2"], ["B+1", "R+1"]], "R2", ["R1"], dealer=1)
    for seat, name in ((0, "draw"), (0, "keep"), (1, "draw"), (0, "draw")):
        game.apply(seat, name)
    assert told(record_of([game]))[-2:] == [
        "    3  0 somebody  passes: no card to draw",
        "round 0 is blocked: there is nothing to draw; no points",
    ]


def test_results_and_scores_of_matches() -> None:
    for elimination in (False, True):
        rules = preset("pocket", elimination=elimination, match_goal=100)
        record = record_of(play_match(rules, 3, random.Random(4)), match=True)
        record["players"] = ["a", "b", "c"]
        lines = told(record)
        totals = [0, 0, 0]
        won = [line for line in lines if "points: " in line]
        for entry in record["rounds"]:
            points = entry["result"]["points"]
            totals = [total + more for total, more in zip(totals, points, strict=True)]
            if entry["result"]["end"] == "out":
                winner = f"{entry['result']['winner']} {'abc'[entry['result']['winner']]}"
                scores = [f"{s} {'abc'[s]} {points[s]}" for s in range(3) if points[s]]
                i = record["rounds"].index(entry)
                assert won.pop(0) == f"{winner} wins round {i}; points: {', '.join(scores)}"
            assert f"match: 0 a {totals[0]}, 1 b {totals[1]}, 2 c {totals[2]}" in lines
        assert not won
        if elimination:
            out = [f"{s} {'abc'[s]}" for s in range(3) if totals[s] >= 100]
            (left,) = {"0 a", "1 b", "2 c"} - set(out)
            assert lines[-2] == f"out of the match: {', '.join(out)}"
            assert any("out of the match" in line and "round" not in line for line in lines[:-2])
        else:
            best = totals.index(max(totals))
            left = f"{best} {'abc'[best]}"
        assert lines[-1] == f"{left} wins the match"


def test_every_game_is_told_within_80_columns() -> None:
    for seed in range(30):
        rng = random.Random(seed)
        record = record_of(play_match(random_house_rules(rng), rng.choice([2, 5]), rng), match=True)
        record["players"] = [
            rng.choice(["", "x", "a name of many words", "runs/" + "long" * 40, "\x1b[31m\n"])
            for _ in record["players"]
        ]
        record["rules"]["name"] = rng.choice(["pocket", "mini", "custom"])
        lines = told(record)
        assert all(line.isprintable() for line in lines)
        events = sum(len(entry["events"]) for entry in record["rounds"])
        numbered = [line for line in lines if line[:5].strip().isdigit() and line[5:7] == "  "]
        assert len(numbered) == events
    ten = record_of([play_on(new_round(preset("classic"), 10, random.Random(1)), random.Random(1))])
    told(ten)
    older = copy.deepcopy(ten)
    for field in HOUSE_OFF:
        del older["rules"][field]
    assert told(older) == told(ten)


def test_show_picks_a_game(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = [round_of(seed) for seed in (1, 2)]
    write(file, records[0], {}, records[1])
    for arguments, record in (([], records[0]), (["--game", "3"], records[1])):
        assert main(["show", str(file), *arguments]) == 0
        assert capsys.readouterr() == ("".join(f"{line}\n" for line in told(record)), "")


def test_show_tells_a_faulty_game_up_to_its_fault(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = round_of(1)
    right = told(record)
    events = record["rounds"][0]["events"]
    own = [e[0] != "reshuffle" and e[1] != "forced" for e in events]
    at = next(i for i in range(6, len(own)) if own[i - 1] and own[i])
    events[at][0] = 9
    write(file, record)
    assert main(["show", str(file)]) == 1
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines == right[: len(lines)] and lines[-1].startswith(f"{at - 1:>5}  ")
    assert err.startswith(f"{file}:1: round 0, event {at}: ") and err.count("\n") == 1
    file.write_text('\n{"format"\n')
    assert main(["show", str(file)]) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"{file}:2: the line is not JSON: ")


# What cannot be done


def test_bad_input_is_one_line_and_status_2(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "FILE.jsonl" in fault_of(capsys, "check")
    for command in ("check", "show"):
        assert f"cannot read {file}: No such file" in fault_of(capsys, command, str(file))
        assert "Is a directory" in fault_of(capsys, command, str(tmp_path))
        empty = tmp_path / "empty.jsonl"
        empty.write_text("\n \n")
        assert f"{empty} holds no game" in fault_of(capsys, command, str(empty))
    write(file, round_of(1), round_of(2))
    assert f"{file} holds 2 games, there is no 3" in fault_of(
        capsys, "show", str(file), "--game", "3"
    )
    for number in ("0", "-1", "x", "1.5", "²", ""):
        for option in (["show", str(file), "--game"], ["check", str(file), "--faults"]):
            assert "no whole number above 0" in fault_of(
                capsys, *option[:-1], f"{option[-1]}={number}"
            )
    assert "--color" in fault_of(capsys, "show", str(file), "--color")


def test_the_module_runs(file: Path) -> None:
    write(file, round_of(1))

    def run(*arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pocket_uno_env", *arguments]
        root = Path(pocket_uno_env.__file__).parents[1]
        return subprocess.run(command, capture_output=True, text=True, cwd=root, **more)

    good = run("check", str(file))
    assert (good.returncode, good.stderr) == (0, "") and "1 game, 1 round" in good.stdout
    assert run("show", str(file)).stdout.splitlines() == told(round_of(1))
    assert run("check", str(file) + "x").returncode == 2
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    write(file, {**round_of(1), "players": ["é", "b", "c"]})
    assert "0 ?  " in run("show", str(file), env=ascii_only).stdout


def test_no_engine_is_loaded(file: Path) -> None:
    write(file, round_of(1))
    code = (
        "import sys; from pocket_uno_env.__main__ import main;"
        f"main(['check', {str(file)!r}]); main(['show', {str(file)!r}]); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ours = {
        name.split(".")[1] for name in done.stdout.split() if name.startswith("pocket_uno_env.")
    }
    assert ours <= {"__main__", "arguments", "cli", "envs", "files", "reference", "version"}
