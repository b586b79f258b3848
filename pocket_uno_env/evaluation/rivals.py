"""Two agents compared by what each wins against a common field.

    evaluate.py compare runs/new runs/old --field strong greedy counter

Both play against a table full of each agent of the field, on the same deals and from the same
seats. The difference of their win rates in each deal is one value of the sample, so that what the
cards do to both of them cancels.
"""

from __future__ import annotations

import dataclasses
import json
import shlex
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import tyro

from pocket_uno_env.cli.progress import Display
from pocket_uno_env.files import whole_file
from pocket_uno_env.version import __version__

from .games import ArenaError, Games
from .kept import run_kept
from .plan import Plan, plan_of
from .statistics.estimates import Estimate, mean_estimate, rate_estimate
from .statistics.verdicts import MARGIN, verdict

if TYPE_CHECKING:
    from rich.table import Table

FORMAT = "uno-comparison/1"
TOGETHER = "all of them"
"""In place of an agent of the field: the mean over all."""


@dataclass
class Options:
    """Compare two agents by what each wins against a common field, on the same deals."""

    agents: Annotated[list[str], tyro.conf.Positional] = dataclasses.field(default_factory=list)
    """The two agents, by name or by the folder of a trained run; NAME=AGENT calls one NAME."""
    field: list[str] = dataclasses.field(default_factory=lambda: ["strong", "greedy", "counter"])
    """Against whom: with more than two players a table full of each."""
    rules: str = "pocket"
    """The rules: the name of a preset, or a file (.toml or .json)."""
    num_players: int = 2
    """Seats at the table."""
    deals: int = 1000
    """Deals against each agent of the field, each in all seat rotations, for both."""
    seed: int = 0
    """The same seed gives the same deals."""
    episode: str = "round"
    """What is played with a deal: a round, or a match, whose rounds are compared beside."""
    processes: int = 0
    """Processes to play in; 0 chooses a number."""
    ray: str | None = None
    """Play on a Ray cluster: its address, or "local"."""
    out: Path | None = None
    """A folder in which results are saved as they arrive; the same command continues it."""
    json: Path | None = None
    """Write the result to this file."""


def compare_rivals(options: Options, display: Display) -> dict[str, Any]:
    """Play, and compare; the result, as `table` takes it.

    Returns
    -------
    dict
        ``format``, ``rules``, ``num_players``, ``deals``, ``seed``, ``episode``, ``command``,
        ``version``; ``agents`` (the names of the two), ``fingerprints`` by name; and ``against``:
        for each agent of the field, and for `TOGETHER` if there are several, the ``win_rates`` of
        the two, their ``difference``, each with ``mean``, ``low``, ``high``, and the ``verdict`` on
        the first. In matches ``round_difference`` is that of the rounds won.
    """
    both, others = dict.fromkeys(options.agents), dict.fromkeys(options.field)
    if len(both) != 2:
        raise ArenaError(
            f"{len(both)} agents to compare; expected two different ones, as in: "
            "evaluate.py compare runs/new runs/old --field strong greedy"
        )
    if not others or both.keys() & others.keys():
        raise ArenaError(
            f"the field is {' '.join(others) or 'empty'!r}; expected one agent or more (--field), "
            "and none of the two that are compared"
        )
    if options.deals < 2:
        raise ArenaError(f"deals is {options.deals}; expected at least 2, for an interval")
    plan = plan_of(
        *([*both, *others], options.rules, options.num_players, options.deals, options.seed),
        design="rivals",
        episode=options.episode,
    )
    with ExitStack() as stack:
        file = None if options.json is None else stack.enter_context(whole_file(options.json))
        agents = plan.load_agents()
        display.begin("comparison", plan.games)
        name = f"{plan.rules['name']}-{plan.num_players}p-compare"
        kept = options.out, name, display, options.processes, options.ray
        games = [of.games for of in run_kept(plan, agents, *kept)]
        titles = [agent.title for agent in agents]
        result = {
            **{"format": FORMAT, "version": __version__, "command": _command(plan, options)},
            **{"rules": plan.rules, "num_players": plan.num_players, "deals": plan.deals},
            **{"seed": plan.seed, "episode": plan.episode, "agents": titles[:2]},
            "fingerprints": dict(zip(titles, plan.fingerprints, strict=True)),
            "against": against(games, plan.episode == "match"),
        }
        if file is not None:
            print(json.dumps(result, indent=1), file=file)
    return result


def against(games: list[Games], matches: bool) -> dict[str, Any]:
    """The comparison against each agent of the field, from games of the design ``rivals``."""
    rates, rounds = ([_blocks(of, kind) for of in games] for kind in ("matches", "rounds"))
    rows = {of.names[-1]: [2 * i] for i, of in enumerate(games[::2])}
    if len(rows) > 1:
        rows[TOGETHER] = [i for (i,) in rows.values()]
    found = {}
    for name, places in rows.items():
        one, other = (np.mean([rates[i + of] for i in places], axis=0) for of in (0, 1))
        judged = verdict(one - other, 0.0, len(rows), bounded=False)
        found[name] = {
            "win_rates": [_plain(rate_estimate(one)), _plain(rate_estimate(other))],
            "difference": _plain(mean_estimate(one - other)),
            "verdict": {"claim": judged.claim, "more_deals": judged.more_deals},
        }
        if matches:
            ahead = np.mean([rounds[i] - rounds[i + 1] for i in places], axis=0)
            found[name]["round_difference"] = _plain(mean_estimate(ahead))
    return found


def _blocks(games: Games, kind: str) -> np.ndarray:
    """The win rate of the first agent by deal."""
    first = games.lineup[0]
    return games.win_rates(first) if kind == "matches" else games.round_win_rates(first)


def table(result: dict[str, Any]) -> Table:
    """The comparison as a table of 80 columns or less."""
    from rich.table import Table

    one, other = result["agents"]
    matches = result["episode"] == "match"
    made = Table(
        title=f"{result['rules']['name']}, {result['num_players']} players: {one} less {other}",
        caption=f"{'Matches' if matches else 'Rounds'} won, by {result['deals']:,} deals against "
        "each, in all seat rotations. Differences are in points of a per cent, paired by deal, "
        f"with their 95 % interval. Even: within {100 * MARGIN:g} point; undecided: "
        "too few deals to tell 80 % of the time.",
        caption_justify="left",
        title_justify="left",
        padding=(0, 0 if matches else 1),
    )
    made.add_column("against", overflow="fold")
    for name in (one, other):
        made.add_column(name, justify="right", overflow="fold")
    for name in ("difference", "interval", *["by rounds", "interval"] * matches):
        made.add_column(name, justify="right", no_wrap=True)
    made.add_column("verdict", no_wrap=True)
    for name, found in result["against"].items():
        figures = [found[key] for key in ("difference", *["round_difference"] * matches)]
        made.add_row(
            name,
            *(f"{rate['mean']:.1%}" for rate in found["win_rates"]),
            *(cell for figure in figures for cell in _points(figure)),
            found["verdict"]["claim"],
        )
    return made


def _points(figure: dict[str, float]) -> tuple[str, str]:
    mean, low, high = (100 * figure[name] for name in ("mean", "low", "high"))
    return f"{mean:+.1f}", f"{low:+.1f} to {high:+.1f}"


def _command(plan: Plan, options: Options) -> str:
    """The command line that repeats the result."""
    names = [*plan.agents[:2], "--field", *plan.agents[2:], "--rules", options.rules]
    numbers = ["--num-players", plan.num_players, "--deals", plan.deals, "--seed", plan.seed]
    episode = ["--episode", plan.episode] * (plan.episode != "round")
    return shlex.join(["evaluate.py", "compare", *names, *map(str, numbers), *episode])


def _plain(estimate: Estimate) -> dict[str, Any]:
    return {"mean": estimate.mean, "low": estimate.low, "high": estimate.high}
