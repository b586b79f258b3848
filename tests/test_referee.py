"""Self-tests of the judge of records (docs/rules.md, sections 8 and 11)."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from reference_play import RULE_SETS, Record, finished_rounds, play_match, record_of

from pocket_uno_env.referee import RecordError, check_record
from pocket_uno_env.reference import HOUSE_OFF, Game, deck_of, is_wild, preset

Path = tuple[Any, ...]
Change = Callable[[Any], None]


def has_reshuffle(game: Game) -> bool:
    return any(event[0] == "reshuffle" for event in game.events)


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


def at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


def put(path: Path, value: Any) -> Change:
    def change(entry: Any) -> None:
        at(entry, path[:-1])[path[-1]] = value

    return change


def drop(path: Path) -> Change:
    def change(entry: Any) -> None:
        del at(entry, path[:-1])[path[-1]]

    return change


def insert(path: Path, value: Any) -> Change:
    def change(entry: Any) -> None:
        at(entry, path[:-1]).insert(path[-1], value)

    return change


def exchange(one: Path, other: Path) -> Change:
    def change(entry: Any) -> None:
        first, second = at(entry, one), at(entry, other)
        put(one, second)(entry)
        put(other, first)(entry)

    return change


def move(one: Path, other: Path) -> Change:
    def change(entry: Any) -> None:
        at(entry, other).append(at(entry, one).pop())

    return change


def corrupt_events(record: Record) -> Iterator[tuple[str, Change]]:
    """Yield changes of single events of a finished round, none of which leaves it right."""
    events, seats = record["rounds"][0]["events"], len(record["players"])
    for i, event in enumerate(events):
        here: Path = ("events", i)
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
            yield f"event {i}: an unknown action", put((*here, 1), "pass")
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
        mine: Path = ("hands", winner, i)
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
