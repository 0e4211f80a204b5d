"""WARC files: what becomes a page, and that a damaged or cut file never passes for a whole one."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import random
import sys
import tracemalloc
import zlib
from datetime import UTC, datetime

import brotli
import pytest
import zstandard
from fastwarc.stream_io import Lz4Writer
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from webtable.errors import FormatError, InvalidArgument
from webtable.formats import ReadReport, read_pages

HTML = b"<!doctype html><title>A page</title><a href=/next>next</a>" + b"<p>some words " * 200
URL = "https://example.com/page"


def record(
    block: bytes,
    url: str = URL,
    kind: str = "response",
    media: str = "application/http; msgtype=response",
    **extra: str,
) -> bytes:
    fields = {
        "WARC-Type": kind,
        "WARC-Target-URI": url,
        "WARC-Date": "2026-03-01T10:20:30.123456Z",
        "WARC-Record-ID": "<urn:uuid:12345678-1234-1234-1234-123456789abc>",
        "Content-Type": media,
        **{name.replace("_", "-"): value for name, value in extra.items()},
        "Content-Length": str(len(block)),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return b"WARC/1.1\r\n" + head.encode() + b"\r\n" + block + b"\r\n\r\n"


def response(body: bytes = HTML, *headers: str, status: str = "200 OK", media: str | None = "text/html") -> bytes:
    lines = [f"HTTP/1.1 {status}", *([f"Content-Type: {media}"] if media else []), *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def read(data: bytes, **options):
    report = ReadReport()
    return list(read_pages(io.BytesIO(data), report=report, **options)), report


def read_until_damaged(data: bytes):
    pages = []
    with pytest.raises(FormatError) as caught:
        for page in read_pages(io.BytesIO(data)):
            pages.append(page)
    return pages, str(caught.value)


def chunked(body: bytes, size: int = 700) -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def raw_deflate(body: bytes) -> bytes:
    deflater = zlib.compressobj(wbits=-15)
    return deflater.compress(body) + deflater.flush()


ENCODED = {
    "gzip": gzip.compress(HTML),
    "x-gzip": gzip.compress(HTML),
    "deflate": zlib.compress(HTML),
    "br": brotli.compress(HTML),
    "zstd": zstandard.compress(HTML),
}


def test_a_response_becomes_a_page_with_its_headers_times_title_and_links():
    block = response(
        HTML,
        "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT",
        'ETag: "x"',
        "Vary: a",
        "vary: b",
        media="Text/HTML; charset=Latin1",
    )

    [page], report = read(record(block))

    assert (page.url, page.status, page.body, page.title) == (URL, 200, HTML, "A page")
    assert (page.content_type, page.charset, page.etag) == ("text/html", "windows-1252", '"x"')
    assert page.headers["vary"] == "a, b"
    assert page.fetched_at == datetime(2026, 3, 1, 10, 20, 30, 123_000, tzinfo=UTC)
    assert page.last_modified == datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)
    assert [link.url for link in page.outlinks] == ["https://example.com/next"]
    assert (page.size, page.digest, page.same_as) == (None, None, None)
    assert (report.records, report.pages, report.damaged_count) == (1, 1, 0)


# warcio leaves its temporary files to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_warcio_writes_is_read():
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=True)
    headers = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
    writer.write_record(writer.create_warcinfo_record("a.warc.gz", {"software": "warcio"}))
    writer.write_record(writer.create_warc_record(URL, "response", payload=io.BytesIO(HTML), http_headers=headers))
    writer.write_record(
        writer.create_warc_record("dns:example.com", "response", payload=io.BytesIO(b"20260301\nA 1.1.1.1"))
    )

    pages, report = read(out.getvalue(), verify_digests=True)

    assert [page.body for page in pages] == [HTML]
    assert report.left_out == {"warcinfo": 1, "dns": 1}
    assert report.bytes_read == len(out.getvalue())


@pytest.mark.parametrize("name", ENCODED)
@pytest.mark.parametrize("transfer", [True, False])
def test_encodings_are_taken_off_the_body(name, transfer):
    body = chunked(ENCODED[name]) if transfer else ENCODED[name]
    block = response(body, f"Content-Encoding: {name}", *["Transfer-Encoding: chunked"] * transfer)

    [page], _ = read(record(block))

    assert page.body == HTML


def test_raw_deflate_several_encodings_and_chunk_extensions_are_taken_off():
    twice = gzip.compress(brotli.compress(HTML))
    extended = chunked(HTML).replace(b"2bc\r\n", b"2BC;name=value\r\n", 1)
    data = (
        record(response(raw_deflate(HTML), "Content-Encoding: deflate"))
        + record(response(twice, "Content-Encoding: br, gzip"))
        + record(response(twice, "Content-Encoding: br", "Content-Encoding: gzip"))
        + record(response(extended, "Transfer-Encoding: chunked"))
    )

    pages, _ = read(data)

    assert [page.body for page in pages] == [HTML] * 4


def test_a_body_that_was_stored_decoded_is_taken_as_it_is():
    block = response(HTML, "Content-Encoding: gzip", "Transfer-Encoding: chunked", "Content-Length: 99")

    [page], _ = read(record(block))

    assert page.body == HTML


@pytest.mark.parametrize("name", ENCODED)
def test_of_an_encoding_that_breaks_off_what_was_decoded_is_kept_and_marked(name):
    encoded = ENCODED[name]
    cuts = [record(response(encoded[:size], f"Content-Encoding: {name}")) for size in range(1, len(encoded))]

    pages, report = read(record(response()) + b"".join(cuts))

    # Of a few bytes nobody knows whether they are encoded.
    assert all(HTML.startswith(page.body) or page.body == encoded[: len(page.body)] for page in pages)
    assert [page.truncated for page in pages] == [False] + [True] * len(cuts)
    assert report.truncated == {name: len(cuts)}
    assert (len(pages[-1].body) > 0 or name == "zstd", report.damaged_count) == (True, 0)


@pytest.mark.slow
def test_a_chunked_body_cut_anywhere_keeps_the_data_of_its_chunks():
    encoded = chunked(HTML)
    sizes = range(5, len(encoded) - 4)

    pages, report = read(b"".join(record(response(encoded[:size], "Transfer-Encoding: chunked")) for size in sizes))

    assert all(HTML.startswith(page.body) and page.truncated for page in pages)
    assert pages[-1].body == HTML
    assert (len(pages), report.truncated, report.damaged_count) == (len(sizes), {"chunked": len(sizes)}, 0)


def damaged(encoded: bytes) -> bytes:
    middle = len(encoded) // 2
    return encoded[:middle] + b"\xff" * 40 + encoded[middle + 40 :]


LONG = b"".join(b"line %d of a text, %x;\n" % (n, n * n * 7_919) for n in range(2_000))
JSON = b'{"a": 1}'
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


@pytest.mark.parametrize(
    ("encode", "name"),
    [
        (gzip.compress, "gzip"),
        (zlib.compress, "deflate"),
        (brotli.compress, "br"),
        (zstandard.ZstdCompressor().compress, "zstd"),
    ],
)
def test_of_an_encoding_that_is_damaged_what_comes_before_is_kept(encode, name):
    # Several blocks: of one that is not whole zstd gives nothing.
    text = b"".join(b"line %d of a text, %x;\n" % (n, n * n * 7_919) for n in range(20_000))

    [page], report = read(
        record(response(damaged(encode(text)), f"Content-Encoding: {name}", media="text/plain")), types=None
    )

    start = len(text) // 10
    assert (page.body[:start], page.truncated) == (text[:start], True)
    assert report.truncated == {name: 1}


# What warcio gives is the same but where a remark says so.
@pytest.mark.parametrize(
    ("headers", "body", "kept", "marked"),
    [
        *(
            ([f"Content-Encoding: {name}"], body, body, True)
            for name in ENCODED
            for body in (LONG, JSON, PNG, b"hello")
        ),
        *(([f"Content-Encoding: {name}"], LONG, LONG, True) for name in ("8bit", "aws-chunked", "windows-1251", "dcz")),
        *(([f"Content-Encoding: {name}"], LONG, LONG, False) for name in ("identity", "", "UTF-8", "none")),
        (["Content-Encoding: GZIP"], gzip.compress(LONG), LONG, False),
        (["Content-Encoding: X-GZip"], gzip.compress(LONG), LONG, False),  # warcio: the bytes as they are
        (["Content-Encoding: gzip"], gzip.compress(LONG) + b"padding", LONG, False),
        (["Content-Encoding: gzip"], gzip.compress(LONG)[:-8] + bytes(8), LONG, True),  # warcio: as they are
        # Several encodings: warcio decodes none.
        (["Content-Encoding: gzip, gzip"], gzip.compress(gzip.compress(LONG)), LONG, False),
        (["Content-Encoding: gzip, gzip"], gzip.compress(LONG), LONG, True),
        (["Content-Encoding: gzip, br"], gzip.compress(LONG), LONG, True),
        (["Content-Encoding: 8bit, gzip"], gzip.compress(LONG), LONG, True),
        (["Transfer-Encoding: chunked"], b"42", b"42", True),
        (["Transfer-Encoding: chunked"], b"0", b"0", True),
        (["Transfer-Encoding: chunked"], b"face\r\nbook\r\n", b"book\r\n", True),
        (["Transfer-Encoding: chunked"], b"ffff\r\nabc", b"abc", True),
        (["Transfer-Encoding: chunked"], b"fffffffffffffff\r\nabc", b"abc", True),  # warcio: as they are
        (["Transfer-Encoding: chunked"], b"3\r\nabcdef", b"3\r\nabcdef", True),  # warcio loses two bytes
        (["Transfer-Encoding: chunked"], b"3\r\nabc\r\nxyz", b"abc", True),  # warcio: and the rest as it is
        (["Transfer-Encoding: chunked"], b"3\nabc\n0\n\n", b"abc", False),  # warcio: as they are
        (["Transfer-Encoding: Chunked"], b"3;a=b\r\nabc\r\n0\r\nX: y\r\n\r\n", b"abc", False),
        (["Transfer-Encoding: chunked"], JSON, JSON, False),
        (["Transfer-Encoding: chunked"], b"-3\r\nabc", b"-3\r\nabc", False),
        (["Transfer-Encoding: chunked", "Content-Encoding: gzip"], gzip.compress(LONG), LONG, False),
        (["Transfer-Encoding: gzip, chunked"], chunked(gzip.compress(LONG)), LONG, False),
        (["Content-Length: 999999"], LONG, LONG, True),
        (["Content-Length: 999999", "Content-Length: 999999"], LONG, LONG, True),
        (["Content-Length: 5"], LONG, LONG, False),
        (["Content-Length: -5"], LONG, LONG, False),
        (["Content-Length: many"], LONG, LONG, False),
        (["Content-Length: 10"], b"", b"", True),
    ],
)
def test_a_body_that_disagrees_with_its_headers_is_kept_and_marked(headers, body, kept, marked):
    [page], report = read(record(response(body, *headers, media="text/plain")))

    assert (page.body, page.truncated) == (kept, marked)
    assert (report.truncated.total(), report.damaged_count) == (marked, 0)


def test_a_body_in_zstd_with_a_dictionary_that_is_not_there_is_kept_as_it_is():
    dictionary = zstandard.train_dictionary(2_000, [LONG[at : at + 500] for at in range(0, len(LONG) - 500, 50)])
    body = zstandard.ZstdCompressor(dict_data=dictionary).compress(LONG)

    [page], report = read(record(response(body, "Content-Encoding: zstd", media="text/plain")))

    assert (page.body, page.truncated, report.truncated) == (body, True, {"zstd": 1})


def test_a_short_error_page_is_marked_and_one_without_a_body_is_not():
    short = record(response(HTML[:100], "Content-Length: 999", status="404 Not Found"))
    empty = record(response(b"", "Content-Length: 999", status="404 Not Found"))

    pages, _ = read(short + empty)

    assert [page.truncated for page in pages] == [True, False]


def test_a_body_that_was_stored_without_its_chunks_is_read_as_it_is():
    image = b"\x89PNG\r\n\x1a\n" + bytes(20)
    chunkless = record(response(image, "Content-Type: image/png", "Transfer-Encoding: chunked"))

    [page], report = read(chunkless, types=None)

    assert (page.body, page.truncated, report.damaged_count) == (image, False, 0)


def test_a_body_shorter_than_announced_or_cut_by_the_crawler_is_marked_and_counted_by_what_says_so():
    short = response(HTML[:100], f"Content-Length: {len(HTML)}")
    half_gzip = response(ENCODED["gzip"][:-20], "Content-Encoding: gzip")

    pages, report = read(
        record(short) + record(short, WARC_Truncated="length") + record(half_gzip, WARC_Truncated="time")
    )

    assert [page.truncated for page in pages] == [True, True, True]
    assert pages[0].body == pages[1].body == HTML[:100]
    assert HTML.startswith(pages[2].body)
    assert report.truncated == {"Content-Length": 1, "WARC-Truncated": 2}


def test_a_redirect_knows_where_it_leads():
    found = record(response(b"", "Location: ../b c#top", status="301 Moved", media=None), url="https://example.com/x/a")
    lost = record(response(b"", "Location: http://[", status="302 Found", media="image/png"))

    pages, _ = read(found + lost)

    assert [(page.status, page.redirect_to) for page in pages] == [(301, "https://example.com/b%20c"), (302, None)]


def test_types_decide_what_passes_and_the_rest_is_counted():
    data = b"".join(
        [
            record(response()),
            record(response(b"words", media="text/plain")),
            record(response(b"\x89PNG", media="image/png")),
            record(response(b"\x89PNG", media="image/png", status="404 Not Found")),
            record(response(b"gone", media="text/html", status="410 Gone")),
            record(response(b"", media=None, status="404 Not Found")),
            record(response(HTML, media=None)),
            record(response(b"\x00\x01", media=None)),
            record(b"", kind="metadata"),
        ]
    )

    default, report = read(data)
    everything, _ = read(data, types=None)
    images, _ = read(data, types={"image/png"})

    assert [page.status for page in default] == [200, 200, 410, 404, 200]
    assert report.left_out == {"image/png": 2, "unknown": 1, "metadata": 1}
    assert default[-1].content_type == "text/html"
    assert len(everything) == 8
    assert [page.status for page in images] == [200, 404, 404]


def test_types_given_as_one_string_are_refused():
    with pytest.raises(InvalidArgument, match="text/html"):
        read_pages(io.BytesIO(), types="text/html")


def test_revisits_and_304s_say_whose_content_they_repeat():
    other = "https://example.com/other"
    same_payload = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    not_modified = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
    data = b"".join(
        [
            record(response(b""), kind="revisit", WARC_Profile=same_payload, WARC_Refers_To_Target_URI=other),
            record(b"", kind="revisit", WARC_Profile=same_payload),
            record(b"", kind="revisit", WARC_Profile=not_modified, WARC_Refers_To_Target_URI=other),
            record(response(b"", status="304 Not Modified", media=None)),
            record(response(b"", media="image/png"), kind="revisit", WARC_Profile=same_payload),
        ]
    )

    pages, report = read(data)

    assert [(page.status, page.same_as) for page in pages] == [(200, other), (200, URL), (304, URL), (304, URL)]
    assert {(page.body, page.outlinks) for page in pages} == {(None, None)}
    assert report.left_out == {"image/png": 1}


def test_a_resource_record_is_a_page():
    [page], report = read(record(HTML, kind="resource", media="text/html") + record(b"x", kind="resource", media="a/b"))

    assert (page.status, page.body, page.title) == (200, HTML, "A page")
    assert report.left_out == {"a/b": 1}


@pytest.mark.parametrize(
    ("damaged", "reason"),
    [
        (record(b"not http at all"), "no HTTP response"),
        (record(response(), url="http://exa mple.com/"), "is not a URL"),
        (record(response(), WARC_Date="yesterday"), "WARC-Date 'yesterday'"),
        (record(response(), url=""), "no WARC-Target-URI"),
        (record(response(), WARC_Segment_Number="1"), "segments"),
    ],
)
def test_a_damaged_record_is_named_and_skipped(damaged, reason):
    pages, report = read(record(response()) + damaged + record(response()))

    assert len(pages) == 2
    assert report.damaged_count == 1
    assert reason in report.damaged[0].reason


@pytest.mark.parametrize("encode", [bytes, gzip.compress, zstandard.compress], ids=["plain", "gzip", "zstd"])
def test_a_file_cut_anywhere_gives_its_whole_pages_and_then_an_error(encode):
    members = [encode(record(response(HTML[: 60 + 40 * n]), url=f"{URL}/{n}")) for n in range(3)]
    data = b"".join(members)
    borders = [sum(map(len, members[:n])) for n in range(4)]
    whole = [page.body for page in read(data)[0]]

    for size in range(len(data) + 1):
        complete = sum(size >= border for border in borders) - 1
        # A plain record is whole four bytes before its border, which only closes it.
        unclosed = [border for border in borders[1:] if encode is bytes and border - 4 <= size < border]
        if size in borders or unclosed:
            pages, report = read(data[:size])
            assert [page.body for page in pages] == whole[: complete + len(unclosed)]
            assert report.unclosed.total() == len(unclosed)
            continue
        pages, message = read_until_damaged(data[:size])
        bodies = [page.body for page in pages]
        assert bodies == whole[:complete]
        assert f"after {len(bodies)} good records" in message


def test_a_cut_is_noticed_when_all_records_share_one_gzip_member():
    data = gzip.compress(b"".join(record(response(HTML + bytes([n])), url=f"{URL}/{n}") for n in range(5)))
    whole = [page.body for page in read(data)[0]]

    for size in range(1, len(data)):
        pages, _ = read_until_damaged(data[:size])
        bodies = [page.body for page in pages]
        assert bodies == whole[: len(bodies)]


@pytest.mark.parametrize(
    "encode",
    [lambda data: gzip.compress(data, mtime=0), zstandard.ZstdCompressor(write_checksum=True).compress],
    ids=["gzip", "zstd"],
)
def test_a_flipped_byte_in_a_member_costs_its_page_alone_and_never_gives_a_wrong_one(encode):
    members = [encode(record(response(HTML), url=f"{URL}/{n}")) for n in range(3)]
    start, end = len(members[0]), len(members[0]) + len(members[1])
    right = [(f"{URL}/0", HTML), (f"{URL}/2", HTML)]

    for at in range(start + 10, end):
        data = bytearray(b"".join(members))
        data[at] ^= 0x55
        pages, report = read(bytes(data))

        assert [(page.url, page.body) for page in pages] == right
        assert (report.records, report.damaged_count, report.bytes_skipped) == (3, 1, len(members[1]))
        assert (report.damaged[0].offset, f"{len(members[1]):,} bytes skipped" in report.damaged[0].reason) == (
            start,
            True,
        )


@pytest.mark.parametrize("at", [0, 2])
def test_a_first_or_last_member_that_is_damaged_takes_no_other_with_it(at):
    members = [gzip.compress(record(response(HTML), url=f"{URL}/{n}")) for n in range(3)]
    members[at] = members[at][:40] + b"\0\0\0\0" + members[at][44:]
    report = ReadReport()
    pages = []

    # Where no member follows that can be read, nobody knows whether the file is cut.
    with pytest.raises(FormatError, match="after 2 good records") if at == 2 else contextlib.nullcontext():
        pages += read_pages(io.BytesIO(b"".join(members)), report=report)

    assert [page.url for page in pages] == [f"{URL}/{n}" for n in range(3) if n != at]
    assert report.bytes_skipped == (len(members[0]) if at == 0 else 0)


def test_what_does_not_begin_with_a_record_in_a_file_of_members_is_skipped():
    members = [gzip.compress(record(response(HTML), url=f"{URL}/{n}")) for n in range(3)]
    strange = gzip.compress(b"no record") + gzip.compress(b"nor this")

    pages, report = read(members[0] + strange + members[1] + members[2])

    assert [page.url for page in pages] == [f"{URL}/{n}" for n in range(3)]
    assert (report.damaged_count, report.bytes_skipped) == (1, len(strange))


def test_a_block_that_does_not_match_its_digest_is_damaged_when_digests_are_verified():
    block = response()
    right = "sha256:" + hashlib.sha256(block).hexdigest()
    wrong = "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    data = record(block, WARC_Block_Digest=right) + record(block, WARC_Block_Digest=wrong)

    unverified, _ = read(data)
    verified, report = read(data, verify_digests=True)

    assert (len(unverified), len(verified)) == (2, 1)
    assert "does not match its WARC-Block-Digest, by sha1" in report.damaged[0].reason
    assert (report.mismatched, report.verified) == ({"WARC-Block-Digest": 1}, 1)


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n", b"WAR", gzip.compress(b"some text", mtime=0)])
def test_a_file_that_is_no_warc_is_named(data, tmp_path):
    path = tmp_path / "picture.warc.gz"
    path.write_bytes(data)

    with pytest.raises(FormatError, match=r"picture\.warc\.gz.*not a WARC file"):
        list(read_pages(path))


@pytest.mark.parametrize("name", ["empty.warc", "empty.jsonl"])
def test_an_empty_file_has_no_pages(name, tmp_path):
    (tmp_path / name).touch()

    assert list(read_pages(tmp_path / name)) == []


def test_standard_input_is_read_by_its_first_bytes(monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(gzip.compress(record(response()))))
    monkeypatch.setattr(sys, "stdin", stdin)

    [page] = read_pages("-")

    assert page.body == HTML
    assert not stdin.buffer.closed


def test_lz4_is_read_and_a_cut_noticed(tmp_path):
    path = tmp_path / "pages.warc.lz4"
    with Lz4Writer(str(path)) as writer:
        writer.write(record(response()) + record(response(HTML + b"end")))
    packed = path.read_bytes()

    found, _ = read(packed)
    _, message = read_until_damaged(packed[:-9])

    assert [page.body for page in found] == [HTML, HTML + b"end"]
    assert "LZ4 data is damaged" in message


def test_zstd_with_a_dictionary_is_read():
    data = record(response()) + record(response(HTML + b"end"))
    samples = [record(response(HTML[:n]), url=f"{URL}/{n}") for n in range(60, 2_000, 5)]
    dictionary = zstandard.train_dictionary(2_000, samples)
    frame = zstandard.compress(dictionary.as_bytes())
    packed = b"\x5d\x2a\x4d\x18" + len(frame).to_bytes(4, "little") + frame
    packed += zstandard.ZstdCompressor(dict_data=dictionary).compress(data)

    found, _ = read(packed)

    assert [page.body for page in found] == [HTML, HTML + b"end"]


def test_a_large_record_that_is_left_out_is_not_held_in_memory():
    film = record(response(b"\0" * (64 << 20), media="video/mp4"))
    data = gzip.compress(film, 1) + gzip.compress(record(response()))

    tracemalloc.start()
    [page], report = read(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert page.body == HTML
    assert report.left_out == {"video/mp4": 1}
    assert peak < 16 << 20


@pytest.mark.slow
def test_random_damage_ends_in_pages_reports_or_a_format_error():
    chance = random.Random(1)
    sound = [record(response(body, f"Content-Encoding: {name}")) for name, body in ENCODED.items()]
    sound += [record(response(chunked(HTML), "Transfer-Encoding: chunked")), record(b"", kind="revisit")]

    for number in range(1_000):
        data = bytearray(b"".join(chance.sample(sound, 3)))
        for _ in range(chance.randint(1, 5)):
            at = chance.randrange(len(data))
            data[at : at + chance.randint(0, 9)] = chance.randbytes(chance.randint(0, 9))
        report = ReadReport()
        with contextlib.suppress(FormatError):
            pages = list(read_pages(io.BytesIO(gzip.compress(data) if number % 2 else data), report=report))
            assert len(pages) + report.damaged_count + report.left_out.total() == report.records


def test_the_count_of_good_records_leaves_out_the_damaged_ones():
    data = gzip.compress(record(response())) + gzip.compress(record(b"no http"))[:-1]

    _, message = read_until_damaged(data)

    assert "after 1 good records" in message


def test_reading_can_be_stopped_early(tmp_path):
    path = tmp_path / "a.warc"
    path.write_bytes(record(response()) * 3)

    with contextlib.closing(read_pages(path)) as pages:
        first = next(pages)

    assert first.url == URL
