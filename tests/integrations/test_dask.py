"""Data frames of Dask, read by other processes: what `to_pandas` returns, in parts."""

from __future__ import annotations

from collections.abc import Iterator

import dask
import dask.dataframe
import pytest
from pandas.testing import assert_frame_equal

import webtable
from webtable import ALL, KeyedTable, Page, WebTable
from webtable.errors import InvalidArgument, UnknownColumn
from webtable.integrations.dask import read_pages
from webtable.rowkey import CompositeKey, UInt

COLUMNS = ["url", "status", "title", "fetched_at", "body", "outlinks", "text"]


@pytest.fixture
def table(tmp_path) -> Iterator[WebTable]:
    with webtable.open(tmp_path / "crawl.db", create=True) as table:
        yield table


@pytest.fixture(params=["table", pytest.param("hbase_table", marks=pytest.mark.hbase)])
def crawl(request: pytest.FixtureRequest) -> WebTable:
    """A table with pages of nine hosts, whose bodies are not text."""
    table = request.getfixturevalue(request.param)
    with table.writer() as writer:
        for number in range(60):
            body = b"<title>%d</title><p>\xff\x00<a href=/%d>next</a>" % (number, number + 1)
            status = 404 if number % 5 == 0 else 200
            url = f"https://h{number % 9}.example/{number}"
            writer.put(Page(url=url, status=status, body=body, content_type="text/html"))
    return table


@pytest.fixture
def here() -> Iterator[None]:
    """Tasks run in the process of the test."""
    with dask.config.set(scheduler="synchronous"):
        yield


def in_order(frame):
    return frame.sort_values("url").reset_index(drop=True)


@pytest.mark.slow
def test_two_processes_read_what_one_does_with_the_same_types(crawl):
    answer = crawl.pages(ALL, columns=COLUMNS)

    frame = read_pages(answer, npartitions=5)

    whole = answer.to_pandas()
    assert frame.npartitions == 5
    assert frame.dtypes.to_dict() == whole.dtypes.to_dict()
    with dask.config.set(scheduler="processes", num_workers=2):
        assert_frame_equal(in_order(frame.compute()), in_order(whole))


@pytest.mark.usefixtures("here")
def test_any_answer_and_the_named_columns_are_read(crawl):
    for answer in (crawl.pages(ALL, status=404), crawl.hosts(), crawl.edges(ALL), crawl.fetched()):
        frame = read_pages(answer, npartitions=3)

        whole = answer.to_pandas()
        assert len(frame) == len(whole) > 0
        assert frame.compute().dtypes.to_dict() == whole.dtypes.to_dict()
    named = read_pages(crawl.pages(ALL), 3, columns=["url", "text", "body"])
    assert_frame_equal(in_order(named.compute()), in_order(crawl.pages(ALL).to_pandas(["url", "text", "body"])))


@pytest.mark.usefixtures("here")
def test_columns_that_a_program_does_not_use_are_not_read(table, monkeypatch):
    table.put(Page(url="https://a.example/", status=200, body=b"x"))
    asked = []
    to_pandas = webtable.answers.Results.to_pandas

    def listening(self, columns=None):
        asked.append(columns)
        return to_pandas(self, columns)

    frame = read_pages(table.pages(columns=["url", "status", "body"]), 1)
    monkeypatch.setattr(webtable.answers.Results, "to_pandas", listening)

    assert frame[frame.status == 200].url.compute().tolist() == ["https://a.example/"]
    assert sorted(asked[0]) == ["status", "url"]


@pytest.mark.usefixtures("here")
def test_a_frame_that_is_made_later_has_what_was_stored_since(table):
    table.put(Page(url="https://a.example/", title="before"))
    before = read_pages(table.pages(), 1).persist()
    table.put(Page(url="https://a.example/", title="after"))

    after = read_pages(table.pages(), 1)

    assert before.title.compute().tolist() == ["before"]
    assert after.title.compute().tolist() == ["after"]
    assert {*before.__dask_graph__()}.isdisjoint(after.__dask_graph__())


@pytest.mark.usefixtures("here")
def test_a_scan_of_records_is_a_frame_too(tmp_path):
    with KeyedTable.open(tmp_path / "t.db", CompositeKey(UInt("id", 4)), create=True) as table:
        table.put_many(({"id": number}, {"d:x": b"%d" % number}) for number in range(20))

        frame = read_pages(table.scan(ALL), 3)

        assert frame.cells.compute().tolist() == [[("d:x", b"%d" % number)] for number in range(20)]


@pytest.mark.usefixtures("here")
def test_nothing_is_a_frame_without_rows(table):
    frame = read_pages(table.pages(), 3)

    assert len(frame) == 0
    assert frame.compute().dtypes.to_dict() == table.pages().to_pandas().dtypes.to_dict()


def test_what_cannot_be_read_is_refused_at_once(table):
    with pytest.raises(InvalidArgument, match="limit="):
        read_pages(table.pages(limit=3), 2)
    with pytest.raises(UnknownColumn):
        read_pages(table.pages(), 2, columns=["urll"])
