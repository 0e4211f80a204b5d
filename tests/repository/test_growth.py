"""Which pages have grown or shrunk most between two moments."""

from __future__ import annotations

from datetime import timedelta

import pytest

from webtable.errors import FullScanNeeded, InvalidArgument, InvalidToken
from webtable.repository.questions.changes import Growth


@pytest.fixture
def grown(site):
    """Pages of 10 bytes: one grows by 90, one by 5, one shrinks by 6, one stays, one is new and one has no body now."""
    for path, sizes in {"/much": (10, 100), "/little": (10, 15), "/less": (10, 4), "/same": (10, 10)}.items():
        site.store(*(site.page(path, age=age, body=b"x" * size) for age, size in zip((9e5, 100), sizes, strict=True)))
    site.store(site.page("/new", age=100, body=b"x" * 1_000))
    site.store(site.page("/moved", age=9e5, body=b"x" * 500))
    site.store(site.page("/moved", age=100, status=301, redirect_to=site.url("/new")))
    return site


def paths(found):
    return [(one.url.rpartition("/")[2], one.growth) for one in found]


def since(site):
    return site.now - timedelta(days=1)


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("most", [("much", 90), ("less", -6), ("little", 5)]),
        ("grown", [("much", 90), ("little", 5)]),
        ("shrunk", [("less", -6)]),
    ],
)
def test_pages_come_by_what_their_size_has_changed(grown, order, expected):
    found = grown.table.largest_growth(grown.domain, since=since(grown), order=order)

    assert paths(found) == expected
    assert found.first() in (
        Growth(grown.url("/much"), 90, 10, 100),
        Growth(grown.url("/less"), -6, 10, 4),
    )


def test_what_changed_before_or_after_is_no_growth(grown):
    table = grown.table

    assert paths(table.largest_growth(grown.domain, since=grown.now - timedelta(seconds=50))) == []
    assert paths(table.largest_growth(grown.domain, since="300d", until="2d")) == []


@pytest.mark.parametrize("order", ["most", "grown", "shrunk"])
def test_it_goes_on_behind_a_token(grown, order):
    answer = grown.table.largest_growth(grown.domain, since=since(grown), order=order)
    found, token = [], None
    while True:
        batch = grown.table.largest_growth(grown.domain, since=since(grown), order=order, after=token).page(1)
        found += batch
        token = batch.next_token
        if token is None:
            break

    assert found == list(answer)


def test_pages_of_the_same_growth_come_by_url(site):
    for path in ("/b", "/a", "/c"):
        site.store(site.page(path, age=9e5, body=b"x"), site.page(path, age=100, body=b"xyz"))

    found = site.table.largest_growth(site.domain, since=since(site), limit=2)

    assert paths(found) == [("a", 2), ("b", 2)]


def test_what_is_no_question_is_refused(grown, large_store):
    table = grown.table

    with pytest.raises(InvalidArgument, match="since="):
        table.largest_growth(grown.domain, since=None)
    with pytest.raises(InvalidArgument, match="order="):
        table.largest_growth(grown.domain, since="1d", order="size")
    with pytest.raises(FullScanNeeded):
        table.largest_growth(since="1d")
    with pytest.raises(InvalidToken):
        table.largest_growth(grown.domain, since="1d", after="no token")
