"""The batch: buffers, autoreset, payoffs, independence of its size, errors."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import pytest
from games import every_game

from pocket_uno_env import Rules
from pocket_uno_env.agents.scripted.policies import Policy
from pocket_uno_env.batch import Batch
from pocket_uno_env.observation.encoders import COMPACT_SCALE
from pocket_uno_env.rules.phases import End


def buffers(batch: Batch, dtype: Any = np.float32) -> tuple[np.ndarray, np.ndarray]:
    masks = np.ones((batch.num_games, batch.n_actions), np.int8)
    return masks, np.ones((batch.num_games, batch.observation_size), dtype)


@pytest.mark.parametrize(("rules", "num_players"), every_game())
def test_compact_observations_are_the_float_ones_scaled(rules: Rules, num_players: int) -> None:
    batch, twin = Batch(16, rules, num_players), Batch(16, rules, num_players)
    masks, exact = buffers(batch)
    twin_masks, compact = buffers(twin, np.uint8)
    batch.reset(3, masks, exact)
    twin.reset(3, twin_masks, compact)
    actions = np.zeros(16, np.int64)
    for _ in range(60):
        assert (masks == twin_masks).all() and masks.any(axis=1).all()
        assert (compact == np.floor(exact * np.float32(COMPACT_SCALE) + 0.5)).all()
        batch.act(Policy.RANDOM, actions)
        batch.step(actions, masks, exact)
        twin.act(Policy.RANDOM, actions)
        twin.step(actions, twin_masks, compact)
    assert batch.rows.tobytes() == twin.rows.tobytes()


def play(num_games: int, steps: int, seed: int = 5, **kwargs: Any) -> tuple[np.ndarray, ...]:
    batch = Batch(num_games, num_players=3, **kwargs)
    batch.reset(seed)
    actions = np.zeros(num_games, np.int64)
    payoffs = np.full((num_games, 3), 9, np.float32)
    ends = np.full(num_games, 9, np.uint8)
    paid, ended = [], []
    for _ in range(steps):
        batch.act(Policy.GREEDY, actions)
        batch.step(actions, payoffs=payoffs, ends=ends)
        paid.append(payoffs.copy())
        ended.append(ends.copy())
    return batch.rows, np.array(paid), np.array(ended)


def test_a_game_does_not_depend_on_the_number_of_games() -> None:
    rows, paid, ended = play(32, 200)
    few_rows, few_paid, few_ended = play(5, 200)
    assert rows[:5].tobytes() == few_rows.tobytes()
    assert (paid[:, :5] == few_paid).all() and (ended[:, :5] == few_ended).all()


def everything(batch: Batch) -> tuple[np.ndarray, ...]:
    """All that 300 decisions of a batch write, by `Batch.play`."""
    masks, observations = buffers(batch, np.uint8)
    actions, ends = np.zeros(batch.num_games, np.int64), np.zeros(batch.num_games, np.uint8)
    payoffs = np.zeros((batch.num_games, batch.num_players), np.float32)
    batch.reset(9, masks, observations)
    written = []
    for _ in range(300):
        batch.play(Policy.GREEDY, actions, masks, observations, payoffs, ends)
        written.append([b.copy() for b in (actions, masks, observations, payoffs, ends)])
    return tuple(np.array(each) for each in zip(*written, strict=True))


@pytest.mark.parametrize("num_games", [1, 2, 7, 64])
@pytest.mark.parametrize("threads", [2, 3, 100])
def test_threads_change_nothing(num_games: int, threads: int) -> None:
    one, many = Batch(num_games), Batch(num_games, threads=threads)
    for serial, parallel in zip(everything(one), everything(many), strict=True):
        assert np.array_equal(serial, parallel)
    assert one.rows.tobytes() == many.rows.tobytes()


def test_play_is_act_and_step() -> None:
    one, two = Batch(40, num_players=3), Batch(40, num_players=3)
    one.reset(3)
    two.reset(3)
    did, chosen = np.zeros(40, np.int64), np.zeros(40, np.int64)
    for _ in range(200):
        assert (one.to_act == one.rows["to_act"]).all()
        one.play(Policy.RANDOM, did)
        two.act(Policy.RANDOM, chosen)
        two.step(chosen)
        assert (did == chosen).all()
    assert one.rows.tobytes() == two.rows.tobytes()


def test_errors_with_threads() -> None:
    batch = Batch(40, threads=2)
    with pytest.raises(RuntimeError, match="reset"):
        batch.play(Policy.RANDOM, np.zeros(40, np.int64))
    batch.reset(1)
    with pytest.raises(ValueError, match="policy"):
        batch.play(77, np.zeros(40, np.int64))  # type: ignore[arg-type]
    actions, before = np.zeros(40, np.int64), batch.rows.tobytes()
    batch.act(Policy.FIRST, actions)
    actions[39] = -1
    with pytest.raises(ValueError, match="game 39"):
        batch.step(actions)
    assert batch.rows.tobytes() == before


@pytest.mark.parametrize("reward", ["win", "points"])
def test_payoffs_are_zero_sum_and_paid_when_a_round_ends(reward: str) -> None:
    _, paid, ended = play(32, 300, reward=reward)
    assert (ended == End.OUT).sum() > 50
    assert np.allclose(paid.sum(axis=2), 0, atol=1e-6)
    assert ((paid != 0).any(axis=2) == (ended == End.OUT)).all()
    if reward == "win":
        assert set(np.unique(paid)) == {-0.5, 0, 1}


def test_finished_games_are_dealt_anew_with_other_cards() -> None:
    rows, _, ended = play(8, 400)
    assert (ended != End.RUNNING).any(axis=0).all()
    assert (rows["end"] == End.RUNNING).all() and (rows["decisions"] < 400).all()
    hands = {rows["hand_kinds"][i].tobytes() for i in range(8)}
    assert len(hands) == 8


def test_a_cap_truncates() -> None:
    _, paid, ended = play(4, 10, max_cycles=3)
    assert (ended[2::3] == End.TRUNCATED).all() and not paid.any()


def test_an_illegal_action_changes_nothing_and_is_named() -> None:
    batch = Batch(4)
    batch.reset(1)
    actions = np.zeros(4, np.int64)
    batch.act(Policy.RANDOM, actions)
    before = batch.rows.tobytes()
    for bad in (-1, batch.n_actions, 64):  # 64: accept, or some other move without a card
        wrong = actions.copy()
        wrong[2] = bad
        with pytest.raises(ValueError, match=rf"action {bad}.* game 2, phase 'play'; legal: "):
            batch.step(wrong)
    assert batch.rows.tobytes() == before


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda b: b.step(np.zeros(3, np.int64)), ["actions", "(4,)"]),
        (lambda b: b.step(np.zeros(4)), ["actions", "int64"]),
        (lambda b: b.reset(0, np.zeros((4, 5), np.int8)), ["masks", "(4, 123)"]),
        (lambda b: b.reset(0, None, np.zeros((4, 338))), ["observations", "float32 or uint8"]),
        (lambda b: b.reset(0, np.zeros((123, 4), np.int8).T), ["masks", "contiguous"]),
        (lambda b: b.step(np.zeros(4, np.int64), ends=np.zeros(4)), ["ends", "uint8"]),
    ],
)
def test_wrong_buffers(call: Any, words: list[str]) -> None:
    batch = Batch(4)
    batch.reset(1)
    with pytest.raises(ValueError) as error:
        call(batch)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_bad_arguments_and_no_reset() -> None:
    wrong = ({"num_games": 0}, {"num_games": 4, "max_cycles": 0}, {"num_games": 4, "threads": 0})
    for kwargs in wrong:
        with pytest.raises(ValueError, match="expected a whole number"):
            Batch(**kwargs)
    with pytest.raises(ValueError, match="reward"):
        Batch(4, reward="score")
    with pytest.raises(RuntimeError, match="reset"):
        Batch(4).step(np.zeros(4, np.int64))


def test_act_checks_its_buffer_and_policy() -> None:
    batch = Batch(50)
    with pytest.raises(RuntimeError, match="reset"):
        batch.act(Policy.RANDOM, np.zeros(50, np.int64))
    batch.reset(1)
    big = np.full(100, -7)
    for wrong in (
        big[:1],
        big[:50].astype(np.int32),
        big[::2][:49],
        np.zeros((50, 2), np.int64),
        None,
    ):
        with pytest.raises(ValueError, match="actions"):
            batch.act(Policy.RANDOM, wrong)  # type: ignore[arg-type]
    assert (big == -7).all()
    for policy in (99, -1, 1.5):
        with pytest.raises(ValueError, match="policy"):
            batch.act(policy, np.zeros(50, np.int64))  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, True, None])
def test_bad_seeds(seed: Any) -> None:
    with pytest.raises(ValueError, match="seed"):
        Batch(2).reset(seed)


@pytest.mark.parametrize("threads", [1, 2])
def test_any_buffers_may_follow_any_others(threads: int) -> None:
    """What was checked for the last call says nothing about the arrays of this one."""
    batch, twin = Batch(6, threads=threads), Batch(6)
    batch.reset(2)
    twin.reset(2)
    rng = np.random.default_rng(0)
    kept: dict[str, np.ndarray] = {}
    for _ in range(200):
        new = {
            "masks": np.ones((6, 123), np.int8),
            "observations": np.ones((6, 338), rng.choice([np.float32, np.uint8])),
            "payoffs": np.ones((6, 2), np.float32),
            "ends": np.ones(6, np.uint8),
        }
        kept = {
            name: new[name] if rng.random() < 0.3 else kept.get(name, new[name]) for name in new
        }
        given = {name: kept[name] for name in new if rng.random() < 0.7}
        expected = {name: np.zeros_like(array) for name, array in given.items()}
        actions, right = np.zeros(6, np.int64), np.zeros(6, np.int64)
        twin.act(Policy.GREEDY, right)
        twin.step(right, **expected)
        if rng.random() < 0.5:
            batch.play(Policy.GREEDY, actions, **given)
        else:
            batch.act(Policy.GREEDY, actions)
            batch.step(actions, **given)
        assert (actions == right).all()
        for name, array in given.items():
            assert (array == expected[name]).all()
    assert batch.rows.tobytes() == twin.rows.tobytes()


@pytest.mark.parametrize("call", ["play", "step"])
def test_an_array_that_changed_its_form_since_the_last_call(call: str) -> None:
    batch = Batch(4)
    batch.reset(1)
    actions = np.zeros(4, np.int64)
    masks, observations = buffers(batch)

    def go() -> None:
        batch.act(Policy.GREEDY, actions)
        if call == "step":
            batch.step(actions, masks, observations)
        else:
            batch.play(Policy.GREEDY, actions, masks, observations)

    go()
    masks.setflags(write=False)
    before = batch.rows.tobytes(), masks.tobytes()
    with pytest.raises(ValueError, match="masks must be C-contiguous, aligned and writeable"):
        go()
    assert (batch.rows.tobytes(), masks.tobytes()) == before
    masks.setflags(write=True)
    go()
    with pytest.raises(ValueError, match="resize"):  # a batch holds on to what it writes
        observations.resize((1, 1))
    copied = copy.deepcopy(batch)
    go()
    assert copied.rows.tobytes() != batch.rows.tobytes()


def test_new_arrays_in_each_call_find_the_code_that_is_there(monkeypatch: Any) -> None:
    batch, actions = Batch(3), np.zeros(3, np.int64)
    batch.reset(1)
    batch.play(Policy.RANDOM, actions, *buffers(batch))
    monkeypatch.setattr("pocket_uno_env.batch.entry", None)  # which takes a thousand decisions
    for _ in range(3):
        batch.play(Policy.RANDOM, np.zeros(3, np.int64), *buffers(batch))


def test_an_array_that_was_changed_in_place_is_looked_at_again() -> None:
    batch = Batch(64)
    batch.reset(1)
    actions = np.zeros(64, np.int64)

    def seen() -> np.ndarray:
        return np.zeros((64, batch.observation_size), np.float32)

    def reshape(array: np.ndarray) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy advises against it
            array.shape = array.shape[::-1]

    def retype(array: np.ndarray) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array.dtype = np.int32

    changes = (lambda a: a.resize((1, 8), refcheck=False), reshape, retype)
    for change in changes:
        observations = seen()
        batch.play(Policy.GREEDY, actions, None, observations)
        change(observations)
        with pytest.raises(ValueError, match="observations"):
            batch.play(Policy.GREEDY, actions, None, observations)
    with pytest.raises(ValueError, match="resize"):
        batch.rows.resize(1)


def test_an_interrupted_pass_is_over_when_it_is_left() -> None:
    """Ctrl-C between two parts: what was handed over ends before `play` is left."""
    batch = Batch(20_000, threads=2)
    batch.reset(1)
    actions = np.zeros(20_000, np.int64)
    batch.play(Policy.STRONG, actions)
    pool = batch._threads()
    submit, given = pool.submit, []

    def interrupted(*work: Any) -> Any:
        if given:
            raise KeyboardInterrupt
        given.append(submit(*work))
        return given[0]

    pool.submit = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        batch.play(Policy.STRONG, actions)
    assert given[0].done()
    batch.play(Policy.STRONG, actions)
