"""The wrapped environment does what PettingZoo's three wrappers do around the raw one."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pettingzoo
import pytest
from games import ODD_RULES, scripted_action
from pettingzoo.utils import wrappers
from pettingzoo.utils.env_logger import EnvLogger

from pocket_uno_env import Rules, pocket_uno_v0
from pocket_uno_env.agents.scripted.policies import Policy

NAMES = [
    "agents", "agent_selection", "rewards", "_cumulative_rewards", "terminations", "truncations",
    "infos", "num_agents", "max_num_agents", "possible_agents", "metadata", "rules", "max_cycles",
    "render_mode", "_rounds", "nothing_of_the_kind",
]  # fmt: skip
"""Attributes that are read after every call, some of which do not exist or are private."""


def stack(**kwargs: Any) -> Any:
    """PettingZoo's own wrappers, as its classic games have them."""
    env = wrappers.TerminateIllegalWrapper(pocket_uno_v0.raw_env(**kwargs), illegal_reward=-1)
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(env))


def plain(value: Any) -> Any:
    """A value that compares by all of it: types, dtypes, bytes."""
    if isinstance(value, dict):
        return [(key, plain(item)) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    return type(value), value


def outcome(call: Callable[[], Any]) -> Any:
    """What a call returns or raises, and what it says besides."""
    EnvLogger.flush()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            value = plain(call())
        except Exception as error:
            value = type(error), str(error)
    said = [str(warning.message) for warning in warned]
    return value, EnvLogger.mqueue[:], said


class Pair:
    """The stack and the one class, given the same calls."""

    def __init__(self, **kwargs: Any) -> None:
        self.envs = [stack(**kwargs), pocket_uno_v0.env(**kwargs)]
        self.iterators = [iter(()), iter(())]
        self.done: list[str] = []

    def both(self, about: str, call: Callable[[Any], Any]) -> Any:
        """Call it with each; what both answered, and all that can be read then, is the same."""
        self.done.append(about)
        theirs, ours = (outcome(lambda env=env: call(env)) for env in self.envs)
        assert ours == theirs, self.done[-5:]
        for name in NAMES:
            theirs, ours = (outcome(lambda e=env, n=name: getattr(e, n)) for env in self.envs)
            assert ours == theirs, (name, self.done[-5:])
        theirs, ours = (env.unwrapped.rows.tobytes() for env in self.envs)
        assert ours == theirs
        return ours

    def iterate(self) -> None:
        self.both("agent_iter", lambda env: env.agent_iter() and None)
        if self.envs[1]._has_reset:
            self.iterators = [iter(env.agent_iter()) for env in self.envs]

    def advance(self) -> None:
        turns = dict(zip(map(id, self.envs), self.iterators, strict=True))
        self.both("next", lambda env: next(turns[id(env)]))

    def duplicate(self, clone: Callable[[Any], Any]) -> None:
        self.envs = [clone(env) for env in self.envs]
        self.iterators = [iter(()), iter(())]
        self.both("clone", str)


class Tensor:
    """A legal action that Python takes for an index and the action space does not."""

    def __index__(self) -> int:
        return pocket_uno_v0.raw_env().action_id("draw")

    def __repr__(self) -> str:
        return "Tensor"


def strange_actions(count: int) -> list[Any]:
    """What is no action, or one of an unusual type."""
    return [
        None, -1, count, count + 1, 2**63, 2**70, -(2**70), True, False, 1.0, "draw", [3], Tensor(),
        np.array(3), np.array([3]), np.array(3.0), np.int8(3), np.uint64(3), np.bool_(True),
        np.float32(3), np.uint64(2**64 - 1), np.int64(count), np.int16(-1), Policy.GREEDY,
    ]  # fmt: skip


def fumble(pair: Pair, generator: np.random.Generator, calls: int, wrong: float) -> None:
    """Play with a share of `wrong` calls: misuse of every kind, in any order."""

    def pick(items: Any) -> Any:
        return items[int(generator.integers(len(items)))]

    ours = pair.envs[1].unwrapped
    count = int(ours.action_spaces["player_0"].n)
    agents = [*ours.possible_agents, "player_99", None]
    clones = [copy.deepcopy, copy.copy, lambda env: pickle.loads(pickle.dumps(env))]
    for _ in range(calls):
        ours = pair.envs[1].unwrapped
        over = not ours.agents or any(ours.terminations.values()) or any(ours.truncations.values())
        kind = generator.integers(16) if generator.random() < wrong else -1
        action: Any = None
        if kind < 0 and not over:
            action = scripted_action(ours, Policy.GREEDY)
        if kind < 0 and (ours.agents or generator.random() < 0.1):
            pair.both(f"step {action}", lambda env, a=action: env.step(a))
        elif kind < 0:
            seed = int(generator.integers(1000))
            pair.both(f"reset {seed}", lambda env, s=seed: env.reset(seed=s))
        elif kind < 3:
            action = int(generator.integers(count))
            pair.both(f"step {action}", lambda env, a=action: env.step(a))
        elif kind < 5:
            action = pick(strange_actions(count))
            pair.both(f"step {action!r}", lambda env, a=action: env.step(a))
        elif kind < 7:
            observe = bool(kind % 2)
            pair.both(f"last {observe}", lambda env, o=observe: env.last(o))
        elif kind < 9:
            agent = pick(agents)
            pair.both(f"observe {agent}", lambda env, a=agent: env.observe(a))
        elif kind == 9:
            call = pick(
                ["state", "render", "close", "__str__", "snapshot", "record", "legal_names"]
            )
            pair.both(call, lambda env, c=call: getattr(env, c)())
        elif kind == 10:
            pair.iterate()
        elif kind < 13:
            pair.advance()
        elif kind == 13:
            pair.duplicate(pick(clones))
        elif kind == 14:
            options = pick([{"dealer": 1}, {"dealer": 77}, {"deck": ["R1"]}, {"decks": 0}])
            pair.both(f"reset {options}", lambda env, o=options: env.reset(options=o, seed=3))
        else:
            seed = pick([-1, "7", 2.5, 5])
            pair.both(f"reset {seed!r}", lambda env, s=seed: env.reset(seed=s))


GAMES = [
    pytest.param(rules, n, id=f"{name}-{n}")
    for name, rules in {
        **{name: Rules.preset(name) for name in ("pocket", "pocket51", "classic", "mini")},
        **{name: ODD_RULES[name] for name in ("house", "pocket house", "house mix")},
    }.items()
    for n in range(2, min(rules.max_players, 5) + 1)
]


@pytest.mark.parametrize(("rules", "num_players"), GAMES)
def test_every_misuse_is_answered_as_the_three_wrappers_answer_it(
    rules: Rules, num_players: int
) -> None:
    generator = np.random.default_rng(num_players)
    for number in range(8):
        pair = Pair(
            rules=rules,
            num_players=num_players,
            episode=("round", "match")[number % 2],
            reward=("win", "points")[number // 2 % 2],
            max_cycles=(12, 20_000)[number // 4],
            max_rounds=2,
            render_mode=(None, "ansi")[number % 2],
        )
        fumble(pair, generator, calls=120, wrong=(0.1, 0.7)[number % 2])


@pytest.mark.parametrize("action", strange_actions(123), ids=repr)
@pytest.mark.parametrize("when", ["before", "running", "illegal", "over", "gone"])
def test_each_strange_action_at_each_stage(action: Any, when: str) -> None:
    pair = Pair(num_players=3, max_cycles=1)
    if when != "before":
        pair.both("reset", lambda env: env.reset(seed=1))
        mask = pair.envs[0].last()[0]["action_mask"]
        chosen = int(np.flatnonzero(mask == (when != "illegal"))[0])
        if when != "running":
            pair.both("step", lambda env: env.step(chosen))
        if when == "gone":
            for _ in range(3):
                pair.both("step", lambda env: env.step(None))
    for _ in range(2):
        pair.both(f"step {action!r}", lambda env: env.step(action))


def test_every_attribute_of_the_stack_is_there() -> None:
    theirs, ours = stack(), pocket_uno_v0.env()
    public = {name for name in dir(theirs) if not name.startswith("_")}
    assert public <= set(dir(ours))
    for env in (theirs, ours):
        env.reset(seed=1)
    raw = [name for name in dir(theirs.unwrapped) if not name.startswith("__")]
    for name in raw:
        found = [getattr(env, name, None) is None for env in (theirs, ours)]
        assert found[0] == found[1], name
    assert isinstance(ours, wrappers.OrderEnforcingWrapper) and isinstance(ours, pettingzoo.AECEnv)
    assert type(ours.unwrapped) is pocket_uno_v0.raw_env and str(ours) == str(theirs)


def test_a_mask_that_a_caller_overwrites_is_not_believed() -> None:
    env = pocket_uno_v0.env()
    env.reset(seed=1)
    mask = env.last()[0]["action_mask"]
    legal = int(mask.argmax())
    mask[:] = 0
    env.infos[env.agent_selection]["action_mask"][:] = 0
    env.step(legal)
    assert not any(env.terminations.values())
