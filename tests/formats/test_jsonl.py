"""JSON Lines: every page comes back as it was, and a bad line costs only itself."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webtable.errors import FormatError
from webtable.formats import ReadLimits, ReadReport, page_to_json, read_pages
from webtable.page.json_lines import TIMES, values_of
from webtable.page.page import Page, with_header_fields
from webtable.page.parts import Link

FETCHED = datetime(2026, 3, 1, 10, 20, 30, 123_000, tzinfo=UTC)
times = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-5, minutes=-30))]))
counts = st.integers(0, 2**53)
pages = st.builds(
    Page,
    url=st.from_regex(r"https?://[a-z]{1,8}\.example/[a-z0-9?]{0,9}", fullmatch=True),
    body=st.none() | st.binary() | st.text().map(str.encode),
    title=st.none() | st.text(),
    status=st.integers(100, 599),
    content_type=st.none() | st.sampled_from(["text/html", "text/plain", "image/png"]),
    charset=st.none() | st.text(),
    headers=st.dictionaries(st.text(), st.text()),
    fetched_at=times,
    last_modified=st.none() | times,
    etag=st.none() | st.text(),
    digest=st.none() | st.text(),
    size=st.none() | counts,
    truncated=st.booleans(),
    language=st.none() | st.text(),
    language_detected=st.booleans(),
    redirect_to=st.none() | st.text(),
    changed_at=st.none() | times,
    change_count=counts,
    _content_at=st.none() | times,
    outlink_count=st.none() | counts,
    outlinks=st.none()
    | st.lists(st.builds(Link, st.text(), st.text(), st.text(), times=st.integers(1, 2**63 - 1))).map(tuple),
    same_as=st.none() | st.text(),
)


def read(data: bytes, **options):
    report = ReadReport()
    return list(read_pages(io.BytesIO(data), report=report, **options)), report


@pytest.mark.slow
@given(st.lists(pages, max_size=4))
def test_pages_come_back_as_they_were_written(written):
    lines = b"".join(page_to_json(page) + b"\n" for page in written)

    found, report = read(lines, types=None, extract=False)

    assert found == [with_header_fields(page) for page in written]
    assert report.pages == len(written)
    assert report.damaged_count == 0


def test_a_line_is_readable_json():
    page = Page(
        url="https://example.com/",
        body="<p>né".encode(),
        outlinks=(Link("https://a.example/", "A"),),
        fetched_at=FETCHED,
    )

    line = json.loads(page_to_json(page))

    assert line == {
        "url": "https://example.com/",
        "body": "<p>né",
        "fetched_at": "2026-03-01T10:20:30.123000Z",
        "outlinks": [["https://a.example/", "A", "", "a", "", 1]],
    }


def test_chosen_fields_are_all_there_and_no_others():
    page = Page(url="https://example.com/", body=b"\xff", fetched_at=FETCHED)

    line = json.loads(page_to_json(page, ["body", "title", "url"]))

    assert list(line.items()) == [("body_base64", "/w=="), ("title", None), ("url", "https://example.com/")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"not json", "malformed"),
        (b'{"body": "x"}', "url"),
        (b'{"url": "no url"}', "is not a URL"),
        (b'{"url": "https://example.com/", "status": "200"}', "status"),
        (b'{"url": "https://example.com/", "body_base64": "?"}', "body_base64"),
        (b'{"url": "https://example.com/", "title": "\xff"}', ""),
        (b"[]", "object"),
    ],
)
def test_a_bad_line_is_named_by_its_number_and_skipped(line, reason):
    good = b'{"url": "https://example.com/", "body": "<title>T</title>"}'

    found, report = read(b"\n".join([good, b"", line, good]))

    assert [page.title for page in found] == ["T", "T"]
    [damaged] = report.damaged
    assert (damaged.offset, damaged.unit) == (3, "line")
    assert reason in damaged.reason


@pytest.mark.parametrize("name", TIMES)
def test_a_time_without_a_zone_is_in_utc(name):
    values = {
        "url": "https://x.example/",
        "body": "",
        "fetched_at": "2026-03-01T10:20:30Z",
        name: "2026-03-01T09:08:07",
    }

    (page,), report = read(json.dumps(values).encode())

    assert page == read(json.dumps({**values, name: f"{values[name]}Z"}).encode())[0][0]
    assert values_of(page, [name])[name] == datetime(2026, 3, 1, 9, 8, 7, tzinfo=UTC)
    assert not report.damaged


def test_unknown_fields_are_ignored_and_counted():
    found, report = read(
        b'{"url": "https://example.com/", "crawler": "x"}\n{"url": "https://example.com/", "crawler": 1}'
    )

    assert len(found) == 2
    assert report.unknown_fields == {"crawler": 2}


def test_title_and_links_are_filled_in_where_they_are_missing():
    body = '"body": "<title>Found</title><a href=/x>x</a>"'
    data = f'{{"url": "https://example.com/", {body}}}\n{{"url": "https://example.com/", "title": "Given", {body}}}'

    found, _ = read(data.encode())

    assert [(page.title, len(page.outlinks)) for page in found] == [("Found", 1), ("Given", 1)]


def test_other_types_are_left_out_unless_asked_for():
    data = b'{"url": "https://example.com/", "content_type": "image/png; q=1"}'

    found, report = read(data)

    assert found == []
    assert report.left_out == {"image/png": 1}
    assert len(read(data, types={"*"})[0]) == 1


def test_a_cut_gzip_file_gives_its_lines_and_then_an_error(tmp_path):
    path = tmp_path / "pages.jsonl.gz"
    lines = b"".join(b'{"url": "https://example.com/%d"}\n' % n for n in range(3))
    path.write_bytes(gzip.compress(lines) + gzip.compress(lines)[:-9])

    found = []
    with pytest.raises(FormatError, match=r"pages\.jsonl\.gz.*ends inside a gzip member"):
        for page in read_pages(path):
            found.append(page)

    assert [page.url for page in found][:3] == [f"https://example.com/{n}" for n in range(3)]


def test_a_damaged_first_line_does_not_make_a_jsonl_file_a_warc(tmp_path):
    path = tmp_path / "pages.ndjson"
    path.write_bytes(b'oops\n{"url": "https://example.com/"}\n')
    report = ReadReport()

    assert len(list(read_pages(path, report=report))) == 1
    assert report.damaged_count == 1
    assert report.total_bytes == report.bytes_read == path.stat().st_size


def test_a_damaged_member_costs_the_lines_that_are_in_it():
    bodies = [hashlib.sha512(b"%d" % n).hexdigest().encode() for n in range(30)]
    lines = [b'{"url":"https://example.com/%d","body":"%s"}\n' % (n, body * 3) for n, body in enumerate(bodies)]
    text = b"".join(lines)
    members = [bytearray(gzip.compress(text[at : at + 2_000])) for at in range(0, len(text), 2_000)]
    members[1][300:304] = bytes(4)
    report = ReadReport()

    found = [page.url for page in read_pages(io.BytesIO(b"".join(map(bytes, members))), types=None, report=report)]

    ends = [sum(map(len, lines[: number + 1])) for number in range(30)]
    whole = [number for number, end in enumerate(ends) if end <= 2_000 or end - len(lines[number]) >= 4_000]
    assert found == [f"https://example.com/{number}" for number in whole]
    assert (report.damaged_count, report.bytes_skipped) == (1, len(members[1]))


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (r"cut \ud83d", "cut \ufffd"),
        (r"\uDE00 cut", "\ufffd cut"),
        (r"\ud83d\ude00 \ud83d", "\U0001f600 \ufffd"),
        (r"\\ud83d \ud83d", "\\ud83d \ufffd"),
    ],
)
@pytest.mark.parametrize("field", ["title", "body"])
def test_half_of_a_character_is_replaced_and_counted(field, text, read):
    line = f'{{"url":"https://example.com/","{field}":"{text}"}}\n'.encode()
    report = ReadReport()

    (page,) = read_pages(io.BytesIO(line * 1), report=report, extract=False)

    value = getattr(page, field)
    assert (value.decode() if isinstance(value, bytes) else value) == read
    assert (report.replaced, report.damaged_count) == (1, 0)


@pytest.mark.parametrize(
    "headers",
    ["x", 7, [7], ["ab"], {"a": {"b": "c"}}, [["a", "b", "c"]], {"a": [["b"]]}, True],
)
def test_a_line_with_odd_headers_is_named_and_the_others_are_read(headers):
    lines = [{"url": f"https://example.com/{n}", "title": "t"} for n in range(3)]
    lines[1]["headers"] = headers
    report = ReadReport()

    pages = list(read_pages(io.BytesIO(b"".join(json.dumps(row).encode() + b"\n" for row in lines)), report=report))

    assert [page.url for page in pages] == ["https://example.com/0", "https://example.com/2"]
    assert [(line.offset, line.unit) for line in report.damaged] == [(2, "line")]
    assert "header" in report.damaged[0].reason


def test_the_line_after_one_over_a_limit_is_read():
    long = b'{"url":"https://example.com/a","title":"%b"}' % (b"x" * 2_000)

    [found], report = read(long + b'\n{"url":"https://example.com/b"}\n', limits=ReadLimits(record=1_000))

    assert found.url == "https://example.com/b"
    assert report.skipped == {"record": 1}
