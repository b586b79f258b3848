"""The same tournament on a Ray cluster of two workers, one of which is killed half way."""

import os

import numpy as np
import pytest

from pocket_uno_env.evaluation.games import COLUMNS
from pocket_uno_env.evaluation.line_ups import line_ups
from pocket_uno_env.evaluation.plan import Plan
from pocket_uno_env.evaluation.ray_workers import RayWorkers
from pocket_uno_env.evaluation.tournament import WorkersError, by_line_up, run
from pocket_uno_env.evaluation.workers import ThisProcess
from pocket_uno_env.rules.rules import Rules

pytestmark = [
    pytest.mark.slow,
    # What Ray itself warns of when it starts and stops.
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(scope="module")
def cluster():
    ray = pytest.importorskip("ray")
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_AUTH_MODE="disabled")
    made = cluster_utils.Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "include_dashboard": False, "object_store_memory": 10**8},
    )
    made.nodes = [made.add_node(num_cpus=1, object_store_memory=10**8) for _ in range(2)]
    yield made
    ray.shutdown()
    made.shutdown()


def plan():
    return Plan(
        Rules.preset("pocket").to_dict(),
        2,
        ("greedy", "noisy:0.2", "strong"),
        tuple(line_ups(range(3), 2)),
        120,
        5,
        "round",
        20_000,
        100,
        8,
        records=True,
    )


def test_a_killed_worker_changes_nothing(cluster):
    what = plan()
    expected_records: list[str] = []
    expected = run(what, ThisProcess(what.load_agents()), on_records=expected_records.extend)
    done = {}
    for task, played in RayWorkers(cluster.address).play(what, what.tasks()):
        done[task] = played
        if len(done) == 8:
            cluster.remove_node(cluster.nodes.pop(), allow_graceful=False)
    assert len(done) == len(what.tasks()) == 45
    for one, other in zip(by_line_up(what, done), expected, strict=True):
        for name in COLUMNS:
            assert np.array_equal(getattr(one.games, name), getattr(other.games, name))
        assert np.array_equal(one.behavior, other.behavior)
    assert [r for task in what.tasks() for r in done[task].records] == expected_records


def test_no_cluster_is_one_clear_error():
    pytest.importorskip("ray")
    with pytest.raises(WorkersError, match="cannot use the Ray cluster '127"):
        list(RayWorkers("127.0.0.1:1").play(plan(), plan().tasks()))
