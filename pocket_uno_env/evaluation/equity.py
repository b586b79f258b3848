"""Match equity: the chance of each seat to win the match at given scores.

    pocket-uno equity 120 80
    pocket-uno equity --rules my-rules.toml --num-players 3 --measure
    pocket-uno equity --calibrate strong greedy --plot chances.png

It follows from how many points rounds between good players pay. The presets 'pocket' and 'classic'
have tables of that for every number of players; --measure makes one for other rules, which is found
from then on. --calibrate plays matches among copies of each agent and compares what the table says
at the start of each round with who won.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Annotated, Any

import numpy as np
import tyro

from pocket_uno_env.agents.agent import Agent, AgentError
from pocket_uno_env.agents.registry import load
from pocket_uno_env.batch import Batch
from pocket_uno_env.cli.program import print_error, program_name
from pocket_uno_env.cli.progress import Display, console, help_text
from pocket_uno_env.equity.tables import (
    FORMAT,
    EquityError,
    fields_of,
    file_name,
    match_equity,
    race_of,
    user_folder,
)
from pocket_uno_env.files import FileError, make_folder, whole_file
from pocket_uno_env.rules.limits import MAX_CYCLES, MAX_ROUNDS
from pocket_uno_env.rules.phases import End
from pocket_uno_env.rules.rules import Rules, RulesError
from pocket_uno_env.version import __version__

from .fingerprint import fingerprint
from .matches import apply_actions, deal_games

BINS = 10
"""Of equal width, from 0 to 1: what a calibration is measured in."""
SIDE_BY_SIDE = 4096
"""Games that are played at once."""

Progress = Callable[[int], None]


@dataclass
class Options:
    """The fields are the options of the command line."""

    scores: Annotated[list[int], tyro.conf.Positional] = field(default_factory=list)
    """The score of each seat; all 0 without them."""
    rules: str = "pocket"
    """A preset, or a file of rules."""
    num_players: int = 2
    """Number of players, where no scores say it."""
    measure: bool = False
    """Measure how many points rounds pay, and write the table."""
    agent: str = "strong"
    """Who plays in every seat for --measure."""
    rounds: int = 1_000_000
    """Rounds to play for --measure."""
    calibrate: list[str] = field(default_factory=list)
    """Play matches among copies of each of these agents, and compare."""
    matches: int = 40_000
    """Matches of each agent for --calibrate."""
    seed: int = 1
    """The same seed gives the same deals."""
    out: Path | None = None
    """Where to write; without it, --measure writes where the table is found."""
    plot: Path | None = None
    """Where to draw what --calibrate finds: a file that ends in .png or .svg."""


def measure(
    rules: Rules,
    num_players: int,
    agent: Agent,
    rounds: int,
    seed: int,
    progress: Progress = lambda done: None,
) -> tuple[np.ndarray, int]:
    """Play rounds among copies of an agent.

    Every one of the games side by side plays the same number of rounds, so that short rounds are
    not counted more often than long ones.

    Returns
    -------
    points : int64 array
        How many rounds paid the winner 0, 1, ... points.
    unwon : int
        How many had no winner.
    """
    games = min(SIDE_BY_SIDE, rounds)
    each = -(-rounds // games)
    batch = Batch(games, rules, num_players, reward="points")
    payoffs = np.zeros((games, num_players), np.float32)
    ends = np.zeros(games, np.uint8)
    everywhere, left = np.arange(games), np.full(games, each)
    points, unwon = np.zeros(1, np.int64), 0
    batch.reset(seed)
    while left.any():
        actions = agent.act_rows(rules, batch.rows, everywhere)
        batch.step(actions, payoffs=payoffs, ends=ends)
        over = np.flatnonzero((ends != End.RUNNING) & (left > 0))
        if not len(over):
            continue
        left[over] -= 1
        won = over[ends[over] == End.OUT]
        unwon += len(over) - len(won)
        paid = np.rint(payoffs[won].max(1) * rules.match_goal).astype(np.int64)
        counts = np.bincount(paid, minlength=len(points))
        counts[: len(points)] += points
        points = counts
        progress(games * each - int(left.sum()))
    return points, unwon


def calibrate(
    rules: Rules,
    num_players: int,
    agent: Agent,
    matches: int,
    seed: int,
    progress: Progress = lambda done: None,
) -> dict[str, Any]:
    """Play matches among copies of an agent, and compare their equities with who won.

    Returns
    -------
    dict
        ``agent``, ``fingerprint``, ``matches``, ``unwon`` (matches without a winner, which are left
        out), ``bins``, and ``error``, the mean over the bins of the absolute difference between
        predicted and won. Each bin has ``matches`` (those that were ever in it), ``positions``
        (seats at the start of a round), and of these the mean ``predicted`` and ``won``. A match is
        in a bin as often as it comes there.
    """
    race_of(rules, num_players)  # or there is nothing to compare with
    agent.check(rules, num_players)
    sums = np.zeros((BINS, 4))  # matches, positions, predicted, won
    unwon = 0
    for first in range(0, matches, SIDE_BY_SIDE):
        count = min(SIDE_BY_SIDE, matches - first)
        limits = (MAX_CYCLES, MAX_ROUNDS)
        rows, book = deal_games(rules, num_players, seed, first, count, seed, limits, 1)
        starts = [(np.arange(count), np.zeros((count, num_players), np.int64))]
        while len(index := np.flatnonzero(book.over == 0)):
            before = book.rounds[index]
            actions = agent.act_rows(rules, rows, index)
            apply_actions(rules._table, rows, index, actions, book, None)
            begun = index[(book.rounds[index] > before) & (book.over[index] == 0)]
            starts.append((begun, rows["scores"][begun, :num_players].astype(np.int64)))
            progress(first + int(book.over.sum()))
        unwon += int((book.winner < 0).sum())
        game = np.concatenate([games for games, _ in starts])
        scores = np.concatenate([scores for _, scores in starts])
        decided = book.winner[game] >= 0
        game, scores = game[decided], scores[decided]
        _add(sums, game, match_equity(rules, scores), book.winner[game])
    return {
        "agent": agent.name,
        "fingerprint": fingerprint(agent),
        "matches": matches,
        "unwon": unwon,
        "bins": [
            {
                "matches": int(in_bin),
                "positions": int(positions),
                "predicted": predicted / positions if positions else None,
                "won": won / positions if positions else None,
            }
            for in_bin, positions, predicted, won in sums.tolist()
        ],
        "error": _error(sums),
    }


def _add(sums: np.ndarray, game: np.ndarray, equities: np.ndarray, winner: np.ndarray) -> None:
    """Add positions to the bins: each seat of each is one."""
    won = winner[:, None] == np.arange(equities.shape[1])
    place = np.minimum((equities * BINS).astype(np.int64), BINS - 1)
    for number in range(BINS):
        here = place == number
        sums[number] += (
            len(np.unique(game[here.any(1)])),
            here.sum(),
            equities[here].sum(),
            won[here].sum(),
        )


def _error(sums: np.ndarray) -> float:
    there = sums[sums[:, 1] > 0]
    return float(np.mean(np.abs(there[:, 2] - there[:, 3]) / there[:, 1]))


def _measured(options: Options, rules: Rules, display: Display) -> Path:
    agent = load(options.agent)
    agent.check(rules, options.num_players)
    out = options.out
    if out is None:
        make_folder(user_folder())
        out = user_folder() / file_name(rules, options.num_players)
    with whole_file(out) as file:
        display.begin(f"rounds of {agent.name}", options.rounds)
        points, unwon = measure(
            rules,
            options.num_players,
            agent,
            options.rounds,
            options.seed,
            lambda done: display.report(done, {}),
        )
        if not points[1:].any():
            raise EquityError(f"no round of {options.rounds:,} paid points; nobody wins a match")
        table = {
            "format": FORMAT,
            "rules": fields_of(rules),
            "num_players": options.num_players,
            "agent": agent.name,
            "fingerprint": fingerprint(agent),
            "command": f"pocket-uno equity --measure --rules {options.rules} --num-players "
            f"{options.num_players} --agent {options.agent} --rounds {options.rounds} "
            f"--seed {options.seed}",
            "version": __version__,
            "rounds": int(points.sum()) + unwon,
            "unwon": unwon,
            "points": {str(n): int(count) for n, count in enumerate(points) if count},
        }
        print(json.dumps(table, indent=1), file=file)
    return out


def _calibrated(options: Options, rules: Rules, display: Display, file: IO[str] | None) -> None:
    from rich.table import Table

    found = []
    for spec in options.calibrate:
        agent = load(spec)
        display.begin(f"matches of {agent.name}", options.matches)
        found.append(
            calibrate(
                rules,
                options.num_players,
                agent,
                options.matches,
                options.seed,
                lambda done: display.report(done, {}),
            )
        )
    report = {
        "format": "uno-equity-calibration/1",
        "rules": rules.to_dict(),
        "num_players": options.num_players,
        "seed": options.seed,
        "version": __version__,
        "agents": found,
    }
    if file is not None:
        print(json.dumps(report, indent=1), file=file)
    if options.plot is not None:
        from .report.plots import calibration, write

        write(calibration(report), options.plot)
    table = Table(
        title="Matches won, by the chance that the table gives, in %", title_justify="left"
    )
    table.add_column("chance", justify="right")
    for one in found:
        table.add_column(one["agent"], justify="right")
    for number in range(BINS):
        cells = [one["bins"][number] for one in found]
        shown = [
            f"{100 * b['won']:.1f} of {100 * b['predicted']:.1f}" if b["positions"] else "-"
            for b in cells
        ]
        table.add_row(f"{100 * number // BINS} to {100 * (number + 1) // BINS}", *shown)
    table.add_section()
    table.add_row("mean difference", *[f"{100 * one['error']:.2f}" for one in found])
    console().print(table)


def _run(options: Options) -> None:
    rules = Rules.of(options.rules)
    scores = options.scores or [0] * options.num_players
    if options.num_players not in (2, len(scores)):
        raise EquityError(f"{len(scores)} scores for --num-players {options.num_players}")
    if options.scores and (options.measure or options.calibrate):
        raise EquityError("scores are for their equities; --measure and --calibrate take none")
    rules.check_players(options.num_players)
    for name in ("rounds", "matches"):
        if not 1 <= getattr(options, name) <= 1_000_000_000:
            raise EquityError(f"--{name} is {getattr(options, name)}; expected a number from 1")
    if options.plot is not None and options.plot.suffix not in (".png", ".svg"):
        raise EquityError(f"--plot is {options.plot}; expected a file that ends in .png or .svg")
    if options.measure:
        with Display() as display:
            out = _measured(options, rules, display)
        print(f"Written to {out}")
    if options.calibrate:
        with ExitStack() as stack:
            file = None if options.out is None else stack.enter_context(whole_file(options.out))
            _calibrated(options, rules, stack.enter_context(Display()), file)
    if not options.measure and not options.calibrate:
        for seat, equity in enumerate(match_equity(rules, scores)):
            print(f"seat {seat}: {scores[seat]:>4} points, {100 * equity:5.1f} %")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    sys.path[:0] = [""] * ("" not in sys.path)  # so that agents of one's own are found here
    about = help_text(__file__)
    options = tyro.cli(Options, prog=program_name("equity"), args=arguments, description=about)
    try:
        _run(options)
    except (AgentError, EquityError, FileError, RulesError, ValueError) as error:
        print_error("equity", error)
        return 2
    return 0
