"""Which fault tests are collected: those that take minutes only where they are asked for, as `make faults` does."""

import os

import pytest

collect_ignore = [] if os.environ.get("WEBTABLE_FAULT_LONG") else ["test_servers.py", "test_ring_servers.py"]


@pytest.fixture(scope="module")
def server():
    """An HBase that belongs to one module of tests; Docker is looked for only where it is asked for."""
    from servers import started

    with started() as made:
        yield made
