"""Records: written by the engine, replayed by it, refused when a single thing is wrong."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest
from games import every_game, play, raw_env, scripted_action

from pocket_uno_env import RecordError, Rules, replay
from pocket_uno_env.agents.scripted.policies import Policy, act_rows
from pocket_uno_env.compiled.kernel import as_record
from pocket_uno_env.compiled.rng import row_seed
from pocket_uno_env.engine.state import MAX_STACK, new_rows
from pocket_uno_env.engine.transition import add_to_stack
from pocket_uno_env.records.record import from_actions, positions
from pocket_uno_env.reference.referee import check_record
from pocket_uno_env.rows import reset_rows, step_rows


def through_json(record: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(record))


@pytest.mark.parametrize(("rules", "num_players"), every_game())
@pytest.mark.parametrize("episode", ["round", "match"])
def test_records_replay_and_satisfy_the_reference(rules, num_players: int, episode: str) -> None:
    for seed, policy in enumerate((Policy.GREEDY, Policy.GREEDY, Policy.RANDOM)):
        env = raw_env(
            seed, rules=rules, num_players=num_players, episode=episode, max_cycles=400,
            max_rounds=3,
        )  # fmt: skip
        list(play(env, policy))
        record = through_json(env.record())
        check_record(record)
        assert replay(record) == env.snapshot()


def test_a_running_game_has_a_record_too() -> None:
    env = raw_env(1, num_players=3, episode="match")
    for decisions, raw in enumerate(play(env, Policy.RANDOM, limit=300)):
        if decisions % 13:
            continue
        record = through_json(raw.record())
        assert record["rounds"][-1]["result"]["end"] is None
        check_record(record)
        assert replay(record) == raw.snapshot()


def test_the_shape_of_a_record() -> None:
    env = raw_env(7, num_players=2)
    list(play(env, Policy.GREEDY))
    record = env.record()
    assert list(record) == ["format", "rules", "players", "seed", "match", "rounds"]
    assert record["format"] == "uno-record/1" and record["seed"] == 7 and record["match"] is False
    assert record["players"] == ["player_0", "player_1"]
    assert record["rules"] == Rules().to_dict()
    (entry,) = record["rounds"]
    assert list(entry) == [
        "dealer", "hands", "opening", "turned_back", "pile", "events", "result",
    ]  # fmt: skip
    for event in entry["events"]:
        assert len(event) == (3 if event[1] in ("draw", "forced") else 2)


@pytest.mark.parametrize("episode", ["round", "match"])
def test_a_game_that_starts_at_scores_says_so(episode: str) -> None:
    heads = ["format", "rules", "players", "seed", "match"]
    options = {"scores": [30, 0, 200]}
    for seed in range(4):
        env = raw_env(seed, num_players=3, episode=episode)
        env.reset(seed=seed, options=options)
        list(play(env, Policy.GREEDY))
        record = through_json(env.record())
        assert list(record) == [*heads, "scores", "rounds"] and record["scores"] == [30, 0, 200]
        check_record(record)
        assert replay(record) == env.snapshot()
        won = [entry["result"]["points"] for entry in record["rounds"]]
        assert env.snapshot()["scores"] == np.sum([[30, 0, 200], *won], axis=0).tolist()
        env.reset(seed=seed)
        without = env.record()
        assert list(without) == [*heads, "rounds"]
        env.reset(seed=seed, options={"scores": [0, 0, 0]})
        assert env.record() == without
        zeros = {**through_json(without), "scores": [0, 0, 0]}  # a reader takes what says as much
        check_record(zeros)
        assert replay(zeros) == env.snapshot()


def test_a_match_from_scores_ends_where_its_goal_is_reached() -> None:
    env = raw_env(1, episode="match", scores=[249, 249])
    list(play(env, Policy.GREEDY))
    record = through_json(env.record())
    assert len(record["rounds"]) == 1
    check_record(record)
    other = raw_env(1, episode="match", max_rounds=2)
    list(play(other, Policy.GREEDY))
    two = through_json(other.record())
    assert len(two["rounds"]) == 2
    for reader in (check_record, replay):
        with pytest.raises(RecordError, match=r"the match was over|ends the match at"):
            reader({**two, "scores": [249, 249]})


@pytest.mark.parametrize(
    "scores",
    [[1], [1, 2, 3], [-1, 0], [250, 0], [1.0, 2], [True, 0], ["1", 0], None, {"0": 1}, "match", 5],
    ids=str,
)
def test_scores_that_are_none_are_refused_by_both_readers(scores: Any) -> None:
    env = raw_env(1, scores=[20, 30])
    list(play(env, Policy.GREEDY))
    good = through_json(env.record())
    for reader in (check_record, replay):
        reader(good)
        with pytest.raises(RecordError, match="scores: must be 2 integers from 0 to 249, not "):
            reader({**good, "scores": scores})


def test_a_record_from_a_row_seed_is_the_game_that_was_played() -> None:
    rules, index = Rules(), np.zeros(1, np.int64)
    rows = new_rows(1)
    reset_rows(rules.table, rows, 4, np.uint64(5), np.uint64(17))
    actions, action = [], np.zeros(1, np.int64)
    while rows["end"][0] == 0:
        act_rows(rules.table, rows, index, int(Policy.GREEDY), action)
        actions.append(int(action[0]))
        step_rows(rules.table, rows, index, action, 20_000)
    seed = int(row_seed(np.uint64(5), np.uint64(17)))
    record = from_actions(rules, 4, seed, actions, ["a", "b", "c", "d"], 5)
    check_record(record)
    assert record["rounds"][0]["result"]["winner"] == rows["winner"][0]


def find_record(wanted: str, **kwargs: Any) -> tuple[dict[str, Any], int]:
    """A record with an event of a kind, and the event's index in its first round."""
    for seed in range(200):
        env = raw_env(seed, **kwargs)
        list(play(env, Policy.RANDOM, limit=1500))
        record = through_json(env.record())
        for at, event in enumerate(record["rounds"][0]["events"]):
            if event[0] == wanted or event[1] == wanted:
                return record, at
    raise AssertionError(f"no record with {wanted}")


def refused(record: dict[str, Any], *words: str) -> None:
    with pytest.raises(RecordError) as error:
        replay(record)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_tampered_heads_are_refused() -> None:
    env = raw_env(1)
    list(play(env, Policy.GREEDY))
    good = through_json(env.record())
    replay(good)
    for key in good:
        bad = {k: v for k, v in good.items() if k != key}
        refused(bad, key)
    refused({**good, "format": "uno-record/2"}, "uno-record/2", "uno-record/1")
    refused({**good, "rounds": []}, "rounds", "at least one")
    refused({**good, "players": ["a"]}, "players: 1", "2 to 5")
    refused({**good, "rules": {**good["rules"], "colors": 3}}, "deck")
    refused({**good, "rules": {**good["rules"], "tournament": True}}, "tournament")
    refused({**good, "rounds": good["rounds"] * 2}, "rounds: 2")
    refused([good], "object")  # type: ignore[arg-type]


@pytest.mark.parametrize("wanted", ["draw", "forced", "reshuffle"])
def test_tampered_draws_are_refused(wanted: str) -> None:
    good, at = find_record(wanted)
    replay(good)
    for change in ("swap", "drop card", "drop event", "twice"):
        bad = copy.deepcopy(good)
        events = bad["rounds"][0]["events"]
        cards = events[at][-1]
        if change == "swap":
            cards[0] = "R1" if cards[0] != "R1" else "R2"
        elif change == "drop card":
            cards.pop()
        elif change == "drop event":
            del events[at]
        else:
            events.insert(at, copy.deepcopy(events[at]))
        refused(bad, "round 0, event")


def test_tampered_rounds_are_refused() -> None:
    env = raw_env(3, episode="match", max_rounds=3)
    list(play(env, Policy.GREEDY))
    good = through_json(env.record())

    def changed(number: int, **fields: Any) -> dict[str, Any]:
        bad = copy.deepcopy(good)
        bad["rounds"][number].update(fields)
        return bad

    first, second = good["rounds"][:2]
    refused(changed(1, dealer=first["dealer"]), "round 1", "passes to the left")
    refused(changed(0, dealer=2), "round 0", "dealer")
    refused(changed(0, hands=first["hands"][:1]), "hands")
    refused(changed(0, opening=first["pile"][0]), "deck")
    refused(changed(0, turned_back=["R1"]), "R1")
    refused(changed(0, events=first["events"][:-1]), "round 0", "result")
    refused(changed(0, events=[*first["events"], first["events"][-1]]), "the round is over")
    refused(changed(0, result={**first["result"], "points": [1, 1]}), "result")
    refused(changed(0, result={**first["result"], "end": "blocked"}), "result")
    events = copy.deepcopy(first["events"])
    player = next(i for i, event in enumerate(events) if event[1] != "forced")
    events[player][0] = 1 - events[player][0]
    refused(changed(0, events=events), f"event {player}", "turn")
    events[player][1] = "say uno"
    refused(changed(0, events=events), f"event {player}")
    assert second["dealer"] != first["dealer"]


def test_unused_randomness_of_agents_is_not_in_the_record() -> None:
    env = raw_env(5)
    scripted_action(env)
    scripted_action(env)
    assert env.record()["rounds"][0]["events"] == raw_env(5).record()["rounds"][0]["events"]


def test_seventy_stacked_draw_cards_wait_and_are_drawn() -> None:
    """As many cards as wait do not fit into a byte; whoever must draw draws all there are."""
    rules = Rules.preset(
        "custom",
        symbols={str(digit): 1 for digit in range(10)} | {"+1": 1, "S": 1, "V": 1, "+2": 1},
        wild_copies={"W": 0, "WD": 0, "W+2": 0, "W+4": 72},
        hand_size=28,
        stacking="any",
        uno_call="automatic",
        wild_draw_four="challenge",
    )
    # Both hold W+4 alone and draw eight more each; then they stack and stack.
    numbers = [card for card in rules.deck if card != "W+4"]
    deck = ["W+4"] * 56 + ["R5"] + ["W+4"] * 16
    deck += [card for card in numbers if card != "R5"]
    env = raw_env(num_players=2, rules=rules)
    env.reset(seed=1, options={"deck": deck, "dealer": 1})
    for _ in range(16):
        env.step(env.action_id("draw"))
        env.step(env.action_id("keep"))
    for played in range(70):
        assert int(env.rows["stack"][0]) == 4 * played
        env.step(env.action_id("play W+4:R"))
    assert env.rows["stack"][0] == 280 and env.snapshot()["phase"] == "stack"
    before = env.snapshot()
    env.step(env.action_id("accept"))
    after = env.snapshot()
    there = len(before["draw_pile"]) + len(before["discard_pile"]) - 1
    assert len(after["hands"][0]) - len(before["hands"][0]) == there > 24
    record = through_json(env.record())
    check_record(record)
    assert replay(record)["hands"] == after["hands"]


def test_a_stack_stops_where_it_cannot_be_told_from_a_larger_one() -> None:
    rows = new_rows(1)
    for number, expected in (
        (2, 2),
        (MAX_STACK - 3, MAX_STACK - 1),
        (4, MAX_STACK),
        (4, MAX_STACK),
    ):
        add_to_stack(as_record(rows), number)
        assert rows["stack"][0] == expected


def test_positions_share_a_row_and_copies_keep_it() -> None:
    env = raw_env(3)
    list(play(env, Policy.GREEDY))
    record = env.record()
    kept, copies = [], []
    for position in positions(record):
        kept.append(position)
        copies.append(position.rows.copy())
    assert all(position.rows is kept[0].rows for position in kept)
    assert all(as_record(p.rows).tobytes() == copies[-1].tobytes() for p in kept)
    decisions = [int(rows["decisions"][0]) for rows in copies]
    assert decisions == sorted(decisions) and len(set(decisions)) > 5
