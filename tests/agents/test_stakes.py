"""What a search plays for: the round, or the match."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pocket_uno_env import Rules, match_equity
from pocket_uno_env.agents import AgentError, load
from pocket_uno_env.agents.scripted.policies import Policy
from pocket_uno_env.agents.search.stakes import set_stakes, share_at_end, share_of, stakes_of
from pocket_uno_env.batch import Batch
from pocket_uno_env.engine.state import new_rows
from pocket_uno_env.rules.phases import End

POCKET = Rules.preset("pocket")


def finished(before: list[int], winner: int, points: int, end: End = End.OUT) -> tuple[Any, Any]:
    """A row before a round with these scores, and the row after it."""
    rows = new_rows(2)
    rows["num_players"], rows["players_in"] = len(before), len(before)
    rows["scores"][:, : len(before)] = before
    rows["end"][1] = end
    if end == End.OUT:
        rows["winner"][1] = winner
        rows["points"][1, winner] = points
        rows["scores"][1, winner] += points
    return rows[0], rows[1]


@pytest.mark.parametrize("scores", [[0, 0], [200, 30], [90, 180, 249], [10, 20, 30, 40]])
def test_an_ordinary_win_is_one_and_an_ordinary_loss_none(scores: list[int]) -> None:
    n = len(scores)
    stakes = stakes_of(POCKET, n, "match")
    assert 30 < stakes.points < 150
    for seat in range(n):
        before, won = finished(scores, seat, stakes.points)
        set_stakes(before, stakes)
        assert share_at_end(won, seat, stakes) == pytest.approx(1)
        losses = [
            share_at_end(finished(scores, other, stakes.points)[1], seat, stakes)
            for other in range(n)
            if other != seat
        ]
        assert np.mean(losses) == pytest.approx(0)
        assert 0 < share_at_end(finished(scores, 0, 0, End.BLOCKED)[1], seat, stakes) < 1


def test_more_points_are_worth_more_and_the_scale_is_that_of_match_equity() -> None:
    stakes = stakes_of(POCKET, 2, "match")
    before, small = finished([100, 60], 0, 10)
    _, large = finished([100, 60], 0, 140)
    set_stakes(before, stakes)
    assert share_at_end(small, 0, stakes) < 1 < share_at_end(large, 0, stakes)
    assert share_at_end(large, 1, stakes) < 0 < share_at_end(small, 1, stakes)
    assert share_at_end(small, 0, stakes) == share_of(
        match_equity("pocket", [110, 60])[0], 0, stakes
    )
    # Near the goal more points than are needed are worth nothing.
    before, enough = finished([240, 60], 0, 10)
    _, plenty = finished([240, 60], 0, 140)
    set_stakes(before, stakes)
    assert share_at_end(enough, 0, stakes) == share_at_end(plenty, 0, stakes)


@pytest.mark.parametrize("rules", [POCKET, Rules.preset("mini"), Rules.preset("pocket51")])
def test_by_wins_or_without_match_equity_a_win_is_a_win(rules: Rules) -> None:
    reward = "win" if rules == POCKET else "match"
    stakes = stakes_of(rules, 2, reward)
    before, after = finished([3, 2], 1, 2)
    set_stakes(before, stakes)
    assert [share_at_end(after, seat, stakes) for seat in (0, 1)] == [0, 1]
    assert share_at_end(finished([3, 2], 0, 0, End.TRUNCATED)[1], 0, stakes) == 0.5


@pytest.mark.parametrize("search", ["search:64", "ismcts:64", "clairvoyant:64"])
def test_the_score_matters_to_a_search_for_the_match_alone(search: str) -> None:
    batch = Batch(48, "pocket")
    actions = np.zeros(48, np.int64)
    batch.reset(3)
    index = np.arange(48)
    chosen: dict[str, list[np.ndarray]] = {"match": [], "win": []}
    for _ in range(6):
        batch.play(Policy.STRONG, actions)
        for reward, found in chosen.items():
            agent = load(f"{search},reward={reward}")
            for scores in ([0, 0], [0, 245], [245, 245]):
                rows = batch.rows.copy()
                rows["scores"][:, :2] = scores
                found.append(agent.act_rows(POCKET, rows, index))
    for reward, found in chosen.items():
        groups = [found[i : i + 3] for i in range(0, len(found), 3)]
        same = [np.array_equal(a, b) and np.array_equal(a, c) for a, b, c in groups]
        assert all(same) if reward == "win" else not all(same)


def test_a_reward_that_is_none() -> None:
    with pytest.raises(AgentError, match="reward='points'; expected one of match, win"):
        load("search:10,reward=points")
