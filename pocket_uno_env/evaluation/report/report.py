"""The report of an evaluation, as JSON: its figures, and everything needed to reproduce them."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from pocket_uno_env.agents.agent import Agent
from pocket_uno_env.evaluation.arena import GameSetup
from pocket_uno_env.evaluation.behavior import profile
from pocket_uno_env.evaluation.fingerprint import fingerprint
from pocket_uno_env.evaluation.games import Games, round_rate
from pocket_uno_env.evaluation.plan import Plan, plan_of
from pocket_uno_env.evaluation.statistics.estimates import (
    CONFIDENCE,
    Estimate,
    mean_estimate,
    rate_estimate,
)
from pocket_uno_env.evaluation.statistics.luck_adjustment import (
    adjusted,
    adjusted_estimate,
    places_luck,
)
from pocket_uno_env.evaluation.statistics.ratings import openskill, ratings
from pocket_uno_env.evaluation.statistics.verdicts import MARGIN, POWER, verdict
from pocket_uno_env.evaluation.tournament import Played, run
from pocket_uno_env.evaluation.workers import ThisProcess
from pocket_uno_env.rules.phases import End
from pocket_uno_env.rules.rules import Rules
from pocket_uno_env.version import __version__

FORMAT = "uno-evaluation/3"


def evaluation(setup: GameSetup, deals: int, games: Sequence[Games]) -> dict[str, Any]:
    """The figures of some line-ups, ready for ``json.dumps``; the same games, the same text.

    Returns
    -------
    dict
        ``format``, ``versions``, ``rules``, ``num_players``, ``deals``, ``rotations``, ``seed``,
        ``episode``, ``max_cycles``, ``max_rounds``, ``confidence``; and ``line_ups``, one `line_up`
        for each of `games`.
    """
    packages = {name: version(name) for name in ("numpy", "numba")}
    if "torch" in sys.modules:
        packages["torch"] = version("torch")
    return {
        "format": FORMAT,
        "versions": {
            "pocket_uno_env": __version__,
            "python": platform.python_version(),
            **packages,
        },
        "rules": setup.rules.to_dict(),
        "num_players": setup.num_players,
        "deals": deals,
        "rotations": max(of.rotations for of in games),
        "seed": setup.seed,
        "episode": setup.episode,
        "max_cycles": setup.max_cycles,
        "max_rounds": setup.max_rounds,
        "confidence": CONFIDENCE,
        "line_ups": [line_up(of, setup.episode) for of in games],
    }


def line_up(games: Games, episode: str) -> dict[str, Any]:
    """The figures of one line-up, in rounds or in matches, as `episode` says.

    Returns
    -------
    dict
        ``agents`` (names, place by place), ``deals``, ``rotations`` (how often each was played),
        ``matches`` (how many, where there are any), ``rounds``, ``blocked``, ``truncated``,
        ``unwon``, ``decisions_per_round``, and ``figures``: for each agent ``agent``, ``against``
        (the names of the others), ``win_rate`` (of the matches, if it is matches that are played;
        then ``round_win_rate`` is that of their rounds) and ``points_per_round``, each with
        ``mean``, ``low``, ``high`` (the interval, null where there is none). What has no winner
        counts 1/n. An agent against itself wins its share by definition, so that its win rates have
        no interval.
    """
    figures = []
    matches = episode == "match"
    alone = len(games.agents) == 1
    for agent in games.agents:
        against = list(games.names)
        against.remove(games.name(agent))
        rates = {"win_rate": rate_estimate(games.win_rates(agent))}
        if matches:
            rates["round_win_rate"] = round_rate(games, agent)
        if alone:
            rates = dict.fromkeys(rates, Estimate(1 / len(games.lineup), None, None))
        figures.append(
            {
                "agent": games.name(agent),
                "against": against,
                **{key: _plain(rate) for key, rate in rates.items()},
                "points_per_round": _plain(mean_estimate(games.mean_points(agent))),
            }
        )
    return {
        "agents": list(games.names),
        "deals": games.deals,
        "rotations": games.rotations,
        **({"matches": games.winner.size} if matches else {}),
        "rounds": int(games.rounds.sum()),
        "blocked": games.count(End.BLOCKED),
        "truncated": games.count(End.TRUNCATED),
        "unwon": int((games.winner < 0).sum()),
        "decisions_per_round": float(games.decisions.sum() / games.rounds.sum()),
        "figures": figures,
    }


def compare(
    agents: Sequence[str], rules: str | Rules = "pocket", num_players: int = 2, **options: Any
) -> dict[str, Any]:
    """Play agents against each other in this process; the report.

    Parameters
    ----------
    agents, rules, num_players, options
        See `plan.plan_of`.

    Examples
    --------
    >>> found = compare(["greedy", "strong"], deals=500, seed=1, control=True)
    >>> found["line_ups"][0]["figures"][0]["win_rate"]["mean"]
    """
    plan = plan_of(agents, rules, num_players, **{"behavior": True, **options})
    loaded = plan.load_agents()
    played = run(plan, ThisProcess(loaded))
    return tournament_report(plan, loaded, played, options.get("design", "auto"))


def tournament_report(
    plan: Plan,
    agents: Sequence[Agent],
    played: Sequence[Played],
    design: str = "auto",
    margin: float = MARGIN,
    rules_name: str | None = None,
) -> dict[str, Any]:
    """Everything about a tournament, ready for ``json.dumps``; the same games, the same text.

    Parameters
    ----------
    rules_name : str, optional
        The preset or file by which the rules were named, for the command.

    Returns
    -------
    dict
        What `evaluation` gives, and ``command`` (what repeats it), ``design``, ``chunk_deals``,
        ``agents`` (name, with an alias also ``agent``, by which it was loaded; kind, fingerprint,
        whether it is repeatable), ``control_refused`` (agents
        that cheat, so that there are no control variates), ``comparisons``, ``margin``, ``power``;
        each figure's ``verdict``, and with control variates its ``adjusted`` rates and points with
        the share of games they need; ``ratings`` of three agents or more; ``behavior`` by agent;
        ``sprt``; ``convergence``. Verdicts, the sequential test and OpenSkill's ratings go by the
        matches, if it is matches that are played; the other ratings and the convergence have those
        by their rounds beside.
    """
    games = [of.games for of in played]
    report = evaluation(plan.setup, max(of.deals for of in games), games)
    compared = sum(len(of.agents) > 1 for of in games)
    cheats = [agent.title for agent in agents if agent.clairvoyant]
    control = plan.control and not cheats
    for entry, of in zip(report["line_ups"], played, strict=True):
        for figure, number in zip(entry["figures"], of.games.agents, strict=True):
            figure.update(_judged(of, plan.episode, number, compared, margin, control))
    report.update(
        {
            "command": command(plan, design, rules_name),
            "design": design,
            "chunk_deals": plan.chunk_deals,
            "comparisons": compared,
            "margin": margin,
            "power": POWER,
            "agents": [
                {
                    "name": agent.title,
                    **({"agent": agent.name} if agent.alias else {}),
                    "kind": "compiled" if agent.policy is not None else type(agent).__name__,
                    "fingerprint": fingerprint(agent),
                    "repeatable": agent.repeatable,
                }
                for agent in agents
            ],
            "control_refused": cheats if plan.control else [],
            "ratings": _ratings(games, plan.episode),
            "behavior": _behavior(played),
            "sprt": None if plan.sprt is None else _sequential(plan, games[0]),
            "convergence": [_convergence(of, plan.episode) for of in games],
        }
    )
    return report


def command(plan: Plan, design: str, rules_name: str | None = None) -> str:
    """The command line that repeats a tournament's result."""
    parts = ["evaluate.py", "--agents", *plan.agents]
    parts += ["--rules", rules_name or plan.rules["name"], "--num-players", str(plan.num_players)]
    if design != "auto":
        parts += ["--design", design]
    parts += ["--deals", str(plan.deals), "--seed", str(plan.seed)]
    if plan.episode != "round":
        parts += ["--episode", plan.episode, "--max-rounds", str(plan.max_rounds)]
    if plan.sprt is not None:
        parts += ["--sprt", f"{plan.sprt.low:g},{plan.sprt.high:g}"]
        parts += ["--error-rate", f"{plan.sprt.alpha:g}"]
    parts += ["--max-cycles", str(plan.max_cycles), "--chunk-deals", str(plan.chunk_deals)]
    return shlex.join(parts + ["--control"] * plan.control)


def _judged(
    played: Played, episode: str, number: int, comparisons: int, margin: float, control: bool
) -> dict[str, Any]:
    """The verdict on an agent in a line-up, and its figures without the luck of the draws."""
    games = played.games
    blocks, even = games.win_rates(number), 1 / len(games.lineup)
    found: dict[str, Any] = {}
    bounded = True
    if control and played.luck is not None and len(games.agents) > 1 and games.deals > 1:
        variates = places_luck(played.luck, games.places(number))
        figures = {"win_rate": blocks, "points_per_round": games.mean_points(number)}
        if episode == "match":
            figures["round_win_rate"] = games.round_win_rates(number)
        found["adjusted"] = {}
        for key, values in figures.items():
            estimate, share = adjusted_estimate(values, variates)
            plain = _plain(estimate)
            if key != "points_per_round":
                plain = {name: min(max(value, 0.0), 1.0) for name, value in plain.items()}
            found["adjusted"][key] = {**plain, "games_needed": share}
        blocks, bounded = adjusted(blocks, variates), False
    if len(games.agents) > 1:
        made = verdict(blocks, even, comparisons, margin, bounded=bounded)
        found["verdict"] = {"claim": made.claim, "more_deals": made.more_deals}
    return found


def _ratings(games: Sequence[Games], episode: str) -> dict[str, Any] | None:
    """The ratings of three agents or more; None for two, whose win rate is enough."""
    names = {of.name(number) for of in games for number in of.agents}
    if len(names) < 3:
        return None
    found = ratings(games)
    order = sorted(found, key=lambda name: -found[name].mean)
    result: dict[str, Any] = {"elo": {name: _plain(found[name]) for name in order}}
    if episode == "match":
        by_rounds = ratings(games, rounds=True)
        result["round_elo"] = {name: _plain(by_rounds[name]) for name in order}
    if len(games[0].lineup) > 2:
        result["openskill"] = {name: _plain(e) for name, e in openskill(games).items()}
    return result


def _behavior(played: Sequence[Played]) -> dict[str, Any] | None:
    if any(of.behavior is None for of in played):
        return None
    counts: dict[str, Any] = {}
    for of in played:
        for place, name in enumerate(of.games.names):
            assert of.behavior is not None
            counts[name] = counts.get(name, 0) + of.behavior[place]
    return {name: profile(count) for name, count in counts.items()}


def _sequential(plan: Plan, games: Games) -> dict[str, Any]:
    assert plan.sprt is not None
    blocks = games.win_rates(plan.line_ups[0][0])
    used, answer = plan.sprt.stop(blocks)
    return {
        "agent": games.names[0],
        "low": plan.sprt.low,
        "high": plan.sprt.high,
        "alpha": plan.sprt.alpha,
        "beta": plan.sprt.beta,
        "deals": used,
        "llr": float(plan.sprt.path(blocks, used - 1)[-1]),
        "bounds": list(plan.sprt.bounds),
        "accepted": answer,
    }


def _convergence(games: Games, episode: str) -> list[dict[str, Any]]:
    """The first agent's win rates with their intervals after some numbers of deals."""
    found: list[dict[str, Any]] = []
    for count in np.unique(np.geomspace(min(10, games.deals), games.deals, 40).astype(int)):
        first, agent = games.first(count), games.lineup[0]
        found.append({"deals": int(count), **_plain(rate_estimate(first.win_rates(agent)))})
        if episode == "match":
            found[-1]["rounds"] = _plain(round_rate(first, agent))
    return found


def _plain(estimate: Estimate) -> dict[str, Any]:
    return {"mean": estimate.mean, "low": estimate.low, "high": estimate.high}
