"""Workers that play the tasks of a tournament: in this process, or in several.

Compiled agents are so fast that a small tournament is over before another process has started;
agents that search use all processors.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from pocket_uno_env.agents.agent import Agent

from .plan import Plan, Task
from .tournament import Played, Results, Workers, WorkersError, play_task

PATIENCE = 4.0
"""Seconds of work after which the rest may be shared among processes."""
WORTHWHILE = 12.0
"""Seconds of work that must be left for that."""
MAX_PROCESSES = 1024
RESTARTS = 5
"""How often dead processes are replaced without a result in between."""


class ThisProcess:
    """Plays the tasks in this process, one after the other."""

    def __init__(self, agents: Sequence[Agent]) -> None:
        self.agents = agents

    def play(self, plan: Plan, tasks: Sequence[Task]) -> Results:
        """See `tournament.Workers`."""
        for task in tasks:
            yield task, play_task(plan, self.agents, task)


class Processes:
    """A number of processes, each with its own agents. If one dies, its tasks are played again."""

    def __init__(self, count: int) -> None:
        self.count = count

    def play(self, plan: Plan, tasks: Sequence[Task]) -> Results:
        """See `tournament.Workers`."""
        left = deque(tasks)
        deaths = 0
        while left:
            asked: dict[Future[Played], Task] = {}
            pool = self._pool(plan)
            try:
                while left or asked:
                    while left and len(asked) < 3 * self.count:
                        task = left.popleft()
                        with _uninterrupted():  # it may start a process, which none would know
                            asked[pool.submit(_play, task)] = task
                    for future in wait(asked, return_when=FIRST_COMPLETED).done:
                        played = future.result()
                        deaths = 0
                        yield asked.pop(future), played
            except BrokenProcessPool as error:
                deaths += 1
                if deaths > RESTARTS:
                    raise WorkersError(
                        f"worker processes died {deaths} times in a row without a result; the "
                        "memory may be too small, try fewer --processes"
                    ) from error
                left.extendleft(reversed(asked.values()))
            finally:
                _end(pool)

    def _pool(self, plan: Plan) -> ProcessPoolExecutor:
        # "spawn": a copy of a process with running threads, as Numba's and BLAS's, may hang.
        return ProcessPoolExecutor(
            self.count, multiprocessing.get_context("spawn"), _begin, (plan,)
        )


def _end(pool: Any) -> None:
    """Stop a pool and its processes at once."""
    processes, results = list((pool._processes or {}).values()), pool._result_queue
    pool.shutdown(wait=False, cancel_futures=True)  # which forgets its processes
    for process in processes:
        process.kill()
    # One may have been killed in the middle of an answer. While we could write the rest, the
    # pool's thread would wait for it, and the exit of Python for the thread.
    results._writer.close()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Defer Ctrl-C until this is over; processes that start in it never receive it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    masks = hasattr(signal, "pthread_sigmask")
    if masks:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if masks:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


class Automatic:
    """Uses this process at first, then one for each processor where that is faster."""

    def __init__(self, agents: Sequence[Agent]) -> None:
        self.agents = agents
        self.count = available_processors()

    def play(self, plan: Plan, tasks: Sequence[Task]) -> Results:
        """See `tournament.Workers`."""
        rest = list(tasks)
        searching = any(agent.budget is not None for agent in self.agents)
        if self.count == 1 or len(rest) == 1 or not searching:
            began = time.monotonic()
            for done, (task, played) in enumerate(
                ThisProcess(self.agents).play(plan, tasks), start=1
            ):
                yield task, played
                rest = rest[1:]
                spent = time.monotonic() - began
                pays = spent > PATIENCE and spent / done * len(rest) > WORTHWHILE
                if self.count > 1 and len(rest) > 1 and pays:
                    break
        if rest:
            yield from Processes(min(self.count, len(rest))).play(plan, rest)


def make_workers(agents: Sequence[Agent], processes: int = 0, ray: str | None = None) -> Workers:
    """The workers for these options.

    Parameters
    ----------
    processes : int
        0 for `Automatic`, 1 for `ThisProcess`, else `Processes`.
    ray : str, optional
        The address of a Ray cluster, or ``"local"``.

    Raises
    ------
    WorkersError
    """
    if ray is not None:
        from .ray_workers import RayWorkers

        return RayWorkers(ray)
    if not 0 <= processes <= MAX_PROCESSES:
        raise WorkersError(f"processes is {processes}; expected a number from 0 to {MAX_PROCESSES}")
    if processes == 1:
        return ThisProcess(agents)
    return Processes(processes) if processes else Automatic(agents)


def available_processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_STATE: list[tuple[Plan, list[Agent]]] = []
"""In a worker process: the plan and its agents."""


def _begin(plan: Plan) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    _STATE[:] = [(plan, plan.load_agents())]


def _play(task: Task) -> Played:
    plan, agents = _STATE[0]
    return play_task(plan, agents, task)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
