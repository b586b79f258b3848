"""Search: guesses that agree with what is known and nothing else, and moves that gain by it."""

from __future__ import annotations

import itertools
import re
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dealt_hands import HANDS, start
from games import every_game, play, raw_env
from hidden_cards import permute_hidden

from pocket_uno_env import Rules
from pocket_uno_env.agents import AgentError, load
from pocket_uno_env.agents.scripted.policies import Policy
from pocket_uno_env.agents.search.agent import PLAUSIBLE, SearchAgent, Settings, parse
from pocket_uno_env.agents.search.belief import (
    Belief,
    guess,
    no_network,
    shows_choice,
    would_play,
    write_rule_weights,
    write_weights,
)
from pocket_uno_env.agents.search.determinize import (
    fill_ways,
    is_held,
    list_unseen,
    log_likelihood,
    new_unseen,
    redeal,
    unknown_size,
)
from pocket_uno_env.agents.search.players import new_players
from pocket_uno_env.agents.trained.policy import MIN_LOG_PROB, PolicyAgent
from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.compiled.rng import mix
from pocket_uno_env.engine.state import new_rows
from pocket_uno_env.envs.learner_games import LearnerGames
from pocket_uno_env.evaluation import arena
from pocket_uno_env.observation.blocks import observation_size
from pocket_uno_env.rows import mask_rows, observe_rows
from pocket_uno_env.rules.actions import catalogue

HERE = np.zeros(1, np.int64)


@kernel
def _redeal(rules, rows, unseen, seed):
    redeal(rules[0], rows[0], np.int64(rows[0].to_act), unseen, seed)


def redealt(rules: Rules, rows: np.ndarray, seed: int, unseen: Any = None) -> np.ndarray:
    guess = rows.copy()
    _redeal(rules._table, guess, unseen or new_unseen(), np.uint64(seed))
    return guess


def sight(rules: Rules, env: Any, rows: np.ndarray) -> tuple[bytes, bytes]:
    observation = np.zeros((1, len(env._observation)), np.float32)
    mask = np.zeros((1, len(env._mask)), np.int8)
    observe_rows(rules.table, rows, HERE, observation)
    mask_rows(rules.table, rows, HERE, mask)
    return observation.tobytes(), mask.tobytes()


@pytest.mark.parametrize(("rules", "num_players"), every_game())
def test_guesses_agree_with_what_the_seat_knows_and_with_nothing_else(rules, num_players) -> None:
    rng = np.random.default_rng(1)
    different = decisions = 0
    for seed, policy in enumerate((Policy.RANDOM, Policy.GREEDY)):
        env = raw_env(seed, rules=rules, num_players=num_players, episode="match")
        for raw in play(env, policy, limit=40):
            decisions += 1
            seat, number = int(raw.rows["to_act"][0]), int(rng.integers(2**62))
            guess = redealt(rules, raw.rows, number)
            assert sight(rules, raw, guess) == sight(rules, raw, raw.rows)
            assert (guess["hand_size"] == raw.rows["hand_size"]).all()
            everywhere = [*hands(rules, guess), *piles(rules, guess)]
            assert sorted(itertools.chain(*everywhere)) == list(range(rules.n_cards))
            other = raw.rows.copy()
            permute_hidden(rules, other, seat, rng)
            assert redealt(rules, other, number).tobytes() == guess.tobytes()
            different += hands(rules, guess) != hands(rules, raw.rows)
    assert different > decisions / 2 or rules.name == "mini"


def hands(rules: Rules, rows: np.ndarray) -> list[list[int]]:
    seats = range(rows["num_players"][0])
    return [[c for c in range(rules.n_cards) if is_held(rows[0], s, c)] for s in seats]


def piles(rules: Rules, rows: np.ndarray) -> list[list[int]]:
    row = rows[0]
    return [
        row["draw_pile"][: row["draw_count"]].tolist(),
        row["discard_pile"][: row["discard_count"]].tolist(),
    ]


CRITIC = "search:{},policy=pocket-2p,leaf=critic"
NETWORKS = "search:{},policy=pocket-2p,playout=pocket-2p,opponent=strong+pocket-2p"
AGENTS = ("search:40", "ismcts:40", "search:40,belief=rules,doubt=1")


@pytest.mark.parametrize(
    ("rules", "num_players", "spec"),
    [
        *itertools.product(["pocket"], [2, 4], AGENTS),
        *itertools.product(["classic"], [3], AGENTS),
        ("pocket", 2, CRITIC.format(40) + ",lead=0"),
        ("pocket", 2, NETWORKS.format(20) + ",lead=0"),
    ],
)
def test_hidden_cards_do_not_change_the_decision(rules: str, num_players: int, spec: str) -> None:
    rng = np.random.default_rng(2)
    made, agent, moved = Rules.preset(rules), load(spec), 0
    for seed in range(3):
        env = raw_env(seed, rules=made, num_players=num_players)
        for raw in play(env, Policy.STRONG, limit=40):
            rows = raw.rows.copy()
            moved += permute_hidden(made, rows, int(rows["to_act"][0]), rng)
            assert agent.act_rows(made, rows, HERE) == agent.act_rows(made, raw.rows.copy(), HERE)
    assert moved > 100


def exchange_copies(rules: Rules, rows: np.ndarray) -> None:
    """Let the copies of every kind change places, in a ring: nobody can tell."""
    renamed = np.arange(256)
    kinds = rules._table[0]["card_kind"][: rules.n_cards]
    for kind in np.unique(kinds):
        cards = np.flatnonzero(kinds == kind)
        renamed[cards] = np.roll(cards, 1)
    for name in ("draw_pile", "discard_pile", "drawn_card"):
        rows[name] = renamed[rows[name]]
    for name in ("hands", "known", "shown", "discards"):
        words = rows[name][0].reshape(-1, 2)
        bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
        moved = np.zeros_like(bits)
        moved[:, renamed[: bits.shape[1]]] = bits
        words[:] = np.packbits(moved, axis=1, bitorder="little").view(np.uint64)


@pytest.mark.parametrize(("rules", "num_players"), [("pocket", 2), ("classic", 3)])
def test_copies_of_a_card_are_all_the_same(rules: str, num_players: int) -> None:
    made, agent, changed = Rules.preset(rules), load("search:30,lead=0"), 0
    for raw in play(raw_env(5, rules=made, num_players=num_players), Policy.RANDOM, limit=60):
        rows = raw.rows.copy()
        exchange_copies(made, rows)
        changed += (rows["hands"] != raw.rows["hands"]).any()
        assert agent.act_rows(made, rows, HERE) == agent.act_rows(made, raw.rows.copy(), HERE)
    assert changed > 5


def test_the_clairvoyant_does_look_at_hidden_cards() -> None:
    rng, made = np.random.default_rng(3), Rules.preset("pocket")
    agent, changed = load("clairvoyant:100"), 0
    for raw in play(raw_env(0, rules=made, num_players=2), Policy.STRONG):
        rows = raw.rows.copy()
        permute_hidden(made, rows, int(rows["to_act"][0]), rng)
        changed += agent.act_rows(made, rows, HERE) != agent.act_rows(made, raw.rows.copy(), HERE)
    assert changed > 0


@pytest.mark.parametrize(("rules", "num_players"), every_game())
def test_search_is_legal_and_leaves_the_row_as_it_is(rules: Rules, num_players: int) -> None:
    for spec in ("search:12", "ismcts:12"):
        agent = load(spec)
        agent.check(rules, num_players)
        for raw in play(raw_env(1, rules=rules, num_players=num_players), Policy.RANDOM, limit=30):
            rows = raw.rows.copy()
            action = agent.act_rows(rules, rows, HERE)[0]
            assert raw._mask[action]
            rows["policy_rng"] = raw.rows["policy_rng"]
            assert rows.tobytes() == raw.rows.tobytes()


# Hands by weight.


def test_the_ways_are_the_sums_over_all_hands() -> None:
    rng = np.random.default_rng(0)
    cards, weights = np.array([4, 0, 7, 2, 9], np.uint8), rng.random(10)
    ways = np.zeros((6, 4))
    fill_ways(cards, 5, weights, 3, ways)
    for size in range(4):
        hand_sums = [weights[list(hand)].prod() for hand in itertools.combinations(cards, size)]
        assert ways[5, size] == pytest.approx(sum(hand_sums))


def test_hands_are_drawn_in_proportion_to_the_product_of_their_weights() -> None:
    env = start(HANDS[:2], "R9", [], [])
    rules, unseen = env.rules, new_unseen()
    unseen.weights[1, :] = 1e-3
    heavy = {3: 1.0, 20: 2.0, 30: 4.0}  # with two more cards of 43 light ones, nearly always
    hidden = np.zeros(128, np.uint8)
    count = list_unseen(rules._table[0], env.rows[0], 0, hidden)
    light = [c for c in hidden[:count] if c not in heavy]
    heavy = {c: w for c, w in heavy.items() if c in hidden[:count]}
    assert len(heavy) == 3
    for card, weight in heavy.items():
        unseen.weights[1, card] = weight
    held = np.zeros(128)
    draws = 4000
    for seed in range(draws):
        guess = redealt(rules, env.rows, seed, unseen)
        held[hands(rules, guess)[1]] += 1
    ways = np.zeros((129, 129))
    expected = {}
    for card in (3, 20, 30, light[0]):
        rest = np.array([c for c in hidden[:count] if c != card], np.uint8)
        fill_ways(rest, count - 1, unseen.weights[1], 5, ways)
        without = ways[count - 1, 5]
        fill_ways(hidden, count, unseen.weights[1], 5, ways)
        expected[card] = 1 - without / ways[count, 5]
    for card, chance in expected.items():
        spread = 4 * (chance * (1 - chance) / draws) ** 0.5
        assert abs(held[card] / draws - chance) < spread, (card, chance)


def test_uniform_weights_have_the_likelihood_of_a_fair_deal() -> None:
    env = start(HANDS[:2], "R9", [], [])
    value = log_likelihood(env.rules._table[0], env.rows[0], 0, 1, new_unseen())
    assert value == pytest.approx(-np.log(1_370_754))  # 46 cards, 5 in a hand


def test_who_drew_is_believed_to_lack_the_color_and_wilds() -> None:
    env = start(HANDS[:2], "Y9", ["B8", "G8"], ["draw"])  # seat 0 lacks yellow
    weights = np.ones((10, 128))
    write_rule_weights(env.rules._table[0], env.rows[0], 1, 0.9, weights)
    by_kind = {kind.name: weights[0, c] for c, kind in enumerate(env.rules.kinds[:48])}
    assert by_kind["Y3"] == pytest.approx(0.1) and by_kind["R3"] == 1.0
    assert weights[0, 51] == pytest.approx(0.1)


@kernel
def _explains(rules, rows, scratch, policy):
    seat = np.int64(rows[0].to_act)
    if not shows_choice(rules[0], rows[0], seat):
        return -1
    return np.int64(would_play(rules[0], rows[0], scratch, seat, policy, None))


def test_the_last_play_is_what_its_policy_would_have_played() -> None:
    rules, scratch = Rules.preset("pocket"), new_rows(1)
    shares = {}
    for policy in (Policy.STRONG, Policy.HIGH_CARD):
        found = []
        for seed in range(30):
            for raw in play(raw_env(seed, rules=rules, num_players=2), Policy.STRONG):
                found.append(_explains(rules._table, raw.rows, scratch, int(policy)))
        found = np.array(found)
        assert (found >= 0).sum() > 100
        shares[policy] = found[found >= 0].mean()
    assert shares[Policy.STRONG] > 0.93 > 0.75 > shares[Policy.HIGH_CARD]


@kernel
def _models(rules, rows, scratch, unseen, belief, players, seed, counts):
    seat = np.int64(rows[0].to_act)
    if not shows_choice(rules[0], rows[0], seat):
        return
    write_weights(rules[0], rows[0], seat, belief, unseen.weights)
    for number in range(40):
        guess(rules[0], rows[0], scratch, seat, unseen, mix(seed + number), belief, players)
        counts[players.seats[1 - seat]] += 1


def test_the_last_play_tells_which_opponent_is_likely() -> None:
    rules, scratch, unseen = Rules.preset("pocket"), new_rows(2), new_unseen()
    belief = Belief(0.9, False, no_network(), 0.05)
    models, shares = [int(Policy.STRONG), int(Policy.RANDOM)], []
    for played in models:
        counts = np.zeros(len(Policy), np.int64)
        for seed in range(6):
            for raw in play(raw_env(seed, rules=rules, num_players=2), Policy(played)):
                players, start = new_players(models[0], models, None), np.uint64(1000 * seed)
                _models(rules._table, raw.rows, scratch, unseen, belief, players, start, counts)
        assert counts.sum() == counts[models].sum() > 1_500
        shares.append(counts[models[0]] / counts.sum())
    assert shares[0] > 0.65 > 0.6 > shares[1]


def test_unknown_cards_are_those_not_seen() -> None:
    env = start(HANDS, "R9", ["B8", "G8", "B7", "G6"], ["play W+2:G", "challenge"])
    assert unknown_size(env.rules._table[0], env.rows[0], 1, 0) == 2  # drawn as a penalty
    assert unknown_size(env.rules._table[0], env.rows[0], 2, 0) == 6


# Agents.


def rate(spec: str, rival: str, deals: int, **options: Any) -> float:
    (games,) = arena.play("pocket", 2, [load(spec), load(rival)], deals, 4, **options)
    return float(games.win_rates(0).mean())


def test_search_beats_the_policy_that_it_searches_from() -> None:
    assert rate("search:200,policy=greedy,playout=greedy", "greedy", 100) > 0.53


def test_tree_search_plays_well() -> None:
    assert rate("ismcts:200", "greedy", 60) > 0.54


def test_the_clairvoyant_is_the_ceiling() -> None:
    assert rate("clairvoyant:200", "strong", 30) > 0.7


@pytest.mark.parametrize("spec", ["search:30", "ismcts:30", CRITIC.format(30), NETWORKS.format(8)])
def test_the_same_seed_gives_the_same_games_in_any_batch(spec: str) -> None:
    agents = [load(spec), load("greedy")]
    (many,) = arena.play("pocket", 2, agents, 6, 9)
    (few,) = arena.play("pocket", 2, agents, 6, 9, chunk_deals=2)
    assert (many.winner == few.winner).all() and (many.decisions == few.decisions).all()
    assert (many.points == few.points).all()


# A search that has decided stops: in few positions two moves last into the last round, and among
# the few moves that the network makes its critic has soon decided.
@pytest.mark.parametrize(
    ("spec", "least"),
    [("search:20ms,lead=99", 0.018), ("ismcts:20ms", 0.018), (CRITIC.format("20ms"), 0.0)],
)
def test_milliseconds_are_used_by_what_the_thread_works(spec: str, least: float) -> None:
    agent, rules = load(spec), Rules.preset("pocket")
    spent: dict[int, list[float]] = {seed: [] for seed in range(4)}
    for seed, times in spent.items():
        for raw in play(raw_env(seed, rules=rules, num_players=2), Policy.STRONG, limit=60):
            began = time.thread_time()
            action = agent.act_rows(rules, raw.rows.copy(), HERE)[0]
            times.append(time.thread_time() - began)
            assert raw._mask[action]
    del spent[0]  # in which the search was compiled
    assert least <= max(map(max, spent.values())) < 0.06


def test_search_can_be_an_opponent_in_training() -> None:
    games = LearnerGames(4, "pocket", 2, ["search:8"], max_cycles=500)
    games.start(np.uint64(1))
    for _ in range(5):
        games.look()
        games.step(games.everywhere, games.masks.argmax(axis=1))
    assert (games.rows["decisions"] > 0).any()


def network(seed: int) -> PolicyAgent:
    """An untrained network for pocket, 2 players."""
    rng, rules = np.random.default_rng(seed), Rules.preset("pocket")
    sizes = [observation_size(rules, 2), 16, len(catalogue(rules))]
    layers = [
        (rng.normal(size=(n, m)).astype(np.float32), rng.normal(size=n).astype(np.float32))
        for m, n in itertools.pairwise(sizes)
    ]
    return PolicyAgent("untrained", layers, rules, 2, "canonical")


def test_probabilities_of_a_network_are_those_it_acts_by() -> None:
    agent = network(0)
    for raw in play(raw_env(3, rules=agent.rules, num_players=2), Policy.RANDOM, limit=60):
        log_probs = agent.log_probs(agent.rules, raw.rows, HERE)[0]
        legal = raw._mask == 1
        assert (log_probs[~legal] == MIN_LOG_PROB).all()
        assert log_probs[legal].min() >= MIN_LOG_PROB
        assert np.exp(log_probs[legal]).sum() == pytest.approx(1.0, abs=0.01)
        assert log_probs.argmax() == agent.act_rows(agent.rules, raw.rows, HERE)[0]


def test_a_networks_preference_decides_where_playouts_do_not() -> None:
    budget, settings = parse("4,prior=100,policy=untrained")
    agent = SearchAgent(budget, settings, load=lambda spec: network(1))
    policy = network(1)
    for raw in play(raw_env(4, rules=policy.rules, num_players=2), Policy.STRONG, limit=40):
        moves = agent.act_rows(policy.rules, raw.rows.copy(), HERE)
        assert moves == policy.act_rows(policy.rules, raw.rows, HERE)


def test_a_critic_is_asked_about_moves_that_its_policy_makes() -> None:
    policy, agent = load("pocket-2p"), load(CRITIC.format(64) + ",lead=0")
    rules, others = Rules.preset("pocket"), 0
    for seed in range(10):
        for raw in play(raw_env(seed, rules=rules, num_players=2), Policy.STRONG, limit=40):
            move = agent.act_rows(rules, raw.rows.copy(), HERE)
            log_probs = policy.log_probs(rules, raw.rows, HERE)[0]
            assert log_probs[move] >= np.log(PLAUSIBLE)
            others += move != log_probs.argmax()
    assert others > 5


def test_budget_and_options() -> None:
    budget, settings = parse("250ms,lead=2,belief=rules,policy=ppo:runs/x")
    assert (budget.amount, budget.in_milliseconds) == (250, True)
    assert (settings.lead, settings.belief, settings.policy) == (2.0, "rules", "ppo:runs/x")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("search:0", "number of playouts"),
        ("search:fast", "milliseconds"),
        ("search", "BUDGET"),
        ("search:10,depth=3", "no option 'depth=3'"),
        ("search:10,lead=2,lead=3", "at most once"),
        ("search:10,lead=big", "no number"),
        ("search:10,lead=-1", "lead=-1: lead is a number from 0 on"),
        ("search:10,lead=nan", "lead=nan: lead is a number from 0 on"),
        ("search:10,prior=inf", "prior=inf: prior is a number from 0 on"),
        ("search:10,doubt=2", "doubt=2: doubt is a number from 0 to 1"),
        ("ismcts:10,prior=1", "no option 'prior=1'"),
        ("clairvoyant:10,belief=rules", "no option 'belief=rules'"),
        ("clairvoyant:10,doubt=1", "no option 'doubt=1'"),
        ("search:10,belief=blind", "one of auto"),
        ("search:10,playout=ppo", "written 'ppo:DIR"),
        ("search:10,playout=search:5", "playout=search:5 can play no guesses; expected a scripted"),
        ("search:10,opponent=strong+nobody", "no agent 'nobody'"),
        ("search:10,opponent=strong+", "no agent ''"),
        ("search:10,leaf=oracle", "one of playout, critic"),
        ("search:10,leaf=critic", "policy=strong has no critic"),
        ("ismcts:10,leaf=critic", "no option 'leaf=critic'"),
        ("search:10,policy=nobody", "no agent 'nobody'"),
    ],
)
def test_what_is_wrong_with_a_search_is_said(spec: str, words: str) -> None:
    with pytest.raises(AgentError, match=words):
        load(spec)


def test_a_belief_network_that_is_not_there_is_asked_for_in_vain() -> None:
    agent = load("search:10,belief=learned")
    with pytest.raises(AgentError, match="no belief network for the cards of rules 'mini'"):
        agent.check(Rules.preset("mini"), 2)


def test_the_table_of_options_is_what_they_are() -> None:
    page = Path(__file__).parents[2] / "docs" / "search.md"
    rows = re.findall(r"^\| `(\w+)` \| `?([\w.]+)`? \| ", page.read_text("utf-8"), re.MULTILINE)
    assert dict(rows) == {
        key: f"{value:g}" if isinstance(value, float) else value
        for key, value in asdict(Settings()).items()
    }
