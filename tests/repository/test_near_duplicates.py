"""Near duplicates: by an index of signatures, which pages get when they are stored, confirmed by the stored texts."""

from __future__ import annotations

import sys
import uuid
from datetime import UTC, datetime

import pytest
from damaging import damage
from deaths import killed_after
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from similarities import brute_force, prose, text_of, text_page
from sites import Site, with_limit

import webtable
from nightly import examples
from webtable.errors import DamagedRow, IndexNeeded, InvalidArgument, MissingExtra, UnknownIndex
from webtable.page import extract
from webtable.page.parts import BAND
from webtable.repository.upkeep.cells import DerivedCellWriter
from webtable.rowkey import KeyRange

BANDS = 14


@pytest.fixture(scope="module")
def shared_table(new_url):
    with webtable.open(with_limit(new_url()), create=True, versions=3, indexes=["similarity"]) as table:
        yield table


@pytest.fixture
def fresh(new_url):
    """A site in a table of its own without the index."""
    with webtable.open(with_limit(new_url()), create=True, indexes=[]) as table:
        yield Site(table, f"{uuid.uuid4().hex[:10]}.example", datetime.now(UTC).replace(microsecond=0))


def paths(site: Site, answer) -> list[str]:
    return [one.page.url.removeprefix(site.url("")) for one in answer]


def entries(site: Site) -> list[bytes]:
    """Return the entries of the pages of *site* in the index."""
    name = site.domain.split(".")[0].encode()
    return [row.key for row in site.table.store.scan(index_of(site), [KeyRange()]) if name in row.key]


def index_of(site: Site) -> str:
    return f"{site.table.table}_similarity_idx"


def drift(site: Site):
    return site.table.indexes.verify("similarity", settle=0)


def test_pages_with_nearly_the_same_text_are_found_the_most_similar_first(site):
    site.store(
        text_page(site, "/a", 1),
        text_page(site, "/copy", 1),
        text_page(site, "/edited", 1, 20, 21, 22),
        text_page(site, "/more", 1, 20, 90),
        text_page(site, "/other", 2),
    )

    found = list(site.table.near_duplicates(site.url("/a")))

    assert paths(site, found) == ["/copy", "/edited", "/more"]
    assert [one.similarity for one in found] == pytest.approx(
        [brute_force(text_of(site, 1), text_of(site, 1, *changed)) for changed in ((), (20, 21, 22), (20, 90))]
    )
    assert found[0].page.title == "title of /copy"
    assert found[0].page.body is None


def test_they_come_by_url_as_well_and_only_from_a_similarity_on(site):
    site.store(text_page(site, "/c", 3), *(text_page(site, f"/{n}", 3, *range(10, 10 + n)) for n in range(1, 9)))

    by_url = site.table.near_duplicates(site.url("/c"), order="url")
    nearer = site.table.near_duplicates(site.url("/c"), at_least=0.95)

    assert paths(site, by_url) == [f"/{n}" for n in range(1, 9)]
    assert paths(site, nearer) == ["/1"]


def test_a_page_of_another_site_is_found_unless_one_is_named(site):
    other = Site(site.table, f"{uuid.uuid4().hex[:10]}.example", site.now)
    site.store(text_page(site, "/a", 4), text_page(site, "/b/1", 4), other.page("/", body=text_of(site, 4)))

    found = site.table.near_duplicates(site.url("/a"))
    own = site.table.near_duplicates(site.url("/a"), site.domain)

    assert {one.page.url for one in found} == {site.url("/b/1"), other.url("/")}
    assert paths(site, own) == ["/b/1"]
    assert paths(site, site.table.near_duplicates(site.url("/a"), site.url("/c/"))) == []


@pytest.mark.parametrize("order", ["similarity", "url"])
def test_an_answer_continues_after_a_token(site, order):
    site.store(text_page(site, "/a", 5), *(text_page(site, f"/{n}", 5, *range(n)) for n in range(1, 8)))
    whole = paths(site, site.table.near_duplicates(site.url("/a"), order=order))

    first = site.table.near_duplicates(site.url("/a"), order=order).page(3)
    rest = site.table.near_duplicates(site.url("/a"), order=order, after=first.next_token)

    assert [*paths(site, first), *paths(site, rest)] == whole
    assert len(whole) == 7
    assert paths(site, site.table.near_duplicates(site.url("/a"), order=order, limit=2)) == whole[:2]


def test_columns_are_read_on_request(site):
    site.store(text_page(site, "/a", 6), text_page(site, "/b", 6))

    for order in ("similarity", "url"):
        (found,) = site.table.near_duplicates(site.url("/a"), order=order, columns=["body"])
        assert found.page.body == text_of(site, 6)


@pytest.mark.parametrize("body", [b"<p>four words are few", b"\x89PNG\r\n\x1a\n" + bytes(99)])
def test_a_page_with_fewer_than_five_words_has_no_entries_and_is_like_no_other(site, body):
    site.store(site.page("/a", body=body), site.page("/b", body=body))

    assert list(site.table.near_duplicates(site.url("/a"))) == []
    assert entries(site) == []
    assert site.table.get(site.url("/a")).stored.similarity == ""


def test_there_are_none_for_a_url_that_is_not_stored_or_has_no_body(site):
    site.store(site.page("/moved", status=301, redirect_to=site.url("/")))

    assert list(site.table.near_duplicates(site.url("/"))) == []
    assert list(site.table.near_duplicates(site.url("/moved"))) == []


def test_a_page_has_fourteen_entries_and_those_of_its_old_content_go(site):
    site.store(text_page(site, "/a", 7, age=900))
    old = entries(site)

    site.store(text_page(site, "/a", 8, age=60))

    assert (len(old), len(entries(site))) == (BANDS, BANDS)
    assert not set(old) & set(entries(site))
    assert drift(site).is_empty


@pytest.mark.parametrize("again", ["304", "the same content", "a 304 in the same batch"])
def test_a_capture_that_repeats_the_content_keeps_the_signature(site, again):
    first, second = text_page(site, "/a", 9, age=900), text_page(site, "/a", 9, age=60)
    if again != "the same content":
        second = site.page("/a", age=60, status=304)
    if again == "a 304 in the same batch":
        site.store(first, second)
    else:
        site.store(first)
        site.store(second)

    page = site.table.get(site.url("/a"))

    assert page.fetched_at == second.fetched_at
    assert len(page.stored.similarity) == BANDS * BAND
    assert len(entries(site)) == BANDS
    assert drift(site).is_empty


def test_content_that_comes_back_after_an_error_has_its_entries_again(site):
    site.store(text_page(site, "/a", 10, age=900))
    site.store(site.page("/a", body=b"<p>an error of the server, try again", status=503, age=600))
    during = entries(site)
    site.store(site.page("/a", status=304, age=60))

    assert len(during) == BANDS
    assert site.table.get(site.url("/a")).body == text_of(site, 10)
    assert drift(site).is_empty
    assert not set(during) & set(entries(site))


def test_a_late_capture_changes_no_entries(site):
    site.store(text_page(site, "/a", 11, age=60))
    before = entries(site)

    site.store(text_page(site, "/a", 12, age=900))

    assert entries(site) == before
    assert drift(site).is_empty


def test_several_captures_in_one_batch_leave_the_entries_of_the_last(site):
    site.store(*(text_page(site, "/a", seed, age=900 - seed) for seed in (13, 14, 15)))

    assert len(entries(site)) == BANDS
    assert drift(site).is_empty


def test_a_deleted_page_is_found_no_more_and_has_no_entries(site):
    site.store(text_page(site, "/a", 16), text_page(site, "/b", 16))

    site.table.delete(site.url("/b"))

    assert list(site.table.near_duplicates(site.url("/a"))) == []
    assert len(entries(site)) == BANDS
    assert drift(site).is_empty


def test_an_entry_whose_page_has_changed_is_never_an_answer(site, monkeypatch):
    site.store(text_page(site, "/a", 17), text_page(site, "/b", 17, age=900))
    with monkeypatch.context() as patched:
        patched.setattr(DerivedCellWriter, "remove", lambda *_: None)
        site.store(text_page(site, "/b", 18, age=60))

    assert list(site.table.near_duplicates(site.url("/a"))) == []
    assert drift(site).stale == BANDS
    assert site.table.indexes.repair("similarity", settle=0).repaired == BANDS
    assert drift(site).is_empty


def test_lost_entries_are_reported_and_mended(site, monkeypatch):
    site.store(text_page(site, "/a", 19))
    with monkeypatch.context() as patched:
        patched.setattr(DerivedCellWriter, "put", lambda *_: {})
        site.store(text_page(site, "/b", 19))
    assert list(site.table.near_duplicates(site.url("/a"))) == []

    found = drift(site)
    mended = site.table.indexes.repair("similarity", settle=0)

    assert (found.missing, mended.repaired) == (BANDS, BANDS)
    assert paths(site, site.table.near_duplicates(site.url("/a"))) == ["/b"]


def test_what_is_left_by_a_writer_that_was_killed_is_no_answer(site):
    site.store(text_page(site, "/a", 20), text_page(site, "/b", 21, age=900))

    with killed_after(site.table, lambda call, table, *_: (call, table) == ("write", site.table.table)) as dying:
        dying.put(text_page(site, "/b", 20, age=60))

    assert list(site.table.near_duplicates(site.url("/a"))) == []
    site.store(text_page(site, "/b", 20, age=60))
    assert paths(site, site.table.near_duplicates(site.url("/a"))) == ["/b"]
    assert drift(site).is_empty


def test_a_page_that_cannot_be_read_is_left_out_and_told(site):
    site.store(*(text_page(site, f"/{n}", 22) for n in range(3)))
    damage(site.table, site.url("/1"))
    answer = site.table.near_duplicates(site.url("/0"))

    assert paths(site, answer) == ["/2"]
    assert [one.row for one in answer.damaged] == [site.table.key.encode(site.url("/1"))]
    with pytest.raises(DamagedRow):
        list(site.table.near_duplicates(site.url("/1")))
    site.store(text_page(site, "/1", 23, age=5))


def test_without_the_index_the_answer_names_what_adds_it(fresh):
    fresh.store(text_page(fresh, "/a", 1))

    with pytest.raises(IndexNeeded, match="webtable index add similarity"):
        list(fresh.table.near_duplicates(fresh.url("/a")))
    assert fresh.table.get(fresh.url("/a")).stored.similarity is None


def test_an_index_that_is_added_has_the_pages_that_were_there(fresh):
    fresh.store(text_page(fresh, "/a", 1), text_page(fresh, "/b", 1, 5), fresh.page("/c", status=404))

    assert fresh.table.indexes.add("similarity") == 3

    assert paths(fresh, fresh.table.near_duplicates(fresh.url("/a"))) == ["/b"]
    assert drift(fresh).is_empty
    assert drift(fresh).entries == 2 * BANDS


@pytest.mark.parametrize("change", ["304", "content", "the same content", "delete"])
def test_pages_from_before_the_index_was_added_change_as_others_do(fresh, change):
    fresh.store(text_page(fresh, "/a", 1, age=900))
    fresh.table.indexes.add("similarity")
    before = entries(fresh)

    match change:
        case "304":
            fresh.store(fresh.page("/a", status=304, age=60))
        case "content":
            fresh.store(text_page(fresh, "/a", 2, age=60))
        case "the same content":
            fresh.store(text_page(fresh, "/a", 1, age=60))
        case "delete":
            fresh.table.delete(fresh.url("/a"))

    assert drift(fresh).is_empty
    assert drift(fresh).pending == 0
    if change == "delete":
        assert entries(fresh) == []
    else:
        assert (entries(fresh) == before) == (change != "content")
        assert len(fresh.table.get(fresh.url("/a")).stored.similarity) == BANDS * BAND


def test_a_capture_that_is_put_twice_changes_nothing_after_the_index_was_added(fresh):
    page = text_page(fresh, "/a", 1)
    fresh.store(page)
    fresh.table.indexes.add("similarity")
    before = fresh.table.get(page.url)

    fresh.store(page)

    assert fresh.table.get(page.url) == before
    assert drift(fresh).is_empty


def test_the_index_can_be_rebuilt_dropped_and_added_again(fresh, monkeypatch):
    for module in ("indexes.states", "upkeep.repair"):
        monkeypatch.setattr(f"webtable.repository.{module}.FRESH_SECONDS", 0)
    fresh.table.indexes.add("similarity")
    fresh.store(text_page(fresh, "/a", 1, age=900), text_page(fresh, "/b", 1))
    fresh.table.indexes.rebuild("similarity")
    assert drift(fresh).is_empty

    fresh.table.indexes.drop("similarity")
    fresh.store(text_page(fresh, "/a", 2, age=60))
    fresh.table.indexes.add("similarity")

    assert list(fresh.table.near_duplicates(fresh.url("/a"))) == []
    assert drift(fresh).is_empty


def test_a_page_whose_body_is_damaged_is_counted_by_verify_if_it_has_no_signature(fresh):
    fresh.store(text_page(fresh, "/a", 1), text_page(fresh, "/b", 1))
    fresh.table.indexes.add("similarity")
    damage(fresh.table, fresh.url("/b"), b"content:html")

    found = drift(fresh)

    assert (found.damaged, found.missing, found.stale) == (1, 0, 0)


@pytest.mark.parametrize("indexed", [(True, True), (True, False), (False, True)])
def test_a_copy_has_the_entries_that_its_table_should_have(new_url, indexed):
    urls = [with_limit(new_url()) for _ in range(2)]
    tables = [
        webtable.open(url, create=True, indexes=["similarity"] if has else [])
        for url, has in zip(urls, indexed, strict=True)
    ]
    with tables[0] as source, tables[1] as target:
        site = Site(source, f"{uuid.uuid4().hex[:10]}.example", datetime.now(UTC).replace(microsecond=0))
        copy = Site(target, site.domain, site.now)
        site.store(text_page(site, "/a", 1, age=900), text_page(site, "/b", 1, 7))
        copy.store(text_page(copy, "/a", 2, age=800))

        source.maintenance.copy(target)
        again = source.maintenance.copy(target)

        assert again.unchanged == 2 - again.merged
        if indexed[1]:
            assert drift(copy).is_empty
            assert len(entries(copy)) == 2 * BANDS


def test_what_an_index_of_signatures_has_is_no_list_of_pages(site):
    with pytest.raises(UnknownIndex, match="near_duplicates"):
        site.table.indexed("similarity")


@pytest.mark.parametrize("at_least", [0, -1, 1.01, "0.8", True, float("nan")])
def test_a_similarity_is_above_0_and_up_to_1(site, at_least):
    with pytest.raises(InvalidArgument, match="at_least="):
        site.table.near_duplicates(site.url("/"), at_least=at_least)


def test_without_numpy_the_message_names_the_extra(site, monkeypatch):
    site.store(text_page(site, "/a", 24))
    monkeypatch.delitem(sys.modules, "webtable.page.similarity")
    monkeypatch.setitem(sys.modules, "numpy", None)

    with pytest.raises(MissingExtra, match=r"hbase-webtable\[similarity\]"):
        list(site.table.near_duplicates(site.url("/a")))
    with pytest.raises(MissingExtra), webtable.open(f"memory:{uuid.uuid4().hex}", create=True, indexes=["similarity"]):
        pass


@pytest.mark.slow
@settings(max_examples=examples(10, 100), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.tuples(st.integers(0, 2), st.sets(st.integers(0, 199), max_size=2)), min_size=2, max_size=8))
def test_answers_are_those_of_a_comparison_of_all_pages(site, texts):
    """With so few changes a page is missed once in a hundred million: the similarity is 0.96 at least, or near 0."""
    mine = Site(site.table, f"{uuid.uuid4().hex[:10]}.example", site.now)
    bodies = {f"/{n}": prose(100 + seed, *changed, count=1_000) for n, (seed, changed) in enumerate(texts)}
    mine.store(*(mine.page(path, body=body, content_type="text/html") for path, body in bodies.items()))

    for path, body in bodies.items():
        found = site.table.near_duplicates(mine.url(path), mine.domain, order="url")

        expected = {other: brute_force(body, theirs) for other, theirs in bodies.items() if other != path}
        near = {other: like for other, like in expected.items() if like >= 0.8}
        assert {one.page.url.removeprefix(mine.url("")): one.similarity for one in found} == pytest.approx(near)


def test_a_page_is_parsed_once_for_its_signature(site, monkeypatch):
    parsed = []
    found = extract.main_content
    monkeypatch.setattr(extract, "main_content", lambda *args: parsed.append(args) or found(*args))

    site.store(text_page(site, "/a", 25, age=900))
    site.store(text_page(site, "/a", 25, age=60))
    site.store(site.page("/a", status=304, age=5))

    assert len(parsed) == 1
