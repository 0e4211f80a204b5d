"""The page of the table, the questions, and where what is typed at the top leads."""

from __future__ import annotations

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

import webtable
from webtable import Page, WebTable
from webtable.errors import StoreUnavailable
from webtable.explorer import counts
from webtable.explorer.views import questions
from webtable.questions import GROUPS, LISTINGS, ListedQuestion
from webtable.rowkey import KeyRange, split_points
from webtable.store import Region, WrappedStore
from webtable.testing import CountingStore


def test_the_first_page_has_figures_the_largest_hosts_statuses_types_and_salts(sample, sample_client):
    shown = sample_client.get("/").text

    hosts = sorted(sample.hosts(), key=lambda host: -host.pages)
    stats = sample.stats(webtable.ALL, by=("status", "type"))
    figures = re.findall(r"<dt>([^<]+)</dt><dd><b[^>]*>(?:<a[^>]*>)?([^<]+)<", shown)
    assert dict(figures)["Pages"] == f"{stats.pages:,}"
    assert dict(figures)["Hosts"] == f"{len(hosts)}"
    assert [name for name, _ in figures] == ["Pages", "Hosts", "Bodies", "Last fetched", "Errors, last crawl"]
    found = re.findall(r'<td class="text"><a href="/site/[^"]+">([^<]+)</a>', shown)
    assert [host.pages for host in hosts[:10]] == [next(h.pages for h in hosts if h.name == name) for name in found]
    assert all(f"<b>{group.pages:,}</b>" in shown for group in stats.by["status"].values())
    assert all(f'<td class="count">{group.pages:,}' in shown for group in stats.by["type"].values())
    assert "256 salts: pages of each, from " in shown
    assert 'class="problem"' not in shown


def test_hosts_are_sorted_filtered_and_paged_by_the_server(sample, sample_client):
    def names(path: str) -> list[str]:
        return re.findall(r'<td class="text"><a href="/site/[^"]+">([^<]+)/?</a>', sample_client.get(path).text)

    sizes = {host.name: host.bytes for host in sample.hosts()}
    by_size = sorted(sizes, key=sizes.__getitem__, reverse=True)

    assert names("/site/?sort=bytes") == by_size
    assert names("/site/?sort=-bytes") == by_size[::-1]
    assert names("/site/?host=shop") == [name for name in names("/site/") if "shop" in name]
    assert names("/?sort=bytes&from=11") == by_size[10:]
    assert f"11–{len(sizes)} of {len(sizes)}" in sample_client.get("/?sort=bytes&from=11").text
    assert 'rel="prev" href="/?sort=bytes"' in sample_client.get("/?sort=bytes&from=11").text
    assert "must be one of name" in sample_client.get("/site/?sort=colour").text
    assert "No host has" in sample_client.get("/site/?host=nothing.like.it").text


def test_the_page_of_storage_has_indexes_regions_crawls_and_checks(sample, sample_client):
    shown = sample_client.get("/storage").text

    assert all(f'{name}</td><td class="text">ready</td>' in shown for name in sample.indexes.states())
    assert all(f'<td class="text">{one.check}</td>' in shown for one in webtable.doctor(sample.store.address))
    assert shown.count("<circle") == len(list(sample.crawls(webtable.ALL)))
    assert 'class="problem"' not in shown


def test_it_begins_before_the_store_answers(sample, begins_without_the_store):
    assert begins_without_the_store(sample, "/")


def test_as_json_they_have_what_the_methods_return(sample, sample_client):
    table, storage = sample_client.get("/table.json").json(), sample_client.get("/storage.json").json()

    assert (storage["table"]["name"], storage["problem"]) == (sample.name, None)
    phases = dict.fromkeys(sample.indexes.states(), "ready")
    assert {one["name"]: one["phase"] for one in storage["indexes"]} == phases
    assert len(storage["regions"]) == 1
    assert [one["captures"] for one in storage["crawls"]] == [one.captures for one in sample.crawls(webtable.ALL)]
    assert table["total"]["pages"] == sample.stats(webtable.ALL).pages
    assert {one["name"]: one["pages"] for one in table["hosts"]} == {one.name: one.pages for one in sample.hosts()}


def test_an_empty_table_says_what_fills_it(client):
    shown = client.get("/").text

    assert "webtable ingest crawl.warc.gz" in shown
    assert 'class="problem"' not in shown


def test_a_table_without_indexes_says_what_adds_them(serving):
    with webtable.open("memory:bare", create=True, indexes=()) as table, serving(table) as client:
        assert "webtable index add" in client.get("/storage").text
        assert 'class="problem"' not in client.get("/").text


def test_a_large_table_is_not_counted_but_sampled_unless_it_is_asked_for(serving, monkeypatch):
    with webtable.open("memory:large", create=True) as table:
        with table.writer() as writer:
            for number in range(60):
                writer.put(Page(url=f"https://{'ab'[number % 2]}.example/{number}", body=b"x"))
        table.links.refresh(also_unfinished=True)
        monkeypatch.setattr(counts, "MOST_COUNTED", 10)
        counting = CountingStore(table.store)
        with serving(WebTable(counting, table.table, table.layout)) as client:
            unasked, asked = client.get("/").text, client.get("/?count=1").text

    assert "as of the last refresh of links" in unasked
    assert "Status, of a sample of " in unasked
    assert ">60</a>" in unasked
    assert "as of the last refresh" not in asked
    assert ">60</a>" in asked


def test_of_a_large_table_without_counted_hosts_nothing_is_said_that_is_not_known(serving, monkeypatch):
    monkeypatch.setattr(counts, "MOST_COUNTED", 3)
    monkeypatch.setattr(counts, "MOST_HOSTS", 1)
    with webtable.open("memory:many-hosts", create=True) as table, serving(table) as client:
        for number in range(6):
            table.put(Page(url=f"https://{number}.example/", body=b"x"))
        table.links.refresh(also_unfinished=True)
        shown, hosts = client.get("/").text, client.get("/site/").text

    figures = dict(re.findall(r"<dt>([^<]+)</dt><dd><b[^>]*>(?:<a[^>]*>)?([^<]+)<", shown))
    assert (figures["Pages"], figures["Hosts"], figures["Bodies"]) == ("over 20,000", "many", "not counted")
    assert "Status, of a sample of 6 pages" in shown
    assert re.findall(r'<a href="/site/(\d).example/">', hosts) == ["0", "1", "2", "3", "4", "5"]


def test_all_captures_of_a_large_table_are_read_for_its_crawls_only_where_that_is_asked_for(serving, monkeypatch):
    monkeypatch.setattr(counts, "MOST_COUNTED", 3)
    with webtable.open("memory:captures", create=True) as table, serving(table) as client:
        for number in range(6):
            table.put(Page(url=f"https://{number}.example/", body=b"x"))
        shown, asked = client.get("/storage").text, client.get("/q/crawls?site=all").text
        whole = client.get("/storage.json").json()

    assert '<a href="/q/crawls?site=all">Read all captures for its crawls</a>' in shown
    assert ">6<" in asked
    assert whole["crawls"][0]["captures"] == 6


def test_counts_are_made_once_for_the_pages_that_follow_each_other(sample, serving):
    counting = CountingStore(sample.store)
    with serving(WebTable(counting, sample.table, sample.layout)) as client:
        client.get("/")
        first = sum(counting.calls.values())
        client.get("/")

    assert sum(counting.calls.values()) - first < first


@pytest.mark.parametrize("fails", [False, True])
def test_requests_at_the_same_time_wait_for_one_count_and_make_it_themselves_only_if_that_fails(sample, fails):
    recent, begun, goes_on, made = counts.RecentCounts(sample), threading.Event(), threading.Event(), []

    def make() -> int:
        made.append(threading.get_ident())
        if len(made) == 1:
            begun.set()
            goes_on.wait()
            if fails:
                raise StoreUnavailable("it is down")
        return 7

    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(recent.kept, "a site", make)
        begun.wait()
        others = [pool.submit(recent.kept, "a site", make) for _ in range(3)]
        goes_on.set()
        answers = [future.result() for future in others]

    assert answers == [7, 7, 7]
    assert len(made) == 1 + fails
    assert isinstance(first.exception(), StoreUnavailable) is fails


def test_every_question_can_be_reached_from_the_list_of_questions(sample_client):
    for path in ("/", "/questions", "/site/", "/nothing/here"):
        shown = sample_client.get(path).text
        assert all(f'href="/q/{name.replace("_", "-")}"' in shown for name in LISTINGS)
        assert all(f'href="/{name}"' in shown for name in ("audit", "compare", "stats", "storage", "archives"))
    wants = re.findall(r"<h3>([^<]+)</h3>", sample_client.get("/").text)
    assert wants == ["Find pages", "Errors", "Links", "Changes", "Duplicates", "Audit", "The table"]


def test_a_question_of_a_new_group_has_a_heading_of_its_own_in_the_menu(sample_client, monkeypatch):
    groups = {**GROUPS, "languages": {"hreflang": ListedQuestion("questions.hreflang", "Pages in other languages")}}
    monkeypatch.setattr(questions, "GROUPS", groups)

    shown = sample_client.get("/questions").text

    assert re.search(r'<h3>Languages</h3><ul><li><a href="/q/hreflang">hreflang</a>', shown)


def test_words_find_questions_and_their_names_lead_to_them(sample_client):
    for typed in ("broken links", "Broken Links"):
        assert sample_client.get("/go", params={"go": typed}).headers["location"] == "/q/broken-links"
    found = sample_client.get(sample_client.get("/go", params={"go": "lead to an error"}).headers["location"]).text
    assert 'href="/q/broken-links">Question: broken links</a>' in found


@pytest.mark.parametrize(
    ("typed", "to"),
    [
        ("https://example.com/a b", "/page?url=https%3A%2F%2Fexample.com%2Fa+b"),
        ("example.com", "/site/example.com/"),
        ("localhost:3000", "/site/localhost:3000/"),
        ("192.0.2.10", "/site/192.0.2.10/"),
        ("example.com/docs/", "/site/example.com/docs/"),
        ("example.com/docs", "/page?url=https%3A%2F%2Fexample.com%2Fdocs"),
        ("keys of rows", "/q/search?text=keys+of+rows&site=all"),
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


def test_regions_have_bars_of_estimates_and_hot_ones_are_marked(sample, serving):
    table = WebTable(StoreOfRegions(sample.store), sample.table, sample.layout)
    with serving(table) as client:
        shown = client.get("/storage").text.partition('id="regions"')[2].partition("</section>")[0]

    counts = [int(one) for one in re.findall(r'<td class="count">(\d+)', shown)]
    wanted = [group.pages for group in table.stats(webtable.ALL, by="region").by["region"].values()]
    assert "4 regions on 2 server" in shown
    assert sum(counts) == sum(wanted)
    assert all(abs(one - other) <= 50 for one, other in zip(counts, wanted, strict=True))
    assert shown.count('class="hot"') == sum(one > 2 * sum(counts) / 4 for one in counts)


def test_the_first_page_has_a_heat_map_of_regions_where_there_are_several(sample, sample_client, serving):
    table = WebTable(StoreOfRegions(sample.store), sample.table, sample.layout)
    with serving(table) as client:
        shown = client.get("/").text.partition('id="regions"')[2].partition("</section>")[0]
        found = client.get("/table.json").json()["regions"]

    sizes = [group.pages for group in table.stats(webtable.ALL, by="region").by["region"].values()]
    assert re.search(r'aria-label="4 regions: estimated rows of each, from [\d,]+ to [\d,]+"', shown)
    assert shown.count("<rect") == len(found) == 4
    assert all(abs(region["pages"] - pages) <= 50 for region, pages in zip(found, sizes, strict=True))
    assert 'id="regions"' not in sample_client.get("/").text
