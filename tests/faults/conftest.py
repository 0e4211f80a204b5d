"""An HBase for the fault tests that hurt it."""

import pytest


@pytest.fixture(scope="module")
def server():
    """An HBase that belongs to one module of tests; Docker is looked for only where it is asked for."""
    from servers import started

    with started() as made:
        yield made
