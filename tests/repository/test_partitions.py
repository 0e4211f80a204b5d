"""Answers in parts: together they are the answer, apart they have nothing in common, and any process reads them."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta

import pytest

import webtable
from store_differences import on_every_store
from webtable import HostOnly, Link
from webtable.errors import InvalidArgument, LayoutMismatch, TableNotFound
from webtable.repository.reading import samples
from webtable.rowkey import Salt
from webtable.store import StoreURL, adapter_of

QUESTIONS = {
    "pages": lambda table, domain: table.pages(domain),
    "pages of a host": lambda table, domain: table.pages(HostOnly(f"h1.{domain}"), columns=["body", "text"]),
    "pages of a directory": lambda table, domain: table.pages(f"https://h1.{domain}/p/"),
    "pages with a status": lambda table, domain: table.pages(domain, status=404),
    "search": lambda table, domain: table.search("number", domain),
    "edges": lambda table, domain: table.edges(domain),
    "changes": lambda table, domain: table.changes(domain, since="3d"),
    "hosts": lambda table, domain: table.hosts(domain),
    "fetched": lambda table, domain: table.fetched(domain, since="7d"),
    "modified": lambda table, domain: table.modified(domain),
    "largest": lambda table, domain: table.largest(domain, min_size=3),
    "errors": lambda table, domain: table.errors(domain),
    "with_status": lambda table, domain: table.with_status(404, domain),
    "redirects to": lambda table, domain: table.redirects(to=f"https://h1.{domain}/p/1"),
    "links.to": lambda table, domain: table.links.to(f"https://h0.{domain}/p/7"),
    "most_linked": lambda table, domain: table.links.most_linked(domain),
    "dead_ends": lambda table, domain: table.links.dead_ends(domain),
    "broken": lambda table, domain: table.links.broken(domain),
    "orphans": lambda table, domain: table.links.orphans(domain),
    "discovered": lambda table, domain: table.links.discovered(domain),
}
PAGES = 90


@pytest.fixture
def town(site):
    """Pages of seven hosts with links, errors, redirects, and links to what is not stored."""

    def url(number: int) -> str:
        return f"https://h{number % 7}.{site.domain}/p/{number}"

    def page(number: int):
        links = () if number % 11 == 0 else (Link(url(number * 7 % PAGES), "a", ""), Link(url(number + 500), "b", ""))
        status, target = (301, url(1)) if number % 13 == 5 else (404 if number % 5 == 0 else 200, None)
        body = b"<p>number" + b" x" * number
        more = {"status": status, "redirect_to": target, "outlinks": links, "body": body, "content_type": "text/html"}
        return site.page(f"/p/{number}", host=f"h{number % 7}", age=60 * number, **more)

    site.store(*map(page, range(PAGES)))
    site.table.links.refresh(also_unfinished=True)
    return site


def named(result) -> str:
    """Return a text by which *result* differs from the others of its answer."""
    if isinstance(result, str):
        return result
    page = getattr(result, "page", result)
    ends = (getattr(result, "source", ""), getattr(result, "target", ""))
    return f"{getattr(page, 'url', None) or getattr(result, 'name', None)} {ends}"


def parts_of(answer, n: int):
    return pickle.loads(pickle.dumps(answer.partitions(n)))


@pytest.mark.parametrize("question", QUESTIONS)
def test_together_the_parts_are_the_answer_and_no_result_is_in_two(town, question):
    answer = QUESTIONS[question](town.table, town.domain)

    parts = parts_of(answer, 5)

    found = [named(result) for part in parts for result in part.pages()]
    assert len(parts) == 5
    assert sorted(found) == sorted(map(named, answer))
    assert found
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("question", ["pages", "fetched", "most_linked", "edges"])
def test_a_sample_of_the_index_of_urls_says_where_to_cut_a_long_answer(town, question, monkeypatch):
    monkeypatch.setattr(samples, "MOST_KEYS", 10)
    answer = QUESTIONS[question](town.table, town.domain)

    parts = parts_of(answer, 3)

    found = [named(result) for part in parts for result in part.pages()]
    assert sorted(found) == sorted(map(named, answer))


@pytest.mark.parametrize("n", [1, 2, 95])
def test_there_are_as_many_parts_as_are_asked_for_also_more_than_rows(town, n):
    parts = town.table.pages(town.domain).partitions(n)

    assert len(parts) == n
    assert sum(part.rows for part in parts) == PAGES
    assert sum(len(list(part.pages())) for part in parts) == PAGES


def test_parts_of_nothing_are_empty(site):
    parts = site.table.pages(site.domain).partitions(3)

    assert [(part.rows, list(part.pages())) for part in parts] == [(0, [])] * 3


@on_every_store
def test_a_part_is_read_again_and_as_a_frame(town, adapter):
    if adapter == "memory":
        with pytest.raises(InvalidArgument, match="cannot be opened by another process"):
            town.table.pages(town.domain).partitions(2)
        return
    first, second = town.table.pages(town.domain).partitions(2)

    assert [page.url for page in first.pages()] == [page.url for page in first.pages()]
    urls = [
        *first.to_arrow(["url"]).read_all()["url"].to_pylist(),
        *second.to_arrow(["url"]).read_all()["url"].to_pylist(),
    ]
    assert sorted(urls) == sorted(page.url for page in town.table.pages(town.domain))
    with first.open() as answer:
        assert answer.count() == first.rows
        assert "storage" in answer.order


@pytest.mark.slow
def test_the_parts_of_a_large_host_are_of_one_size_by_the_sample_too(tmp_path, monkeypatch):
    with webtable.open(tmp_path / "w.db", create=True) as table:
        with table.writer() as writer:
            for number in range(3_000):
                host = "large" if number % 10 else f"h{number}"
                writer.put(webtable.Page(url=f"https://{host}.example/{number % 7}/{number}", body=b"x"))
        monkeypatch.setattr(samples, "MOST_KEYS", 1_000)

        parts = table.pages().partitions(6)

        counts = [len(list(part.pages())) for part in parts]
        assert sum(counts) == 3_000
        assert max(counts) < 1.5 * 500
        assert sum(part.rows for part in parts) == pytest.approx(3_000, rel=0.15)
        assert all(0.6 < part.rows / count < 1.6 for part, count in zip(parts, counts, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("salt", [Salt.host(), Salt.none(), Salt.url()])
def test_without_indexes_keys_are_looked_up_at_even_distances(tmp_path, monkeypatch, salt):
    with webtable.open(tmp_path / "w.db", create=True, indexes=[], salt=salt) as table:
        with table.writer() as writer:
            for number in range(2_000):
                writer.put(webtable.Page(url=f"https://h{number % 50}.example/{number}", body=b"x"))
        monkeypatch.setattr(samples, "MOST_KEYS", 100)

        parts = table.pages().partitions(4)

        counts = [len(list(part.pages())) for part in parts]
        assert sum(counts) == 2_000
        assert max(counts) < 1_500
        assert [part.rows for part in parts] == [None] * 4


def test_a_time_ago_is_the_moment_at_which_the_answer_was_asked_for(tmp_path, manual_clock):
    with webtable.open(tmp_path / "w.db", create=True) as table:
        answer = table.fetched(since=timedelta(hours=1), until="10m")
        manual_clock.passed += 3_000

        (part,) = answer.partitions(1)

        assert part.options["since"] == manual_clock.now - timedelta(seconds=3_000 + 3_600)
        assert part.question == answer.question
        until = table.changes(since="1h").partitions(1)[0].options["until"]
        assert until == manual_clock.now


def test_what_cannot_be_divided_is_refused_with_the_reason(town):
    table, url = town.table, f"https://h0.{town.domain}/p/0"

    for answer in (table.titles(town.domain), table.links.of(url), table.duplicate_groups(town.domain)):
        with pytest.raises(InvalidArgument, match="cannot be divided"):
            answer.partitions(2)
    for answer in (
        table.pages(town.domain, limit=5),
        table.pages(town.domain, after=table.pages(town.domain).page(1).next_token),
    ):
        with pytest.raises(InvalidArgument, match="limit= or after="):
            answer.partitions(2)
    for n in (0, 1.5, None):
        with pytest.raises(InvalidArgument, match="n="):
            table.pages(town.domain).partitions(n)


def test_a_table_that_was_created_anew_with_another_layout_is_refused(tmp_path):
    file = tmp_path / "w.db"
    with webtable.open(file, create=True) as table:
        (part,) = table.pages().partitions(1)
        table.maintenance.alter(ttl=1_000_000)
    assert list(part.pages()) == []

    file.unlink()
    with pytest.raises(TableNotFound):
        list(part.pages())
    webtable.open(file, create=True, salt=Salt.url()).close()

    with pytest.raises(LayoutMismatch, match="salt"):
        list(part.pages())


def test_a_part_opens_its_file_from_any_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with webtable.open("odd %41?#.db", create=True) as table:
        table.put(webtable.Page(url="https://a.example/", body=b"x"))
        parts = table.pages().partitions(1)
    monkeypatch.chdir("/")

    assert [page.url for page in parts[0].pages()] == ["https://a.example/"]


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("hbase+https://crawler:secret@gateway/crawl", "hbase+https://gateway/crawl?auth=basic"),
        ("hbase://h:9090/ns:crawl?thrift2=9091", "hbase://h:9090/ns:crawl?thrift2=9091"),
        ("hbase+native://zk1,zk2:2181/crawl?parent=/hbase", "hbase+native://zk1,zk2:2181/crawl?parent=/hbase"),
        ("sqlite:/data/a%20b.db?table=t", "sqlite:/data/a%20b.db?table=t"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*has a password in it")
def test_the_address_of_a_store_has_no_secrets(url, address):
    assert adapter_of(url).address_of(StoreURL.parse(url)) == address


def test_a_page_that_changes_while_parts_are_read_is_never_in_two(tmp_path):
    now = datetime.now(UTC)
    with webtable.open(tmp_path / "w.db", create=True) as table:
        with table.writer() as writer:
            for number in range(200):
                writer.put(
                    webtable.Page(
                        url=f"https://a.example/{number}", body=b"x", fetched_at=now - timedelta(hours=number)
                    )
                )
        parts = table.fetched().partitions(4)
        found = []
        for part in parts:
            found += [page.url for page in part.pages()]
            with table.writer() as writer:
                for number in range(0, 200, 3):
                    writer.put(
                        webtable.Page(url=f"https://a.example/{number}", body=b"x", fetched_at=datetime.now(UTC))
                    )

    assert len(set(found)) == len(found)
    assert len(found) >= 133
