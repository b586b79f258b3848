"""The complete state of a run, and the callback that saves it between rollouts."""

from __future__ import annotations

import hashlib
import signal
import threading
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import Any, TypedDict

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback

from pocket_uno_env.agents.trained import run_folder
from pocket_uno_env.cli.progress import Report
from pocket_uno_env.engine.state import ROW
from pocket_uno_env.envs.learner_books import BOOK
from pocket_uno_env.version import __version__

from .networks import MaskedPolicy, networks, weights


def _layout(dtype: np.dtype) -> str:
    parts = [(name, str(field[0]), field[1]) for name, field in (dtype.fields or {}).items()]
    return f"{parts} {dtype.itemsize}"


LAYOUT = hashlib.sha256((_layout(ROW) + _layout(BOOK)).encode()).hexdigest()
"""Hash of the layout of saved games; a checkpoint with another one cannot be read."""


class About(TypedDict, total=False):
    """A checkpoint's data besides its arrays; ``taught``, the decisions made, before PPO only."""

    version: str
    layout: str
    steps: int
    updates: int
    numpy: tuple[int, int, float]
    seconds: float
    processor_seconds: float
    taught: int


def capture(model: MaskablePPO) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Everything that the rest of the training depends on; to be called between rollouts.

    Returns
    -------
    tensors, about
        What `run_folder.save_checkpoint` takes: weights, optimizer, games, random generators.
    """
    monitor = model.env
    kind, keys, position, has_gauss, gauss = np.random.get_state(legacy=True)
    assert kind == "MT19937"
    tensors = weights(model.policy)
    for name, state in _optimizer_states(model.policy):
        for key, value in state.items():
            tensors[f"adam.{name}.{key}"] = torch.as_tensor(value).numpy().copy()
    for name, array in monitor.venv.state().items():
        tensors[f"env.{name}"] = array
    tensors["env.episode_starts"] = np.asarray(model._last_episode_starts)
    tensors["env.episode_returns"] = monitor.episode_returns
    tensors["env.episode_lengths"] = monitor.episode_lengths
    tensors["random.torch"] = torch.get_rng_state().numpy()
    tensors["random.numpy"] = np.asarray(keys)
    about = {
        "version": __version__,
        "layout": LAYOUT,
        "steps": model.num_timesteps,
        "updates": model._n_updates,
        "numpy": [int(position), int(has_gauss), float(gauss)],
    }
    return tensors, about


def check(model: MaskablePPO, tensors: dict[str, np.ndarray], about: dict[str, Any]) -> None:
    """RunError if these cannot have come from `capture` of a model with the same settings.

    The games themselves are checked in `LearnerVecEnv.set_state`.
    """
    if about.get("layout") != LAYOUT:
        raise run_folder.RunError(
            f"it was written by version {str(about.get('version', 'unknown'))[:40]}, which stores "
            f"games in another format than this one, {__version__}; continue with that version, or "
            "start a new run"
        )
    needed = [name for name in About.__annotations__ if name != "taught"]
    run_folder.check_fields("it", about, About, needed)
    if min(about["steps"], about["updates"], about.get("taught", 0)) < 0:
        raise run_folder.RunError("it has a negative number of steps or updates")
    position, has_gauss, _ = about["numpy"]
    if not (0 <= position <= 624 and 0 <= has_gauss <= 1):
        raise run_folder.RunError(
            f"its numpy is {about['numpy']}, which is not a state of a random generator"
        )
    expected = _expected(model)
    for name, array in tensors.items():
        if name not in expected:
            raise run_folder.RunError(
                f"it has {name[:80]!r}, which a run with these settings does not have"
            )
        like = expected[name]
        shape = array.shape if name == "env.pool.codes" and array.ndim == 1 else like.shape
        if (array.shape, array.dtype) != (shape, like.dtype):
            raise run_folder.RunError(
                f"its {name} is {array.dtype} of shape {array.shape}; expected {like.dtype} of "
                f"shape {like.shape}"
            )
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise run_folder.RunError(f"its {name} has values that are not finite")
        if name.endswith((".step", ".exp_avg_sq", "_lengths")) and (array < 0).any():
            raise run_folder.RunError(f"its {name} has negative values")
    for name in expected:
        if name not in tensors and not name.startswith("adam."):
            raise run_folder.RunError(f"it has no {name}, which a run with these settings has")


def _expected(model: MaskablePPO) -> dict[str, np.ndarray]:
    """Arrays of the shapes and types that `capture` returns after the first gradient step."""
    monitor = model.env
    found = weights(model.policy)
    for name, parameter in model.policy.named_parameters():
        found[f"adam.{name}.step"] = np.zeros(1, np.float32)
        for moment in ("exp_avg", "exp_avg_sq"):
            found[f"adam.{name}.{moment}"] = parameter.detach().numpy()
    for name, array in monitor.venv.state().items():
        found[f"env.{name}"] = array
    n = monitor.num_envs
    return found | {
        "env.episode_starts": np.zeros(n, np.bool_),
        "env.episode_returns": np.zeros(n, np.float32),
        "env.episode_lengths": np.zeros(n, np.int32),
        "random.torch": torch.get_rng_state().numpy(),
        "random.numpy": np.zeros(624, np.uint32),
    }


def restore(model: MaskablePPO, tensors: dict[str, np.ndarray], about: dict[str, Any]) -> None:
    """Restore a captured state in a model with the same settings; then ``learn`` without reset.

    Raises
    ------
    RunError
        If the two are not a state of such a model; the message follows the file's name.
    """
    check(model, tensors, about)
    monitor = model.env
    state = {k.removeprefix("env."): v for k, v in tensors.items() if k.startswith("env.")}
    position, has_gauss, gauss = about["numpy"]
    try:
        model._last_obs = monitor.venv.set_state(state)
        torch.set_rng_state(torch.from_numpy(tensors["random.torch"]))
        np.random.set_state(("MT19937", tensors["random.numpy"], position, has_gauss, gauss))
    except (ValueError, RuntimeError) as error:
        raise run_folder.RunError(str(error)) from error
    model._last_episode_starts = state["episode_starts"]
    monitor.episode_returns = state["episode_returns"]
    monitor.episode_lengths = state["episode_lengths"]
    for name, linears in networks(model.policy).items():
        for i, layer in enumerate(linears):
            with torch.no_grad():
                layer.weight.copy_(torch.from_numpy(tensors[f"{name}.{i}.weight"]))
                layer.bias.copy_(torch.from_numpy(tensors[f"{name}.{i}.bias"]))
    for name, parameter in model.policy.named_parameters():
        prefix = f"adam.{name}."
        moments = {
            key.removeprefix(prefix): torch.from_numpy(array.copy())
            for key, array in tensors.items()
            if key.startswith(prefix)
        }
        if moments:
            model.policy.optimizer.state[parameter] = moments
    model.num_timesteps = about["steps"]
    model._n_updates = about["updates"]


def _optimizer_states(policy: MaskedPolicy) -> list[tuple[str, dict[str, Any]]]:
    states = policy.optimizer.state
    return [(name, states[p]) for name, p in policy.named_parameters() if p in states]


CLOCKS = {"seconds": time.monotonic, "processor_seconds": time.process_time}


class Interrupted(Exception):
    """The training was asked to stop, and a checkpoint has been written."""


class Interrupts(AbstractContextManager["Interrupts"]):
    """Turns the first Ctrl-C (or SIGTERM) into a request to stop; the second has its usual effect.

    In the main thread only, since Python delivers signals to no other.
    """

    def __init__(self) -> None:
        self.wanted = False
        self._usual: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is not threading.main_thread():
            return self
        for number in (signal.SIGINT, signal.SIGTERM):
            self._usual[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._usual.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.wanted = True
        for usual, handler in self._usual.items():
            signal.signal(usual, handler)


class Keeper(BaseCallback):
    """Saves checkpoints between rollouts, ends the training on request, reports progress.

    Parameters
    ----------
    folder : Path
    every : int
        Decisions between checkpoints; there is one at the start of PPO too.
    keep : int
        How many checkpoints are kept.
    interrupts : Interrupts
    report : Report
    spent : dict
        `Keeper.spent` of the training before it was interrupted.
    """

    def __init__(
        self,
        folder: Path,
        every: int,
        keep: int,
        interrupts: Interrupts,
        report: Report,
        spent: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        super().__init__()
        self._began = {key: clock() - spent.get(key, 0.0) for key, clock in CLOCKS.items()}
        self.folder = folder
        self.every = every
        self.keep = keep
        self.interrupts = interrupts
        self.report = report
        self._saved = -every
        self._taught = 0

    @property
    def spent(self) -> dict[str, float]:
        """The duration of the training: seconds, and seconds of processor time."""
        return {key: CLOCKS[key]() - began for key, began in self._began.items()}

    def save(self) -> None:
        """Write a checkpoint, unless there is one of this step; only between rollouts."""
        steps = self.model.num_timesteps
        if steps != self._saved:
            self._write(self.model, steps, run_folder.STEP, {})
            self._saved = steps

    def _write(self, model: MaskablePPO, made: int, stage: str, more: dict[str, Any]) -> None:
        tensors, about = capture(model)
        lost = [
            name for name, array in weights(model.policy).items() if not np.isfinite(array).all()
        ]
        if lost:
            raise run_folder.RunError(
                f"after {made:,} decisions {lost[0]} is no longer finite: the training has "
                "diverged; try a smaller learning rate. The last checkpoint is from before that"
            )
        about |= {**self.spent, **more}
        run_folder.save_checkpoint(self.folder, made, tensors, about, self.keep, stage)

    def before_ppo(self, model: MaskablePPO, made: int) -> None:
        """Save between rollouts of the stages before PPO, after `made` decisions of them."""
        if self.interrupts.wanted or made >= self._taught + self.every:
            self._write(model, made, run_folder.LESSON, {"taught": made})
            self._taught = made
        if self.interrupts.wanted:
            raise Interrupted

    def _on_training_start(self) -> None:
        self._saved = -self.every if self.num_timesteps == 0 else self.num_timesteps

    def _on_rollout_start(self) -> None:
        if self.interrupts.wanted or self.model.num_timesteps >= self._saved + self.every:
            self.save()
        if self.interrupts.wanted:
            raise Interrupted

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        ended = self.model.ep_info_buffer
        won = float(np.mean([episode["r"] > 0 for episode in ended])) if ended else float("nan")
        self.logger.record("rollout/win_rate", won)
        self.report(self.num_timesteps, {"win_rate": won})
