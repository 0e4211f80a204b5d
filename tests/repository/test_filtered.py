"""Questions with a filter of URLs: what they answer, how they go on, and in frames, parts and asyncio."""

from __future__ import annotations

import asyncio

import pytest

import webtable
from listing_examples import ask_example
from webtable import Link, Page, URLFilter
from webtable.errors import InvalidArgument, InvalidToken
from webtable.questions import LISTINGS

PATHS = ["/", "/calendar/2031/05", "/calendar/2031/06", "/docs/a", "/docs/b.pdf", "/list?sort=name", "/list?sort=size"]
TRAP = URLFilter(exclude=["/calendar/**"], refuse_params=["sort"], refuse_extensions=["pdf"])


@pytest.fixture
def calendar(site):
    """A site that has all the paths, and whose first page links to as many that are not stored, below /new."""
    links = tuple(Link(site.url(f"{path}{'&' if '?' in path else '?'}new=1")) for path in PATHS)
    site.store(*(site.page(path, outlinks=links if path == "/" else ()) for path in PATHS))
    return site


def paths(site, results):
    return [(result if isinstance(result, str) else result.url).removeprefix(site.url("")) for result in results]


def test_the_same_filter_holds_for_every_question_about_urls(calendar):
    site, table = calendar, calendar.table

    allowed = ["/", "/docs/a"]
    assert paths(site, table.pages(site.domain, urls=TRAP)) == allowed
    assert sorted(paths(site, table.outdated(site.domain, not_fetched_since="2999-01-01", urls=TRAP))) == allowed
    assert paths(site, table.links.discovered(site.domain, urls=TRAP)) == [f"{path}?new=1" for path in allowed]
    assert paths(site, table.links.orphans(site.domain, urls=TRAP)) == allowed
    assert sorted(paths(site, table.links.dead_ends(site.domain, urls=TRAP))) == ["/docs/a"]
    assert paths(site, table.links.of(site.url("/"), urls=TRAP)) == [f"{path}?new=1" for path in allowed]


def test_a_filtered_answer_goes_on_where_it_ended(calendar):
    urls = URLFilter(exclude=["/calendar/**"])
    answer = calendar.table.pages(calendar.domain, urls=urls)
    every = paths(calendar, answer)

    first = answer.page(size=2)
    rest = calendar.table.pages(calendar.domain, urls=urls, after=first.next_token)

    assert paths(calendar, first) + paths(calendar, rest) == every == [path for path in PATHS if "calendar" not in path]
    assert paths(calendar, calendar.table.pages(calendar.domain, urls=urls, limit=3)) == every[:3]
    # The token of another filter is one of another question.
    with pytest.raises(InvalidToken):
        calendar.table.pages(calendar.domain, after=first.next_token)
    with pytest.raises(InvalidToken):
        calendar.table.pages(calendar.domain, urls=TRAP, after=first.next_token)
    assert "of URLs with exclude /calendar/**" in str(answer.explain())


def test_frames_and_parts_are_filtered(calendar):
    answer = calendar.table.pages(calendar.domain, urls=TRAP)

    frame = answer.to_pandas(columns=["title", "status"])
    assert (list(frame.columns), len(frame)) == (["title", "status"], 2)
    assert paths(
        calendar, calendar.table.pages(calendar.domain, urls=TRAP, limit=1).to_arrow().read_all()["url"].to_pylist()
    ) == ["/"]
    assert answer.to_arrow(["text"]).read_all().num_rows == 2
    if calendar.table.store.capabilities.processes_write_concurrently:
        found = [page for part in answer.partitions(3) for page in part.pages()]
        assert sorted(paths(calendar, found)) == ["/", "/docs/a"]


def test_what_is_dropped_is_dropped_from_discovered_urls(site):
    targets = [
        "/a?utm_source=x",
        "/a?utm_source=y",
        "/b?id=1&utm_source=x",
        "/c;jsessionid=1",
        "/c",
        "/stored?utm_source=x",
    ]
    site.store(site.page("/", outlinks=tuple(map(Link, map(site.url, targets)))), site.page("/stored"))
    urls = URLFilter(drop_params=["utm_*"], session_ids="drop")

    answer = site.table.links.discovered(site.domain, urls=urls)

    assert paths(site, answer) == ["/a", "/b?id=1", "/c"]
    first = answer.page(size=2)
    assert paths(site, site.table.links.discovered(site.domain, urls=urls, after=first.next_token)) == ["/c"]


def test_asyncio_takes_the_same_filter(tmp_path):
    async def found():
        async with webtable.aio.open(tmp_path / "crawl.db", create=True) as table:
            await table.put(
                Page(url="https://example.com/", body=b"x", outlinks=[Link("https://example.com/calendar/1")])
            )
            await table.put(Page(url="https://example.com/calendar/", body=b"x"))
            pages = [page.url async for page in table.pages("example.com", urls=TRAP)]
            return pages, [url async for url in table.links.discovered("example.com", urls=TRAP)]

    assert asyncio.run(found()) == (["https://example.com/"], [])


@pytest.mark.parametrize("name", [name for name, listing in LISTINGS.items() if listing.has_urls])
def test_every_listing_of_urls_takes_a_filter(name):
    with webtable.open(f"memory:filtered-{name}", create=True) as table:
        table.put(Page(url="https://example.com/", body=b"<a href=/x>"))
        if name == "near_duplicates":
            table.indexes.add("similarity")
        answer = ask_example(table, LISTINGS[name], urls=URLFilter(hosts=["example.org"]))
        assert list(answer) == []
        with pytest.raises(InvalidArgument, match=r"urls='/x' must be a webtable\.URLFilter"):
            ask_example(table, LISTINGS[name], urls="/x")
