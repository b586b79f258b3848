"""Whatever takes an array from outside refuses what it cannot take, and is then as it was."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import pocket_uno_env
from pocket_uno_env import Rules, pocket_uno_v0
from pocket_uno_env import rows as row_functions
from pocket_uno_env.agents import AgentError, load
from pocket_uno_env.agents.scripted.policies import Policy, act_rows
from pocket_uno_env.batch import Batch
from pocket_uno_env.engine.state import new_rows
from pocket_uno_env.engine.validity import check_rows
from pocket_uno_env.envs.gym_vector import PocketUnoVectorEnv
from pocket_uno_env.envs.learner_games import LearnerGames
from pocket_uno_env.observation import canonical
from pocket_uno_env.observation.blocks import observation_size
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.table import RULES_ROW

ROOT = Path(__file__).parents[2]
RULES, GAMES = Rules(), 6
N_ACTIONS, SIZE = len(catalogue(RULES)), observation_size(RULES, 2)


@dataclass
class Case:
    """A valid call: what is called, with which arrays, which of them it writes, what it changes."""

    call: Callable[..., Any]
    arrays: dict[str, Any]
    written: tuple[str, ...] = ()
    memory: tuple[np.ndarray, ...] = ()
    limits: dict[str, int] = field(default_factory=dict)
    optional: tuple[str, ...] = ()
    free: tuple[str, ...] = ()

    def bytes(self) -> tuple[bytes, ...]:
        return tuple(array.tobytes() for array in self.memory)


def dealt(count: int = GAMES) -> Any:
    rows = new_rows(count)
    row_functions.reset_rows(RULES, rows, 2, 5)
    return rows


def every() -> np.ndarray:
    return np.arange(GAMES)


def integers() -> np.ndarray:
    return np.zeros(GAMES, np.int64)


def legal_actions(rows: Any) -> np.ndarray:
    actions = integers()
    act_rows(RULES, rows.copy(), every(), Policy.FIRST, actions)
    return actions


def masks() -> np.ndarray:
    return np.zeros((GAMES, N_ACTIONS), np.int8)


def seen() -> np.ndarray:
    return np.zeros((GAMES, SIZE), np.float32)


def results() -> dict[str, np.ndarray]:
    return {
        "masks": masks(),
        "observations": seen(),
        "payoffs": np.zeros((GAMES, 2), np.float32),
        "ends": np.zeros(GAMES, np.uint8),
    }


def in_rows(function: Callable[..., Any], **more: Any) -> Case:
    rows = dealt()
    arrays = {"rows": rows, "index": every(), **more}
    return Case(
        lambda rows, index, **others: function(RULES, rows, index, **others),
        arrays,
        tuple(more),
        (rows,),
        {"index": GAMES},
        free=("rows",) if more else ("rows", "index"),
        optional=() if more else ("index",),
    )


def row_act() -> Case:
    case = in_rows(act_rows, policy=Policy.FIRST, actions=integers())
    case.arrays.pop("policy")
    case.call = lambda rows, index, actions: act_rows(RULES, rows, index, Policy.FIRST, actions)
    case.written = ("rows", "actions")
    return case


def row_step() -> Case:
    case = in_rows(row_functions.step_rows)
    case.arrays["actions"] = legal_actions(case.arrays["rows"])
    case.call = lambda rows, index, actions: row_functions.step_rows(
        RULES, rows, index, actions, 100
    )
    case.written, case.limits = ("rows",), {"index": GAMES, "actions": N_ACTIONS}
    return case


def row_reset() -> Case:
    rows = dealt()
    call = lambda rows: row_functions.reset_rows(RULES, rows, 2, 9)  # noqa: E731
    return Case(call, {"rows": rows}, ("rows",), (rows,), free=("rows",))


def batch(method: str) -> Case:
    made = Batch(GAMES)
    made.reset(3)
    if method == "reset":
        arrays = {"masks": masks(), "observations": seen()}
        return Case(
            lambda **a: made.reset(4, **a), arrays, tuple(arrays), (made.rows,), {}, tuple(arrays)
        )
    if method == "act":
        call, arrays = (lambda actions: made.act(Policy.FIRST, actions)), {"actions": integers()}
        return Case(call, arrays, ("actions",), (made.rows,))
    outcome = results()
    if method == "play":
        arrays = {"actions": integers(), **outcome}
        return Case(
            lambda **a: made.play(Policy.FIRST, **a), arrays, tuple(arrays), (made.rows,), {},
            tuple(outcome),
        )  # fmt: skip
    arrays = {"actions": legal_actions(made.rows), **outcome}
    return Case(
        lambda **a: made.step(**a), arrays, tuple(outcome), (made.rows,), {"actions": N_ACTIONS},
        tuple(outcome),
    )  # fmt: skip


def view(name: str) -> Case:
    tables = canonical.color_tables(RULES, 2)
    rows, observations, legal = dealt(), seen(), masks()
    row_functions.observe_rows(RULES, rows, every(), observations)
    row_functions.mask_rows(RULES, rows, every(), legal)
    orders = np.tile(np.arange(4), (GAMES, 1))
    if name == "to_view":
        arrays = {"observations": observations, "masks": legal, "orders": orders}
        return Case(lambda **a: canonical.to_view(tables, **a), arrays, tuple(arrays))
    out = "plain" if name == "plain_actions" else "viewed"
    arrays = {"orders": orders, "actions": legal_actions(rows), out: integers()}
    function = getattr(canonical, name)
    limits = {"actions": N_ACTIONS, "orders": 4}
    return Case(lambda **a: function(tables, **a), arrays, (out,), (), limits)


def learner_games() -> LearnerGames:
    games = LearnerGames(GAMES, RULES, 2, ["greedy", "random"], max_cycles=1000)
    games.start(np.uint64(1))
    games.look()
    return games


def learner(method: str) -> Case:
    games = learner_games()
    memory = (games.rows, games.books)
    arrays: dict[str, np.ndarray] = {"index": every()}
    limits = {"index": GAMES}
    if method in ("step", "legal"):
        arrays["actions"] = games.masks.argmax(axis=1)
        limits["actions"] = N_ACTIONS
    if method == "legal":
        arrays.pop("index")
        limits = {}  # it says of any number whether it is legal
    if method == "draw":
        arrays, limits = {"frequencies": np.array([1.0, 2.0])}, {}
    if method == "final":
        while not (games.ends != 0).any():
            games.look()
            games.step(every(), games.masks.argmax(axis=1))
        arrays = {"index": np.flatnonzero(games.ends != 0)}
    if method == "start":
        return Case(lambda index: games.start(np.uint64(1), index), arrays, (), memory, limits,
                    ("index",), ("index",))  # fmt: skip
    free = () if method == "step" else ("index",)
    return Case(getattr(games, method), arrays, (), memory, limits, free=free)


def vector_step() -> Case:
    env = PocketUnoVectorEnv(GAMES, illegal="raise")
    _, infos = env.reset(seed=1)
    arrays = {"actions": infos["action_mask"].argmax(axis=1)}
    return Case(env.step, arrays, (), (env.games.rows, env.games.books), {"actions": N_ACTIONS})


def vec_step() -> Case:
    sb3_env = pytest.importorskip("pocket_uno_env.envs.sb3")
    env = sb3_env.LearnerVecEnv(GAMES, seed=1)
    env.reset()
    arrays = {"actions": env.action_masks().argmax(axis=1)}
    return Case(
        env.step_async, arrays, (), (env.games.rows, env.games.books), {"actions": N_ACTIONS}
    )


CASES: dict[str, Callable[[], Case]] = {
    "policies.act_rows": row_act,
    **{f"batch.Batch.{name}": lambda n=name: batch(n) for name in ("reset", "step", "act", "play")},
    **{
        f"canonical.{name}": lambda n=name: view(n)
        for name in ("to_view", "plain_actions", "view_actions")
    },
    **{
        f"learner_games.LearnerGames.{name}": lambda n=name: learner(n)
        for name in ("start", "step", "copies", "draw", "redeal", "final", "legal")
    },
    "rows.reset_rows": row_reset,
    "rows.step_rows": row_step,
    "rows.mask_rows": lambda: in_rows(row_functions.mask_rows, masks=masks()),
    "rows.observe_rows": lambda: in_rows(row_functions.observe_rows, observations=seen()),
    "sb3.LearnerVecEnv.step_async": vec_step,
    "validity.check_rows": lambda: in_rows(
        lambda rules, rows, index: check_rows(rules, rows, index=index)
    ),
    "gym_vector.PocketUnoVectorEnv.step": vector_step,
}
ELSEWHERE = {
    # They hand their arrays to NumPy alone, which checks.
    "actions.Catalogue.legal_names", "behavior.profile", "estimates.mean_estimate",
    "estimates.rate_estimate", "estimates.ratio_blocks", "kernel.as_record", "kernel.as_rows",
    "luck_adjustment.adjusted",
    "luck_adjustment.adjusted_estimate", "luck_adjustment.places_luck", "mlp.pack_layers",
    "race.race_table", "ratings.Tables.totals", "ratings.anchored",
    "rows.illegal_action", "rows.legal_names", "rows.readable", "seat_view.named",
    "sprt.Sprt.path", "sprt.Sprt.stop",
    "verdicts.verdict",
    # The deck as `reset_options.read_options` checks it; a checkpoint, which is checked as a whole.
    "record.deal_entry", "learner_books.check_books", "learner_games.LearnerGames.check_state",
    "sb3.LearnerVecEnv.set_state",
    # It makes whole numbers of its own of them (tests/equity/test_tables.py).
    "tables.match_equity",
    # tests/datasets/test_dataset.py
    "npz.Dataset.batch",
    # They hand over to `Batch`.
    "rllib_batch.BatchGames.act", "rllib_batch.as_input",
}  # fmt: skip


def public_functions() -> Iterator[tuple[str, FunctionType]]:
    """The public functions and methods of the package, but for agents, programs and training."""
    for found in pkgutil.walk_packages(pocket_uno_env.__path__, "pocket_uno_env."):
        *_, package, short = found.name.split(".")
        if found.ispkg or short.startswith("_") or package in ("training", "play", "web"):
            continue
        try:
            module = importlib.import_module(found.name)
        except ImportError:  # a library that is not installed here
            continue
        for name, value in vars(module).items():
            if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
                continue
            if isinstance(value, FunctionType):
                yield f"{short}.{name}", value
            elif inspect.isclass(value):
                for method, function in vars(value).items():
                    if isinstance(function, FunctionType) and not method.startswith("_"):
                        yield f"{short}.{name}.{method}", function


def takes_an_array(function: FunctionType) -> bool:
    given = {k: v for k, v in function.__annotations__.items() if k != "return"}
    return any("ndarray" in str(annotation) for annotation in given.values())


def test_every_public_function_that_takes_an_array_is_tried_here() -> None:
    found = {name for name, function in public_functions() if takes_an_array(function)}
    assert found - ELSEWHERE <= set(CASES), f"no case for {sorted(found - ELSEWHERE - set(CASES))}"
    # `check_rows` is named by its `str | Rules | np.ndarray`; every case is still there.
    assert set(CASES) - {"policies.act_rows", "sb3.LearnerVecEnv.step_async"} <= found


def another_dtype(array: np.ndarray) -> np.ndarray:
    if array.dtype.names:
        return np.zeros(len(array), RULES_ROW)
    return array.astype(np.complex128 if array.dtype == np.float64 else np.float64)


def strided(array: np.ndarray) -> np.ndarray:
    wide = np.repeat(array, 2, axis=-1)
    return wide[..., ::2]


def read_only(array: np.ndarray) -> np.ndarray:
    copy = array.copy()
    copy.setflags(write=False)
    return copy


WRONG: dict[str, Callable[[np.ndarray], Any]] = {
    "dtype": another_dtype,
    "short": lambda a: a[:-1],
    "long": lambda a: np.concatenate([a, a]),
    "flat": lambda a: a.ravel()[:-1],
    "deep": lambda a: a[None],
    "none": lambda a: a[:0],
    "scalar": lambda a: a.ravel()[0],
    "text": lambda a: "rows",
    "list": lambda a: [None, "x"],
    "missing": lambda a: None,
}

COUNTS = ("short", "long", "flat", "none")
"""Arrays of another length, where the rest is as it should be."""


def swapped(array: np.ndarray) -> np.ndarray:
    return array.astype(array.dtype.newbyteorder(">"))


def attempt(case: Case, name: str, value: Any) -> Exception | None:
    try:
        case.call(**{**case.arrays, name: value})
    except (ValueError, IndexError, TypeError) as error:
        return error
    return None


def refused(make: Callable[[], Case], name: str, value: Any, what: str) -> None:
    case = make()
    before = case.bytes()
    error = attempt(case, name, value(case) if callable(value) else value)
    assert error is not None, f"{name}, {what}: nothing was said"
    assert case.bytes() == before, f"{name}, {what}: {error}, and yet something changed"
    assert len(str(error)) > 15, error


@pytest.mark.parametrize("name", CASES)
def test_arrays_of_another_form_are_refused(name: str) -> None:
    make = CASES[name]
    reference = make()
    reference.call(**reference.arrays)  # the case itself is valid
    for array in reference.arrays:
        for what, spoil in WRONG.items():
            value = spoil(make().arrays[array])
            if what in COUNTS and array in reference.free:
                continue  # fewer or more games are games, too
            if what == "missing" and array in reference.optional:
                continue
            refused(make, array, value, what)


@pytest.mark.parametrize("name", CASES)
def test_what_cannot_be_written_is_refused_and_what_is_read_may_lie_as_it_likes(name: str) -> None:
    make = CASES[name]
    plain = make()
    plain.call(**plain.arrays)
    for array in plain.arrays:
        others = {"strided": strided, "read-only": read_only, "swapped": swapped}
        for what, other in others.items():
            if what == "swapped" and plain.arrays[array].itemsize == 1:
                continue  # a byte has no order
            if array in plain.written:
                refused(make, array, other(make().arrays[array]), what)
                continue
            case = make()
            before = case.bytes()
            error = attempt(case, array, other(case.arrays[array]))
            after = before if error else plain.bytes()
            assert case.bytes() == after, f"{array}, {what}: {error}"


@pytest.mark.parametrize("name", CASES)
def test_arrays_that_share_memory_are_refused(name: str) -> None:
    make = CASES[name]
    case = make()
    tried = 0
    for array in case.written:
        for other in {*case.arrays, "memory"} - {array}:

            def shared(made: Case, array: str = array, other: str = other) -> np.ndarray:
                own = made.arrays[array]
                foreign = made.memory[0] if other == "memory" else made.arrays[other]
                memory = foreign.reshape(-1).view(np.uint8)
                return memory[: own.nbytes].view(own.dtype).reshape(own.shape)

            if other == "memory" and (array == "rows" or not case.memory):
                continue
            foreign = case.memory[0] if other == "memory" else case.arrays[other]
            if foreign.nbytes < case.arrays[array].nbytes or "rows" in (array,):
                continue
            if {array, other} == {"plain", "actions"} or {array, other} == {"viewed", "actions"}:
                continue  # in place
            if name == "batch.Batch.step" and other == "actions":
                continue  # they are copied first
            tried += 1
            refused(make, array, shared, f"shares memory with {other}")
    few = {"rows", "plain", "viewed", "observations"}  # what is larger than all that it could share
    assert tried or set(case.written) <= few


@pytest.mark.parametrize("name", [name for name, make in CASES.items() if make().limits])
def test_numbers_that_are_out_of_range_are_refused(name: str) -> None:
    make = CASES[name]
    for array, limit in make().limits.items():
        for number in (-1, limit, limit + 1, 999_999, 2**62, -(2**62)):
            spoiled = make().arrays[array].copy()
            spoiled.reshape(-1)[-1] = number
            refused(make, array, spoiled, str(number))


def test_rows_that_are_no_games_are_refused() -> None:
    rng = np.random.default_rng(0)
    index, one = every(), np.zeros((1, SIZE), np.float32)
    fresh, over = new_rows(GAMES), dealt()
    over["end"], over["phase"], over["to_act"] = 3, 10, 255
    classic = new_rows(GAMES)
    row_functions.reset_rows(Rules.preset("classic"), classic, 2, 1)
    for rows in (fresh, over, classic):
        before = rows.tobytes()
        for call in (
            lambda rows=rows: row_functions.observe_rows(RULES, rows, index, seen()),
            lambda rows=rows: row_functions.step_rows(RULES, rows, index, integers() + 60, 100),
            lambda rows=rows: act_rows(RULES, rows, index, Policy.STRONG, integers()),
        ):
            with pytest.raises(ValueError, match="row 0 is no game to go on with"):
                call()
        assert rows.tobytes() == before
    random = noticed = 0
    sound = dealt(1)
    for _ in range(3000):
        rows = sound.copy()
        place = int(rng.integers(rows.nbytes))
        rows.view(np.uint8)[place] ^= np.uint8(1 << rng.integers(8))
        random += 1
        try:
            row_functions.observe_rows(RULES, rows, np.zeros(1, np.int64), one)
        except ValueError:
            noticed += 1
    assert noticed > random / 10  # the others changed seeds, scores, unused bytes or who knows
    for _ in range(300):
        rows = np.frombuffer(rng.bytes(sound.nbytes), sound.dtype).copy()
        with pytest.raises(ValueError, match="no game"):
            row_functions.observe_rows(RULES, rows, np.zeros(1, np.int64), one)


def test_a_game_may_be_named_twice_to_look_at_but_not_to_step() -> None:
    rows, index = dealt(), np.array([1, 1])
    twice = np.zeros((2, N_ACTIONS), np.int8)
    row_functions.mask_rows(RULES, rows, index, twice)
    assert (twice[0] == twice[1]).all() and twice.any()
    before = rows.tobytes()
    with pytest.raises(ValueError, match=r"index\[1\] is 1, which stands there before"):
        row_functions.step_rows(RULES, rows, index, twice.argmax(axis=1), 100)
    assert rows.tobytes() == before


def test_the_table_of_rules_cannot_be_written_and_copies_of_it_do_not_count() -> None:
    table = RULES.table
    for write in (
        lambda: table.__setitem__("hand_size", 99),
        lambda: table["copies"].__setitem__(0, 9),
        lambda: table.setflags(write=True),
    ):
        with pytest.raises(ValueError, match=r"read-only|WRITEABLE"):
            write()
    assert Rules().table["hand_size"] == 5
    rows, legal = dealt(), masks()
    row_functions.mask_rows(table, rows, every(), legal)
    expected = legal.copy()
    row_functions.mask_rows(RULES, rows, every(), legal)
    assert (legal == expected).all()
    for wrong in (table.copy(), np.zeros(1, RULES_ROW), table[0], "pocket", None, RULES._table):
        with pytest.raises(TypeError, match="expected Rules"):
            row_functions.mask_rows(wrong, rows, every(), legal)


def test_there_is_nothing_to_decide_before_the_first_reset() -> None:
    env = pocket_uno_v0.env()
    for name in ("first", "greedy", "random"):
        with pytest.raises(AgentError, match=r"no game yet.*reset"):
            load(name).act(env)
    games = LearnerGames(2, RULES, 2, ["greedy"], max_cycles=1000)
    for call in (games.look, lambda: games.ask(load("greedy")), lambda: games.redeal(np.arange(2))):
        with pytest.raises(RuntimeError, match="reset"):
            call()


def test_what_documents_show_is_no_kernel() -> None:
    """Kernels check nothing: no page imports one."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.py")]
    seen = 0
    for page in pages:
        text = page.read_text("utf-8")
        for module, names in re.findall(
            r"^\s*from (pocket_uno_env[\w.]*) import ([\w, ]+)$", text, re.MULTILINE
        ):
            try:
                found = importlib.import_module(module)
            except ImportError:
                continue
            for name in re.findall(r"\w+", names):
                seen += 1
                value = getattr(found, name, None)
                assert not hasattr(value, "py_func"), f"{page.name} shows the kernel {name}"
    assert seen > 40
