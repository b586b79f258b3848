"""Control variates: exactly fair at every draw, fair over games, and worth their while."""

import numpy as np
import pytest

from pocket_uno_env.agents import load
from pocket_uno_env.evaluation import behavior
from pocket_uno_env.evaluation import draw_luck as control
from pocket_uno_env.evaluation.arena import Chunk, GameSetup
from pocket_uno_env.evaluation.draw_luck import FEATURES, draw_luck
from pocket_uno_env.evaluation.games import joined
from pocket_uno_env.evaluation.statistics.estimates import mean_estimate
from pocket_uno_env.evaluation.statistics.luck_adjustment import (
    adjusted,
    adjusted_estimate,
    places_luck,
)
from pocket_uno_env.rules.rules import Rules

stats = pytest.importorskip("scipy.stats")


def played(rules, seats, agents, deals, seed=0, chunk=256, episode="round"):
    setup = GameSetup(Rules.of(rules), seats, seed, episode, 3000)
    loaded = [load(agent) for agent in agents]
    lineup = (0, *[1] * (seats - 1))
    chunks = [Chunk(setup, loaded, lineup, first, chunk, True) for first in range(0, deals, chunk)]
    luck = np.concatenate([draw_luck(chunk.finished_games()) for chunk in chunks])
    return joined([chunk.games() for chunk in chunks]), luck


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("hand", [0, 0b1011, 0b111 << 20])
def test_over_all_cards_that_may_come_the_luck_of_a_draw_is_zero(forced, hand):
    """Every card of the pile in turn, each as often as there are copies: it adds up to nothing."""
    rules = Rules.preset("classic")
    rng = np.random.default_rng(0)
    pile = rng.integers(0, 3, len(rules.kinds))
    seat, other = 0, 1
    rows = np.zeros(1, control_row(rules))
    total = np.zeros((2, FEATURES))
    for kind, copies in enumerate(pile):
        luck = np.zeros((2, FEATURES))
        log = np.zeros(behavior.LOG_SIZE, np.int16)
        note = control.Note.FORCED if forced else control.Note.DRAW
        log[:5] = [2, note, seat, control.Note.CARD, kind]
        control._read(
            rules._table[0], rows[0], log, pile.astype(np.int64), np.array([hand, 1], np.uint64),
            np.array([3, 2]), np.array([seat, other]), luck,
        )  # fmt: skip
        total += copies * luck
        if copies:
            assert np.abs(luck[0]).max() > 0.01
            assert not luck[1].any()
    assert np.abs(total).max() < 1e-9


def control_row(rules):
    from pocket_uno_env.engine.state import ROW

    return ROW


@pytest.mark.parametrize(
    ("rules", "seats", "agents"),
    [
        ("pocket", 2, ["greedy", "strong"]),
        ("classic", 2, ["strong", "noisy:0.2"]),
        ("pocket", 3, ["random-uno", "greedy"]),
        (Rules.preset("classic", draw_until_playable=True, stacking="any"), 2, ["greedy", "first"]),
    ],
)
def test_over_many_games_luck_has_mean_zero(rules, seats, agents):
    _, luck = played(rules, seats, agents, 1536)
    values = luck.reshape(len(luck), -1).astype(float)
    values = values[:, (values != 0).sum(axis=0) > 100]
    assert values.shape[1] > 20
    z = values.mean(axis=0) / stats.sem(values, axis=0)
    # The largest of all of them, as a chance of one in ten thousand allows.
    assert np.abs(z).max() < stats.norm.isf(1e-4 / 2 / values.shape[1])


def test_adjusted_results_estimate_the_same_with_less():
    games, luck = played("pocket", 2, ["greedy", "strong"], 4096)
    blocks, variates = games.win_rates(0), places_luck(luck, [0])
    plain = mean_estimate(blocks)
    estimate, share = adjusted_estimate(blocks, variates)
    assert share < 0.9
    width = (estimate.high - estimate.low) / (plain.high - plain.low)
    assert width == pytest.approx(np.sqrt(share), rel=0.01)
    # The difference of the two is what was subtracted: its mean is zero.
    removed = blocks - adjusted(blocks, variates)
    assert abs(removed.mean()) < 4 * stats.sem(removed)


def test_adjusted_intervals_hold_the_truth_as_often_as_they_say():
    """Few deals at a time, so that an overfitted correction would show."""
    games, luck = played("pocket", 2, ["first", "strong"], 10_240)
    blocks, variates = games.win_rates(0), places_luck(luck, [0])
    truth = adjusted(blocks, variates).mean()
    held, shares = [], []
    for first in range(0, len(blocks), 256):
        part = slice(first, first + 256)
        estimate, share = adjusted_estimate(blocks[part], variates[part])
        held.append(estimate.low <= truth <= estimate.high)
        shares.append(share)
    assert np.mean(held) > 0.84  # 40 tries of 95 % fall to it once in a thousand times
    assert np.mean(shares) < 0.97


def test_variates_that_say_nothing_take_nothing_away():
    rng = np.random.default_rng(0)
    blocks = rng.choice([0, 0.5, 1], 400)
    for variates in (rng.normal(size=(400, 60)), np.zeros((400, 60))):
        _, share = adjusted_estimate(blocks, variates)
        assert 0.97 < share < 1.05
    known = np.stack([blocks - 0.5 + 0.1 * rng.normal(size=400)] * 3, axis=1)
    assert adjusted_estimate(blocks, known)[1] < 0.2
    assert adjusted(blocks[:150], known[:150]).tolist() == blocks[:150].tolist()


def test_matches_have_luck_too():
    games, luck = played("pocket", 2, ["greedy", "strong"], 4, chunk=4, episode="match")
    assert (games.rounds > 1).all()
    assert np.abs(luck).sum() > 0
