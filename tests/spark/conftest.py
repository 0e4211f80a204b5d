"""One session of Spark for all of its tests, in this process, and tables for them in each store."""

from __future__ import annotations

import os
import sys
import uuid
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "faults"))  # an HBase that is killed
collect_ignore = ["dying.py"]  # it needs PySpark, and has no doctests
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
}


@pytest.fixture(scope="session")
def spark():
    """A session on two cores, where a task may fail twice."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    # What the tests import, and `dying` beside them, is there in Spark's processes of Python too.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), *filter(None, sys.path)])
    builder = SparkSession.builder.master("local[2, 3]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of a pandas that is newer than itself
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(params=["sqlite", pytest.param("hbase", marks=pytest.mark.hbase)])
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], str]]:
    """Make the URL of a table that is not there yet."""
    if request.param == "sqlite":
        yield lambda: str(tmp_path / f"{uuid.uuid4().hex[:8]}.db")
        return
    base, _, query = request.getfixturevalue("hbase_url").partition("?")
    yield lambda: f"{base.rstrip('/')}/spark_{uuid.uuid4().hex[:8]}?{query}"
