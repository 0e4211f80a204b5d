"""WARC records as others write them: headers, dates and status lines, and what follows a record of a wrong length.

The forms are those of ISO 28500 (WARC 1.0 and 1.1, annexes too), of ClueWeb09 and of browsertrix; warcio reads the same
of sound files.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import random
from datetime import UTC, datetime

import pytest
import zstandard
from warcio.archiveiterator import ArchiveIterator

from webtable._limits import ReadLimits
from webtable.errors import FormatError, InvalidArgument
from webtable.formats import ReadReport, read_pages

BODY = b"<title>A page</title><p>some words"
HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
DATE = "2026-03-01T10:20:30Z"
URL = "http://example.com/"


def record(
    body: bytes = BODY, url: str = URL, *, off: int = 0, line: str = "\r\n", http: bytes = HTTP, **fields
) -> bytes:
    """A response, or with `http=b""` a resource, whose Content-Length is *off* by so many bytes."""
    named = {
        "WARC-Type": "response" if http else "resource",
        "WARC-Date": DATE,
        "WARC-Target-URI": url,
        "Content-Type": "application/http" if http else "text/html",
        "Content-Length": str(len(http + body) + off),
    } | {name.replace("_", "-"): value for name, value in fields.items()}
    head = "".join(
        f"{name}:{value if value[:1] in ('', chr(13), chr(10)) else ' ' + value}{line}" for name, value in named.items()
    )
    return f"WARC/1.1{line}{head}{line}".encode() + http + body + 2 * line.encode()


def read(data: bytes, **options):
    report = ReadReport()
    return list(read_pages(io.BytesIO(data), report=report, **options)), report


def body_of(number: int) -> bytes:
    return b"<title>%d</title><p>" % number + b"word " * number


WAYS = {
    "plain": b"".join,
    "gzip": lambda parts: b"".join(map(gzip.compress, parts)),
    "one gzip member": lambda parts: gzip.compress(b"".join(parts)),
    "zstd": lambda parts: b"".join(map(zstandard.compress, parts)),
}


@pytest.mark.parametrize("http", [HTTP, HTTP.replace(b"\r\n", b"\n"), b""], ids=["CRLF", "LF", "resource"])
@pytest.mark.parametrize("line", ["\n", "\r\n"])
def test_lines_end_with_lf_or_crlf_and_an_empty_line_of_a_body_ends_no_header(line, http):
    bodies = [b"<title>a</title>\r\n\r\n<p>one two", b"<title>b</title>\n\n<p>three\r\n\r\n"]
    data = b"".join(record(body, f"{URL}{n}", line=line, http=http) for n, body in enumerate(bodies))

    pages, report = read(data)

    assert [page.body for page in pages] == bodies
    assert (report.damaged, report.unclosed) == ([], {})


@pytest.mark.parametrize("fold", ["\r\n ", "\r\n\t", "\n  "])
@pytest.mark.parametrize("field", ["WARC-Type", "WARC-Date", "WARC-Target-URI", "Content-Length"])
def test_the_value_of_a_field_may_begin_on_the_next_line(field, fold):
    data = record().replace(f"{field}: ".encode(), f"{field}:{fold}".encode())

    [page], _ = read(data)

    assert (page.url, page.body, page.fetched_at) == (URL, BODY, datetime(2026, 3, 1, 10, 20, 30, tzinfo=UTC))


# WARC 1.1, section 5.4; 24:00 and :60 are moments of ISO 8601 and UTC.
@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2016", "2016-01-01T00:00:00"),
        ("2016-09", "2016-09-01T00:00:00"),
        ("2016-09-19", "2016-09-19T00:00:00"),
        ("2016-09-19T17:20Z", "2016-09-19T17:20:00"),
        ("2016-09-19T17:20:24Z", "2016-09-19T17:20:24"),
        ("2016-09-19T17:20:24.1Z", "2016-09-19T17:20:24.100"),
        ("2016-09-19T17:20:24.123456789Z", "2016-09-19T17:20:24.123"),
        ("2016-09-19T17:20:24+02:00", "2016-09-19T15:20:24"),
        ("20160919172024", "2016-09-19T17:20:24"),
        ("2016-09-19T24:00:00Z", "2016-09-20T00:00:00"),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00"),
    ],
)
def test_a_date_may_be_of_any_granularity(text, moment):
    [page], _ = read(record(WARC_Date=text))

    assert page.fetched_at == datetime.fromisoformat(f"{moment}+00:00")


@pytest.mark.parametrize(
    "text", ["2009-03-65T08:43:19-0800", "2016-13", "2016-09-19T25:00:00Z", "20161", "0000", "-", ""]
)
def test_an_impossible_date_is_damage_unless_there_is_a_date_for_it(text):
    fallback = datetime(2009, 3, 6, tzinfo=UTC)

    nothing, report = read(record(WARC_Date=text))
    [page], counted = read(record(WARC_Date=text), date_fallback=fallback)

    assert (nothing, report.damaged_count, "--date-fallback" in report.damaged[0].reason) == ([], 1, True)
    assert (page.fetched_at, page.body, counted.redated, counted.damaged_count) == (fallback, BODY, 1, 0)


def test_a_date_for_records_without_one_has_a_timezone():
    with pytest.raises(InvalidArgument, match="date_fallback"):
        read_pages(io.BytesIO(), date_fallback=datetime(2009, 3, 6))


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("HTTP/1.x 200 OK", 200),  # ISO 28500, annex C.5
        ("HTTP/1.1 0 No Content", 0),  # browsertrix
        ("HTTP/1.1 000", 0),
        ("HTTP/2 200", 200),
        ("HTTP/2.0 404", 404),
        ("HTTP/3 200 ", 200),
        ("http/1.1 200 ok", 200),
        ("HTTP/1.1  200OK", 200),
        ("ICY 200 OK", 200),
        ("HTTP/1.1 99", None),
        ("HTTP/1.1 2000 OK", None),
        ("HTTP/1.1 OK", None),
    ],
)
def test_a_status_line_may_have_any_version_and_no_status(line, status):
    pages, report = read(record(http=f"{line}\r\nContent-Type: text/html\r\n\r\n".encode()))

    assert [page.status for page in pages] == ([] if status is None else [status])
    assert report.damaged_count == (status is None)


@pytest.mark.parametrize(
    ("written", "url"),
    [(f"<{URL}a>", f"{URL}a"), (f"{URL}a>", f"{URL}a%3E"), (f"{URL}a?b=<c>", f"{URL}a?b=%3Cc%3E")],
)
def test_only_a_pair_of_brackets_is_none_of_the_uri(written, url):
    [page], _ = read(record(url=written))

    assert page.url == url


@pytest.mark.parametrize("way", WAYS)
def test_the_version_may_be_in_lower_case(way):
    parts = [b"warc" + record(body_of(n), f"{URL}{n}")[4:] for n in range(3)]

    pages, report = read(WAYS[way](parts))

    assert [page.body for page in pages] == [body_of(n) for n in range(3)]
    assert report.damaged == []


@pytest.mark.parametrize("ends", [b"", b"\r", b"\r\n", b"\r\n\r"])
@pytest.mark.parametrize("every", [False, True])
def test_a_record_that_is_not_closed_is_read_and_its_file_named_once(ends, every, tmp_path):
    parts = [record(body_of(n), f"{URL}{n}") for n in range(5)]
    unclosed = range(5) if every else [4]
    path = tmp_path / "some.warc"
    path.write_bytes(b"".join(part[:-4] + ends if n in unclosed else part for n, part in enumerate(parts)))
    report = ReadReport()

    pages = list(read_pages(path, report=report))

    assert [page.body for page in pages] == [body_of(n) for n in range(5)]
    assert (report.unclosed, report.damaged) == ({str(path): len(unclosed)}, [])


def wrong(off: int | str, number: int = 1, count: int = 6, line: str = "\r\n") -> list[bytes]:
    """Records of which that with this *number* has a length that is *off*, or is another text."""
    other = {"Content_Length": off} if isinstance(off, str) else {}
    shift = off if isinstance(off, int) else 0
    return [
        record(body_of(n), f"{URL}{n}", line=line, **({"off": shift, **other} if n == number else {}))
        for n in range(count)
    ]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("line", ["\r\n", "\n"])
@pytest.mark.parametrize(
    "off", [-40, -9, -1, 1, 2, 3, 4, 5, 40, 300, 10**6, 10**8, 10**14, "", "many", "-5", "5, 5", "9" * 30]
)
def test_after_a_record_of_a_wrong_length_the_next_one_is_read(off, line, way):
    parts = wrong(off, line=line)
    data = WAYS[way](parts)
    pages, report = [], ReadReport()

    try:
        pages += read_pages(io.BytesIO(data), report=report)
    except FormatError:
        assert way != "plain"  # a large block of compressed data is not kept, to be gone back in
        assert (way, off > 1 << 20) == ("one gzip member", True)
        return

    assert [(page.url, page.body) for page in pages] == [(f"{URL}{n}", body_of(n)) for n in range(6) if n != 1]
    assert (report.records, report.damaged_count, report.damaged[0].url) == (6, 1, f"{URL}1")
    assert report.bytes_skipped == (len(parts[1]) if "gzip" not in way and way != "zstd" else report.bytes_skipped)
    assert report.bytes_skipped > 0


def test_of_a_record_without_a_length_in_its_header_the_bytes_are_counted():
    parts = wrong(0)
    parts[1] = parts[1].replace(b"Content-Length", b"Content-Lxngth")

    pages, report = read(b"".join(parts))

    assert (len(pages), report.damaged_count, report.bytes_skipped) == (5, 1, len(parts[1]))


def test_a_large_block_of_a_wrong_length_takes_no_record_with_it():
    film = record(bytes(3 << 20), f"{URL}film", http=HTTP.replace(b"text/html", b"video/mp4"), off=70_000)
    parts = [record(body_of(n), f"{URL}{n}") for n in range(200)]

    pages, report = read(parts[0] + film + b"".join(parts[1:]))

    assert [page.url for page in pages] == [f"{URL}{n}" for n in range(200)]
    assert (report.damaged_count, report.bytes_skipped) == (1, len(film))


def test_reading_goes_on_after_a_wrong_length_from_every_place():
    data = b"".join(wrong(-7, 2) + wrong(9, 3))
    whole = [page.body for page in read(data)[0]]

    for encode in (bytes, gzip.compress):
        report = ReadReport()
        places = [report.place for _ in read_pages(io.BytesIO(encode(data)), report=report)]
        rests = [[page.body for page in read_pages(io.BytesIO(encode(data)), start=place)] for place in places]

        assert [rest for rest in rests if rest != whole[len(whole) - len(rest) :]] == []
        assert [len(rest) for rest in rests] == sorted((len(rest) for rest in rests), reverse=True)


def digest_of(data: bytes, name: str = "sha1", encode=base64.b32encode) -> str:
    return f"{name}:{encode(hashlib.new(name, data).digest()).decode()}"


def test_a_block_whose_digest_is_right_is_read_whatever_follows():
    parts = [record(body_of(n), f"{URL}{n}", WARC_Block_Digest=digest_of(HTTP + body_of(n))) for n in range(4)]
    parts[1] += bytes(100)

    pages, report = read(b"".join(parts))

    assert len(pages) == 4
    assert (report.damaged_count, report.bytes_skipped) == (1, 100)


@pytest.mark.parametrize("off", [1, 2, 3, 4])
@pytest.mark.parametrize("proof", ["digest", "Content-Length"])
def test_a_length_that_is_too_long_by_what_closes_the_record_is_set_right_where_that_is_sure(proof, off):
    http = HTTP[:-2] + b"Content-Length: %d\r\n\r\n" % len(BODY) if proof == "Content-Length" else HTTP
    digest = {"WARC_Block_Digest": digest_of(HTTP + BODY)} if proof == "digest" else {}

    pages, report = read(record(http=http, off=off, **digest) + record(b"<p>x", f"{URL}x"))

    assert [page.body for page in pages] == [BODY, b"<p>x"]
    assert (report.unclosed.total(), report.damaged) == (1, [])


def test_reading_stays_linear_where_each_record_claims_to_be_large():
    count = 3_000
    data = b"".join(record(body_of(0), f"{URL}{n}", Content_Length="900000") for n in range(count))

    pages, report = read(data + record(body_of(1)))

    assert [page.body for page in pages] == [body_of(1)]
    assert (report.damaged_count, report.bytes_skipped) == (count, len(data))


@pytest.mark.parametrize("encode", [base64.b16encode, base64.b32encode, base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("name", ["md5", "sha1", "sha256", "sha512"])
@pytest.mark.parametrize("field", ["WARC_Block_Digest", "WARC_Payload_Digest"])
def test_digests_in_each_base_are_verified_and_wrong_ones_counted_by_their_field(field, name, encode):
    block = BODY if field == "WARC_Payload_Digest" else HTTP + BODY
    data = record(**{field: digest_of(block, name, encode)}) + record(
        b"<title>B", **{field: digest_of(block, name, encode)}
    )

    pages, report = read(data, verify_digests=True)

    assert [page.body for page in pages] == [BODY]
    assert (report.verified, report.mismatched) == (1, {field.replace("_", "-"): 1})
    assert field.replace("_", "-") in report.damaged[0].reason


def test_the_digest_of_a_payload_may_be_of_what_was_sent_or_of_its_chunks_and_a_part_has_none():
    packed = gzip.compress(BODY, mtime=0)
    sent = b"%x\r\n%s\r\n0\r\n\r\n" % (len(packed), packed)
    http = HTTP[:-2] + b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
    digests = [digest_of(payload) for payload in (sent, packed, BODY)]
    data = b"".join(record(sent, http=http, WARC_Payload_Digest=digest) for digest in digests)
    part = record(BODY[:20], WARC_Payload_Digest=digests[2], WARC_Truncated="length")
    unknown = record(WARC_Payload_Digest="xxh3:abc") + record(WARC_Payload_Digest="sha1:none")

    pages, report = read(data + part + unknown, verify_digests=True)

    assert (len(pages), report.verified, report.damaged) == (6, 3, [])


def test_a_record_over_a_limit_is_not_damaged_and_says_which_option_reads_it():
    large = record(b"<p>" + b"x" * 3_000_000, f"{URL}large")

    pages, report = read(large + record(), limits=ReadLimits(record=1_000_000), extract=False)
    all_pages, _ = read(large + record(), limits=ReadLimits(record=4_000_000), extract=False)

    assert (len(pages), len(all_pages), report.damaged_count, report.damaged) == (1, 2, 0, [])
    assert (report.skipped, report.good_records) == ({"record": 1}, 1)
    assert "--limit record=4MB" in report.over_limits[0].reason


def test_what_follows_a_header_over_its_limit_is_read():
    long = record(url=URL + "x" * 3_000)

    pages, report = read(long + record(), limits=ReadLimits(head=2_000))

    assert (len(pages), report.skipped, report.damaged_count) == (1, {"head": 1}, 0)


def warcio_bodies(data: bytes) -> dict[str, bytes]:
    read = {}
    for entry in ArchiveIterator(io.BytesIO(data)):
        read[entry.rec_headers.get_header("WARC-Target-URI")] = entry.content_stream().read()
    return read


@pytest.mark.parametrize("way", ["plain", "gzip"])
def test_no_flipped_bit_and_no_cut_gives_a_wrong_body_where_there_are_digests(way):
    chance = random.Random(7)
    bodies = {f"{URL}{n}": body_of(n) for n in range(6)}
    parts = [
        record(body, url, line=("\r\n", "\n")[n % 2], WARC_Block_Digest=digest_of(HTTP + body))
        for n, (url, body) in enumerate(bodies.items())
    ]
    data = WAYS[way](parts)
    assert warcio_bodies(data) == bodies

    for _ in range(120):
        changed = bytearray(data)
        changed[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        if chance.random() < 0.3:
            del changed[chance.randrange(len(changed)) :]
        report, pages = ReadReport(), []
        try:
            pages += read_pages(io.BytesIO(bytes(changed)), types=None, report=report, verify_digests=True)
        except FormatError:
            report.damaged_count += 1

        # A bit of a digest's name takes the digest away, one of a URI makes another page.
        wrong_bodies = [page.url for page in pages if page.body not in bodies.values()]
        assert len(wrong_bodies) <= (report.verified < len(pages))
        if len(pages) < 6 and len(changed) == len(data):
            assert report.damaged_count or report.left_out
