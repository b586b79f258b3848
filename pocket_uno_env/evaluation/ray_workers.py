"""Workers on a Ray cluster.

Every machine needs this package and the agents at the same version. A task whose worker is lost is
played again on another one; since tasks do not depend on each other, the results are the same as on
one machine.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Sequence
from typing import Any

from .plan import Plan, Task
from .tournament import Played, Results, WorkersError, play_task

AHEAD = 3
"""Tasks in flight for each processor of the cluster."""
RETRIES = 8
"""How often a task is tried again when its worker is lost."""


class RayWorkers:
    """The workers of a cluster.

    Parameters
    ----------
    address : str
        As ``ray.init`` takes it, such as ``"auto"`` or ``"ray://head:10001"``; ``"local"`` starts
        a cluster on this machine.
    """

    def __init__(self, address: str) -> None:
        self.address = address

    def play(self, plan: Plan, tasks: Sequence[Task]) -> Results:
        """See `tournament.Workers`."""
        ray = _ray()
        started = not ray.is_initialized()
        if started:
            self._connect(ray)
        try:
            yield from _play(ray, plan, tasks)
        finally:
            if started:
                ray.shutdown()

    def _connect(self, ray: Any) -> None:
        # Workers import what this process can import: agents of one's own, too.
        places = [os.path.abspath(place) for place in sys.path if place]
        environment = {"env_vars": {"PYTHONPATH": os.pathsep.join([os.getcwd(), *places])}}
        local = self.address == "local"
        try:
            if ":" in self.address:
                # Ray itself waits for minutes where nobody answers.
                host, _, port = self.address.rpartition("/")[2].rpartition(":")
                socket.create_connection((host, int(port)), timeout=10).close()
            ray.init(
                address=None if local else self.address,
                include_dashboard=False if local else None,
                log_to_driver=False,
                logging_level="ERROR",
                runtime_env=environment,
            )
        except (OSError, RuntimeError, ValueError) as error:
            raise WorkersError(f"cannot use the Ray cluster {self.address!r}: {error}") from error


def _play(ray: Any, plan: Plan, tasks: Sequence[Task]) -> Results:
    shared = ray.put(plan.to_dict())
    remote = ray.remote(num_cpus=1, max_retries=RETRIES)(_play_remote)
    left = list(reversed(tasks))
    asked: dict[Any, Task] = {}
    try:
        while left or asked:
            room = max(AHEAD * int(ray.cluster_resources().get("CPU", 1)), 1)
            while left and len(asked) < room:
                task = left.pop()
                asked[remote.remote(shared, task)] = task
            ready, _ = ray.wait(list(asked), num_returns=1)
            for reference in ready:
                task = asked.pop(reference)
                try:
                    played: Played = ray.get(reference)
                except ray.exceptions.WorkerCrashedError as error:
                    raise WorkersError(
                        f"the workers of task {task} died {RETRIES + 1} times: {error}"
                    ) from error
                except ray.exceptions.RayTaskError as error:
                    raise error.as_instanceof_cause() from None
                yield task, played
    finally:
        for reference in asked:
            ray.cancel(reference, force=True)


_AGENTS: dict[str, Any] = {}
"""In a worker: the agents of the last plan, so that they are loaded once."""


def _play_remote(fields: dict[str, Any], task: Task) -> Played:
    plan = Plan.from_dict(fields)
    key = repr(fields)
    if key not in _AGENTS:
        _AGENTS.clear()
        _AGENTS[key] = plan.load_agents()
    return play_task(plan, _AGENTS[key], task)


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise WorkersError(
            f"a Ray cluster needs the extra 'ray' (pip install -e '.[ray]'): {error}"
        ) from error
    return ray
