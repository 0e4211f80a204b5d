"""Files of under 1 MB that are made to fill the memory, or to take for ever: neither happens."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import sys

import pytest
import zstandard

from hostile import EMPTY_MEMBER, FILES, entry, line, page, record, response
from nightly import NIGHTLY, some
from parquet_bombs import PARQUET
from running_pieces import pieces_run_after
from webtable.errors import FormatError
from webtable.formats import ReadLimits, ReadReport, compressed, read_pages, read_report

READ = """
import json, time
from webtable.errors import FormatError
from webtable.formats import ReadLimits, ReadReport, read_pages
report = ReadReport()
try:
    for page in read_pages("hostile", report=report, limits=ReadLimits(seconds=SECONDS)):
        pass
except FormatError:
    pass
# Not `ru_maxrss`, which begins with what the parent had.
most = 0
with open("/proc/self/task/%d/children" % __import__("os").getpid()) as file:
    processes = ["self", *file.read().split()]
for process in processes:
    with open(f"/proc/{process}/status") as file:
        most += next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
over = sorted(report.skipped | report.unparsed | report.shortened)
print(json.dumps([most // 1024, over, time.process_time()]))
"""


@pytest.fixture(scope="module")
def run_piece():
    with pieces_run_after("webtable.formats", warnings="default") as run:
        yield run


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the memory of a process is read from /proc")
@pytest.mark.parametrize("name", [*some(list(FILES), 5), *some(list(PARQUET), 5)])
def test_a_file_below_1_mb_takes_no_more_than_500_mb_and_20_seconds(name, tmp_path, run_piece):
    made, counted_as = (FILES | PARQUET)[name]
    file = tmp_path / "hostile"
    file.write_bytes(made())
    assert file.stat().st_size < 1_000_000

    # Reading Excel files ends by its limit of time: by day after a third of it.
    seconds = 1.0 if name.startswith("an Excel") and not NIGHTLY else ReadLimits().seconds
    exit_code, wrote = run_piece(READ.replace("SECONDS", str(seconds)), tmp_path)

    assert exit_code == 0, wrote
    most, over, seconds = json.loads(wrote)
    assert most < 500
    assert seconds < 20
    assert over == ([counted_as] if counted_as else [])


def read(data: bytes, **limits):
    report = ReadReport()
    return list(read_pages(io.BytesIO(data), report=report, limits=ReadLimits(**limits))), report


GOOD = page(b"<title>T</title>", url="https://example.com/good")


@pytest.mark.parametrize(
    ("bad", "limit", "value"),
    [
        (page(b"x" * 2_000), "record", 1_000),
        (page(gzip.compress(b"x" * 2_000), "Content-Encoding: gzip"), "record", 1_000),
        (page(zstandard.compress(b"x" * 2_000), "Content-Encoding: zstd"), "record", 1_000),
        (page(b"x", "A: " + "b" * 1_000), "head", 500),
        (page(b"x", *["A: b"] * 20), "fields", 20),
        (page(EMPTY_MEMBER * 20 + b"\x1f\x8b", "Content-Encoding: gzip"), "members", 20),
        (page(zstandard.compress(b"") * 21, "Content-Encoding: zstd"), "members", 20),
    ],
)
def test_a_record_over_a_limit_is_skipped_named_and_counted(bad, limit, value):
    pages, report = read(bad + GOOD, **{limit: value})

    assert [page.title for page in pages] == ["T"]
    assert report.skipped == {limit: 1}
    assert (report.records, report.pages, report.damaged_count) == (2, 1, 0)
    assert f"--limit {limit}=" in report.over_limits[0].reason


@pytest.mark.parametrize(
    ("bad", "limit", "value"),
    [
        (line(b',"body":"' + b"x" * 100_000 + b'"'), "record", 50_000),
        (line(b',"title":"' + b"x" * 1_000 + b'"'), "head", 500),
        (line(b',"headers":{"a":"b","c":"d"}'), "fields", 1),
    ],
)
def test_a_line_over_a_limit_is_skipped_named_and_counted(bad, limit, value):
    pages, report = read(bad + line(b',"body":"<title>T"'), **{limit: value})

    assert [page.title for page in pages] == ["T"]
    assert report.skipped == {limit: 1}
    assert (report.records, report.pages, report.over_limits[0].offset) == (2, 1, 1)


def test_a_page_over_a_limit_of_parsing_is_passed_on_without_title_and_links():
    html = b"<title>T</title><a href=/x>x</a>" + b" " * 2_000

    [unparsed, parsed], report = read(page(html) + GOOD, parsed=1_000)

    assert (unparsed.body, unparsed.title, unparsed.outlinks) == (html, None, ())
    assert parsed.title == "T"
    assert (report.unparsed, report.skipped, report.damaged_count) == ({"parsed": 1}, {}, 0)


def test_of_more_links_than_the_limit_the_first_are_passed_on():
    data = page(b"<a href=/1>1</a><a href=/2>2</a>") + GOOD
    given = line(b',"outlinks":[["https://e.example/1","",""],["https://e.example/2","",""]]')

    [shortened, _], report = read(data, links=1)
    [given_shortened], given_report = read(given, links=1)

    assert len(shortened.outlinks) == len(given_shortened.outlinks) == 1
    assert report.shortened == given_report.shortened == {"links": 1}


def test_a_file_of_empty_members_is_damaged():
    data = gzip.compress(GOOD) + EMPTY_MEMBER * 21
    pages = []

    with pytest.raises(FormatError, match="over 20 empty gzip members in sequence"):
        pages.extend(read_pages(io.BytesIO(data), limits=ReadLimits(members=20)))
    assert read(gzip.compress(GOOD) + EMPTY_MEMBER * 20, members=20)[1].pages == 1


@pytest.mark.slow
def test_a_file_that_becomes_many_times_its_size_is_read_no_further():
    data = zstandard.compress(GOOD + page(bytes(300_000_000)))

    with pytest.raises(FormatError, match=r"decompresses to over 250 times its size: --limit inflation=") as raised:
        read(data)
    assert raised.value.limit == "inflation"


def test_a_report_lists_no_more_names_than_it_has_room_for():
    data = b"".join(record(b"", kind=f"kind-{number}") for number in range(1_200)) + record(b"", kind="x" * 5_000)

    _, report = read(data)

    assert len(report.left_out) == 1_001
    assert report.left_out.total() == 1_201
    assert report.left_out["others"] == 201


def test_a_damaged_record_is_listed_with_the_beginning_of_its_url():
    _, report = read(record(b"", f"https://example.com/{'x' * 100_000}"))

    assert len(report.damaged[0].url) == 1_000


def test_blank_lines_between_lines_are_counted():
    _, report = read(b"\n\r\n" + line() + b" \n\t\n\n" + b"bad\n" + b"\n" * 100_000 + b"worse")

    assert [damaged.offset for damaged in report.damaged] == [7, 100_008]


def test_what_is_left_out_by_its_type_needs_no_time_for_its_length():
    image = response(b"x" * 2_000_000).replace(b"text/html", b"image/png")

    pages, report = read(record(image) + GOOD)

    assert (len(pages), report.left_out) == (1, {"image/png": 1})


def test_a_file_of_members_inside_of_members_is_not_read_again_for_each_of_them(monkeypatch):
    # Each is copied as it is by the one before it, and none has a right checksum.
    monkeypatch.setattr(compressed, "_ALWAYS_AGAIN", 1 << 16)
    heads = [b"\x1f\x8b\x08" + bytes(7) + b"\x00" + (40_000).to_bytes(2, "little") + (25_535).to_bytes(2, "little")]
    data = gzip.compress(GOOD) + (heads[0] + b"WARC/1.1") * 50_000 + gzip.compress(GOOD)
    taken = 0

    def counting(self, size, take=compressed.CompressedBytes.take):
        nonlocal taken
        taken += size
        take(self, size)

    monkeypatch.setattr(compressed.CompressedBytes, "take", counting)
    with contextlib.suppress(FormatError):
        read(data)

    assert len(data) < taken < 3 * len(data)


IN_A_ROW = {
    "JSON Lines": (b"", b"{}\n", line(b',"body":"<title>T"')),
    "HAR": (b'{"log":{"entries":[', b"{},", entry(b"x") + b"]}}"),
    "WARC": (b"", record(b"no response"), page(b"x")),
    "WARC, wrong lengths": (b"", page(b"x").replace(b"Length: ", b"Length: 9"), page(b"x")),
}


@pytest.mark.parametrize("form", IN_A_ROW)
def test_reading_ends_after_many_damaged_records_in_a_row_and_not_after_fewer(form, monkeypatch):
    monkeypatch.setattr(read_report, "MAX_IN_A_ROW", 50)
    begin, damaged, sound = IN_A_ROW[form]
    report = ReadReport()

    with pytest.raises(FormatError, match="50 records in a row are damaged"):
        list(read_pages(io.BytesIO(begin + 51 * damaged + sound), report=report))

    assert report.damaged_count == 50
    assert report.good_records == 0
    assert len(list(read_pages(io.BytesIO(begin + 49 * damaged + sound)))) == 1
