"""Pages out of Parquet files."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import webtable
from webtable.errors import FormatError
from webtable.formats import Place, ReadLimits, ReadReport, read_pages
from webtable.repository.answers.arrow_pages import page_of

WHEN = datetime(2026, 1, 2, 3, 4, 5, 678_000, UTC)


def parquet(tmp_path, **columns):
    path = tmp_path / "pages.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def test_the_rows_of_a_file_are_pages(tmp_path):
    path = parquet(
        tmp_path,
        url=["https://example.com/", "https://example.com/b"],
        body=[b"<title>Home</title>", None],
        fetch_time=[WHEN, WHEN],
        status=pa.array([None, 404], pa.int16()),
        headers=[[("X-A", "1")], None],
    )
    report = ReadReport()

    first, second = read_pages(path, types=None, report=report)

    assert (first.url, first.title, first.fetched_at, first.status) == ("https://example.com/", "Home", WHEN, 200)
    assert dict(first.headers) == {"X-A": "1"}
    assert (second.status, second.body) == (404, None)
    assert (report.records, report.pages, report.damaged_count) == (2, 2, 0)


def test_a_row_that_is_no_page_is_reported_and_skipped(tmp_path, monkeypatch):
    monkeypatch.setattr("webtable.formats.parquet.ROWS_AT_ONCE", 1)
    urls = ["https://example.com/", "no url", None, "https://example.com/pdf", "https://example.com/long"]
    path = parquet(
        tmp_path, url=urls, content_type=[None, None, None, "application/pdf", None], body=[""] * 4 + ["x" * 9_000]
    )
    report = ReadReport()

    found = list(read_pages(path, report=report, limits=ReadLimits(record=8_192)))

    assert [page.url for page in found] == ["https://example.com/"]
    assert [(one.offset, one.unit) for one in report.damaged] == [(2, "row"), (3, "row"), (5, "row")]
    assert report.left_out == {"application/pdf": 1}
    assert report.skipped == {"record": 1}


def test_reading_goes_on_behind_a_place(tmp_path):
    path = parquet(tmp_path, url=[f"https://example.com/{n}" for n in range(5)])
    report = ReadReport()
    pages = read_pages(path, report=report, types=None)
    next(pages), next(pages)

    rest = list(read_pages(path, start=report.place, types=None))

    assert report.place == Place(0, 2)
    assert [page.url for page in rest] == [f"https://example.com/{n}" for n in range(2, 5)]


def test_a_damaged_file_or_one_without_urls_is_a_typed_error(tmp_path):
    path = parquet(tmp_path, url=["https://example.com/"] * 3_000)
    whole = path.read_bytes()

    for content in (whole[:-20], whole[: len(whole) // 2], b"PAR1" + bytes(100) + b"PAR1"):
        path.write_bytes(content)
        with pytest.raises(FormatError, match="Parquet"):
            list(read_pages(path))
    with pytest.raises(FormatError, match="'url'"):
        list(read_pages(parquet(tmp_path, title=["x"])))


def test_a_pipe_cannot_be_read_from_its_end(tmp_path):
    class Pipe(io.BytesIO):
        def seekable(self):
            return False

    content = parquet(tmp_path, url=["https://example.com/"]).read_bytes()

    with pytest.raises(FormatError, match="give it as a file"):
        list(read_pages(Pipe(content)))


def test_what_a_table_has_written_comes_back(tmp_path):
    made = webtable.Page(url="https://example.com/", body=b"<p>hi", fetched_at=WHEN, headers={"X": "y"}, status=404)
    with webtable.open(tmp_path / "a.db", create=True) as table:
        table.put(made)
        answer = table.pages("example.com")
        names = [*answer.to_dicts()[0], "body", "outlinks", "headers", "host"]
        answer.to_parquet(tmp_path / "a.parquet", names)

    (page,) = read_pages(tmp_path / "a.parquet", types=None)

    assert (page.url, page.body, page.fetched_at, dict(page.headers), page.status) == (
        made.url,
        made.body,
        WHEN,
        {"X": "y"},
        404,
    )


def test_a_damaged_row_group_is_reported_with_its_bytes_and_the_others_are_read(tmp_path):
    path = tmp_path / "pages.parquet"
    urls = [f"https://example.com/{number}" for number in range(30)]
    pq.write_table(pa.table({"url": urls, "body": [f"<p>{url}" * 20 for url in urls]}), path, row_group_size=10)
    chunks = [pq.ParquetFile(path).metadata.row_group(1).column(number) for number in range(2)]
    data = bytearray(path.read_bytes())
    at = chunks[1].dictionary_page_offset or chunks[1].data_page_offset
    data[at : at + chunks[1].total_compressed_size] = bytes(chunks[1].total_compressed_size)
    path.write_bytes(data)
    report = ReadReport()

    found = [page.url for page in read_pages(path, types=None, report=report)]

    assert found == urls[:10] + urls[20:]
    assert (report.damaged_count, report.damaged[0].offset, report.damaged[0].unit) == (1, 11, "row")
    assert report.bytes_skipped == sum(chunk.total_compressed_size for chunk in chunks)
    assert report.place == Place(0, 30)
    assert [page.url for page in read_pages(path, types=None, start=Place(0, 25))] == urls[25:]


def test_headers_that_are_none_are_an_error_that_names_them():
    with pytest.raises(ValueError, match=r"at `\$\.headers\[\.\.\.\]`"):
        page_of({"url": "https://example.com/", "headers": {"X-A": 1}})
