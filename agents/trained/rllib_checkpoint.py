"""Checkpoints of Ray RLlib as agents, without Ray and without PyTorch.

    pocket-uno evaluate --agents rllib:CHECKPOINT greedy
    pocket-uno import-rllib CHECKPOINT OUT

The second line writes the network as the folder of a run, which is loaded like every other one.

RLlib pickles its checkpoints, and unpickling can run code and fill the memory. Here arrays are read
from them, in no more memory than a few times the file, and a file that holds anything else is
refused; only ``Algorithm.from_checkpoint`` and the like unpickle all of it. What the network is for
stands in ``metadata.json``, where `rllib.MaskedModule` has written it.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import tyro

from pocket_uno_env import files
from pocket_uno_env.agents.agent import AgentError
from pocket_uno_env.arguments import excerpt
from pocket_uno_env.cli.program import print_error, program_name
from pocket_uno_env.cli.progress import help_text
from pocket_uno_env.episodes.payoff import REWARDS
from pocket_uno_env.observation.canonical import VIEWS
from pocket_uno_env.rules.rules import Rules

from . import run_folder
from .policy import PolicyAgent

GAME = "pocket_uno_env"
"""As in `envs.rllib`, which needs Ray."""
MODULES = Path("learner_group") / "learner" / "rl_module"
"""Where an algorithm's checkpoint has its networks, a folder each."""
FLOATS = ("f2", "f4", "f8")
"""The types that weights may have."""
LONGEST = 1 << 27
"""The most bytes of a file of weights, 32 million numbers."""
MOST_STEPS = 1 << 16
"""The most instructions of its pickle; a dozen or two for each array."""

_UNREADABLE = (
    *(EOFError, pickle.UnpicklingError, MemoryError, RecursionError, OverflowError),
    *(AttributeError, ImportError, IndexError, KeyError, TypeError, ValueError),
)
"""What reading a file that is cut or no pickle may raise."""

Layers = list[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class _Game:
    """What `rllib.module_spec` has written into ``model_config``."""

    rules: Rules
    num_players: int
    view: str
    reward: str


class _Type:
    """What a pickle says of a type of numbers."""

    def __init__(self, code: str, *_: object) -> None:
        self.code = code
        self.order = "|"

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = state[1]


class _Array:
    """What a pickle says of an array: NumPy itself would believe whatever a file says of types."""

    def __init__(self, *_: object) -> None:
        self.data, self.type, self.shape, self.order = b"", _Type(""), (0,), "C"

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, self.shape, self.type, by_columns, self.data = state
        self.order = "F" if by_columns else "C"

    @classmethod
    def of_buffer(cls, data: Any, kind: Any, shape: Any, order: Any) -> _Array:
        """As `__setstate__` does it, from what newer pickles hold."""
        array = cls()
        array.data, array.type, array.shape, array.order = data, kind, shape, order
        return array

    def array(self) -> np.ndarray:
        """The array, float32; AgentError if it is none of finite floating-point numbers."""
        if self.type.code not in FLOATS or self.type.order != "<":
            raise AgentError(
                f"it holds numbers of type {excerpt(self.type.code)}; expected {FLOATS}"
            )
        if not isinstance(self.data, bytes | bytearray):
            raise AgentError("it holds an array without its bytes")
        flat = np.frombuffer(self.data, "<" + self.type.code)
        with np.errstate(over="ignore"):  # to infinity, which is refused
            made = flat.reshape(self.shape, order=self.order).astype(np.float32)  # type: ignore[call-overload]
        if not np.isfinite(made).all():
            raise AgentError("it holds weights that are no finite numbers")
        return made  # type: ignore[no-any-return]


def _new_dict() -> dict[Any, Any]:
    """An empty dict, and never a copy: a short file could ask for many."""
    return {}


class _ArrayUnpickler(pickle.Unpickler):
    """Makes `_Array`s, and refuses everything else."""

    known: ClassVar[dict[tuple[str, str], Any]] = {
        ("collections", "OrderedDict"): _new_dict,
        ("numpy", "dtype"): _Type,
        ("numpy", "ndarray"): _Array,
        ("numpy._core.multiarray", "_reconstruct"): _Array,
        ("numpy._core.numeric", "_frombuffer"): _Array.of_buffer,
    }
    """All that the pickle of a dict of arrays refers to, and what stands for it here."""

    def find_class(self, module: str, name: str) -> Any:
        """What stands for a name; AgentError if an array needs no such thing."""
        if (module, name) not in self.known:
            raise AgentError(f"it holds {f'{module}.{name}'[:80]}; expected arrays alone")
        return self.known[module, name]


def _read_arrays(data: bytes) -> dict[str, np.ndarray]:
    """The arrays in a pickled dict of them; AgentError, or one of `_UNREADABLE`, if it is none."""
    for step, (instruction, argument, _) in enumerate(pickletools.genops(data)):
        if step == MOST_STEPS:
            raise AgentError(f"it has more than {MOST_STEPS:,} instructions; expected arrays alone")
        # The unpickler makes room for all places up to the one that is named.
        if instruction.name in ("PUT", "BINPUT", "LONG_BINPUT") and int(argument or 0) > step:
            raise AgentError(f"it names place {argument} of its memory after {step} instructions")
    state = _ArrayUnpickler(io.BytesIO(data)).load()
    if not isinstance(state, dict) or not state:
        raise AgentError("expected a dict of arrays by name")
    for name, array in state.items():
        if not isinstance(name, str) or not isinstance(array, _Array):
            raise AgentError(f"expected a dict of arrays by name; it has {excerpt(name)}")
    if sum(len(a.data) for a in state.values() if isinstance(a.data, bytes | bytearray)) > len(
        data
    ):
        raise AgentError("several arrays are the same one; expected each by itself")
    found = {}
    for name, array in state.items():
        try:
            found[name] = array.array()
        except AgentError as error:
            raise AgentError(f"{excerpt(name)}: {error}") from None
    return found


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
        raise AgentError(f"{path} holds no network of the kind that envs.rllib.module_spec makes")
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
    folder = run_folder.new_folder(Path(out), agent.rules.name, agent.num_players)
    named = {"policy": ("actor", "pi"), "value": ("critic", "vf")}
    weights = {
        f"{name}.{i}.{part}": array
        for name, (encoder, head) in named.items()
        for i, layer in enumerate(_layers(tensors, encoder, head))
        for part, array in zip(("weight", "bias"), layer, strict=True)
    }
    run_folder.save_tensors(folder / run_folder.MODEL, weights, {})
    settings = {"reward": game.reward, "view": game.view, "trainer": "RLlib"}
    config = run_folder.config_of(
        agent.rules,
        agent.num_players,
        agent.view,
        list(agent.layer_sizes),
        settings,
        f"pocket-uno import-rllib {path} {out}",
    )
    files.write_json(folder / run_folder.CONFIG, config)
    return folder


def _read(path: Path) -> tuple[_Game, dict[str, np.ndarray]]:
    """What the checkpoint's network is for, and its weights."""
    folder = _module_folder(path)
    game = _game(folder)
    weights = folder / "module_state.pkl"
    try:
        return game, _read_arrays(files.read_file(weights, LONGEST))
    except files.FileError as error:
        raise AgentError(str(error)) from error
    except (AgentError, *_UNREADABLE) as error:
        raise AgentError(f"cannot read the weights {weights}: {error}") from error


def _game(folder: Path) -> _Game:
    """What `rllib.module_spec` says that a module's network is for."""
    path = folder / "metadata.json"
    try:
        about = files.read_json(path)
        fields = about.get(GAME) if isinstance(about, dict) else None
        if not isinstance(fields, dict):
            raise ValueError(f"{path} has {excerpt(fields)} under {GAME!r}; expected an object")
        for name in sorted({*fields} ^ {*_Game.__annotations__}):
            raise ValueError(
                f"field {excerpt(name)} is {'unknown' if name in fields else 'missing'} in {path}"
            )
        rules = Rules.from_dict(fields["rules"])
        players = rules.check_players(fields["num_players"])
        for name, known in (("view", VIEWS), ("reward", tuple(REWARDS))):
            if fields[name] not in known:
                raise ValueError(f"{name} is {excerpt(fields[name])}; expected one of {known}")
    except ValueError as error:
        raise AgentError(
            f"{folder} does not say which game it is for ({error}); networks that are trained "
            "with pocket_uno_env.envs.rllib.module_spec do"
        ) from error
    return _Game(rules, players, fields["view"], fields["reward"])


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
        for n in numbers:
            weight, bias = tensors[f"{prefix}.{n}.weight"], tensors.get(f"{prefix}.{n}.bias")
            inputs = found[-1][0].shape[:1] if found else weight.shape[1:]
            if bias is None or weight.shape != (*bias.shape, *inputs) or weight.ndim != 2:
                raise AgentError(
                    f"the layer {prefix}.{n} has weights of shape {weight.shape} and "
                    f"{'no bias' if bias is None else f'a bias of shape {bias.shape}'}; expected "
                    "a weight for each input and output, and a bias for each output"
                )
            found.append((weight, bias))
    return found


@dataclass
class Options:
    """The fields are the options of the command line."""

    checkpoint: Annotated[Path, tyro.conf.Positional]
    """The checkpoint of an RLlib algorithm."""
    out: Annotated[Path, tyro.conf.Positional]
    """The folder to write to."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    name, about = program_name("import-rllib"), help_text(__file__)
    options = tyro.cli(Options, prog=name, args=arguments, description=about)
    try:
        print(f"Written: {export(options.checkpoint, options.out)}")
    except (AgentError, run_folder.RunError) as error:
        print_error("import-rllib", error)
        return 2
    return 0
