"""Public objects survive pickle, deepcopy, spawn and fork, and go on as the original does."""

from __future__ import annotations

import copy
import hashlib
import multiprocessing
import pickle
import threading
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

from pocket_uno_env import Rules, pocket_uno_v0
from pocket_uno_env.agents.scripted.policies import Policy
from pocket_uno_env.batch import Batch
from pocket_uno_env.engine.validity import check_rows
from pocket_uno_env.envs.gym import PocketUnoEnv
from pocket_uno_env.envs.gym_vector import PocketUnoVectorEnv
from pocket_uno_env.envs.learner_games import LearnerGames
from pocket_uno_env.observation import canonical

FORK = "fork" in multiprocessing.get_all_start_methods()


MATCHES = {"episode": "match", "reward": "match", "scores": "match"}


def batch(threads: int, **options: Any) -> Batch:
    made = Batch(20, "classic", 3, threads=threads, **options)
    made.reset(3)
    go_on(made)
    return made


def aec(wrapped: bool) -> Any:
    make = pocket_uno_v0.env if wrapped else pocket_uno_v0.raw_env
    env = make(num_players=3, **MATCHES)
    env.reset(seed=4)
    go_on(env)
    return env


def single(registered: bool) -> Any:
    env = gymnasium.make("pocket_uno/PocketUno-v0") if registered else PocketUnoEnv(compact=True)
    env.reset(seed=5)
    go_on(env)
    return env


def vector() -> PocketUnoVectorEnv:
    env = PocketUnoVectorEnv(5, view="canonical", opponents=["greedy", "noisy:0.5,first"])
    env.reset(seed=6)
    go_on(env)
    return env


def games(view: str) -> LearnerGames:
    made = LearnerGames(6, "pocket", 2, ["greedy", "random"], max_cycles=500, view=view)
    made.start(np.uint64(7))
    go_on(made)
    return made


def vec(**options: Any) -> Any:
    sb3_env = pytest.importorskip("pocket_uno_env.envs.sb3")
    env = sb3_env.LearnerVecEnv(4, seed=8, **options)
    env.reset()
    go_on(env)
    return env


OBJECTS: dict[str, Callable[[], Any]] = {
    "Batch": lambda: batch(1),
    "Batch, threads": lambda: batch(3),
    "Batch, matches": lambda: batch(1, **MATCHES),
    "raw_env": lambda: aec(False),
    "env": lambda: aec(True),
    "PocketUnoEnv": lambda: single(False),
    "gymnasium.make": lambda: single(True),
    "PocketUnoVectorEnv": vector,
    "LearnerGames": lambda: games("plain"),
    "LearnerGames, canonical": lambda: games("canonical"),
    "LearnerVecEnv": vec,
    "LearnerVecEnv, matches": lambda: vec(**MATCHES),
    "Rules": lambda: Rules.preset("classic", stacking="any"),
    "ColorTables": lambda: canonical.color_tables(Rules(), 2),
}


def go_on(made: Any) -> str:
    """Play some decisions; what came of them."""
    digest = hashlib.sha256()
    if isinstance(made, Rules):
        return f"{hash(made)} {made.to_dict()} {hashlib.sha256(made.table.tobytes()).hexdigest()}"
    if isinstance(made, canonical.ColorTables):
        return hashlib.sha256(b"".join(array.tobytes() for array in made[:4])).hexdigest()
    for _ in range(30):
        if isinstance(made, Batch):
            actions = np.zeros(made.num_games, np.int64)
            masks = np.zeros((made.num_games, made.n_actions), np.int8)
            made.play(Policy.RANDOM, actions, masks)
            digest.update(actions.tobytes() + masks.tobytes() + made.rows.tobytes())
        elif hasattr(made, "possible_agents"):
            seen = made.observe(made.agent_selection)
            made.step(int(seen["action_mask"].argmax()))
            digest.update(made.unwrapped.rows.tobytes() + seen["observation"].tobytes())
        elif isinstance(made, LearnerGames):
            made.look()
            made.step(made.everywhere, made.masks.argmax(axis=1))
            books = repr(made.books.tolist()).encode()  # their bytes have gaps, which a copy leaves
            digest.update(made.rows.tobytes() + books + made.look().tobytes())
        else:
            masks = made.unwrapped.action_masks() if hasattr(made, "unwrapped") else None
            masks = made.action_masks() if masks is None else masks
            actions = masks.argmax(axis=-1)
            if not masks.any():
                made.reset()
                continue
            found = made.step(actions)
            digest.update(np.asarray(found[0]).tobytes() + np.asarray(found[1]).tobytes())
    return digest.hexdigest()


def same_as_go_on(name: str, other: str, made: Any) -> None:
    if isinstance(made, Rules):  # text has another hash in another process
        assert other.split(" ", 1)[1] == go_on(made).split(" ", 1)[1]
    else:
        assert other == go_on(made), name


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("again", [copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])
def test_a_copy_goes_on_as_the_original_does(name: str, again: Callable[[Any], Any]) -> None:
    made = OBJECTS[name]()
    twin = again(made)
    untouched = again(made)
    same_as_go_on(name, go_on(twin), made)
    assert go_on(untouched) == go_on(again(OBJECTS[name]())), "the copies share something"


def answer(received: Any, sent: Any) -> None:
    sent.put([go_on(made) for made in received])


def in_another_process(method: str, objects: list[Any]) -> list[str]:
    context = multiprocessing.get_context(method)
    sent: Any = context.SimpleQueue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork with threads, from 3.12 on
        child = context.Process(target=answer, args=(objects, sent), daemon=True)
        child.start()
    child.join(300)
    if child.exitcode is None:
        child.kill()
    assert child.exitcode == 0, f"{method}: {child.exitcode}"
    found: list[str] = sent.get()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", *(["fork"] if FORK else [])])
def test_another_process_goes_on_as_this_one_does(method: str) -> None:
    objects = {name: make() for name, make in OBJECTS.items()}
    answers = in_another_process(method, list(objects.values()))
    for (name, made), other in zip(objects.items(), answers, strict=True):
        same_as_go_on(name, other, made)


@pytest.mark.skipif(not FORK, reason="this system does not fork")
def test_threads_are_made_anew_in_a_forked_process() -> None:
    made = batch(2)  # its threads have run
    (other,) = in_another_process("fork", [made])
    assert other == go_on(made)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_second_thread_is_refused_and_loses_no_card(threads: int) -> None:
    made = Batch(512, threads=threads)
    made.reset(1)
    refused: list[str] = []

    def play() -> None:
        actions = np.zeros(512, np.int64)
        for _ in range(300):
            try:
                made.play(Policy.RANDOM, actions)
            except RuntimeError as error:
                refused.append(str(error))

    players = [threading.Thread(target=play) for _ in range(2)]
    for player in players:
        player.start()
    for player in players:
        player.join()
    assert check_rows("pocket", made.rows, 2, running=True) == 2
    assert {word for word in refused} <= {
        "another thread is using this Batch; make one for each thread"
    }
    with made._guard, pytest.raises(RuntimeError, match="another thread"):
        made.play(Policy.RANDOM, np.zeros(512, np.int64))
    made.play(Policy.RANDOM, np.zeros(512, np.int64))


def test_the_other_calls_of_games_are_guarded_too() -> None:
    held = games("plain")
    with held._guard:
        for call in (
            held.look,
            lambda: held.start(np.uint64(1)),
            lambda: held.redeal(np.arange(1)),
        ):
            with pytest.raises(RuntimeError, match="another thread"):
                call()
    held.copies(np.arange(2)).look()


@pytest.mark.skipif(not FORK, reason="this system does not fork")
def test_games_that_were_half_stepped_when_the_process_forked_are_refused() -> None:
    made = Batch(4)
    made.reset(1)

    def child(sent: Any) -> None:
        try:
            made.play(Policy.RANDOM, np.zeros(4, np.int64))
        except RuntimeError as error:
            sent.put(str(error))

    context = multiprocessing.get_context("fork")
    sent = context.SimpleQueue()
    with made._guard, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        process = context.Process(target=child, args=(sent,), daemon=True)
        process.start()
        process.join(60)
    assert process.exitcode == 0 and "half stepped" in sent.get()
