"""The engine and the referee accept the same records: whatever is changed in one, they agree."""

from __future__ import annotations

import copy
import json
import random
import time
from collections import Counter
from typing import Any

import pytest
from games import ODD_RULES, play, raw_env
from reference_play import new_round, play_on

from pocket_uno_env import RecordError, Rules, replay
from pocket_uno_env.agents.scripted.policies import Policy
from pocket_uno_env.reference.game import RuleError, preset
from pocket_uno_env.reference.record_format import CHOICES, LARGEST, parse_record
from pocket_uno_env.reference.referee import check_record

Record = dict[str, Any]
HOUSE = {"stacking": "any", "seven_zero": True, "jump_in": True}


def accepted(record: Any) -> bool:
    """Whether both take it for a record of a game; they never differ, and raise nothing else."""
    verdicts = []
    for judge in (check_record, replay):
        try:
            judge(record)
        except RecordError as error:
            text = str(error)
            assert text and "\n" not in text and len(text) < 8_000
            verdicts.append(text)
        else:
            verdicts.append("")
    assert (verdicts[0] == "") == (verdicts[1] == ""), (verdicts, record)
    return not verdicts[0]


@pytest.fixture(scope="module")
def good() -> list[Record]:
    """Rounds and matches of few decisions, some that still run, some that were truncated."""
    games: list[dict[str, Any]] = [
        {"rules": "mini"},
        {"rules": "mini", "max_cycles": 3},
        {"rules": "pocket"},
        {"rules": "pocket", "num_players": 3, "episode": "match", "max_rounds": 2},
        {"rules": Rules.preset("mini", elimination=True, match_goal=3), "episode": "match"},
        {"rules": ODD_RULES["two colours"], "num_players": 4, "max_cycles": 30},
        {"rules": ODD_RULES["all wilds"], "max_cycles": 40},
        {"rules": Rules.preset("pocket51", hand_size=3, **HOUSE), "num_players": 3},
    ]
    records = []
    for seed, game in enumerate(games):
        for limit in (8, 1000):
            env = raw_env(seed, **game)
            list(play(env, Policy.GREEDY, limit=limit))
            records.append(json.loads(json.dumps(env.record())))
    assert all(map(accepted, records))
    return records


JUNK: list[Any] = [
    None, True, False, 0, 1, 2, -1, -0.0, 0.0, 1.0, 0.5, 10**9, LARGEST + 1, 10**5000, "", "0", "W",
    "R1", "reshuffle", "forced", "draw", "out", "custom", "any", "\u2028", "\ud800", "x" * 10**5,
    [], [[]], ["R1"], ["R1"] * 200, [0, "draw", []], ["reshuffle", []], {}, {"R1": 1}, {"1": 1},
    float("nan"), float("inf"), (), b"R1", object(),
]  # fmt: skip


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values inside a record, containers too."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    found = []
    for key in keys:
        found.append((*path, key))
        if isinstance(value[key], dict | list):
            found += leaves(value[key], (*path, key))
    return found


def place_of(record: Record, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        record = record[key]
    return record


def another(value: Any, rng: random.Random) -> Any:
    """Something near to a value, of another type perhaps."""
    if isinstance(value, bool):
        return rng.choice([not value, int(value), None, "", str(value)])
    if isinstance(value, int):
        near = [value + 1, value - 1, -value, -0.0, True, "0"]
        return rng.choice([*near, float(value)] if abs(value) < 10**9 else near)
    if isinstance(value, str):
        return rng.choice([value + " ", value.lower(), [value], value[::-1], b"R1", ""])
    if isinstance(value, list):
        return rng.choice([tuple(value), value[::-1], value[:-1], value + value[-1:], value * 2])
    if isinstance(value, dict):
        return rng.choice([list(value), {**value, "more": 1}, dict(reversed(value.items()))])
    return rng.choice([False, 0, "", [], "null"])


def mutate(record: Record, rng: random.Random) -> None:
    """Change one thing."""
    paths = leaves(record)
    if rng.random() < 0.5:  # most paths lead into events and piles
        paths = [path for path in paths if len(path) <= 3]
    path = rng.choice(paths)
    place, key = place_of(record, path), path[-1]
    how = rng.randrange(7)
    if how == 0:
        del place[key]
    elif how == 1:
        place[key] = copy.deepcopy(rng.choice(JUNK[:-1]))
    elif how == 2:
        place[key] = another(place[key], rng)
    elif how == 3:
        other = rng.choice(leaves(record))
        place[key] = copy.deepcopy(place_of(record, other)[other[-1]])
    elif how == 4:
        if isinstance(record.get("rules"), dict):
            field = rng.choice([*record["rules"], "more"])
            record["rules"][field] = rng.choice([*CHOICES.get(field, ()), *JUNK[:12], 3, 5, 20])
    elif how == 5 and isinstance(place, list):
        place.insert(key, copy.deepcopy(rng.choice([place[key], rng.choice(JUNK)])))
    elif how == 5:
        place["further"] = copy.deepcopy(rng.choice(JUNK))
    elif isinstance(place, list):
        other = rng.randrange(len(place))
        place[key], place[other] = place[other], place[key]
    else:
        place[key] = another(place[key], rng)


@pytest.mark.slow
def test_changed_records_are_judged_alike(good: list[Record]) -> None:
    rng = random.Random(13)
    verdicts: Counter[bool] = Counter()
    for _ in range(6_000):
        record = copy.deepcopy(rng.choice(good))
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            mutate(record, rng)
        verdicts[accepted(record)] += 1
    assert verdicts[True] > 300 and verdicts[False] > 3_000


def test_every_value_has_its_type(good: list[Record]) -> None:
    """What equals the right value in Python, but is another one in JSON, is refused."""
    record = next(r for r in good if len(r["rounds"]) > 1)
    count = 0
    for path in leaves(record):
        value = place_of(record, path)[path[-1]]
        if path[0] == "seed" or isinstance(value, str | list | dict | None):
            continue
        twin = copy.deepcopy(record)
        others = [float(value), -0.0] if type(value) is int else [int(value), float(value), ""]
        for other in others:
            place_of(twin, path)[path[-1]] = other
            assert not accepted(twin), (path, other)
            count += 1
    assert count > 100


@pytest.mark.parametrize(
    ("field", "value", "fine"),
    [
        *[(field, value, value is None) for field in HOUSE for value in (None, "", 0, -0.0, [])],
        *[("tournament", value, value in (False, None)) for value in (False, None, True, "any")],
        *[("tournament", value, False) for value in (0, -0.0, "", [], {})],
        *[("name", name, True) for name in ("pocket", "pocket51", "classic", "mini", "custom")],
        *[("name", name, False) for name in ("Pocket", "my rules", "", None)],
        ("match_goal", 1_000_000, True),
        ("match_goal", 1_000_001, False),
        ("draw_limit", 128, True),
        ("draw_limit", 129, False),
        ("max_players", 10, True),
        ("max_players", 11, False),
        ("max_players", True, False),
        ("symbols", {"1": 40}, False),
        ("wild_copies", {"W": 2, "WD": 1, "W+2": 1, "W+4": -0.0}, False),
    ],
)
def test_rules_of_records(field: str, value: Any, fine: bool) -> None:
    env = raw_env(1)
    list(play(env, Policy.GREEDY))
    record = json.loads(json.dumps(env.record()))
    record["rules"][field] = value
    assert accepted(record) is fine


def test_further_fields_of_records_and_rounds_are_passed_over(good: list[Record]) -> None:
    for value in (1, None, {"a": [1.5]}, "x"):
        twin = {**good[2], "deal": value}
        twin["rounds"] = [{**entry, "rotation": value} for entry in good[2]["rounds"]]
        assert accepted(twin)
        entry = copy.deepcopy(good[2]["rounds"][0])
        entry["result"]["more"] = value
        assert not accepted({**good[2], "rounds": [entry]})


def test_an_action_costs_no_more_late_in_a_game() -> None:
    """So that the time to check a record, and to show it, grows with its length alone."""

    def seconds(earlier: int) -> float:
        rng = random.Random(4)
        game = new_round(preset("classic"), 2, rng)
        game.events += [[0, "keep"]] * earlier
        start = time.process_time()
        play_on(game, rng, cap=50)
        with pytest.raises(RuleError):
            game.apply(0, "nothing")
        return time.process_time() - start

    once = min(seconds(0) for _ in range(3))
    assert min(seconds(1_000_000) for _ in range(3)) < 10 * once + 0.05


def test_keys_that_come_twice_are_found_at_once() -> None:
    keys = [f'"{i}": 0' for i in range(30_000)]
    start = time.process_time()
    with pytest.raises(RecordError, match="the key '29999' comes twice"):
        parse_record("{" + ", ".join([*keys, keys[-1]]) + "}")
    assert time.process_time() - start < 3  # by comparing each with each it would be half a minute
