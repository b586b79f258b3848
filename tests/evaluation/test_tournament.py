"""Tournaments in chunks: split, stopped, killed and resumed, always the same table."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import tracemalloc
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tournaments import make

from pocket_uno_env.agents import AgentError, ObservationAgent, load
from pocket_uno_env.evaluation import workers
from pocket_uno_env.evaluation.arena import play
from pocket_uno_env.evaluation.fingerprint import fingerprint
from pocket_uno_env.evaluation.games import COLUMNS, ArenaError
from pocket_uno_env.evaluation.journal import CHUNKS, PLAN, DiskJournal, JournalError, read_plan
from pocket_uno_env.evaluation.plan import Plan
from pocket_uno_env.evaluation.statistics.sprt import Sprt
from pocket_uno_env.evaluation.tournament import WorkersError, by_line_up, play_task, run
from pocket_uno_env.evaluation.workers import Automatic, Processes, ThisProcess
from pocket_uno_env.files import FileError


def same(some, others):
    """Whether two tables, each with its records, are one."""
    (some, records), (others, other_records) = some, others
    assert records == other_records
    for one, other in zip(some, others, strict=True):
        assert one.games.lineup == other.games.lineup
        assert one.games.names == other.games.names
        for name in COLUMNS:
            a, b = getattr(one.games, name), getattr(other.games, name)
            assert a.dtype == b.dtype
            assert np.array_equal(a, b)
        for name in ("behavior", "luck"):
            a, b = getattr(one, name), getattr(other, name)
            assert (a is None) == (b is None)
            assert a is None or np.array_equal(a, b)
    return True


def table(plan, workers, journal=None, **options):
    records = []
    keep = records.extend if plan.records else None
    return run(plan, workers, journal, on_records=keep, **options), records


def here(plan):
    return table(plan, ThisProcess(plan.load_agents()))


@pytest.fixture(scope="module")
def whole():
    """The table, uninterrupted, with everything kept."""
    return here(make(records=True, control=True))


class Interrupted(Exception):
    pass


class Breaking:
    """Workers that stop after some tasks, which they play in an odd order."""

    def __init__(self, agents, after):
        self.agents, self.after = agents, after

    def play(self, plan, tasks):
        for number, task in enumerate(sorted(tasks, key=lambda task: (task[1] * 7919) % 31)):
            if number == self.after:
                raise Interrupted
            yield task, play_task(plan, self.agents, task)


def test_it_plays_what_the_arena_plays(whole):
    plan = make()
    games = play("pocket", 2, plan.load_agents(), 30, 5)
    for one, other in zip(whole[0], games, strict=True):
        assert all(np.array_equal(getattr(one.games, f), getattr(other, f)) for f in COLUMNS)


@pytest.mark.parametrize("chunk", [1, 30, 256])
def test_the_size_of_chunks_does_not_matter(whole, chunk):
    parts, records = here(make(chunk=chunk, records=True, control=True))
    assert sorted(records) == sorted(whole[1])
    for one, other in zip(whole[0], parts, strict=True):
        assert np.array_equal(one.games.winner, other.games.winner)
        assert np.array_equal(one.behavior, other.behavior)
        assert np.allclose(one.luck, other.luck)


def test_interrupted_and_resumed_again_and_again(whole, tmp_path):
    plan = make(records=True, control=True)
    folder = tmp_path / "run"
    agents = plan.load_agents()
    breaks = 0
    first = plan
    while True:
        try:
            with DiskJournal(folder, first) as journal:
                assert journal.plan == plan
                results = table(journal.plan, Breaking(agents, 4), journal)
            break
        except Interrupted:
            breaks += 1
            first = None
    assert breaks == 3
    assert same(results, whole)
    with DiskJournal(folder) as journal:
        assert same(table(journal.plan, Breaking(agents, 0), journal), whole)
    assert json.loads((folder / PLAN).read_text())["plan"]["agents"] == list(plan.agents)


def test_matches_are_kept_with_the_rounds_won_in_them(tmp_path, capsys):
    plan = make(deals=14, episode="match")
    agents = plan.load_agents()
    expected = here(plan)
    assert all((of.games.rounds_won.sum(axis=2) > 1).all() for of in expected[0])
    with pytest.raises(Interrupted), DiskJournal(tmp_path, plan) as journal:
        run(plan, Breaking(agents, 3), journal)
    with DiskJournal(tmp_path) as journal:
        assert len(journal.done()) == 3
        assert same(table(plan, ThisProcess(agents), journal), expected)
        task, played = (0, 0, 7), journal.done()[0, 0, 7]
        more = replace(played.games, rounds_won=played.games.rounds_won + 1)
        journal.add(task, replace(played, games=more))
        assert task not in journal.done()  # more rounds won than played
    assert "line-up 0, deals 0 to 6 cannot be read" in capsys.readouterr().err


def test_progress_goes_on_where_it_was(tmp_path):
    plan = make()
    seen = []
    with pytest.raises(Interrupted), DiskJournal(tmp_path / "run", plan) as journal:
        run(plan, Breaking(plan.load_agents(), 2), journal)
    with DiskJournal(tmp_path / "run") as journal:
        run(plan, ThisProcess(plan.load_agents()), journal, lambda games, _: seen.append(games))
    assert seen[0] > 0
    assert seen[-1] == plan.games == 3 * 30 * 2
    assert seen == sorted(seen)


@pytest.mark.slow
def test_processes_play_the_same_and_may_be_killed(whole):
    plan = make(records=True, control=True)
    results = Processes(2).play(plan, plan.tasks())
    done = {}
    for task, played in results:
        done[task] = played
        if len(done) == 3:
            for process in workers.multiprocessing.active_children():
                os.kill(process.pid, signal.SIGKILL)
    records = [record for task in plan.tasks() for record in done[task].records]
    assert same((by_line_up(plan, done), records), whole)
    deadline = time.monotonic() + 10
    while workers.multiprocessing.active_children() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not workers.multiprocessing.active_children()


def test_processes_that_always_die_are_given_up(monkeypatch):
    monkeypatch.setattr(workers, "RESTARTS", 0)
    monkeypatch.setattr(workers, "_begin", os._exit)
    plan = make()
    with pytest.raises(WorkersError, match="died 1 times"):
        list(Processes(1).play(plan, plan.tasks()))


def test_long_work_is_shared_when_that_pays(whole, monkeypatch):
    shared = []

    class Others:
        def __init__(self, count):
            assert count == 2

        def play(self, plan, tasks):
            shared.extend(tasks)
            yield from ThisProcess(agents).play(plan, tasks)

    monkeypatch.setattr(workers, "Processes", Others)
    monkeypatch.setattr(workers, "available_processors", lambda: 2)
    plan = make(records=True, control=True)
    agents = plan.load_agents()
    assert same(table(plan, Automatic(agents)), whole)
    assert not shared
    monkeypatch.setattr(workers, "PATIENCE", 0)
    monkeypatch.setattr(workers, "WORTHWHILE", 0)
    assert same(table(plan, Automatic(agents)), whole)
    assert len(shared) == len(plan.tasks()) - 1
    shared.clear()
    agents[0].budget = 3
    run(plan, Automatic(agents))
    assert len(shared) == len(plan.tasks())


def test_a_sequential_test_ends_at_the_same_deal_however_it_is_played(tmp_path):
    plan = make(("strong", "first"), deals=4000, chunk=32, sprt=Sprt(0.5, 0.6), records=True)
    agents = plan.load_agents()
    found = table(plan, ThisProcess(agents))
    games = found[0][0].games
    used = games.deals
    assert 3 < used < 1000
    assert Sprt(0.5, 0.6).stop(games.win_rates(0)) == (used, "high")
    assert len(found[1]) == 2 * used

    class Backwards:
        def play(self, plan, tasks):
            some = tasks[: -(-used // 32) + 3]
            for task in reversed(some):
                yield task, play_task(plan, agents, task)

    with DiskJournal(tmp_path / "run", plan) as journal:
        assert same(table(plan, Backwards(), journal), found)
    with DiskJournal(tmp_path / "run") as journal:
        assert same(table(plan, Breaking(agents, 0), journal), found)


def test_a_sequential_test_wants_two_agents():
    with pytest.raises(ArenaError, match="compares two agents"):
        make(sprt=Sprt(0.5, 0.6))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"deals": 0}, "deals is 0"),
        ({"chunk_deals": 0}, "chunk_deals is 0"),
        ({"agents": ()}, "no"),
        ({"deals": 10**12}, "deals is 10"),
        ({"chunk_deals": 10**20}, "chunk_deals is 10"),
    ],
)
def test_plans_are_checked(fields, message):
    with pytest.raises(ArenaError, match=message):
        replace(make(), **fields)


def test_folders_that_cannot_be_used_are_refused(tmp_path):
    plan = make()
    with pytest.raises(JournalError, match=r"is no tournament: plan\.json is missing"):
        DiskJournal(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(JournalError, match="is not empty; choose another"):
        DiskJournal(tmp_path, plan)
    with pytest.raises(JournalError, match="cannot make the folder"):
        DiskJournal(tmp_path / "file", plan)
    DiskJournal(tmp_path / "run", plan).__exit__(None, None, None)
    with pytest.raises(JournalError, match="go on with it by --resume"):
        DiskJournal(tmp_path / "run", plan)
    with DiskJournal(tmp_path / "run"), pytest.raises(FileError, match="by another process"):
        DiskJournal(tmp_path / "run")
    for text in ("{}", '{"format": "uno-tournament/2", "plan": {}, "about": {}}'):
        (tmp_path / "run" / PLAN).write_text(text)
        with pytest.raises(JournalError, match=r"is of the format .*; start a new run"):
            read_plan(tmp_path / "run")
    (tmp_path / "run" / PLAN).write_text("{")
    with pytest.raises(JournalError, match="is not JSON"):
        read_plan(tmp_path / "run")


def test_a_run_may_be_extended(whole, tmp_path):
    plan = make(deals=17, records=True, control=True)
    with DiskJournal(tmp_path / "run", plan) as journal:
        run(plan, ThisProcess(plan.load_agents()), journal)
        with pytest.raises(JournalError, match="planned for 17 deals"):
            journal.extend(16)
    with DiskJournal(tmp_path / "run") as journal:
        journal.extend(30)
        assert len(journal.done()) == 3 * 2
        assert same(table(journal.plan, ThisProcess(plan.load_agents()), journal), whole)
    assert read_plan(tmp_path / "run")[0] == make(records=True, control=True)


def test_results_of_another_plan_are_refused(tmp_path):
    plan = make()
    with DiskJournal(tmp_path / "run", plan) as journal:
        run(plan, ThisProcess(plan.load_agents()), journal)
    base = sqlite3.connect(tmp_path / "run" / CHUNKS)
    base.execute("update chunk set count = 3 where first = 0")
    base.commit()
    base.close()
    with DiskJournal(tmp_path / "run") as journal, pytest.raises(JournalError, match="belong"):
        journal.done()


def test_results_of_another_plan_with_the_same_tasks_are_refused(tmp_path):
    """Of another seed, say: nothing but the fingerprint tells them apart."""
    for number, seed in enumerate((5, 6)):
        plan = make(seed=seed)
        with DiskJournal(tmp_path / str(number), plan) as journal:
            run(plan, ThisProcess(plan.load_agents()), journal)
    os.replace(tmp_path / "0" / CHUNKS, tmp_path / "1" / CHUNKS)
    with DiskJournal(tmp_path / "1") as journal, pytest.raises(JournalError, match="belong"):
        journal.done()


def test_a_half_begun_folder_is_begun_anew(tmp_path):
    """A kill before the plan was there leaves a lock and a part of a file."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / ".lock").touch()
    (folder / f".{PLAN}.4711.part").write_text("{")
    with DiskJournal(folder, make()) as journal:
        assert journal.done() == {}
    assert sorted(path.name for path in folder.iterdir()) == [".lock", CHUNKS, PLAN]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cls": 1}, "unknown field 'cls'"),
        ({"deals": "x"}, "Expected `int`, got `str` - at `deals`"),
        ({"deals": True}, "Expected `int`, got `bool` - at `deals`"),
        ({"deals": 10**12}, "deals is 1000000000000"),
        ({"deals": 10**8, "chunk_deals": 1}, "make 300,000,000 chunks"),
        ({"chunk_deals": 10**12}, "chunk_deals is 10"),
        ({"max_cycles": 10**20}, "max_cycles is 10"),
        ({"max_rounds": -1}, "max_rounds is -1"),
        ({"num_players": 10**20}, "num_players is 10"),
        ({"seed": -1}, "seed is -1"),
        ({"records": 1}, "Expected `bool`, got `int` - at `records`"),
        ({"agents": []}, "no agents"),
        ({"agents": ["greedy", "greedy", "first"]}, "an agent comes twice"),
        ({"agents": ["greedy", 3, "first"]}, r"at `agents\[1\]`"),
        ({"line_ups": []}, "no line-ups"),
        ({"line_ups": [[0, 7]]}, "should hold 2 numbers from 0 to 2"),
        ({"line_ups": [[0, 10**20]]}, "should hold 2 numbers"),
        ({"line_ups": [[[0, 1]]]}, r"at `line_ups"),
        ({"fingerprints": ["x"]}, "1 fingerprints for 3 agents"),
        ({"rotations": [3, 1, 1]}, "rotations are"),
        ({"rotations": [1]}, "rotations are"),
        ({"sprt": {"low": 0.5}}, "missing required field `high` - at `sprt`"),
        ({"sprt": {"low": 0.5, "high": 0.6, "cls": 1}}, "unknown field 'cls'"),
        ({"sprt": 1}, "at `sprt`"),
        ({"rules": []}, "at `rules`"),
        ({"rules": {"cls": 1}}, "cls"),
    ],
    ids=str,
)
def test_a_plan_that_says_something_else_names_the_field(tmp_path, change, message):
    DiskJournal(tmp_path, make()).__exit__(None, None, None)
    found = json.loads((tmp_path / PLAN).read_text())
    found["plan"].update(change)
    (tmp_path / PLAN).write_text(json.dumps(found))
    with pytest.raises(JournalError, match=message) as error:
        read_plan(tmp_path)
    assert str(error.value).startswith(f"{tmp_path / PLAN} is damaged: ")
    assert len(str(error.value)) < 600


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"format": 1, "format": 2}', "comes twice"),
        ('{"format": NaN}', "no JSON number"),
        ("[]", "is of the format"),
        ('{"format": "uno-tournament/3"}', "expected an object 'plan'"),
        ('{"format": "uno-tournament/3", "plan": [], "about": {}}', "expected an object 'plan'"),
        ('{"format": "uno-tournament/3", "plan": {}, "about": {}, "x": 1}', "expected nothing but"),
        ('{"format": "uno-tournament/3", "plan": {}, "about": {}}', "missing required field"),
        ("\xff", "not UTF-8"),
    ],
)
def test_a_plan_that_is_none_is_one_sentence(tmp_path, text, message):
    (tmp_path / PLAN).write_bytes(text.encode("latin-1"))
    with pytest.raises(JournalError, match=message):
        read_plan(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [PLAN]


def test_tables_that_are_others_are_not_used(tmp_path):
    """A view, say, that never ends."""
    plan = make()
    DiskJournal(tmp_path, plan).__exit__(None, None, None)
    base = sqlite3.connect(tmp_path / CHUNKS)
    base.executescript(
        "drop table chunk; create view chunk as with recursive r(line_up) as (select 1 union all "
        "select line_up + 1 from r) select line_up, 0 first, 7 count, '' plan, '' arrays, "
        "'' records from r"
    )
    base.close()
    with pytest.raises(JournalError, match="cannot be used"):
        DiskJournal(tmp_path)
    (tmp_path / CHUNKS).unlink()
    (tmp_path / CHUNKS).mkdir()
    with pytest.raises(JournalError, match=r"cannot write .*unable to open"):
        DiskJournal(tmp_path)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("arrays", zlib.compress(bytes(200_000_000), 9)),
        ("records", zlib.compress(b"x" * 200_000_000, 9)),
        ("records", zlib.compress(b"{}")),
        ("arrays", zlib.compress(b"\x7f" * 364)),
        ("arrays", 7),
        ("arrays", "text"),
        ("records", None),
    ],
    ids=["large", "long", "few", "impossible", "number", "text", "nothing"],
)
def test_chunks_of_somebody_else_are_bounded_and_checked(tmp_path, capsys, column, value):
    plan = make(("greedy", "first"), deals=7, records=True, behavior=False)
    with DiskJournal(tmp_path, plan) as journal:
        run(plan, ThisProcess(plan.load_agents()), journal)
        assert list(journal.done()) == [(0, 0, 7)]
    base = sqlite3.connect(tmp_path / CHUNKS)
    base.execute(f"update chunk set {column} = ?", (value,))
    base.commit()
    base.close()
    with DiskJournal(tmp_path) as journal:
        tracemalloc.start()
        assert journal.done() == {}
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
        tracemalloc.stop()
    assert "played again" in capsys.readouterr().err


def test_what_is_damaged_is_played_again(tmp_path, whole, capsys):
    plan = make(records=True, control=True)
    with DiskJournal(tmp_path / "run", plan) as journal:
        run(plan, ThisProcess(plan.load_agents()), journal)
    base = sqlite3.connect(tmp_path / "run" / CHUNKS)
    base.execute("update chunk set arrays = x'00' where line_up = 1 and first = 7")
    base.execute("update chunk set records = x'00' where line_up = 0 and first = 0")
    base.commit()
    base.close()
    with DiskJournal(tmp_path / "run") as journal:
        assert same(table(plan, ThisProcess(plan.load_agents()), journal), whole)
    said = capsys.readouterr().err
    assert said.count(CHUNKS) == 2
    assert "line-up 1, deals 7 to 13" in said
    (tmp_path / "run" / CHUNKS).write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    with pytest.raises(JournalError, match="move it away") as error, DiskJournal(tmp_path / "run"):
        pass
    assert "process" not in str(error.value)


@pytest.mark.slow
def test_processes_end_at_once_amid_a_task(tmp_path):
    """Tasks would take hours; Python's exit waits for none."""
    program = (
        "from tournaments import make\n"
        "from pocket_uno_env.evaluation.workers import Processes\n"
        "if __name__ == '__main__':\n"
        "    plan = make(('search:20ms', 'greedy'), deals=9001)\n"
        "    results = Processes(2).play(plan, [(0, 0, 1), (0, 1, 9000)])\n"
        "    next(results); results.close()\n"
    )
    (tmp_path / "program.py").write_text(program)
    support = str(Path(__file__).parents[1] / "support")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([support, os.environ.get("PYTHONPATH", "")])}
    subprocess.run([sys.executable, tmp_path / "program.py"], env=env, timeout=90, check=True)


def test_an_agent_that_has_changed_is_refused():
    agents = [load(name) for name in ("greedy", "noisy:0.2")]
    plan = replace(make(("greedy", "noisy:0.2")), fingerprints=tuple(map(fingerprint, agents)))
    plan.load_agents()
    assert Plan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan
    with pytest.raises(AgentError, match="not what it was"):
        replace(plan, fingerprints=(plan.fingerprints[0], "0" * 16)).load_agents()


def test_fingerprints_cover_weights_and_code():
    def one(observations, masks):
        return masks.argmax(axis=1)

    class Weighted(ObservationAgent):
        def __init__(self, weights):
            super().__init__("weighted", one)
            self.layers = [{"weights": weights}]

    prints = {
        fingerprint(agent)
        for agent in (
            load("greedy"),
            load("strong"),
            load("noisy:0.2"),
            load("noisy:0.3"),
            load("noisy:0.3,strong"),
            Weighted(np.zeros(3)),
            Weighted(np.zeros(3, np.float32)),
            Weighted(np.ones(3)),
        )
    }
    assert len(prints) == 8
    assert fingerprint(Weighted(np.ones(3))) == fingerprint(Weighted(np.ones(3)))
