"""Pages out of Parquet files."""

from __future__ import annotations

import io
import os
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import webtable
from webtable.errors import FormatError
from webtable.formats import Place, ReadLimits, ReadReport, read_pages
from webtable.page.parser_process import Unavailable
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


def test_a_row_that_is_no_page_is_reported_and_skipped(tmp_path):
    urls = ["https://example.com/", "no url", None, "https://example.com/pdf", "https://example.com/long"]
    path = parquet(
        tmp_path, url=urls, content_type=[None, None, None, "application/pdf", None], body=[""] * 4 + ["x" * 9_000]
    )
    report = ReadReport()

    found = list(read_pages(path, report=report, limits=ReadLimits(record=8_192)))

    assert [page.url for page in found] == ["https://example.com/"]
    assert [(one.offset, one.unit) for one in report.damaged] == [(2, "row"), (3, "row")]
    assert [(one.offset, one.unit) for one in report.over_limits] == [(5, "row")]
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


@pytest.mark.parametrize(
    "headers", ["Content-Type: text/html", {"X-A": {"b": "c"}}, [["a", "b", "c"]], [7], {"a": [[1]]}]
)
def test_headers_that_are_none_are_an_error(headers):
    with pytest.raises((TypeError, ValueError), match="header"):
        page_of({"url": "https://example.com/", "headers": headers})


def test_headers_are_read_as_other_tools_write_them():
    forms = [
        {"Set-Cookie": ["a=1", "b=2"], "Age": 12, "ETag": None},
        [["Set-Cookie", "a=1"], ["set-cookie", "b=2"], ["Age", "12"]],
        [{"name": "Set-Cookie", "value": "a=1"}, {"name": "Set-Cookie", "value": "b=2"}, {"key": "Age", "value": 12}],
    ]

    read = [page_of({"url": "https://example.com/", "headers": headers}).headers for headers in forms]

    assert all(dict(headers) == {"Set-Cookie": "a=1, b=2", "Age": "12"} for headers in read)


@pytest.mark.parametrize(
    "times",
    [
        pa.array([WHEN], pa.timestamp("ns", "UTC")),
        pa.array([WHEN], pa.timestamp("ms", "America/New_York")),
        pa.array([WHEN.replace(tzinfo=None)], pa.timestamp("ns")),
        pa.array(["2026-01-02T03:04:05.678Z"]),
        pa.array(["2026-01-02 03:04:05.678000123"]),
    ],
)
def test_times_of_other_tools_are_read_in_utc(times, tmp_path):
    path = parquet(tmp_path, url=["https://example.com/"], fetched_at=times)

    (page,) = read_pages(path)

    assert page.fetched_at == WHEN


def test_times_of_spark_and_hive_are_read(tmp_path):
    table = pa.table({"url": ["https://example.com/"], "fetched_at": pa.array([WHEN])})
    pq.write_table(table, tmp_path / "spark.parquet", use_deprecated_int96_timestamps=True)

    (page,) = read_pages(tmp_path / "spark.parquet")

    assert page.fetched_at == WHEN


def test_one_row_that_is_not_utf_8_spoils_no_other(tmp_path):
    titles = pa.array([b"one", b"\xff", b"three"]).view(pa.string())
    report = ReadReport()

    pages = list(
        read_pages(parquet(tmp_path, url=[f"https://example.com/{n}" for n in range(3)], title=titles), report=report)
    )

    assert [page.title for page in pages] == ["one", "three"]
    assert [(row.offset, row.unit) for row in report.damaged] == [(2, "row")]


def test_two_columns_of_one_field_are_a_typed_error(tmp_path):
    urls = pa.array(["https://example.com/"])

    for names in (["url", "url"], ["url", "fetched_at", "fetch_time"]):
        pq.write_table(pa.Table.from_arrays([urls] * len(names), names), tmp_path / "twice.parquet")
        with pytest.raises(FormatError, match="leave one out"):
            list(read_pages(tmp_path / "twice.parquet"))


def test_files_are_read_side_by_side(tmp_path):
    paths = [tmp_path / f"{name}.parquet" for name in "ab"]
    for path in paths:
        pq.write_table(pa.table({"url": [f"https://{path.stem}.example.com/{n}" for n in range(1_000)]}), path)

    pairs = list(zip(*map(read_pages, paths), strict=True))

    assert [tuple(page.url for page in pair) for pair in pairs] == [
        (f"https://a.example.com/{n}", f"https://b.example.com/{n}") for n in range(1_000)
    ]


def test_reading_that_is_given_up_leaves_nothing_for_the_next(tmp_path):
    path = parquet(tmp_path, url=[f"https://example.com/{n}" for n in range(1_000)])
    pages = read_pages(path)
    next(pages)

    pages.close()

    assert [page.url for page in read_pages(path)] == [f"https://example.com/{n}" for n in range(1_000)]


def test_a_child_reads_on_after_a_fork(tmp_path):
    path = parquet(tmp_path, url=[f"https://example.com/{n}" for n in range(1_000)])
    pages = read_pages(path)
    next(pages)

    child = os.fork()
    if not child:
        os._exit(0 if len(list(pages)) == 999 else 1)

    assert os.waitpid(child, 0)[1] == 0
    assert len(list(pages)) == 999


def test_where_there_is_no_second_process_files_are_read_in_the_first(tmp_path, monkeypatch):
    def none(*_, **__):
        raise Unavailable

    monkeypatch.setattr("webtable.formats.parquet.ParserProcess.ask", none)

    assert len(list(read_pages(parquet(tmp_path, url=["https://example.com/"] * 1_000)))) == 1_000


@pytest.mark.slow
def test_rows_whose_values_are_repeated_are_read_a_few_at_once(tmp_path):
    body = b"x" * 5_000_000
    bodies = pa.chunked_array([pa.array([body], pa.binary())] * 60)
    table = pa.table({"url": [f"https://example.com/{n}" for n in range(60)], "body": bodies})
    pq.write_table(table, tmp_path / "same.parquet", compression="zstd", dictionary_pagesize_limit=1 << 30)

    pages = list(read_pages(tmp_path / "same.parquet", extract=False, limits=ReadLimits(inflation=1 << 20)))

    assert [page.url for page in pages] == [f"https://example.com/{n}" for n in range(60)]
    assert {page.body for page in pages} == {body}


@pytest.mark.slow
def test_a_larger_limit_reads_a_larger_body(tmp_path):
    path = parquet(tmp_path, url=["https://example.com/", "https://example.com/b"], body=["x" * 50_000_000, "y"])
    report = ReadReport()

    within = [page.url for page in read_pages(path, extract=False, report=report)]
    all_of_them = [len(page.body) for page in read_pages(path, extract=False, limits=ReadLimits(record=1 << 26))]

    assert (within, report.skipped) == (["https://example.com/b"], {"record": 1})
    assert all_of_them == [50_000_000, 1]


def test_of_more_links_than_the_limit_the_first_are_read(tmp_path):
    links = [[f"https://example.com/{n}" for n in range(10)]]
    report = ReadReport()

    (page,) = read_pages(
        parquet(tmp_path, url=["https://example.com/"], outlinks=links), report=report, limits=ReadLimits(links=3)
    )

    assert (len(page.outlinks), report.shortened) == (3, {"links": 1})


def test_an_index_of_common_crawl_is_an_error_that_says_what_it_is(tmp_path):
    path = parquet(tmp_path, url=["https://example.com/"], warc_filename=["crawl.warc.gz"], warc_record_offset=[7])

    with pytest.raises(FormatError, match="names the WARC files"):
        list(read_pages(path))
