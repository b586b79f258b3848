"""The game in OpenSpiel: its own checks, nothing given away, and exact figures on the mini deck."""

from __future__ import annotations

import copy
import json
import pickle
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as spiel_policy
from open_spiel.python.algorithms import exploitability, ismcts, mcts
from programs import run_example, run_page

from pocket_uno_env import Rules, pocket_uno_v0
from pocket_uno_env.agents import Agent, AgentError, load
from pocket_uno_env.agents.trained.policy import PolicyAgent
from pocket_uno_env.engine.state import new_rows
from pocket_uno_env.envs.openspiel.bots import AgentBot, AgentPolicy, SpielAgent, information_states
from pocket_uno_env.envs.openspiel.game import SHORT_NAME, PocketUnoGame
from pocket_uno_env.envs.openspiel.game import load as load_game
from pocket_uno_env.envs.openspiel.history import History
from pocket_uno_env.evaluation.arena import play
from pocket_uno_env.rows import reset_rows

HOUSE = Rules.preset(
    "classic",
    stacking="any",
    seven_zero=True,
    jump_in=True,
    forced_play=True,
    wild_draw_four="challenge",
)
STAYS = Rules.preset("pocket", opening_wild="first_player_chooses", draw_until_playable=True)
GAMES = [
    *[pytest.param("pocket", n, id=f"pocket-{n}") for n in (2, 3, 4, 5)],
    *[pytest.param("classic", n, id=f"classic-{n}") for n in (2, 4)],
    *[pytest.param(HOUSE, n, id=f"house-{n}") for n in (2, 3, 5)],
    pytest.param(STAYS, 3, id="stays-3"),
    pytest.param("mini", 2, id="mini-2"),
]
Table = dict[str, list[tuple[int, float]]]


def mini(cap: int, **params: Any) -> PocketUnoGame:
    return load_game("mini", deal="once", max_decisions=cap, **params)


def random_state(game: PocketUnoGame, seed: int, decisions: int) -> Any:
    """A state where a player is to act, or where the round has ended."""
    rng, state = np.random.RandomState(seed), game.new_initial_state()
    while not state.is_terminal() and (state.is_chance_node() or decisions > 0):
        if state.is_chance_node():
            ids, chances = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(int(rng.choice(ids, p=chances)))
        else:
            state.apply_action(int(rng.choice(state.legal_actions())))
            decisions -= 1
    return state


@pytest.mark.parametrize(("rules", "players"), GAMES)
def test_openspiel_checks_random_games(rules: str | Rules, players: int) -> None:
    game = load_game(rules, players, max_decisions=80)
    pyspiel.random_sim_test(game, num_sims=2, serialize=True, verbose=False)


def test_openspiel_checks_rounds_of_a_match() -> None:
    name = f"{SHORT_NAME}(reward=match,scores=120:80)"
    game = pyspiel.load_game(name)
    assert game.parameters.scores == (120, 80)
    assert (game.min_utility(), game.max_utility(), game.utility_sum()) == (-1, 1, 0)
    assert pyspiel.load_game(str(game)) == game
    assert pickle.loads(pickle.dumps(game)) == game
    state = random_state(game, 1, 5)
    again = game.deserialize_state(state.serialize())
    assert again.line.rows["scores"].tolist() == state.line.rows["scores"].tolist()
    assert state.line.rows["scores"][0, :2].tolist() == [120, 80]
    seen = state.observation_tensor(state.current_player())
    assert seen != random_state(pyspiel.load_game(SHORT_NAME), 1, 5).observation_tensor(0)
    pyspiel.random_sim_test(
        load_game("pocket", 3, max_decisions=80, reward="match", scores="0:249:7"), 1, True, False
    )


def test_openspiel_checks_points_and_the_deal_in_one_node() -> None:
    game = mini(30, reward="points")
    pyspiel.random_sim_test(game, num_sims=5, serialize=True, verbose=False)
    pyspiel.random_sim_test(
        load_game("pocket", 4, max_decisions=80, reward="points"), 1, True, False
    )


def test_the_game_by_name(tmp_path: Path) -> None:
    game = pyspiel.load_game(f"{SHORT_NAME}(rules=pocket,players=3)")
    assert (game.num_players(), game.num_distinct_actions()) == (3, 123)
    assert game.max_game_length() == 1000
    assert (game.min_utility(), game.max_utility(), game.utility_sum()) == (-0.5, 1, 0)
    assert pyspiel.load_game(SHORT_NAME) == pyspiel.load_game(str(pyspiel.load_game(SHORT_NAME)))
    HOUSE.save(tmp_path / "house.toml")
    by_file = pyspiel.load_game(f"{SHORT_NAME}(rules={tmp_path / 'house.toml'})")
    assert by_file.parameters.rules == HOUSE
    again = pyspiel.load_game(str(load_game(HOUSE)))
    assert again.parameters.rules == HOUSE and again == load_game(HOUSE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("players=9", "players 2 to 5|2 to 5 players"),
        ("players=x", "Wrong type for parameter players"),
        ("rules=pockt", "unknown rules 'pockt'; expected one of"),
        ("rules=missing.toml", "cannot read missing.toml"),
        ("reward=money", "reward is 'money'; expected one of"),
        ("scores=120:80:3", "expected a whole number for each of 2 seats"),
        ("scores=120:x", "scores is '120:x'; expected points by seat, such as '120:80'"),
        ("scores=120:-1", "scores is '120:-1'; expected points by seat"),
        ("scores=0:250", "scores has 250; expected points from 0 to 249"),
        ("rules=mini,reward=match", "pocket-uno equity --measure --rules mini --num-players 2"),
        ("deal=twice", "deal is 'twice'; expected one of"),
        ("deal=once", "too many for one chance node; deal card by card"),
        ("max_decisions=0", "max_decisions is 0"),
        ("seats=3", "Unknown parameter 'seats'"),
    ],
)
def test_a_wrong_name_gets_an_error_that_helps(text: str, message: str) -> None:
    with pytest.raises((ValueError, pyspiel.SpielError), match=message):
        pyspiel.load_game(f"{SHORT_NAME}({text})")


def test_what_are_no_rules_is_refused() -> None:
    with pytest.raises(ValueError, match="expected Rules"):
        load_game(None)


def test_a_state_goes_on_from_its_text() -> None:
    game = load_game("pocket", 3)
    state = random_state(game, 4, 20)
    _, again = pyspiel.deserialize_game_and_state(pyspiel.serialize_game_and_state(game, state))
    assert again.history() == state.history() and str(again) == str(state)
    action = state.legal_actions()[-1]
    assert str(state.child(action)) == str(again.child(action))
    copied = state.clone()
    copied.apply_action(action)
    assert str(copied) != str(state) == str(again)


@pytest.mark.parametrize(
    ("reward", "scores"),
    [("win", ""), ("points", ""), ("match", ""), ("match", "120:80:240"), ("win", "5:0:249")],
)
def test_returns_are_what_the_environment_pays(reward: str, scores: str) -> None:
    """A record of the PettingZoo environment, told to OpenSpiel's game card by card."""
    points = [int(text) for text in scores.split(":")] if scores else [0, 0, 0]
    for seed in range(8):
        env = pocket_uno_v0.raw_env(num_players=3, reward=reward, scores=points)
        env.reset(seed=seed)
        greedy = load("greedy")
        while env.agents and not env.terminations[env.agent_selection]:
            env.step(greedy.act(env))
        (entry,) = env.record()["rounds"]
        game = load_game("pocket", 3, reward=reward, scores=scores)
        kinds = game.parameters.rules.kind_ids
        state = game.new_initial_state()
        state.apply_action(entry["dealer"])
        for i in range(15):
            seat = game.parameters.receiver(entry["dealer"], i)
            state.apply_action(kinds[entry["hands"][seat][i // 3]])
        state.apply_action(kinds[entry["opening"]])
        for event in entry["events"]:
            if event[0] == "reshuffle":
                continue
            if event[1] != "forced":
                assert state.current_player() == event[0]
                state.apply_action(state.string_to_action(event[1]))
            for card in event[2] if len(event) > 2 else ():
                if state.is_chance_node():
                    state.apply_action(kinds[card])
        assert state.is_terminal()
        assert state.line.rows["scores"].tolist() == env.rows["scores"].tolist()
        low, high = game.min_utility(), game.max_utility()
        assert low <= min(state.returns()) and max(state.returns()) <= high
        assert state.returns() == [env.rewards[f"player_{i}"] for i in range(3)]
        assert sum(state.returns()) == pytest.approx(0) and max(state.returns()) > 0


def test_a_round_cut_off_pays_nothing() -> None:
    state = random_state(load_game("pocket", 2, max_decisions=3), 0, 9)
    assert state.is_terminal() and state.returns() == [0, 0]


# What a seat knows.


def every_state(game: Any) -> list[Any]:
    found = []

    def walk(state: Any) -> None:
        found.append(state)
        if not state.is_terminal():
            for action in state.legal_actions():
                walk(state.child(action))

    walk(game.new_initial_state())
    return found


def test_string_and_tensor_tell_the_same() -> None:
    """On the mini deck: one information state tensor for each string, and the other way round."""
    tensors, strings = defaultdict(set), defaultdict(set)
    for state in every_state(mini(3)):
        if state.is_chance_node() or state.is_terminal():
            continue
        seat = state.current_player()
        tensor = np.array(state.information_state_tensor(seat), np.float32)
        assert tensor.min() >= 0 and tensor.max() <= 1
        tensors[state.information_state_string(seat)].add(tensor.tobytes())
        strings[seat, tensor.tobytes()].add(state.information_state_string(seat))
    assert len(tensors) > 1000
    assert all(len(found) == 1 for found in tensors.values())
    assert all(len(found) == 1 for found in strings.values())


@pytest.mark.parametrize(("rules", "players"), GAMES)
def test_hidden_cards_change_nothing_that_a_seat_sees(rules: str | Rules, players: int) -> None:
    """Whatever the seat cannot know is dealt anew; it sees the same, to the last bit."""
    game = load_game(rules, players, max_decisions=60)
    changed = 0
    for seed in range(3):
        for decisions in (0, 4, 11, 25, 40):
            state = random_state(game, seed, decisions)
            if state.is_terminal():
                continue
            seat = state.current_player()
            draws = iter([0.3, 0.6])
            other = state.resample_from_infostate(seat, lambda draws=draws: next(draws))
            assert other.current_player() == seat
            assert other.legal_actions() == state.legal_actions()
            for look in (
                "information_state_string",
                "information_state_tensor",
                "observation_string",
                "observation_tensor",
            ):
                assert getattr(other, look)(seat) == getattr(state, look)(seat)
            assert other.history() == []  # the true one would tell what was drawn
            changed += str(other) != str(state)
            rest = [i for i in range(players) if i != seat]
            changed += any(other.observation_tensor(i) != state.observation_tensor(i) for i in rest)
    assert changed


def test_only_the_player_to_act_is_resampled() -> None:
    state = random_state(load_game("pocket", 3), 0, 3)
    with pytest.raises(ValueError, match="is not to act"):
        state.resample_from_infostate((state.current_player() + 1) % 3, lambda: 0.5)


# Bots.


def test_ismcts_takes_the_win() -> None:
    """With one card left that can be played, ISMCTS plays it."""
    game = load_game("mini", max_decisions=100)
    found = 0
    for seed in range(60):
        state = random_state(game, seed, 3)
        if state.is_terminal():
            continue
        seat = state.current_player()
        wins = [
            action
            for action in state.legal_actions()
            if state.child(action).is_terminal() and state.child(action).returns()[seat] == 1
        ]
        if wins and len(state.legal_actions()) > len(wins):
            bot = ismcts.ISMCTSBot(
                game, mcts.RandomRolloutEvaluator(1, np.random.RandomState(seed)), 2.0, 200
            )
            assert bot.step(state) in wins
            found += 1
    assert found > 3


def test_openspiels_bots_play_as_agents() -> None:
    for name in ("spiel:random", "spiel:ismcts:10", "spiel:mcts:10,playout=random-uno"):
        agent = load(name)
        assert isinstance(agent, SpielAgent) and agent.name == name
        (first,) = play("pocket", 3, [agent, load("greedy"), load("greedy")], deals=2, seed=1)
        (again,) = play("pocket", 3, [load(name), load("greedy"), load("greedy")], deals=2, seed=1)
        assert first.win_rates(0).tolist() == again.win_rates(0).tolist()


def test_ismcts_is_no_fool() -> None:
    (games,) = play("mini", 2, [load("spiel:ismcts:60"), load("random")], deals=40, seed=3)
    assert games.win_rates(0).mean() > 0.6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("spiel:alphazero", "expected random, ismcts:N or mcts:N"),
        ("spiel:ismcts:0", "expected random, ismcts:N or mcts:N"),
        ("spiel:ismcts:5,playout=best", "playout='best' is no scripted agent"),
        ("spiel", "should be written 'spiel:BOT'"),
    ],
)
def test_an_unknown_bot_gets_an_error_that_helps(text: str, message: str) -> None:
    with pytest.raises(AgentError, match=message):
        load(text)


def test_agents_play_in_openspiel() -> None:
    game = load_game("pocket", 2)
    wins = np.zeros(2)
    for seed in range(20):
        bots = [AgentBot(load("greedy"), seed), pyspiel.make_uniform_random_bot(1, seed)]
        wins += np.array(pyspiel.evaluate_bots(game.new_initial_state(), bots, seed)) > 0
    assert wins[0] > 15 and wins.sum() == 20
    with pytest.raises(AgentError, match="cheats"):
        AgentBot(load("clairvoyant:10"))


@pytest.mark.parametrize("name", ["pocket-2p", "noisy:0,pocket-2p", "search:2,policy=pocket-2p"])
def test_a_network_plays_its_own_game_alone_in_openspiel(name: str) -> None:
    for rules, players in (("pocket", 3), ("classic", 2)):
        game = load_game(rules, players)
        state = game.new_initial_state()
        while state.is_chance_node():
            state.apply_action(state.chance_outcomes()[0][0])
        with pytest.raises(AgentError, match="was trained for"):
            AgentBot(load(name)).step(state)
        with pytest.raises(AgentError, match="was trained for"):
            AgentPolicy(game, load(name)).action_probabilities(state)
    sampling = load("pocket-2p")
    sampling.sample = True  # type: ignore[attr-defined]
    with pytest.raises(AgentError, match="was trained for"):
        AgentPolicy(game, sampling).action_probabilities(state)


@pytest.mark.parametrize("name", ["spiel:random", "spiel:ismcts:5", "spiel:mcts:5"])
def test_threads_share_a_bot_and_copies_play_like_it(name: str) -> None:
    agent, rules = load(name), Rules.preset("pocket")
    rows = new_rows(8)
    reset_rows(rules.table, rows, 2, np.uint64(1), np.uint64(0))

    def decided(agent: Agent) -> list[int]:
        return agent.act_rows(rules, rows.copy(), np.arange(8)).tolist()  # type: ignore[no-any-return]

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(decided, [agent] * 4))
    copies = [copy.deepcopy(agent), pickle.loads(pickle.dumps(agent)), load(name)]
    assert found == [decided(other) for other in (agent, *copies)]


def test_bots_are_shown_a_guess_never_the_game() -> None:
    """Two games that look the same to a seat are the same to a bot."""
    states = defaultdict(list)
    for state in every_state(load_game("mini", deal="once", max_decisions=3)):
        if not state.is_chance_node() and not state.is_terminal():
            states[state.information_state_string()].append(state)
    shown = []
    agent = SpielAgent("spy", lambda game, seat, random: Spy(shown))
    for group in [group for group in states.values() if len(group) > 1][:40]:
        shown.clear()
        for state in group:
            rows = state.line.rows.copy()
            agent.act_rows(state.line.parameters.rules, rows, np.zeros(1, np.int64))
        assert len(set(shown)) == 1


class Spy:
    """Notes all that can be seen of a state."""

    def __init__(self, shown: list[str]) -> None:
        self._shown = shown

    def step(self, state: Any) -> int:
        both = [state.information_state_string(seat) for seat in (0, 1)]
        tensors = [tuple(state.observation_tensor(seat)) for seat in (0, 1)]
        self._shown.append(repr((str(state), both, tensors, state.serialize().split("\n")[:2])))
        return int(state.legal_actions()[0])


# Exact figures.


def best_response(game: PocketUnoGame, table: Table, seat: int) -> float:
    """What a best response of `seat` is paid, by a recursion that shares nothing with OpenSpiel's.

    All histories between two decisions of the seat that look the same to it go on together.
    """

    def value(weighted: list[tuple[History, float]]) -> float:
        total, decisions = 0.0, defaultdict(list)
        stack = list(weighted)
        while stack:
            line, weight = stack.pop()
            if line.over:
                winner = line.rows["winner"][0]
                if winner < 2:
                    total += weight if winner == seat else -weight
            elif line.to_act == seat:
                decisions[line.seen(seat)].append((line, weight))
            else:
                choices = line.outcomes or table[line.seen(line.to_act)]
                stack += [(line.after(c), weight * share) for c, share in choices if share > 0]
        for group in decisions.values():
            total += max(
                value([(line.after(action), weight) for line, weight in group])
                for action in group[0][0].legal()
            )
        return total

    return value([(game.new_initial_state().line, 1.0)])


def test_nashconv_of_uniform_play_by_three_ways() -> None:
    game = mini(4)
    tree = pyspiel.convert_to_cached_tree(game)
    table = AgentPolicy(game, load("random")).table()
    by_cpp = pyspiel.nash_conv(tree, pyspiel.TabularPolicy(table))
    by_python = exploitability.nash_conv(tree, spiel_policy.UniformRandomPolicy(tree))
    # Uniform play of both pays each 0: seats and dealers are alike.
    by_hand = sum(best_response(game, table, seat) for seat in (0, 1))
    assert by_cpp == pytest.approx(by_python, abs=1e-9)
    assert by_cpp == pytest.approx(by_hand, abs=1e-9)
    assert by_cpp > 0.5


@pytest.mark.parametrize("name", ["greedy", "strong"])
def test_an_agent_that_sees_less_than_everything_is_measured_right(name: str) -> None:
    """Agents look at the table as it is, not at the past; their NashConv is exact all the same."""
    game = mini(3)
    agent = AgentPolicy(game, load(name))
    table = agent.table()
    by_cpp = pyspiel.nash_conv(pyspiel.convert_to_cached_tree(game), pyspiel.TabularPolicy(table))
    by_python = exploitability.nash_conv(game, agent)
    by_hand = sum(best_response(game, table, seat) for seat in (0, 1))
    assert by_cpp == pytest.approx(by_python, abs=1e-9)
    assert by_cpp == pytest.approx(by_hand, abs=1e-9)


def test_a_network_is_a_policy_twice() -> None:
    """Its likeliest action, and drawing from its probabilities."""
    game = mini(2)
    state = random_state(game, 0, 0)
    size, actions = state.line.parameters.catalogue, game.num_distinct_actions()
    assert len(size) == actions
    network = random_network(game)
    certain = AgentPolicy(game, network).action_probabilities(state)
    network.sample = True
    drawn = AgentPolicy(game, network).action_probabilities(state)
    assert sorted(certain) == sorted(drawn) == state.legal_actions()
    assert sorted(certain.values())[-1] == 1 and sum(drawn.values()) == pytest.approx(1)
    assert max(drawn, key=lambda action: drawn[action]) == max(
        certain, key=lambda action: certain[action]
    )
    assert 0 < max(drawn.values()) < 1
    counts = np.zeros(actions)
    bot = AgentBot(network, seed=5)
    for _ in range(2000):
        counts[bot.step(state)] += 1
    for action, chance in drawn.items():
        assert counts[action] / 2000 == pytest.approx(chance, abs=0.05)


def random_network(game: PocketUnoGame) -> PolicyAgent:
    """A network of random weights for the mini game."""
    rng = np.random.default_rng(0)
    sizes = [game.observation_tensor_size(), 16, game.num_distinct_actions()]
    layers = [
        (rng.normal(size=(n, m)).astype(np.float32), np.zeros(n, np.float32))
        for m, n in pairwise(sizes)
    ]
    return PolicyAgent("random network", layers, game.parameters.rules, 2)


def solve(cap: int, iterations: int) -> tuple[Any, Any]:
    tree = pyspiel.convert_to_cached_tree(mini(cap))
    solver = pyspiel.CFRPlusSolver(tree)
    for _ in range(iterations):
        solver.evaluate_and_update_policy()
    return tree, solver.tabular_average_policy()


def test_cfr_solves_the_game() -> None:
    gains = [pyspiel.nash_conv(*solve(3, iterations)) for iterations in (1, 10, 100)]
    assert gains[0] > 10 * gains[1] > 100 * gains[2] > 0
    assert gains[2] < 1e-3


def test_the_figures_at_a_cap_of_six() -> None:
    """Golden. Greedy gives away less than random play, strong less than greedy."""
    golden = {"random": 1.2420634921, "greedy": 0.6746031746, "strong": 0.2539682540}
    game = mini(6)
    tree, states = pyspiel.convert_to_cached_tree(game), information_states(game)
    assert len(states) == 21128
    for name, gain in golden.items():
        table = AgentPolicy(game, load(name)).table(states)
        assert pyspiel.nash_conv(tree, pyspiel.TabularPolicy(table)) == pytest.approx(gain)


@pytest.mark.soak
def test_cfr_solves_the_game_at_a_cap_of_six() -> None:
    tree, solution = solve(6, 300)
    assert 0 <= pyspiel.nash_conv(tree, solution) < 1e-3
    values = pyspiel.expected_returns(tree.new_initial_state(), solution, -1, True)
    assert values == pytest.approx([0, 0], abs=1e-3)  # seats and dealers are alike


# What the documents show.


def test_the_examples_run(tmp_path: Path) -> None:
    assert "a round" in run_example("openspiel_bots", folder=tmp_path)
    out = run_example(
        "openspiel_exploitability", "--max-decisions", "3", "--out", "found.json", folder=tmp_path
    )
    assert "greedy" in out and "CFR+    100 iterations" in out
    found = json.loads((tmp_path / "found.json").read_text("utf-8"))
    assert found["cfr_plus"]["100"] < 1e-3 < found["agents"]["random"]


def test_the_page_runs(tmp_path: Path) -> None:
    run_page("openspiel", tmp_path)
