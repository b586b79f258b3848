"""Ratings: one number for each agent from all its games, on Elo's scale.

Of two players it is the Bradley-Terry model's, fitted by choix; of more, Luce's choice model's,
the same model for several: the chance to win is an agent's share of the strength at the table.
Besides, OpenSkill's ratings of more players. Intervals come from a bootstrap over deals: since all
line-ups share the deals, a deal is drawn with all that was played from it.

Sources: R. Bradley, M. Terry, "Rank analysis of incomplete block designs", Biometrika 39, 1952;
R. D. Luce, "Individual choice behavior", 1959; D. Hunter, "MM algorithms for generalized
Bradley-Terry models", Annals of Statistics 32, 2004; R. Weng, C.-J. Lin, "A Bayesian approximation
method for online ranking", JMLR 12, 2011 (OpenSkill); B. Efron, R. Tibshirani, "An introduction to
the bootstrap", 1993 (percentile intervals).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pocket_uno_env.evaluation.games import Games

from .estimates import CONFIDENCE, Estimate

ELO = 400 / math.log(10)
"""An agent 400 above another wins ten times as often."""
ANCHOR = ("greedy", 1000.0)
"""This agent's rating is fixed; where it does not play, the mean of all is."""
RESAMPLES = 400
OPENSKILL_GAMES = 1500
OPENSKILL_RESAMPLES = 24


@dataclass(frozen=True, slots=True)
class Tables:
    """The results of all line-ups in numbers.

    Attributes
    ----------
    names : list of str
        The agents, A of them.
    seats : float64 array, shape ``(T, A)``
        How many places each agent has in each line-up.
    games : float64 array, shape ``(T, deals)``
        How much each block counts: 1; by rounds, their number over the mean of the line-up. Where a
        line-up has played fewer deals than another, the rest is 0.
    wins : float64 array, shape ``(T, A, deals)``
        What of that each agent has won, all its places together.
    """

    names: list[str]
    seats: np.ndarray
    games: np.ndarray
    wins: np.ndarray

    @classmethod
    def of(cls, games: Sequence[Games], rounds: bool = False) -> Tables:
        """From games that share their deals; by the rounds of matches if `rounds`."""
        numbers = sorted({number for of in games for number in of.agents})
        names = {number: of.name(number) for of in games for number in of.agents}
        deals = max(of.deals for of in games)
        seats = np.zeros((len(games), len(numbers)))
        count = np.zeros((len(games), deals))
        wins = np.zeros((len(games), len(numbers), deals))
        for t, of in enumerate(games):
            per_block = of.rounds.sum(axis=1).mean()
            count[t, : of.deals] = of.rounds.sum(axis=1) / per_block if rounds else 1
            for number in of.agents:
                a = numbers.index(number)
                seats[t, a] = len(of.places(number))
                won = of.count_rounds_won(number) / per_block if rounds else of.win_rates(number)
                wins[t, a, : of.deals] = won * seats[t, a]
        return cls([names[number] for number in numbers], seats, count, wins)

    def totals(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Wins ``(B, T, A)`` and games ``(B, T)`` when deals count as in `weights`, ``(B, deals)``.

        So that every agent gets a rating, also one that has won or lost everything, each line-up
        gets one more game, with equal chances for all places.
        """
        wins = np.einsum("tad,bd->bta", self.wins, weights)
        games = np.einsum("td,bd->bt", self.games, weights)
        return wins + self.seats / self.seats.sum(axis=1, keepdims=True), games + 1


def ratings(
    games: Sequence[Games],
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
    rounds: bool = False,
) -> dict[str, Estimate]:
    """Each agent's rating with its interval, by name.

    Parameters
    ----------
    games : sequence of Games
        Line-ups of at least two different agents that share their deals. Line-ups of one agent
        alone say nothing and are left out.
    rounds : bool
        Of matches: rate by who won their rounds, not by who won them.
    """
    tables = Tables.of([of for of in games if len(of.agents) > 1], rounds)
    deals = tables.wins.shape[2]
    rng = np.random.default_rng(seed)
    weights = np.concatenate(
        [np.ones((1, deals)), rng.multinomial(deals, np.full(deals, 1 / deals), resamples)]
    )
    two = int(tables.seats.sum(axis=1).max()) == 2
    elo = anchored(_pairwise(tables, weights) if two else _luce(tables, weights), tables.names)
    return _estimates(tables.names, elo[0], elo[1:], confidence)


def anchored(strengths: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """Log strengths, shape ``(B, A)``, on Elo's scale with its anchor."""
    elo = ELO * np.asarray(strengths)
    name, value = ANCHOR
    zero = elo[:, [names.index(name)]] if name in names else elo.mean(axis=1, keepdims=True)
    return np.asarray(elo - zero + value)


def _pairwise(tables: Tables, weights: np.ndarray) -> np.ndarray:
    import choix

    wins, _ = tables.totals(weights)
    count = len(tables.names)
    players = [np.flatnonzero(seats) for seats in tables.seats]
    matrices = np.zeros((len(weights), count, count))
    for t, (one, other) in enumerate(players):
        matrices[:, one, other] += wins[:, t, one]
        matrices[:, other, one] += wins[:, t, other]
    fitted = [choix.ilsr_pairwise_dense(matrix) for matrix in matrices]
    return np.array(fitted)


def _luce(tables: Tables, weights: np.ndarray, steps: int = 10_000) -> np.ndarray:
    """Luce's model by Hunter's iteration; agents may have several places. Log strengths (B, A)."""
    wins, games = tables.totals(weights)
    won = wins.sum(axis=1)
    strength = np.full(won.shape, 1 / won.shape[1])
    for _ in range(steps):
        shares = np.einsum("bt,ta->ba", games / (strength @ tables.seats.T), tables.seats)
        new = won / shares
        new /= new.sum(axis=1, keepdims=True)
        done = np.abs(np.log(new / strength)).max() < 1e-7
        strength = new
        if done:
            break
    return np.asarray(np.log(strength))


def rate_against(
    games: Sequence[Games],
    known: dict[str, float],
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
    rounds: bool = False,
) -> Estimate:
    """The rating of the agent at the first place, against others whose ratings are known.

    Parameters
    ----------
    games : sequence of Games
        In each, the agent alone against a table of one other.
    known : dict
        The others' ratings by name.
    rounds : bool
        As in `ratings`.
    """
    tables = Tables.of(list(games), rounds)
    deals = tables.wins.shape[2]
    rng = np.random.default_rng(seed)
    draws = rng.multinomial(deals, np.full(deals, 1 / deals), resamples)
    wins, played = tables.totals(np.concatenate([np.ones((1, deals)), draws]))
    newcomer = [tables.names.index(of.names[0]) for of in games]
    won = sum(wins[:, t, a] for t, a in enumerate(newcomer))
    others = np.array([known[of.names[-1]] / ELO for of in games])
    places = np.array([len(of.lineup) - 1 for of in games])
    # The expected wins grow with the rating: bisection, in all resamples at once.
    low, high = np.full(len(wins), others.min() - 20), np.full(len(wins), others.max() + 20)
    for _ in range(60):
        middle = (low + high) / 2
        share = 1 / (1 + places * np.exp(others[None, :] - middle[:, None]))
        below = (played * share).sum(axis=1) < won
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    elo = ELO * (low + high) / 2
    names = [games[0].names[0]]
    return _estimates(names, elo[:1], elo[1:, None], confidence)[names[0]]


def openskill(
    games: Sequence[Games], confidence: float = CONFIDENCE, seed: int = 0
) -> dict[str, Estimate]:
    """OpenSkill's rating mu of each agent (Plackett-Luce), with a bootstrap interval, by name.

    It counts who won; the others share the second rank. Of several places of one agent the mean
    counts. It goes through the games one by one, so that only `OPENSKILL_GAMES` are used, spread
    evenly, and few resamples drawn; `ratings` uses all games.
    """
    games = [of for of in games if len(of.agents) > 1]
    names = {number: of.name(number) for of in games for number in of.agents}
    seats = len(games[0].lineup)
    used = max(1, OPENSKILL_GAMES // (len(games) * seats))
    deals = np.unique(np.linspace(0, min(of.deals for of in games) - 1, used).astype(int))
    rng = np.random.default_rng(seed)
    runs = [_openskill(games, rng.permutation(deals), rng)]
    for _ in range(OPENSKILL_RESAMPLES):
        runs.append(_openskill(games, rng.choice(deals, len(deals)), rng))
    values = np.array([[run[number] for number in names] for run in runs])
    return _estimates(list(names.values()), values[0], values[1:], confidence)


def _openskill(
    games: Sequence[Games], deals: np.ndarray, rng: np.random.Generator
) -> dict[int, float]:
    from openskill.models import PlackettLuce

    model = PlackettLuce()
    found = {number: model.rating() for of in games for number in of.agents}
    for deal in deals:
        for table in rng.permutation(len(games)):
            of = games[table]
            for winner in of.winner[deal]:
                if winner < 0:
                    continue
                teams = [
                    [model.rating(mu=found[number].mu, sigma=found[number].sigma)]
                    for number in of.lineup
                ]
                ranks = [float(place != winner) for place in range(len(teams))]
                after = model.rate(teams, ranks=ranks)
                for number in of.agents:
                    own = [after[place][0] for place in of.places(number)]
                    found[number].mu = float(np.mean([rating.mu for rating in own]))
                    found[number].sigma = float(np.mean([rating.sigma for rating in own]))
    return {number: rating.mu for number, rating in found.items()}


def _estimates(
    names: Sequence[str], values: np.ndarray, resampled: np.ndarray, confidence: float
) -> dict[str, Estimate]:
    tail = (1 - confidence) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail], axis=0)
    return {
        name: Estimate(float(value), float(min(a, value)), float(max(b, value)))
        for name, value, a, b in zip(names, values, low, high, strict=True)
    }
