"""The order in which captures are put changes no answer: every order is what a plain model says (`capture_model`)."""

from __future__ import annotations

import itertools
import random
import uuid
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from capture_model import NOT_MODIFIED, NOT_MODIFIED_NOINDEX, Content, Model
from sites import Site

import webtable
from nightly import some
from store_differences import on_every_store
from webtable import Link, Page
from webtable.page import Bookkeeping

NOW = datetime.now(UTC).replace(microsecond=0)
A = Content(b"a", links=(("all", "x"), ("a", "x"), ("word", "one")))
B = Content(b"b", links=(("all", "x"), ("b", "x"), ("word", "two")))
C = Content(b"c", links=(("a", "x"),))
A_NOINDEX = A._replace(robots="noindex")
B_NOINDEX = B._replace(robots="noindex")
ERROR, OTHER_ERROR, GONE = Content(b"oops", 500), Content(b"ouch", 503), Content(None, 410)
REDIRECT = Content(None, 301)
TARGETS = ("all", "a", "b", "word")
ELSEWHERE = Content(b"<title>there</title>", links=(("b", "x"), ("word", "three")))
"""What the other URL has, which a capture of the page repeats."""


@pytest.fixture(scope="module")
def whole(new_url):
    """A site in a table that keeps all versions."""
    with webtable.open(new_url(), create=True, versions=None, indexes=["link", "time"]) as table:
        yield Site(table, f"{uuid.uuid4().hex[:10]}.example", NOW)


class Town:
    """The captures of one page in a folder of its own, by the hour."""

    def __init__(self, site):
        self.site, self.table = site, site.table
        self.folder = f"/{uuid.uuid4().hex[:8]}"
        self.url = site.url(f"{self.folder}/page/")

    def at(self, hour):
        return self.site.now - timedelta(hours=100 - hour)

    def hour(self, moment):
        return None if moment is None else round((moment - self.at(0)).total_seconds() / 3600, 4)

    def target(self, name):
        return self.site.url(f"{self.folder}/{name}")

    def page(self, hour, capture):
        if isinstance(capture, str):
            headers = {"X-Robots-Tag": "noindex"} if capture == NOT_MODIFIED_NOINDEX else {}
            return Page(url=self.url, status=304, headers=headers, fetched_at=self.at(hour))
        if capture is ELSEWHERE:
            revisit = Page(url=self.url, same_as=self.target("other"), fetched_at=self.at(hour))
            return revisit.with_stored(Bookkeeping(repeats_at=self.at(1)))
        links = tuple(Link(self.target(name), anchor) for name, anchor in capture.links)
        title = title_of(capture)
        leads_to = self.target("there") if capture.status == 301 else None
        return Page(
            url=self.url,
            body=capture.body,
            status=capture.status,
            title=title,
            redirect_to=leads_to,
            outlinks=links,
            content_type="text/plain",
            headers={} if capture.robots is None else {"X-Robots-Tag": capture.robots},
            fetched_at=self.at(hour),
        )

    def original(self):
        """The capture that `ELSEWHERE` repeats."""
        links = tuple(Link(self.target(name), anchor) for name, anchor in ELSEWHERE.links)
        url, at = self.target("other"), self.at(1)
        return Page(url=url, body=ELSEWHERE.body, content_type="text/html", outlinks=links, fetched_at=at)

    def answers(self, hours):
        """What the table says, as far as `expected` says it of a model."""
        page, answers = self.table.get(self.url), {}
        answers["fetched"], answers["body"], answers["status"] = self.hour(page.fetched_at), page.body, page.status
        answers["title"], answers["robots"] = page.title, page.robots
        answers["changes"], answers["changed"] = page.change_count, self.hour(page.changed_at)
        answers["first seen"] = self.hour(page.first_seen)
        history = self.table.history(self.url, columns=["body"])
        answers["history"] = [(self.hour(each.fetched_at), each.body, each.status, each.robots) for each in history][
            ::-1
        ]
        pages = {hour: self.table.get(self.url, as_of=self.at(hour)) for hour in hours}
        answers["as of"] = {hour: page and (page.body, page.robots) for hour, page in pages.items()}
        captures = self.table.crawls(self.url, gap="1m", order="oldest")
        answers["crawls"] = [self.hour(crawl.begin) for crawl in captures]
        answers["links"] = {name: self._links(name) for name in TARGETS}
        answers["past links"] = {name: self._links(name, past=True) for name in TARGETS}
        return answers

    def _links(self, name, **options):
        links = [link for link in self.table.links.to(self.target(name), **options) if link.source == self.url]
        return next((self.hour(link.at) if options else (self.hour(link.at), link.anchor) for link in links), None)


def title_of(content):
    return None if content.body is None else content.body.decode().removeprefix("<title>").removesuffix("</title>")


def expected(model, hours):
    """What *model* says, by the names of `Town.answers`."""
    last = model.versions[-1].content if model.versions else Content(None, 304)
    return {
        "fetched": max(model.captures),
        "body": last.body,
        "status": last.status,
        "title": title_of(last),
        "robots": last.robots,
        "changes": model.change_count,
        "changed": model.changed_at,
        "first seen": min(model.captures),
        "history": model.history,
        "as of": {hour: model.as_of(hour) for hour in hours},
        "crawls": model.stored,
        "links": {name: model.links(name) for name in TARGETS},
        "past links": {name: model.past_links(name) for name in TARGETS},
    }


SEQUENCES = {
    "A B A A": [A, B, A, A],
    "A A B A": [A, A, B, A],
    "A C A": [A, C, A],
    "A B A A A": [A, B, A, A, A],
    "A A A B B": [A, A, A, B, B],
    "A 304 B 304": [A, NOT_MODIFIED, B, NOT_MODIFIED],
    "A error 304": [A, ERROR, NOT_MODIFIED],
    "A error 304 304 B": [A, ERROR, NOT_MODIFIED, NOT_MODIFIED, B],
    "304 A 304 error 304": [NOT_MODIFIED, A, NOT_MODIFIED, ERROR, NOT_MODIFIED],
    "A B error 304 A": [A, B, ERROR, NOT_MODIFIED, A],
    "A 304 error other error 304": [A, NOT_MODIFIED, ERROR, OTHER_ERROR, NOT_MODIFIED],
    "error 304 A": [ERROR, NOT_MODIFIED, A],
    "redirect A redirect": [REDIRECT, REDIRECT, A, REDIRECT, NOT_MODIFIED],
    "A gone 304": [A, GONE, GONE, NOT_MODIFIED, B],
    "A elsewhere A": [A, ELSEWHERE, A],
    "A elsewhere 304 A": [A, ELSEWHERE, NOT_MODIFIED, A],
    "A noindex A A": [A, A_NOINDEX, A, A],
    "A noindex 304 B": [A, A_NOINDEX, NOT_MODIFIED, B],
    "A noindex error 304 A": [A, A_NOINDEX, ERROR, NOT_MODIFIED, A],
    "A A B noindex A": [A, A, B_NOINDEX, A],
    "A 304-noindex 304 A": [A, NOT_MODIFIED_NOINDEX, NOT_MODIFIED, A],
    "A B 304-noindex 304": [A, B, NOT_MODIFIED_NOINDEX, NOT_MODIFIED],
    "A 304-noindex error 304": [A, NOT_MODIFIED_NOINDEX, ERROR, NOT_MODIFIED],
    "elsewhere error 304": [ELSEWHERE, ELSEWHERE, ERROR, NOT_MODIFIED],
}
ORDERS = [
    pytest.param(captures, order, id=f"{name}: {''.join(map(str, order))}")
    for name, captures in SEQUENCES.items()
    for order in itertools.permutations(range(len(captures) + (ELSEWHERE in captures)))
    # Of a 304 that is put before any content the date alone is kept, as soon as another one follows.
    if NOT_MODIFIED_NOINDEX not in captures or order.index(0) < order.index(captures.index(NOT_MODIFIED_NOINDEX))
]
"""The last number is the original of `ELSEWHERE`, where the captures have a repeat of it."""
FIVE = [A, ERROR, NOT_MODIFIED, B, A]
SPLITS = [
    pytest.param(order, cuts, id=f"{''.join(map(str, order))} at {''.join(map(str, cuts)) or 'none'}")
    for order in itertools.permutations(range(len(FIVE)))
    for number in range(len(FIVE))
    for cuts in itertools.combinations(range(1, len(FIVE)), number)
]


def check(town, captures, put):
    """Have *put* store the captures, and compare the answers with the model."""
    hours = [5 * (number + 1) for number in range(len(captures))]
    pages = [town.page(hour, capture) for hour, capture in zip(hours, captures, strict=True)]
    model = Model(dict(zip(hours, captures, strict=True)))

    put([*pages, town.original()] if ELSEWHERE in captures else pages)

    asked = [hour + more for hour in hours for more in (0, 2)]
    assert town.answers(asked) == expected(model, asked)


@on_every_store
@pytest.mark.parametrize(("captures", "order"), some(ORDERS, 31))
def test_captures_that_are_put_in_any_order_are_what_they_are_in_that_of_their_dates(whole, captures, order):
    town = Town(whole)

    check(town, captures, lambda pages: [town.table.put(pages[number]) for number in order])


@pytest.mark.parametrize(("order", "cuts"), some(SPLITS, 97))
def test_it_makes_no_difference_which_captures_come_in_one_batch(whole, order, cuts):
    town = Town(whole)

    def put(pages):
        with town.table.writer() as writer:
            for place, number in enumerate(order):
                if place in cuts:
                    writer.flush()
                writer.put(pages[number])

    check(town, FIVE, put)


@pytest.mark.parametrize("order", some(list(itertools.permutations(range(5))), 23), ids=lambda order: str(order))
def test_it_makes_no_difference_that_captures_are_put_twice_or_by_two_writers(whole, order):
    town = Town(whole)

    def put(pages):
        with town.table.writer() as first, town.table.writer() as second:
            for place, number in enumerate(order):
                for writer in (first, second)[:: -1 if place % 2 else 1]:
                    writer.put(pages[number])
                    writer.flush()
        town.site.store(*pages, pages[order[0]])

    check(town, FIVE, put)


@pytest.mark.parametrize("order", some(list(itertools.permutations(range(4))), 5), ids=lambda order: str(order))
@pytest.mark.parametrize("poorer", ["without a body", "cut", "an open revisit"])
def test_a_poorer_record_of_a_moment_takes_nothing_away_in_any_order(whole, poorer, order):
    town = Town(whole)

    def put(pages):
        bare = msgspec.structs.replace(pages[1], body=None, outlinks=None, title=None)
        records = {
            "without a body": bare,
            "cut": msgspec.structs.replace(pages[1], body=b"", truncated=True, size=1),
            "an open revisit": msgspec.structs.replace(bare, same_as=town.target("unknown"), _repeats_at=town.at(2)),
        }
        captures = [*pages, records[poorer]]
        for number in order:
            town.table.put(captures[number])

    check(town, [A, B, A], put)


@pytest.mark.parametrize("seed", some(list(range(120)), 40))
def test_many_captures_in_any_order_are_what_the_model_says(whole, seed):
    random_numbers, town = random.Random(seed), Town(whole)
    captures = random_numbers.choices([A, B, C, ERROR, GONE, NOT_MODIFIED, A_NOINDEX, B, A], k=8)

    def put(pages):
        random_numbers.shuffle(pages)
        for number in range(0, len(pages), 3):
            town.site.store(*pages[number : number + 3])

    check(town, captures, put)


@pytest.mark.parametrize(("captures", "order"), some(ORDERS, 61))
def test_an_index_has_the_entries_of_the_newest_capture_in_any_order(captures, order):
    with webtable.open(f"memory:{uuid.uuid4().hex}", create=True, indexes=["link", "time"]) as table:
        town = Town(Site(table, "entries.example", NOW))

        check(town, captures, lambda pages: [table.put(pages[number]) for number in order])

        drifts = [table.indexes.verify(name, settle=0) for name in ("link", "time")]
        assert [str(drift) for drift in drifts if not drift.is_empty] == []
