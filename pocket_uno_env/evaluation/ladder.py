"""The ladder: fixed agents with measured ratings, on which new agents are placed.

    evaluate.py ladder runs/mine
    evaluate.py ladder --measure --rules house.toml --num-players 3
    evaluate.py ladder runs/mine --rules house.toml --num-players 3

A new agent plays every agent of the ladder on common deals, and gets the rating that best explains
its results given the ratings of the ladder. A ladder is measured by matches, and has the ratings by
their rounds beside, or by single rounds. Those of the common games come with the package, in
``pocket_uno_env/evaluation/ladders/``, with a version that is raised when one is measured again;
quote ratings with it. Those of all other games, house rules too, are measured on demand and kept in
the user's data folder, by a fingerprint of the rules.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Literal

import tyro

from pocket_uno_env.agents.agent import Agent
from pocket_uno_env.agents.registry import load
from pocket_uno_env.cli.progress import Display
from pocket_uno_env.equity.tables import user_folder
from pocket_uno_env.evaluation.report.report import tournament_report
from pocket_uno_env.evaluation.statistics.estimates import Estimate, rate_estimate
from pocket_uno_env.evaluation.statistics.ratings import rate_against
from pocket_uno_env.files import FileError, make_folder, read_json, whole_file
from pocket_uno_env.rules.rules import Rules

from .arena import EPISODES
from .fingerprint import fingerprint, rules_fingerprint
from .games import Games, round_rate
from .kept import run_kept
from .plan import Plan, plan_of
from .tournament import Played

if TYPE_CHECKING:
    from rich.table import Table

FORMAT = "uno-ladder/1"
FOLDER = Path(__file__).parent / "ladders"
SHIPPED = ("classic-2p", "pocket-2p", "pocket-3p", "pocket-4p")
"""The ladders that come with the package."""
RUNGS = (
    *("random", "random-uno", "first", "high-card", "attacker", "challenger", "greedy"),
    *("counter", "strong", "strong-match"),
)
"""The agents of every ladder."""
MORE_RUNGS = {"classic": ("rlcard-rule",)}
"""Further agents that play by these rules only."""


class LadderError(ValueError):
    """An unknown or damaged ladder, or options that do not fit; the message says which."""


@dataclass(frozen=True)
class _Rating:
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class _Ladder:
    """The fields of a ladder's file that are read."""

    format: Literal["uno-ladder/1"]
    version: int
    ratings: dict[str, _Rating]
    episode: Literal["round", "match"] = "round"
    round_ratings: dict[str, _Rating] = field(default_factory=dict)
    fingerprints: dict[str, str] = field(default_factory=dict)


@dataclass
class Options:
    """Place agents on the ladder: a fixed set of agents with measured ratings."""

    agents: Annotated[list[str], tyro.conf.Positional] = field(default_factory=list)
    """The agents to be rated, by name or by the folder of a trained run."""
    rules: str = "pocket"
    """The rules of the ladder: the name of a preset, or a file (.toml or .json)."""
    num_players: int = 2
    """Number of players of the ladder; with more than two, one copy of the agent plays against a
    table full of each rung."""
    deals: int = 1000
    """Deals against each agent of the ladder, each in all seat rotations."""
    seed: int = 0
    """The same seed gives the same deals."""
    episode: str | None = None
    """What is played with a deal: a round, or a match, whose rounds are rated beside. By default
    what the ladder was measured by, and matches to measure it."""
    processes: int = 0
    """Processes to play in; 0 chooses a number."""
    ray: str | None = None
    """Play on a Ray cluster: its address, or "local"."""
    out: Path | None = None
    """A folder in which results are saved as they arrive; the same command continues it."""
    json: Path | None = None
    """Write the result to this file."""
    measure: bool = False
    """Measure the ladder itself, and write its file: for rules whose ladder does not come with the
    package, house rules too, into the user's data folder, where it is found from then on."""


def path(rules: str | Rules, num_players: int) -> Path:
    """The file of the ladder of these rules: in the package, or in the user's data folder."""
    made = Rules.of(rules)
    made.check_players(num_players)
    stem = f"{made.name}-{num_players}p"
    if stem in SHIPPED and made == Rules.preset(made.name):
        return FOLDER / f"{stem}.json"
    name = f"{made.name}-{rules_fingerprint(made)}-{num_players}p.json"
    return user_folder("ladders") / name


def read(rules: str | Rules = "pocket", num_players: int = 2) -> dict[str, Any]:
    """A ladder: ``version``, ``rules``, ``deals``, ``command``, ``ratings``, ``win_rates``, ...

    One measured by matches has the ``episode`` "match" and, by their rounds, ``round_ratings``.

    Raises
    ------
    LadderError
        If nobody has measured it, naming the command that does; also for a file that is damaged.
    """
    from msgspec import ValidationError, convert

    file = path(rules, num_players)
    name = rules if isinstance(rules, str) else rules.name
    measure = f"evaluate.py ladder --measure --rules {name} --num-players {num_players}"
    if not file.exists():
        raise LadderError(
            f"there is no ladder of rules {name!r} for {num_players} players; there are: "
            f"{', '.join(SHIPPED)}. Measure it once: {measure}"
        )
    try:
        found: dict[str, Any] = read_json(file)
        checked = convert(found, _Ladder)
        if checked.episode == "match" and checked.round_ratings.keys() != checked.ratings.keys():
            raise ValidationError("round_ratings are not of the same agents as ratings")
    except (FileError, ValidationError) as error:
        raise LadderError(f"the ladder {file} is damaged: {error}; measure it anew") from error
    if file.parent != FOLDER:  # tests watch over those of the package
        for rung, before in checked.fingerprints.items():
            if fingerprint(load(rung)) != before:
                raise LadderError(
                    f"the ladder {file} was measured with another {rung!r} than this version has; "
                    f"measure it anew: {measure}"
                )
    return found


def climb(options: Options, display: Display) -> dict[str, Any]:
    """Rate the agents, or measure the ladder; the result, as `table` takes it.

    Returns
    -------
    dict
        ``ladder`` (its name), ``version``, ``deals``, ``seed``, ``episode``, ``rungs`` (name to
        rating) and ``agents``: for each its ``rating`` and its ``win_rates`` against the rungs, all
        with ``mean``, ``low``, ``high``. Where matches were played, ``round_rungs``,
        ``round_rating`` and ``round_win_rates`` are the same by their rounds.
    """
    if options.episode not in (None, *EPISODES):
        raise LadderError(f"episode is {options.episode!r}; expected {' or '.join(EPISODES)}")
    if options.measure:
        return _measure(options, display)
    if not options.agents:
        raise LadderError("no agents; name whom to rate, as in: evaluate.py ladder runs/mine")
    known = read(options.rules, options.num_players)
    with ExitStack() as stack:
        file = None if options.json is None else stack.enter_context(whole_file(options.json))
        result = _placed(options, known, display)
        if file is not None:
            print(json.dumps(result, indent=1), file=file)
    return result


def _placed(options: Options, known: dict[str, Any], display: Display) -> dict[str, Any]:
    name = path(options.rules, options.num_players).stem
    measured = known.get("episode", "round")
    episode = options.episode or measured
    if episode == "match" and measured == "round":
        raise LadderError(
            f"the ladder {name} was measured by rounds alone; expected --episode round, or measure "
            f"it by matches: {_command(options, episode)}"
        )
    both = episode == "match"
    rungs = known["ratings" if episode == measured else "round_ratings"]
    result: dict[str, Any] = {
        "format": "uno-placing/1",
        "ladder": name,
        "version": known["version"],
        "deals": options.deals,
        "seed": options.seed,
        "episode": episode,
        "num_players": options.num_players,
        "rungs": rungs,
        **({"round_rungs": known["round_ratings"]} if both else {}),
        "agents": {},
    }
    for spec in dict.fromkeys(options.agents):
        names = [spec, *(name for name in rungs if name != spec)]
        plan, agents = _plan(options, names, "gauntlet", episode)
        played = _played(options, agents[0].title, plan, agents, display)
        games = [of.games for of in played]
        found = result["agents"][agents[0].title] = {
            "fingerprint": fingerprint(agents[0]),
            "rating": _plain(rate_against(games, _means(rungs))),
            "win_rates": {of.names[-1]: _rate(of) for of in games},
        }
        if both:
            elo = _means(known["round_ratings"])
            found["round_rating"] = _plain(rate_against(games, elo, rounds=True))
            found["round_win_rates"] = {of.names[-1]: _round_rate(of) for of in games}
    return result


def _measure(options: Options, display: Display) -> dict[str, Any]:
    """Play a round robin of the ladder's agents, and write its file."""
    file = path(options.rules, options.num_players)
    if file.parent != FOLDER:
        make_folder(file.parent)
    with whole_file(file) as out:
        return _measured(options, file, display, out)


def _measured(options: Options, file: Path, display: Display, out: IO[str]) -> dict[str, Any]:
    more = MORE_RUNGS.get(options.rules, ()) if file.parent == FOLDER else ()
    names = [*RUNGS, *more]
    episode = options.episode or "match"
    both = episode == "match"
    plan, agents = _plan(options, names, "round-robin", episode)
    played = _played(options, "ladder", plan, agents, display)
    report = tournament_report(plan, agents, played, "round-robin", rules_name=options.rules)
    version = 1
    if file.exists():
        version += read_json(file).get("version", 0)
    found = {
        "format": FORMAT,
        "version": version,
        "rules": report["rules"],
        "num_players": options.num_players,
        "deals": options.deals,
        "seed": options.seed,
        "episode": episode,
        "command": _command(options, episode),
        "versions": report["versions"],
        "fingerprints": {agent["name"]: agent["fingerprint"] for agent in report["agents"]},
        "ratings": report["ratings"]["elo"],
        **({"round_ratings": report["ratings"]["round_elo"]} if both else {}),
        "win_rates": [
            {
                "agents": list(of.games.names),
                **_rate(of.games),
                **({"rounds": _round_rate(of.games)} if both else {}),
            }
            for of in played
        ],
    }
    print(json.dumps(found, indent=1), file=out)
    return {
        "ladder": file.stem,
        "version": version,
        "deals": options.deals,
        "episode": episode,
        "num_players": options.num_players,
        "rungs": found["ratings"],
        **({"round_rungs": found["round_ratings"]} if both else {}),
        "agents": {},
    }


def table(placed: dict[str, Any]) -> Table:
    """The ladder with the agents placed on it, as a table of 80 columns or less."""
    from rich.table import Table

    both = placed["episode"] == "match"
    kinds = {"": "by matches", "round_": "by rounds"} if both else {"": "rating"}
    made = Table(
        padding=(0, 0 if both else 1),
        title=f"Ladder {placed['ladder']}, version {placed['version']}",
        caption="Elo's scale: 400 more win ten times as often. "
        + (
            f"Rated by {placed['deals']:,} deals against each rung. The intervals allow for the "
            "deals, not for those of the ladder itself. Win rate: what the first agent placed wins "
            "against that rung."
            if placed["agents"]
            else f"Measured by {placed['deals']:,} deals for each pairing."
        ),
        caption_justify="left",
        title_justify="left",
    )
    made.add_column("", no_wrap=True)
    made.add_column("agent", overflow="fold")
    first = next(iter(placed["agents"].values()), None)
    for heading in kinds.values():
        for column in (heading, "interval", *["win rate"] * (first is not None)):
            made.add_column(column, justify="right", no_wrap=True)
    rows = [(placed["rungs"][name]["mean"], name, False) for name in placed["rungs"]]
    rows += [(found["rating"]["mean"], name, True) for name, found in placed["agents"].items()]
    for _, name, new in sorted(rows, key=lambda row: -row[0]):
        cells = []
        for kind in kinds:
            if new:
                rating = placed["agents"][name][f"{kind}rating"]
            else:
                rating = placed[f"{kind}rungs"][name]
            fixed = rating["low"] == rating["high"]
            cells += [
                f"{rating['mean']:.0f}",
                "" if fixed else f"{rating['low']:.0f} to {rating['high']:.0f}",
            ]
            if first is not None:
                rate = None if new else first[f"{kind}win_rates"].get(name)
                cells.append(f"{rate['mean']:.1%}" if rate else "")
        made.add_row(">" if new else "", name, *cells, style="bold" if new else None)
    return made


def _command(options: Options, episode: str) -> str:
    """The command line that measures a ladder."""
    return (
        f"evaluate.py ladder --measure --rules {options.rules} --num-players {options.num_players} "
        f"--deals {options.deals} --seed {options.seed} --episode {episode}"
    )


def _plan(
    options: Options, names: Sequence[str], design: str, episode: str
) -> tuple[Plan, list[Agent]]:
    plan = plan_of(
        *(names, options.rules, options.num_players, options.deals, options.seed),
        design=design,
        episode=episode,
    )
    return plan, plan.load_agents()


def _played(
    options: Options, name: str, plan: Plan, agents: Sequence[Agent], display: Display
) -> list[Played]:
    """Play, continuing from the results in ``--out``."""
    display.begin(name, plan.games)
    stem = path(options.rules, options.num_players).stem
    kept = options.out, f"{stem}-{name}", display, options.processes, options.ray
    return run_kept(plan, agents, *kept)


def _means(ratings: dict[str, Any]) -> dict[str, float]:
    return {name: rating["mean"] for name, rating in ratings.items()}


def _rate(games: Games) -> dict[str, Any]:
    return _plain(rate_estimate(games.win_rates(games.lineup[0])))


def _round_rate(games: Games) -> dict[str, Any]:
    return _plain(round_rate(games, games.lineup[0]))


def _plain(estimate: Estimate) -> dict[str, Any]:
    return {"mean": estimate.mean, "low": estimate.low, "high": estimate.high}
