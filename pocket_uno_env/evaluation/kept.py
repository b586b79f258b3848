"""Tournaments whose results are kept in a folder, where the same command goes on with them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pocket_uno_env.agents.agent import Agent
from pocket_uno_env.cli.progress import Display

from .journal import PLAN, DiskJournal, JournalError
from .plan import Plan
from .tournament import Played, run
from .workers import make_workers


def run_kept(
    plan: Plan,
    agents: Sequence[Agent],
    out: Path | None,
    name: str,
    display: Display,
    processes: int = 0,
    ray: str | None = None,
) -> list[Played]:
    """Play a plan, continuing from the results below `out` if it is given; the results.

    Parameters
    ----------
    out : Path, optional
        The folder in which this plan has one of its own, called after `name`.
    processes, ray
        See `workers.make_workers`.

    Raises
    ------
    JournalError
        When the folder was begun with another plan, the number of deals aside.
    """
    workers = make_workers(agents, processes, ray)
    if out is None:
        return run(plan, workers, None, display.report)
    folder = out / re.sub(r"[^\w.,-]+", "_", name)
    begun = os.path.exists(folder / PLAN)
    with DiskJournal(folder, None if begun else plan) as journal:
        if replace(journal.plan, deals=plan.deals) != plan:
            raise JournalError(
                f"{folder} was begun with other options, or with another agent of this name; "
                "choose another --out"
            )
        if begun:
            journal.extend(plan.deals)
        return run(plan, workers, journal, display.report)
