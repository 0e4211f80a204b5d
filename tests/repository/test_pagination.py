"""The pages of lists, by what they name as next and previous and by their numbers, on every store."""

from __future__ import annotations

import pytest
from damaging import damage

from store_differences import on_every_store
from webtable.errors import InvalidArgument


def page(site, path, previous=None, following=None, links=(), **fields):
    """Return a page that names a path as the previous one and one as the next one, and links to both and to *links*."""
    named = [(rel, target) for rel, target in (("prev", previous), ("next", following)) if target]
    head = "".join(f"<link rel={rel} href='{site.url(target)}'>" for rel, target in named)
    targets = [*(target for _, target in named), *links] if links is not None else []
    body = f"<head>{head}<title>{path}</title></head>" + "".join(f"<a href='{site.url(to)}'>x</a>" for to in targets)
    return site.page(path, **{"body": body.encode(), "content_type": "text/html", "outlinks": None, **fields})


def problems(site, **options):
    return {
        page.url.removeprefix(site.url("")): " ".join(page.problems)
        for page in site.table.pagination(site.domain, **options)
    }


@on_every_store
def test_pages_that_name_each_other_have_no_problem(site):
    site.store(
        page(site, "/list", following="/list?page=2"),
        page(site, "/list?page=2", "/list", "/list?page=3"),
        page(site, "/list?page=3", "/list?page=2"),
        page(site, "/", links=["/list"]),
    )

    found = list(site.table.pagination(site.domain))

    assert [(page.number, page.problems) for page in found] == [(1, ()), (2, ()), (3, ())]
    assert (found[1].previous, found[1].next) == (site.url("/list"), site.url("/list?page=3"))
    assert found[0].previous is found[2].next is None


@on_every_store
def test_each_page_of_a_list_is_listed_with_what_is_wrong(site):
    site.store(
        page(site, "/a", following="/b"),
        page(site, "/b", previous="/other", following="/gone"),
        page(site, "/other"),
        page(site, "/gone", status=404),
        page(site, "/c", previous="/moved", following="/missing"),
        page(site, "/moved", status=301, redirect_to=site.url("/a")),
        page(site, "/first", following="/second"),
        page(site, "/second", "/first", canonical=site.url("/first")),
        page(site, "/one", following="/two", links=None),
        page(site, "/two", "/one", robots="noindex"),
        page(site, "/all", following="/x"),
        page(site, "/x", previous="/all", canonical=site.url("/other")),
    )

    assert problems(site) == {
        "/a": "sequence",
        "/b": "error sequence",
        "/c": "missing redirect not-linked",
        "/first": "",
        "/second": "canonicalised",
        "/one": "",
        "/two": "noindex not-linked",
        "/all": "",
        "/x": "",
    }


@on_every_store
def test_numbers_in_urls_make_a_list(site):
    site.store(
        page(site, "/", links=["/blog/page/2/", "/shop?page=2&sort=a", "/shop?sort=a&page=4"]),
        page(site, "/blog/"),
        page(site, "/blog/page/2/", canonical=site.url("/blog/")),
        page(site, "/blog/page/4/"),
        page(site, "/shop?page=1&sort=a"),
        page(site, "/shop?page=2&sort=a"),
        page(site, "/shop?page=4&sort=a"),
        page(site, "/shop?sort=a&page=4"),
        page(site, "/news?page=2"),
        page(site, "/news", status=404),
        page(site, "/pager?pages=3"),
        page(site, "/homepage/2"),
    )

    assert problems(site) == {
        "/blog/": "",
        "/blog/page/2/": "canonicalised",
        "/blog/page/4/": "sequence not-linked",
        "/news?page=2": "sequence not-linked",
        "/shop?page=1&sort=a": "",
        "/shop?page=2&sort=a": "",
        "/shop?page=4&sort=a": "sequence not-linked",
        "/shop?sort=a&page=4": "sequence",
    }
    details = {page.url: (page.number, page.detail) for page in site.table.pagination(site.domain)}
    assert details[site.url("/blog/page/2/")] == (2, site.url("/blog/"))
    assert details[site.url("/blog/page/4/")] == (4, "number 3 is not stored")
    assert details[site.url("/blog/")] == (1, None)


def test_the_header_link_and_links_with_rel_name_pages_as_well(site):
    header = {"Link": f'<{site.url("/two")}>; rel="next"'}
    site.store(
        page(site, "/one", links=["/two"], headers=header),
        site.page("/two", body=b"<a rel=previous href=/one>back</a>", content_type="text/html", outlinks=None),
    )

    assert [(page.previous, page.next, page.problems) for page in site.table.pagination(site.domain)] == [
        (None, site.url("/two"), ()),
        (site.url("/one"), None, ()),
    ]


def test_several_next_pages_are_a_problem(site):
    site.store(
        page(site, "/a", following="/b", links=["/c"], headers={"Link": f"<{site.url('/c')}>; rel=next"}),
        page(site, "/b", "/a"),
        page(site, "/c", "/a"),
    )

    assert problems(site) == {"/a": "several", "/b": "", "/c": ""}
    assert problems(site, problem="several") == {"/a": "several"}


def test_a_target_without_a_stored_body_does_not_break_a_sequence(site):
    site.store(page(site, "/a", following="/b"), page(site, "/b", body=None, outlinks=()))

    assert problems(site) == {"/a": ""}


def test_an_answer_goes_on_after_each_token(site):
    site.store(*(page(site, f"/a?page={n}") for n in range(7)))
    pieces, token = [], None
    while True:
        batch = site.table.pagination(site.domain, after=token).page(2)
        pieces += batch
        if not (token := batch.next_token):
            break

    assert pieces == list(site.table.pagination(site.domain))
    assert [page.number for page in pieces] == list(range(7))


def test_a_damaged_page_is_counted(site):
    site.store(page(site, "/a", following="/b"), page(site, "/b", "/a"))
    damage(site.table, site.url("/b"))

    answer = site.table.pagination(site.domain)

    assert [page.problems for page in answer] == [("missing",)]
    assert len(answer.damaged) == 1


def test_a_wrong_problem_is_refused(site):
    with pytest.raises(InvalidArgument, match="problem='gone' must be one of sequence"):
        site.table.pagination(site.domain, problem="gone")
