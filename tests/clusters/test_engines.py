"""Dask and Ray with two worker processes each, on both stores: `make test MARK=engines`."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import webtable
from webtable import ALL, Page, WebTable
from webtable.errors import InvalidArgument, UnknownColumn

pytestmark = [
    pytest.mark.engines,
    # Theirs, of each other's versions.
    pytest.mark.filterwarnings("default"),
]

COLUMNS = ["url", "status", "fetched_at", "body", "outlinks", "text"]


@pytest.fixture
def file_table(tmp_path) -> Iterator[WebTable]:
    with webtable.open(tmp_path / "crawl.db", create=True) as table:
        yield table


@pytest.fixture(params=["file_table", pytest.param("hbase_table", marks=pytest.mark.hbase)])
def crawl(request: pytest.FixtureRequest) -> WebTable:
    """A table with pages of nine hosts, whose bodies are not text."""
    table = request.getfixturevalue(request.param)
    with table.writer() as writer:
        for number in range(200):
            body = b"<title>%d</title><p>\xff\x00<a href=/%d>next</a>" % (number, number + 1)
            url, status = f"https://h{number % 9}.example/{number}", 404 if number % 5 == 0 else 200
            writer.put(Page(url=url, status=status, body=body, content_type="text/html"))
    return table


@pytest.fixture(scope="module")
def dask_workers() -> Iterator[None]:
    from dask.distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        yield


@pytest.fixture(scope="module")
def ray_workers() -> Iterator[None]:
    import ray

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture
def source(ray_workers):
    """Make a data source, and return the data set that is read from it."""
    import ray

    from webtable.integrations.ray import datasource

    return lambda answer, **options: ray.data.read_datasource(datasource(answer, **options))


def rows_of(dataset) -> list[dict[str, object]]:
    import pyarrow as pa
    import ray

    blocks = [block for block in ray.get(dataset.to_arrow_refs()) if block.num_rows]
    return pa.concat_tables(blocks).sort_by("url").to_pylist()


@pytest.mark.usefixtures("dask_workers")
def test_the_workers_of_a_dask_cluster_read_what_one_process_does(crawl):
    from pandas.testing import assert_frame_equal

    from webtable.integrations.dask import read_pages

    answer = crawl.pages(ALL, columns=COLUMNS)

    frame = read_pages(answer, npartitions=5)

    read, whole = (one.sort_values("url").reset_index(drop=True) for one in (frame.compute(), answer.to_pandas()))
    assert_frame_equal(read, whole)
    assert frame.status.value_counts().compute().to_dict() == {200: 160, 404: 40}


def test_the_workers_of_ray_read_what_one_process_does(crawl, source):
    answer = crawl.pages(ALL, columns=COLUMNS)

    dataset = source(answer, partitions=5)

    whole = answer.to_arrow().read_all()
    assert dataset.schema().base_schema == whole.schema
    assert rows_of(dataset) == whole.sort_by("url").to_pylist()


def test_ray_counts_results_not_the_rows_that_are_read_for_them(crawl, source):
    assert source(crawl.pages(ALL, status=404), partitions=4).count() == 40


def test_ray_takes_several_parts_in_a_task_where_it_wants_fewer(file_table):
    from webtable.integrations.ray import datasource

    with file_table.writer() as writer:
        for number in range(50):
            writer.put(Page(url=f"https://a.example/{number}", body=b"x"))
    made = datasource(file_table.pages(), columns=["url"], partitions=7)

    for wanted, tasks in ((1, 1), (3, 3), (7, 7), (200, 7)):
        found = made.get_read_tasks(wanted)

        assert len(found) == tasks
        assert sum(block.num_rows for task in found for block in task()) == 50
        assert sum(task.metadata.size_bytes for task in found) == made.estimate_inmemory_data_size() > 0
        assert {task.metadata.num_rows for task in found} == {None}


def test_a_source_without_results_has_the_columns_all_the_same(file_table, source):
    dataset = source(file_table.pages(), columns=["url", "status"], partitions=2)

    assert dataset.schema().names == ["url", "status"]
    assert dataset.count() == 0


def test_what_ray_cannot_read_is_refused_at_once(file_table, source):
    with pytest.raises(InvalidArgument, match="limit="):
        source(file_table.pages(limit=3))
    with pytest.raises(UnknownColumn):
        source(file_table.pages(), columns=["urll"])
