"""The scripted policies: legal, fair, repeatable, and as strong as they are said to be."""

from __future__ import annotations

import hashlib
import os
import runpy
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dealt_hands import deck_with
from games import every_game, raw_env
from hidden_cards import permute_hidden
from scipy import stats

from pocket_uno_env import Rules
from pocket_uno_env.agents import load
from pocket_uno_env.agents.scripted import policies as scripted
from pocket_uno_env.agents.scripted import strong_weights
from pocket_uno_env.agents.scripted.card_count import (
    believe,
    count_cards,
    guilt_probability,
    reply_probabilities,
)
from pocket_uno_env.agents.scripted.policies import Policy, act, act_rows
from pocket_uno_env.agents.scripted.strong import Feature, as_array, weights_for
from pocket_uno_env.agents.scripted.strong_weights import ORIGINS, WEIGHTS
from pocket_uno_env.agents.scripted.turns import goes_out
from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.engine.legality import is_legal, matching_kinds
from pocket_uno_env.engine.piles import copies_in
from pocket_uno_env.engine.state import new_rows
from pocket_uno_env.engine.transition import apply
from pocket_uno_env.evaluation.arena import play
from pocket_uno_env.evaluation.games import round_rate
from pocket_uno_env.observation.information import UNSEEN, place_of
from pocket_uno_env.rows import mask_rows, reset_rows, step_rows
from pocket_uno_env.rules.phases import End, Phase
from pocket_uno_env.training import tune

RANDOM = (Policy.RANDOM, Policy.RANDOM_UNO)
MIXED = np.array([Policy.STRONG, Policy.RANDOM, Policy.COUNTER, Policy.ATTACKER, Policy.GREEDY])
INDEX = np.zeros(1, np.int64)


def new_games(rules: Rules, num_players: int, count: int, seed: int = 0) -> Any:
    rows = new_rows(count)
    reset_rows(rules.table, rows, num_players, np.uint64(seed), np.uint64(0))
    return rows


@kernel
def play_checked(rules, rows, policies, cap):
    """Play every row to its end or the cap; how many ended, or ``-1 - phase`` of a wrong action."""
    over = 0
    for i in range(rows.shape[0]):
        row = rows[i]
        while row.end == End.RUNNING and row.decisions < cap:
            policy = policies[(row.to_act + i) % policies.shape[0]]
            action = act(rules[0], row, policy)
            if not is_legal(rules[0], row, action):
                return -1 - row.phase
            apply(rules[0], row, action, None, None)
        over += row.end != End.RUNNING
    return over


def one_action(rules: Rules, rows: Any, policy: Policy) -> int:
    action = np.zeros(1, np.int64)
    act_rows(rules.table, rows, INDEX, int(policy), action)
    return int(action[0])


# Legal.


@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize(("rules", "num_players"), every_game())
def test_every_action_is_legal(rules: Rules, num_players: int, policy: Policy) -> None:
    count = 30 if policy in RANDOM else 100
    rows = new_games(rules, num_players, count, seed=int(policy))
    over = play_checked(rules._table, rows, np.array([policy]), 1500)
    assert over >= 0, f"illegal in phase {Phase(-1 - over).name}"
    if policy not in RANDOM:
        assert over >= count - 1


@pytest.mark.parametrize(("rules", "num_players"), every_game())
def test_every_action_is_legal_in_mixed_company(rules: Rules, num_players: int) -> None:
    rows = new_games(rules, num_players, 200, seed=9)
    assert play_checked(rules._table, rows, MIXED, 3000) >= 0


@pytest.mark.parametrize("policy", Policy)
def test_the_same_game_again(policy: Policy) -> None:
    for rules in (Rules(), Rules.preset("classic", wild_draw_four="challenge")):
        games = [new_games(rules, 4, 20, seed=3) for _ in range(2)]
        for rows in games:
            play_checked(rules._table, rows, np.array([policy]), 500)
        assert games[0].tobytes() == games[1].tobytes()


@pytest.mark.parametrize("policy", Policy)
def test_acting_changes_nothing_but_the_policies_own_generator(policy: Policy) -> None:
    rules = Rules()
    rows = new_games(rules, 3, 50)
    index, actions = np.arange(50), np.zeros(50, np.int64)
    for _ in range(20):
        index = index[rows["end"][index] == End.RUNNING]
        before = rows.copy()
        act_rows(rules.table, rows, index, int(policy), actions[: len(index)])
        drawn = rows["policy_rng"] != before["policy_rng"]
        assert policy in RANDOM or not drawn.any()
        before["policy_rng"] = rows["policy_rng"]
        assert rows.tobytes() == before.tobytes()
        step_rows(rules.table, rows, index, actions[: len(index)], 1000)


PLAIN = """
import hashlib
import numpy as np
from pocket_uno_env import Rules
from pocket_uno_env.rows import reset_rows, step_rows
from pocket_uno_env.agents.scripted.policies import Policy, act_rows
from pocket_uno_env.engine.piles import copies_in
from pocket_uno_env.engine.state import new_rows
digest = hashlib.sha256()
house = dict(stacking="any", seven_zero=True, jump_in=True, wild_draw_four="challenge")
for rules, players in ((Rules(), 2), (Rules(), 4), (Rules.preset("classic", **house), 3)):
    rows = new_rows(5)
    reset_rows(rules.table, rows, players, np.uint64(5), np.uint64(0))
    actions = np.zeros((len(Policy), 5), np.int64)
    for _ in range(40):
        index = np.flatnonzero(rows["end"] == 0)
        for policy in Policy:
            act_rows(rules.table, rows, index, int(policy), actions[policy][: len(index)])
        digest.update(actions.tobytes())
        chosen = actions[rows["decisions"][0] % len(Policy)]
        step_rows(rules.table, rows, index, chosen[: len(index)], 1000)
print(digest.hexdigest())
"""


def test_plain_python_acts_as_compiled_code_does(tmp_path: Path) -> None:
    def run(**environment: str) -> str:
        result = subprocess.run(
            [sys.executable, "-W", "error", "-W", "ignore::RuntimeWarning", "-c", PLAIN],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    assert run(NUMBA_DISABLE_JIT="1") == run()


# Fair.


@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize(("rules", "num_players"), every_game())
def test_hidden_cards_change_no_action(rules: Rules, num_players: int, policy: Policy) -> None:
    rng = np.random.default_rng(int(policy))
    phases = set()
    for seed in range(3):
        rows = new_games(rules, num_players, 1, seed)
        for _ in range(50):
            if rows["end"][0] != End.RUNNING:
                break
            phases.add(int(rows["phase"][0]))
            permuted = rows.copy()
            permute_hidden(rules, permuted, int(rows["to_act"][0]), rng)
            # The mover is a random player now and then, so that all phases come up.
            action = one_action(rules, rows.copy(), policy)
            assert one_action(rules, permuted, policy) == action
            mover = Policy.RANDOM if rng.random() < 0.3 else policy
            step_rows(rules.table, rows, INDEX, np.array([one_action(rules, rows, mover)]), 1000)
    assert Phase.PLAY in phases


def test_random_is_uniform_over_the_legal_actions() -> None:
    house = Rules.preset(
        "pocket", stacking="any", seven_zero=True, jump_in=True, symbols={"7": 2, "+1": 2, "3": 3}
    )
    rng = np.random.default_rng(0)
    for rules in (Rules(), Rules.preset("pocket", opening_wild="first_player_chooses"), house):
        n_actions = int(rules._table["n_actions"][0])
        rows = new_games(rules, 3, 400, seed=2)
        seen: dict[int, int] = {}
        masks = np.zeros((1, n_actions), np.int8)
        for start in range(400):
            row = rows[start : start + 1]
            for _ in range(30):
                if row["end"][0] != End.RUNNING:
                    break
                phase = int(row["phase"][0])
                mask_rows(rules.table, row, INDEX, masks)
                legal = np.flatnonzero(masks[0])
                if len(legal) > 1 and seen.get(phase, 0) < 3:
                    seen[phase] = seen.get(phase, 0) + 1
                    copies = row.repeat(8000)
                    copies["policy_rng"] = rng.integers(2**63, size=8000, dtype=np.uint64)
                    actions = np.zeros(8000, np.int64)
                    act_rows(rules.table, copies, np.arange(8000), int(Policy.RANDOM), actions)
                    counts = np.bincount(actions, minlength=n_actions)
                    assert counts.sum() == counts[legal].sum()
                    assert stats.chisquare(counts[legal]).pvalue > 1e-6, Phase(phase).name
                action = np.array([one_action(rules, row, Policy.RANDOM)])
                step_rows(rules.table, row, INDEX, action, 1000)
        # UNO calls are rare in random play, but the other phases all come up.
        wanted = {Phase.PLAY, Phase.DRAWN, Phase.GIVE}
        if rules is house:
            wanted |= {Phase.STACK, Phase.SWAP, Phase.JUMP}
        assert wanted <= set(seen)


# Strong.


@cache
def shares(one: Policy, other: Policy, num_players: int, deals: int, rules: str) -> np.ndarray:
    """The share of rounds that one of the first wins against others, by deal."""
    agents = [load(scripted_name(policy)) for policy in (one, other)]
    lineup = [0] + [1] * (num_players - 1)
    (games,) = play(rules, num_players, agents, deals, seed=4, lineups=[lineup], max_cycles=3000)
    return games.win_rates(0)


def scripted_name(policy: Policy) -> str:
    return policy.name.lower().replace("_", "-")


LADDER = [
    # better, worse, players, rules, deals, win rate in per cent that it reaches for certain
    (Policy.RANDOM_UNO, Policy.RANDOM, 2, "pocket", 500, 60),
    (Policy.FIRST, Policy.RANDOM_UNO, 2, "pocket", 1000, 85),
    (Policy.HIGH_CARD, Policy.FIRST, 2, "pocket", 3000, 51),
    (Policy.GREEDY, Policy.HIGH_CARD, 2, "pocket", 3000, 53),
    (Policy.GREEDY, Policy.RANDOM, 2, "pocket", 1000, 95),
    (Policy.GREEDY, Policy.CHALLENGER, 2, "pocket", 20_000, 50),
    (Policy.COUNTER, Policy.GREEDY, 2, "pocket", 5000, 52.5),
    (Policy.COUNTER, Policy.ATTACKER, 2, "pocket", 5000, 53),
    (Policy.STRONG, Policy.RANDOM, 2, "pocket", 1000, 97),
    (Policy.STRONG, Policy.GREEDY, 2, "pocket", 5000, 61),
    (Policy.STRONG, Policy.COUNTER, 2, "pocket", 5000, 57),
    (Policy.STRONG, Policy.GREEDY, 4, "pocket", 20_000, 27),
    (Policy.STRONG, Policy.COUNTER, 3, "pocket", 20_000, 34),
    (Policy.STRONG, Policy.GREEDY, 2, "classic", 5000, 59),
    (Policy.STRONG, Policy.GREEDY, 4, "classic", 10_000, 26.5),
]


@pytest.mark.parametrize(
    ("better", "worse", "num_players", "rules", "deals", "least"),
    LADDER,
    ids=lambda value: scripted_name(value) if isinstance(value, Policy) else str(value),
)
def test_the_order_of_strength(
    better: Policy, worse: Policy, num_players: int, rules: str, deals: int, least: float
) -> None:
    won = 100 * shares(better, worse, num_players, deals, rules)
    # The floor lies far below what is measured, so that no change of the shuffle breaks this.
    assert won.mean() - 1.96 * won.std() / deals**0.5 > least


def finish(hands: list[list[str]], opening: str, policy: Policy) -> Any:
    """The env after seat 0, two players, has played with `policy` until seat 1 would have to."""
    env = raw_env(0)
    deck = deck_with(hands, opening, [], Rules())
    env.reset(seed=0, options={"deck": deck, "dealer": 1})
    while not env.terminations["player_0"] and env.agent_selection == "player_0":
        env.step(one_action(env.rules, env.rows, policy))
    return env


@pytest.mark.parametrize("policy", [Policy.COUNTER, Policy.STRONG])
def test_a_hand_that_can_go_out_in_one_turn_does(policy: Policy) -> None:
    # RS, YS, YV, BV, B7 is the only order.
    other = ["R2", "R3", "B8", "G9", "B4"]
    env = finish([["RS", "YS", "YV", "BV", "B7"], other], "R5", policy)
    assert env.terminations["player_0"] and env.rewards["player_0"] > 0
    env = finish([["R7", "RS", "BS", "B+1", "BV"], other], "R5", policy)
    assert not env.terminations["player_0"]


@pytest.mark.parametrize("policy", [p for p in Policy if p != Policy.RANDOM])
def test_all_but_random_say_uno_and_catch(policy: Policy) -> None:
    rules = Rules()
    rows = new_games(rules, 2, 400, seed=8)
    index, actions = np.arange(400), np.zeros(400, np.int64)
    asked = set()
    for turn in range(200):
        index = index[rows["end"][index] == End.RUNNING]
        chosen = actions[: len(index)]
        # Greed empties the hands, chance stays silent.
        mover = Policy.RANDOM if turn % 2 else Policy.GREEDY
        act_rows(rules.table, rows, index, int(mover), chosen)
        phase = rows["phase"][index]
        answer = np.zeros(len(index), np.int64)
        act_rows(rules.table, rows, index, int(policy), answer)
        for wanted, name in ((Phase.UNO, "say uno"), (Phase.CATCH, "catch")):
            if (phase == wanted).any():
                asked.add(wanted)
                assert (answer[phase == wanted] == raw_env(0).action_id(name)).all()
        step_rows(rules.table, rows, index, chosen, 1000)
    assert asked == {Phase.UNO, Phase.CATCH}


# Counting.


@kernel
def counted(rules, rows, other, kinds, out):
    """Count the cards for the seat to act; `out` gets unseen and own cards, chances, guilt."""
    row = rows[0]
    seat = np.int64(row.to_act)
    count = count_cards(rules[0], row, seat, other)
    for kind in range(rules[0].n_kinds):
        out[kind] = copies_in(rules[0], count.cards, kind)
    belief = believe(rules[0], row, count, other, count.known, count.n_known, 1.0)
    answer, again = reply_probabilities(rules[0], count, belief, kinds[0], kinds[1], 0, count.hand)
    out[-4:-2] = answer, again
    out[-2] = count.n_known
    out[-1] = guilt_probability(rules[0], row, 1.0) if row.phase == Phase.CHALLENGE else 0.0


@kernel
def places(rules, rows, seat, out):
    for card in range(rules[0].n_cards):
        out[card] = place_of(rows[0], seat, card)


@pytest.mark.parametrize(("rules", "num_players"), every_game())
def test_counting_agrees_with_what_the_seat_can_place(rules: Rules, num_players: int) -> None:
    rng = np.random.default_rng(5)
    kinds = rules._table["card_kind"][0][: rules.n_cards]
    at = np.zeros(rules.n_cards, np.int64)
    out = np.zeros(len(rules.kinds) + 4)
    for seed in range(5):
        rows = new_games(rules, num_players, 1, seed)
        for _ in range(150):
            if rows["end"][0] != End.RUNNING:
                break
            seat = int(rows["to_act"][0])
            if rows["phase"][0] != Phase.NAME:
                other = int(rng.integers(num_players))
                other = other if other != seat else (seat + 1) % num_players
                top = np.array([rng.integers(len(rules.kinds)), rng.integers(rules.colors)])
                counted(rules._table, rows, other, top, out)
                places(rules._table, rows, seat, at)
                expected = np.bincount(kinds[at == UNSEEN], minlength=len(rules.kinds))
                assert out[:-4].tolist() == expected.tolist()
                assert out[-2] == (at == other).sum()
                assert ((out[-4:-2] >= 0) & (out[-4:-2] <= 1 + 1e-12)).all()
                assert 0 <= out[-1] <= 1 + 1e-12
            action = np.array([one_action(rules, rows, Policy.RANDOM)])
            step_rows(rules.table, rows, INDEX, action, 1000)


def test_an_unseen_hand_answers_as_often_as_counting_says() -> None:
    # At the start nothing is known: the estimate is that of cards drawn with replacement.
    rules = Rules()
    kinds, out = rules._table["card_kind"][0], np.zeros(len(rules.kinds) + 4)
    rows = new_games(rules, 2, 4000)
    said, did = [], []
    for i in range(4000):
        row = rows[i : i + 1]
        if row["phase"][0] != Phase.PLAY:
            continue
        other = 1 - int(row["to_act"][0])
        top = int(kinds[row["discard_pile"][0, row["discard_count"][0] - 1]])
        color = int(row["active_color"][0])
        counted(rules._table, row, other, np.array([top, color]), out)
        said.append(out[-4])
        did.append(playable(rules, int(row["hand_kinds"][0, other]), top, color) != 0)
    assert abs(np.mean(said) - np.mean(did)) < 0.05


@kernel
def matching(rules, hand, top, color):
    return matching_kinds(rules[0], hand, top, color)


def playable(rules: Rules, hand: int, top: int, color: int) -> int:
    return int(matching(rules._table, np.uint64(hand), top, color))


@kernel
def one_turn(rules, hand, cards, top, color, keepers):
    return goes_out(rules[0], hand, cards, top, color, keepers)


def in_one_turn(rules: Rules, hand: int, top: int, color: int, keepers: int) -> bool:
    """The same by plain recursion."""
    fits = playable(rules, hand, top, color)
    if fits and hand.bit_count() == 1:
        return True
    options = [k for k in range(64) if (fits & keepers) >> k & 1]
    return any(
        in_one_turn(rules, hand & ~(1 << k), k, rules.kinds[k].color or 0, keepers) for k in options
    )


def test_going_out_in_one_turn_is_found_whenever_possible() -> None:
    rules = Rules()
    keepers = sum(1 << k for k, kind in enumerate(rules.kinds) if kind.symbol in ("S", "V", "+1"))
    rng = np.random.default_rng(1)
    found = 0
    pool = [k for k in range(len(rules.kinds)) if keepers >> k & 1]
    for _ in range(1500):
        cards = int(rng.integers(1, 7))
        chosen = set(rng.choice(pool, size=cards - 1, replace=False).tolist())
        rest = [k for k in range(len(rules.kinds)) if k not in chosen]
        hand = sum(1 << k for k in [*chosen, int(rng.choice(rest))])
        top, color = int(rng.integers(48)), int(rng.integers(4))
        expected = in_one_turn(rules, hand, top, color, keepers)
        found += expected
        mine = np.uint64(hand & keepers)
        assert one_turn(rules._table, np.uint64(hand), cards, top, color, mine) == expected
    assert 100 < found < 1400


# The same choices as ever.

CHOICES = "74ee54cc6a5dd783"
"""What `strong` and `counter` chose before they were made faster."""


@kernel
def choices_of(rules, rows, chosen):
    """Play on with all policies in turn, and write what the two choose; how many decisions."""
    count = 0
    for i in range(rows.shape[0]):
        row = rows[i]
        for turn in range(60):
            if row.end != End.RUNNING:
                break
            chosen[count, 0] = act(rules[0], row, Policy.STRONG)
            chosen[count, 1] = act(rules[0], row, Policy.COUNTER)
            count += 1
            policy = MIXED[(i + turn) % 5]
            apply(rules[0], row, act(rules[0], row, policy), None, None)
    return count


def test_strong_and_counter_choose_as_ever() -> None:
    digest, decisions = hashlib.sha256(), 0
    for rules, num_players in (game.values for game in every_game()):
        rows = new_games(rules, num_players, 40, seed=6)
        chosen = np.zeros((2400, 2), np.int16)
        count = choices_of(rules._table, rows, chosen)
        digest.update(chosen[:count].tobytes())
        decisions += count
    assert decisions > 50_000
    assert digest.hexdigest()[:16] == CHOICES


# Weights.


def test_every_policy_says_what_it_does() -> None:
    for policy in Policy:
        text = getattr(scripted, f"{policy.name.lower()}_action").__doc__
        assert text and len(text.split("\n")[0]) <= 100


@kernel
def entry_for(rules, rows):
    return weights_for(rules[0], rows[0])


def test_weights_are_complete_and_found_by_rules_and_players() -> None:
    assert list(ORIGINS) == list(WEIGHTS)
    for weights in WEIGHTS.values():
        assert list(weights) == [feature.name.lower() for feature in Feature]
        assert as_array(weights).shape == (len(Feature),)
    for rules, players, entry in (
        ("pocket", 2, "pocket, 2 players"),
        ("pocket", 5, "pocket, more players"),
        ("mini", 2, "pocket, 2 players"),
        ("classic", 2, "classic, 2 players"),
        ("classic", 10, "classic, more players"),
    ):
        rows = new_games(Rules.preset(rules), players, 1)
        assert list(WEIGHTS)[entry_for(Rules.preset(rules)._table, rows)] == entry


def tiny(**changed: Any) -> tune.Options:
    return tune.Options(**{"generations": 2, "deals": 40, "pairs": 2, "check_deals": 50, **changed})


def test_strong_match_wins_more_matches_than_strong_and_fewer_rounds() -> None:
    agents = [load("strong-match"), load("strong")]
    (games,) = play("pocket", 2, agents, 1_500, 3, episode="match")
    assert games.win_rates(0).mean() > 0.515
    assert round_rate(games, 0).mean < 0.5


def test_tuning_for_matches_measures_matches_and_writes_their_weights(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    out = tmp_path / "weights.py"
    arguments = "--reward match --generations 1 --deals 20 --pairs 1 --check-deals 20 --go-on"
    monkeypatch.setattr(sys, "argv", ["tune", *arguments.split(), "--out", str(out)])
    assert tune.main() == 0
    written = runpy.run_path(str(out))
    changed = [name for name in WEIGHTS if written["WEIGHTS"][name] != WEIGHTS[name]]
    assert changed == ["pocket, 2 players, match"]
    assert "--reward match" in written["ORIGINS"][changed[0]]
    monkeypatch.setattr(sys, "argv", ["tune", "--reward", "match", "--rules", "mini"])
    assert tune.main() == 2
    assert "pocket-uno equity --measure" in capsys.readouterr().err


def test_a_deal_pays_what_it_does_to_the_chance_to_win_the_match() -> None:
    """From both seats together nothing is won or lost; a win from 0:0 pays what equity says."""
    matches = tune.Matches(Rules(), 2, 0, "round", "match")
    strong, poor = (as_array(WEIGHTS["pocket, 2 players"]) for _ in range(2))
    assert matches.win_rates(strong, strong, 0, 30) == pytest.approx(np.full(30, 0.5))
    poor[Feature.DRAW] = 100.0
    shares = matches.win_rates(poor, strong, 0, 100)
    assert ((shares > -1e-9) & (shares < 1)).all() and shares.mean() < 0.2


def test_tuning_can_be_repeated() -> None:
    start = as_array(WEIGHTS["pocket, 2 players"])
    reports: list[tuple[int, float]] = []
    first = tune.tune(tiny(), start, lambda *report: reports.append(report))
    assert [generation for generation, _ in reports] == [1, 2]
    assert np.array_equal(first, tune.tune(tiny(), start, lambda *report: None))
    assert not np.array_equal(first, tune.tune(tiny(seed=1), start, lambda *report: None))
    for feature in tune.FIXED:
        assert first[feature] == start[feature]


def test_tuning_measures_by_matched_deals() -> None:
    matches = tune.Matches(Rules(), 2, 0)
    weights = as_array(WEIGHTS["pocket, 2 players"])
    # Against itself the same deal is won from one side or the other.
    assert (matches.win_rates(weights, weights, 0, 30) == 0.5).all()
    poor = weights.copy()
    poor[Feature.DRAW] = 100.0
    assert matches.win_rates(poor, weights, 0, 100).mean() < 0.2


def test_tuning_writes_a_module_with_one_entry_renewed(tmp_path: Path, monkeypatch: Any) -> None:
    out = tmp_path / "deep" / "weights.py"
    arguments = "--generations 1 --deals 20 --pairs 1 --check-deals 20 --num-players 3"
    monkeypatch.setattr(sys, "argv", ["tune", *arguments.split(), "--out", str(out)])
    assert tune.main() == 0
    written = runpy.run_path(str(out))
    assert list(written["WEIGHTS"]) == list(WEIGHTS)
    changed = [name for name in WEIGHTS if written["WEIGHTS"][name] != WEIGHTS[name]]
    assert changed == ["pocket, more players"]
    assert written["ORIGINS"][changed[0]].startswith("pocket-uno tune --rules pocket")


def test_the_shipped_weights_are_as_the_tuner_writes_them() -> None:
    text = tune.module_text(WEIGHTS, ORIGINS)
    assert Path(strong_weights.__file__).read_text("utf-8") == text


def test_tuning_refuses_impossible_games(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr(sys, "argv", ["tune", "--num-players", "9"])
    assert tune.main() == 2
    assert "num_players" in capsys.readouterr().err
