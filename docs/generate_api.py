"""The public names, for docs/api/index.md: those in ``__all__``, and the adapters' classes."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

PACKAGES = {
    "pocket_uno_env": "what a program needs most",
    "pocket_uno_env.pocket_uno_v0": "the PettingZoo environment",
    "pocket_uno_env.agents": "agents by name, and agents of your own",
    "pocket_uno_env.rules": "what is played",
    "pocket_uno_env.observation": "what a seat sees, as a vector",
    "pocket_uno_env.evaluation": "matched games, and what they say about strength",
    "pocket_uno_env.datasets": "datasets for offline learning",
}
"""Modules whose ``__all__`` is public, and what it is for."""

CLASSES = {
    "pocket_uno_env.batch": ("many games in one compiled call", ["Batch"]),
    "pocket_uno_env.agents.scripted.policies": ("compiled policies by number", ["Policy"]),
    "pocket_uno_env.envs.aec": ("errors of the PettingZoo environment", ["IllegalActionError"]),
    "pocket_uno_env.envs.gym": ("Gymnasium, one game", ["PocketUnoEnv"]),
    "pocket_uno_env.envs.gym_vector": ("Gymnasium, many games", ["PocketUnoVectorEnv"]),
    "pocket_uno_env.envs.sb3": ("Stable-Baselines3", ["LearnerVecEnv"]),
    "pocket_uno_env.envs.torchrl": ("TorchRL", ["LearnerTorchEnv"]),
    "pocket_uno_env.envs.rllib": (
        "Ray RLlib",
        ["MaskedModule", "PocketUnoMultiAgentEnv", "module_spec"],
    ),
    "pocket_uno_env.envs.rllib_batch": (
        "Ray RLlib on the batch",
        ["BatchEnvRunner", "FragmentsToBatch"],
    ),
    "pocket_uno_env.envs.openspiel.game": ("OpenSpiel", ["load"]),
    "pocket_uno_env.envs.openspiel.bots": (
        "agents here in OpenSpiel, and the other way round",
        ["AgentBot", "AgentPolicy", "SpielAgent"],
    ),
    "pocket_uno_env.agents.rlcard": ("the same with RLCard", ["RlcardAgent", "RlcardPlayer"]),
}
"""Modules of which some names are public, whatever else they hold."""


def source(module: str) -> Path:
    """The file of a module."""
    parts = module.split(".")
    start = ROOT / "agents" if parts[1:2] == ["agents"] else ROOT / parts[0]
    path = start.joinpath(*parts[2 if parts[1:2] == ["agents"] else 1 :])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def listed(module: str) -> list[str]:
    """What stands in a module's ``__all__``; nothing without one."""
    for node in ast.parse(source(module).read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return names
    return []


def public() -> dict[str, list[str]]:
    """The public names of each module that has some."""
    names = {module: listed(module) for module in PACKAGES}
    names |= {module: sorted(some) for module, (_, some) in CLASSES.items()}
    return {module: some for module, some in names.items() if some}


def table() -> str:
    """Each module with its public names."""
    about = {**PACKAGES, **{module: text for module, (text, _) in CLASSES.items()}}
    rows = [
        f"| `{module}` | {about[module]} | {', '.join(f'`{name}`' for name in names)} |"
        for module, names in public().items()
    ]
    return "\n".join(["| from | for | names |", "|---|---|---|", *rows])


PARTS = {"public": table}
