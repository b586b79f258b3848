"""The folder of a training run: what is in it, and how it gets there whole.

| file | holds |
|---|---|
| ``config.json`` | rules, players, view, network, all settings, versions; at the end what it took |
| ``rules.toml`` | the rules for other programs, if they are no preset |
| ``checkpoints/step-*.safetensors`` | the newest few: all that a run needs to go on |
| ``checkpoints/lesson-*.safetensors`` | the same before the first step |
| ``model.safetensors`` | the final weights |
| ``results.json`` | the evaluation at the end |
| ``events.out.tfevents.*`` | TensorBoard's curves |

Nothing is pickled, so that nothing that is loaded can run code. Every file is written beside its
place and then moved there: it is whole or not there at all. What is read again has a checksum.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypedDict

import numpy as np

from pocket_uno_env.files import (
    FileError,
    make_folder,
    parse_json,
    read_json,
    write_json,
    write_whole,
)
from pocket_uno_env.rules.rules import Rules, RulesError

FORMAT = "pocket-uno-run/1"
CONFIG = "config.json"
MODEL = "model.safetensors"
RESULTS = "results.json"
BEFORE_PPO = "before-ppo.safetensors"
RULES = "rules.toml"
CHECKPOINTS = "checkpoints"
LESSON, STEP = "lesson", "step"
"""What checkpoints are named by; in this order, so that sorted names are in order of time."""


MOST_WEIGHTS = 2**27
"""A network that is larger is none for this game: a slip in its sizes."""
MOST_BYTES = 2**34
"""A file of a run that is longer holds no network that could be trained here."""


class RunError(FileError):
    """A folder that is no run, or cannot become one; the message says why."""


class DamagedError(RunError):
    """A file of a run that is there, but not as it was written."""


class Network(TypedDict):
    """The policy network of a run."""

    layers: list[int]
    activation: Literal["relu"]


class Config(TypedDict, total=False):
    """What may stand in ``config.json``, and in the card of a network that is published.

    A card has ``about`` and what follows besides; ``sha256`` is that of its weights, ``checksum``
    that of all else that stands here.
    """

    format: str
    rules: dict[str, Any]
    num_players: int
    view: Literal["plain", "canonical"]
    network: Network
    reward_scale: float
    settings: dict[str, Any]
    command: str
    resumed: list[dict[str, Any]]
    versions: dict[str, str]
    made: dict[str, float]
    checksum: str
    about: str
    seed: int
    decisions: int
    seconds: float
    processor_seconds: float
    sha256: str
    win_rates: dict[str, Any]
    lengths: dict[str, Any]


NEEDED = ("rules", "num_players", "view", "network", "settings")
"""What no ``config.json`` does without."""


def new_folder(out: Path | None, rules: str, num_players: int) -> Path:
    """Create the folder `out`, or the next free ``runs/<rules>-<players>p-<number>``.

    Raises
    ------
    RunError
        If `out` is there already and not empty.
    """
    if out is None:
        try:
            make_folder(Path("runs"))
            for number in itertools.count(1):
                folder = Path("runs") / f"{rules}-{num_players}p-{number}"
                try:
                    folder.mkdir()
                except FileExistsError:
                    continue
                return folder
        except FileError as error:
            raise RunError(str(error)) from error
        except OSError as error:
            raise RunError(f"cannot make the folder {error.filename}: {error.strerror}") from error
    assert out is not None
    try:
        make_folder(out)
        taken = any(path.name != ".lock" for path in out.iterdir())
    except FileError as error:
        raise RunError(str(error)) from error
    except OSError as error:
        raise RunError(f"cannot read the folder {out}: {error.strerror}") from error
    if taken:
        hint = f"go on with it by --resume {out}, or " if (out / CONFIG).exists() else ""
        raise RunError(f"{out} is not empty; {hint}choose another --out")
    return out


def write_config(folder: Path, config: Mapping[str, Any]) -> None:
    """Write ``config.json`` with its checksum; FileError if that fails."""
    write_json(folder / CONFIG, {**config, "checksum": _checksum_of(config)})


def read_config(folder: Path, name: str = CONFIG) -> dict[str, Any]:
    """The ``config.json`` of a run, or a card, without its checksum.

    What a trainer keeps under ``settings`` is its own; all else is as `Config` says.

    Raises
    ------
    RunError
        If there is none, it is not one, or it is not as it was written.
    """
    path = folder / name
    if not path.is_file():
        raise RunError(f"{folder} is no training run: {name} is missing")
    try:
        config = read_json(path)
    except FileError as error:
        raise RunError(str(error)) from error
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        found = config.get("format") if isinstance(config, dict) else config
        raise RunError(f"{path} has the format {str(found)[:80]!r}; expected {FORMAT!r}")
    check_fields(str(path), config, Config, NEEDED)
    sizes = config["network"]["layers"]
    if len(sizes) < 2 or min(sizes) < 1 or weights_in(sizes) > MOST_WEIGHTS:
        raise RunError(
            f"{path}: network.layers is {str(sizes)[:80]}; expected two sizes or more, each at "
            f"least 1, of a network of at most {MOST_WEIGHTS:,} weights"
        )
    scale = config.get("reward_scale", 1.0)
    if not 0 < scale < math.inf:
        raise RunError(f"{path}: reward_scale is {scale}; expected a number above 0")
    try:
        Rules.from_dict(config["rules"]).check_players(config["num_players"])
    except RulesError as error:
        raise RunError(f"{path}: {error}") from error
    if "checksum" in config and config.pop("checksum") != _checksum_of(config):
        raise RunError(
            f"{path} was changed or damaged after it was written: its checksum is another; put it "
            "back as it was"
        )
    return config


def weights_in(sizes: Iterable[int]) -> int:
    """How many weights layers of these sizes have, from the first to the last."""
    return sum(one * other for one, other in itertools.pairwise(sizes))


def check_fields(where: str, value: Any, form: Any, needed: Iterable[str]) -> Any:
    """`value`, which was read from a file, as `form`: a dataclass or TypedDict.

    Parameters
    ----------
    where : str
        What the message begins with: the file, and the place in it.
    needed : iterable of str
        The fields that must be there.

    Raises
    ------
    RunError
        Naming the field, and what was expected.
    """
    import msgspec

    known = form.__annotations__
    if isinstance(value, dict):
        for key in value:
            if key not in known:
                raise RunError(
                    f"{where} has a field {key[:80]!r}, which is none of {', '.join(known)}"
                )
        for key in needed:
            if key not in value:
                raise RunError(f"{where} has no field {key!r}")
    try:
        return msgspec.convert(value, form)
    except msgspec.ValidationError as error:
        raise RunError(f"{where}: {error}") from error


def _checksum_of(config: Mapping[str, Any]) -> str:
    text = json.dumps(config, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def config_of(
    rules: Rules,
    num_players: int,
    view: str,
    layers: list[int],
    settings: Mapping[str, Any],
    command: str,
    reward_scale: float = 1.0,
) -> dict[str, Any]:
    """What ``config.json`` says.

    Parameters
    ----------
    layers : list of int
        The sizes of the policy network, ends included.
    reward_scale : float
        What the payoffs were multiplied by for the critic.
    """
    from importlib.metadata import version

    from pocket_uno_env.version import __version__

    packages = ("numpy", "numba", "torch", "stable-baselines3", "sb3-contrib")
    return {
        "format": FORMAT,
        "rules": rules.to_dict(),
        "num_players": num_players,
        "view": view,
        "network": {"layers": layers, "activation": "relu"},
        "reward_scale": reward_scale,
        "settings": dict(settings),
        "command": command,
        "versions": {"pocket_uno_env": __version__, **{name: version(name) for name in packages}},
    }


def save_tensors(
    path: Path, tensors: Mapping[str, np.ndarray], about: Mapping[str, Any] | None = None
) -> None:
    """Write arrays as safetensors, with `about` as JSON in the header, and a checksum of it all."""
    from safetensors.numpy import save

    arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    kept = {} if about is None else {"about": json.dumps(about)}
    checksum = _checksum_of_tensors(arrays, kept.get("about", ""))
    write_whole(path, save(arrays, {**kept, "sha256": checksum}))


def load_tensors(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What `save_tensors` wrote, or another program, which writes no checksum.

    Raises
    ------
    RunError
        If the file cannot be read; as DamagedError if that is for what it holds.
    """
    from safetensors import SafetensorError, safe_open

    try:
        if (size := path.stat().st_size) > MOST_BYTES:
            raise DamagedError(f"cannot read {path}: {size:,} bytes are too long for a network")
        with safe_open(path, framework="numpy") as file:
            kept = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror or error}") from error
    except (SafetensorError, TypeError, AttributeError) as error:
        # The last two are for numbers of a kind that NumPy does not have.
        raise DamagedError(f"cannot read {path}: {error}") from error
    about = kept.get("about", "")
    if kept.get("sha256", checksum := _checksum_of_tensors(tensors, about)) != checksum:
        raise DamagedError(f"cannot read {path}: it is damaged, its checksum is another")
    try:
        found = parse_json(about or "{}", f"what {path} says about itself")
    except FileError as error:
        raise DamagedError(str(error)) from error
    if not isinstance(found, dict):
        raise DamagedError(f"what {path} says about itself is no table of fields")
    return tensors, found


def _checksum_of_tensors(tensors: Mapping[str, np.ndarray], about: str) -> str:
    found = hashlib.sha256(about.encode())
    for name in sorted(tensors):
        array = tensors[name]
        found.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        found.update(array.tobytes())
    return found.hexdigest()


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints of a run, oldest first."""
    return sorted((folder / CHECKPOINTS).glob("*-*.safetensors"))


def newest_checkpoint(
    folder: Path | None, say: Callable[[str], None]
) -> tuple[Path | None, dict[str, np.ndarray], dict[str, Any]]:
    """The newest checkpoint that is whole, and what is in it; None and nothing if none is there.

    One that is damaged, as a bad disk or a copy that was cut short leaves it, is passed over for
    the one before, and `say` is told. RunError if all are damaged, or one cannot be opened.
    """
    if folder is None:
        return None, {}, {}
    found = checkpoints(folder)
    for path in reversed(found):
        try:
            return path, *load_tensors(path)
        except DamagedError as error:
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
    try:
        (folder / CHECKPOINTS).mkdir(exist_ok=True)
    except OSError as error:
        why = error.strerror or error
        raise RunError(f"cannot make the folder {folder / CHECKPOINTS}: {why}") from error
    path = folder / CHECKPOINTS / f"{stage}-{steps:012d}.safetensors"
    save_tensors(path, tensors, about)
    _delete(checkpoints(folder)[:-keep])
    return path


def _delete(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
