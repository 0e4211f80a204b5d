"""The page of the table, the questions, and where what is typed at the top leads."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

import pytest

import webtable
from webtable import Page, WebTable
from webtable.explorer.views import statistics
from webtable.questions import LISTINGS
from webtable.rowkey import KeyRange, split_points
from webtable.store import Region, WrappedStore


def test_the_page_of_the_table_has_hosts_counts_crawls_indexes_and_checks(sample, sample_client):
    shown = sample_client.get("/").text

    hosts = list(sample.hosts())
    stats = sample.stats(webtable.ALL, by=("status", "type", "age", "month", "region"))
    assert all(f'href="/site/{host.name}/"' in shown for host in hosts)
    for groups in stats.by.values():
        assert all(f'<td class="count">{group.pages:,}' in shown for group in groups.values())
    assert shown.count("<rect") == shown.count('class="bar"') + len(list(sample.crawls(webtable.ALL)))
    assert all(f'{name}</td><td class="text">ready</td>' in shown for name in sample.indexes.states())
    assert all(f'<td class="text">{one.check}</td>' in shown for one in webtable.doctor(sample.store.address))
    assert 'class="problem"' not in shown


def test_it_begins_before_the_store_answers(sample, begins_without_the_store):
    assert begins_without_the_store(sample, "/")


def test_as_json_it_has_statistics_and_crawls_where_they_are_asked_for(sample, sample_client):
    quick = sample_client.get("/table.json").json()
    whole = sample_client.get("/table.json", params={"count": 1}).json()

    assert (quick["table"]["name"], quick["problem"]) == (sample.name, None)
    assert {one["name"]: one["phase"] for one in quick["indexes"]} == dict.fromkeys(sample.indexes.states(), "ready")
    assert ("total" in quick, len(quick["regions"])) == (False, 1)
    assert whole["total"]["pages"] == sample.stats(webtable.ALL).pages
    assert [one["captures"] for one in whole["crawls"]] == [one.captures for one in sample.crawls(webtable.ALL)]


def test_an_empty_table_has_a_page_without_problems(client):
    shown = client.get("/").text

    assert "There is no host yet." in shown
    assert "0 pages" in shown
    assert "problem" not in shown


def test_a_table_without_indexes_says_what_adds_them(serving):
    with webtable.open("memory:bare", create=True, indexes=()) as table, serving(table) as client:
        shown = client.get("/").text

    assert "webtable index add" in shown
    assert 'class="problem"' in shown.partition('id="hosts"')[2].partition("</section>")[0]


def test_of_a_large_table_pages_are_counted_only_when_asked(table, client, monkeypatch):
    for number in range(2):
        table.put(Page(url=f"https://example.com/{number}", body=b"x"))
    monkeypatch.setattr(statistics, "MOST_COUNTED", 1)

    unasked, asked = client.get("/").text, client.get("/?count=1").text

    assert 'href="/?count=1"' in unasked
    assert 'id="crawls"' not in unasked
    assert "2 pages" in asked
    assert 'id="crawls"' in asked


def test_every_question_can_be_reached_from_the_list_of_questions(sample_client):
    for path in ("/", "/questions"):
        shown = sample_client.get(path).text
        assert all(f'href="/q/{name.replace("_", "-")}"' in shown for name in LISTINGS)
        assert all(f'href="/{name}"' in shown for name in ("audit", "compare", "stats"))
        assert 'action="/page"' in shown
        assert "Others" not in shown
        assert shown.count("needs the URL of a page") == 3


@pytest.mark.parametrize(
    ("typed", "to"),
    [
        ("https://example.com/a b", "/page?url=https%3A%2F%2Fexample.com%2Fa+b"),
        ("example.com", "/site/example.com/"),
        ("localhost:3000", "/site/localhost:3000/"),
        ("192.0.2.10", "/site/192.0.2.10/"),
        ("example.com/docs/", "/site/example.com/docs/"),
        ("example.com/docs", "/page?url=https%3A%2F%2Fexample.com%2Fdocs"),
        ("row keys", "/q/search?text=row+keys&site=all"),
        ("salt", "/q/search?text=salt&site=all"),
        ("5a:com.example/products", "/page?url=https%3A%2F%2Fexample.com%2Fproducts"),
        (b"5a:com.example/products".hex(), "/page?url=https%3A%2F%2Fexample.com%2Fproducts"),
        ("decade beefface", "/q/search?text=decade+beefface&site=all"),
        ("what? 1.5", "/q/search?text=what%3F+1.5&site=all"),
        ("", "/"),
    ],
)
def test_what_is_typed_leads_to_a_page_a_site_or_a_search(sample_client, typed, to):
    found = sample_client.get("/go", params={"go": typed})

    assert (found.status_code, found.headers["location"]) == (303, to)


def test_a_moment_stays_chosen(sample_client):
    found = sample_client.get("/go", params={"go": "example.com", "as_of": "2026-11-20"})
    shown = sample_client.get("/", params={"as_of": "2026-11-20"}).text

    assert found.headers["location"] == "/site/example.com/?as_of=2026-11-20"
    assert "This shows what is stored now" in shown
    links = re.findall(r'href="(/(?:site|q)/[^"]*)"', shown)
    assert links
    assert all("as_of=2026" in link for link in links)


@pytest.mark.parametrize("repeated", ["a.", ".", ":", "]", "a:", "%41", "\\x0", "00", "a/", "x "])
@pytest.mark.parametrize("end", ["@", "/", ""])
def test_what_is_typed_takes_time_linear_in_its_length(sample_client, repeated, end):
    def seconds(repetitions: int) -> float:
        before = time.process_time()
        sample_client.get("/go", params={"go": repeated * repetitions + end})
        return time.process_time() - before

    seconds(1000)
    assert seconds(10_000) < 4 * seconds(5000) + 0.2


def test_a_moment_that_is_none_is_refused_where_it_is_chosen(sample_client):
    found = sample_client.get("/go", params={"go": "example.com", "as_of": "once"})

    assert found.status_code == 400
    assert "is not a time" in found.text


def test_words_are_searched_by_relevance_where_there_is_full_text(serving, tmp_path):
    with webtable.open(tmp_path / "crawl.db", create=True) as table, serving(table) as client:
        table.put(Page(url="https://example.com/", body=b"salt", fetched_at=datetime(2026, 11, 1, tzinfo=UTC)))
        table.search_index.create()

        found = client.get("/go", params={"go": "salt"})

    assert found.headers["location"] == "/q/search?text=salt&site=all&order=relevance"


class StoreOfRegions(WrappedStore):
    """A store that says that the table has four regions on two servers."""

    def regions(self, table):
        bounds = [b"", *split_points(4), b""]
        return [Region(KeyRange(bounds[at], bounds[at + 1]), f"server-{at % 2}") for at in range(4)]


@pytest.mark.parametrize("is_counted", [True, False])
def test_regions_have_bars_of_their_pages_or_of_estimates_and_hot_ones_are_marked(
    sample, serving, monkeypatch, is_counted
):
    monkeypatch.setattr(statistics, "MOST_COUNTED", 50_000 if is_counted else 1)
    table = WebTable(StoreOfRegions(sample.store), sample.table, sample.layout)
    with serving(table) as client:
        shown = client.get("/").text.partition('id="regions"')[2].partition("</section>")[0]

    counts = [int(one) for one in re.findall(r'<td class="count">(\d+)', shown)]
    wanted = [group.pages for group in table.stats(webtable.ALL, by="region").by["region"].values()]
    assert "4 regions on 2 server" in shown
    assert sum(counts) == sum(wanted)
    assert all(abs(one - other) <= 50 for one, other in zip(counts, wanted, strict=True))
    assert shown.count('class="hot"') == sum(one > 2 * sum(counts) / 4 for one in counts)
