"""A verification misses the rows that were counted and are gone, and none that anybody has deleted."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from damaging import PAGE, damage, remove, write

import webtable
from webtable import Page
from webtable.repository.hosts.counts import HostCounter
from webtable.repository.maintenance import verify
from webtable.rowkey import KeyRange, Salt

NOW = datetime.now(UTC).replace(microsecond=0)


@pytest.fixture
def table(new_url):
    with webtable.open(new_url(), create=True, indexes=["host"]) as table:
        yield table


def url_of(host: str, number: int) -> str:
    return f"https://{host}.example/{number}"


def fill(table, **hosts: int) -> None:
    with table.writer() as writer:
        for host, pages in hosts.items():
            for number in range(pages):
                writer.put(Page(url=url_of(host, number), body=b"<p>page", fetched_at=NOW))


def counted(table, **hosts: int) -> None:
    fill(table, **hosts)
    table.links.refresh(also_unfinished=True)


def lose(table, *urls: str) -> None:
    """Have whole rows vanish, as a damaged file loses them: nothing else tells of it."""
    for url in urls:
        remove(table, table.table, table.key.encode(url))


def short(table, domain=webtable.ALL) -> list[tuple[str, int, int]]:
    found = table.maintenance.verify(domain)
    assert found.missing == sum(host.pages for host in found.short_hosts)
    assert found.is_sound == (not found.missing)
    return sorted((host.host, host.expected, host.found) for host in found.short_hosts)


@pytest.mark.parametrize("salt", [Salt.host(), Salt.url(), Salt.none()], ids=["host", "url", "none"])
def test_pages_whose_rows_are_gone_are_missing(new_url, salt):
    with webtable.open(new_url(), create=True, salt=salt, indexes=["host"]) as table:
        counted(table, a=20, b=7, c=1)
        lose(table, url_of("a", 3), url_of("a", 4), url_of("c", 0))

        assert short(table) == [("a.example", 20, 18), ("c.example", 1, 0)]


def test_a_verification_of_a_domain_compares_its_hosts_only(table):
    counted(table, a=3, b=3)
    fill(table, **{"sub.a": 2})
    table.links.refresh(also_unfinished=True)
    lose(table, url_of("sub.a", 0), url_of("b", 0))

    assert short(table, "a.example") == [("sub.a.example", 2, 1)]


def test_where_nothing_was_counted_nobody_knows_what_is_missing(table):
    fill(table, a=3)
    lose(table, url_of("a", 0))

    found = table.maintenance.verify(webtable.ALL)

    assert (found.missing, found.is_sound) == (None, True)


def test_a_table_without_an_index_of_hosts_does_not_know_what_is_missing(new_url):
    with webtable.open(new_url(), create=True, indexes=["time"]) as table:
        fill(table, a=3)

        assert table.maintenance.verify(webtable.ALL).missing is None


def test_a_damaged_row_is_not_missing(table):
    counted(table, a=3)
    damage(table, url_of("a", 0), PAGE)

    found = table.maintenance.verify(webtable.ALL)

    assert (found.damaged, found.missing) == (1, 0)


def test_deleted_pages_are_not_missing_before_and_after_they_are_counted(table):
    counted(table, a=5, b=5)
    table.delete(url_of("a", 0))
    table.delete_pages("b.example")

    before = short(table)
    table.links.refresh(also_unfinished=True)

    assert (before, short(table)) == ([], [])


def test_of_a_host_with_changes_that_wait_nothing_is_known_and_of_others_it_is(table):
    counted(table, a=5, b=5)
    lose(table, url_of("a", 0), url_of("b", 0))
    table.put(Page(url=url_of("a", 9), body=b"new"))

    assert short(table) == [("b.example", 5, 4)]


def test_a_page_that_is_stored_again_as_it_was_leaves_its_host_comparable(table):
    counted(table, a=5)
    lose(table, url_of("a", 0))
    table.put(Page(url=url_of("a", 1), body=b"<p>page"))

    assert short(table) == [("a.example", 5, 4)]


def test_a_refresh_that_was_killed_half_way_leaves_no_page_missing(table, monkeypatch):
    counted(table, a=5)
    table.delete(url_of("a", 0))

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(HostCounter, "_add_up", killed)
        with pytest.raises(KeyboardInterrupt):
            table.links.refresh(also_unfinished=True)

    assert short(table) == []


@pytest.mark.parametrize("with_refresh", [False, True])
def test_what_is_deleted_while_rows_are_counted_is_not_missing(table, monkeypatch, with_refresh):
    counted(table, a=5)
    pages_of = verify._pages_of

    def meanwhile(*arguments):
        table.delete(url_of("a", 0))
        found = pages_of(*arguments)
        if with_refresh:
            table.links.refresh(also_unfinished=True)
        return found

    monkeypatch.setattr(verify, "_pages_of", meanwhile)

    assert short(table) == []


@pytest.mark.usefixtures("manual_clock")
def test_an_index_of_hosts_that_was_added_again_misses_nothing_before_it_is_counted(table):
    counted(table, a=5)
    table.indexes.drop("host")
    lose(table, url_of("a", 0))
    table.indexes.add("host")

    assert table.maintenance.verify(webtable.ALL).missing is None
    table.links.refresh(also_unfinished=True)
    assert short(table) == []


def test_more_hosts_than_fit_are_compared_piece_by_piece(table, monkeypatch):
    monkeypatch.setattr(verify, "HOSTS_AT_ONCE", 2)
    counted(table, **{f"h{number}": 2 for number in range(5)})
    lose(table, url_of("h0", 0), url_of("h3", 1), url_of("h4", 1))

    assert short(table) == [(f"h{number}.example", 2, 1) for number in (0, 3, 4)]


def test_a_queue_that_cannot_be_read_is_damage_and_nothing_is_missing(table):
    counted(table, a=5)
    lose(table, url_of("a", 0))
    table.put(Page(url=url_of("b", 9), body=b"new"))
    (batch,) = table.store.scan(table.table + "_queue", [KeyRange()])
    for column, cells in batch.cells.items():
        if column.startswith(b"queue:pages"):
            write(table, table.table + "_queue", batch.key, column, cells[0].timestamp, b"\xff")

    found = table.maintenance.verify(webtable.ALL)

    assert (found.damaged, found.missing) == (1, 0)
