"""Checkpoints of Ray RLlib as agents, without Ray and without PyTorch.

    evaluate.py --agents rllib:CHECKPOINT greedy
    python -m agents.rllib CHECKPOINT OUT

The second line writes the network as the folder of a run, which is loaded like every other one.

RLlib pickles its checkpoints, and unpickling can run code. Here arrays are read from them, and a
file that holds anything else is refused; only ``Algorithm.from_checkpoint`` and the like unpickle
all of it. What the network is for stands in ``metadata.json``, where `rllib_env.MaskedModule` has
written it.
"""

from __future__ import annotations

import json
import pickle
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from pocket_uno_env import runs
from pocket_uno_env.agents.policy import PolicyAgent
from pocket_uno_env.agents.protocol import AgentError
from pocket_uno_env.rules import Rules

GAME = "pocket_uno_env"
"""As in `rllib_env`, which needs Ray."""
MODULES = Path("learner_group") / "learner" / "rl_module"
"""Where an algorithm's checkpoint has its networks, a folder each."""
_ARRAYS = {
    ("collections", "OrderedDict"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.numeric", "_frombuffer"),
}
"""All that the pickle of a dict of arrays refers to."""

_UNREADABLE = (
    *(OSError, EOFError, pickle.UnpicklingError),
    *(AttributeError, ImportError, IndexError, KeyError, TypeError, ValueError),
)
"""What reading a file that is cut or no pickle may raise."""

Layers = list[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class _Game:
    """What `rllib_env.module_spec` has written into ``model_config``."""

    rules: Rules
    num_players: int
    view: str
    reward: str


class _ArrayUnpickler(pickle.Unpickler):
    """Makes arrays, and refuses everything else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ARRAYS:
            raise AgentError(f"it holds {module}.{name}; expected arrays alone")
        return super().find_class(module, name)


def load_checkpoint(path: str | Path) -> PolicyAgent:
    """The agent that a checkpoint of RLlib holds: the likeliest action of its policy.

    Parameters
    ----------
    path : str or Path
        The checkpoint of an algorithm, as ``algo.save_to_path()`` or Tune writes it, or the folder
        of one of its modules.

    Raises
    ------
    AgentError
        When there is no such checkpoint, it was not trained on this game, or its files hold
        something else than they should.
    """
    game, tensors = _read(Path(path))
    layers, critic = _layers(tensors, "actor", "pi"), _layers(tensors, "critic", "vf")
    if not layers:
        raise AgentError(f"{path} holds no network of the kind that rllib_env.module_spec makes")
    # One that was paid in points says nothing about the chance to win.
    values = critic if game.reward == "win" and critic else None
    return PolicyAgent(str(path), layers, game.rules, game.num_players, game.view, critic=values)


def export(path: str | Path, out: str | Path) -> Path:
    """Write the network of a checkpoint as the folder of a run; returns it.

    Raises
    ------
    AgentError
        As for `load_checkpoint`.
    runs.RunError
        If `out` is there already and not empty.
    """
    agent = load_checkpoint(path)
    game, tensors = _read(Path(path))
    folder = runs.new_folder(Path(out), agent.rules.name, agent.num_players)
    named = {"policy": ("actor", "pi"), "value": ("critic", "vf")}
    weights = {
        f"{name}.{i}.{part}": array
        for name, (encoder, head) in named.items()
        for i, layer in enumerate(_layers(tensors, encoder, head))
        for part, array in zip(("weight", "bias"), layer, strict=True)
    }
    runs.save_tensors(folder / runs.MODEL, weights, {})
    settings = {"reward": game.reward, "view": game.view, "trainer": "RLlib"}
    config = runs.config_of(
        agent.rules,
        agent.num_players,
        agent.view,
        list(agent.layer_sizes),
        settings,
        f"agents.rllib {path} {out}",
    )
    runs.write_json(folder / runs.CONFIG, config)
    return folder


def _read(path: Path) -> tuple[_Game, dict[str, np.ndarray]]:
    """What the checkpoint's network is for, and its weights."""
    folder = _module_folder(path)
    try:
        about = json.loads((folder / "metadata.json").read_text("utf-8"))[GAME]
        game = _Game(**about | {"rules": Rules.from_dict(about["rules"])})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AgentError(
            f"{folder} does not say which game it is for ({error!r}); networks that are trained "
            "with pocket_uno_env.rllib_env.module_spec do"
        ) from error
    weights = folder / "module_state.pkl"
    try:
        with open(weights, "rb") as file:
            found = _ArrayUnpickler(file).load()
    except _UNREADABLE as error:
        raise AgentError(f"cannot read the weights {weights}: {error}") from error
    arrays = found if isinstance(found, dict) else {}
    if not arrays or not all(isinstance(array, np.ndarray) for array in arrays.values()):
        raise AgentError(f"cannot read the weights {weights}: expected a dict of arrays")
    return game, arrays


def _module_folder(path: Path) -> Path:
    """The folder of the one module of a checkpoint."""
    if (path / "module_state.pkl").exists():
        return path
    folders = [file.parent for file in sorted((path / MODULES).glob("*/module_state.pkl"))]
    if len(folders) == 1:
        return folders[0]
    if folders:
        raise AgentError(f"{path} holds several networks; name one: {', '.join(map(str, folders))}")
    raise AgentError(f"{path} is no checkpoint of RLlib: there is no network in {path / MODULES}")


def _layers(tensors: dict[str, np.ndarray], encoder: str, head: str) -> Layers:
    """The linear layers of an encoder and the head on it, in order."""
    found: Layers = []
    for prefix in (f"encoder.{encoder}_encoder.net.mlp", f"{head}.net.mlp"):
        pattern = re.compile(rf"{re.escape(prefix)}\.(\d+)\.weight")
        numbers = sorted(int(match[1]) for match in map(pattern.fullmatch, tensors) if match)
        found += [(tensors[f"{prefix}.{n}.weight"], tensors[f"{prefix}.{n}.bias"]) for n in numbers]
    return found


@dataclass
class Options:
    """The fields are the options of the command line."""

    checkpoint: Annotated[Path, tyro.conf.Positional]
    """The checkpoint of an RLlib algorithm."""
    out: Annotated[Path, tyro.conf.Positional]
    """The folder to write to."""


def main() -> int:
    """Run the command line; the exit code."""
    options = tyro.cli(Options, description=__doc__)
    try:
        print(f"Written: {export(options.checkpoint, options.out)}")
    except (AgentError, runs.RunError) as error:
        print(f"rllib: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
