"""The digests of bodies: what they are called, and that content is known again, whatever its digest was made by."""

from __future__ import annotations

import hashlib

import msgspec
import pytest

import webtable
from webtable import Page
from webtable._page.digests import digest_of
from webtable.errors import LayoutMismatch
from webtable.repository.stored import content as contents
from webtable.repository.stored.bodies import pack
from webtable.repository.stored.content import check_body
from webtable.rowkey import KeyRange
from webtable.schema import Layout
from webtable.store import EVERYTHING, NewCell, Put, Wanted

HTML = b"<title>a</title>" + b"text " * 50
SHA256 = hashlib.sha256(HTML).hexdigest()


def copied(one, other):
    """Copy the rows of the pages of one table into another, as they are."""
    columns = Wanted(EVERYTHING.columns, versions=9)
    for row in one.store.scan(one.table, [KeyRange()], columns):
        cells = [NewCell(column, *cell) for column, some in row.cells.items() for cell in some]
        assert other.store.write(other.table, [Put(row.key, cells)]) == [None]


@pytest.fixture
def tables(new_url):
    """A table whose digests are SHA-256, as all were once, and a new one."""
    with (
        webtable.open(new_url(), create=True, digest="sha256", indexes=["digest"]) as old,
        webtable.open(new_url(), create=True, indexes=["digest"]) as new,
    ):
        yield old, new


def test_a_digest_names_its_algorithm_and_one_of_an_old_table_does_not(tables, site):
    found = []

    for table in tables:
        table.put(Page(url=site.url(), html=HTML))
        found.append(table.get(site.url()).digest)

    assert found == [SHA256, digest_of(HTML)]
    assert found[1].startswith("blake3:")


def test_a_table_whose_digests_are_not_known_here_is_not_opened():
    values = msgspec.json.decode(Layout().to_json()) | {"digest": "xxh3"}
    del values["crc32"]

    with pytest.raises(LayoutMismatch, match="digest"):
        Layout.from_json("crawl", msgspec.json.encode(values))


def test_content_that_has_another_kind_of_digest_is_the_same_when_it_comes_again(tables, site):
    old, new = tables
    old.put(site.page(html=HTML, age=300))
    copied(old, new)

    with new.writer() as writer:
        again = writer.put(site.page(html=HTML, age=200))
        other = writer.put(site.page(html=HTML + b".", age=100))

    assert [again.result().is_new, other.result().is_new] == [False, True]
    assert [one.digest for one in new.history(site.url())] == [digest_of(HTML + b"."), SHA256]


def test_a_late_capture_of_content_with_another_kind_of_digest_is_no_version(tables, site):
    old, new = tables
    old.put(site.page(html=HTML, age=900))
    copied(old, new)
    late = [site.page(html=b"<p>other", age=300), site.page(html=HTML, age=600)]

    for page in late:
        new.put(page)

    assert [one.digest for one in new.history(site.url())] == [digest_of(b"<p>other"), SHA256]


def test_content_that_was_cut_is_known_by_the_digest_of_all_of_it(tables, site):
    old, new = tables
    with old.writer(max_body=20) as writer:
        writer.put(site.page(html=HTML, age=300))
    copied(old, new)

    with new.writer(max_body=20) as writer:
        again = writer.put(site.page(html=HTML, age=200))

    assert not again.result().is_new
    assert (new.get(site.url()).digest, new.get(site.url()).size) == (SHA256, len(HTML))


def test_bodies_of_both_kinds_of_digests_are_verified(tables, site):
    old, new = tables
    old.put(site.page(html=HTML))
    copied(old, new)
    new.put(site.page("/b", html=HTML))

    found = new.verify(full_scan=True)

    assert (found.is_sound, found.bodies) == (True, 2)


@pytest.mark.parametrize("digest", [SHA256, f"sha256:{SHA256}", digest_of(HTML)])
def test_a_body_that_is_another_one_is_found_out_by_any_digest(digest):
    page = Page(url="https://example.com/", digest=digest, size=len(HTML))

    check_body(HTML, page)

    with pytest.raises(ValueError, match="not the body whose digest"):
        check_body(HTML[::-1], page)


def test_a_digest_of_an_unknown_kind_is_told_and_is_no_damage():
    page = Page(url="https://example.com/", digest="xxh3:12ab", size=len(HTML))

    with pytest.warns(UserWarning, match="does not know 'xxh3'"):
        check_body(HTML, page)


def test_pages_with_one_content_are_duplicates_by_the_new_digest(tables, site):
    _, new = tables
    new.put(site.page("/a", html=HTML))
    new.put(site.page("/b", html=HTML))

    assert [page.url for page in new.duplicates(site.url("/a"))] == [site.url("/b")]


def test_nothing_is_packed_that_is_stored_already(tables, site, monkeypatch):
    _, new = tables
    pages = [site.page(f"/{number}", html=HTML + b"%d" % number, age=900) for number in range(3)]
    packed = []
    monkeypatch.setattr(contents, "pack", lambda bodies, **how: packed.extend(bodies) or pack(bodies, **how))

    for some in (pages, pages, [*pages, site.page("/0", html=b"other", age=300)]):
        with new.writer() as writer:
            for page in some:
                writer.put(page)

    assert [body for body in packed if body != b"[]"] == [*(page.html for page in pages), b"other"]
