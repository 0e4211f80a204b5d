"""Revisits: captures that repeat another capture, which may be stored before or after them, or never."""

from __future__ import annotations

import base64
import hashlib
import uuid
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from itertools import pairwise, permutations

import pytest
from deaths import is_through, listening
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sites import Site

import webtable
from nightly import NIGHTLY, examples, some
from store_differences import on_every_store
from webtable import Page
from webtable.page import Bookkeeping
from webtable.repository.writing.batch import BatchWriter


def is_possible(order):
    return all(order.index(f"prepare {number}") < order.index(f"store {number}") for number in (0, 1))


A, B, C = b"<title>A</title><a href=/a>a</a>", b"<title>B</title><a href=/b>b</a>", b"<title>C</title>"


def sha1(body):
    return f"sha1:{base64.b32encode(hashlib.sha1(body).digest()).decode()}"


class Crawl:
    """Captures of pages of one site by the hour, as `A@1` is fetched at hour 1."""

    def __init__(self, site, folder=""):
        self.site = site
        self.table = site.table
        self.folder = folder

    def url(self, path):
        return self.site.url(f"{self.folder}/{path}")

    def at(self, hour):
        return self.site.now - timedelta(hours=100) + timedelta(hours=hour)

    def original(self, path, hour, body, **fields):
        return Page(url=self.url(path), body=body, content_type="text/html", fetched_at=self.at(hour), **fields)

    def revisit(self, path, hour, of, *, date=None, body=None, digest=None, **fields):
        """Return a revisit of the page *of*, by the hour *date* of its original, or the digest of its *body*."""
        named = Bookkeeping(
            repeats_at=None if date is None else self.at(date),
            payload_digest=sha1(body) if body is not None else digest,
        )
        page = Page(
            url=self.url(path), same_as=self.url(of) if "://" not in of else of, fetched_at=self.at(hour), **fields
        )
        return page.with_stored(named)

    def store(self, *pages):
        for page in pages:
            self.table.put(page)

    def body(self, path, hour=None):
        as_of = None if hour is None else self.at(hour)
        page = self.table.get(self.url(path), as_of=as_of)
        return None if page is None else page.body

    def bodies(self, path):
        return [page.body for page in self.table.history(self.url(path), columns=["body"])]

    def open(self):
        return [(one.url, one.fetched_at) for one in self.table.unresolved(self.url(""))]


@pytest.fixture
def crawl(site):
    return Crawl(site)


@on_every_store
def test_a_revisit_is_completed_when_its_original_comes(crawl):
    crawl.store(crawl.revisit("y", 3, "x", date=1, body=A))
    before = (crawl.body("y"), crawl.open())

    crawl.store(crawl.original("x", 1, A))

    page = crawl.table.get(crawl.url("y"))
    assert before == (None, [(crawl.url("y"), crawl.at(3))])
    assert (page.body, page.title, page.fetched_at, page.same_as) == (A, "A", crawl.at(3), None)
    assert crawl.open() == []


@on_every_store
@pytest.mark.parametrize("order", some(list(permutations(range(5))), 5), ids=lambda order: "".join(map(str, order)))
def test_in_any_order_a_revisit_has_the_content_of_the_capture_that_it_names(site, order):
    crawl = Crawl(site, "/" + "".join(map(str, order)))
    captures = (
        crawl.original("x", 1, A),
        crawl.original("x", 2, B),
        crawl.revisit("y", 3, "x", date=1),
        crawl.revisit("x", 4, "x", body=A),
        crawl.revisit("z", 5, "y", date=3, body=A),
    )

    crawl.store(*(captures[at] for at in order))

    assert [crawl.body(path) for path in "xyz"] == [A, A, A]
    assert crawl.bodies("x") == [A, B, A]
    assert [crawl.body("x", hour) for hour in (1, 2, 4)] == [A, B, A]
    assert [link.source for link in crawl.table.links.to(site.url("/a"))] == [crawl.url(path) for path in "xyz"]
    assert list(crawl.table.links.to(site.url("/b"))) == []
    assert crawl.open() == []


@pytest.mark.parametrize("names", [{"date": 1}, {"body": A}, {"date": 1, "body": A}, {}])
@pytest.mark.parametrize("is_late", [True, False])
def test_an_original_is_found_over_the_other_scheme(crawl, names, is_late):
    url = crawl.url("x").replace("https://", "http://")
    captures = [crawl.original("x", 1, A), crawl.revisit("y", 3, url, **names)]

    crawl.store(*captures[:: -1 if is_late else 1])

    assert crawl.body("y") == A


def test_a_revisit_that_names_nothing_has_what_its_target_was_at_its_date(crawl):
    crawl.store(crawl.original("x", 1, A), crawl.original("x", 4, B), crawl.revisit("y", 3, "x"))

    assert crawl.body("y") == A


@on_every_store
@pytest.mark.parametrize("names", [{"date": 2}, {"body": C}, {"date": 2, "body": C}, {"date": 1, "body": C}])
def test_no_other_content_is_taken_for_that_of_a_capture_that_is_not_stored(crawl, names):
    gzipped = {"headers": {"Content-Encoding": "gzip"}, "_payload_digest": sha1(A)}
    crawl.store(crawl.original("x", 1, A, **gzipped), crawl.original("x", 4, B))

    crawl.store(crawl.revisit("y", 5, "x", **names), crawl.revisit("x", 6, "x", **names))

    assert [crawl.body(path) for path in "yx"] == [None, None]
    assert crawl.bodies("x") == [B, A]
    assert crawl.open() == [(crawl.url("x"), crawl.at(6)), (crawl.url("y"), crawl.at(5))]


def test_a_digest_is_that_of_the_payload_as_it_was_sent(crawl):
    crawl.store(
        crawl.original("x", 1, A, _payload_digest="sha1:" + "A" * 32),
        crawl.original("x", 2, B),
        crawl.revisit("y", 3, "x", digest="SHA-1:" + "0" * 40),
        crawl.revisit("z", 3, "x", body=A),
    )

    assert (crawl.body("y"), crawl.body("z")) == (A, None)


def test_of_two_captures_of_one_second_a_revisit_has_the_one_with_its_digest(crawl):
    first, second = crawl.original("x", 1, A), crawl.original("x", 1 + 0.2 / 3600, B)
    crawl.store(first, second, crawl.revisit("y", 3, "x", date=1, body=B), crawl.revisit("z", 3, "x", date=1, body=A))

    assert (crawl.body("y"), crawl.body("z")) == (B, A)


def test_a_304_that_names_a_capture_without_content_of_its_own_keeps_what_the_page_has(crawl):
    crawl.store(
        crawl.original("x", 1, A),
        crawl.original("x", 2, A),
        crawl.revisit("x", 3, "x", date=2, status=304),
        crawl.revisit("x", 4, "x", date=2, status=304),
    )

    assert (crawl.body("x"), crawl.table.get(crawl.url("x")).fetched_at) == (A, crawl.at(4))
    assert crawl.open() == []


@on_every_store
def test_storing_a_capture_again_changes_nothing(crawl):
    captures = [
        crawl.original("s", 1, A),
        crawl.revisit("p", 3, "s"),
        crawl.revisit("q", 3, "s", date=1, body=A),
        crawl.original("s", 5, B),
        crawl.revisit("s", 6, "s", body=A),
    ]
    crawl.store(*captures)

    def seen():
        pages = [crawl.table.get(crawl.url(path), columns=["body", "outlinks"]) for path in "spq"]
        return pages, [crawl.bodies(path) for path in "spq"], crawl.open()

    before = seen()
    for order in (captures, captures[::-1]):
        crawl.store(*order)

        assert seen() == before


@on_every_store
def test_a_revisit_that_is_stored_again_after_its_original_was_deleted_keeps_its_content(crawl):
    revisit = crawl.revisit("y", 3, "x", date=1, body=A)
    crawl.store(crawl.original("x", 1, A), revisit)
    crawl.table.delete(crawl.url("x"))

    crawl.store(revisit)

    page = crawl.table.get(crawl.url("y"), columns=["body", "outlinks"])
    assert (page.body, page.title, [link.url for link in page.outlinks]) == (A, "A", [crawl.site.url("/a")])
    assert crawl.open() == []


POORER = {
    "without a body": {"body": None, "headers": {"X-A": "1"}},
    "with a digest alone": {"body": None, "digest": "blake3:" + "ab" * 32},
    "cut": {"body": A[:10], "truncated": True},
    "a revisit of an unknown page": {"body": None, "same_as": "https://nowhere.example/"},
    "a revisit that names a digest": {"body": None, "same_as": "https://nowhere.example/", "_payload_digest": sha1(C)},
    "a 304": {"body": None, "status": 304},
}


@on_every_store
@pytest.mark.parametrize("is_late", [True, False])
@pytest.mark.parametrize("kind", POORER)
def test_a_poorer_record_of_a_moment_takes_nothing_from_what_is_stored(crawl, kind, is_late):
    poorer = Page(**{"url": crawl.url("x"), "fetched_at": crawl.at(1), "content_type": "text/html"} | POORER[kind])
    crawl.store(crawl.original("x", 1, A), *([crawl.original("x", 2, B)] if is_late else []))

    crawl.store(poorer)

    (version, *_) = list(crawl.table.history(crawl.url("x"), columns=["body", "outlinks"]))[::-1]
    assert (version.body, version.title, len(version.outlinks)) == (A, "A", 1)
    assert crawl.body("x") == (B if is_late else A)
    assert crawl.open() == []


def test_a_whole_record_takes_the_place_of_a_poorer_one_of_its_moment(crawl):
    for kind, fields in POORER.items():
        page = Page(url=crawl.url(kind), fetched_at=crawl.at(1), **{"content_type": "text/html"} | fields)
        crawl.store(page, crawl.original(kind, 1, A))

        assert crawl.body(kind) == A, kind


def test_a_revisit_of_a_deleted_page_does_not_come_back(crawl):
    crawl.store(crawl.revisit("y", 3, "x", date=1))
    crawl.table.delete(crawl.url("y"))

    crawl.store(crawl.original("x", 1, A))

    assert (crawl.table.get(crawl.url("y")), crawl.open()) == (None, [])


def test_a_later_capture_does_not_keep_a_revisit_from_being_completed(crawl):
    crawl.store(crawl.revisit("y", 3, "x", date=1), crawl.original("y", 4, C))

    crawl.store(crawl.original("x", 1, A))

    assert (crawl.body("y"), crawl.body("y", 3), crawl.bodies("y")) == (C, A, [C, A])
    assert crawl.table.get(crawl.url("y")).first_seen == crawl.at(3)


def test_very_many_revisits_of_one_capture_are_completed_with_it(crawl, monkeypatch):
    monkeypatch.setattr("webtable.repository.upkeep.revisits.AT_ONCE", 50)
    with crawl.table.writer() as writer:
        for number in range(120):
            writer.put(crawl.revisit(f"y{number}", 3, "x", date=1))
    assert len(crawl.open()) == 120

    crawl.store(crawl.original("x", 1, A))

    assert crawl.open() == []
    assert {page.digest for page in crawl.table.pages(crawl.site.domain)} == {crawl.table.get(crawl.url("x")).digest}


def test_open_revisits_can_be_read_in_pages_and_in_parts(crawl):
    crawl.store(*(crawl.revisit(f"{number}", 3, "x", date=1) for number in range(5)))

    question = crawl.table.unresolved(crawl.site.domain)
    first = question.page(size=2)
    rest = crawl.table.unresolved(crawl.site.domain, after=first.next_token)

    urls = [crawl.url(f"{number}") for number in range(5)]
    assert [one.url for one in [*first, *rest]] == urls
    assert [(one.original, one.original_at) for one in first] == [(crawl.url("x"), crawl.at(1))] * 2
    assert list(crawl.table.unresolved("other.example")) == []


def test_a_copy_of_a_table_has_its_open_revisits(crawl):
    source = webtable.open(f"memory:{uuid.uuid4().hex}", create=True)
    source.put(crawl.revisit("y", 3, "x", date=1))
    target = webtable.open(f"memory:{uuid.uuid4().hex}", create=True)

    source.maintenance.copy(target)
    target.put(crawl.original("x", 1, A))

    assert target.get(crawl.url("y")).body == A
    assert list(target.unresolved()) == []


def test_an_erased_site_is_named_by_no_open_revisit(crawl):
    table = webtable.open(f"memory:{uuid.uuid4().hex}", create=True)
    page = Page(url="https://kept.example/", same_as=crawl.url("x"), fetched_at=crawl.at(3))
    table.put(page)
    table.put(crawl.revisit("y", 3, "x", date=1))

    table.delete_pages(crawl.site.domain, and_links=True)

    assert list(table.unresolved()) == []
    assert table.get(page.url).same_as is None


def test_where_no_revisit_was_ever_open_a_batch_makes_no_call_more(site):
    calls = []
    with webtable.open(f"memory:{uuid.uuid4().hex}", create=True) as table:
        told = listening(table, lambda name, of, *_: calls.append((name, of.partition("_")[2])))

        with told.writer() as writer:
            for number in range(100):
                writer.put(site.page(f"/{number}", body=A))

    assert [table for name, table in calls if name != "write"] == ["meta", "", "meta"]


STEPS = [order for order in permutations(("prepare 0", "store 0", "prepare 1", "store 1")) if is_possible(order)]


@pytest.mark.parametrize("order", STEPS, ids="-".join)
@pytest.mark.parametrize("has_transactions", [True, False])
def test_of_two_writers_that_cross_one_sees_what_the_other_has_stored(crawl, tmp_path, order, has_transactions):
    with webtable.open(tmp_path / "own.db", create=True) as table, ExitStack() as stack:
        tables = [table if has_transactions else listening(table, lambda *_: None) for _ in range(2)]
        writers = [stack.enter_context(closing(BatchWriter(one._context, None))) for one in tables]
        batches = [
            [writers[0].taken(crawl.revisit("y", 3, "x", date=1))],
            [writers[1].taken(crawl.original("x", 1, A))],
        ]
        prepared = {}

        for step, number in (one.split() for one in order):
            if step == "prepare":
                batch = [(row, page) for row, page, _ in batches[int(number)]]
                prepared[number] = writers[int(number)].prepare(batch)
            else:
                assert [one.error for one in writers[int(number)].store(prepared[number])] == [None]

        assert table.get(crawl.url("y")).body == A
        assert list(table.unresolved()) == []


@pytest.mark.parametrize("is_late", [True, False])
def test_a_writer_that_is_killed_at_any_call_leaves_nothing_wrong_and_is_repeated(crawl, is_late):
    captures = [crawl.original("x", 1, A), crawl.revisit("y", 3, "x", date=1), crawl.revisit("x", 4, "y", body=A)]

    def act(table):
        for page in captures[:: -1 if is_late else 1]:
            with closing(BatchWriter(table._context, None)) as writer:
                row, page, _ = writer.taken(page)
                (outcome,) = writer.store(writer.prepare([(row, page)]))
                assert outcome.error is None

    calls, done = 0, False
    while not done:
        with webtable.open(f"memory:{uuid.uuid4().hex}", create=True, indexes=["link"]) as table:
            done = is_through(table, act, calls)
            between = [page and page.body for page in map(table.get, map(crawl.url, "xy"))]
            act(table)

            assert set(between) <= {None, A}
            assert [table.get(crawl.url(path)).body for path in "xy"] == [A, A], calls
            assert list(table.unresolved()) == []
        calls += 1 if NIGHTLY else 3
    assert calls > 15


class Model:
    """What a table with these captures answers: for each, the body, or None for an open revisit."""

    def __init__(self, captures):
        self.captures = captures
        self.bodies = {key: value for key, value in captures.items() if isinstance(value, bytes)}
        while new := {
            key: body for key in captures if key not in self.bodies if (body := self._found(*key)) is not None
        }:
            self.bodies |= new

    def _found(self, path, hour):
        target, date, digest = self.captures[path, hour]
        dated = self.bodies.get((target, date))
        if dated is not None and digest in (None, dated):
            return dated
        known = {body for (other, _), body in self.bodies.items() if other in (target, path)}
        return digest if digest in known else None

    def last(self, path):
        hour = max(hour for other, hour in self.captures if other == path)
        return self.bodies.get((path, hour))

    def sequence(self, path):
        """Return the contents of a page in their order, with their hours."""
        return [(hour, self.bodies[key]) for key in sorted(self.bodies) for other, hour in [key] if other == path]


@pytest.fixture(scope="module")
def whole(new_url):
    """A site in a table that keeps all versions."""
    with webtable.open(new_url(), create=True, versions=None, indexes=[]) as table:
        yield Site(table, f"{uuid.uuid4().hex[:10]}.example", datetime.now(UTC).replace(microsecond=0))


PATHS, BODIES = ["x", "y"], [A, B, C]
CAPTURES = st.dictionaries(
    st.tuples(st.sampled_from(PATHS), st.integers(1, 5)),
    st.sampled_from(BODIES)
    | st.tuples(st.sampled_from(PATHS), st.none() | st.integers(0, 5), st.none() | st.sampled_from(BODIES)).filter(
        lambda named: named[1:] != (None, None)
    ),
    min_size=2,
    max_size=5,
)


@pytest.mark.slow
@on_every_store
def test_any_captures_in_any_order_are_what_a_plain_model_says(whole, adapter):
    @settings(
        max_examples=examples(100 if adapter == "sqlite" else 20, 800),
        derandomize=not NIGHTLY,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
    )
    @given(captures=CAPTURES, data=st.data())
    def check(captures, data):
        check_against_model(whole, captures, data)

    check()


def check_against_model(whole, captures, data):
    model = Model(captures)
    for path in PATHS:
        contents = [body for _, body in model.sequence(path)]
        # A capture that only repeats the one before it leaves no version, so that other content which comes between
        # the two later is known to have ended only where the repeat is the newest capture.
        assume(all(one != other for one, other in pairwise(contents)) and len({*contents[:-1]}) >= len(contents) - 1)
    crawl = Crawl(whole, f"/{uuid.uuid4().hex[:8]}")
    pages = [
        crawl.original(path, hour, value)
        if isinstance(value, bytes)
        else crawl.revisit(path, hour, value[0], date=value[1], body=value[2])
        for (path, hour), value in captures.items()
    ]

    order = data.draw(st.permutations(pages))
    crawl.store(*order, *data.draw(st.lists(st.sampled_from(pages), max_size=2)))

    unresolved = sorted((crawl.url(path), crawl.at(hour)) for path, hour in captures.keys() - model.bodies.keys())
    assert sorted(crawl.open()) == unresolved
    for path in {path for path, _ in captures}:
        assert crawl.body(path) == model.last(path)
        history = crawl.table.history(crawl.url(path), columns=["body"])
        assert [(one.fetched_at, one.body) for one in history][::-1] == [
            (crawl.at(hour), body) for hour, body in model.sequence(path)
        ]
