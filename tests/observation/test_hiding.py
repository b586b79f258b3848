"""Hidden information stays hidden.

Whatever a seat cannot know is permuted; its observation, mask and info keep every byte.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dealt_hands import HANDS, start
from games import every_game, play, raw_env
from hidden_cards import permute_hidden, write_places

import pocket_uno_env
from pocket_uno_env import Rules, agents
from pocket_uno_env.agents.scripted.policies import Policy, act_rows
from pocket_uno_env.compiled.rng import row_seed
from pocket_uno_env.engine.state import new_rows
from pocket_uno_env.observation.blocks import layout, observation_size
from pocket_uno_env.observation.information import PUBLIC_FIELDS, UNSEEN
from pocket_uno_env.records.record import from_actions, positions
from pocket_uno_env.row_kernels import observe_row
from pocket_uno_env.rows import reset_rows, step_rows
from pocket_uno_env.rules.phases import End

AGENTS = Path(agents.__file__).parent
READERS = {
    path.relative_to(parent).as_posix(): path
    for parent, folder in (
        (Path(pocket_uno_env.__file__).parent, "observation"),
        (AGENTS, "scripted"),
    )
    for path in sorted((parent / folder).glob("*.py"))
    if path.stem not in ("information", "full_state")
}
PLAYED_OUT = {"end", "winner"}
SEARCHERS = {
    "search/belief.py": {"caught"},
    "search/flat.py": set(),
    "search/playouts.py": PLAYED_OUT | {"policy_rng"},
    "search/tree.py": PLAYED_OUT,
}
"""What search may read besides: how its playouts ended, whether all saw a seat being caught."""


def sight(env: Any, seat: int) -> tuple[bytes, bytes, bytes, tuple[str, ...]]:
    agent = env.possible_agents[seat]
    seen, info = env.observe(agent), env.infos[agent]
    # Without the cached observation of the seat to act: as a fresh look at the row.
    return (
        seen["observation"].tobytes(),
        seen["action_mask"].tobytes(),
        info["action_mask"].tobytes(),
        tuple(info),
    )


@pytest.mark.parametrize(("rules", "num_players"), every_game())
@pytest.mark.parametrize("policy", [Policy.RANDOM, Policy.GREEDY])
def test_what_a_seat_cannot_know_changes_nothing(rules, num_players: int, policy: Policy) -> None:
    rng = np.random.default_rng(1)
    moved = decisions = 0
    for seed in range(4):
        env = raw_env(seed, rules=rules, num_players=num_players, episode="match")
        for raw in play(env, policy, limit=60):
            decisions += 1
            saved, turn = raw.rows.copy(), raw.possible_agents.index(raw.agent_selection)
            for seat in range(num_players):
                before = sight(raw, seat)
                moved += permute_hidden(rules, raw.rows, seat, rng)
                refresh(raw)
                if seat == turn:
                    # The other seats' looks are not fresh ones, they come from the row anyway.
                    assert raw._mask.tobytes() == before[1]
                assert sight(raw, seat) == before, (seat, raw.snapshot())
                raw.rows[:] = saved
                refresh(raw)
    assert moved > decisions or rules.name == "mini"


def refresh(raw: Any) -> None:
    """Make the env look at its (changed) row again, as `step` does after a decision."""
    from pocket_uno_env.row_kernels import look_row

    look_row(raw.rules._table, raw.rows, raw._observation, raw._mask)


def test_idle_agents_have_no_legal_action_and_nobody_has_after_the_end() -> None:
    env = raw_env(3, num_players=4)
    for raw in play(env, Policy.GREEDY):
        for agent in raw.possible_agents:
            mask = raw.observe(agent)["action_mask"]
            assert mask.any() == (agent == raw.agent_selection)
            assert (raw.infos[agent]["action_mask"] == mask).all()
    for agent in env.possible_agents:
        assert not env.observe(agent)["action_mask"].any()
        assert not env.infos[agent]["action_mask"].any()


def block(env: Any, seat: int, name: str) -> np.ndarray:
    seen = env.observe(env.possible_agents[seat])["observation"]
    place = next(b for b in layout(env.rules, env.num_players) if b.name == name)
    return seen[place.slice]


def known(env: Any, seat: int) -> list[list[str]]:
    """The cards that `seat` knows in each other hand, next seat first."""
    shares = block(env, seat, "known").reshape(env.num_players - 1, -1)
    return [[env.rules.kinds[k].name for k in np.flatnonzero(share)] for share in shares]


def shown(env: Any, seat: int) -> list[list[str]]:
    shares = block(env, seat, "shown").reshape(env.num_players - 1, -1)
    return [[env.rules.kinds[k].name for k in np.flatnonzero(share)] for share in shares]


def test_a_challenge_shows_the_hand_to_the_challenger_alone() -> None:
    env = start(HANDS, "R9", ["B8", "G8", "B7", "G6"], ["play W+2:G", "challenge"])
    assert known(env, 1) == [[], ["R1", "B3", "G4", "Y5"]]
    assert known(env, 0) == known(env, 2) == [[], []]
    assert shown(env, 0) == [["R1", "B3", "G4", "Y5"], []]
    assert shown(env, 1) == shown(env, 2) == [[], []]
    # Guilty by R1: the cards drawn for it came after the showing.
    assert len(env.snapshot()["hands"][0]) == 6


def test_a_known_card_is_forgotten_when_it_is_played() -> None:
    env = start(
        HANDS, "R9", ["B8", "G8", "B7", "G6"],
        ["play W+2:G", "challenge", "play G7", "play G5", "play G4"],
    )  # fmt: skip
    assert known(env, 1) == [[], ["R1", "B3", "Y5"]]


def test_an_innocent_hand_is_evidence_for_all() -> None:
    hands = [["B1", "B3", "G4", "Y5", "W+2"], *HANDS[1:]]
    env = start(hands, "R9", ["B8", "G8", "B7", "G6"], ["play W+2:G", "challenge"])
    for seat in range(3):
        evidence = block(env, seat, "off_color").reshape(3, 4)
        red = evidence[(0 - seat) % 3]
        assert red.tolist() == [1.0, 0.0, 0.0, 0.0]


def test_drawing_is_evidence_for_the_active_color() -> None:
    env = start(HANDS, "Y9", ["B8", "G8", "B7", "G6"], ["draw"])
    assert env.snapshot()["to_act"] == 1
    assert block(env, 1, "off_color").reshape(3, 4)[2].tolist() == [0.0, 0.0, 0.0, 1.0]


def test_a_gift_is_known_to_giver_and_receiver() -> None:
    hands = [["R1", "B3", "G4", "Y5", "WD"], *HANDS[1:]]
    env = start(hands, "R9", ["B8"], ["play WD:G", "give B8"])
    assert known(env, 0) == [["B8"], []] and known(env, 1) == known(env, 2) == [[], []]
    assert shown(env, 1) == [[], ["B8"]] and shown(env, 0) == [[], []]


def test_a_receiver_who_knew_the_hand_still_knows_the_rest() -> None:
    # Seat 1 sees seat 0's hand by a challenge; seat 0 later gives it one of those cards.
    hands = [["R1", "B3", "WD", "Y5", "W+2"], *HANDS[1:]]
    env = start(
        hands, "R9", ["B8", "G8", "B7", "G6", "B2"],
        ["play W+2:G", "challenge", "play G7", "play G5", "play WD:R", "give Y5"],
    )  # fmt: skip
    # The receiver saw which card left, so the rest stays certain for it.
    assert known(env, 1) == [[], ["R1", "B3"]]


def test_a_third_seat_forgets_what_a_hidden_gift_may_have_been() -> None:
    # Seat 1 has seen seat 0's hand; seat 0 gives to seat 3 (counter-clockwise), unseen by seat 1.
    hands = [
        ["R1", "B3", "WD", "Y5", "W+2"],
        ["R6", "B6", "G7", "Y8", "GV"],
        ["B4", "G5", "G3", "R3", "Y6"],
        ["B1", "R4", "G1", "R5", "Y1"],
    ]
    env = start(
        hands, "R9", ["B8", "G8", "B7", "G6", "B2"],
        ["play W+2:G", "challenge", "play GV", "play WD:R"],
    )  # fmt: skip
    assert env.snapshot()["phase"] == "give" and known(env, 1)[2] == ["R1", "B3", "Y5"]
    env.step(env.action_id("give B3"))
    assert env.snapshot()["to_act"] == 3
    assert known(env, 1)[2] == []
    assert known(env, 3)[0] == []
    assert "B3" in shown(env, 3)[0]


def test_guilt_and_hidden_fields_are_not_public() -> None:
    hidden = {"guilty", "hand_kinds", "hands", "known", "shown", "draw_pile", "drawn_card", "rng"}
    assert not hidden & PUBLIC_FIELDS


@pytest.mark.parametrize("module", [*READERS, *SEARCHERS])
def test_encoders_and_policies_read_rows_through_information_only(module: str) -> None:
    """Their only direct reads of a row are fields that lie open on the table."""
    allowed = PUBLIC_FIELDS | SEARCHERS.get(module, set())
    tree = ast.parse(READERS.get(module, AGENTS / module).read_text())
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        mine = allowed | ({"policy_rng"} if function.name == "choose" else set())
        for node in ast.walk(function):
            if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
                continue
            if node.value.id in ("row", "rows"):
                assert node.attr in mine, f"{module}: {function.name} reads row.{node.attr}"


def test_draw_pile_cards_count_as_unseen() -> None:
    env = start(HANDS, "R9", ["B8"], [])
    places = np.zeros(52, np.int64)
    write_places(env.rules._table, env.rows, 0, places)
    row = env.rows[0]
    assert (places[row["draw_pile"][: row["draw_count"]]] == UNSEEN).all()
    assert (places == UNSEEN).sum() == 52 - 5 - 1


SWAPS = Rules.preset(
    "custom",
    colors=2,
    symbols={"0": 6, "7": 6, "3": 6},
    wild_copies={"W": 0, "WD": 2, "W+2": 4, "W+4": 0},
    seven_zero=True,
    hand_size=4,
)
HELD_BY_ALL = Rules.preset(
    "custom",
    symbols={"0": 2, "7": 3, "+1": 2, "+2": 2, "S": 1, "V": 1, "3": 2},
    wild_copies={"W": 1, "WD": 1, "W+2": 2, "W+4": 2},
    stacking="any",
    seven_zero=True,
    jump_in=True,
    hand_size=4,
)
TWINS = [(SWAPS, 3, 2291), (SWAPS, 3, 1535), (SWAPS, 3, 475), (HELD_BY_ALL, 4, 1813)]


def with_copies_exchanged(rules: Rules, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same games with the copies of each kind exchanged: nobody can tell them apart."""
    exchanged, kinds = np.arange(256), rules.table["card_kind"][0][: rules.n_cards]
    for kind in range(len(rules.kinds)):
        copies = np.flatnonzero(kinds == kind)
        exchanged[copies] = rng.permutation(copies)
    twins = rows.copy()
    for pile in ("draw_pile", "discard_pile"):
        twins[pile] = exchanged[rows[pile]]
    for books in ("hands", "known", "shown", "discards"):
        bits = np.unpackbits(rows[books].view(np.uint8), axis=-1, bitorder="little")
        moved = np.zeros_like(bits)
        moved[..., exchanged[:128]] = bits
        twins[books] = np.packbits(moved, axis=-1, bitorder="little").view(np.uint64)
    return twins


def all_sights(rules: Rules, rows: np.ndarray, seats: int) -> np.ndarray:
    """What every seat sees of some games, the seat to act or not."""
    observations = np.zeros((seats, len(rows), observation_size(rules, seats)), np.float32)
    for i in range(len(rows)):
        for seat in range(seats):
            observe_row(rules._table, rows[i : i + 1], seat, observations[seat, i])
    return observations


@pytest.mark.parametrize(("rules", "seats", "game"), TWINS)
def test_equal_cards_are_equal_also_when_hands_change_seats(
    rules: Rules, seats: int, game: int
) -> None:
    """Each begins with a game in which a showing hung on the one copy that had been shown."""
    rows = new_rows(8)
    reset_rows(rules, rows, seats, 3, game)
    twins = with_copies_exchanged(rules, rows, np.random.default_rng(0))
    for step in range(60):
        running = np.flatnonzero(rows["end"] == End.RUNNING)
        actions = np.zeros(len(running), np.int64)
        policy = Policy.GREEDY if step % 3 else Policy.RANDOM
        act_rows(rules, rows, running, policy, actions)
        twins["policy_rng"] = rows["policy_rng"]
        step_rows(rules, rows, running, actions, 300)
        step_rows(rules, twins, running, actions, 300)
        assert (all_sights(rules, rows, seats) == all_sights(rules, twins, seats)).all(), step


@pytest.mark.parametrize("game", [224, 393, 469, 737, 928, 1221, 2424])
def test_a_record_shows_every_seat_what_the_game_showed_it(game: int) -> None:
    """In these games a copy of another number moved in the record's replay."""
    rules, seats = SWAPS, 3
    rows = new_rows(1)
    reset_rows(rules, rows, seats, 3, game)
    here, actions, sights = np.zeros(1, np.int64), [], []
    for step in range(60):
        if rows["end"][0] != End.RUNNING:
            break
        sights.append(all_sights(rules, rows, seats))
        action = np.zeros(1, np.int64)
        act_rows(rules, rows, here, Policy.GREEDY if step % 3 else Policy.RANDOM, action)
        step_rows(rules, rows, here, action, 300)
        actions.append(int(action[0]))
    seed = int(row_seed(np.uint64(3), np.uint64(game)))
    record = from_actions(rules, seats, seed, actions, ["a"] * seats, None)
    replayed = [all_sights(rules, position.rows, seats) for position in positions(record)]
    for before, after in zip(sights, replayed, strict=False):
        assert (before == after).all()
    assert len(replayed) >= len(sights)
