"""Datasets as npz files: written piece by piece, read whole, and batches of what was read."""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pocket_uno_env.files import FileError, read_json, writing
from pocket_uno_env.observation.encoders import COMPACT_SCALE

from .transitions import NAMES, PER_DECISION, PER_EPISODE, Transitions

FORMAT = "uno-dataset/1"
ABOUT = "dataset.json"
SPLITS = ("train", "validation", "test")
SHARD = 500_000
"""About how many decisions a file holds; about half a kilobyte of memory each."""
LEVEL = 1
"""Of zlib: light, since most values are 0."""


class DatasetError(FileError):
    """A folder that holds no dataset, or a damaged one; the message says which."""


class NpzWriter:
    """Writes a split as numbered files ``train-000.npz``, as the parts come in.

    Attributes
    ----------
    files : list of str
        The names of those that have been written.
    """

    def __init__(self, folder: Path, split: str) -> None:
        self.files: list[str] = []
        self._folder, self._split = folder, split
        self._parts: list[Transitions] = []

    def add(self, part: Transitions) -> None:
        """Take the next games; they are written with others."""
        self._parts.append(part)
        if sum(map(len, self._parts)) >= SHARD:
            self._write()

    def close(self) -> None:
        """Write what is left."""
        if self._parts:
            self._write()

    def _write(self) -> None:
        name = f"{self._split}-{len(self.files):03d}.npz"
        path = self._folder / name
        how = zipfile.ZIP_DEFLATED, True, LEVEL
        with writing(path), zipfile.ZipFile(path, "w", *how) as file:
            for column in NAMES:
                arrays = [getattr(part, column) for part in self._parts]
                header = np.lib.format.header_data_from_array_1_0(arrays[0])
                header["shape"] = (sum(map(len, arrays)), *arrays[0].shape[1:])
                with file.open(f"{column}.npy", "w", force_zip64=True) as out:
                    np.lib.format.write_array_header_1_0(out, header)
                    for array in arrays:
                        out.write(array.tobytes())
        self.files.append(name)
        self._parts = []


@dataclass(frozen=True, eq=False)
class Dataset(Transitions):
    """A split of a dataset, in memory.

    Attributes
    ----------
    about : dict
        What ``dataset.json`` says: rules, agents, seed, reward, view, and more.
    """

    about: dict[str, Any]

    def batch(self, lines: np.ndarray) -> dict[str, np.ndarray]:
        """Some transitions as learners take them; `lines` are numbers from 0 to ``len(self) - 1``.

        Returns
        -------
        dict
            ``observations`` and ``next_observations`` float32 in [0, 1]; ``action_masks`` and
            ``next_action_masks`` bool; ``actions`` int64; ``rewards`` float32; ``terminated`` and
            ``truncated`` bool. What follows is the seat's next decision. After the last one the
            mask is empty, and the observation what the seat knew when a cap had ended the game, or
            zeros when the rules had.

        Raises
        ------
        ValueError
            For what are no such numbers.
        """
        lines = np.asarray(lines)
        if lines.dtype.kind not in "iu" or lines.ndim != 1:
            raise ValueError(
                f"lines is {lines.dtype} of shape {lines.shape}; expected integers (m,)"
            )
        if len(lines) and not 0 <= lines.min() <= lines.max() < len(self):
            raise ValueError(
                f"lines has numbers from {lines.min()} to {lines.max()}; expected 0 to "
                f"{len(self) - 1}"
            )
        terminated, truncated = self.terminated[lines], self.truncated[lines]
        over = terminated | truncated
        after = np.where(over, lines, lines + 1)
        following, masks = self.observations[after], self.action_masks[after]
        following[terminated], masks[over] = 0, 0
        finals = np.searchsorted(self._truncated_lines, lines[truncated])
        following[truncated] = self.final_observations[finals]
        scale = np.float32(1 / COMPACT_SCALE)
        return {
            "observations": self.observations[lines] * scale,
            "action_masks": self.action_masks[lines] != 0,
            "actions": self.actions[lines].astype(np.int64),
            "rewards": self.rewards[lines],
            "next_observations": following * scale,
            "next_action_masks": masks != 0,
            "terminated": terminated,
            "truncated": truncated,
        }

    @cached_property
    def _truncated_lines(self) -> np.ndarray:
        return np.flatnonzero(self.truncated)


def load_dataset(folder: str | Path, split: str = "train") -> Dataset:
    """Read a split that ``pocket-uno dataset`` wrote as npz.

    Parameters
    ----------
    folder : str or Path
        The one that was given as ``--out``.
    split : str
        ``"train"``, ``"validation"`` or ``"test"``.

    Raises
    ------
    DatasetError, FileError
        When there is no such dataset or split, or it is damaged.

    Examples
    --------
    >>> data = load_dataset("data/strong")
    >>> batch = data.batch(np.random.default_rng(0).integers(len(data), size=256))
    """
    about = read_about(Path(folder))
    if about["data_format"] != "npz":
        raise DatasetError(
            f"{folder} is a dataset for Minari; read it by minari.load_dataset, with "
            f"MINARI_DATASETS_PATH={folder}"
        )
    if split not in about["splits"]:
        names = ", ".join(about["splits"])
        raise DatasetError(f"{folder} has no split {split!r}; expected one of {names}")
    parts = [_read(Path(folder) / name) for name in about["splits"][split]["files"]]
    found = Dataset(
        **{name: np.concatenate([part[name] for part in parts]) for name in NAMES}, about=about
    )
    _check(found, Path(folder), split)
    return found


def read_about(folder: Path) -> dict[str, Any]:
    """What ``dataset.json`` in a folder says; DatasetError if it is none."""
    if not (folder / ABOUT).is_file():
        raise DatasetError(f"{folder} holds no dataset: there is no {ABOUT} in it")
    about = read_json(folder / ABOUT)
    splits = about.get("splits") if isinstance(about, dict) else None
    whole = (
        isinstance(splits, dict)
        and about.get("format") == FORMAT
        and about.get("data_format") in ("npz", "minari")
        and all(isinstance(split, dict) for split in splits.values())
        and all(_plain_names(split.get("files", [])) for split in splits.values())
    )
    if not whole:
        raise DatasetError(f"{folder / ABOUT} describes no dataset of the format {FORMAT}")
    return about  # type: ignore[no-any-return]


def _plain_names(names: Any) -> bool:
    """Whether these are names of files in the folder itself."""
    return isinstance(names, list) and all(
        isinstance(name, str) and name == Path(name).name for name in names
    )


def _read(path: Path) -> dict[str, np.ndarray]:
    try:
        with path.open("rb") as data, np.load(data, allow_pickle=False) as file:
            return {name: file[name] for name in NAMES}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise DatasetError(
            f"{path} is damaged or missing: {error}; write the dataset anew"
        ) from error


def _check(data: Dataset, folder: Path, split: str) -> None:
    """Raise DatasetError unless all columns are as long as is said about them."""
    said = data.about["splits"][split]
    counts = {
        **dict.fromkeys(PER_DECISION, said.get("decisions")),
        **dict.fromkeys(PER_EPISODE, said.get("episodes")),
        "final_observations": int(data.truncated.sum()),
    }
    for name, count in counts.items():
        if len(getattr(data, name)) != count:
            raise DatasetError(
                f"the files of the split {split!r} in {folder} do not fit {ABOUT}: {name} has "
                f"{len(getattr(data, name))} lines, not {count}; write the dataset anew"
            )
