"""Tune the weights of the strong heuristic: evolution strategies on matched deals.

    pocket-uno tune --rules pocket --num-players 2 --out runs/weights.py

Each generation perturbs the weights in random directions, both ways along each. All of them play
the same deals from all seats, against the greedy policy and against the previous weights. The
weights then move along the directions, in proportion to the differences in win rate. The result is
a module like ``agents/scripted/strong_weights.py``, with new weights for the given rules and number
of players; put in its place, it is what ``strong`` plays by.

Source: T. Salimans et al., "Evolution Strategies as a Scalable Alternative to Reinforcement
Learning", 2017 (antithetic pairs); momentum and steps of fixed length are additions.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tyro
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from pocket_uno_env import files
from pocket_uno_env.agents.scripted.policies import Policy, act
from pocket_uno_env.agents.scripted.strong import (
    FOR_MATCHES,
    Feature,
    as_array,
    weighted_action,
    weights_for,
)
from pocket_uno_env.agents.scripted.strong_weights import ORIGINS, WEIGHTS
from pocket_uno_env.cli.program import print_error, program_name
from pocket_uno_env.cli.progress import console, help_text
from pocket_uno_env.compiled.kernel import kernel
from pocket_uno_env.compiled.rng import row_seed
from pocket_uno_env.engine.deal import deal_round, new_game
from pocket_uno_env.engine.state import NO_SEAT, new_rows
from pocket_uno_env.engine.transition import apply, truncate
from pocket_uno_env.episodes.episode import OCCURRING, episode_of
from pocket_uno_env.episodes.kernels import finish_round, start_scores
from pocket_uno_env.episodes.payoff import Reward, win_share
from pocket_uno_env.equity.tables import EquityError, race_of
from pocket_uno_env.rules.phases import End
from pocket_uno_env.rules.rules import Rules, RulesError

MAX_CYCLES = 2000
"""Decisions after which a round counts as a draw."""
START = {
    "trust": 1.0,
    "challenge_at": 0.15,
    "points": -0.2,
    "wild": -0.5,
    "wild_draw": -1.5,
    "guilty": -0.5,
    "skip": 0.2,
    "switch_theirs": 0.3,
    "answer": -1.2,
    "answer_one": -8.0,
    "answer_two": -1.0,
    "out": 2.0,
    "out_safe": 0.2,
    "next": 0.6,
    "no_follow": -0.5,
    "follow_share": 1.0,
    "colors": -0.7,
    "isolated": -0.4,
    "wilds": 1.5,
    "actions": 0.3,
    "actions_follow": -0.7,
    "common": -0.5,
    "draw": -3.0,
    "draw_again": 0.4,
    "keep": -1.5,
    "give_points": -0.3,
    "give_active": -1.0,
    "give_wild": -1.0,
    "give_isolated": 0.3,
}
"""Weights in round numbers from which tuning starts; those that are not named are zero."""
FIXED = (Feature.TRUST, Feature.CHALLENGE_AT)
"""Parameters that are no weights and are not tuned."""
MOMENTUM = 0.8
"""Of the update of the weights."""


@dataclass
class Options:
    """The fields are the options of the command line."""

    rules: str = "pocket"
    """The rules, by the name of a preset."""
    num_players: int = 2
    """Seats at the table; there are weights for two players and for more."""
    reward: Literal["win", "match"] = "win"
    """What weights are tuned for: to win rounds; or what rounds do to the chance to win the match,
    from scores as they occur, and the result is measured in matches."""
    generations: int = 60
    """Updates of the weights."""
    deals: int = 1500
    """Deals for each perturbation in the first generation; they grow to four times as many."""
    pairs: int = 16
    """Random directions in a generation."""
    seed: int = 0
    """The same seed and options give the same weights."""
    step: float = 2.0
    """Length of the first step, relative to the perturbations; it falls to a tenth."""
    go_on: bool = False
    """Start from the current weights instead of those in round numbers."""
    check_deals: int = 20_000
    """Deals of the matches that measure the result; other deals than in tuning."""
    out: Path = Path("runs/weights.py")
    """The module to write."""


@kernel
def play_deals(
    rules: Any,
    rows: Any,
    num_players: int,
    episode: Any,
    weights: Any,
    rival: int,
    rival_weights: Any,
    seed: Any,
    first_deal: Any,
    wins: Any,
) -> None:
    """Play deals with `weights` alone against rivals, from every seat.

    Parameters
    ----------
    rows : array of one row
        Scratch.
    rival : int
        A `Policy`, or -1 for the heuristic with `rival_weights`.
    episode : Episode
        What a deal is the first round of, and what counts: a win, or the chance of one.
    wins : float64 array, shape ``(deals,)``, written
        The share of a win in each deal, added up over the seats; an undecided one counts its fair
        share.
    """
    row, payoffs = rows[0], np.empty(num_players)
    for deal in range(wins.shape[0]):
        wins[deal] = 0.0
        for seat in range(num_players):
            new_game(row, num_players, row_seed(seed, first_deal + np.uint64(deal)))
            start_scores(row, episode.scores)
            end = End.RUNNING
            while end == End.RUNNING:
                deal_round(rules[0], row, NO_SEAT, None, None)
                while row.end == End.RUNNING:
                    if row.to_act == seat:
                        action = weighted_action(rules[0], row, weights)
                    elif rival < 0:
                        action = weighted_action(rules[0], row, rival_weights)
                    else:
                        action = act(rules[0], row, rival)
                    apply(rules[0], row, action, None, None)
                    if row.end == End.RUNNING and row.decisions >= episode.max_cycles:
                        truncate(row)
                end = finish_round(rules[0], row, episode, payoffs)
            if episode.reward == Reward.MATCH:
                wins[deal] += 1.0 / num_players + payoffs[seat]
            else:
                wins[deal] += win_share(payoffs[seat], num_players)


class Matches:
    """Duplicate matches: everyone plays the same deals, from all seats."""

    def __init__(
        self, rules: Rules, num_players: int, seed: int, episode: str = "round", reward: str = "win"
    ) -> None:
        scores = OCCURRING if reward == "match" else None
        how = episode, reward, MAX_CYCLES
        self.episode = episode_of(rules, num_players, *how, scores=scores)
        self.rules = rules
        self.num_players = rules.check_players(num_players)
        self.seed = np.uint64(seed)
        self._row = new_rows(1)
        new_game(self._row[0], self.num_players, self.seed)
        #: The entry of `WEIGHTS` that applies here.
        number = weights_for(self.rules._table[0], self._row[0])
        if "match" in (episode, reward):
            number += FOR_MATCHES
        self.entry = list(WEIGHTS)[number]

    def win_rates(
        self, weights: np.ndarray, rival: Policy | np.ndarray, first_deal: int, deals: int
    ) -> np.ndarray:
        """The win rate of `weights` against `rival` in each deal: float64, shape ``(deals,)``."""
        wins = np.zeros(deals)
        scripted = isinstance(rival, Policy)
        play_deals(
            self.rules._table,
            self._row,
            self.num_players,
            self.episode,
            weights,
            int(rival) if scripted else -1,
            weights if scripted else rival,
            self.seed,
            np.uint64(first_deal),
            wins,
        )
        return wins / self.num_players

    def fitness(self, weights: np.ndarray, rival: np.ndarray, first_deal: int, deals: int) -> float:
        """Mean win rate, half of the matches against greedy, half against `rival`."""
        greedy = self.win_rates(weights, Policy.GREEDY, first_deal, deals)
        return float(greedy.mean() + self.win_rates(weights, rival, first_deal, deals).mean()) / 2


def perturbation_sizes(weights: np.ndarray) -> np.ndarray:
    """The scale of each weight's perturbation: larger for large weights, 0 for `FIXED`."""
    sizes: np.ndarray = np.abs(weights)
    sizes[list(FIXED)] = 0.0
    sizes = 0.1 * sizes + 0.1 * sizes.mean()
    sizes[list(FIXED)] = 0.0
    return sizes


def normalized(weights: np.ndarray) -> np.ndarray:
    """The same heuristic with a mean magnitude of 1: only the proportions matter."""
    free = np.ones(len(weights), bool)
    free[list(FIXED)] = False
    return np.where(free, weights / np.abs(weights[free]).mean(), weights)


def tune(
    options: Options, start: np.ndarray, on_generation: Callable[[int, float], None]
) -> np.ndarray:
    """Evolve weights from `start`; `on_generation` gets the number and mean fitness of each."""
    how = options.num_players, options.seed, "round", options.reward
    matches = Matches(Rules.of(options.rules), *how)
    generator = np.random.default_rng(options.seed)
    weights, mean, velocity = start.copy(), start.copy(), np.zeros_like(start)
    next_deal = options.check_deals
    for generation in range(options.generations):
        done = generation / options.generations
        deals = round(options.deals * (1 + 3 * done))
        sizes, rival = perturbation_sizes(weights), mean.copy()
        gradient, total = np.zeros_like(weights), 0.0
        for _ in range(options.pairs):
            direction = generator.standard_normal(len(weights))
            ahead, behind = (
                matches.fitness(weights + sign * sizes * direction, rival, next_deal, deals)
                for sign in (1, -1)
            )
            gradient += (ahead - behind) * direction
            total += (ahead + behind) / 2
            next_deal += deals
        velocity = MOMENTUM * velocity + (1 - MOMENTUM) * gradient * (sizes > 0)
        length = np.linalg.norm(velocity)
        if length > 0:
            weights = weights + options.step * (1 - 0.9 * done) * sizes * velocity / length
        mean = 0.8 * mean + 0.2 * weights
        on_generation(generation + 1, total / options.pairs)
    return normalized(mean)


def module_text(table: dict[str, dict[str, float]], origins: dict[str, str]) -> str:
    """The source of a ``strong_weights.py`` with these entries, and how each was made."""
    lines = [
        '"""The weights of `strong.strong_action`, written by ``pocket-uno tune``."""',
        "",
        "from __future__ import annotations",
        "",
        "WEIGHTS: dict[str, dict[str, float]] = {",
    ]
    for name, weights in table.items():
        lines.append(f'    "{name}": {{')
        lines += [f'        "{key}": {value:.3f},' for key, value in weights.items()]
        lines.append("    },")
    lines += ["}", "", "ORIGINS: dict[str, str] = {"]
    for name, origin in origins.items():
        parts = textwrap.wrap(origin, 80)
        lines.append(f'    "{name}": (')
        lines += [f'        "{part} "' for part in parts[:-1]] + [f'        "{parts[-1]}"']
        lines.append("    ),")
    lines += ["}", '"""The command that gave each entry, and what it measured."""', ""]
    return "\n".join(lines)


def named(weights: np.ndarray) -> dict[str, float]:
    """Weights by the names of their features, rounded as they are written."""
    return {
        feature.name.lower(): round(float(value), 3)
        for feature, value in zip(Feature, weights, strict=True)
    }


def interval(win_rates: np.ndarray) -> str:
    """Mean and half the width of the 95 % interval, in per cent."""
    half = 1.96 * win_rates.std(ddof=1) / len(win_rates) ** 0.5
    return f"{100 * win_rates.mean():.2f} ± {100 * half:.2f} %"


def command(options: Options) -> str:
    """The command line that repeats a run."""
    shown = ("rules", "num_players", "reward", "generations", "deals", "pairs", "seed", "step")
    flags = [f"--{name.replace('_', '-')} {getattr(options, name)}" for name in shown]
    return " ".join(["pocket-uno tune", *flags, *["--go-on"] * options.go_on])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    about = help_text(__file__)
    options = tyro.cli(Options, prog=program_name("tune"), args=arguments, description=about)
    out = console(stderr=True)
    try:
        rules, episode = Rules.of(options.rules), "match" if options.reward == "match" else "round"
        if episode == "match":
            race_of(rules, options.num_players)
        matches = Matches(rules, options.num_players, options.seed, episode)
    except (EquityError, RulesError) as error:
        print_error("tune", error)
        return 2
    entry = matches.entry
    shipped = as_array(WEIGHTS[entry])
    start = shipped if options.go_on else as_array(dict.fromkeys(WEIGHTS[entry], 0.0) | START)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=out) as progress:
        task = progress.add_task("generations", total=options.generations)

        def show(generation: int, fitness: float) -> None:
            text = f"{entry}: mean fitness {100 * fitness:.2f} %"
            progress.update(task, completed=generation, description=text)

        tuned = named(tune(options, start, show))
    weights = as_array(tuned)
    deals = options.check_deals
    rivals: dict[str, Policy | np.ndarray] = {
        "greedy": Policy.GREEDY,
        "counter": Policy.COUNTER,
        "the weights replaced": shipped,
    }
    found = {
        name: f"{interval(matches.win_rates(weights, rival, 0, deals))} against {name}"
        for name, rival in rivals.items()
    }
    out.print(f"{entry}: {', '.join(found.values())}")
    measured = f"{found['greedy']}, {found['counter']} ({deals:,} deals)"
    text = module_text(
        {**WEIGHTS, entry: tuned},
        {**ORIGINS, entry: f"{command(options)}: {measured}"},
    )
    options.out.parent.mkdir(parents=True, exist_ok=True)
    files.write_whole(options.out, text.encode())
    out.print(f"Written to {options.out}")
    return 0
