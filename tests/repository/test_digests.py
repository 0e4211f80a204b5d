"""The digests of bodies: what they are called, and that content is known again, whatever its digest was made by."""

from __future__ import annotations

import hashlib

import msgspec
import pytest

import webtable
from webtable import Page
from webtable.errors import LayoutMismatch
from webtable.page.body import digest_of
from webtable.repository.page_storage import codec as contents
from webtable.repository.page_storage.cells import pack
from webtable.repository.page_storage.codec import check_body
from webtable.repository.writing import plan
from webtable.schema import Layout

HTML = b"<title>a</title>" + b"text " * 50
SHA256 = hashlib.sha256(HTML).hexdigest()


@pytest.fixture
def table(new_url):
    with webtable.open(new_url(), create=True, indexes=["digest"]) as table:
        yield table


@pytest.fixture
def put_with_sha256(table, monkeypatch):
    """Puts a page whose digest is a SHA-256 without a name, as of a capture that came from elsewhere."""

    def put(page, **options):
        with monkeypatch.context() as patched, table.writer(**options) as writer:
            patched.setattr(plan, "digest_of", lambda body: hashlib.sha256(body).hexdigest())
            writer.put(page).result()

    return put


def test_a_digest_names_its_algorithm(table, site):
    table.put(Page(url=site.url(), body=HTML))

    assert table.get(site.url()).digest == digest_of(HTML)
    assert digest_of(HTML).startswith("blake3:")


def test_a_table_whose_digests_are_not_known_here_is_not_opened():
    values = msgspec.json.decode(Layout().to_json()) | {"digest": "sha256"}
    del values["crc32"]

    with pytest.raises(LayoutMismatch, match="digest"):
        Layout.from_json("crawl", msgspec.json.encode(values))


def test_content_that_has_another_kind_of_digest_is_the_same_when_it_comes_again(table, put_with_sha256, site):
    put_with_sha256(site.page(body=HTML, age=300))

    with table.writer() as writer:
        again = writer.put(site.page(body=HTML, age=200))
        other = writer.put(site.page(body=HTML + b".", age=100))

    assert [again.result().is_new, other.result().is_new] == [False, True]
    assert [one.digest for one in table.history(site.url())] == [digest_of(HTML + b"."), SHA256]


def test_a_late_capture_of_content_with_another_kind_of_digest_is_no_version(table, put_with_sha256, site):
    put_with_sha256(site.page(body=HTML, age=900))
    late = [site.page(body=b"<p>other", age=300), site.page(body=HTML, age=600)]

    for page in late:
        table.put(page)

    assert [one.digest for one in table.history(site.url())] == [digest_of(b"<p>other"), SHA256]


def test_content_that_was_cut_is_known_by_the_digest_of_all_of_it(table, put_with_sha256, site):
    put_with_sha256(site.page(body=HTML, age=300), max_body=20)

    with table.writer(max_body=20) as writer:
        again = writer.put(site.page(body=HTML, age=200))

    assert not again.result().is_new
    assert (table.get(site.url()).digest, table.get(site.url()).size) == (SHA256, len(HTML))


def test_bodies_of_both_kinds_of_digests_are_verified(table, put_with_sha256, site):
    put_with_sha256(site.page(body=HTML))
    table.put(site.page("/b", body=HTML))

    found = table.maintenance.verify(webtable.ALL)

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


def test_pages_with_one_content_are_duplicates_by_the_new_digest(table, site):
    table.put(site.page("/a", body=HTML))
    table.put(site.page("/b", body=HTML))

    assert [page.url for page in table.duplicates(site.url("/a"))] == [site.url("/b")]


def test_nothing_is_packed_that_is_stored_already(table, site, monkeypatch):
    pages = [site.page(f"/{number}", body=HTML + b"%d" % number, age=900) for number in range(3)]
    packed = []
    monkeypatch.setattr(contents, "pack", lambda bodies, **how: packed.extend(bodies) or pack(bodies, **how))

    for some in (pages, pages, [*pages, site.page("/0", body=b"other", age=300)]):
        with table.writer() as writer:
            for page in some:
                writer.put(page)

    assert [body for body in packed if body != b"[]"] == [*(page.body for page in pages), b"other"]
