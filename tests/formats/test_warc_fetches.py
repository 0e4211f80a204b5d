"""What WARC, ARC and HAR files say of fetches: fields of the records, and `metadata` records beside the responses.

The records are those of Heritrix (`via`, `hopsFromSeed`, `fetchTimeMs`, behind request and response), of Common Crawl
(`fetchTimeMs` alone), and of browsertrix (`WARC-Protocol`).
"""

from __future__ import annotations

import gzip
import io
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_warc import record, response
from warc_folder import write_warc
from warcio.archiveiterator import ArchiveIterator

import webtable
from nightly import examples
from webtable import Page
from webtable.formats import ReadReport, read_pages
from webtable.formats.read import parts_of

SITE = "https://example.com/"
FIELDS = "application/warc-fields"


def answer(name, **fields):
    return record(response(), SITE + name, WARC_Record_ID=f"<urn:{name}>", **fields)


def request(name, *of):
    head = b"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n"
    fields = {"WARC_Concurrent_To": f"<urn:{of[0]}>"} if of else {}
    return record(head, SITE + name, "request", "application/http", WARC_Record_ID=f"<urn:{name}-request>", **fields)


def metadata(name, block, of=None):
    named = ", ".join(f"<urn:{part}>" for part in (of or name,))
    return record(
        block, SITE + name, "metadata", FIELDS, WARC_Record_ID=f"<urn:{name}-metadata>", WARC_Concurrent_To=named
    )


def read(*records, **options):
    report = ReadReport()
    return list(read_pages(io.BytesIO(b"".join(records)), report=report, **options)), report


def fetch_of(page):
    return page.referrer, page.depth, page.duration


HERITRIX = b"via: https://example.com/menu\r\nhopsFromSeed: LLE\r\nfetchTimeMs: 87\r\ncharset: UTF-8\r\n"
FETCH = ("https://example.com/menu", 3, 87)
NOTHING = (None, None, None)


@pytest.mark.parametrize(
    "records",
    [
        [answer("a"), request("a", "a"), metadata("a", HERITRIX)],
        [request("a", "a"), answer("a"), metadata("a", HERITRIX)],
        [request("a"), answer("a"), metadata("a", HERITRIX)],
        [answer("a"), metadata("a", HERITRIX)],
        [answer("a"), metadata("a", HERITRIX), request("a", "a")],
        [metadata("a", HERITRIX), answer("a"), request("a", "a")],
        [metadata("a", HERITRIX), request("a", "a"), answer("a")],
        [request("a", "a"), metadata("a", HERITRIX), answer("a")],
        [answer("a"), *(record(b"x", kind="conversion") for _ in range(20)), metadata("a", HERITRIX)],
        [metadata("a", HERITRIX[:31]), answer("a"), request("a", "a"), metadata("a", HERITRIX[31:])],
    ],
)
def test_a_metadata_record_tells_the_fetch_of_the_response_that_it_names_wherever_it_stands(records):
    others = [answer("b"), request("b", "b")]

    pages, report = read(*others, *records, *others)

    assert [fetch_of(page) for page in pages if page.url == f"{SITE}a"] == [FETCH]
    assert [fetch_of(page) for page in pages if page.url == f"{SITE}b"] == [NOTHING] * 2
    assert (report.damaged_count, report.left_out["metadata"]) == (0, sum(b"-metadata>" in one for one in records))


def test_each_response_gets_its_own():
    records = [
        part
        for n in range(5)
        for part in (
            answer(f"{n}"),
            request(f"{n}", f"{n}"),
            metadata(f"{n}", b"fetchTimeMs: %d\r\nhopsFromSeed: %s\r\n" % (n, b"L" * n or b"R")),
        )
    ]

    pages, _ = read(*records)

    assert [page.duration for page in pages] == [0, 1, 2, 3, 4]
    assert [page.depth for page in pages] == [1, 1, 2, 3, 4]


def test_records_that_say_more_and_more_of_a_response_are_not_held():
    many = b"".join(metadata("a", b"fetchTimeMs: %d\r\n" % number) for number in range(20_000))
    source = io.BytesIO(answer("a") + request("a", "a") + many)

    page = next(read_pages(source))

    assert page.duration == 0
    assert source.tell() < len(many) / 2


def test_a_metadata_record_of_no_response_of_the_file_says_nothing_of_others():
    records = [answer("a"), request("a", "a"), metadata("a", HERITRIX, of="gone"), answer("b"), request("b", "b")]

    pages, report = read(*records)

    assert [fetch_of(page) for page in pages] == [NOTHING, NOTHING]
    assert report.left_out["metadata"] == 1


@pytest.mark.parametrize(
    ("block", "fetch"),
    [
        (b"seed: \r\nfetchTimeMs: 5\r\n", (None, 0, 5)),
        (b"hopsFromSeed: 12+" + b"L" * 50 + b"\r\n", (None, 62, None)),
        (b"fetchTimeMs: 333\ncharset-detected: UTF-8\n", (None, None, 333)),
        (b"via: dns:example.com\r\nfetchTimeMs: soon\r\nhopsFromSeed: +\r\n", NOTHING),
        (b"fetchTimeMs: -4\r\nhopsFromSeed: 99999999999+L\r\n", NOTHING),
        (b"fetchTimeMs: " + b"9" * 500, NOTHING),
        (b"\xff\xfe\0no fields", NOTHING),
        (b"", NOTHING),
        (b"x: y\r\n" * 200_000 + b"fetchTimeMs: 1\r\n", NOTHING),
    ],
)
def test_of_what_strangers_write_the_sound_fields_are_taken(block, fetch):
    (page,), report = read(answer("a"), request("a", "a"), metadata("a", block))

    assert fetch_of(page) == fetch
    assert report.damaged_count == 0


def test_reading_goes_on_from_every_place_with_the_same_fetches():
    parts = [
        gzip.compress(part)
        for n in range(6)
        for part in (answer(f"{n}"), request(f"{n}", f"{n}"), metadata(f"{n}", b"fetchTimeMs: %d\r\n" % n))
    ]
    data = b"".join(parts)
    report = ReadReport()
    places = [report.place for _ in read_pages(io.BytesIO(data), report=report)]

    rests = [[page.duration for page in read_pages(io.BytesIO(data), start=place)] for place in places]

    assert rests == [[*range(n + 1, 6)] for n in range(6)]


@given(st.permutations([(kind, name) for name in "abc" for kind in (answer, request, metadata)]))
@settings(max_examples=examples(100, by_night=2_000), deadline=None)
def test_in_any_order_of_records_reading_goes_on_from_every_place_with_the_same_pages(order):
    made = {
        answer: answer,
        request: lambda name: request(name, name),
        metadata: lambda name: metadata(name, b"fetchTimeMs: %d\r\n" % ord(name)),
    }
    data = b"".join(gzip.compress(made[kind](name)) for kind, name in order)
    report = ReadReport()
    read_so_far = [(report.place, page.url, page.duration) for page in read_pages(io.BytesIO(data), report=report)]
    whole = [page for _, *page in read_so_far]

    assert sorted(url for url, _ in whole) == [f"{SITE}{name}" for name in "abc"]
    assert {duration for url, duration in whole} <= {None, *map(ord, "abc")}
    assert all(duration in (None, ord(url[-1])) for url, duration in whole)
    for place, *_ in read_so_far:
        rest = [[page.url, page.duration] for page in read_pages(io.BytesIO(data), start=place)]
        assert rest == whole[len(whole) - len(rest) :]


def test_parts_of_a_file_keep_a_response_and_its_metadata_together(tmp_path):
    file = tmp_path / "crawl.warc.gz"
    names = [f"{n:02}" for n in range(12)]
    file.write_bytes(
        b"".join(
            gzip.compress(part)
            for name in names
            for part in (
                answer(name, WARC_Date=f"2026-03-01T10:20:{name}Z"),
                request(name, name),
                metadata(name, b"fetchTimeMs: %d\r\n" % int(name)),
            )
        )
    )

    parts, durations = [*parts_of(str(file), size=1)], []
    for part in parts:
        with part.opened() as source:
            durations += [page.duration for page in read_pages(source)]

    assert durations == [*range(12)]
    assert len(parts) > 6


def test_fields_of_a_record_name_the_server_and_the_protocol():
    (page, other), _ = read(
        answer("a", WARC_IP_Address="192.0.2.7", WARC_Protocol="h2\r\nWARC-Protocol: tls/1.3"),
        answer("b", WARC_IP_Address="no address", WARC_Protocol="dns"),
    )

    assert (page.server_address, page.protocol) == ("192.0.2.7", "h2")
    assert (other.server_address, other.protocol) == (None, None)


def test_a_record_of_an_arc_file_names_the_server():
    line = b"http://example.com/%s %s 20200102030405 text/html %d\n"
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>x"
    data = b"".join(
        line % (name, address, len(block)) + block + b"\n"
        for name, address in ((b"a", b"192.0.2.1"), (b"b", b"0.0.0.0"))
    )

    assert [page.server_address for page in read(data)[0]] == ["192.0.2.1", None]


MOMENT = datetime(2026, 3, 1, 10, 20, 30, tzinfo=UTC)
PAGES = [
    Page(url=f"{SITE}seed", body=b"<p>seed", depth=0, fetched_at=MOMENT, duration=5, attempts=1, priority=-2.5),
    Page(
        url=f"{SITE}a",
        body=b"<p>a",
        depth=62,
        fetched_at=MOMENT,
        referrer=f"{SITE}seed",
        server_address="192.0.2.1",
        protocol="http/1.1",
    ),
    Page(
        url=f"{SITE}b",
        body=b"<p>b",
        fetched_at=MOMENT,
        server_address="a\r\nb: c",
        protocol="spdy/3",
        referrer="x\ny: z",
    ),
    Page(url=f"{SITE}c", body=b"<p>c", fetched_at=MOMENT),
]
NAMES = ("depth", "priority", "referrer", "duration", "attempts", "server_address", "protocol")


def test_a_table_that_is_written_as_warc_files_and_read_again_knows_the_same_of_its_fetches(tmp_path):
    repeat = Page(url=f"{SITE}a", status=304, fetched_at=MOMENT + timedelta(days=1), duration=3)
    with webtable.open("memory:fetches-out", create=True, ttl=None) as table:
        for page in (*PAGES, repeat):
            table.put(page)
        write_warc(table, tmp_path / "out", webtable.ALL)
        (file,) = (tmp_path / "out").glob("*.warc.gz")

        pages = list(read_pages(file, types=None))

    written = {(page.url, page.fetched_at): [getattr(page, name) for name in NAMES] for page in (*PAGES, repeat)}
    assert {(page.url, page.fetched_at): [getattr(page, name) for name in NAMES] for page in pages} == written


def test_other_programs_find_the_fetch_where_heritrix_writes_it(tmp_path):
    with webtable.open("memory:fetches-others", create=True, ttl=None) as table:
        for page in PAGES:
            table.put(page)
        write_warc(table, tmp_path / "out", webtable.ALL)
    (file,) = (tmp_path / "out").glob("*.warc.gz")
    responses, blocks = {}, {}
    with file.open("rb") as stream:
        for one in ArchiveIterator(stream, check_digests="raise"):
            fields, block = one.rec_headers, one.content_stream().read()
            if one.rec_type == "response":
                responses[fields.get_header("WARC-Record-ID")] = fields
            elif one.rec_type == "metadata":
                assert fields.get_header("Content-Type") == FIELDS
                blocks[fields.get_header("WARC-Target-URI")] = (block, fields.get_header("WARC-Concurrent-To"))

    targets = {fields.get_header("WARC-Target-URI"): fields for fields in responses.values()}
    assert {url: block for url, (block, _) in blocks.items()} == {
        f"{SITE}seed": b"seed: \r\nfetchTimeMs: 5\r\n",
        f"{SITE}a": f"via: {SITE}seed\r\nhopsFromSeed: 12+{'L' * 50}\r\n".encode(),
        f"{SITE}b": b"via: x y: z\r\n",
    }
    assert all(responses[of].get_header("WARC-Target-URI") == url for url, (_, of) in blocks.items())
    assert targets[f"{SITE}a"].get_header("WARC-IP-Address") == "192.0.2.1"
    assert targets[f"{SITE}a"].get_header("WARC-Protocol") == "http/1.1"
    assert targets[f"{SITE}b"].get_header("WARC-IP-Address") is None
