"""Every question has a page and files, which have what its method returns."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import threading
from urllib.parse import parse_qsl

import pyarrow.parquet as pq
import pytest

from listing_examples import ask_example
from webtable import WebTable
from webtable.errors import StoreUnavailable
from webtable.questions import LISTINGS
from webtable.testing import FailingStore

WITHOUT_INDEX = {"near_duplicates", "near_duplicate_groups"}


@pytest.mark.parametrize("name", LISTINGS)
def test_a_question_has_a_page_with_its_form_and_its_answer(sample, sample_client, name):
    found = sample_client.get(f"/q/{name.replace('_', '-')}", params=LISTINGS[name].example)

    assert found.status_code == 200
    assert all(f'name="{option.name}"' in found.text for option in LISTINGS[name].options)
    assert ("IndexNeeded" in found.text or "needs the index" in found.text) == (name in WITHOUT_INDEX)


@pytest.mark.parametrize("name", [name for name in LISTINGS if name not in WITHOUT_INDEX])
def test_its_files_have_all_of_the_answer(sample, sample_client, name):
    path, listing = f"/q/{name.replace('_', '-')}", LISTINGS[name]
    records = list(ask_example(sample, listing))

    answer = sample_client.get(f"{path}.json", params=LISTINGS[name].example).json()
    lines = sample_client.get(f"{path}.jsonl", params=LISTINGS[name].example).text.splitlines()
    rows = list(csv.DictReader(io.StringIO(sample_client.get(f"{path}.csv", params=LISTINGS[name].example).text)))

    assert len(answer["results"]) == len(lines) == len(rows) == len(records)
    assert (answer["next"], answer["problem"]) == (None, None)
    assert answer["results"] == [json.loads(line) for line in lines]


def test_a_store_that_goes_away_is_reported_in_the_page_and_the_server_goes_on(sample, serving):
    is_away = threading.Event()
    store = FailingStore(sample.store, StoreUnavailable("no route to it"), at=lambda _: is_away.is_set())
    with serving(WebTable(store, sample.table, sample.layout)) as client:
        is_away.set()
        page = client.get("/q/pages?site=all").text
        is_away.clear()

        assert re.search("no route to it.*webtable doctor", page)
        assert 'class="problem"' not in client.get("/q/pages?site=all").text


@pytest.mark.slow
def test_an_answer_goes_on_by_its_token_until_its_end(sample_client):
    whole = sample_client.get("/q/pages.json", params={"site": "example.com"}).json()["results"]
    query, found = {"site": "example.com", "limit": "7"}, []
    while True:
        answer = sample_client.get("/q/pages.json", params=query).json()
        found += answer["results"]
        if answer["next"] is None:
            break
        query["after"] = answer["next"]

    assert found == whole


def test_hosts_lead_to_their_pages(sample, sample_client):
    shown = sample_client.get("/q/hosts").text

    assert all(f'href="/site/{host.name}/"' in shown for host in sample.hosts())


def test_a_question_that_takes_an_end_ends_at_the_chosen_moment_and_others_say_that_they_do_not(sample, sample_client):
    moment = list(sample.crawls("example.com"))[1].end.isoformat()
    found = sample_client.get(
        "/q/changes.json", params={"site": "example.com", "since": "400d", "as_of": moment}
    ).json()
    shown = sample_client.get("/q/changes", params={"as_of": moment}).text

    urls = [change.url for change in sample.changes("example.com", since="400d", until=moment)]
    assert [one["url"] for one in found["results"]] == urls
    assert len(urls) < len(list(sample.changes("example.com", since="400d")))
    assert "This shows what is stored now" not in shown
    assert "This shows what is stored now" in sample_client.get("/q/pages", params={"as_of": moment}).text


@pytest.mark.parametrize("name", LISTINGS)
def test_a_question_that_was_not_asked_yet_has_a_page_with_its_form(sample_client, name):
    shown = sample_client.get(f"/q/{name.replace('_', '-')}", params={"as_of": "2026-11-20"}).text

    assert 'class="options"' in shown
    assert "</html>" in shown


def choices(text: str) -> dict[str, tuple[str, str, bool]]:
    """Return the choices of a page by their names: their addresses and counts, and whether they are chosen."""
    links = re.findall(r'<a class="chip" href="([^"]+)"( aria-current="true")?>([^ ]+) <b>([^<]+)</b>', text)
    return {name: (html.unescape(href), count, bool(current)) for href, current, name, count in links}


@pytest.mark.parametrize("path", ["/q/pages?site=example.com", "/q/search?text=mountain&site=example.com"])
def test_a_question_that_takes_statuses_and_types_has_them_as_choices_with_counts(sample, sample_client, path):
    stats = sample.stats("example.com", by=("status", "type"))

    unchosen = choices(sample_client.get(path).text)
    taken = choices(sample_client.get(unchosen["404"][0]).text)

    statuses = {name: f"{group.pages:,}" for name, group in stats.by["status"].items()}
    assert {name: unchosen[name][1] for name in statuses} == statuses
    assert unchosen["text/html"][1] == f"{stats.by['type']['text/html'].pages:,}"
    assert "&status=404" in unchosen["404"][0]
    assert (unchosen["404"][2], taken["404"][2], taken["404"][0]) == (False, True, path.replace(" ", "+"))
    # Of pages several statuses can be asked for, of hits one.
    assert ("status=404" in taken["500"][0]) == path.startswith("/q/pages")


def test_a_question_that_takes_none_of_them_has_no_choices(sample_client):
    assert choices(sample_client.get("/q/errors?site=example.com").text) == {}


def test_a_form_has_all_values_of_an_option_that_takes_many(sample_client):
    shown = sample_client.get("/q/pages?site=all&status=404&status=500").text

    form = shown.partition('class="options"')[2]
    assert re.findall(r'name="status" value="(\d*)"', form) == ["404", "500", ""]


def test_a_question_is_explained_without_its_command(sample_client):
    assert not re.search("--limit|standard error|With SITE", sample_client.get("/q/pages").text)


HOME = "https://example.com/"
PARTS = {
    "/table": "hosts",
    "/site?site=example.com": "pages",
    "/stats?site=example.com": "groups",
    "/audit?site=example.com": "findings",
    "/compare?site=example.com&since=400d": "groups",
    f"/page?url={HOME}": "versions",
    f"/page/diff?url={HOME}": "differences",
    f"/page/source?url={HOME}": "lines",
    "/questions": "questions",
}


@pytest.mark.parametrize("page", PARTS)
def test_every_page_has_its_rows_as_files(sample_client, page):
    part, (path, _, query) = PARTS[page], page.partition("?")
    needed = dict(parse_qsl(f"{query}&part={part}"))
    rows = sample_client.get(f"{path}.json", params=needed).json()[part]

    found = csv.DictReader(io.StringIO(sample_client.get(f"{path}.csv", params=needed).text))
    lines = sample_client.get(f"{path}.jsonl", params=needed).text.splitlines()
    parquet = pq.read_table(io.BytesIO(sample_client.get(f"{path}.parquet", params=needed).content))

    assert rows
    assert [json.loads(line) for line in lines] == rows
    assert len(list(found)) == parquet.num_rows == len(rows)


def test_a_part_that_a_page_does_not_have_is_refused(sample_client):
    found = sample_client.get("/stats.csv?site=all&part=nothing")

    assert (found.status_code, "these are: groups, total" in found.text) == (400, True)


def test_a_file_that_cannot_be_made_is_refused_with_a_sentence(sample_client):
    for ending in ("jsonl", "csv", "parquet"):
        found = sample_client.get(f"/q/near-duplicate-groups.{ending}", params={"site": "example.com"})

        assert (found.status_code, "needs the index" in found.text) == (400, True)
        assert found.headers["content-type"] == "text/plain; charset=utf-8"
        assert "content-disposition" not in found.headers
