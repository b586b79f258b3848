"""TensorBoard's files, written synchronously, so that a full disk is an error of the training.

PyTorch's ``SummaryWriter`` writes in a thread of its own, where an error is a traceback on the
screen and reaches the program late or never.
"""

from __future__ import annotations

import io
import os
import socket
import time
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.logger import KVWriter, Logger
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

from pocket_uno_env.files import FileError


def curves(folder: Path, made: int) -> Logger:
    """A logger that writes curves into `folder`, from `made` decisions on.

    Points beyond that were written by a run that was killed and will be written again: TensorBoard
    is told to drop them.
    """
    return Logger(str(folder), [_Curves(folder, made)])


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
