"""Sites: the directories below one, its pages with filters that are in the URL, and its counts."""

from __future__ import annotations

import html
import re
from urllib.parse import urlsplit

import pytest

import webtable
from webtable import Page
from webtable.explorer import counts
from webtable.explorer.views import sites
from webtable.reports import compare
from webtable.rowkey import Salt
from webtable.testing import CountingStore


def directories_of(table, site):
    """Return the directories below *site*, from all of its pages."""
    below = (urlsplit(page.url).path.removeprefix(urlsplit(site).path).partition("/") for page in table.pages(site))
    return list(dict.fromkeys(f"{name}/" for name, slash, _ in below if slash))


def put(table, *paths):
    with table.writer() as writer:
        for path in paths:
            writer.put(Page(url=f"https://example.com/{path}", body=b"<title>A page</title>"))


@pytest.mark.parametrize(
    "site", ["https://example.com/", "https://docs.example.com/", "https://docs.example.com/guide/"]
)
def test_a_site_shows_its_directories_and_their_pages(sample, sample_client, site):
    shown = sample_client.get(f"/site/{site.removeprefix('https://')}").text
    tree = shown.partition('id="directories"')[2].partition("</section>")[0]
    facets = shown.partition('id="pages"')[2].partition("</p>")[0]

    names = directories_of(sample, site)
    assert re.findall(r'<td class="text"><a href="/site/[^"]+/">([^<]+)</a>', tree) == names
    sizes = [f"{len(list(sample.pages(f'{site}{name}'))):,}" for name in names]
    assert sizes == re.findall(r'<td class="count">([\d,]+)</td>', tree)
    by_status = sample.stats(site, by="status").by["status"]
    assert all(f"{status} <b>{group.pages:,}</b>" in facets for status, group in by_status.items())


def test_its_pages_have_filters_an_order_columns_and_a_place_in_the_url(sample, sample_client):
    asked = {"status": "200", "min_size": "1kB", "columns": "url,size", "order": "storage", "limit": "3"}
    found = list(
        sample.pages("https://example.com/", status=200, min_size=1000, columns=["url", "size"], order="storage")
    )

    seen, path = [], "/site/example.com/"
    for _ in range(2):
        shown = sample_client.get(path, params=asked).text.partition('id="pages"')[2]
        seen += re.findall(r'<td class="url"><a href="[^"]*" title="([^"]*)">', shown)
        path, asked = html.unescape(re.search(r'rel="next" href="([^"]+)"', shown)[1]), None

    assert seen == [page.url for page in found[:6]]
    assert 'value="1kB"' in shown
    assert "/site.csv?" in shown
    assert 'id="directories"' not in shown


def test_statuses_and_types_are_choices_that_are_taken_and_given_back(sample, sample_client):
    def choices(path: str) -> dict[str, tuple[str, bool]]:
        part = sample_client.get(path).text.partition('id="pages"')[2].partition("</p>")[0]
        links = re.findall(r'<a class="chip" href="([^"]+)"( aria-current="true")?>([^ ]+) <b>', part)
        return {name: (html.unescape(href), bool(current)) for href, current, name in links}

    unchosen = choices("/site/example.com/")
    taken = choices(unchosen["404"][0])
    answer = sample_client.get(unchosen["404"][0]).text
    given_back = choices(taken["404"][0])

    assert (unchosen["404"][1], taken["404"][1], given_back["404"][1]) == (False, True, False)
    count = len(list(sample.pages("https://example.com/", status=404)))
    assert f"1–{count} of {count}" in answer
    assert "status=404&content_type=text%2Fhtml" in choices(unchosen["404"][0])["text/html"][0]


def test_a_site_shows_its_audit_and_its_changes_as_figures_that_lead_to_their_lists(sample, sample_client):
    shown = sample_client.get("/site/docs.example.com/").text
    audit, changes = (shown.partition(f'id="{part}"')[2].partition("</section>")[0] for part in ("audit", "changes"))

    report = sample.audit("https://docs.example.com/")
    counted = {section.title: f"{section.count:,}" for section in report.sections if section.count}
    assert dict(re.findall(r'<a href="/q/[^"]+">([^<]+)</a>.*?<b>([\d,]+)</b>', audit, re.DOTALL)) == counted
    figures = re.findall(r"<dt>(\w+)</dt><dd>(?:<a[^>]*>)?([\d,]+)<", changes)
    compared = compare(sample, "https://docs.example.com/").counts
    assert figures == [(kind, f"{count:,}") for kind, count in compared.items()]


def test_groups_beyond_a_bound_are_counted_as_one(table, monkeypatch):
    monkeypatch.setattr(counts, "MOST_GROUPS", 3)
    put(table, *(f"{name}/1" for name in "abcdef"))

    counted = counts.SiteCounts.of(table, "https://example.com/")

    assert {name: group.pages for name, group in counted.groups.items()} == {"a/": 1, "b/": 1, "c/": 1, "…": 3}


@pytest.mark.slow
def test_it_begins_before_the_store_answers(sample, begins_without_the_store):
    assert begins_without_the_store(sample, "/site/example.com/")
    assert begins_without_the_store(sample, "/site/")


def test_as_json_it_has_directories_and_where_asked_counts(sample, sample_client):
    quick = sample_client.get("/site.json", params={"site": "docs.example.com"}).json()
    whole = sample_client.get("/site.json", params={"site": "https://docs.example.com/", "count": 1}).json()

    names = directories_of(sample, "https://docs.example.com/")
    assert [one["name"] for one in quick["directories"]] == names
    assert (quick["below"], quick["problem"]) == (None, None)
    assert quick.keys() == {"directories", "below", "problem"}
    assert sum(int(one["pages"]) for one in whole["directories"]) <= whole["total"]["pages"]


@pytest.mark.slow
def test_ten_thousand_directories_are_shown_a_hundred_at_a_time(serving):
    with webtable.open("memory:wide", create=True) as table:
        put(table, *(f"{number:05}/{name}.html" for number in range(10_000) for name in "a"))
        counting = CountingStore(table.store)
        with serving(webtable.WebTable(counting, table.table, table.layout)) as client:
            first = client.get("/site.json?site=example.com").json()
            second = client.get("/site.json", params={"site": "example.com", "below": first["below"]}).json()
            shown = client.get("/site/example.com/", params={"below": first["below"]}).text

    assert [one["name"] for one in first["directories"]] == [f"{number:05}/" for number in range(100)]
    assert second["directories"][0]["name"] == "00100/"
    assert "00100/" in shown
    assert 'rel="next" href="/site/example.com/?below=' in shown
    assert sum(counting.calls.values()) < 2_000


def test_a_directory_of_many_pages_is_passed_by_and_one_of_its_own_pages_in_between_is_not(table, client):
    put(
        table,
        *(f"a/{number}" for number in range(300)),
        "b",
        "b.html",
        "c/d/e",
        "c/f",
        "c?g=/h/",
        "d//e",
        *map(str, range(50)),
    )

    found = client.get("/site.json?site=example.com").json()

    assert [one["name"] for one in found["directories"]] == ["a/", "c/", "d//"]
    assert client.get("/site.json?site=https://example.com/d/").json()["directories"][0]["name"] == "/"


def test_a_directory_with_a_single_one_in_it_is_one_line_with_it(table, client):
    put(table, "docs/en/guide/a", "docs/en/guide/b/c", "docs/en/news/d", "x/y", "x/z/1", "lone/deep/er/page")

    found = client.get("/site.json?site=example.com").json()["directories"]

    assert [(one["name"], one["pages"]) for one in found] == [("docs/en/", "3"), ("lone/deep/er/", "1"), ("x/", "2")]


def test_directories_can_be_opened_below_one_another(table, client):
    put(table, "a/b/c/1", "a/d/1", "e/1")
    path = "/site/example.com/"

    tree = client.get(path).text
    opening = re.findall(r'>([^<]+/)</a>(?:(?!</tr>).)*<a href="([^"]+)">\+</a>', tree, re.DOTALL)
    tree = client.get(html.unescape(dict(opening)["a/"])).text.partition('id="pages"')[0]

    assert re.findall(r'<td class="text"><a href="/site/[^"]+/">([^<]+)</a>', tree) == ["a/", "a/b/c/", "a/d/", "e/"]
    assert re.findall(r'<td class="count">(\d+)</td>', tree) == ["2", "1", "1", "1"]


def test_pages_of_one_directory_are_read_a_bounded_number_at_a_time(table, client, monkeypatch):
    monkeypatch.setattr(sites, "MOST_READ", 20)
    put(table, *(f"{number:03}" for number in range(100)), "z/a")

    found = client.get("/site.json?site=example.com").json()
    steps = 0
    while found["below"]:
        assert not found["directories"]
        found, steps = (
            client.get("/site.json", params={"site": "example.com", "below": found["below"]}).json(),
            steps + 1,
        )

    assert [one["name"] for one in found["directories"]] == ["z/"]
    assert steps > 1


@pytest.mark.parametrize("salt", [Salt.host(), Salt.url(), Salt.none()], ids=lambda salt: salt.source)
def test_directories_are_those_of_every_scheme_and_salt(serving, salt):
    with webtable.open(f"memory:salt-{salt.source}", create=True, salt=salt) as table, serving(table) as client:
        for url in (
            "http://example.com/a/1",
            "https://example.com:8443/a/1",
            "https://example.com/b%C3%A9/2",
            "http://example.com/c/",
        ):
            table.put(Page(url=url, body=b"x"))

        found = client.get("/site.json?site=example.com").json()
        inside = client.get("/site/example.com/b%25C3%25A9/").text

    assert [one["name"] for one in found["directories"]] == ["a/", "b%C3%A9/", "c/"]
    assert "https://example.com/b%C3%A9/2" in inside


def test_sites_are_all_hosts_page_by_page(sample, sample_client, monkeypatch):
    monkeypatch.setattr(sites, "HOSTS", 4)
    names, path = [], "/site/?sort=name"
    while path:
        shown = sample_client.get(path).text
        names += re.findall(r'<td class="text"><a href="/site/([^"]+)/">', shown)
        more = re.search(r'rel="next" href="([^"]+)"', shown)
        path = more and html.unescape(more[1])

    assert names == sorted(host.name for host in sample.hosts())


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/site/exa mple/", "is not a URL"),
        ("/site/*.example.com/", "all hosts below it"),
        ("/site/example.com/?status=many", "must be a status code"),
        ("/site/example.com/?colour=red", "not an option of pages"),
        ("/site/example.com/?below=nonsense", "token"),
        ("/site/?after=nonsense", "token"),
        ("/site/?from=some", "must be a number"),
        ("/site.json?site=a/?b", "without ?"),
        ("/site.json", "site is needed"),
    ],
)
def test_what_is_wrong_is_a_sentence(sample_client, path, said):
    found = sample_client.get(path)

    assert found.status_code == 400
    assert said in found.text


def test_an_empty_table_and_an_unknown_host_have_pages(client):
    assert "webtable ingest stores a crawl" in client.get("/site/").text
    assert "no pages of example.com" in client.get("/site/example.com/").text


def test_without_the_host_index_the_list_of_hosts_of_a_large_table_says_so(serving, monkeypatch):
    monkeypatch.setattr(counts, "MOST_COUNTED", 0)
    with webtable.open("memory:bare-site", create=True, indexes=()) as table, serving(table) as client:
        put(table, "a/b")

        assert "needs the index" in client.get("/site/").text
        assert "a/" in client.get("/site/example.com/").text


def test_a_moment_is_carried_and_words_in_titles_lead_to_the_search(sample_client):
    shown = sample_client.get("/site/docs.example.com/", params={"as_of": "2026-11-20"}).text

    assert re.search(r'/q/search\?site=[^"]*in_=title', shown)
    assert all("as_of=2026" in link for link in re.findall(r'href="(/(?:site|page|q/[a-z-]+\?)[^"]*)"', shown))
