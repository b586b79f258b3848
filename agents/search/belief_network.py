"""The belief networks that come with the package, and how one is read from its file."""

from __future__ import annotations

from pathlib import Path

from pocket_uno_env.agents.agent import AgentError
from pocket_uno_env.agents.trained import run_folder
from pocket_uno_env.rules.rules import Rules

from .belief import Network

FORMAT = "pocket-uno-belief/1"
NETWORKS = Path(__file__).parent / "beliefs"
TRUST = 0.9
"""How far the rules of inference, and search by default, believe that who drew could not play."""


def load(path: Path, rules: Rules) -> Network:
    """The network that `training.belief` wrote, for games with the cards of `rules`.

    Raises
    ------
    AgentError
        When the file cannot be read or was made for other cards.
    """
    try:
        tensors, about = run_folder.load_tensors(path.with_suffix(".safetensors"))
        network = Network(*(tensors[name] for name in Network._fields))
    except (run_folder.RunError, KeyError) as error:
        raise AgentError(f"cannot load the belief network {path}: {error}") from error
    if about.get("format") != FORMAT or about.get("cards") != cards_of(rules):
        raise AgentError(
            f"the belief network {path} was trained for other cards, or by another version, than "
            f"rules {rules.name!r} ask for"
        )
    return network


def cards_of(rules: Rules) -> list[str]:
    """The cards of the deck, sorted: what a network is trained for."""
    return sorted(rules.deck)


def shipped(rules: Rules) -> Path | None:
    """The network that comes with the package for games with these cards, if there is one."""
    for name in ("pocket", "classic"):
        path = NETWORKS / name
        if path.with_suffix(".safetensors").exists() and Rules.preset(name).kinds == rules.kinds:
            return path
    return None
