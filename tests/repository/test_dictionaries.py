"""Tables with dictionaries for sites: made of what is stored, read by everybody, and erased with their pages."""

from __future__ import annotations

import random
import tracemalloc
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
import zstandard
from damaging import HTML, cell_of, damage, flipped, remove, write
from sites import Site

import webtable
from webtable import DamagedRow
from webtable.errors import LayoutMismatch
from webtable.repository.batch import BatchWriter
from webtable.repository.bodies import dictionary_of
from webtable.repository.dictionaries import Dictionaries
from webtable.repository.dictionary import Dictionary
from webtable.repository.sites import sites_of
from webtable.repository.training import PAGES, trained
from webtable.rowkey import KeyRange
from webtable.schema import Layout
from webtable.store import Wanted

WORDS = [random.Random(number).randbytes(4).hex() for number in range(4_000)]
PLENTY = PAGES + 40


def body(site: str, number: int) -> bytes:
    """Return a page that shares its frame with all pages of *site*, and has a text of its own."""
    frame, own = random.Random(site), random.Random(f"{site} {number}")
    head = "".join(f"<li><a href='/{word}'>{word} of {site}</a>" for word in frame.choices(WORDS, k=60))
    return f"<html><ul>{head}</ul><p>{' '.join(own.choices(WORDS, k=80))}</p></html>".encode()


def pages_of(site: Site, host: str = "", *, start: int = 0, count: int = PLENTY, age: float = 3600) -> list:
    name = f"{host}.{site.domain}"
    return [site.page(f"/{at}", host=host, html=body(name, at), age=age) for at in range(start, start + count)]


@pytest.fixture
def url(new_url):
    return new_url()


@pytest.fixture
def table(url):
    with webtable.open(url, create=True, compression="zstd-site") as table:
        yield table


@pytest.fixture
def site(table):
    return Site(table, f"{random.randbytes(5).hex()}.example", datetime.now(UTC).replace(microsecond=0))


def store_in_two(site: Site, pages: list) -> None:
    """Store *pages*: the samples first, then, when the dictionary is made, the rest."""
    site.store(*pages[:PAGES])
    site.store(*pages[PAGES:])


def numbers_of(table, pages) -> set[int]:
    return {dictionary_of(cell_of(table, page.url, HTML).value) for page in pages}


def rows_of_dictionaries(table) -> list[bytes]:
    rows = table.store.scan(f"{table.table}_meta", [KeyRange()], Wanted(keys_only=True))
    return [row.key for row in rows if row.key.startswith((b"dictionary:", b"site:"))]


def test_a_site_of_many_pages_gets_a_dictionary_that_its_frames_name(site, table):
    pages = pages_of(site, "www")

    store_in_two(site, pages)

    assert numbers_of(table, pages[:PAGES]) == {0}
    (number,) = numbers_of(table, pages[PAGES:])
    assert 2**15 <= number < 2**31
    assert [(one, of) for one, of in table._frame.dictionaries.all()] == [(number, f"www.{site.domain}")]


def test_pages_with_a_dictionary_are_shorter_and_come_back_as_they_were(site, table):
    pages = pages_of(site, "www")

    store_in_two(site, pages)

    assert {page.url: page.html for page in table.pages(site.domain, columns=["html"])} == {
        page.url: page.html for page in pages
    }
    last = pages[-1]
    assert len(cell_of(table, last.url, HTML).value) < 0.8 * len(zstandard.compress(last.html, 1))
    assert table.verify(site.domain).is_sound


def test_a_reader_that_was_open_before_finds_the_dictionary(site, table, url):
    with webtable.open(url) as reader:
        assert list(reader.pages(site.domain)) == []
        pages = pages_of(site, "www")
        store_in_two(site, pages)

        assert reader.get(pages[-1].url, columns=["html"]).html == pages[-1].html


def test_a_small_site_gets_none(site, table):
    site.store(*pages_of(site, "www", count=PAGES - 1))

    assert rows_of_dictionaries(table) == []


def test_pages_with_nothing_in_common_get_none(site, table):
    rng = random.Random(3)

    site.store(*(site.page(f"/{at}", host="www", html=rng.randbytes(3_000)) for at in range(PAGES)))

    assert rows_of_dictionaries(table) == []


def test_small_hosts_of_a_domain_have_one_together(site, table):
    hosts = [f"h{at}" for at in range(8)]
    common = body(site.domain, 0)
    pages = [site.page(f"/{at}", host=hosts[at % 8], html=common + body(hosts[at % 8], at)) for at in range(PAGES)]

    site.store(*pages)
    later = [site.page("/later", host=host, html=common + body(host, 9)) for host in ("h1", "new")]
    site.store(*later)

    assert [of for _, of in table._frame.dictionaries.all()] == [f"*.{site.domain}"]
    assert 0 not in numbers_of(table, later)


def test_one_large_host_makes_none_for_its_domain(site, table):
    store_in_two(site, pages_of(site, "www", count=3 * PAGES))

    assert [of for _, of in table._frame.dictionaries.all()] == [f"www.{site.domain}"]


def test_a_lost_dictionary_is_damage_of_its_pages_alone(site, table, url):
    pages = pages_of(site, "www")
    store_in_two(site, pages)
    (number,) = numbers_of(table, pages[PAGES:])
    remove(table, f"{table.table}_meta", b"dictionary:%08x" % number)

    with webtable.open(url) as reader:
        answer = reader.pages(site.domain, columns=["html"])
        found = list(answer)

        assert [page.url for page in found] == sorted(page.url for page in pages[:PAGES])
        assert len(answer.damaged) == PLENTY - PAGES
        assert isinstance(answer.damaged[0], DamagedRow)
        assert f"{number:08x} is lost" in answer.damaged[0].reason
        with pytest.raises(DamagedRow, match="is lost"):
            reader.get(pages[-1].url, columns=["html"])
        assert reader.get(pages[-1].url, columns=[]).url == pages[-1].url
        assert reader.verify(site.domain).damaged == PLENTY - PAGES


def test_a_dictionary_with_a_changed_byte_gives_out_nothing(site, table, url):
    pages = pages_of(site, "www")
    store_in_two(site, pages)
    (number,) = numbers_of(table, pages[PAGES:])
    meta, row = f"{table.table}_meta", b"dictionary:%08x" % number
    (stored,) = table.store.read(meta, [row], Wanted([b"layout:dictionary"]))
    cell = stored.cells[b"layout:dictionary"][0]

    for at in (5, 9, len(cell.value) // 2, len(cell.value) - 1):
        write(table, meta, row, b"layout:dictionary", cell.timestamp, flipped(cell.value, at))

        with webtable.open(url) as reader, pytest.raises(DamagedRow, match="dictionary"):
            reader.get(pages[-1].url, columns=["html"])


def test_a_dictionary_that_becomes_a_gigabyte_takes_no_memory(table):
    packer = zstandard.ZstdCompressor(write_checksum=True).compressobj(size=10**9)
    frame = b"".join([*(packer.compress(bytes(10**7)) for _ in range(100)), packer.flush()])
    meta, row = f"{table.table}_meta", b"dictionary:0000ffff"
    write(table, meta, row, b"layout:dictionary", 1, frame)
    write(table, meta, row, b"layout:of", 1, b'{"site":"example.com"}')

    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="the dictionary 0000ffff is damaged"):
            Dictionaries(table.store, table.table).of(0xFFFF)
        assert tracemalloc.get_traced_memory()[1] < 10**7
    finally:
        tracemalloc.stop()


def test_a_frame_that_names_another_dictionary_is_damaged(site, table):
    pages, others = pages_of(site, "www"), pages_of(site, "other")
    store_in_two(site, pages)
    store_in_two(site, others)
    cell, other = (cell_of(table, one[-1].url, HTML).value for one in (pages, others))
    at = cell.index(dictionary_of(cell).to_bytes(4, "little"))

    damage(table, pages[-1].url, HTML, cell[:at] + dictionary_of(other).to_bytes(4, "little") + cell[at + 4 :])

    with pytest.raises(DamagedRow):
        table.get(pages[-1].url, columns=["html"])


def test_writers_go_on_without_a_dictionary_that_is_damaged(site, table, url):
    pages = pages_of(site, "www")
    store_in_two(site, pages)
    (number,) = numbers_of(table, pages[PAGES:])
    remove(table, f"{table.table}_meta", b"dictionary:%08x" % number)

    with webtable.open(url) as again:
        new = Site(again, site.domain, site.now).page("/new", host="www", html=body(f"www.{site.domain}", 999))
        with again.writer() as writer:
            writer.put(new)

        assert numbers_of(again, [new]) == {0}
        assert again.get(new.url, columns=["html"]).html == new.html


def test_two_that_train_at_once_leave_two_dictionaries_that_are_both_good(site, table, url):
    with webtable.open(url) as other:
        first, second = pages_of(site, "www"), pages_of(site, "www", start=1_000)
        with table.writer(buffer_pages=16) as one, other.writer(buffer_pages=16) as two:
            for a, b in zip(first[:PAGES], second[:PAGES], strict=True):
                one.put(a)
                two.put(b)
        with table.writer() as one, other.writer() as two:
            for a, b in zip(first[PAGES:], second[PAGES:], strict=True):
                one.put(a)
                two.put(b)

    assert len(list(table._frame.dictionaries.all())) == 2
    with webtable.open(url) as reader:
        assert reader.verify(site.domain).is_sound
        assert {page.html for page in reader.pages(columns=["html"], full_scan=True)} == {
            page.html for page in first + second
        }


def test_a_number_that_is_taken_by_other_bytes_is_not_taken_again(site, table):
    frames = [zstandard.compress(body("a.example", at), 1) for at in range(PAGES)]
    made, kept = trained(frames), Dictionaries(table.store, table.table)
    wanted = Dictionary.numbered("a.example", made, 0)
    other = Dictionary.of("b.example", wanted.data[:-1] + bytes([wanted.data[-1] ^ 1]))
    assert other.number == wanted.number
    assert kept.adopt(other)

    one = kept.keep("a.example", made)

    assert one.number != wanted.number
    again = Dictionaries(table.store, table.table)
    assert (again.of(one.number).data, again.of(other.number).data) == (one.data, other.data)


def test_a_dictionary_that_nobody_announced_is_used_by_nobody_and_harms_nobody(site, table):
    frames = [zstandard.compress(body(f"www.{site.domain}", at), 1) for at in range(PAGES)]
    one = table._frame.dictionaries.keep(f"www.{site.domain}", trained(frames))
    pages = pages_of(site, "www", count=3)

    site.store(*pages)

    assert numbers_of(table, pages) == {0}
    assert list(table._frame.dictionaries.all()) == [(one.number, f"www.{site.domain}")]


def test_a_dictionary_is_not_used_when_one_of_its_pages_was_deleted_as_it_was_made(site, table):
    pages = pages_of(site, "www", count=PAGES)
    with table.writer(buffer_pages=1, in_flight=1) as writer:
        for page in pages[:-1]:
            writer.put(page)
        writer.flush()
        table.delete(pages[0].url)
        writer.put(pages[-1])

    assert rows_of_dictionaries(table) == []


@pytest.mark.parametrize("compression", ["zstd-site", "zstd", "none"])
def test_a_copy_can_be_read_by_itself(site, table, new_url, compression):
    pages = pages_of(site, "www")
    store_in_two(site, pages)

    with webtable.copy_target(table, new_url(), compression=compression) as copy:
        table.copy_to(copy)
        table._frame.dictionaries.remove(number for number, _ in list(table._frame.dictionaries.all()))

        assert {page.html for page in copy.pages(site.domain, columns=["html"])} == {page.html for page in pages}
        assert copy.verify(site.domain).is_sound
        expected = {"zstd-site"} if 0 not in numbers_of(copy, pages[PAGES:]) else {"zstd", "none"}
        assert compression in expected


def test_a_copy_of_a_table_without_dictionaries_makes_some(new_url):
    with webtable.open(new_url(), create=True, compression="zstd") as source:
        site = Site(source, "copied.example", datetime.now(UTC).replace(microsecond=0))
        pages = pages_of(site, "www", count=3 * PAGES)
        site.store(*pages)
        with webtable.copy_target(source, new_url(), compression="zstd-site") as copy:
            source.copy_to(copy)

            assert [of for _, of in copy._frame.dictionaries.all()] == ["www.copied.example"]
            assert {page.html for page in copy.pages("copied.example", columns=["html"])} == {p.html for p in pages}


def test_content_that_is_renewed_or_repeated_can_be_read(site, table):
    pages = pages_of(site, "www")
    store_in_two(site, pages)
    last = pages[-1]

    site.store(site.page("/alias", host="www", same_as=last.url, age=60, status_code=200))
    site.store(site.page(f"/{PLENTY - 1}", host="www", same_as=last.url, age=30, status_code=304))

    assert table.get(last.url, columns=["html"]).html == last.html
    assert table.get(last.url.rpartition("/")[0] + "/alias", columns=["html"]).html == last.html


def test_erasing_a_host_erases_its_dictionary(site, table):
    store_in_two(site, pages_of(site, "www"))
    assert rows_of_dictionaries(table)

    table.delete_pages(f"www.{site.domain}", and_links=True)

    assert rows_of_dictionaries(table) == []


def test_erasing_another_host_leaves_a_dictionary(site, table):
    store_in_two(site, pages_of(site, "www"))
    site.store(*pages_of(site, "other", count=2))
    before = rows_of_dictionaries(table)

    table.delete_pages(f"other.{site.domain}", and_links=True)

    assert rows_of_dictionaries(table) == before


def test_erasing_a_part_of_a_site_erases_its_dictionary_and_the_rest_can_be_read(site, table, url):
    pages = pages_of(site, "www")
    store_in_two(site, pages)
    again = [site.page(f"/{PLENTY - 1}", host="www", html=body(f"www.{site.domain}", 5_000), age=60)]
    site.store(*again, site.page("/private/1", host="www", html=body(f"www.{site.domain}", 6_000)))

    table.delete_pages(f"www.{site.domain}", path="/private/", and_links=True)

    assert rows_of_dictionaries(table) == []
    with webtable.open(url) as reader:
        assert numbers_of(reader, pages) == {0}
        assert {page.html for page in reader.pages(site.domain, columns=["html"])} == {
            *(page.html for page in pages[:-1]),
            again[0].html,
        }
        versions = reader.history(pages[-1].url, columns=["html"])
        assert [version.html for version in versions] == [again[0].html, pages[-1].html]


@contextmanager
def prepared_before_an_erasure(site, url, new):
    """Yield another writer, with the batch of *new* that it prepared before the dictionary of its site was erased."""
    store_in_two(site, pages_of(site, "www"))
    with webtable.open(url) as other:
        writer = BatchWriter(other._frame, None)
        prepared = writer.prepare([writer.keyed(new)])
        site.table.delete_pages(f"www.{site.domain}", and_links=True)
        yield other, writer, prepared
        writer.close()


def test_a_writer_that_crosses_an_erasure_leaves_no_page_that_names_what_is_gone(site, url):
    new = site.page("/new", host="www", html=body(f"www.{site.domain}", 7_000))
    with prepared_before_an_erasure(site, url, new) as (_, writer, prepared):
        (outcome,) = writer.store(prepared)

    with webtable.open(url) as reader:
        assert outcome.error is None
        assert numbers_of(reader, [new]) == {0}
        assert reader.get(new.url, columns=["html"]).html == new.html


def test_an_erasure_that_was_cut_short_is_done_by_the_next(site, table, monkeypatch):
    store_in_two(site, pages_of(site, "www"))
    monkeypatch.setattr(Dictionaries, "remove", lambda self, numbers: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        table.delete_pages(site.domain, and_links=True)
    monkeypatch.undo()

    table.delete_pages(site.domain, and_links=True)

    assert rows_of_dictionaries(table) == []


def test_a_compacted_file_holds_nothing_of_an_erased_site(tmp_path):
    path = tmp_path / "pages.db"
    with webtable.open(path, create=True, compression="zstd-site") as table:
        site = Site(table, "erased.example", datetime.now(UTC).replace(microsecond=0))
        store_in_two(site, pages_of(site, "www"))
        site.store(Site(table, "kept.example", site.now).page("/", html=b"kept"))
        (number, _), *_ = table._frame.dictionaries.all()
        data = table._frame.dictionaries.of(number).data
        (row,) = table.store.read("pages_meta", [b"dictionary:%08x" % number], Wanted([b"layout:dictionary"]))
        packed = row.value(b"layout:dictionary")
        assert any(packed[:200] in file.read_bytes() for file in tmp_path.iterdir())

        table.delete_pages("erased.example", and_links=True)
        table.compact()

    held = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"erased.example" not in held
    for start in range(0, len(packed) - 16, 1_000):
        assert packed[start : start + 16] not in held
    assert data[-64:] not in held


def test_the_doctor_tells_of_a_lost_dictionary(site, table, url):
    pages = pages_of(site, "www")
    store_in_two(site, pages)
    (number,) = numbers_of(table, pages[PAGES:])
    assert [one.state for one in webtable.doctor(url) if one.check == "dictionaries"] == ["ok"]

    remove(table, f"{table.table}_meta", b"dictionary:%08x" % number)

    (found,) = [one for one in webtable.doctor(url) if one.check == "dictionaries"]
    assert found.state == "failed"
    assert f"{number:08x} is lost" in found.found


def test_a_compression_of_a_later_version_is_a_layout_mismatch(table):
    stored = Layout(compression="zstd-site").to_json().replace(b'"zstd-site"', b'"zstd-late"')
    with pytest.raises(LayoutMismatch):
        Layout.from_json("pages", stored)


def test_the_sites_of_a_page_are_its_host_and_its_registered_domain():
    assert sites_of("https://docs.example.co.uk:8443/a") == ("docs.example.co.uk", "*.example.co.uk")
    assert sites_of("http://[::1]/") == ("[::1]", None)


def test_training_holds_one_body_at_a_time():
    frame = zstandard.compress(bytes(4 * 2**20), 1)
    tracemalloc.start()

    trained([frame] * PAGES)

    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 64 * 2**20


def test_a_dictionary_that_is_announced_when_it_was_erased_is_announced_to_nobody(site, table, url):
    host = f"www.{site.domain}"
    kept = table._frame.dictionaries
    one = kept.keep(host, trained([zstandard.compress(body(host, at), 1) for at in range(PAGES)]))
    table.delete_pages(host, and_links=True)

    kept.announce(one)

    with webtable.open(url) as reader:
        assert list(reader._frame.dictionaries.announced()) == []
    assert rows_of_dictionaries(table) == []


def test_the_next_dictionary_of_a_site_is_used_by_all_when_the_first_is_lost(site, table, url):
    pages = pages_of(site, "www", count=2 * PAGES + 1)
    store_in_two(site, pages[:PLENTY])
    (lost,) = numbers_of(table, pages[PAGES:PLENTY])
    remove(table, f"{table.table}_meta", b"dictionary:%08x" % lost)
    with webtable.open(url) as again:
        others = pages_of(Site(again, site.domain, site.now), "www", start=1_000, count=PAGES)
        Site(again, site.domain, site.now).store(*others)

    with webtable.open(url) as third:
        new = Site(third, site.domain, site.now).page("/new", host="www", html=body(f"www.{site.domain}", 999))
        Site(third, site.domain, site.now).store(new)

        assert numbers_of(third, [new]).isdisjoint({0, lost})
        assert third.get(new.url, columns=["html"]).html == new.html


def test_a_capture_put_again_can_be_read_where_its_writer_was_killed_as_it_crossed_an_erasure(site, url):
    new = site.page("/new", host="www", html=body(f"www.{site.domain}", 7_000), content_type="text/html")
    with prepared_before_an_erasure(site, url, new) as (other, _, prepared):
        other.store.write(other.table, [one.put for one in prepared.puts])

    with webtable.open(url) as again:
        with again.writer() as writer:
            writer.put(new)

        assert again.get(new.url, columns=["html"]).html == new.html
        assert again.verify(site.domain).is_sound


def test_a_capture_is_put_again_beside_a_body_of_no_date(site, table):
    pages = pages_of(site, "www")
    store_in_two(site, pages)
    new = pages[-1]
    write(table, table.table, table.key.encode(new.url), HTML, 2**62, b"x")
    outcomes = []

    with table.writer(on_outcome=outcomes.append) as writer:
        writer.put(new)

    assert [outcome.error for outcome in outcomes] == [None]
