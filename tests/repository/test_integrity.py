"""Nothing that was altered behind webtable's back is given out as what was stored."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from zlib import crc32

import msgspec
import pytest
import zstandard
from damaging import CAPTURE, COUNTS, HTML, PAGE, URLS, Web, cell_of, damage, flipped, found, write
from sites import Site

import webtable
from nightly import some
from store_differences import with_thrift1
from webtable import Link, Page
from webtable._checksums import place, with_checksum
from webtable.errors import DamagedRow
from webtable.maintenance import Verification
from webtable.page.json_lines import ATTRIBUTES, values_of
from webtable.repository.page_storage.cells import pack
from webtable.store import Delete

COMPRESSIONS = ["zstd", "none"]


@pytest.fixture(scope="module", params=COMPRESSIONS)
def compression(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def table(new_url, compression):
    with webtable.open(new_url(), create=True, compression=compression) as table:
        yield table


@pytest.fixture
def web(table):
    domain = f"{random.randbytes(5).hex()}.example"
    made = Web(Site(table, domain, datetime.now(UTC).replace(microsecond=0)))
    table.links.refresh(also_unfinished=True)
    return made


def whole(page: Page) -> dict:
    return values_of(page, ATTRIBUTES)


def mutations(value: bytes, rng: random.Random):
    """Yield altered forms of *value*: bits flipped, bytes changed, cut, extended, pieces moved and zeroed."""
    for _ in range(60):
        at = rng.randrange(len(value))
        kind = rng.randrange(6)
        match kind:
            case 0:
                yield flipped(value, at, rng.randrange(8))
            case 1:
                changed = bytearray(value)
                for _ in range(rng.randint(2, 4)):
                    changed[rng.randrange(len(value))] = rng.randrange(256)
                yield bytes(changed)
            case 2:
                yield value[:at]
            case 3:
                yield value + rng.randbytes(3)
            case 4:
                other = rng.randrange(len(value))
                yield value[:at] + value[other : other + 8] + value[at + 8 :]
            case 5:
                yield value[:at] + bytes(8) + value[at + 8 :]


@pytest.mark.parametrize("column", [PAGE, HTML, URLS, COUNTS])
def test_an_altered_cell_is_never_given_out(web, column):
    url, row = web.url("/a"), web.table.key.encode(web.url("/a"))
    columns = ["body", "outlinks", "link_counts"]
    right = web.table.get(url, columns=columns)
    cell = cell_of(web.table, url, column)
    rng = random.Random(f"seed of {column!r}")

    for value in mutations(cell.value, rng):
        write(web.table, web.table.table, row, column, cell.timestamp, value)
        try:
            page = web.table.get(url, columns=columns)
        except DamagedRow:
            continue
        assert page is not None
        assert whole(page) == whole(right), value


@with_thrift1
def test_an_altered_version_is_never_given_out(web):
    url, row = web.url("/a"), web.table.key.encode(web.url("/a"))
    right = web.table.history(url, columns=["body", "outlinks"])
    cell = cell_of(web.table, url, CAPTURE)

    for value in mutations(cell.value, random.Random(7)):
        write(web.table, web.table.table, row, CAPTURE, cell.timestamp, value)

        assert web.table.history(url, columns=["body", "outlinks"]) in ([], right), value


def test_a_cell_that_came_to_another_row_or_date_is_damaged(web):
    one, other = web.url("/a"), web.url("/b")
    row = web.table.key.encode(other)
    moved = cell_of(web.table, one, PAGE)
    write(web.table, web.table.table, row, PAGE, moved.timestamp, moved.value)
    with pytest.raises(DamagedRow):
        web.table.get(other)

    write(web.table, web.table.table, web.table.key.encode(one), PAGE, moved.timestamp + 1, moved.value)
    with pytest.raises(DamagedRow):
        web.table.get(one)


def test_a_body_over_its_frame_s_possible_size_is_damaged_and_takes_no_memory(web, compression):
    frame = bytearray(zstandard.ZstdCompressor().compress(b"x" * 100_000))
    size = zstandard.get_frame_parameters(bytes(frame)).content_size.to_bytes(4, "little")
    claims = bytes(frame).replace(size, (2**31 - 1).to_bytes(4, "little"), 1)
    longest = b"\x28\xb5\x2f\xfd\xe0" + (2**45).to_bytes(8, "little") + bytes(frame)[9:]

    for value in (claims, longest):
        damage(web.table, web.url("/a"), HTML, value)

        with pytest.raises(DamagedRow):
            web.table.get(web.url("/a"))


def test_small_bodies_have_checksums_too(web):
    if web.table.layout.compression != "none":
        for number, body in enumerate((b"", b"x", b"<p>tiny", b"y" * 63)):
            page = web.site.page(f"/tiny/{number}", body=body)
            web.site.store(page)

            assert zstandard.get_frame_parameters(cell_of(web.table, page.url, HTML).value).has_checksum
            assert web.table.get(page.url).body == body


def test_a_body_that_is_not_compressed_stays_byte_for_byte_what_it_is(web):
    if web.table.layout.compression == "none":
        assert cell_of(web.table, web.url("/a"), HTML).value == web.pages[1].body
        assert len(msgspec.json.decode(cell_of(web.table, web.url("/a"), CAPTURE).value)["body_crc32"]) == 8


def test_a_page_behind_a_late_capture_is_compared_with_its_own_checksum(web):
    web.site.store(
        web.site.page("/late", age=900, body=b"first"),
        web.site.page("/late", age=300, body=b"first"),
        web.site.page("/late", age=600, body=b"between"),
    )

    page = web.table.get(web.url("/late"), verify=True)

    assert page is not None
    assert page.body == b"first"
    assert [version.body for version in web.table.history(page.url, columns=["body"])] == [
        b"first",
        b"between",
        b"first",
    ]


def test_bodies_are_compared_with_their_digests_where_that_is_asked_for(web, compression):
    url, other = web.url("/a"), b"<p>the word gold</p>" * 9
    (body,) = pack([other], compress=compression != "none")
    row = web.table.key.encode(url)
    capture = cell_of(web.table, url, CAPTURE)
    told = {**msgspec.json.decode(capture.value), "body_crc32": f"{crc32(body):08x}"}
    del told["crc32"]
    value = with_checksum(msgspec.json.encode(told), place(row, capture.timestamp))
    write(web.table, web.table.table, row, CAPTURE, capture.timestamp, value)
    damage(web.table, url, HTML, body)

    assert web.table.get(url).body == other
    with pytest.raises(DamagedRow, match="digest"):
        web.table.get(url, verify=True)
    assert web.table.maintenance.verify(web.site.domain).damaged == 1


def test_a_verification_of_a_sound_site_finds_nothing(web):
    told = []
    web.site.store(web.site.page("/cut", body=b"x" * 100), max_body=50)
    web.site.store(web.site.page("/a", age=60, body=b"second"), web.site.page("/gone", age=60, status=301))

    verification = web.table.maintenance.verify(web.site.domain, on_progress=told.append)

    assert verification == Verification(5, 6, verification.bytes, 0, 0, missing=0)
    assert verification.is_sound
    assert verification.bytes == sum(len(page.body) for page in web.pages) + 50 + 6
    assert told == [5]


def test_a_verification_counts_what_is_damaged_and_what_is_lost(web):
    damage(web.table, web.url("/a"), URLS)
    row = web.table.key.encode(web.url("/b"))
    assert web.table.store.write(web.table.table, [Delete(row, 2**62, [HTML])]) == [None]

    verification = web.table.maintenance.verify(web.site.domain)

    assert (verification.damaged, verification.lost, verification.is_sound) == (1, 1, False)
    assert [error.url for error in verification.examples] == web.urls("/a", "/b")


def test_a_verification_looks_at_older_versions_too(web):
    url = web.url("/a")
    at = cell_of(web.table, url, HTML)
    web.site.store(web.site.page("/a", age=60, body=b"second"))
    row = web.table.key.encode(url)
    write(web.table, web.table.table, row, HTML, at.timestamp, flipped(at.value, len(at.value) - 1))

    assert web.table.get(url, verify=True).body == b"second"
    assert web.table.maintenance.verify(web.site.domain).damaged == 1


def test_an_ingested_table_is_sound_whatever_was_done_with_it(new_url, compression):
    now = datetime.now(UTC).replace(microsecond=0)
    rng = random.Random(5)
    with webtable.open(new_url(), create=True, compression=compression, ttl=30 * 86_400) as table:
        for _ in range(25):
            with table.writer(max_body=rng.choice([None, 40])) as writer:
                for number in range(6):
                    url = f"https://sound.example/{number}"
                    at = now - timedelta(days=rng.uniform(0, 29))
                    body = rng.choice([None, b"", b"one" * 30, b"two" * 9, b"three"])
                    links = rng.choice([None, (), (Link("https://sound.example/1"),)])
                    same = rng.choice([None, url, "https://sound.example/2"]) if body is None else None
                    digest = rng.choice([None, "0" * 64]) if body is None else None
                    writer.put(
                        Page(
                            url=url,
                            fetched_at=at,
                            body=body,
                            outlinks=links,
                            same_as=same,
                            digest=digest,
                            status=rng.choice([200, 200, 304, 500]),
                            size=rng.choice([None, 7]),
                        )
                    )

        verification = table.maintenance.verify(webtable.ALL)

        assert verification.is_sound, verification
        assert verification.pages == 6
        assert len(found(table.pages(webtable.ALL, columns=["body", "outlinks"]))) == 6


def error_of(ask) -> Exception | None:
    try:
        ask()
    except Exception as exc:  # noqa: BLE001
        return exc
    return None


@pytest.mark.slow
def test_only_errors_of_their_kind_come_out_of_damaged_cells(web, adapter):
    url, row = web.url("/a"), web.table.key.encode(web.url("/a"))
    deep, big = b"[" * 100_000, b"9" * 5_000
    page = msgspec.json.decode(cell_of(web.table, url, PAGE).value)
    wrong = [
        {"fetched_at": "2026-01-01T00:00:00"},
        {"last_modified": "9999-12-31T23:59:59-23:59"},
        {"size": -1e308},
        {"headers": {"a": 1}},
        {"headers": None},
        {"content_at": "0001-01-01T00:00:00+23:59"},
        {"url": 7},
        {"url": "\x00"},
        {"status_code": "200"},
        {"link_counts": []},
        {"outlinks": [[]]},
        {"size": 10**400},
        {"fetched_at": 1e400},
        {"inlinks_at": "2026-01-01T00:00:00"},
        {"change_count": 2**70},
        {"body": "no"},
    ]
    begin = place(row, cell_of(web.table, url, PAGE).timestamp)
    values = [
        b"",
        b"{",
        b"null",
        b"[]",
        deep,
        b'{"url":' + deep,
        b'{"size":' + big + b"}",
        b'{"url":"\\ud800"}',
        b"\xff",
        *(msgspec.json.encode({**page, **one}) for one in wrong),
        *(with_checksum(msgspec.json.encode({**page, **one}), begin) for one in wrong[3:5]),
    ]
    questions = {
        "get": lambda: web.table.get(url, columns=["body", "outlinks", "link_counts"]),
        "as_of": lambda: web.table.get(url, as_of=web.site.now - timedelta(hours=3)),
        "history": lambda: web.table.history(url, columns=["body", "outlinks"]),
        "diff": lambda: web.table.diff(url),
        "validators": lambda: web.table.validators(url),
        "pages": lambda: list(web.table.pages(web.site.domain, columns=["body", "outlinks", "link_counts"])),
        "fetched": lambda: list(web.table.fetched(web.site.domain)),
        "most_linked": lambda: list(web.table.links.most_linked(web.site.domain)),
        "linking_to": lambda: list(web.table.links.to(web.url("/b"))),
        "linking_to past": lambda: list(web.table.links.to(web.url("/b"), past=True)),
        "search": lambda: list(web.table.search("salt", web.site.domain)),
        "stats": lambda: web.table.stats(web.site.domain),
        "discovered": lambda: list(web.table.links.discovered(web.site.domain)),
        "duplicates": lambda: list(web.table.duplicates(url)),
        "resolve": lambda: web.table.resolve(url),
        "verify": lambda: web.table.maintenance.verify(web.site.domain),
        "not modified": lambda: web.table.put_not_modified(url, web.site.now - timedelta(hours=2)),
    }

    for column in (PAGE, CAPTURE, COUNTS, URLS, HTML):
        before = cell_of(web.table, url, column)
        damaged = [*values, *mutations(before.value, random.Random(9))]
        for value in some(damaged, 7) if adapter == "sqlite" else damaged[:: len(damaged) // 3]:
            write(web.table, web.table.table, row, column, before.timestamp, value)
            errors = {name: error_of(ask) for name, ask in questions.items()}
            wrong_kind = {
                name: error
                for name, error in errors.items()
                if not isinstance(error, DamagedRow | webtable.WriteFailed | None)
            }
            assert wrong_kind == {}, (column, value[:80])
        write(web.table, web.table.table, row, column, before.timestamp, before.value)

    assert web.table.get(url, verify=True) is not None
