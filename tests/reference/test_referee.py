"""Self-tests of the judge of records (docs/rules.md, sections 8 and 11)."""

from __future__ import annotations

import ast
import copy
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from reference_play import RULE_SETS, Record, finished_rounds, play_match, record_of

from pocket_uno_env.reference import game as reference
from pocket_uno_env.reference.game import HOUSE_OFF, Game, deck_of, is_wild, preset
from pocket_uno_env.reference.referee import (
    RecordError,
    check_record,
    match_is_over,
    out_of_match,
    walk,
)

Keys = tuple[Any, ...]
Change = Callable[[Any], None]
JUMPS_AND_STACKS = preset(
    "classic",
    stacking="any",
    jump_in=True,
    forced_play=True,
    elimination=True,
    hand_size=3,
    symbols={"0": 1, "1": 2, "7": 1, "+1": 3, "+2": 2},
)


def has_reshuffle(game: Game) -> bool:
    return any(event[0] == "reshuffle" for event in game.events)


def jumped_and_stacked(game: Game) -> bool:
    names = [event[1] for event in game.events]
    return len(names) < 60 and {"jump in", "pass", "accept"} <= set(map(str, names))


@pytest.fixture(scope="module")
def good_records() -> list[Record]:
    """Single rounds that somebody won, each with draws, some with a reshuffle."""

    def drawn(game: Game) -> bool:
        return len(game.events) < 40 and any(len(e) == 3 and e[2] for e in game.events)

    def both(game: Game) -> bool:
        return drawn(game) and has_reshuffle(game)

    return [
        *finished_rounds(preset("pocket"), 2, 2, drawn),
        *finished_rounds(preset("pocket"), 5, 1, drawn),
        *finished_rounds(preset("classic"), 3, 1, drawn),
        *finished_rounds(RULE_SETS["pocket, other readings"][0], 3, 2, drawn),
        *finished_rounds(RULE_SETS["a small deck"][0], 3, 4, both),
        *finished_rounds(RULE_SETS["a small deck, draw until playable"][0], 2, 4, both),
        *finished_rounds(JUMPS_AND_STACKS, 3, 3, jumped_and_stacked),
    ]


@pytest.fixture(scope="module")
def good_match() -> Record:
    """A match of at least three rounds."""
    for seed in range(100):
        games = play_match(preset("pocket"), 3, random.Random(seed))
        if len(games) >= 3 and games[1].end == "out":
            return record_of(games, match=True)
    raise AssertionError("no such match")


def another_card(record: Record, card: str) -> str:
    return next(name for name in sorted(deck_of(record["rules"])) if name != card)


# Changes of a round, each at a path of keys and indices into it.


def at(value: Any, path: Keys) -> Any:
    for key in path:
        value = value[key]
    return value


def put(path: Keys, value: Any) -> Change:
    def change(entry: Any) -> None:
        at(entry, path[:-1])[path[-1]] = value

    return change


def drop(path: Keys) -> Change:
    def change(entry: Any) -> None:
        del at(entry, path[:-1])[path[-1]]

    return change


def insert(path: Keys, value: Any) -> Change:
    def change(entry: Any) -> None:
        at(entry, path[:-1]).insert(path[-1], value)

    return change


def exchange(one: Keys, other: Keys) -> Change:
    def change(entry: Any) -> None:
        first, second = at(entry, one), at(entry, other)
        put(one, second)(entry)
        put(other, first)(entry)

    return change


def move(one: Keys, other: Keys) -> Change:
    def change(entry: Any) -> None:
        at(entry, other).append(at(entry, one).pop())

    return change


def corrupt_events(record: Record) -> Iterator[tuple[str, Change]]:
    """Yield changes of single events of a finished round, none of which leaves it right."""
    events, seats = record["rounds"][0]["events"], len(record["players"])
    for i, event in enumerate(events):
        here: Keys = ("events", i)
        yield f"event {i} dropped", drop(here)
        yield f"event {i} twice", insert(here, event)
        if i and events[i - 1] != event:
            yield f"events {i - 1} and {i} exchanged", exchange(("events", i - 1), here)
        yield f"a reshuffle of nothing before event {i}", insert(here, ["reshuffle", []])
        yield f"event {i}: more to it", insert((*here, len(event)), [])
        yield f"event {i}: cut short", drop((*here, len(event) - 1))
        cards = event[-1] if isinstance(event[-1], list) else []
        if event[0] == "reshuffle":
            for j in range(1, len(cards)):
                if cards[j] != cards[0]:  # the first of them is drawn at once
                    other_order = exchange((*here, 1, 0), (*here, 1, j))
                    yield f"event {i}: cards 0 and {j} exchanged", other_order
            yield f"event {i}: a card less", drop((*here, 1, 0))
        else:
            for seat in set(range(-1, seats + 1)) - {event[0]}:
                yield f"event {i} by seat {seat}", put((*here, 0), seat)
            yield f"event {i}: an unknown action", put((*here, 1), "do nothing")
            if cards and cards[0] != cards[-1]:
                other_order = exchange((*here, 2, 0), (*here, 2, len(cards) - 1))
                yield f"event {i}: cards in another order", other_order
        for j, card in enumerate(cards):
            wrong = another_card(record, card)
            yield f"event {i}: another card {j}", put((*here, len(event) - 1, j), wrong)
        if isinstance(event[-1], list):
            yield f"event {i}: a card more", insert((*here, len(event) - 1, len(cards)), "R1")
    for late in ([0, "draw", []], [0, "forced", []], ["reshuffle", ["R1"]], [0, "keep"], []):
        yield f"{late} after the end", insert(("events", len(events)), late)


def corrupt_result(record: Record) -> Iterator[tuple[str, Change]]:
    """Yield changes of the result of a finished round."""
    right, seats = record["rounds"][0]["result"], len(record["players"])
    for seat in [None, *range(-1, seats + 1)]:
        if seat != right["winner"]:
            yield f"winner {seat}", put(("result", "winner"), seat)
    for seat, points in enumerate(right["points"]):
        for wrong in (points + 1, points - 1, float(points), None):
            yield f"points {wrong} of seat {seat}", put(("result", "points", seat), wrong)
    yield "points of too many", insert(("result", "points", seats), 0)
    yield "points of too few", drop(("result", "points", seats - 1))
    for end in (None, "blocked", "truncated", "won"):
        nobody = {"winner": None, "points": [0] * seats, "end": end}
        yield f"end {end}", put(("result", "end"), end)
        yield f"nobody wins, end {end}", put(("result",), nobody)


def corrupt_deal(record: Record) -> Iterator[tuple[str, Change]]:
    """Yield changes of the deal of a finished round, none of which leaves it right."""
    only = record["rounds"][0]
    seats, winner, dealer = len(record["players"]), only["result"]["winner"], only["dealer"]
    for wrong in [*range(-1, seats + 1), None, float(dealer), str(dealer)]:
        if repr(wrong) != repr(dealer):
            yield f"dealer {wrong!r}", put(("dealer",), wrong)
    for i, card in enumerate(only["hands"][winner]):
        mine: Keys = ("hands", winner, i)
        yield f"card {i} of the winner replaced", put(mine, another_card(record, card))
        for j, other in enumerate(only["pile"]):
            if card != other and j % 7 == i % 7:  # the winner needs every card he was dealt
                swap = exchange(mine, ("pile", j))
                yield f"card {i} of the winner exchanged with {j} of the pile", swap
    yield "a hand too big", move(("pile",), ("hands", 0))
    yield "a hand too small", move(("hands", 0), ("pile",))
    yield "a card from hand to hand", move(("hands", 1), ("hands", 0))
    yield "a hand too many", insert(("hands", seats), [])
    yield "a hand too few", drop(("hands", seats - 1))
    yield "a card lost", drop(("pile", -1))
    yield "a card made", insert(("pile", 0), "R1")
    yield "an unknown card", put(("pile", -1), "R11")
    if only["pile"][0] != only["pile"][-1]:
        yield "another card on top of the pile", exchange(("pile", 0), ("pile", -1))
    yield "a coloured card put back", insert(("turned_back", 0), "R1")
    if record["rules"]["opening_wild"] == "put_back":
        for card in sorted(set(deck_of(record["rules"]))):
            if is_wild(card) and card not in only["pile"]:
                yield f"{card} put back from a hand", insert(("turned_back", 0), card)
    else:
        yield "a wild put back that stays", insert(("turned_back", 0), "W")


def test_every_corrupted_round_is_refused(good_records: list[Record]) -> None:
    count = 0
    for record in good_records:
        check_record(record)
        for corrupt in (corrupt_events, corrupt_result, corrupt_deal):
            for what, change in corrupt(record):
                bad = copy.deepcopy(record)
                change(bad["rounds"][0])
                assert repr(bad) != repr(record), what
                with pytest.raises(RecordError):
                    check_record(bad)
                    pytest.fail(f"accepted: {what}\n{record['rounds'][0]}")
                count += 1
    assert count > 4_000


def test_every_corrupted_round_of_swaps_is_refused() -> None:
    rules = preset("classic", seven_zero=True, stacking="same", hand_size=3)

    def swapped(game: Game) -> bool:
        names = [str(event[1]) for event in game.events]
        return len(names) < 50 and any(name.startswith("swap") for name in names)

    for record in finished_rounds(rules, 3, 3, swapped):
        # Whoever won may have been dealt another hand: what is dealt is not tried here.
        for corrupt in (corrupt_events, corrupt_result):
            for what, change in corrupt(record):
                bad = copy.deepcopy(record)
                change(bad["rounds"][0])
                with pytest.raises(RecordError):
                    check_record(bad)
                    pytest.fail(f"accepted: {what}\n{record['rounds'][0]}")


def test_every_corrupted_match_is_refused(good_match: Record) -> None:
    check_record(good_match)
    rounds = good_match["rounds"]

    def refused(match: str, change: Callable[[Record], Any]) -> None:
        twin = copy.deepcopy(good_match)
        change(twin)
        assert twin != good_match
        with pytest.raises(RecordError, match=match):
            check_record(twin)

    refused("is no match has one", lambda r: r.update(match=False))
    refused("deal passes left", lambda r: r["rounds"].pop(1))
    refused("deal passes left", lambda r: r["rounds"].insert(0, r["rounds"][1]))
    refused("ends the match", lambda r: r["rules"].update(match_goal=1))
    refused("ends the match", lambda r: r["rounds"].extend(r["rounds"][-1:] * 3))
    refused("round 0: result", lambda r: r["rounds"][0]["result"].update(end="truncated"))
    refused("round 2: result", lambda r: r["rounds"][2]["result"].update(points=[0, 0, 0]))
    refused("at least one", lambda r: r["rounds"].clear())
    refused("round 1, event 0", lambda r: r["rounds"][1]["events"].insert(0, [9, "draw", []]))

    def still_runs(r: Record) -> None:
        events = r["rounds"][1]["events"]
        while not str(events.pop()[1]).startswith("play"):
            pass
        r["rounds"][1]["result"] = {"winner": None, "points": [0, 0, 0], "end": None}

    refused("round 1: still runs", still_runs)
    totals = [sum(r["result"]["points"][seat] for r in rounds) for seat in range(3)]
    last = copy.deepcopy(good_match)
    last["rules"]["match_goal"] = max(totals)
    check_record(last)


def test_the_head_of_a_record(good_records: list[Record]) -> None:
    good = good_records[0]
    for field in good:
        twin = {key: value for key, value in good.items() if key != field}
        with pytest.raises(RecordError, match=field):
            check_record(twin)
    for field in good["rules"].keys() - HOUSE_OFF.keys():
        twin = {**good, "rules": {k: v for k, v in good["rules"].items() if k != field}}
        with pytest.raises(RecordError, match=f"'{field}' is missing"):
            check_record(twin)
    for field in good["rounds"][0]:
        twin = copy.deepcopy(good)
        del twin["rounds"][0][field]
        with pytest.raises(RecordError, match=f"round 0: field '{field}'"):
            check_record(twin)
    wrong: list[Any] = [True, 0, 1, "no", [], {}]
    for value in wrong:
        with pytest.raises(RecordError, match="unknown field 'sevens'"):
            check_record({**good, "rules": {**good["rules"], "sevens": value}})
    for harmless in (False, None):
        check_record({**good, "rules": {**good["rules"], "sevens": harmless}})
    for field in HOUSE_OFF:
        for value in ("no", 0, 1, [], {}):
            with pytest.raises(RecordError, match=f"{field} must be one of"):
                check_record({**good, "rules": {**good["rules"], field: value}})
    with pytest.raises(RecordError, match="stacking must be one of"):
        check_record({**good, "rules": {**good["rules"], "stacking": True}})
    older = {field: value for field, value in good["rules"].items() if field not in HOUSE_OFF}
    check_record({**good, "rules": older})
    for harmless in (False, None):
        for field in HOUSE_OFF:
            check_record({**good, "rules": {**older, field: harmless}})
    for form in ("uno-record/2", "", None, 1):
        with pytest.raises(RecordError, match="format"):
            check_record({**good, "format": form})
    for players in (["a"], ["a"] * 3, ["a"] * 6, [], None, [1, 2], "ab"):
        with pytest.raises(RecordError):
            check_record({**good, "players": players})
    wrong = ["7", 7.0, True, []]
    for seed in wrong:
        with pytest.raises(RecordError, match="seed"):
            check_record({**good, "seed": seed})
    check_record({**good, "seed": None})
    check_record({**good, "match": True})


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value inside a record, containers too."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        yield (*path, key)
        yield from leaves(inner, (*path, key))


def test_nothing_but_a_record_error_comes_of_nonsense(good_records: list[Record]) -> None:
    junk: list[Any] = [None, True, -1, 10**9, 0.5, "x", "W+4", [], [[]], ["R1"], {}, {"R1": 1}]
    # These may hold anything, or are no contradiction to what was played.
    free = {"seed", "players", "match", "match_goal", "max_players", "draw_limit", "name"}
    free |= {
        "turned_back",
        "two_player_reverse",
        "challenge_condition",
        "uno_call",
        "wild_draw_four",
    }
    free |= HOUSE_OFF.keys()
    for record in (good_records[0], good_records[-1]):
        for path in leaves(record):
            for value in junk:
                twin = copy.deepcopy(record)
                place = twin
                for key in path[:-1]:
                    place = place[key]
                if repr(place[path[-1]]) == repr(value):
                    continue
                place[path[-1]] = copy.deepcopy(value)
                try:
                    check_record(twin)
                except RecordError:
                    continue
                assert free & set(path), (path, value)
    junk = [None, [], 1, "x", {"format": object()}, {1, 2}]
    for nonsense in junk:
        with pytest.raises(RecordError):
            check_record(nonsense)


def test_the_message_names_round_and_event(good_records: list[Record]) -> None:
    twin = copy.deepcopy(good_records[0])
    events = twin["rounds"][0]["events"]
    events[3][0] = 7
    with pytest.raises(RecordError, match="round 0, event 3"):
        check_record(twin)
    record = next(
        r for r in good_records if any(e[0] == "reshuffle" for e in r["rounds"][0]["events"])
    )
    twin = copy.deepcopy(record)
    events = twin["rounds"][0]["events"]
    index = next(i for i, event in enumerate(events) if event[0] == "reshuffle")
    del events[index]
    with pytest.raises(RecordError, match=f"round 0, event {index}: the reshuffle of .* missing"):
        check_record(twin)


# Matches with elimination (section 11)


@pytest.fixture(scope="module")
def elimination_match() -> Record:
    """A match of 4 in which one after the other goes out, by rounds of every length."""
    rules = preset("pocket", elimination=True, match_goal=60)
    for seed in range(100):
        games = play_match(rules, 4, random.Random(seed))
        left = [len(game.seats) for game in games]
        if {4, 3, 2} == set(left) and left.count(3) > 1 and left.count(2) > 1:
            return record_of(games, match=True)
    raise AssertionError("no such match")


def test_a_match_with_elimination(elimination_match: Record) -> None:
    check_record(elimination_match)
    rounds = elimination_match["rounds"]
    totals, out, dealer = [0, 0, 0, 0], set[int](), rounds[0]["dealer"]
    for entry in rounds:
        assert len(out) < 3  # or the match was over
        assert entry["dealer"] == dealer
        assert [seat for seat in range(4) if not entry["hands"][seat]] == sorted(out)
        acted = {event[0] for event in entry["events"]} - {"reshuffle"}
        assert not acted & out
        points = entry["result"]["points"]
        assert all(points[seat] == 0 for seat in out)
        if entry["result"]["winner"] is not None:
            assert points[entry["result"]["winner"]] == 0
        totals = [total + more for total, more in zip(totals, points, strict=True)]
        out = {seat for seat, total in enumerate(totals) if total >= 60}
        dealer = next(s % 4 for s in range(dealer + 1, dealer + 5) if s % 4 not in out)
    assert len(out) == 3


def test_every_corrupted_match_with_elimination_is_refused(elimination_match: Record) -> None:
    rounds = elimination_match["rounds"]
    first_out = next(i for i, entry in enumerate(rounds) if [] in entry["hands"])
    seat_out = rounds[first_out]["hands"].index([])
    seat_in = rounds[first_out]["dealer"]

    def refused(match: str, change: Callable[[Record], Any]) -> None:
        twin = copy.deepcopy(elimination_match)
        change(twin)
        assert twin != elimination_match
        with pytest.raises(RecordError, match=match):
            check_record(twin)

    def deal_in(record: Record) -> None:
        entry = record["rounds"][first_out]
        entry["hands"][seat_out] = [entry["pile"].pop() for _ in range(5)]

    def deal_out(record: Record) -> None:
        entry = record["rounds"][first_out]
        entry["pile"] += entry["hands"][seat_in]
        entry["hands"][seat_in] = []

    here = f"round {first_out}"
    refused(f"{here}: hands must be of", deal_in)
    refused(f"{here}: hands must be of", deal_out)
    refused("is out of the match", lambda r: r["rounds"][first_out].update(dealer=seat_out))
    third = next(s for s in range(4) if s not in (seat_out, seat_in))
    refused("the deal passes left", lambda r: r["rounds"][first_out].update(dealer=third))
    refused("round 0: hands must be of", lambda r: r.update(rounds=r["rounds"][first_out:]))
    refused("ends the match", lambda r: r["rounds"].append(copy.deepcopy(r["rounds"][-1])))
    refused("hands must be of|ends the match", lambda r: r["rules"].update(match_goal=10))
    refused("hands must be of", lambda r: r["rules"].update(match_goal=10_000))
    refused("result: must be", lambda r: r["rules"].update(elimination=False))

    def winner_scores(record: Record) -> None:
        for entry in record["rounds"]:
            result = entry["result"]
            if result["winner"] is not None:
                held = result["points"]
                result["points"] = [sum(held) * (s == result["winner"]) for s in range(4)]

    refused("result: must be", winner_scores)


def test_the_match_is_over_when_all_but_one_are_out() -> None:
    rules = preset("pocket", elimination=True, match_goal=10)
    assert out_of_match(rules, [0, 10, 9]) == [1]
    assert not match_is_over(rules, [0, 10, 9])
    assert match_is_over(rules, [0, 10, 11])
    assert match_is_over(rules, [0, 10])
    rules["elimination"] = False
    assert out_of_match(rules, [0, 10, 9]) == []
    assert match_is_over(rules, [0, 10, 9])
    assert not match_is_over(rules, [0, 9, 9])


def test_in_a_single_round_nobody_is_out() -> None:
    rules = preset("mini", elimination=True, match_goal=1)
    game = Game(rules, [["R1", "R2"], ["W", "B2"]], "B1", ["W"], dealer=1)
    game.apply(0, "play R1")
    game.apply(1, "draw")
    game.apply(1, "play W:R")
    game.apply(0, "play R2")
    assert game.result() == {"winner": 0, "points": [0, 52], "end": "out"}
    check_record(record_of([game]))


# Walking


def test_the_steps_of_a_record(good_records: list[Record], good_match: Record) -> None:
    for record in (*good_records, good_match):
        steps = list(walk(record))
        for i, entry in enumerate(record["rounds"]):
            mine = [step for step in steps if step.round == i]
            assert [step.what for step in mine] == (
                ["deal", *["decision"] * (len(mine) - 2), "result"]
            )
            assert [event for step in mine for event in step.events] == entry["events"]
            assert mine[-1].game.result() == entry["result"]
            for step in mine[1:-1]:
                own = [e for e in step.events if e[0] != "reshuffle" and e[1] != "forced"]
                assert len(own) == 1


def test_the_referee_knows_nothing_of_the_engine() -> None:
    """A fault of the engine cannot hide in its judge."""
    ours = {"files", "arguments", "cli"}
    own = {"game", "record_format", "referee"}
    modules = sorted(Path(reference.__file__).parent.glob("*.py"))
    assert own <= {file.stem for file in modules}
    for file in modules:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level:
                assert node.module in own
            elif isinstance(node, ast.ImportFrom):
                first, _, rest = str(node.module).partition(".")
                known = first == "pocket_uno_env" and rest.split(".")[0] in ours
                assert known or first in sys.stdlib_module_names
            elif isinstance(node, ast.Import):
                assert all(a.name.split(".")[0] in sys.stdlib_module_names for a in node.names)
