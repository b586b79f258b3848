"""TensorBoard's files, written synchronously, so that a full disk is an error of the training.

PyTorch's ``SummaryWriter`` writes in a thread of its own, where an error is a traceback on the
screen and reaches the program late or never.
"""

from __future__ import annotations

import io
import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import KVWriter, Logger
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

from pocket_uno_env.cli.progress import Report
from pocket_uno_env.files import FileError


class Curves(Logger):
    """A logger that writes curves into `folder`, from `made` decisions on.

    The decisions of all stages are counted, so that the curves of a stage begin where those of the
    stage before it end. Points beyond `made` were written by a run that was killed and will be
    written again: TensorBoard is told to drop them.

    Attributes
    ----------
    before : int
        Decisions of the stages before the one that writes now.
    """

    def __init__(self, folder: Path, made: int) -> None:
        super().__init__(str(folder), [_Curves(folder, made)])
        self.before = 0

    def dump(self, step: int = 0) -> None:
        """Write the points of a stage after `step` of its decisions."""
        super().dump(self.before + step)

    def of_stage(self, name: str, before: int, report: Report) -> Report:
        """`report`, which also adds a point to the stage's curves, ``NAME/FIGURE``."""
        last = (-1, time.monotonic())

        def write(made: int, figures: Mapping[str, float]) -> None:
            nonlocal last
            report(made, figures)
            self.before = before
            for figure, value in figures.items():
                self.record(f"{name}/{figure}", value)
            now = time.monotonic()
            if last[0] >= 0:  # in the first rollout, and in that after a restart, kernels compile
                speed = (made - last[0]) / max(now - last[1], 1e-9)
                self.record(f"{name}/decisions_per_second", speed)
            last = made, now
            self.dump(made)

        return write


class WinRates(BaseCallback):
    """Adds the learner's win rate against each named opponent, whoever else is at the table.

    Parameters
    ----------
    names : sequence of str
        The opponents in the order of ``LearnerGames.opponents``; past selves after them are left
        out.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__()
        self._names = names

    def _on_training_start(self) -> None:
        games = self.training_env.unwrapped.games
        asked = 0
        self._codes: dict[str, list[int]] = {name: [] for name in self._names}
        for name, agent in zip(self._names, games.opponents, strict=False):
            asked += agent.policy is None
            self._codes[name].append(-asked if agent.policy is None else agent.policy)
        self._games, self._seats = games, np.arange(games.num_players)
        self._forget()
        self._note()

    def _forget(self) -> None:
        self._won, self._played = dict.fromkeys(self._names, 0), dict.fromkeys(self._names, 0)

    def _note(self) -> None:
        """Keep who is at the tables now: when a game has ended others sit there."""
        books = self._games.books
        self._faced = books["opponents"][:, self._seats].astype(np.int64)
        learner = books["learner"].astype(np.int64)
        self._faced[np.arange(len(self._faced)), learner] = np.iinfo(np.int64).min

    def _on_step(self) -> bool:
        over = np.flatnonzero(self.locals["dones"])
        won = np.array([self.locals["infos"][i]["episode"]["r"] > 0 for i in over], bool)
        for name, codes in self._codes.items():
            met = np.isin(self._faced[over], codes).any(axis=1)
            self._played[name] += int(met.sum())
            self._won[name] += int((met & won).sum())
        self._note()
        return True

    def _on_rollout_end(self) -> None:
        for name, played in self._played.items():
            if played:
                self.logger.record(f"win_rate/{name}", self._won[name] / played)
        self._forget()


class _Curves(KVWriter):
    def __init__(self, folder: Path, made: int) -> None:
        # TensorBoard reads the files of a folder in the order of their names.
        name = f"events.out.tfevents.{time.time_ns()}.{socket.gethostname()}.{os.getpid()}"
        self.path = folder / name
        self._add(Event(file_version="brain.Event:2"))
        self._add(Event(session_log=SessionLog(status=SessionLog.START), step=made + 1))

    def write(
        self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0
    ) -> None:
        """Add a point to each curve."""
        points = [
            Summary.Value(tag=name, simple_value=float(value))
            for name, value in sorted(key_values.items())
            if isinstance(value, int | float | np.number)
            and "tensorboard" not in (key_excluded.get(name) or ())
        ]
        self._add(Event(step=step, summary=Summary(value=points)))

    def close(self) -> None:
        """Do nothing: no file is kept open."""

    def _add(self, event: Event) -> None:
        """Append an event whole, or leave the file as it was."""
        event.wall_time = time.time()
        record = io.BytesIO()
        RecordWriter(record).write(event.SerializeToString())
        left = record.getvalue()
        try:
            with self.path.open("ab", buffering=0) as file:
                end = file.tell()
                try:
                    while left:
                        left = left[file.write(left) :]
                except OSError:
                    file.truncate(end)
                    raise
        except OSError as error:
            raise FileError(f"cannot write {self.path}: {error.strerror}") from error
