"""A Ray cluster of two nodes on this machine, without telemetry, tokens and busy threads."""

import os

import pytest

# Before Ray and PyTorch are imported. Learner and env runners share two cores.
os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_AUTH_MODE="disabled", OMP_NUM_THREADS="1")


@pytest.fixture(scope="session")
def cluster():
    """The address of a cluster of two nodes; this process is connected to it."""
    import ray
    from ray.cluster_utils import Cluster

    made = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "include_dashboard": False, "object_store_memory": 10**8},
    )
    for _ in range(2):
        made.add_node(num_cpus=4, resources={"place": 1}, object_store_memory=10**8)
    # The configurations of the examples refer to their modules.
    places = [path for path in os.sys.path if path]
    ray.init(
        address=made.address,
        logging_level="ERROR",
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(places)}},
    )
    yield made.address
    ray.shutdown()
    made.shutdown()
