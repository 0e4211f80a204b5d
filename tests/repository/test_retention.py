"""Deleting many pages: which, how often it may be cut short, and that nothing of a domain is left that is erased."""

from __future__ import annotations

import sqlite3
import uuid
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from answers import check_questions, missing

import webtable
from store_differences import with_thrift1
from webtable import Link, Page, WebTable
from webtable.errors import InvalidArgument
from webtable.maintenance import DeletedPage
from webtable.reports import audit
from webtable.repository.upkeep.updates import PageRemoval
from webtable.rowkey import KeyRange
from webtable.store import Delete, NewCell, Put
from webtable.testing import Call, ListeningStore

NOW = datetime.now(UTC).replace(microsecond=0)


@pytest.fixture(scope="module")
def table(new_url):
    with webtable.open(new_url(), create=True) as table:
        yield table


@pytest.fixture
def domain() -> str:
    return f"{uuid.uuid4().hex[:10]}.example"


def page(url: str, *, days: int = 0, body: bytes = b"<p>x</p>", status: int = 200, links: tuple = ()) -> Page:
    outlinks = tuple(Link(to, anchor) for to, anchor in links)
    return Page(url=url, body=body, status=status, fetched_at=NOW - timedelta(days=days), outlinks=outlinks)


def store(table, *pages: Page) -> None:
    with table.writer() as writer:
        for one in pages:
            writer.put(one)


def urls(table, domain: str) -> set[str]:
    return {page.url for page in table.pages(domain)}


@pytest.fixture
def four(table, domain) -> list[str]:
    """Four pages: an old one, an old error, a new one below another host, and a new error."""
    names = [f"https://{domain}/old", f"https://{domain}/gone", f"https://www.{domain}/new", f"https://{domain}/err"]
    store(
        table,
        page(names[0], days=40),
        page(names[1], days=40, status=404),
        page(names[2], days=1),
        page(names[3], days=1, status=404),
    )
    return names


@pytest.mark.parametrize(
    ("site", "chosen", "gone"),
    [
        ("{}", {}, {0, 1, 2, 3}),
        ("https://{}/", {}, {0, 1, 3}),
        ("https://{}/gone/", {}, set()),
        ("{}", {"status": 404}, {1, 3}),
        ("{}", {"status": (404, 500), "fetched_before": NOW - timedelta(days=30)}, {1}),
        ("{}", {"fetched_before": NOW - timedelta(days=30)}, {0, 1}),
        ("{}", {"fetched_before": "30d"}, {0, 1}),
    ],
)
def test_the_pages_that_are_chosen_are_deleted_and_no_others(table, domain, four, site, chosen, gone):
    asked = site.format(domain)
    told: list[DeletedPage] = []

    would = table.delete_pages(asked, **chosen, dry_run=True)
    stored = urls(table, domain)
    done = table.delete_pages(asked, **chosen, on_page=told.append)

    assert stored == set(four)
    assert (would, done.pages) == (done, len(gone))
    assert {one.url for one in told} == {four[number] for number in gone}
    assert urls(table, domain) == set(four) - {four[number] for number in gone}
    check_questions(table, domain)


def test_versions_and_bytes_are_counted(table, domain):
    url = f"https://{domain}/a"
    store(table, page(url, days=3, body=b"one"), page(url, days=2, body=b"two!"))
    told: list[DeletedPage] = []

    done = table.delete_pages(domain, on_page=told.append)

    assert (done.pages, done.versions, done.bytes, done.damaged) == (1, 2, 4, 0)
    assert told == [DeletedPage(url, NOW - timedelta(days=2), 200, 4, 2)]


@pytest.mark.slow
def test_a_page_that_is_fetched_again_meanwhile_is_kept(table, domain, four):
    def fetched_again(_: DeletedPage) -> None:
        store(table, page(four[1], status=200, body=b"back"))

    # The first page of two hundred more is told of before those behind it are looked at once more.
    store(table, *(page(f"https://{domain}/0{number}", days=40) for number in range(220)))
    table.delete_pages(domain, fetched_before="30d", on_page=fetched_again)

    assert table.get(four[1]).body == b"back"
    assert table.get(four[0]) is None
    check_questions(table, domain)


def test_deletions_that_were_cut_short_are_completed_by_the_next_run(table, domain):
    many = [f"https://{domain}/{number}" for number in range(350)]
    store(table, *map(page, many))
    told: list[DeletedPage] = []

    def fail(one: DeletedPage) -> None:
        told.append(one)
        if len(told) == 230:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table.delete_pages(domain, on_page=fail)
    left = urls(table, domain)
    again = table.delete_pages(domain)

    assert not left & {one.url for one in told}
    assert again.pages == len(left)
    assert urls(table, domain) == set()


def test_what_a_killed_run_has_left_of_its_pages_is_removed_by_the_next_one(table, domain, monkeypatch):
    a, b = f"https://{domain}/a", f"https://{domain}/b"
    store(table, page(a, links=((b, "b"),)), page(b, links=((a, "a"),)))

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(PageRemoval, "remove", killed)
        table.delete_pages(domain)
    table.delete_pages(domain)

    rows = table.store.scan(table.table, table.key.subtree_ranges(domain))
    assert not any(column.startswith(b"outlinks:") for row in rows for column in row.cells)
    assert list(table.links.to(a)) == list(table.links.to(b)) == []


def test_a_damaged_page_goes_with_its_domain_and_stays_where_something_is_asked_of_it(table, domain):
    url = f"https://{domain}/a"
    store(table, page(url, status=404))
    row, column = table.key.encode(url), b"metadata:page"
    (stored,) = table.store.read(table.table, [row])
    cell = stored.cells[column][0]
    table.store.write(table.table, [Put(row, [NewCell(column, cell.timestamp, b"{")])])

    asked = table.delete_pages(domain, status=404)
    whole = table.delete_pages(domain)

    assert (asked.pages, asked.damaged) == (0, 1)
    assert (whole.pages, whole.damaged) == (1, 1)
    assert table.get(url) is None


def test_what_is_not_told_apart_is_refused(table, domain, large_store):
    with pytest.raises(InvalidArgument, match="to delete pages of all sites, give status="):
        table.delete_pages(webtable.ALL)
    with pytest.raises(TypeError, match="site"):
        table.delete_pages(status=404)
    with pytest.raises(InvalidArgument, match="and_links"):
        table.delete_pages(domain, status=404, and_links=True)


def test_pages_of_many_dates_are_deleted_with_one_timestamp_in_each_table(table, four, domain):
    stamps: dict[str, set[int]] = {}

    def listen(call: Call) -> None:
        for one in call.arguments["mutations"] if call.name == "write" else ():
            if isinstance(one, Delete) and not call.table.endswith("_queue"):
                stamps.setdefault(call.table, set()).add(one.timestamp)

    listening = WebTable(ListeningStore(table.store, listen), table.table, table.layout)
    done = listening.delete_pages(domain)

    # Thrift1 takes a call for each timestamp.
    assert done.pages == len(four)
    assert len(stamps) > 3
    assert {name: len(some) for name, some in stamps.items()} == dict.fromkeys(stamps, 1)


@pytest.fixture(params=["zstd", "none"])
def linked(request, new_url, domain):
    """Pages of the domain, and pages of others that link to them and are linked from there, now and once."""
    with webtable.open(new_url(), create=True, compression=request.param) as table:
        inside, below = f"https://{domain}/a", f"http://www.{domain}:8080/b?c=1"
        other, third = "https://other.example/", "https://third.example/"
        store(table, page(inside, days=9, links=((other, "their anchor"), (third, "once"))))
        store(table, page(inside, days=8, body=b"two", links=((other, "their anchor"),)), page(below, days=8))
        store(table, page(third, days=9, links=((inside, "the anchor"),)))
        store(table, page(third, days=8, body=b"two", links=((other, "kept"),)))
        links = ((inside, "the anchor"), (other, "kept"), (below, "another"), (f"https://{domain}.evil.org/", "stays"))
        store(table, page(other, days=8, links=links))
        table.links.refresh()
        yield table


@with_thrift1
def test_nothing_of_an_erased_domain_is_left_with_others(linked, domain):
    would = linked.delete_pages(domain, and_links=True, dry_run=True)

    done = linked.delete_pages(domain, and_links=True)

    other = linked.get("https://other.example/", columns=["outlinks", "link_counts"])
    assert done == would
    # One of `third` was in the version before the last; of inlinks there is one that is, and one that was.
    assert (done.pages, done.links, done.inlinks) == (2, 3, 2)
    assert [(link.url, link.anchor) for link in other.outlinks] == [
        ("about:blank", ""),
        ("https://other.example/", "kept"),
        ("about:blank", ""),
        (f"https://{domain}.evil.org/", "stays"),
    ]
    sources = ["https://other.example/", "https://third.example/"]
    assert [inlink.source for inlink in linked.links.to(sources[0])] == sources
    assert linked.delete_pages(domain, and_links=True) == webtable.maintenance.Deletions()
    assert list(linked.links.discovered(domain)) == []
    assert list(linked.hosts(domain)) == []


@with_thrift1
def test_no_other_table_names_an_erased_domain_also_where_links_are_dated_in_the_future(linked, domain):
    ahead = page("https://ahead.example/", days=-0.5, links=((f"https://{domain}/a", "ahead"),))
    store(linked, ahead, page(f"https://{domain}/ahead", days=-0.5, links=(("https://other.example/", "ahead"),)))
    linked.links.refresh()

    linked.delete_pages(domain, and_links=True)

    reversed_name = f"example.{domain.partition('.')[0]}"
    others = [name for name in linked.store.tables() if name.startswith(linked.table) and name != linked.table]
    keys = [row.key.decode() for name in others for row in linked.store.scan(name, [KeyRange()])]
    left = [key for key in keys if reversed_name in key.replace(f"evil.{reversed_name}", "")]
    named = [
        row.cells.keys()
        for row in linked.store.scan(linked.table, [KeyRange()])
        if f":{reversed_name}" in repr(row.key)
    ]
    assert left == []
    assert all(columns == {b"metadata:deleted"} for columns in named)


def test_what_is_left_of_others_is_whole_when_a_domain_is_erased(linked, domain):
    linked.delete_pages(domain, and_links=True)

    assert linked.maintenance.verify(webtable.ALL).is_sound
    assert missing(linked) == {}


def test_links_that_were_erased_are_in_no_answer_about_pages(linked, domain):
    linked.delete_pages(domain, and_links=True)
    other = "https://other.example/"

    edges = list(linked.edges(other))
    answers = [linked.links.broken(), linked.links.discovered(domain), linked.links.most_linked()]
    audited = audit(linked, "other.example")

    assert [edge.target for edge in edges if edge.target != other] == [f"https://{domain}.evil.org/"]
    assert "about:blank" not in str([edges, *map(list, answers), audited.to_dict()])
    assert linked.stats(webtable.ALL).damaged == 0


def test_without_their_links_others_keep_what_they_say_of_a_domain(linked, domain):
    done = linked.delete_pages(domain)

    assert (done.pages, done.links, done.inlinks) == (2, 0, 0)
    assert len([link for link in linked.links.of("https://other.example/") if domain in link.url]) == 3


def test_nothing_of_an_erased_domain_is_in_the_file_after_it_is_compacted(tmp_path, domain):
    file = tmp_path / "crawl.db"
    label = domain.partition(".")[0].encode()
    with webtable.open(str(file), create=True, compression="none") as table:
        names = [f"https://{domain}/{number}" for number in range(30)]
        store(table, *(page(url, days=2, links=((names[0], "x"), ("https://other.example/", "y"))) for url in names))
        store(table, *(page(url, days=1, body=url.encode()) for url in names))
        store(table, page("https://other.example/", links=((names[1], "an anchor"), (names[40 % 30], "another"))))
        table.links.refresh()
        before = everything_in(tmp_path)

        table.delete_pages(domain, and_links=True)
        with closing(sqlite3.connect(file)) as other, other:  # sweeps that have come to a row of the domain
            other.execute("UPDATE families SET swept = ?, swept_deletes = ?", (label, label))
        table.maintenance.compact()
        pages = [page.url for page in table.pages(webtable.ALL)]

    assert label in before
    assert label not in everything_in(tmp_path)
    assert pages == ["https://other.example/"]


def everything_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())
