"""The PettingZoo environment: conformance, episodes, rewards, handles, copies, errors."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pettingzoo
import pytest
from games import ODD_RULES, play, raw_env, scripted_action
from gymnasium.utils.env_checker import data_equivalence
from pettingzoo.test import api_test, parallel_api_test, render_test, seed_test, state_test
from pettingzoo.utils import turn_based_aec_to_parallel

from pocket_uno_env import Rules, pocket_uno_v0
from pocket_uno_env.agents.scripted.policies import Policy
from pocket_uno_env.envs.aec import IllegalActionError
from pocket_uno_env.envs.registration import AEC_ID

GAMES = [
    pytest.param({"num_players": n, "episode": episode}, id=f"{n}-{episode}")
    for n in (2, 3, 4, 5)
    for episode in ("round", "match")
]


# Conformance. pyproject.toml makes every warning an error but the two that api_test always gives
# for a Dict observation.


@pytest.mark.parametrize("game", GAMES)
def test_api_over_fifty_seeds(game: dict[str, Any]) -> None:
    for seed in range(50):
        env = pocket_uno_v0.env(**game)
        # api_test resets without a seed, which goes on from this one.
        env.reset(seed=seed)
        api_test(env, num_cycles=60)


def test_api_classic_and_odd_rules() -> None:
    for rules in (*ODD_RULES.values(), "classic", "mini", "pocket51"):
        api_test(pocket_uno_v0.env(rules=rules), num_cycles=200)


@pytest.mark.parametrize("game", GAMES)
def test_seeds(game: dict[str, Any]) -> None:
    seed_test(lambda: pocket_uno_v0.env(**game), num_cycles=300)
    for seed in range(50):
        first, second = raw_env(seed, **game), raw_env(seed, **game)
        assert first.snapshot() == second.snapshot()


@pytest.mark.parametrize("game", GAMES)
def test_render(game: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    render_test(lambda render_mode: pocket_uno_v0.env(**game, render_mode=render_mode))
    assert "draw pile" in capsys.readouterr().out


def test_rendered_text_fits_a_terminal_and_names_the_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    env = raw_env(1, num_players=5, render_mode="ansi")
    for raw in play(env, Policy.GREEDY):
        text = raw.render()
        assert f"top {raw.snapshot()['top']}" in text
        assert f"> {raw.agent_selection}" in text
        assert max(map(len, text.splitlines())) <= 80
    assert "is out and scores" in env.render()


def test_state() -> None:
    env = pocket_uno_v0.env(num_players=3)
    parallel = turn_based_aec_to_parallel(pocket_uno_v0.env(num_players=3))
    state_test(env, parallel)
    raw = raw_env(2, num_players=3)
    kinds = len(raw.rules.kinds)
    hands = raw.state()[: 3 * kinds].reshape(3, kinds)
    for hand, share in zip(raw.snapshot()["hands"], hands, strict=True):
        assert sorted({raw.rules.kinds[k].name for k in np.flatnonzero(share)}) == sorted(set(hand))


def test_parallel_api() -> None:
    parallel_api_test(turn_based_aec_to_parallel(pocket_uno_v0.env(num_players=4)))


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="the registry is new in 1.27")
def test_registered_with_pettingzoo() -> None:
    env = pettingzoo.make("aec", "pocket_uno/pocket_uno_v0", num_players=3, max_cycles=7)
    assert AEC_ID == "pocket_uno/pocket_uno_v0"
    assert env.unwrapped.num_players == 3 and env.unwrapped.max_cycles == 7
    assert str(env) == "pocket_uno_v0"


def test_spaces_are_constant_objects() -> None:
    env = raw_env(0, num_players=3)
    for agent in env.possible_agents:
        assert env.observation_space(agent) is env.observation_space(agent)
        assert env.action_space(agent) is env.action_space(agent)


def test_the_wrapped_env_ends_the_game_on_an_illegal_action() -> None:
    env = pocket_uno_v0.env()
    env.reset(seed=1)
    offender = env.agent_selection
    illegal = int(np.flatnonzero(env.observe(offender)["action_mask"] == 0)[0])
    env.step(illegal)
    assert all(env.terminations.values())
    assert env.unwrapped.legal_names() == []
    totals = {}
    for agent in env.agent_iter():
        observation, reward, *_ = env.last()
        assert not observation["action_mask"].any()
        totals[agent] = reward
        env.step(None)
    assert totals == {agent: -1.0 if agent == offender else 0.0 for agent in totals}


# Episodes and rewards.


def payoffs_by_last(env: Any, policy: Policy = Policy.GREEDY) -> dict[str, float]:
    """The sum of what `last` hands each agent, as a learner would add it up."""
    totals = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        _, reward, terminated, truncated, _ = env.last()
        totals[agent] += reward
        env.step(None if terminated or truncated else scripted_action(env, policy))
    return totals


@pytest.mark.parametrize("num_players", [2, 3, 5])
@pytest.mark.parametrize("episode", ["round", "match"])
def test_win_reward_is_paid_once_and_zero_sum(num_players: int, episode: str) -> None:
    for seed in range(10):
        env = pocket_uno_v0.env(num_players=num_players, episode=episode)
        env.reset(seed=seed)
        totals = list(payoffs_by_last(env).values())
        result = env.unwrapped.snapshot()["result"]
        expected = [-1 / (num_players - 1)] * num_players
        expected[result["winner"]] = 1.0
        assert totals == expected and sum(totals) == pytest.approx(0)


@pytest.mark.parametrize("num_players", [2, 4])
@pytest.mark.parametrize("episode", ["round", "match"])
def test_points_reward_is_what_the_records_say(num_players: int, episode: str) -> None:
    for seed in range(5):
        env = pocket_uno_v0.env(num_players=num_players, episode=episode, reward="points")
        env.reset(seed=seed)
        totals = np.array(list(payoffs_by_last(env).values()))
        assert totals.sum() == pytest.approx(0)
        rounds = env.unwrapped.record()["rounds"]
        won = np.sum([entry["result"]["points"] for entry in rounds], axis=0) / 250
        # What a seat lost is what it held whenever another went out; together that is all points.
        assert (totals <= won + 1e-9).all()
        assert (won - totals).sum() == pytest.approx(won.sum())
        if episode == "round":
            hands = env.unwrapped.snapshot()["hands"]
            points = {kind.name: kind.points for kind in env.unwrapped.rules.kinds}
            held = [sum(points[card] for card in hand) / 250 for hand in hands]
            assert totals == pytest.approx(won - held)


def test_a_match_goes_to_the_goal_and_the_deal_passes_to_the_left() -> None:
    env = raw_env(4, num_players=3, episode="match")
    seen = [raw.snapshot()["scores"] for raw in play(env, Policy.GREEDY)]
    record, end = env.record(), env.snapshot()
    assert record["match"] and len(record["rounds"]) > 1
    dealers = [entry["dealer"] for entry in record["rounds"]]
    assert dealers == [(dealers[0] + i) % 3 for i in range(len(dealers))]
    totals = np.cumsum([entry["result"]["points"] for entry in record["rounds"]], axis=0)
    assert end["scores"] == totals[-1].tolist() and max(end["scores"]) >= 250
    assert (totals[:-1] < 250).all()
    assert all(max(scores) < 250 for scores in seen)
    assert end["result"] == record["rounds"][-1]["result"]
    assert all(env.terminations.values()) and not any(env.truncations.values())


def test_result_is_none_until_the_match_ends() -> None:
    env = raw_env(4, episode="match")
    assert all(raw.snapshot()["result"] is None for raw in play(env, Policy.GREEDY))
    assert env.snapshot()["result"]["end"] == "out"


def test_a_capped_round_is_truncated_and_pays_nothing() -> None:
    for reward in ("win", "points"):
        env = pocket_uno_v0.env(max_cycles=5, reward=reward)
        env.reset(seed=2)
        assert set(payoffs_by_last(env, Policy.RANDOM).values()) == {0.0}
        env.reset(seed=2)
        decisions = sum(1 for _ in play(env))
        assert decisions == 5
        assert all(env.truncations.values()) and not any(env.terminations.values())
        assert env.unwrapped.snapshot()["result"] == {
            "winner": None, "points": [0, 0], "end": "truncated",
        }  # fmt: skip
        assert env.unwrapped.record()["rounds"][0]["result"]["end"] == "truncated"


def test_a_capped_round_of_a_match_is_followed_by_the_next_deal() -> None:
    env = raw_env(2, episode="match", max_cycles=5, max_rounds=4)
    assert sum(1 for _ in play(env)) == 20
    rounds = env.record()["rounds"]
    assert [entry["result"]["end"] for entry in rounds] == ["truncated"] * 4
    assert all(env.truncations.values()) and not any(env.terminations.values())
    assert env.snapshot()["scores"] == [0, 0]


def test_a_match_that_reaches_its_goal_in_the_last_round_is_terminated() -> None:
    rules = Rules.preset("pocket", match_goal=1)
    env = raw_env(2, rules=rules, episode="match", max_rounds=1)
    list(play(env, Policy.GREEDY))
    assert all(env.terminations.values()) and not any(env.truncations.values())


def blocked(episode: str, **kwargs: Any) -> Any:
    """A tiny game in which both seats pass with nothing to draw."""
    rules = Rules.preset(
        "custom",
        colors=3,
        symbols={"1": 1, "2": 1},
        wild_copies={"W": 1, "WD": 0, "W+2": 0, "W+4": 0},
        hand_size=2,
        max_players=2,
    )
    env = raw_env(rules=rules, episode=episode, **kwargs)
    deck = ["R1", "G2", "R2", "W", "B1", "B2", "G1"]
    env.reset(seed=0, options={"deck": deck, "dealer": 1})
    while env.rows["end"][0] == 0 and len(env.record()["rounds"]) == 1:
        names = env.legal_names()
        if len(env.record()["rounds"][0]["events"]) > 30:
            raise AssertionError("not blocked")
        env.step(env.action_id("keep" if "keep" in names else "draw"))
    return env


@pytest.mark.parametrize("reward", ["win", "points"])
def test_a_blocked_round_ends_without_winner(reward: str) -> None:
    env = blocked("round", reward=reward)
    assert env.snapshot()["result"] == {"winner": None, "points": [0, 0], "end": "blocked"}
    assert all(env.terminations.values()) and not any(env.truncations.values())
    assert set(env._cumulative_rewards.values()) == {0.0}


def test_a_blocked_round_of_a_match_is_followed_by_the_next_deal() -> None:
    env = blocked("match")
    rounds = env.record()["rounds"]
    assert len(rounds) == 2 and rounds[0]["result"]["end"] == "blocked"
    assert rounds[1]["dealer"] == 0 and rounds[1]["result"]["end"] is None
    assert env.snapshot()["result"] is None and not any(env.terminations.values())


# Handles and options.


def test_action_names_and_ids() -> None:
    env = raw_env(0)
    names = [env.action_name(i) for i in range(env.action_space("player_0").n)]
    assert [env.action_id(name) for name in names] == list(range(123))
    with pytest.raises(ValueError, match="'play Q7'"):
        env.action_id("play Q7")
    with pytest.raises(ValueError, match="123"):
        env.action_name(123)


def test_snapshot_has_exactly_the_documented_keys() -> None:
    assert set(raw_env(0).snapshot()) == {
        "hands", "top", "active_color", "draw_pile", "discard_pile", "direction", "dealer",
        "to_act", "phase", "scores", "result",
    }  # fmt: skip


def test_a_scripted_deck_is_dealt_from_the_front() -> None:
    env = raw_env(0, num_players=3)
    deck = sorted(env.rules.deck, reverse=True)
    deck = deck[4:] + deck[:4]
    env.reset(options={"deck": deck, "dealer": 1})
    table = env.snapshot()
    assert table["dealer"] == 1
    assert [set(table["hands"][seat]) for seat in (2, 0, 1)] == [
        set(deck[i:15:3]) for i in range(3)
    ]
    assert env.record()["rounds"][0]["hands"] == [deck[1:15:3], deck[2:15:3], deck[0:15:3]]
    assert env.record()["rounds"][0]["opening"] == deck[15]
    # A symbol of draw one or skip may have had its effect; the order stays.
    assert table["draw_pile"] == deck[len(deck) - len(table["draw_pile"]) :]


def test_a_scripted_wild_opening_is_put_back_and_the_seed_shuffles() -> None:
    env = raw_env(0)
    deck = [*[c for c in env.rules.deck if c[0] != "W"][:10], "W", "WD", "W", "W+2"]
    deck += [c for c in env.rules.deck if c[0] != "W"][10:]
    tables = []
    for seed in (1, 1, 2):
        env.reset(seed=seed, options={"deck": deck, "dealer": 0})
        entry = env.record()["rounds"][0]
        assert entry["turned_back"][0] == "W" and entry["opening"][0] != "W"
        tables.append(env.snapshot())
    assert tables[0] == tables[1] != tables[2]


def test_options_hold_for_one_round_of_one_reset() -> None:
    env = raw_env(0, episode="match", max_cycles=1)
    deck = [c for c in env.rules.deck if c[0] != "W"] + ["W", "W", "WD", "W+2"]
    env.reset(seed=5, options={"deck": deck, "dealer": 1})
    env.step(scripted_action(env))
    second = env.record()["rounds"][1]
    assert second["hands"] != env.record()["rounds"][0]["hands"] and second["dealer"] == 0
    env.reset(seed=5)
    assert env.record()["rounds"][0]["hands"] != [deck[1:10:2], deck[0:10:2]]


GOOD = [c for c in Rules().deck if c[0] != "W"] + ["W", "W", "WD", "W+2"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"deck": GOOD[:-1]}, ["W+2", "0 times"]),
        ({"deck": ["R1", *GOOD[:-1]]}, ["R1", "2 times"]),
        ({"deck": ["R0", *GOOD[1:]]}, ["R0", "pocket"]),
        ({"deck": "R1 R2"}, ["list of card names"]),
        ({"deck": 7}, ["list of card names"]),
        ({"dealer": 2}, ["dealer", "2", "0 to 1"]),
        ({"dealer": "0"}, ["dealer"]),
        ({"dealer": True}, ["dealer"]),
        ({"decks": GOOD}, ["'decks'", "'deck'"]),
        ("deck", ["options", "dict"]),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_options_change_nothing(options: dict[str, Any], words: list[str]) -> None:
    env = raw_env(3)
    env.step(scripted_action(env))
    before = (env.rows.tobytes(), env.record(), env._np_random.bit_generator.state)
    with pytest.raises(ValueError) as error:
        env.reset(seed=9, options=options)
    assert all(word in str(error.value) for word in words), str(error.value)
    assert (env.rows.tobytes(), env.record(), env._np_random.bit_generator.state) == before


def test_a_deck_must_leave_a_coloured_opening() -> None:
    rules = Rules.preset("mini")
    env = raw_env(0, rules=rules)
    with pytest.raises(ValueError, match="only wilds"):
        env.reset(options={"deck": ["R1", "R2", "B1", "B2", "W", "W"]})


@pytest.mark.parametrize("seed", [-1, 1.5, "7", True])
def test_bad_seeds(seed: Any) -> None:
    with pytest.raises(ValueError, match="seed"):
        raw_env(0).reset(seed=seed)


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"rules": "skat"}, ["skat", "pocket"]),
        ({"num_players": 6}, ["num_players", "6", "5"]),
        ({"num_players": 1}, ["num_players"]),
        ({"episode": "set"}, ["episode", "match"]),
        ({"reward": "score"}, ["reward", "points"]),
        ({"max_cycles": 0}, ["max_cycles"]),
        ({"max_cycles": 2.5}, ["max_cycles"]),
        ({"max_cycles": 2**63}, ["max_cycles", "2147483647"]),
        ({"max_rounds": -1}, ["max_rounds"]),
        ({"render_mode": "gif"}, ["render_mode", "ansi"]),
    ],
    ids=str,
)
def test_bad_arguments(kwargs: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ValueError) as error:
        pocket_uno_v0.raw_env(**kwargs)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_arguments_survive_a_seeded_reset() -> None:
    kwargs = {
        "rules": "classic", "num_players": 7, "episode": "match", "reward": "points",
        "max_cycles": 123, "max_rounds": 7, "render_mode": "ansi", "render_seat": 1,
    }  # fmt: skip
    env = raw_env(1, **kwargs)
    env.reset(seed=2)
    env.reset()
    assert {name: getattr(env, name) for name in kwargs if name != "rules"} == {
        k: v for k, v in kwargs.items() if k != "rules"
    }
    assert env.rules == Rules.preset("classic")


def test_unseeded_resets_differ_and_say_so() -> None:
    env = raw_env()
    first = env.record()
    env.reset()
    assert first["seed"] is None and env.record()["rounds"] != first["rounds"]
    env.reset(seed=11)
    assert env.record()["seed"] == 11
    env.reset()
    assert env.record()["seed"] is None


def test_an_illegal_action_says_what_was_legal() -> None:
    env = raw_env(1)
    legal = env.legal_names()
    with pytest.raises(IllegalActionError) as error:
        env.step(env.action_id("challenge"))
    message = str(error.value)
    assert "'challenge'" in message and "phase 'play'" in message and ", ".join(legal) in message


def test_nothing_works_before_reset() -> None:
    env = pocket_uno_v0.raw_env()
    handles = [env.snapshot, env.record, env.state, env.last, lambda: env.step(0)]
    for handle in (*handles, lambda: env.observe("player_0")):
        with pytest.raises(RuntimeError, match="reset"):
            handle()


def test_dead_agents_step_with_none_only_and_can_still_be_observed() -> None:
    env = raw_env(6, num_players=3)
    list(play(env, Policy.GREEDY))
    with pytest.raises(ValueError, match="None"):
        env.step(0)
    for _ in range(3):
        env.step(None)
    assert env.agents == []
    with pytest.raises(RuntimeError, match="reset"):
        env.step(None)
    with pytest.raises(ValueError, match="no agent 'player_7'"):
        env.observe("player_7")
    for agent in env.possible_agents:
        assert env.observation_space(agent).contains(env.observe(agent))


# Copies.


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("episode", ["round", "match"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_copies_in_mid_game_continue_identically(clone: Any, episode: str, wrapped: bool) -> None:
    make = pocket_uno_v0.env if wrapped else pocket_uno_v0.raw_env
    for steps in (0, 1, 17, 60):
        env = make(num_players=3, episode=episode)
        env.reset(seed=steps)
        for _, _raw in zip(range(steps), play(env), strict=False):
            pass
        twin = clone(env)
        for _ in range(80):
            if not env.agents:
                env.reset()
                twin.reset()
            assert env.agent_selection == twin.agent_selection
            assert data_equivalence(env.last(), twin.last())
            dead = env.terminations[env.agent_selection] or env.truncations[env.agent_selection]
            action = None if dead else scripted_action(env)
            env.step(action)
            twin.step(action)
        assert env.unwrapped.record() == twin.unwrapped.record()


def test_returned_arrays_are_the_callers() -> None:
    env = raw_env(1)
    observation, *_, info = env.last()
    kept = {key: value.copy() for key, value in observation.items()}
    mask = info["action_mask"]
    env.step(scripted_action(env))
    assert data_equivalence(observation, kept) and (mask == kept["action_mask"]).all()
    env.observe(env.agent_selection)["observation"][:] = 7
    assert env.observe(env.agent_selection)["observation"].max() <= 1
