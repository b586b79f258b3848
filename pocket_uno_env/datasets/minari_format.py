"""Datasets for Minari, in HDF5: an episode is one seat in one game.

Minari writes each array of each episode as an object of its own, which takes most of the time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary

from pocket_uno_env.observation.encoders import COMPACT_SCALE

from .transitions import PER_EPISODE, Transitions

PACKAGE = "pocket-uno"
TOGETHER = 200_000
"""About how many decisions are handed to Minari at once."""


def dataset_id(split: str) -> str:
    """What Minari calls a split: ``minari.load_dataset`` takes it."""
    return f"{PACKAGE}/{split}-v0"


class MinariWriter:
    """Writes a split as one of Minari's datasets below `folder`, as the parts come in.

    Minari has no place for episodes without a decision: they are left out, and
    ``SPLIT-episodes.npz`` has the columns of `transitions.PER_EPISODE` for all of them.

    Parameters
    ----------
    about : dict
        What Minari's metadata hold besides what it needs.
    agents : list of str
        What the agents are called.
    """

    def __init__(self, folder: Path, split: str, agents: list[str], about: dict[str, Any]) -> None:
        import minari
        from minari.dataset.minari_storage import MinariStorage
        from minari.namespace import NAMESPACE_METADATA_FILENAME

        self._new = MinariStorage.new
        self._storage: Any = None  # made when the sizes are known
        self._version, self._about, self._agents = minari.__version__, about, agents
        self._id, self._waiting = dataset_id(split), 0
        self._parts: list[Transitions] = []
        self._columns: list[list[np.ndarray]] = []
        self._all = folder / f"{split}-episodes.npz"
        self._path = folder / self._id / "data"
        self._path.mkdir(parents=True)
        (self._path.parents[1] / NAMESPACE_METADATA_FILENAME).write_text("{}")
        self.files: list[str] = [self._all.name]

    def add(self, part: Transitions) -> None:
        """Take the next games."""
        self._parts.append(part)
        self._columns.append([getattr(part, name) for name in PER_EPISODE])
        self._waiting += len(part)
        if self._waiting >= TOGETHER:
            self._write()

    def close(self) -> None:
        """Write what is left."""
        if self._parts:
            self._write()
        columns = map(np.concatenate, zip(*self._columns, strict=True))
        named: dict[str, Any] = dict(zip(PER_EPISODE, columns, strict=True))
        np.savez(self._all, **named)

    def _write(self) -> None:
        from minari.data_collector import EpisodeBuffer

        storage = self._storage or self._begin(self._parts[0])
        storage.update_episodes(
            EpisodeBuffer(**episode)
            for part in self._parts
            for episode in episodes(part, self._agents)
        )
        self._parts, self._waiting = [], 0

    def _begin(self, part: Transitions) -> Any:
        size, n_actions = part.observations.shape[1], part.action_masks.shape[1]
        seen = Box(0, COMPACT_SCALE, (size,), np.uint8)
        spaces = Dict({"observation": seen, "action_mask": MultiBinary(n_actions)})
        self._storage = self._new(self._path, spaces, Discrete(n_actions), jpeg_encoding=False)
        known = {"dataset_id": self._id, "minari_version": self._version}
        self._storage.update_metadata({**known, **self._about})
        return self._storage


def episodes(part: Transitions, agents: list[str]) -> Any:
    """The episodes that have a decision, as keyword arguments of Minari's ``EpisodeBuffer``.

    Observations and masks have one line more than actions, of what the seat knew at the end: zeros
    unless a cap had ended the game. The options are the game, deal, rotation, seat and agent, and
    what the seat earned before its first decision.
    """
    start, cut = 0, 0
    for number, steps in enumerate(part.episode_steps.tolist()):
        if steps == 0:
            continue
        lines = slice(start, start + steps)
        start += steps
        last = np.zeros_like(part.observations[:1])
        if part.truncated[start - 1]:
            last, cut = part.final_observations[cut : cut + 1], cut + 1
        over = np.zeros_like(part.action_masks[:1])
        yield {
            "observations": {
                "observation": np.concatenate([part.observations[lines], last]),
                "action_mask": np.concatenate([part.action_masks[lines], over]),
            },
            "actions": part.actions[lines].astype(np.int64),
            "rewards": part.rewards[lines],
            "terminations": part.terminated[lines],
            "truncations": part.truncated[lines],
            "options": {
                "agent": agents[part.episode_agents[number]],
                "seat": int(part.episode_seats[number]),
                "deal": int(part.episode_deals[number]),
                "rotation": int(part.episode_rotations[number]),
                "game": int(part.episode_games[number]),
                "earned_before": float(part.episode_earned_before[number]),
            },
        }
