"""evaluate.py from the command line, and what it prints and writes."""

import csv
import json
import os
import pty
import random
import re
import resource
import select
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pocket_uno_env.agents import load
from pocket_uno_env.agents.registry import runs_code
from pocket_uno_env.evaluation.arena import play
from pocket_uno_env.evaluation.games import round_rate
from pocket_uno_env.evaluation.journal import DiskJournal, read_plan
from pocket_uno_env.evaluation.statistics.estimates import mean_estimate, rate_estimate
from pocket_uno_env.evaluation.tournament import play_task
from pocket_uno_env.files import FileError, whole_file
from pocket_uno_env.records.record import replay
from pocket_uno_env.reference.referee import check_record

program = pytest.importorskip("pocket_uno_env.evaluation.program", reason="needs tyro")

PROGRAM = Path(__file__).parents[2] / "evaluate.py"


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the program in this process: exit code, output, errors."""
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments):
        try:
            code = program.main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        return code, out, errors(err)

    return call


def errors(text):
    """Without what a slow machine gets now and then: a line of progress."""
    lines = text.splitlines(True)
    return "".join(line for line in lines if not re.search(r"^Comp|: [\d,]+ of [\d,]+", line))


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
        replay(record)

    report = json.loads(result.read_text())
    assert report["format"] == "uno-evaluation/3"
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
        (["--agents", "greedy", "--episode", "day"], "episode is 'day'"),
        (["--agents", "greedy", "--design", "swiss"], "design is 'swiss'"),
        (["--agents", "greedy", "random", "--sprt", "0.5"], "expected two win rates"),
        (["--agents", "greedy", "random", "first", "--sprt", "0.5,0.6"], "compares two agents"),
        (["--agents", "greedy", "--chunk-deals", 0], "chunk_deals is 0"),
        (["--agents", "greedy", "--processes", -1], "processes is -1"),
        (["--agents", "rlcard-rule", "greedy"], "plays the classic game"),
        (["--resume", "nowhere"], "is no tournament"),
        (["--resume", "nowhere", "--agents", "greedy"], "from the run"),
        (["--agents", "greedy", "--margin", "nan"], "margin is nan"),
        (["--agents", "greedy", "--margin", 0.5], "margin is 0.5"),
        (["--agents", "search:9,policy=clairvoyant:9", "greedy"], "cheats"),
        (["--agents", "nope:nope", "greedy"], "No module named 'nope' in"),
        (["ladder"], "name whom to rate"),
        (["ladder", "gredy"], "did you mean 'greedy'"),
        (["ladder", "greedy", "--episode", "day"], "episode is 'day'; expected round or match"),
        (["ladder", "greedy", "--num-players", 5], "there is no ladder of rules 'pocket' for 5"),
        (["--agents", "runs/nowhere"], "no such file or folder"),
        (["--agents", "greedy", "--json", "nowhere/x.json"], "there is no folder nowhere"),
        (["--agents", "greedy", "--records", "nowhere/x"], "there is no folder nowhere"),
        (["--agents", "greedy", "--json", "."], "it is a folder"),
        (["--agents", "greedy", "--json", "/dev/full"], "cannot write /dev/full: No space left"),
        (["--agents", "greedy", "--records", "/dev/full"], "cannot write /dev/full: No space"),
        (["--agents", "greedy", "--json", "x" * 300], "File name too long"),
        (["--agents", "greedy", "--out", "x" * 300], "File name too long"),
        (["--resume", "x" * 300], "is no tournament"),
        (["--agents", "greedy", "--deals", 10**12], "deals is 1000000000000"),
        (["--agents", "greedy", "--chunk-deals", 10**12], "chunk_deals is 10"),
        (["--agents", "greedy", "--max-cycles", 10**20], "max_cycles is 10"),
        (["--agents", "greedy", "--max-rounds", 10**20], "max_rounds is 10"),
        (["--agents", "greedy", "--num-players", 10**20], "num_players is 10"),
        (["--agents", "greedy", "--seed", 2**64], "seed is 18446744073709551616"),
        (["--agents", "greedy", "--processes", 10**6], "processes is 1000000"),
        (["--agents", "greedy", "--trust"], "--trust is for --resume"),
        (["ladder", "greedy", "--deals", 10**12], "deals is 1000000000000"),
        (["ladder", "greedy", "--json", "nowhere/x.json"], "there is no folder nowhere"),
        (["ladder", "greedy", "--rules", "x" * 300], "unknown rules 'xxx"),
        (["ladder", "--measure", "--rules", "x.toml"], "cannot read x.toml: No such file"),
        (
            ["ladder", "greedy", "--rules", "pocket51"],
            "evaluate.py ladder --measure --rules pocket51",
        ),
        (["ladder", "greedy", "--num-players", 9], "num_players is 9"),
        (["compare"], "0 agents to compare; expected two different ones"),
        (["compare", "greedy", "greedy"], "1 agents to compare; expected two different ones"),
        (
            ["compare", "greedy", "first", "--field", "greedy"],
            "the field is 'greedy'; expected one",
        ),
        (["compare", "greedy", "first", "--field"], "the field is 'empty'; expected one"),
        (["compare", "gredy", "first"], "did you mean 'greedy'"),
        (["compare", "random", "first", "--deals", 1], "deals is 1; expected at least 2"),
        (["compare", "random", "first", "--episode", "day"], "episode is 'day'"),
        (["compare", "random", "first", "--json", "nowhere/x"], "there is no folder nowhere"),
        (
            ["--agents", "greedy", "first", "--design", "rivals"],
            "2 different agents for the design",
        ),
        (["--agents", "greedy", "--json", "x", "--records", "./x"], "two options name the file x"),
    ],
)
def test_bad_input_is_one_clear_line(run, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "own"))
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("pocket-uno evaluate: error: ")
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
    for option in (
        *(
            "agents",
            "rules",
            "num-players",
            "design",
            "deals",
            "seed",
            "episode",
            "sprt",
            "control",
        ),
        *("behavior", "processes", "ray", "out", "resume", "json", "csv", "html", "records"),
    ):
        assert f"--{option}" in out
    assert "greedy" in out


def test_a_failure_leaves_the_old_files(run, tmp_path, monkeypatch):
    result = tmp_path / "result.json"
    result.write_text("old")

    def interrupted(plan, workers, journal, on_progress, on_records):
        on_records(["half written"])
        raise KeyboardInterrupt

    monkeypatch.setattr(program, "run", interrupted)
    code, out, err = run(
        *("--agents", "greedy", "--json", result, "--records", tmp_path / "games.jsonl")
    )
    assert (code, out) == (130, "")
    assert "interrupted" in err
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]
    assert result.read_text() == "old"


def test_a_folder_gets_everything(run, tmp_path):
    out, records = tmp_path / "run", tmp_path / "games.jsonl"
    code, shown, err = run(
        *("--agents", "greedy", "random", "noisy:0.2", "--deals", 40, "--control", "--behavior"),
        *("--out", out, "--records", records),
    )
    assert (code, err) == (0, "")
    assert f"open {out / 'report.html'}" in shown
    assert max(map(len, shown.splitlines())) <= max(80, len(str(out)) * 2 + 40)
    for title in ("Ratings", "Behaviour", "Without the luck", "undecided, needs about"):
        assert title in shown
    files = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    names = ("payoff", "ratings", "behavior", "convergence")
    assert files == {
        *(".lock", "plan.json", "chunks.sqlite", "report.json", "report.html"),
        *("results.csv", "behavior.csv"),
        *(f"plots/{name}.{ending}" for name in names for ending in ("png", "svg")),
    }
    assert len(records.read_text().splitlines()) == 3 * 40 * 2
    page = (out / "report.html").read_text()
    assert page.count("<svg") == 4
    assert "noisy:0.2" in page
    # Nothing is loaded from anywhere.
    assert not re.search(r"""(src|href)\s*=\s*["'](?!#|data:)|@import|url\((?!#)""", page)
    report = json.loads((out / "report.json").read_text())
    assert report["comparisons"] == 3
    assert report["command"].startswith("evaluate.py --agents greedy random noisy:0.2 --rules")
    assert {agent["name"]: agent["kind"] for agent in report["agents"]} == {
        "greedy": "compiled",
        "random": "compiled",
        "noisy:0.2": "NoisyAgent",
    }
    assert report["behavior"]["random"]["uno_missed"] > report["behavior"]["greedy"]["uno_missed"]
    rows = list(csv.DictReader((out / "results.csv").read_text().splitlines()))
    assert [row["agent"] for row in rows][:2] == ["greedy", "random"]
    assert (
        float(rows[0]["win_rate_mean"]) == report["line_ups"][0]["figures"][0]["win_rate"]["mean"]
    )
    # The command in the report repeats its figures.
    code, _, _ = run(*shlex.split(report["command"])[1:], "--json", tmp_path / "again.json")
    again = json.loads((tmp_path / "again.json").read_text())
    assert again == report


def test_killed_and_resumed_it_ends_with_the_same_table(run, tmp_path):
    arguments = ["--agents", "noisy:0.3", "noisy:0.6", "--deals", "6000", "--chunk-deals", "40"]
    child = spawn(*arguments, "--out", tmp_path / "run", stdout=subprocess.DEVNULL)
    base = tmp_path / "run" / "chunks.sqlite"
    deadline = time.monotonic() + 120
    while not (base.exists() and base.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.02)
    killed = child.poll() is None
    child.kill()
    child.wait()
    assert not (tmp_path / "run" / "report.json").exists() or not killed
    code, resumed, _ = run("--resume", tmp_path / "run")
    assert code == 0
    code, whole, _ = run(*arguments)
    assert resumed.startswith(whole)
    if killed:
        assert chunks(tmp_path / "run") == 150
    code, longer, _ = run("--resume", tmp_path / "run", "--deals", 6100)
    assert "6,100 deals" in longer


def chunks(folder):
    """How many results there are; all of the plan beside them."""
    connection = sqlite3.connect(folder / "chunks.sqlite")
    found = connection.execute("select plan, count(*) from chunk group by plan").fetchall()
    connection.close()
    with DiskJournal(folder) as journal:
        assert [plan for plan, _ in found] == [journal.fingerprint]
    return found[0][1]


@pytest.mark.slow
def test_killed_at_any_moment_it_goes_on_to_the_same_table(run, tmp_path):
    arguments = ["--agents", "noisy:0.3", "noisy:0.6", "--deals", "20000", "--chunk-deals", "40"]
    folder, rng = tmp_path / "run", random.Random(7)
    kills = 0
    for _ in range(8):
        begun = (folder / "plan.json").exists()
        if not begun and folder.exists():
            assert {path.name for path in folder.iterdir()} <= {".lock"}
        options = ["--resume", folder] if begun else [*arguments, "--out", folder]
        child = spawn(*options, stdout=subprocess.DEVNULL)
        try:
            child.wait(rng.uniform(1, 8))
        except subprocess.TimeoutExpired:
            child.kill()
            kills += 1
        child.wait()
    assert kills > 3
    code, resumed, _ = run("--resume", folder)
    assert code == 0
    assert resumed.startswith(run(*arguments)[1])
    assert chunks(folder) == 500
    assert not list(folder.rglob("*.part"))


@pytest.mark.parametrize("again", [False, True], ids=["begun", "resumed"])
def test_one_of_several_processes_has_the_folder(run, tmp_path, again):
    folder = tmp_path / "run"
    seeds = (1, 1, 1) if again else (1, 2, 3)
    begin = ["--agents", "greedy", "noisy:0.5", "--out", folder, "--chunk-deals", 20]
    if again:
        assert run(*begin, "--seed", 1, "--deals", 40)[0] == 0
    children = []
    for seed in seeds:
        arguments = ["--resume", folder] if again else [*begin, "--seed", seed]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        children.append(spawn(*arguments, "--deals", 4000, **pipes))
    ended = [(child.communicate(timeout=120), child.returncode) for child in children]
    worked = [seed for seed, (_, code) in zip(seeds, ended, strict=True) if code == 0]
    assert len(worked) >= 1 if again else len(worked) == 1
    for (_, err), code in ended:
        if code:
            assert code == 2
            assert "by another process" in err or "is not empty" in err
            assert errors(err).count("\n") == 1
    report = json.loads((folder / "report.json").read_text())
    assert report["seed"] == read_plan(folder)[0].seed == worked[0]
    assert chunks(folder) == 200
    whole = ["--agents", "greedy", "noisy:0.5", "--chunk-deals", 20, "--deals", 4000]
    run(*whole, "--seed", worked[0], "--behavior", "--json", tmp_path / "whole.json")
    # Which packages are loaded depends on the tests before.
    assert json.loads((tmp_path / "whole.json").read_text()) | {"versions": 0} == report | {
        "versions": 0
    }


@pytest.mark.parametrize(
    ("agent", "runs"),
    [
        *(("greedy", False), ("noisy:0.1,strong", False), ("search:9,policy=strong", False)),
        *(("ppo:a:b", False), ("spiel:mcts:9", False), ("gredy", False), ("pocket-2p", False)),
        *(("import:os:getcwd", True), ("os:getcwd", True), ("not.there:at_all", True)),
        *(("noisy:0.1,os:getcwd", True), ("noisy:0.1,noisy:0.2,import:os:getcwd", True)),
        *(("search:9,policy=os:getcwd", True), ("ismcts:9,policy=noisy:0.1,os:getcwd", True)),
    ],
)
def test_names_that_would_run_code_are_known_without_running_it(agent, runs):
    assert runs_code(agent) == runs


@pytest.mark.parametrize("agent", ["{}:make", "import:{}:make", "noisy:0.5,{}:make"])
def test_the_folder_of_somebody_else_runs_no_code(run, tmp_path, monkeypatch, agent):
    spec = agent.format("own_agents")
    (tmp_path / "own_agents.py").write_text(
        "from pathlib import Path\n"
        "from pocket_uno_env.agents import load\n\n"
        f"Path({str(tmp_path / 'imported')!r}).touch()\n"
        "def make(): return load('greedy')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_agents", raising=False)
    folder = tmp_path / "run"
    begin = ("--agents", spec, "first", "--deals", 9, "--out", folder)
    assert run(*begin)[0] == 0  # named by whom it belongs to
    (tmp_path / "imported").unlink()
    sys.modules.pop("own_agents")
    for more in ([], ["--deals", 20]):
        code, out, err = run("--resume", folder, *more)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "add --trust" in err and repr(spec) in err
        assert not (tmp_path / "imported").exists()
    assert read_plan(folder)[0].deals == 9
    assert run("--resume", folder, "--trust")[0] == 0
    assert (tmp_path / "imported").exists()

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(program, "run", interrupted)
    assert f"--resume {folder} --trust goes on" in run("--resume", folder, "--trust")[2]
    again = (*begin[:-1], tmp_path / "other")
    assert f"--resume {tmp_path / 'other'} --trust goes on" in run(*again)[2]


@pytest.mark.parametrize("least", [1_000, 40_000, 400_000])
def test_a_full_disk_is_one_sentence_and_leaves_no_half_files(run, tmp_path, least):
    """No file may grow beyond so many bytes, which is what a process can be told."""
    folder, records = tmp_path / "run", tmp_path / "games.jsonl"
    records.write_text("old")
    begin = ["--agents", "greedy", "first", "--deals", 300, "--chunk-deals", 30]
    run(*begin[:3], "noisy:0.5", "--deals", 2, "--out", tmp_path / "warm", "--records", "/dev/null")
    child = spawn(
        *begin,
        *("--out", folder, "--records", records),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (least, least)),
    )
    out, err = child.communicate(timeout=120)
    err = errors(err)
    assert (child.returncode, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("evaluate.py: error: cannot write ")
    assert str(tmp_path) in err and "move it away" not in err
    assert not list(tmp_path.rglob("*.part"))
    assert records.read_text() == "old"
    assert all(path.stat().st_size for path in folder.rglob("*.*") if path.name != ".lock")
    # With room again it goes on, and ends as if nothing had been.
    again = ["--resume", folder] if (folder / "plan.json").exists() else [*begin, "--out", folder]
    code, resumed, _ = run(*again, "--records", records)
    assert code == 0
    code, whole, _ = run(*begin, "--records", tmp_path / "whole.jsonl")
    assert resumed.startswith(whole)
    assert records.read_text() == (tmp_path / "whole.jsonl").read_text()


def test_the_old_files_stay_where_the_new_ones_have_no_room(tmp_path):
    folder = tmp_path / "run"
    begin = ("--agents", "greedy", "first", "--deals", 30, "--out", folder)
    assert spawn(*begin, stdout=subprocess.DEVNULL).wait(120) == 0
    there = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    child = spawn(
        *("--resume", folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)),
    )
    out, err = child.communicate(timeout=120)
    err = errors(err)
    assert (child.returncode, out, err.count("\n")) == (2, "", 1)
    assert "cannot write" in err
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == there


def test_an_agent_against_itself_plays_once_and_has_no_interval(run, tmp_path):
    records = tmp_path / "games.jsonl"
    code, out, _ = run(
        *("--agents", "strong", "--deals", 30, "--control", "--behavior"),
        *("--records", records, "--out", tmp_path / "run"),
    )
    assert code == 0
    assert len(set(records.read_text().splitlines())) == 30
    assert "30 deals once each: equal agents repeat themselves" in " ".join(out.split())
    (row,) = [line for line in out.splitlines() if "50.0%" in line]
    assert [cell.strip() for cell in row.split("│")[3:7]][1] == "-"
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert report["rotations"] == report["line_ups"][0]["rotations"] == 1
    (figure,) = report["line_ups"][0]["figures"]
    assert figure["win_rate"] == {"mean": 0.5, "low": None, "high": None}
    assert report["behavior"]["strong"]["counts"]["rounds"] == 60
    code, out, _ = run("--agents", "random", "--deals", 3, "--records", records)
    assert len(set(records.read_text().splitlines())) == 6
    assert "in all 2 seat rotations" in " ".join(out.split())


def test_the_ladders_in_the_package_are_read_strictly(run, tmp_path, monkeypatch):
    from pocket_uno_env.evaluation import ladder

    monkeypatch.setattr(ladder, "FOLDER", tmp_path)
    file = tmp_path / "pocket-2p.json"
    for text, message in [
        ("{", "is not JSON"),
        ('{"format": "uno-ladder/1", "version": 1}', "missing required field `ratings`"),
        (
            '{"format": "uno-ladder/1", "version": 1, "ratings": {"greedy": 1000}}',
            "Expected `object`, got `int` - at `$.ratings[...]`",
        ),
        ('{"format": "uno-ladder/9", "version": 1, "ratings": {}}', "Invalid enum value"),
    ]:
        file.write_text(text)
        code, out, err = run("ladder", "greedy", "--deals", 9)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert f"the ladder {file} is damaged: " in err and message in err


@pytest.mark.parametrize(
    "about",
    [{}, {"rules": 1, "design": "auto", "margin": 0.01}, {"rules": "pocket", "cls": "x"}],
    ids=str,
)
def test_a_damaged_about_is_one_clear_line(run, tmp_path, about):
    folder = tmp_path / "run"
    run("--agents", "greedy", "random", "--deals", 9, "--out", folder)
    found = json.loads((folder / "plan.json").read_text())
    (folder / "plan.json").write_text(json.dumps({**found, "about": about}))
    code, _, err = run("--resume", folder)
    assert (code, err.count("\n")) == (2, 1)
    assert "plan.json is damaged: 'about'" in err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rules": "nonsense"}, "damaged: 'about': unknown rules 'nonsense'"),
        ({"rules": "classic"}, "damaged: 'about': rules is 'classic', but the plan has other"),
        ({"rules": "nonsense.toml"}, "does not belong to plan.json"),
        ({"design": "nonsense"}, "damaged: 'about': design is 'nonsense'"),
        ({"design": "gauntlet"}, "does not belong to plan.json"),
        ({"margin": 0.7}, "damaged: 'about': margin is 0.7"),
        ({"margin": 0.2}, "does not belong to plan.json"),
    ],
    ids=str,
)
def test_what_a_run_was_begun_with_cannot_be_changed_later(run, tmp_path, change, message):
    folder = tmp_path / "run"
    assert run("--agents", "greedy", "random", "--deals", 9, "--out", folder)[0] == 0
    report = (folder / "report.json").read_text()
    found = json.loads((folder / "plan.json").read_text())
    found["about"].update(change)
    (folder / "plan.json").write_text(json.dumps(found))
    code, _, err = run("--resume", folder)
    assert (code, err.count("\n")) == (2, 1) and message in err
    assert (folder / "report.json").read_text() == report


@pytest.mark.parametrize(
    ("name", "value"),
    [("rules", "classic"), ("seed", 0), ("sprt", "0.5,0.6"), ("margin", 0.2), ("design", "mixed")],
)
def test_a_run_goes_on_with_the_options_it_began_with(run, tmp_path, name, value):
    began = ["--agents", "greedy", "random", "--deals", 9, "--seed", 3, "--csv", tmp_path / "x"]
    assert run(*began, "--out", tmp_path / "run")[0] == 0
    code, out, err = run("--resume", tmp_path / "run", f"--{name}", value)
    assert (code, out) == (2, "")
    assert f"began with --{name}" in err
    assert run("--resume", tmp_path / "run", "--seed", 3)[0] == 0


@pytest.mark.parametrize(
    ("field", "value"), [("deals", "x"), ("seed", None), ("agents", 3), ("rules", []), ("sprt", 1)]
)
def test_a_damaged_plan_is_one_clear_line(run, tmp_path, field, value):
    folder = tmp_path / "run"
    run("--agents", "greedy", "random", "--deals", 9, "--out", folder)
    found = json.loads((folder / "plan.json").read_text())
    found["plan"][field] = value
    (folder / "plan.json").write_text(json.dumps(found))
    code, _, err = run("--resume", folder)
    assert (code, err.count("\n")) == (2, 1)
    assert "plan.json is damaged" in err


def test_names_break_at_commas(run):
    names = ["noisy:0.1,strong", "noisy:0.25,random-uno"]
    _, out, _ = run("--agents", *names, "--num-players", 3, "--deals", 40)
    cells = {cell.strip() for line in out.splitlines() for cell in line.split("│")[1:3]}
    assert {"0.1,", "noisy:0.1,", "noisy:0.1,strong"} & cells
    assert "random-uno" in cells
    assert max(map(len, out.splitlines())) <= 80


def test_what_the_figures_leave_out_is_said(run, tmp_path):
    page = tmp_path / "x.html"
    cheat = "noisy:0.9,clairvoyant:1"
    _, out, _ = run("--agents", cheat, "first", "--deals", 4, "--control", "--html", page)
    assert f"--control left out: draws are no surprise to {cheat}" in " ".join(out.split())
    assert "--control left out" in page.read_text()
    _, out, _ = run("--agents", "greedy", "first", "--deals", 40, "--sprt", "0.5,0.6")
    assert "ignore that the sequential test chose when to stop" in out


def test_an_interrupted_folder_says_how_to_go_on(run, tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(program, "run", interrupted)
    code, _, err = run("--agents", "greedy", "random", "--out", tmp_path / "run")
    assert code == 130
    assert f"--resume {tmp_path / 'run'} goes on" in err


def test_a_sequential_test_stops_early_and_says_what_it_found(run):
    code, out, _ = run("--agents", "strong", "first", "--sprt", "0.5,0.6", "--deals", 100_000)
    assert code == 0
    assert re.search(r"at least 60\.0% accepted after [\d,]+ deals", " ".join(out.split()))
    code, out, _ = run("--agents", "greedy", "challenger", "--sprt", "0.5,0.51", "--deals", 30)
    assert "not decided after 30 deals" in " ".join(out.split())


@pytest.mark.parametrize("seats", [2, 4])
def test_matches_and_mixed_tables(run, tmp_path, seats):
    code, out, _ = run(
        *("--agents", "greedy", "strong", "first", "--num-players", seats, "--design", "mixed"),
        *("--episode", "match", "--deals", 3, "--json", tmp_path / "x.json"),
    )
    assert code == 0
    report = json.loads((tmp_path / "x.json").read_text())
    assert ("openskill" in report["ratings"]) == (seats == 4)
    assert report["ratings"]["elo"].keys() == report["ratings"]["round_elo"].keys()
    assert max(map(len, out.splitlines())) <= 80


def test_matches_stand_beside_their_rounds(run, tmp_path):
    code, out, err = run(
        *("--agents", "greedy", "strong", "random-uno", "--episode", "match", "--deals", 40),
        *("--max-rounds", 9, "--control", "--out", tmp_path / "run"),
    )
    assert (code, err) == (0, "")
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert (report["episode"], report["max_rounds"]) == ("match", 9)
    agents = [load(name) for name in ("greedy", "strong", "random-uno")]
    expected = play("pocket", 2, agents, 40, 0, episode="match", max_rounds=9)
    for found, of in zip(report["line_ups"], expected, strict=True):
        assert found["matches"] == 80
        assert found["rounds"] == of.rounds.sum() > 80
        assert found["decisions_per_round"] == of.decisions.sum() / of.rounds.sum()
        for figure, number in zip(found["figures"], of.agents, strict=True):
            for key, rate in (
                ("win_rate", rate_estimate(of.win_rates(number))),
                ("round_win_rate", round_rate(of, number)),
                ("points_per_round", mean_estimate(of.mean_points(number))),
            ):
                assert figure[key] == {"mean": rate.mean, "low": rate.low, "high": rate.high}
            assert figure["win_rate"] != figure["round_win_rate"]
            assert figure["adjusted"].keys() == {"win_rate", "round_win_rate", "points_per_round"}
    last = [points[-1]["rounds"]["mean"] for points in report["convergence"]]
    first = [found["figures"][0]["round_win_rate"]["mean"] for found in report["line_ups"]]
    assert last == first

    # All columns at once, in 80 columns: matches, rounds, those without a winner, and verdicts.
    lines = out.splitlines()
    assert max(map(len, lines[:-1])) <= 80  # the last names the folder
    heads = [cell.strip() for cell in lines[2].split("┃")[1:-1]]
    shares = ["matches", "interval", "rounds", "interval"]
    assert heads == ["agent", "against", *shares, "points", "unwon", "verdict"]
    cells = [cell.strip() for cell in lines[4].split("│")[1:-1]]
    figure = report["line_ups"][0]["figures"][0]
    rates = [f"{figure[key]['mean']:.1%}" for key in ("win_rate", "round_win_rate")]
    assert [cells[2], cells[4]] == rates
    assert int(cells[7]) == report["line_ups"][0]["unwon"] > 0
    assert re.search(r"by matches ┃ +interval ┃ by rounds ┃ +interval", out)

    row = next(csv.DictReader((tmp_path / "run" / "results.csv").read_text().splitlines()))
    assert float(row["round_win_rate_mean"]) == figure["round_win_rate"]["mean"]
    assert (int(row["games"]), int(row["rounds"])) == (80, report["line_ups"][0]["rounds"])
    page = (tmp_path / "run" / "report.html").read_text()
    assert page.count("<svg") == 4
    assert "<th>matches</th><th>95 %</th><th>rounds</th><th>95 %</th>" in page
    for rate in rates:
        assert f"<td>{rate}</td>" in page
    # The command in the report repeats its figures, and its folder is gone on with.
    code, _, _ = run(*shlex.split(report["command"])[1:], "--json", tmp_path / "again.json")
    assert {**json.loads((tmp_path / "again.json").read_text()), "behavior": None} == {
        **report,
        "behavior": None,
    }
    code, resumed, _ = run("--resume", tmp_path / "run")
    assert (code, resumed) == (0, out)


def test_an_agent_against_itself_wins_its_share_of_matches_and_rounds(run, tmp_path):
    code, out, _ = run(
        *("--agents", "strong", "--episode", "match", "--deals", 5, "--json", tmp_path / "x.json")
    )
    assert code == 0
    (figure,) = json.loads((tmp_path / "x.json").read_text())["line_ups"][0]["figures"]
    for key in ("win_rate", "round_win_rate"):
        assert figure[key] == {"mean": 0.5, "low": None, "high": None}
    (row,) = [line for line in out.splitlines() if "50.0%" in line]
    assert [cell.strip() for cell in row.split("│")[3:7]] == ["50.0%", "-"] * 2


def test_a_page_and_figures_alone(run, tmp_path):
    files = ["--csv", tmp_path / "x.csv", "--html", tmp_path / "x.html"]
    code, _, _ = run("--agents", "greedy", "random", "--deals", 5, *files)
    assert code == 0
    assert "<svg" in (tmp_path / "x.html").read_text()
    assert len((tmp_path / "x.csv").read_text().splitlines()) == 3


def test_the_ladder_places_an_agent_of_ones_own(run, tmp_path, monkeypatch):
    (tmp_path / "my_agents.py").write_text(
        "from pocket_uno_env.agents import ObservationAgent\n\n"
        "class Last(ObservationAgent):\n"
        "    def __init__(self):\n"
        "        super().__init__('last', lambda seen, masks: masks.shape[1] - 1"
        " - masks[:, ::-1].argmax(axis=1))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    code, out, err = run(
        *("ladder", "my_agents:Last", "greedy", "--deals", 60, "--json", tmp_path / "x.json")
    )
    assert (code, err) == (0, "")
    found = json.loads((tmp_path / "x.json").read_text())
    assert f"version {found['version']}" in out
    ratings = {name: of["rating"] for name, of in found["agents"].items()}
    assert ratings["my_agents:Last"]["high"] < ratings["greedy"]["low"]
    assert ratings["greedy"]["low"] < found["rungs"]["greedy"]["mean"] < ratings["greedy"]["high"]
    assert found["agents"]["my_agents:Last"]["win_rates"].keys() == found["rungs"].keys()
    assert max(map(len, out.splitlines())) <= 80


def test_a_ladder_of_matches_has_the_rounds_beside(run, tmp_path, monkeypatch):
    from pocket_uno_env.evaluation import ladder

    monkeypatch.setattr(ladder, "FOLDER", tmp_path)
    monkeypatch.setattr(ladder, "RUNGS", ("random-uno", "greedy", "strong"))
    measure = ("ladder", "--measure", "--deals", 60)
    code, out, err = run(*measure)
    assert (code, err) == (0, "") and "by matches" in out and "by rounds" in out
    file = tmp_path / "pocket-2p.json"
    measured = json.loads(file.read_text())
    assert (measured["episode"], measured["version"]) == ("match", 1)
    assert measured["command"].endswith("--deals 60 --seed 0 --episode match")
    for names in ("ratings", "round_ratings"):
        assert measured[names]["strong"]["low"] > measured[names]["greedy"]["mean"] == 1000
    # The better agent wins more of the matches than of their rounds.
    pair = next(of for of in measured["win_rates"] if of["agents"] == ["greedy", "strong"])
    assert pair["mean"] < pair["rounds"]["low"] < pair["rounds"]["high"] < 0.5

    climb = ("ladder", "noisy:0.2,strong", "greedy", "--deals", 60, "--json", tmp_path / "x")
    code, out, err = run(*climb)
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    found = json.loads((tmp_path / "x").read_text())
    assert found["episode"] == "match"
    for kind in ("", "round_"):
        assert found[f"{kind}rungs"] == measured[f"{kind}ratings"]
        again = found["agents"]["greedy"][f"{kind}rating"]
        assert again["low"] < 1000 < again["high"]
        noisy = found["agents"]["noisy:0.2,strong"]
        assert noisy[f"{kind}rating"]["high"] < measured[f"{kind}ratings"]["strong"]["low"]
        assert noisy[f"{kind}win_rates"].keys() == measured["ratings"].keys()
    # By rounds alone, which takes less time, it is held against the ratings by rounds.
    code, out, _ = run(*climb, "--episode", "round")
    alone = json.loads((tmp_path / "x").read_text())
    assert code == 0 and "by rounds" not in out
    assert alone["rungs"] == measured["round_ratings"]
    one, other = (of["agents"]["greedy"] for of in (found, alone))
    assert other["rating"]["mean"] == pytest.approx(one["round_rating"]["mean"], abs=60)

    file.write_text(json.dumps({**measured, "round_ratings": {}}))
    code, _, err = run(*climb)
    assert code == 2 and "round_ratings are not of the same agents as ratings" in err
    file.write_text(json.dumps(measured))
    assert run(*measure, "--episode", "round")[0] == 0
    measured = json.loads(file.read_text())
    assert (measured["episode"], measured["version"]) == ("round", 2)
    assert "round_ratings" not in measured
    code, _, err = run(*climb, "--episode", "match")
    assert code == 2 and "was measured by rounds alone; expected --episode round, or" in err
    assert run(*climb)[0] == 0


def test_a_climb_goes_on_where_it_was(run, tmp_path, monkeypatch):
    climb = ("ladder", "greedy", "--deals", 300, "--json", tmp_path / "x.json")
    code, table, err = run(*climb)
    assert (code, err) == (0, "")
    whole = (tmp_path / "x.json").read_text()
    played, stop_after = [], 5

    def watched(plan, agents, task):
        if len(played) == stop_after:
            raise KeyboardInterrupt
        played.append(task)
        return play_task(plan, agents, task)

    monkeypatch.setattr("pocket_uno_env.evaluation.workers.play_task", watched)
    kept = ("--out", tmp_path / "kept")
    code, out, err = run(*climb, *kept)
    assert (code, out) == (130, "") and "the same command goes on with it" in err
    stop_after = None
    assert run(*climb, *kept)[:2] == (0, table)
    assert (tmp_path / "x.json").read_text() == whole
    assert len(played) == len(set(played)) == 2 * len(json.loads(whole)["rungs"]) - 2
    code, _, err = run(*climb, *kept, "--seed", 1)
    assert code == 2 and "was begun with other options" in err


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
    with pytest.raises(FileError, match="cannot write"), whole_file(path / "below"):
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
    part = tmp_path / f".games.jsonl.{child.pid}.part"
    deadline = time.monotonic() + 120
    while not (part.exists() and part.stat().st_size) and time.monotonic() < deadline:
        assert child.poll() is None
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (130, "")
    # It may have had to compile, and to say so and how far it was.
    assert err.endswith("evaluate.py: interrupted, no file was written\n")
    assert "Traceback" not in err
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


@pytest.mark.parametrize("arguments", [["--help"], ["--agents", "greedy", "--deals", 1]], ids=str)
def test_a_reader_that_has_seen_enough_hears_nothing(arguments):
    read, write = os.pipe()
    os.close(read)
    child = spawn(*arguments, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    _, err = child.communicate(timeout=60)
    assert err == ""
    # Older versions of tyro end --help with 0, whatever became of it.
    assert child.returncode == 141 or (child.returncode == 0 and arguments == ["--help"])
