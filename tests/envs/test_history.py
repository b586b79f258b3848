"""Rounds whose random outcomes the caller decides: the same game, and nothing is given away."""

from __future__ import annotations

import copy
import pickle
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.stats
from games import every_game
from mini_game import ENDS, SEQUENCES

from pocket_uno_env import Rules
from pocket_uno_env.compiled.kernel import as_record
from pocket_uno_env.engine.deal import new_game
from pocket_uno_env.engine.state import NO_SEAT, new_rows
from pocket_uno_env.engine.transition import apply
from pocket_uno_env.envs.openspiel.deals import GameParameters, deals
from pocket_uno_env.envs.openspiel.events import HIDDEN
from pocket_uno_env.envs.openspiel.history import History
from pocket_uno_env.observation.blocks import observation_size
from pocket_uno_env.records.record import Log, deal_entry
from pocket_uno_env.records.snapshot import snapshot
from pocket_uno_env.row_kernels import observe_row
from pocket_uno_env.rules.limits import NO_KIND
from pocket_uno_env.rules.phases import End

MINI = GameParameters(Rules.preset("mini"), 2, 5, whole_deal=True)


def walk(history: History) -> Iterator[History]:
    """All histories from this one on."""
    yield history
    for choice in [outcome for outcome, _ in history.outcomes] or history.legal():
        yield from walk(history.after(choice))


@pytest.fixture(scope="module")
def tree() -> list[History]:
    """The mini game under a cap of five decisions."""
    return list(walk(History(MINI)))


def played(parameters: GameParameters, seed: int, decisions: int) -> Iterator[History]:
    """The histories of one random game at its decisions and at its end."""
    rng = np.random.default_rng(seed)
    history = History(parameters)
    while not history.over and decisions > 0:
        if history.outcomes:
            ids, chances = zip(*history.outcomes, strict=True)
            history = history.after(int(rng.choice(ids, p=chances)))
            continue
        yield history
        history = history.after(int(rng.choice(history.legal())))
        decisions -= 1
    yield history


def observation(history: History, seat: int) -> bytes:
    parameters = history.parameters
    out = np.zeros(observation_size(parameters.rules, parameters.num_players), np.float32)
    observe_row(parameters.table, history.rows, seat, out)
    return out.tobytes()


def test_the_mini_tree_is_that_of_the_engine(tree: list[History]) -> None:
    sequences, ends = Counter[int](), Counter[int]()
    for history in tree:
        if not history.outcomes:
            depth = len(history.events) - 1
            sequences[depth] += 1
            ends[depth] += bool(history.rows["end"][0] not in (End.RUNNING, End.TRUNCATED))
    assert [sequences[depth] for depth in range(6)] == SEQUENCES[:6]
    assert [ends[depth] for depth in range(6)] == ENDS[:6]


@pytest.mark.parametrize(("rules", "seats"), every_game())
def test_a_history_plays_what_the_engine_plays(rules: Rules, seats: int) -> None:
    """The engine draws, the history is told what; both stand at the same place all the time."""
    parameters = GameParameters(rules, seats, 10_000)
    rng = np.random.default_rng(seats)
    log, kinds = Log(rules), rules.kind_ids
    for seed in range(6):
        rows = new_rows(1)
        new_game(rows[0], seats, np.uint64(seed))
        entry = deal_entry(rules, rows, NO_SEAT, None, log)
        history = History(parameters).after(entry["dealer"])
        for i in range(parameters.dealt):
            receiver = parameters.receiver(entry["dealer"], i)
            history = history.after(kinds[entry["hands"][receiver][i // seats]])
        history = told(history.after(kinds[entry["opening"]]), entry["events"], kinds)
        for _ in range(60):
            assert stands(history.rows, rules) == stands(rows, rules)
            if history.over:
                break
            action = int(rng.choice(history.legal()))
            apply(rules._table[0], rows[0], action, None, log.clear())
            history = told(history.after(action), log.events([0, "acts"]), kinds)


def told(history: History, events: list[Any], kinds: dict[str, int]) -> History:
    """The history after the draws of these events."""
    drawn = [card for event in events if len(event) == 3 for card in event[2]]
    for card in drawn:
        # A draw with one possible outcome is none of chance.
        if history.outcomes and kinds[card] in dict(history.outcomes):
            history = history.after(kinds[card])
    return history


def stands(rows: Any, rules: Rules) -> dict[str, Any]:
    table = snapshot(rules, as_record(rows))
    table["draw_pile"] = sorted(table["draw_pile"])
    return table


def test_the_deal_is_as_likely_at_once_as_card_by_card() -> None:
    order, chances = deals(MINI.rules, 2)
    assert len(order) == 144 and sum(chance for _, chance in chances) == pytest.approx(1)
    found: dict[tuple[Any, ...], float] = defaultdict(float)

    def add(history: History, chance: float) -> None:
        if history.rows is not None:
            event = history.events[0]
            found[event.seat, event.hands, event.opening] += chance
            return
        for outcome, share in history.outcomes:
            add(history.after(outcome), chance * share)

    add(History(GameParameters(MINI.rules, 2, 5)), 1.0)
    expected = {(d.dealer, d.hands, d.opening): chances[i][1] for i, d in enumerate(order)}
    assert found == pytest.approx(expected)


def test_the_engine_deals_that_often() -> None:
    rules, log = MINI.rules, Log(MINI.rules)
    order, chances = deals(rules, 2)
    counts, index = Counter[int](), {deal: i for i, deal in enumerate(order)}
    for seed in range(6000):
        rows = new_rows(1)
        new_game(rows[0], 2, np.uint64(seed))
        entry = deal_entry(rules, rows, NO_SEAT, None, log)
        hands = tuple(tuple(sorted(rules.kind_ids[c] for c in hand)) for hand in entry["hands"])
        deal = type(order[0])(entry["dealer"], hands, rules.kind_ids[entry["opening"]])
        counts[index[deal]] += 1
    observed = [counts[i] for i in range(len(order))]
    expected = [6000 * chance for _, chance in chances]
    assert scipy.stats.chisquare(observed, expected).pvalue > 1e-4


def test_nothing_is_forgotten(tree: list[History]) -> None:
    """What a seat has seen tells what it had seen, and done, at each of its earlier decisions."""
    pasts: dict[str, set[tuple[Any, ...]]] = defaultdict(set)

    def trace(history: History, past: dict[int, tuple[Any, ...]]) -> None:
        if history.outcomes:
            for outcome, _ in history.outcomes:
                trace(history.after(outcome), past)
        seat = history.to_act
        if seat is None:
            return
        seen = history.seen(seat)
        pasts[seen].add(past[seat])
        for action in history.legal():
            trace(history.after(action), {**past, seat: (*past[seat], seen, action)})

    trace(tree[0], {0: (), 1: ()})
    assert len(pasts) > 1000
    assert all(len(found) == 1 for found in pasts.values())


def test_what_looks_the_same_is_the_same(tree: list[History]) -> None:
    """Of all histories of an information state: one legality, observation, and guess per seed."""
    states = defaultdict(list)
    for history in tree:
        if history.to_act is not None:
            states[history.seen(history.to_act)].append(history)
    several = [group for group in states.values() if len(group) > 1]
    assert len(several) > 1000
    for group in several:
        seat = group[0].to_act
        assert seat is not None
        assert len({tuple(history.legal()) for history in group}) == 1
        assert len({observation(history, seat) for history in group}) == 1
    for group in several[::25]:
        guesses = [history.resampled(7) for history in group]
        assert len({guess.text() for guess in guesses}) == 1
        tables = [snapshot(MINI.rules, as_record(guess.rows)) for guess in guesses]
        assert all(table == tables[0] for table in tables)


@pytest.mark.parametrize(("rules", "seats"), every_game())
def test_a_guess_looks_the_same_and_hides_the_rest(rules: Rules, seats: int) -> None:
    parameters = GameParameters(rules, seats, 200)
    differs = 0
    for history in played(parameters, 3, 60):
        seat = history.to_act
        if seat is None:
            continue
        guess = history.resampled(11)
        assert guess.seen(seat) == history.seen(seat)
        assert observation(guess, seat) == observation(history, seat)
        assert guess.legal() == history.legal()
        table = stands(guess.rows, rules)
        cards = Counter(table["draw_pile"] + table["discard_pile"])
        for hand in table["hands"]:
            cards.update(hand)
        assert cards == Counter(rules.deck)
        differs += table["hands"] != stands(history.rows, rules)["hands"]
        for event in guess.events:
            for drawer, drawn in event.draws:
                assert drawer == seat or set(drawn) <= {NO_KIND}
            assert all(hand is None for i, hand in enumerate(event.hands) if i != seat)
            assert not event.shown or seat in event.shown[:2] or set(event.shown[2]) <= {NO_KIND}
            assert (
                event.receiver < 0
                or seat in (event.seat, event.receiver)
                or (event.action == HIDDEN)
            )
        for action in guess.legal():
            guess.after(action)
    assert differs or rules.name == "mini"


def test_a_guess_needs_a_seat_that_decides() -> None:
    with pytest.raises(ValueError, match="no seat is to act"):
        History(MINI).resampled(0)


def test_a_seat_sees_its_cards_while_they_are_dealt() -> None:
    # So that seat 0 gets the first card.
    history = History(GameParameters(MINI.rules, 2, 5)).after(1)
    assert [history.seen(seat) for seat in (0, 1)] == [
        "seat 0; holds nothing",
        "seat 1; holds nothing",
    ]
    history = history.after(MINI.rules.kind_ids["W"]).after(MINI.rules.kind_ids["R2"])
    assert history.seen(0) == "seat 0; holds W" and history.seen(1) == "seat 1; holds R2"
    assert History(MINI).seen(1) == "seat 1; holds nothing"


def test_copies_are_the_same_history(tree: list[History]) -> None:
    history = tree[200]
    assert copy.deepcopy(history) is history
    again = pickle.loads(pickle.dumps(history))
    assert again.text() == history.text() and again.legal() == history.legal()
    assert again.outcomes == history.outcomes and again.parameters == history.parameters


def test_too_many_deals_for_one_node() -> None:
    with pytest.raises(ValueError, match="more than 100,000 different deals"):
        deals(Rules.preset("pocket"), 2)
