"""RLCard's agents here and ours there: what each is shown, what each does, and the port of one."""

from __future__ import annotations

import copy
import os
import pickle
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rlcard
from programs import run_example, run_page
from rlcard.agents import DQNAgent, RandomAgent
from rlcard.games.uno.utils import ACTION_LIST
from rlcard.models import uno_rule_models

from pocket_uno_env import Rules, pocket_uno_v0
from pocket_uno_env.agents import Agent, AgentError, load
from pocket_uno_env.agents.rlcard import (
    LIKE_RLCARD,
    RlcardAgent,
    RlcardPlayer,
    action_name,
    active_color,
    from_rlcard,
    models,
    to_rlcard,
)
from pocket_uno_env.agents.scripted.policies import Policy
from pocket_uno_env.batch import Batch
from pocket_uno_env.engine.state import new_rows
from pocket_uno_env.evaluation.arena import play
from pocket_uno_env.rows import reset_rows
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.rules.phases import Phase

CLASSIC = Rules.preset("classic")


def test_every_card_and_action_has_a_name_on_both_sides() -> None:
    for kind in CLASSIC.kinds:
        assert from_rlcard(to_rlcard(kind.name))[0] == kind.name
    names = [action_name(action) for action in ACTION_LIST]
    plays = [name for name in catalogue(CLASSIC).names if name.startswith("play ")]
    assert sorted(names) == sorted([*plays, "draw"]) and len(names) == 61


class Watcher(RandomAgent):  # type: ignore[misc]
    """RLCard's random agent, which keeps what it is shown."""

    def __init__(self) -> None:
        super().__init__(len(ACTION_LIST))
        self.seen: list[dict[str, Any]] = []

    def eval_step(self, state: dict[str, Any]) -> Any:
        self.seen.append(state)
        return super().eval_step(state)


def test_what_rlcards_agents_are_shown_is_what_rlcard_would_show() -> None:
    """Against RLCard's own rules of what is legal, and its own encoding of the table."""
    watcher = Watcher()
    agent = RlcardAgent(watcher)
    env = pocket_uno_v0.raw_env(rules=CLASSIC, num_players=2)
    asked = Counter[str]()
    for seed in range(12):
        env.reset(seed=seed)
        while not env.terminations[env.agent_selection]:
            before = env.snapshot()
            shown = len(watcher.seen)
            env.step(agent.act(env))
            if len(watcher.seen) == shown:
                continue
            state = watcher.seen[-1]
            raw = state["raw_obs"]
            hand = before["hands"][before["to_act"]]
            assert sorted(from_rlcard(card)[0] for card in raw["hand"]) == sorted(hand)
            top, color = from_rlcard(raw["target"])
            assert (top, color) == (before["top"], before["active_color"])
            assert raw["num_cards"] == [len(cards) for cards in before["hands"]]
            assert sorted(from_rlcard(card)[0] for card in raw["played_cards"]) == sorted(
                before["discard_pile"]
            )
            asked[before["phase"]] += 1
            game = as_rlcard_round(raw, before["phase"], hand)
            theirs = game.round.get_legal_actions(game.players, 0)
            offered = state["raw_legal_actions"]
            # A wild in the hand forbids a wild draw four there, and not here.
            four = {action for action in offered if "wild_draw_4" in action} - set(theirs)
            assert not four or {action.split("-")[1] for action in theirs} == {"wild"}
            rest = Counter(action for action in offered if action not in four)
            if before["phase"] == "play":
                assert rest == Counter(theirs)
            assert set(rest) <= set(theirs)
            asked["four beside a wild"] += bool(four)
            assert list(state["legal_actions"]) == list(
                dict.fromkeys(ACTION_LIST.index(action) for action in offered)
            )
    assert asked["play"] > 200 and asked["drawn"] > 10, asked


def as_rlcard_round(raw: dict[str, Any], phase: str, hand: list[str]) -> Any:
    """RLCard's game with this hand and target."""
    from rlcard.games.uno.card import UnoCard

    def card(name: str) -> Any:
        color, trait = name.split("-")
        kind = "wild" if "wild" in trait else "number" if trait.isdigit() else "action"
        return UnoCard(kind, color, trait)

    game = rlcard.make("uno", config={"seed": 1}).game
    game.init_game()
    game.players[0].hand = [card(name) for name in raw["hand"]]
    game.round.target = card(raw["target"])
    return game


def positions(count: int) -> np.ndarray:
    """Rows of the classic game in which a card may be played or one was drawn."""
    batch, actions, kept = Batch(128, CLASSIC, num_players=2), np.zeros(128, np.int64), []
    batch.reset(3)
    while sum(map(len, kept)) < count:
        for policy in (Policy.GREEDY, Policy.RANDOM_UNO):
            batch.act(policy, actions)
            batch.step(actions)
        kept.append(batch.rows[batch.rows["phase"] <= Phase.DRAWN].copy())
    return np.concatenate(kept)[:count]


def test_the_port_of_the_rule_agent_plays_move_by_move_as_the_real_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The real agent's chances are read off its call of NumPy; the port's are counted."""
    pools: list[list[str]] = []

    def choice(pool: list[str]) -> str:
        pools.append(list(pool))
        return pool[0]

    monkeypatch.setattr(uno_rule_models.np.random, "choice", choice)
    real, port = load("rlcard:uno-rule-v1"), load("rlcard-rule")
    names, times = catalogue(CLASSIC), 400
    rng, kinds, excess, freedom = np.random.default_rng(1), Counter[str](), 0.0, 0
    for row in positions(600):
        pools.clear()
        ours = np.repeat(row[None], times)
        ours["policy_rng"] = rng.integers(2**63, size=times).astype(np.uint64)
        index = np.arange(times)
        found = Counter(names.name(int(a)) for a in port.act_rows(CLASSIC, ours, index))
        action = names.name(int(real.act_rows(CLASSIC, row[None].copy(), np.zeros(1, np.int64))[0]))
        expected = Counter(map(action_name, pools[0])) if pools else Counter([action])
        kinds["chosen" if len(expected) > 1 else action.split()[0]] += 1
        kinds["four"] += "W+4" in action
        assert set(found) <= set(expected), (action, found, expected)
        total = sum(expected.values())
        for name, weight in expected.items():
            mean = times * weight / total
            excess += (found[name] - mean) ** 2 / mean
        freedom += len(expected) - 1
    # A chi-squared variable of so many degrees of freedom, within five standard deviations.
    assert abs(excess - freedom) < 5 * (2 * freedom) ** 0.5, (excess, freedom)
    assert kinds["chosen"] > 200 and kinds["draw"] > 50 and kinds["four"] > 5, kinds


def test_the_port_and_the_real_one_are_equally_strong() -> None:
    (games,) = play(CLASSIC, 2, [load("rlcard:uno-rule-v1"), load("rlcard-rule")], 300, 1)
    rates = games.win_rates(0)
    assert abs(rates.mean() - 0.5) < 4 * rates.std() / len(rates) ** 0.5


def test_the_same_games_go_the_same_way() -> None:
    np.random.seed(5)
    before = np.random.get_state()[1].copy()
    results = [
        play(CLASSIC, 2, [load("rlcard:random"), load("rlcard:uno-rule-v1")], 10, 2)[0].win_rates(0)
        for _ in range(2)
    ]
    assert (results[0] == results[1]).all()
    assert (np.random.get_state()[1] == before).all()  # a user's generator is left alone


def test_names_and_games_are_checked() -> None:
    assert models() == ["random", "uno-rule-v1"]
    with pytest.raises(AgentError, match=r"no agent 'uno-rule-v9'.*random, uno-rule-v1"):
        load("rlcard:uno-rule-v9")
    with pytest.raises(AgentError, match="plays the classic game"):
        play("pocket", 2, [load("rlcard:random"), load("greedy")], 5, 1)
    with pytest.raises(AgentError, match="trained"):
        RlcardPlayer("pocket-2p")
    with pytest.raises(AgentError, match="hidden cards"):
        RlcardPlayer("clairvoyant:10")

    class Cheat(RandomAgent):  # type: ignore[misc]
        def eval_step(self, state: dict[str, Any]) -> Any:
            return 60, {}

    with pytest.raises(AgentError, match="chose 'draw'; RLCard's legal actions"):
        play(CLASSIC, 2, [RlcardAgent(Cheat(61)), load("greedy")], 5, 1)


@pytest.mark.parametrize("name", ["rlcard:uno-rule-v1", "rlcard:random"])
def test_threads_share_an_agent_and_copies_play_like_it(name: str) -> None:
    agent, rows = load(name), new_rows(40)
    reset_rows(CLASSIC.table, rows, 2, np.uint64(1), np.uint64(0))

    def decided(agent: Agent) -> list[int]:
        return agent.act_rows(CLASSIC, rows.copy(), np.arange(40)).tolist()  # type: ignore[no-any-return]

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(decided, [agent] * 4))
    copies = [copy.deepcopy(agent), pickle.loads(pickle.dumps(agent)), load(name)]
    assert found == [decided(other) for other in (agent, *copies)]


@pytest.mark.parametrize("name", ["greedy", "strong", "classic-2p", "search:10", "rlcard-rule"])
def test_ours_play_rlcards_game_by_its_rules(name: str) -> None:
    env = rlcard.make("uno", config={"seed": 1})
    env.set_agents([RlcardPlayer(name), RandomAgent(env.num_actions)])
    for seed in range(3 if ":" in name else 12):
        env.seed(seed)
        _, payoffs = env.run()
        assert sorted(payoffs) == [-1, 1]


def test_ours_are_shown_what_rlcard_tells() -> None:
    """The truth is read from RLCard's game, and nothing of what it hides reaches the agent."""
    shown: list[np.ndarray] = []

    class Spy(Agent):
        name = "spy"

        def act_rows(self, rules: Rules, rows: np.ndarray, index: np.ndarray) -> np.ndarray:
            shown.append(rows.copy())
            return load("random").act_rows(rules, rows, index)

    env, player = rlcard.make("uno", config={"seed": 1}), RlcardPlayer(Spy())
    kinds = [kind.name for kind in LIKE_RLCARD.kinds]
    seen = Counter[str]()
    for seed in range(25):
        env.seed(seed)
        state, seat = env.reset()
        while not env.is_over():
            shown.clear()
            target, truth = env.game.round.target, env.get_perfect_information()
            action = player.step(state)
            assert action in state["raw_legal_actions"]
            if shown:
                row = shown[0][0]
                assert "RBGY"[row["active_color"]].lower() == target.color
                assert to_rlcard(kinds[row["top"]]).split("-")[1] == target.trait
                sizes = [len(hand) for hand in truth["hand_cards"]]
                short = sizes[seat] - int(row["hand_size"][0])
                assert row["hand_size"][1] == sizes[1 - seat] and short in (0, 1, 2)
                seen["asked"] += 1
                seen["short"] += short > 0
                seen["stale"] += target.type == "wild" and target.str[0] != target.color
                seen["turned over"] += not truth["played_cards"]
            state, seat = env.step(action, raw_action=True)
    assert seen["asked"] > 300 and seen["stale"] > 20 and seen["short"] < seen["asked"] / 20, seen


def test_the_colour_is_known_after_the_pile_was_turned_over() -> None:
    state = {
        "raw_obs": {"played_cards": [], "target": "r-wild_draw_4"},
        "action_record": [(0, "b-wild_draw_4"), (1, "draw")],
    }
    assert active_color(state) == "B"


def test_a_network_of_rlcards_plays_here() -> None:
    agent = DQNAgent(
        num_actions=61, state_shape=[4, 4, 15], mlp_layers=[16], replay_memory_init_size=50
    )
    env = rlcard.make("uno", config={"seed": 1})
    env.set_agents([agent, RandomAgent(61)])
    (games,) = play(CLASSIC, 2, [RlcardAgent(agent, "dqn"), load("random")], 10, 1)
    assert games.win_rates(0).mean() > 0.5  # it is not allowed to draw with a playable card


def test_the_rules_that_come_closest_are_a_file_of_the_documents() -> None:
    root = Path(__file__).resolve().parents[2]
    closest = Rules.load(root / "docs" / "results" / "rlcard" / "3-forced-play.toml")
    assert closest.uno_call == LIKE_RLCARD.uno_call and closest.forced_play


def test_the_example_runs(tmp_path: Path) -> None:
    said = run_example("rlcard_both_ways", "--games", "20", "--episodes", "5", folder=tmp_path)
    assert "uno-rule-v1" in said and "strong" in said
    assert not os.listdir(tmp_path)


def test_the_page_runs(tmp_path: Path) -> None:
    run_page("rlcard", tmp_path)
