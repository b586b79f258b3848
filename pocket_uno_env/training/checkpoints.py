"""All that a run needs to go on, and the callback that saves it between rollouts."""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback

from pocket_uno_env import runs
from pocket_uno_env.progress import Report

from .networks import MaskedPolicy, networks, weights


def capture(model: MaskablePPO) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Everything that the rest of the training depends on, between two rollouts.

    Returns
    -------
    tensors, about
        What `runs.save_checkpoint` takes: weights, optimizer, games, random generators.
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
        "steps": model.num_timesteps,
        "updates": model._n_updates,
        "numpy": [int(position), int(has_gauss), float(gauss)],
    }
    return tensors, about


def restore(model: MaskablePPO, tensors: dict[str, np.ndarray], about: dict[str, Any]) -> None:
    """Bring a model with the same settings to where `capture` was; then ``learn`` without reset."""
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
    monitor = model.env
    state = {k.removeprefix("env."): v for k, v in tensors.items() if k.startswith("env.")}
    model._last_obs = monitor.venv.set_state(state)
    model._last_episode_starts = state["episode_starts"]
    monitor.episode_returns = state["episode_returns"]
    monitor.episode_lengths = state["episode_lengths"]
    torch.set_rng_state(torch.from_numpy(tensors["random.torch"]))
    position, has_gauss, gauss = about["numpy"]
    np.random.set_state(("MT19937", tensors["random.numpy"], position, has_gauss, gauss))
    model.num_timesteps = about["steps"]
    model._n_updates = about["updates"]


def _optimizer_states(policy: MaskedPolicy) -> list[tuple[str, dict[str, Any]]]:
    states = policy.optimizer.state
    return [(name, states[p]) for name, p in policy.named_parameters() if p in states]


CLOCKS = {"seconds": time.monotonic, "processor_seconds": time.process_time}


class Interrupted(Exception):
    """The training was asked to stop, and has written a checkpoint."""


class Interrupts(AbstractContextManager["Interrupts"]):
    """Turns the first Ctrl-C (or SIGTERM) into a wish; the second has its usual effect."""

    def __init__(self) -> None:
        self.wanted = False
        self._usual: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
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
    """Saves checkpoints between rollouts, ends the training if asked to, reports progress.

    Parameters
    ----------
    folder : Path
    every : int
        Decisions between checkpoints; there is one at the start of PPO, too.
    keep : int
    interrupts : Interrupts
    report : Report
    spent : dict
        What the training took before it was interrupted, as `Keeper.spent` says.
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
        """What the training has taken in all: seconds, and seconds of processor time."""
        return {key: CLOCKS[key]() - began for key, began in self._began.items()}

    def save(self) -> None:
        """Write a checkpoint, unless that of this step is written; only between rollouts."""
        steps = self.model.num_timesteps
        if steps != self._saved:
            self._write(self.model, steps, runs.STEP, {})
            self._saved = steps

    def _write(self, model: MaskablePPO, made: int, stage: str, more: dict[str, Any]) -> None:
        tensors, about = capture(model)
        about |= {**self.spent, **more}
        runs.save_checkpoint(self.folder, made, tensors, about, self.keep, stage)

    def before_ppo(self, model: MaskablePPO, made: int) -> None:
        """The same between two rollouts of what comes before, of which `made` are made."""
        if self.interrupts.wanted or made >= self._taught + self.every:
            self._write(model, made, runs.LESSON, {"taught": made})
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
