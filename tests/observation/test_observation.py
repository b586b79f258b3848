"""The observation vector: layout, bounds, and what each block says."""

from __future__ import annotations

import numpy as np
import pytest
from games import every_game, play, raw_env

from pocket_uno_env import Rules, describe
from pocket_uno_env.agents.scripted.policies import Policy
from pocket_uno_env.observation import layout, observation_size
from pocket_uno_env.observation.blocks import BLOCKS, PRIVATE, PUBLIC, write_observation


@pytest.mark.parametrize(("rules", "num_players"), every_game())
@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
def test_the_encoders_fill_the_layout(rules: Rules, num_players: int, dtype: type) -> None:
    """Every value is written, whatever was there before, and nothing behind it."""
    env = raw_env(1, rules=rules, num_players=num_players)
    here = [block.name for block in BLOCKS if not block.when or getattr(rules, block.when)]
    assert [block.name for block in layout(rules, num_players)] == here
    size = observation_size(rules, num_players)
    for raw in play(env, limit=40):
        found = []
        for filled in (7, 99):
            vector = np.full(size + 64, filled, dtype)
            assert write_observation(rules._table[0], raw.rows[0], 0, vector) == size
            assert (vector[size:] == filled).all()
            found.append(vector[:size].tobytes())
        assert found[0] == found[1]


@pytest.mark.parametrize(("rules", "num_players"), every_game())
def test_each_encoder_fills_its_blocks(rules: Rules, num_players: int) -> None:
    env = raw_env(1, rules=rules, num_players=num_players)
    blocks = {block.name: block for block in layout(rules, num_players)}
    there = [w for w in PRIVATE + PUBLIC if w.blocks[0].name in blocks]
    for raw in play(env, limit=20):
        whole = raw.observe("player_0")["observation"]
        for encode, its in there:
            start, stop = blocks[its[0].name].slice.start, blocks[its[-1].name].slice.stop
            vector = np.full(len(whole), 7, np.float32)
            assert encode(rules._table[0], raw.rows[0], 0, vector, start, np.float32(1)) == stop
            assert (vector[:start] == 7).all() and (vector[stop:] == 7).all(), its
            assert (vector[start:stop] == whole[start:stop]).all(), its


@pytest.mark.parametrize(("rules", "num_players"), every_game())
def test_values_lie_between_0_and_1(rules: Rules, num_players: int) -> None:
    for policy in (Policy.RANDOM, Policy.GREEDY):
        env = raw_env(2, rules=rules, num_players=num_players, episode="match", max_rounds=2)
        for raw in play(env, policy, limit=300):
            for agent in raw.possible_agents:
                assert raw.observation_space(agent).contains(raw.observe(agent))


def test_the_vector_says_what_the_snapshot_says() -> None:
    rules = Rules()
    kinds = [kind.name for kind in rules.kinds]
    blocks = {block.name: block.slice for block in layout(rules, 3)}
    for seed in range(5):
        env = raw_env(seed, num_players=3, episode="match")
        for raw in play(env, Policy.RANDOM, limit=200):
            table = raw.snapshot()
            for seat, agent in enumerate(raw.possible_agents):
                seen = raw.observe(agent)["observation"]
                hand = {card: table["hands"][seat].count(card) for card in table["hands"][seat]}
                shares = dict(zip(kinds, seen[blocks["hand"]].tolist(), strict=True))
                copies = {kind.name: kind.copies for kind in rules.kinds}
                assert {k: v * copies[k] for k, v in shares.items() if v} == hand
                piled = dict(zip(kinds, seen[blocks["discards"]].tolist(), strict=True))
                assert sum(v * copies[k] for k, v in piled.items()) == len(table["discard_pile"])
                assert set(table["discard_pile"]) == {k for k, v in piled.items() if v}
                colors = seen[blocks["active_color"]]
                assert "RBGY"[int(colors.argmax())] == table["active_color"]
                face = rules.faces[int(seen[blocks["top"]].argmax())]
                assert table["top"] in (face, table["active_color"] + face)
                to_act = int(seen[blocks["to_act"]].argmax())
                assert (seat + to_act) % 3 == table["to_act"]
                sizes = seen[blocks["hand_sizes"]].reshape(3, -1)[:, 0] * 52
                order = [table["hands"][(seat + i) % 3] for i in range(3)]
                assert np.round(sizes).astype(int).tolist() == [len(hand) for hand in order]
                scores = seen[blocks["scores"]] * 250
                assert np.round(scores).astype(int).tolist() == [
                    table["scores"][(seat + i) % 3] for i in range(3)
                ]
                assert seen[blocks["table"]][0] == (table["direction"] == 1)


def test_describe_fits_a_terminal_and_covers_the_vector() -> None:
    for rules, players in (("pocket", 2), ("pocket", 5), ("classic", 10), ("mini", 2)):
        text = describe(rules, players)
        assert max(map(len, text.splitlines())) <= 80
        made = Rules.preset(rules)
        blocks = layout(made, players)
        assert blocks[-1].start + blocks[-1].length == observation_size(made, players)
        assert all(f"  {block.name} " in text for block in blocks)
