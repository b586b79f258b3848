"""Measure a finished run of train.py and put its network among those that come with the package.

    pocket-uno publish runs/pocket-2p pocket-2p

The network plays matches against greedy and strong, one copy of it against a table full of each,
every deal from all seats, and single rounds against these and itself, to see how long they take.
Its weights go to ``agents/trained/networks/NAME.safetensors``, with those of the critic if they are
small enough. The card beside them, ``NAME.json``, holds how they were trained (rules, players,
settings, seed, command, seconds), what was measured, and the SHA-256 of the weights. `load` then
takes the network's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from pocket_uno_env import files
from pocket_uno_env.agents.agent import Agent, AgentError
from pocket_uno_env.agents.registry import NETWORKS, load
from pocket_uno_env.agents.trained import run_folder
from pocket_uno_env.agents.trained.policy import PolicyAgent, hash_of, load_policy
from pocket_uno_env.cli.program import print_error, program_name
from pocket_uno_env.cli.progress import help_text
from pocket_uno_env.evaluation.arena import play
from pocket_uno_env.evaluation.games import Games, round_rate
from pocket_uno_env.evaluation.statistics.estimates import rate_estimate

RIVALS = ("greedy", "strong")
SEED = 20_001
"""Other deals than in any training and in the evaluation of train.py."""
ROUNDS = 20_000
"""Single rounds against each opponent and among copies of itself."""
LONG = 400
"""Decisions above which a round is long: nobody at a table wants to wait for its end."""
MOST_BYTES = 3_000_000
"""The size of a network's weights above which its critic is left out."""


@dataclass
class Options:
    """The fields are the options of the command line."""

    run: Annotated[Path, tyro.conf.Positional]
    """The folder of the run."""
    name: Annotated[str, tyro.conf.Positional]
    """The name of the network."""
    deals: int = 5_000
    """Deals, each for a match, against each opponent, with all seat rotations."""
    out: Path = NETWORKS
    """The folder to write to."""


def publish(options: Options) -> Path:
    """Measure and write a network; returns the path of its card."""
    if options.deals < 2:
        raise AgentError(f"--deals is {options.deals}; an interval needs at least 2")
    agent = load_policy(options.run)
    config = run_folder.read_config(options.run)
    if "made" not in config:
        raise AgentError(f"{options.run} was made by an earlier version; train it anew")
    made = config.pop("made")
    tensors, _ = run_folder.load_tensors(options.run / run_folder.MODEL)
    tensors = _kept(agent, tensors)
    measured = measure(agent, options.deals, ROUNDS)
    files.make_folder(options.out)
    weights = options.out / f"{options.name}.safetensors"
    run_folder.save_tensors(weights, tensors)
    card = {
        **config,
        "about": f"A trained network for {agent.rules.name}, {agent.num_players} players: the "
        "likeliest action of its policy.",
        "seed": config["settings"]["seed"],
        "decisions": made["steps"],
        "seconds": round(made["seconds"]),
        "processor_seconds": round(made["processor_seconds"]),
        "sha256": hash_of(weights),
        **measured,
    }
    path = weights.with_suffix(".json")
    files.write_json(path, card)
    return path


def measure(agent: PolicyAgent, deals: int, rounds: int) -> dict[str, Any]:
    """What a card says of the agent's play: ``win_rates`` and ``lengths``.

    Parameters
    ----------
    deals : int
        Each for a match from all seats, against each of `RIVALS`.
    rounds : int
        Single rounds, against each of these and among copies of itself.
    """
    rules, players = agent.rules, agent.num_players
    agents: list[Agent] = [agent, *map(load, RIVALS)]
    lineups = [(0, *[number] * (players - 1)) for number in range(1, len(agents))]
    games = play(rules, players, agents, deals, SEED, lineups=lineups, episode="match")
    rates = {}
    for rival, found in zip(RIVALS, games, strict=True):
        rate = rate_estimate(found.win_rates(0))
        assert rate.low is not None and rate.high is not None  # there are several deals
        rates[rival] = {**asdict(rate), "rounds": asdict(round_rate(found, 0))}
        print(f"{rival}: {100 * rate.mean:.1f} % ({100 * rate.low:.1f}-{100 * rate.high:.1f})")
    singles = play(rules, players, agents, -(-rounds // players), SEED, lineups=lineups)
    singles += play(rules, players, agents, rounds, SEED, lineups=[(0,) * players])
    return {
        "win_rates": {
            "episode": "match",
            "deals": deals,
            "seed": SEED,
            "seats": "all",
            "against": rates,
        },
        "lengths": {
            name: _lengths(found) for name, found in zip((*RIVALS, "itself"), singles, strict=True)
        },
    }


def _lengths(games: Games) -> dict[str, Any]:
    """How many decisions single rounds took, and how many of them were long or had no winner."""
    decisions = games.decisions.ravel()
    return {
        "rounds": decisions.size,
        "won": float(games.win_rates(0).mean()),
        "mean": float(decisions.mean()),
        "longest": int(decisions.max()),
        f"over_{LONG}": int((decisions > LONG).sum()),
        "unwon": int((games.winner < 0).sum()),
    }


def _kept(agent: PolicyAgent, tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The actor's weights, and the critic's if search can use it and they are small enough."""
    actor = {name: array for name, array in tensors.items() if name.startswith("policy.")}
    critic = {name: array for name, array in tensors.items() if name.startswith("value.")}
    if not agent.judges:
        # Search does not need exact values.
        critic = {name: array.astype(np.float16) for name, array in critic.items()}
        if agent.critic() is None:
            return actor
    whole = {**actor, **critic}
    return whole if sum(array.nbytes for array in whole.values()) < MOST_BYTES else actor


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    about = help_text(__file__)
    options = tyro.cli(Options, prog=program_name("publish"), args=arguments, description=about)
    try:
        print(f"Written: {publish(options)}")
    except (AgentError, files.FileError, OSError) as error:
        print_error("publish", error)
        return 2
    return 0
