"""Duplicates, titles, chains of redirects and crawls: what a plain loop over the pages finds, on every store."""

from __future__ import annotations

import uuid
from collections import defaultdict
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sites import Site

import webtable
from nightly import examples
from store_differences import differs
from webtable.answers import Crawl, DuplicateGroup, RedirectChain, TitleProblem
from webtable.errors import FullScanNeeded, InvalidArgument, InvalidToken, InvalidURL

HOUR = 3_600
PATHS = [f"/{letter}" for letter in "abcdefgh"]
TITLES = [None, "", "  ", "One", "one", "Z\0ero", "Zeta", "x" * 60, "\N{SNOWMAN}" * 61, "\U0001f642"]

pages_of_a_site = st.lists(
    st.fixed_dictionaries(
        {
            "path": st.sampled_from(PATHS),
            "host": st.sampled_from(["", "www", "b.www"]),
            "age": st.integers(1, 60).map(lambda hours: hours * HOUR * 0.5),
            "title": st.sampled_from(TITLES),
            "body": st.sampled_from([None, b"", b"same", b"other"]),
            "status": st.sampled_from([200, 200, 200, 301, 404]),
            "content_type": st.sampled_from(["text/html", "text/html", "application/pdf", None]),
        },
        optional={"redirect_to": st.sampled_from([*PATHS, "https://elsewhere.example/x", "not a URL"])},
    ),
    max_size=25,
)


def key(table, url):
    return table.key.unsalted(table.key.encode(url))


def plain_groups(pages, by):
    found = defaultdict(list)
    for page in pages:
        value = page.digest if by == "content" else page.title
        if value and value.strip() and 200 <= page.status < 300:
            found[value].append(page)
    # By their first pages, as dicts keep their order.
    return [
        DuplicateGroup(by, value, len(some), sum(one.size or 0 for one in some), tuple(one.url for one in some[:10]))
        for value, some in found.items()
        if len(some) > 1
    ]


def plain_titles(pages, longest):
    def is_html(page):
        return page.content_type == "text/html" or (page.content_type is None and page.outlink_count is not None)

    shown = [page for page in pages if page.status == 200 and is_html(page)]
    titled = [page for page in shown if page.title and page.title.strip()]
    sharing = defaultdict(list)
    for page in titled:
        sharing[page.title].append(page.url)
    return [
        *(TitleProblem("missing", page.url, None) for page in shown if page not in titled and page.has_body),
        *(
            TitleProblem("duplicate", url, title, len(urls) - 1)
            for title, urls in sorted(sharing.items())
            for url in urls
            if len(urls) > 1
        ),
        *(TitleProblem("too long", page.url, page.title) for page in titled if len(page.title) > longest),
    ]


def plain_chains(table, pages):
    """Return the chains, each followed by `resolve`."""
    leads = {page.url: page.redirect_to for page in pages if page.redirect_to and "://" in page.redirect_to}
    led_to = {target for url, target in leads.items() if target != url}
    begins, reached = [url for url in leads if url not in led_to], set()

    def reach(url):
        while url in leads and url not in reached:
            reached.add(url)
            url = leads[url]

    for url in begins:
        reach(url)
    for url in leads:
        if url not in reached:
            begins.append(url)
            reach(url)
    chains = []
    for url in sorted(begins, key=lambda url: key(table, url)):
        found = table.resolve(url)
        end = table.get(found.url, columns=[])
        loop = found.problem == "loop"
        chains.append(RedirectChain(found.hops, len(found.hops) - 1, loop, end and end.status))
    return chains


def plain_crawls(table, pages, gap):
    captures = {}
    for page in pages:
        for one in (*table.history(page.url), page):
            captures[page.url, one.fetched_at] = one
    crawls = []
    for page in sorted(captures.values(), key=lambda page: page.fetched_at):
        if not crawls or page.fetched_at - crawls[-1][-1].fetched_at > gap:
            crawls.append([])
        crawls[-1].append(page)
    return [
        Crawl(
            some[0].fetched_at,
            some[-1].fetched_at,
            len(some),
            sum(page.size or 0 for page in some),
            len({page.url.split("/")[2] for page in some}),
        )
        for some in crawls
    ]


def one_by_one(ask):
    """Return the results of a question that is asked for one at a time, each behind the token of the one before."""
    found, token = [], None
    for _ in range(100):
        batch = ask(after=token).page(1)
        found += batch
        token = batch.next_token
        if token is None:
            return found
    raise AssertionError("tokens do not end")


def stored(shared_table, now, given_pages):
    site = Site(shared_table, f"{uuid.uuid4().hex[:10]}.example", now)
    pages = []
    for fields in given_pages:
        target = fields.get("redirect_to")
        if target and target.startswith("/"):
            fields = {**fields, "redirect_to": site.url(target)}
        pages.append(site.page(**fields))
    site.store(*pages)
    return site


def check_as_a_plain_loop(site, gap):
    table, domain = site.table, site.domain
    pages = list(table.pages(domain))

    for by in ("content", "title"):
        expected = plain_groups(pages, by)
        for order in ("pages", "bytes"):
            found = list(table.duplicate_groups(domain, by=by, order=order))
            assert found == sorted(expected, key=lambda group: -getattr(group, order))
        assert one_by_one(lambda by=by, **asking: table.duplicate_groups(domain, by=by, **asking)) == list(
            table.duplicate_groups(domain, by=by)
        )
    assert list(table.titles(domain)) == one_by_one(lambda **asking: table.titles(domain, **asking))
    assert list(table.titles(domain)) == plain_titles(pages, 60)
    assert list(table.titles(domain, max_length=3)) == plain_titles(pages, 3)
    chains = list(table.redirect_chains(domain))
    assert chains == plain_chains(table, pages)
    assert chains == one_by_one(lambda **asking: table.redirect_chains(domain, **asking))
    crawls = plain_crawls(table, pages, gap)
    assert list(table.crawls(domain, gap=gap, order="oldest")) == crawls
    assert list(table.crawls(domain, gap=gap)) == crawls[::-1]
    for order in ("oldest", "newest"):
        assert one_by_one(lambda order=order, **asking: table.crawls(domain, gap=gap, order=order, **asking)) == list(
            table.crawls(domain, gap=gap, order=order)
        )


@pytest.mark.slow
def test_a_site_is_judged_as_by_a_plain_loop_over_its_pages(adapter, shared_table, site):
    @settings(
        max_examples=4 if differs(adapter, "slow calls") else examples(by_day=15, by_night=60),
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(pages=pages_of_a_site, hours=st.sampled_from([0.1, 0.5, 1, 3]))
    def check(pages, hours):
        check_as_a_plain_loop(stored(shared_table, site.now, pages), timedelta(hours=hours))

    check()


@pytest.mark.slow
@given(pages=pages_of_a_site, hours=st.sampled_from([0.5, 2]))
@settings(
    max_examples=examples(by_day=12, by_night=40),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_a_site_is_judged_so_in_memory_and_by_the_time_index(pages, hours):
    gap = timedelta(hours=hours)
    with webtable.open(f"memory:{uuid.uuid4().hex}", create=True) as table:
        site = stored(table, datetime_now(), pages)

        check_as_a_plain_loop(site, gap)

        everything = list(table.pages(webtable.ALL))
        for order in ("newest", "oldest"):
            assert list(table.crawls(webtable.ALL, gap=gap, order=order)) == list(
                table.crawls("example", gap=gap, order=order)
            )
            assert one_by_one(lambda order=order, **a: table.crawls(webtable.ALL, gap=gap, order=order, **a)) == list(
                table.crawls(webtable.ALL, gap=gap, order=order)
            )
        assert list(table.crawls(webtable.ALL, gap=gap, order="oldest")) == plain_crawls(table, everything, gap)
        assert list(table.titles(webtable.ALL)) == list(table.titles("example"))


def datetime_now():
    from datetime import UTC, datetime

    return datetime.now(UTC).replace(microsecond=0)


ASKED = {
    "duplicate_groups": lambda table, *given, **asking: table.duplicate_groups(*given, **asking),
    "titles of several": lambda table, *given, **asking: table.duplicate_groups(*given, by="title", **asking),
    "titles": lambda table, *given, **asking: table.titles(*given, **asking),
    "redirect_chains": lambda table, *given, **asking: table.redirect_chains(*given, **asking),
    "crawls": lambda table, *given, **asking: table.crawls(*given, **asking),
}


@pytest.fixture
def flawed(site):
    """Two hosts, each with a directory, and the same flaws in each of the four places."""
    for host in ("", "www"):
        for folder in ("", "/docs"):
            site.store(
                site.page(f"{folder}/a", host=host, title="Same", body=b"1", content_type="text/html"),
                site.page(f"{folder}/b", host=host, title="Same", body=b"1", content_type="text/html"),
                site.page(f"{folder}/c", host=host, status=301, redirect_to=site.url("/a"), title=None),
            )
    return site


@pytest.mark.parametrize("question", ASKED)
def test_the_pages_in_question_are_chosen_as_for_a_listing(flawed, question):
    table, ask = flawed.table, ASKED[question]

    def pages(site):
        return sum(getattr(one, "pages", getattr(one, "captures", 1)) for one in ask(table, site))

    every = pages(flawed.domain)
    assert pages(webtable.HostOnly(flawed.domain)) == every / 2
    assert pages(f"https://{flawed.domain}/docs/") == every / 4
    assert pages(f"www.{flawed.domain}") == every / 2
    assert pages(f"docs.{flawed.domain}") == 0


@pytest.mark.parametrize("question", ASKED)
def test_what_cannot_be_honoured_is_refused(flawed, question):
    table, ask = flawed.table, ASKED[question]

    with pytest.raises(InvalidURL):
        ask(table, "a b")
    for wrong in ({"order": "colour"}, {"limit": -1}, {"site": 5}):
        with pytest.raises(InvalidArgument):
            ask(table, **{"site": flawed.domain, **wrong})
    with pytest.raises(InvalidToken):
        ask(table, flawed.domain, after=table.pages(flawed.domain).page(1).next_token)
    assert list(ask(table, flawed.domain, limit=0)) == []
    assert len(list(ask(table, flawed.domain, limit=1))) == 1
    assert "pages" in str(ask(table, flawed.domain).explain())


@pytest.mark.parametrize("question", ASKED)
def test_the_whole_table_is_read_only_when_told_so(new_url, question, large_store):
    with webtable.open(new_url(), create=True, indexes=[]) as table:
        with pytest.raises(FullScanNeeded, match=r"or webtable\.ALL for every page"):
            ASKED[question](table)
        assert list(ASKED[question](table, webtable.ALL)) == []
