"""The evaluation at the end of a training: matches, and what PPO gained in them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from pocket_uno_env import files
from pocket_uno_env.agents import load
from pocket_uno_env.agents.trained import run_folder
from pocket_uno_env.agents.trained.policy import load_policy
from pocket_uno_env.cli.progress import Display
from pocket_uno_env.evaluation.arena import GameSetup, play
from pocket_uno_env.evaluation.report import report
from pocket_uno_env.evaluation.statistics.estimates import mean_estimate
from pocket_uno_env.rules.rules import Rules

from .settings import Settings

SEED = 1_000_003
"""Other deals than in training, the same for every run."""


def evaluate(settings: Settings, rules: Rules, folder: Path, display: Display) -> dict[str, Any]:
    """Play matches against the opponents and random, greedy and strong; the report, written.

    Where PPO followed another stage, what came of that plays the same deals against all but random.
    """
    names = list(dict.fromkeys([*settings.opponents, "random", "greedy", "strong"]))
    agents = [load(str(folder)), *map(load, names)]
    numbers = range(1, len(agents))
    lineups = [(0, *[number] * (settings.num_players - 1)) for number in numbers]
    measured, last = len(lineups), len(agents)
    rivals = [number for number in numbers if names[number - 1] != "random"]
    if (before := folder / run_folder.BEFORE_PPO).exists():
        agents.append(load_policy(before))
        lineups += [(last, *[number] * (settings.num_players - 1)) for number in rivals]
    display.begin("evaluation", len(lineups) * settings.deals * settings.num_players)
    finished = 0

    def count(games: int) -> None:
        nonlocal finished
        finished += games
        display.report(finished, {})

    setup = GameSetup(rules, settings.num_players, SEED, "match", settings.max_cycles)
    games = play(
        rules,
        setup.num_players,
        agents,
        settings.deals,
        setup.seed,
        lineups=lineups,
        episode=setup.episode,
        max_cycles=setup.max_cycles,
        on_finished=count,
    )
    found = report.evaluation(setup, settings.deals, games[:measured])
    for line_up in found["line_ups"]:
        del line_up["figures"][1:]
    for number, without in zip(rivals, games[measured:], strict=False):
        gain = games[number - 1].win_rates(0) - without.win_rates(last)
        found.setdefault("ppo_gain", {})[names[number - 1]] = asdict(mean_estimate(gain))
    files.write_json(folder / run_folder.RESULTS, found)
    return found


def gain_of_ppo(found: dict[str, Any]) -> str:
    """What `evaluate` found about PPO, in words; empty where no stage was before it."""
    gains = [
        f"{100 * gain['mean']:+.1f} against {name}"
        + (f" ({100 * gain['low']:+.1f} to {100 * gain['high']:+.1f})" if gain["low"] else "")
        for name, gain in found.get("ppo_gain", {}).items()
    ]
    return f"PPO, in points of matches won on the same deals: {', '.join(gains)}" if gains else ""
