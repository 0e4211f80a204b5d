"""The sites that people name: which pages each question is about."""

from __future__ import annotations

import pickle

import pytest

import webtable
from store_differences import on_every_store
from webtable import ALL, HostOnly
from webtable.errors import FullScanNeeded, InvalidArgument, InvalidURL
from webtable.questions import named_site
from webtable.repository.reading.scope import parts_of_site, site_text

PORTS = [
    "https://{}/",
    "https://{}:3000/a",
    "http://{}:3000/",
    "http://{}/a",
    "https://{}:30000/",
    "https://www.{}:3000/",
]


@pytest.fixture
def ports(site):
    """Pages of one host on several ports, and of a host below it."""
    site.store(*(webtable.Page(url=url.format(site.domain), body=b"x", fetched_at=site.now) for url in PORTS))
    return site


def urls(answer):
    return [page.url for page in answer]


@on_every_store
@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ("{}:3000", [2, 1]),
        ("https://{}:3000/", [2, 1]),
        ("http://{}:3000", [2, 1]),
        ("{}:443", [0]),
        ("{}:80", [3]),
        ("https://{}:3000/a/", []),
        ("https://{}/", [0, 2, 4, 3, 1]),
        ("{}", [0, 2, 4, 3, 1, 5]),
    ],
)
@pytest.mark.parametrize("order", ["url", "storage"])
def test_a_port_is_that_port_alone(ports, named, expected, order):
    found = urls(ports.table.pages(named.format(ports.domain), order=order))

    assert sorted(found) == sorted(PORTS[number].format(ports.domain) for number in expected)


def test_a_limit_counts_the_pages_of_the_port_alone(ports):
    asked = f"{ports.domain}:3000"
    first = ports.table.pages(asked).page(1)
    rest = ports.table.pages(asked, after=first.next_token)

    assert len(first) == 1
    assert {*urls(first), *urls(rest)} == {PORTS[number].format(ports.domain) for number in (1, 2)}
    assert len(list(rest)) == 1


def test_every_kind_of_question_takes_a_port(ports):
    table, port = ports.table, f"{ports.domain}:3000"
    table.links.refresh()

    assert table.stats(port).pages == 2
    assert table.maintenance.verify(port).pages == 2
    assert len(table.duplicate_groups(port).first().urls) == 2
    assert len(list(table.crawls(port))) == 1
    assert len(urls(table.fetched(port))) == 2
    assert len(urls(table.with_status(200, port))) == 2
    assert len(urls(table.largest(port, order="smallest"))) == 2
    assert table.delete_pages(port, dry_run=True).pages == 2
    assert table.delete_pages(port).pages == 2
    assert urls(table.pages(port)) == []
    assert len(urls(table.pages(ports.domain))) == 4


def test_a_question_to_an_index_takes_a_host_and_a_directory(site):
    site.store(*map(site.page, ("/", "/docs/a", "/docs/b")), site.page("/docs/c", host="www"))

    assert len(urls(site.table.fetched(site.domain))) == 4
    assert len(urls(site.table.fetched(HostOnly(site.domain)))) == 3
    assert sorted(urls(site.table.fetched(f"https://{site.domain}/docs/"))) == [
        site.url("/docs/a"),
        site.url("/docs/b"),
    ]
    assert urls(site.table.with_status(200, f"https://{site.domain}/docs/")) == [
        site.url("/docs/a"),
        site.url("/docs/b"),
    ]


def test_hosts_are_those_of_a_domain_or_of_a_host(site):
    site.store(site.page("/"), site.page("/", host="www"))

    assert {host.name for host in site.table.hosts(site.domain)} == {site.domain, f"www.{site.domain}"}
    assert [host.name for host in site.table.hosts(HostOnly(site.domain))] == [site.domain]
    with pytest.raises(InvalidArgument, match="a part of one host"):
        site.table.hosts(f"{site.domain}:3000")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("Example.COM", "example.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("https://Example.com", "https://example.com/"),
        (HostOnly("example.com"), "https://example.com/"),
        ("example.com/docs", "https://example.com/docs/"),
        ("http://example.com/docs/", "https://example.com/docs/"),
        ("localhost:3000", "localhost:3000"),
        ("http://localhost:3000/docs", "https://localhost:3000/docs/"),
        ("::1", "[::1]"),
        ("[::1]:3000", "[::1]:3000"),
        ("192.0.2.1", "https://192.0.2.1/"),
        ("host:80", "host:80"),
        (ALL, "all"),
    ],
)
def test_the_text_of_a_site_names_the_same_site(given, text):
    expected = text if text != "[::1]" else "https://[::1]/"

    assert site_text(given) == expected
    assert site_text(named_site(expected)) == expected
    if given is not ALL:
        assert parts_of_site(expected) == parts_of_site(given)


@pytest.mark.parametrize("given", ["", "a b", "ftp://example.com/", "example.com:x", "example.com:99999", "https://"])
def test_what_is_no_site_is_refused(given):
    with pytest.raises(InvalidURL):
        parts_of_site(given)


@pytest.mark.parametrize(
    "given", ["https://example.com/?q=1", "example.com/#top", "https://user@example.com/", "*.example.com", 5, None]
)
def test_a_page_or_another_value_is_no_site(given):
    with pytest.raises((InvalidArgument, InvalidURL)):
        parts_of_site(given)


def test_all_pages_are_one_value_in_every_process():
    assert pickle.loads(pickle.dumps(ALL)) is ALL
    assert pickle.loads(pickle.dumps(HostOnly("example.com"))) == HostOnly("example.com")
    assert repr(ALL) == "webtable.ALL"


def test_a_small_file_needs_no_permission(tmp_path):
    with webtable.open(tmp_path / "small.db", create=True, indexes=[]) as table:
        assert list(table.pages()) == []


def test_a_large_store_is_read_as_a_whole_with_a_limit_or_by_name_alone(site, large_store):
    site.store(site.page("/"))

    with pytest.raises(FullScanNeeded, match=r"or webtable\.ALL for every page"):
        site.table.pages()
    assert len(list(site.table.pages(limit=1))) == 1
    assert site.url("/") in urls(site.table.pages(ALL))


def test_pages_of_all_sites_are_deleted_by_a_condition_alone(site):
    with pytest.raises(InvalidArgument, match="status= or fetched_before="):
        site.table.delete_pages(ALL)
    with pytest.raises(TypeError, match="site"):
        site.table.delete_pages()
