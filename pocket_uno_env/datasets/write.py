"""Plays the deals of a plan and writes them as a dataset, split by split."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from pocket_uno_env.agents.agent import Agent
from pocket_uno_env.episodes.episode import episode_of
from pocket_uno_env.evaluation.arena import Chunk
from pocket_uno_env.evaluation.fingerprint import rules_fingerprint
from pocket_uno_env.evaluation.plan import Plan
from pocket_uno_env.files import write_json
from pocket_uno_env.observation.blocks import observation_size
from pocket_uno_env.observation.canonical import VIEWS
from pocket_uno_env.observation.encoders import COMPACT_SCALE
from pocket_uno_env.rules.actions import catalogue
from pocket_uno_env.version import __version__

from .npz import ABOUT, FORMAT, SPLITS, DatasetError, NpzWriter
from .transitions import Transitions, transitions

FORMATS = ("npz", "minari")


class Writer(Protocol):
    """Writes a split as its parts come in.

    Attributes
    ----------
    files : list of str
        What has been written, relative to the dataset's folder.
    """

    files: list[str]

    def add(self, part: Transitions) -> None:
        """Take the next games."""

    def close(self) -> None:
        """Write what is left."""


def split_deals(shares: Sequence[float], deals: int) -> dict[str, tuple[int, int]]:
    """The deals of each split, the first one and how many: in order, so that none is in two.

    Raises
    ------
    DatasetError
        Unless `shares` are one to three positive numbers whose sum is 1, and each split gets a
        deal.
    """
    fits = 1 <= len(shares) <= len(SPLITS) and all(0 < share <= 1 for share in shares)
    if not fits or abs(sum(shares) - 1) > 1e-6:
        raise DatasetError(
            f"split is {' '.join(f'{share:g}' for share in shares)!r}; expected one to three "
            f"positive shares whose sum is 1, for {', '.join(SPLITS)}"
        )
    ends = [0, *(round(deals * float(end)) for end in np.cumsum(shares))]
    found = {
        name: (first, end - first) for name, first, end in zip(SPLITS, ends, ends[1:], strict=False)
    }
    for name, (_, count) in found.items():
        if count == 0:
            raise DatasetError(
                f"of {deals} deals the split {name!r} gets none; expected more deals, or a larger "
                "share of them"
            )
    return found


def write(
    plan: Plan,
    agents: Sequence[Agent],
    folder: Path,
    *,
    shares: Sequence[float] = (1.0,),
    reward: str = "win",
    view: str = "plain",
    data_format: str = "npz",
    command: str = "",
    on_finished: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """Play all deals of the plan in all seat rotations of its line-ups, and write what was seen.

    Parameters
    ----------
    folder : Path
        Empty, and only for this: `files.whole_folder`.
    on_finished : callable, optional
        Called with the number of games that have just been written.

    Returns
    -------
    dict
        What ``dataset.json`` says.

    Raises
    ------
    DatasetError, AgentError, FileError
    """
    if view not in VIEWS:
        raise DatasetError(f"view is {view!r}; expected one of {', '.join(VIEWS)}")
    if data_format not in FORMATS:
        raise DatasetError(f"format is {data_format!r}; expected one of {', '.join(FORMATS)}")
    setup = plan.setup
    rules, n = setup.rules, setup.num_players
    limits = setup.max_cycles, setup.max_rounds
    episode = episode_of(rules, n, setup.episode, reward, *limits)
    titles = [agent.title for agent in agents]
    about: dict[str, Any] = {
        "format": FORMAT,
        "data_format": data_format,
        "rules": rules.to_dict(),
        "rules_fingerprint": rules_fingerprint(rules),
        "num_players": n,
        "episode": setup.episode,
        "reward": reward,
        "view": view,
        "max_cycles": setup.max_cycles,
        "max_rounds": setup.max_rounds,
        "seed": setup.seed,
        "deals": plan.deals,
        "agents": [
            {"name": agent.title, "agent": agent.name, "fingerprint": fingerprint}
            for agent, fingerprint in zip(agents, plan.fingerprints, strict=True)
        ],
        "line_ups": [list(table) for table in plan.line_ups],
        "observation_size": observation_size(rules, n),
        "n_actions": len(catalogue(rules)),
        "compact_scale": COMPACT_SCALE,
        "command": command,
        "versions": _versions(data_format),
        "splits": {},
    }
    games = 0
    for split, (first, count) in split_deals(shares, plan.deals).items():
        writer = _writer(folder, split, titles, about)
        counted = dict.fromkeys(("games", "episodes", "decisions", "undecided"), 0)
        for number, table in enumerate(plan.line_ups):
            for start in range(first, first + count, plan.chunk_deals):
                some = min(plan.chunk_deals, first + count - start)
                chunk = Chunk(
                    *(setup, agents, table, start, some, True), rotations=plan.games_of(number)
                )
                part = transitions(chunk, episode, view, games)
                writer.add(part)
                games += len(chunk.seated)
                counted["games"] += len(chunk.seated)
                counted["episodes"] += len(part.episode_steps)
                counted["decisions"] += len(part)
                counted["undecided"] += int((part.episode_steps == 0).sum())
                if on_finished is not None:
                    on_finished(len(chunk.seated))
        writer.close()
        about["splits"][split] = {
            "first_deal": first,
            "deals": count,
            **counted,
            "files": writer.files,
        }
    write_json(folder / ABOUT, about)
    return about


def _writer(folder: Path, split: str, titles: list[str], about: dict[str, Any]) -> Writer:
    if about["data_format"] == "npz":
        return NpzWriter(folder, split)
    from .minari_format import MinariWriter

    kept = {name: about[name] for name in ("rules", "num_players", "episode", "reward", "view")}
    described = {
        "algorithm_name": ", ".join(titles),
        "description": f"UNO by {about['rules']['name']}: what each seat saw, did and earned.",
        "pocket_uno_env": {**kept, "seed": about["seed"], "agents": about["agents"]},
    }
    return MinariWriter(folder, split, titles, described)


def _versions(data_format: str) -> dict[str, str]:
    found = {"pocket_uno_env": __version__, "python": platform.python_version()}
    names = ["numpy", "numba", *["minari"] * (data_format == "minari")]
    for name in [*names, *["torch"] * ("torch" in sys.modules)]:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
