"""The folder of a training run: what is in it, and how it gets there whole.

| file | holds |
|---|---|
| ``config.json`` | rules, players, view, network, all settings, versions; at the end what it took |
| ``checkpoints/step-*.safetensors`` | the newest few: all that a run needs to go on |
| ``checkpoints/lesson-*.safetensors`` | the same before the first step |
| ``model.safetensors`` | the final weights |
| ``results.json`` | the evaluation at the end |
| ``events.out.tfevents.*`` | TensorBoard's curves |

Nothing is pickled, so that nothing that is loaded can run code. Every file is written beside its
place and then moved there: it is whole or not there at all.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .files import FileError, write_whole
from .rules import Rules

FORMAT = "pocket-uno-run/1"
CONFIG = "config.json"
MODEL = "model.safetensors"
RESULTS = "results.json"
CHECKPOINTS = "checkpoints"
LESSON, STEP = "lesson", "step"
"""What checkpoints are named by; in this order, so that sorted names are in order of time."""


class RunError(FileError):
    """A folder that is no run, or cannot become one; the message says why."""


def new_folder(out: Path | None, rules: str, num_players: int) -> Path:
    """Create the folder `out`, or the next free ``runs/<rules>-<players>p-<number>``.

    Raises
    ------
    RunError
        If `out` is there already and not empty.
    """
    if out is None:
        try:
            Path("runs").mkdir(exist_ok=True)
            for number in itertools.count(1):
                folder = Path("runs") / f"{rules}-{num_players}p-{number}"
                try:
                    folder.mkdir()
                except FileExistsError:
                    continue
                return folder
        except OSError as error:
            raise RunError(f"cannot make the folder {error.filename}: {error.strerror}") from error
    assert out is not None
    try:
        out.mkdir(parents=True, exist_ok=True)
        taken = any(out.iterdir())
    except OSError as error:
        raise RunError(f"cannot make the folder {out}: {error}") from error
    if taken:
        hint = f"go on with it by --resume {out}, or " if (out / CONFIG).exists() else ""
        raise RunError(f"{out} is not empty; {hint}choose another --out")
    return out


def read_config(folder: Path, name: str = CONFIG) -> dict[str, Any]:
    """The ``config.json`` of a run, or a card; RunError if there is none or it is not one."""
    path = folder / name
    try:
        config = json.loads(path.read_text())
    except OSError as error:
        raise RunError(f"{folder} is no training run: {name} is missing ({error})") from error
    except ValueError as error:
        raise RunError(f"{path} is not JSON: {error}") from error
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        found = config.get("format") if isinstance(config, dict) else config
        raise RunError(f"{path} has the format {found!r}; expected {FORMAT!r}")
    return config


def config_of(
    rules: Rules,
    num_players: int,
    view: str,
    layers: list[int],
    settings: Mapping[str, Any],
    command: str,
) -> dict[str, Any]:
    """What ``config.json`` says; `layers` are the sizes of the policy network, ends included."""
    from importlib.metadata import version

    from . import __version__

    packages = ("numpy", "numba", "torch", "stable-baselines3", "sb3-contrib")
    return {
        "format": FORMAT,
        "rules": rules.to_dict(),
        "num_players": num_players,
        "view": view,
        "network": {"layers": layers, "activation": "relu"},
        "settings": dict(settings),
        "command": command,
        "versions": {"pocket_uno_env": __version__, **{name: version(name) for name in packages}},
    }


def save_tensors(
    path: Path, tensors: Mapping[str, np.ndarray], about: Mapping[str, Any] | None = None
) -> None:
    """Write arrays as safetensors, with `about` as JSON in the header."""
    from safetensors.numpy import save

    arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    write_whole(path, save(arrays, {"about": json.dumps(about)} if about is not None else None))


def load_tensors(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What `save_tensors` wrote; RunError if it cannot be read."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            about = json.loads((file.metadata() or {}).get("about", "{}"))
            return {name: file.get_tensor(name) for name in file.keys()}, about  # noqa: SIM118
    except (OSError, SafetensorError, ValueError) as error:
        raise RunError(f"cannot read {path}: {error}") from error


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints of a run, oldest first."""
    return sorted((folder / CHECKPOINTS).glob("*-*.safetensors"))


def newest_checkpoint(
    folder: Path | None, say: Callable[[str], None]
) -> tuple[Path | None, dict[str, np.ndarray], dict[str, Any]]:
    """The newest checkpoint that can be read, and what is in it; None and nothing if none is there.

    One that is damaged, as a full disk or a copy that was cut short leaves it, is passed over for
    the one before, and `say` is told. RunError if all are damaged.
    """
    if folder is None:
        return None, {}, {}
    found = checkpoints(folder)
    for path in reversed(found):
        try:
            return path, *load_tensors(path)
        except RunError as error:
            say(f"Passed over: {error}")
    if found:
        raise RunError(f"no checkpoint in {folder / CHECKPOINTS} can be read; start a new run")
    return None, {}, {}


def save_checkpoint(
    folder: Path,
    steps: int,
    tensors: Mapping[str, np.ndarray],
    about: Mapping[str, Any],
    keep: int,
    stage: str = STEP,
) -> Path:
    """Write a checkpoint and delete all but the newest `keep`."""
    (folder / CHECKPOINTS).mkdir(exist_ok=True)
    path = folder / CHECKPOINTS / f"{stage}-{steps:012d}.safetensors"
    save_tensors(path, tensors, about)
    _delete(checkpoints(folder)[:-keep])
    return path


def _delete(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
