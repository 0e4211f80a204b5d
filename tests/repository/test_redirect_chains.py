"""All chains of redirects of a site: where they begin, how long they are, where they end, and loops."""

from __future__ import annotations

import pytest
from damaging import damage

import webtable
from webtable import WebTable
from webtable.answers import RedirectChain
from webtable.errors import DamagedRow


@pytest.fixture
def redirect(site):
    """Make a page that redirects to a path, or to a URL."""

    def made(path, to, **fields):
        fields = {"status": 301, "redirect_to": to if ":" in to else site.url(to), "title": None, **fields}
        return site.page(path, outlinks=None, **fields)

    return made


def chains(site, *given, **options):
    """Return of each chain its paths, whether it is a loop, and the status of its end."""
    found = list(site.table.redirect_chains(*(given or (site.domain,)), **options))
    assert all(one.length == len(one.urls) - 1 for one in found)
    return [(" ".join(url.removeprefix(site.url("")) for url in one.urls), one.is_loop, one.end) for one in found]


def test_a_chain_begins_where_no_other_redirect_leads(site, redirect):
    site.store(
        redirect("/2", "/3"),
        redirect("/1", "/2"),
        redirect("/0", "/2"),
        site.page("/3", status=410),
        site.page("/"),
    )

    assert chains(site) == [("/0 /2 /3", False, 410), ("/1 /2 /3", False, 410)]


def test_a_chain_that_leads_to_what_is_not_stored_has_no_status_at_its_end(site, redirect):
    site.store(redirect("/a", "/nowhere"), redirect("/b", "https://far.invalid/" + "x" * 20_000))

    assert chains(site)[0] == ("/a /nowhere", False, None)
    (_, far) = site.table.redirect_chains(site.domain)
    assert (far.length, far.is_loop, far.end) == (1, False, None)


def test_loops_begin_at_their_entry_or_at_their_first_url(site, redirect):
    site.store(
        *(redirect(*pair) for pair in (("/c", "/a"), ("/a", "/b"), ("/b", "/c"))),
        *(redirect(*pair) for pair in (("/in", "/y"), ("/y", "/x"), ("/x", "/y"))),
        redirect("/self", "/self", status=302),
    )

    assert chains(site) == [
        ("/a /b /c /a", True, 301),
        ("/in /y /x /y", True, 301),
        ("/self /self", True, 302),
    ]


def test_a_chain_may_leave_the_pages_in_question(site, redirect):
    away = f"https://www.{site.domain}/a"
    site.store(redirect("/", away), redirect("/a", "/end", host="www"), site.page("/end"))

    assert chains(site, webtable.HostOnly(site.domain)) == [(f"/ {away} /end", False, 200)]
    assert chains(site, f"www.{site.domain}") == [(f"{away} /end", False, 200)]


def test_a_loop_through_pages_of_others_begins_in_the_pages_in_question(site, redirect):
    away = f"https://www.{site.domain}/a"
    site.store(redirect("/a", away), redirect("/a", "/a", host="www"))

    assert chains(site, webtable.HostOnly(site.domain)) == [(f"/a {away} /a", True, 301)]
    assert chains(site) == [(f"{away} /a {away}", True, 301)]


def test_a_chain_is_followed_for_twenty_redirects(site, redirect):
    site.store(*(redirect(f"/{n:02}", f"/{n + 1:02}") for n in range(20)), site.page("/20"))
    (whole,) = chains(site)
    site.store(redirect("/20", "/21", age=60), site.page("/21"))
    (cut,) = chains(site)

    assert whole == (" ".join(f"/{n:02}" for n in range(21)), False, 200)
    assert cut == (whole[0], False, 301)
    assert site.table.resolve(site.url("/00")).hops == site.table.redirect_chains(site.domain).first().urls


def test_a_long_ring_without_an_entry_is_one_chain(site, redirect):
    site.store(*(redirect(f"/{n:02}", f"/{(n + 7) % 30:02}") for n in range(30)))

    (ring,) = site.table.redirect_chains(site.domain)

    assert (ring.urls[0], ring.length, ring.is_loop, ring.end) == (site.url("/00"), 20, False, 301)


def test_what_leads_to_no_url_is_no_redirect(site, redirect):
    site.store(redirect("/a", "mailto:somebody@example.com"), site.page("/b", status=301))

    assert chains(site) == []


def test_a_chain_ends_at_a_page_that_cannot_be_read(site, redirect):
    site.store(redirect("/a", "/b"), redirect("/b", "/c"), redirect("/c", "/d"))
    damage(site.table, site.url("/b"))
    answer = site.table.redirect_chains(site.domain)

    assert [one.urls for one in answer] == [
        (site.url("/a"), site.url("/b")),
        (site.url("/c"), site.url("/d")),
    ]
    assert [one.row for one in answer.damaged] == [site.table.key.encode(site.url("/b"))]
    strict = WebTable(site.table.store, site.table.table, site.table.layout, strict=True)
    with pytest.raises(DamagedRow):
        list(strict.redirect_chains(site.domain))


def test_many_chains_are_read_by_few_calls(spied, site, redirect):
    site.store(*(redirect(f"/{n:03}", f"/{n:03}/2") for n in range(300)))
    site.store(*(redirect(f"/{n:03}/2", "/end") for n in range(300)), site.page("/end"))
    calls = []
    spied.listener = lambda call, table, *_: calls.append(call) if table == site.table.table else None

    found = list(spied.site.table.redirect_chains(site.domain))

    assert [one.urls for one in found] == [
        (site.url(f"/{n:03}"), site.url(f"/{n:03}/2"), site.url("/end")) for n in range(300)
    ]
    # Two batches of chains, and three pages of each of these; the pages of the site themselves are read once.
    assert calls.count("read") == 6
    assert calls.count("scan") <= 2


def test_a_chain_that_is_gone_by_the_time_it_is_followed_is_none(spied, site, redirect):
    site.store(redirect("/a", "/b"), redirect("/c", "/b"), site.page("/b"))
    spied.listener = lambda call, *_: call == "read" and site.table.delete(site.url("/a"))

    assert list(spied.site.table.redirect_chains(site.domain)) == [
        RedirectChain((site.url("/c"), site.url("/b")), 1, False, 200)
    ]
