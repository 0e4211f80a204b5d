"""Which fault tests are collected: those that take minutes only where they are asked for, as `make faults` does.

Those on a cluster are asked for by themselves, as `make test-cluster` does: they need compose and 4 GB of memory.
"""

import os

import pytest

LONG = [
    "test_servers.py",
    "test_native_servers.py",
    "test_regions.py",
    "test_ring_servers.py",
    "test_gateways_life.py",
]
ON_A_CLUSTER = ["test_cluster.py", "test_native_cluster.py"]

collect_ignore = [
    *([] if os.environ.get("WEBTABLE_FAULT_LONG") else LONG),
    *([] if os.environ.get("WEBTABLE_FAULT_CLUSTER") else ON_A_CLUSTER),
]


@pytest.fixture(scope="module")
def server():
    """An HBase that belongs to one module of tests; Docker is looked for only where it is asked for."""
    from servers import started

    with started() as made:
        yield made
