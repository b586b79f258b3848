"""evaluate.py from the command line, and what it prints and writes."""

import importlib.util
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pocket_uno_env.agents import load
from pocket_uno_env.arena import play
from pocket_uno_env.referee import check_record
from pocket_uno_env.report import ReportError, whole_file
from pocket_uno_env.statistics import mean_estimate, rate_estimate

pytest.importorskip("tyro")

PROGRAM = Path(__file__).parents[1] / "evaluate.py"


def program():
    if "evaluate" not in sys.modules:
        spec = importlib.util.spec_from_file_location("evaluate", PROGRAM)
        assert spec is not None and spec.loader is not None
        sys.modules["evaluate"] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules["evaluate"]


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the program in this process: exit code, output, errors."""
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments):
        try:
            code = program().main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_everything_is_written_and_printed(run, tmp_path):
    result, games = tmp_path / "result.json", tmp_path / "games.jsonl"
    code, out, err = run(
        *("--agents", "greedy", "random", "--num-players", 3, "--deals", 5, "--seed", 9),
        *("--json", result, "--records", games),
    )
    assert (code, err) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["games.jsonl", "result.json"]
    records = [json.loads(line) for line in games.read_text().splitlines()]
    assert len(records) == 2 * 5 * 3
    for record in records:
        check_record(record)

    report = json.loads(result.read_text())
    assert report["format"] == "uno-evaluation/1"
    assert report["rules"]["name"] == "pocket"
    assert [report[key] for key in ("num_players", "deals", "rotations", "seed")] == [3, 5, 3, 9]
    assert report["versions"].keys() >= {"pocket_uno_env", "python", "numpy", "numba"}
    expected = play("pocket", 3, [load("greedy"), load("random")], 5, 9)
    for found, of in zip(report["line_ups"], expected, strict=True):
        assert found["agents"] == list(of.names)
        assert found["rounds"] == 15
        assert found["decisions_per_round"] == pytest.approx(of.decisions.mean())
        for figure, number in zip(found["figures"], of.agents, strict=True):
            rate, points = (
                rate_estimate(of.win_rates(number)),
                mean_estimate(of.mean_points(number)),
            )
            assert figure["win_rate"] == {"mean": rate.mean, "low": rate.low, "high": rate.high}
            assert figure["points_per_round"]["low"] == points.low
            assert [figure["agent"], *figure["against"]].count("greedy") == of.names.count("greedy")
    first = report["line_ups"][0]["figures"][0]
    assert f"{first['win_rate']['mean']:.1%}" in out
    assert "2 random" in out
    assert "2 greedy" in out


def test_the_same_seed_writes_the_same_bytes(run, tmp_path):
    written = []
    for attempt in range(2):
        result, games = tmp_path / f"{attempt}.json", tmp_path / f"{attempt}.jsonl"
        run("--agents", "greedy", "random", "--deals", 20, "--json", result, "--records", games)
        written.append((result.read_bytes(), games.read_bytes()))
    assert written[0] == written[1]


@pytest.mark.parametrize(
    ("agents", "seats", "rows"),
    [
        (["greedy", "random"], 2, [("greedy", "random"), ("random", "greedy")]),
        (["greedy"], 2, [("greedy", "greedy")]),
        (["greedy", "greedy"], 2, [("greedy", "greedy")]),
        (["greedy", "random"], 4, [("greedy", "3 random"), ("random", "3 greedy")]),
        (["greedy", "random", "random"], 3, [("greedy", "2 random")]),
        (["greedy", "greedy"], 3, [("greedy", "2 greedy")]),
    ],
)
def test_the_table_has_a_row_for_each_agent_and_its_opponents(run, agents, seats, rows):
    code, out, _ = run("--agents", *agents, "--num-players", seats, "--deals", 3)
    assert code == 0
    cells = [
        [cell.strip() for cell in line.split("│")[1:3]] for line in out.splitlines() if "%" in line
    ]
    assert [tuple(pair) for pair in cells if len(pair) == 2] == rows
    assert max(map(len, out.splitlines())) <= 80


def test_long_names_and_numbers_fit_80_columns(run, tmp_path, monkeypatch):
    module = tmp_path / "a_module_with_quite_a_long_name_for_agents.py"
    module.write_text(
        "from pocket_uno_env.agents import load\n\ndef make(): return load('greedy')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    own = f"import:{module.stem}:make"
    code, out, _ = run("--agents", own, "random", "--num-players", 3, "--deals", 40_000)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "120000" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--agents", "gredy", "random"], "did you mean 'greedy'"),
        (["--agents"], "expected at least one"),
        (["--agents", "greedy", "--deals", 0], "deals is 0"),
        (["--agents", "greedy", "--deals", -3], "deals is -3"),
        (["--agents", "greedy", "--num-players", 6], "num_players is 6"),
        (["--agents", "greedy", "--num-players", 1], "num_players is 1"),
        (["--agents", "greedy", "--seed", -1], "seed is -1"),
        (["--agents", "greedy", "--max-cycles", 0], "max_cycles is 0"),
        (["--agents", "greedy", "--rules", "uno"], "unknown rules 'uno'"),
        (["--agents", "runs/nowhere"], "no such file or folder"),
        (["--agents", "greedy", "--json", "nowhere/x.json"], "there is no folder nowhere"),
        (["--agents", "greedy", "--records", "nowhere/x"], "there is no folder nowhere"),
        (["--agents", "greedy", "--json", "."], "it is a folder"),
        (["--agents", "greedy", "--json", "x", "--records", "./x"], "both name x"),
    ],
)
def test_bad_input_is_one_clear_line(run, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("evaluate.py: error: ")
    assert message in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [[], ["--agents", "greedy", "--deals", "many"], ["--frob"]])
def test_a_wrong_command_line_is_refused(run, arguments):
    code, out, err = run(*arguments)
    assert code == 2
    assert "Traceback" not in out + err


def test_help_documents_every_option(run):
    code, out, _ = run("--help")
    assert code == 0
    for option in ("agents", "rules", "num-players", "deals", "seed", "json", "records"):
        assert f"--{option}" in out
    assert "greedy" in out


def test_a_failure_leaves_the_old_files(run, tmp_path, monkeypatch):
    result = tmp_path / "result.json"
    result.write_text("old")

    def interrupted(*arguments, **options):
        options["on_record"]({"half": "written"})
        raise KeyboardInterrupt

    monkeypatch.setattr(program(), "play", interrupted)
    code, out, err = run(
        *("--agents", "greedy", "--json", result, "--records", tmp_path / "games.jsonl")
    )
    assert (code, out) == (130, "")
    assert "interrupted" in err
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]
    assert result.read_text() == "old"


def test_whole_files_appear_when_they_are_whole(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    link.symlink_to(path)
    with whole_file(link) as file:
        file.write("text")
        assert not path.exists()
    assert path.read_text() == "text"
    assert link.is_symlink()
    with whole_file(Path(os.devnull)) as file:
        file.write("text")
    assert not Path(os.devnull).is_file()
    with pytest.raises(ReportError, match="cannot write"), whole_file(path / "below"):
        pass


def spawn(*arguments, **streams):
    command = [sys.executable, str(PROGRAM), *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, text=True, **streams)


def test_ctrl_c_leaves_no_file(tmp_path):
    games = tmp_path / "games.jsonl"
    child = spawn(
        *("--agents", "greedy", "--deals", 10**7, "--records", games),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )
    part = tmp_path / "games.jsonl.part"
    deadline = time.monotonic() + 120
    while not (part.exists() and part.stat().st_size) and time.monotonic() < deadline:
        assert child.poll() is None
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (130, "")
    assert err == "evaluate.py: interrupted, no file was written\n"
    assert list(tmp_path.iterdir()) == []


def test_a_terminal_gets_a_progress_bar_and_a_pipe_does_not():
    terminal, end = pty.openpty()
    child = spawn(
        *("--agents", "greedy", "random", "--deals", 3000),
        stdout=subprocess.PIPE,
        stderr=end,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
    )
    os.close(end)
    shown = b""
    while select.select([terminal], [], [], 60)[0]:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # how Linux tells that the other end is closed
            break
        shown += piece
    os.close(terminal)
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 0
    assert b"rounds" in shown
    assert b"6000/6000" in shown
    assert "6000/6000" not in out
    assert "95%" in out
    piped = spawn("--agents", "greedy", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = piped.communicate(timeout=60)
    assert (piped.returncode, err) == (0, "")
    assert "\x1b" not in out
