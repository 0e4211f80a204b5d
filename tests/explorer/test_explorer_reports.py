"""The audit, the comparison and the statistics of a site, live: what they show is what the methods return."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, timedelta

import pytest

import audited_site
import webtable
from webtable import Page
from webtable.reports import compare


def numbers(text: str) -> set[str]:
    return set(re.findall(r">\s*([\d,]+)\s*<", text))


@pytest.mark.parametrize("site", ["example.com", "https://docs.example.com/guide/", "all"])
def test_an_audit_shows_the_findings_of_each_section_with_links_to_all_of_them(sample, sample_client, site):
    found = sample.audit(webtable.ALL if site == "all" else site)

    shown = sample_client.get("/audit", params={"site": site}).text

    assert f"{found.pages:,}" in numbers(shown)
    for section in found.sections:
        assert f'<section id="{section.name}">' in shown
        assert section.left_out or f"{section.count:,}" in numbers(shown.partition('id="findings"')[2])
    counts = {section.name: section.count for section in found.sections}
    assert ("/q/duplicate-groups?site=" in shown) == bool(counts["same-content"] or counts["same-title"])
    assert ("by=title" in shown) == bool(counts["same-title"])


def test_the_link_of_each_finding_lists_exactly_its_pages(table, client):
    audited_site.stored(table)
    found = table.audit("audited.example").to_dict()["sections"]

    shown = client.get("/audit", params={"site": "audited.example"}).text
    parts = {section["name"]: shown.partition(f'<section id="{section["name"]}">')[2] for section in found}

    for section in found:
        link = html.unescape(re.search(r'class="more" href="([^"]+)"', parts[section["name"]])[1])
        listed = client.get(link.replace("?", ".json?", 1)).json()["results"]
        assert audited_site.named(listed) == audited_site.named(section["rows"]), section["name"]


def test_an_audit_as_json_has_what_its_dict_has(sample, sample_client):
    found = sample_client.get("/audit.json", params={"site": "example.com"}).json()

    audit = sample.audit("example.com").to_dict()
    assert (found["problem"], found["summary"]["pages"]) == (None, audit["pages"])
    assert [one["count"] for one in found["findings"]] == [one["count"] for one in audit["sections"]]
    assert {one["severity"] for one in found["findings"]} == {"high", "medium", "low"}
    for section in audit["sections"]:
        assert [row.get("url") for row in found[section["name"]]] == [row.get("url") for row in section["rows"]]


def test_the_findings_of_an_audit_come_by_severity_with_what_to_do_and_facts_below(sample, sample_client):
    shown = sample_client.get("/audit", params={"site": "example.com"}).text
    lines = re.findall(r'<li class="(\w+)"><div><a href="#([\w-]+)">', shown)

    severities = [severity for severity, _ in lines]
    order = ["high", "medium", "low", "none"]
    assert severities == sorted(severities, key=order.index)
    counts = {section.name: section for section in sample.audit("example.com").sections}
    assert {name for severity, name in lines if severity == "none"} == {
        name for name, section in counts.items() if not section.count
    }
    assert all(html.escape(counts[name].fix) in shown for severity, name in lines if severity != "none")
    assert shown.index('id="findings"') < shown.index('id="broken-links"') < shown.index('id="summary"')


def test_a_comparison_has_its_figures_at_the_top(sample, sample_client):
    shown = sample_client.get("/compare", params={"site": "example.com"}).text
    figures = re.findall(r"<dt>(\w+)</dt><dd>(?:<a[^>]*>)?([\d,]+)<", shown)

    assert figures == [(kind, f"{count:,}") for kind, count in compare(sample, "example.com").counts.items()]
    assert shown.index('class="figures"') < shown.index('id="new"')


def test_a_comparison_shows_values_before_and_after(sample, sample_client):
    newest, before = list(sample.crawls("example.com"))[:2]
    times = {"since": before.end.isoformat(), "until": newest.end.isoformat()}
    found = compare(sample, "example.com", **times)

    shown = sample_client.get("/compare", params={"site": "example.com", **times}).text
    as_json = sample_client.get("/compare.json", params={"site": "example.com", **times}).json()

    assert {f"{count:,}" for count in found.counts.values()} <= numbers(shown)
    assert {one["group"]: one["pages"] for one in as_json["groups"]} == found.counts
    assert "<del>" in shown
    assert "<ins>" in shown


def test_a_comparison_ends_at_the_moment_as_of_which_pages_are_shown(sample, sample_client):
    before, first = list(sample.crawls("example.com"))[1:3]
    asked = {"site": "example.com", "since": first.end.isoformat(), "as_of": before.end.isoformat()}

    found = sample_client.get("/compare.json", params=asked).json()

    counts = compare(sample, "example.com", since=first.end, until=before.end).counts
    assert {one["group"]: one["pages"] for one in found["groups"]} == counts


def test_a_comparison_can_ignore_what_is_around_the_main_text(table, client):
    text = "<p>" + "Green tea grows in the mountains of the south. " * 20
    for days, token in ((9, "first"), (1, "second")):
        body = f"<title>Tea</title><nav><a href=/{token}>{token}</a></nav><main>{text}</main>".encode()
        table.put(Page(url="https://example.com/tea", body=body, fetched_at=datetime.now(UTC) - timedelta(days)))
    asked = {"site": "example.com", "since": "5d"}

    shown = client.get("/compare", params=asked).text
    changed, ignored = (
        client.get("/compare.json", params=asked | more).json() for more in ({}, {"ignore": "boilerplate"})
    )

    assert "<option>boilerplate</option>" in shown
    counts = [{group["group"]: group["pages"] for group in found["groups"]} for found in (changed, ignored)]
    assert [(count["changed"], count["unchanged"]) for count in counts] == [(1, 0), (0, 1)]
    assert client.get("/compare", params=asked | {"ignore": "all"}).status_code == 400


@pytest.mark.parametrize("by", [(), ("host", "day"), ("size", "region")])
def test_statistics_are_those_of_stats(sample, sample_client, by):
    names = by or ("status", "type", "language", "age", "month")
    stats = sample.stats("example.com", by=names)

    shown = sample_client.get("/stats", params={"site": "example.com", "by": by}).text
    found = sample_client.get("/stats.json", params={"site": "example.com", "by": ",".join(by)}).json()

    assert (found["total"]["pages"], found["total"]["bytes"]) == (stats.pages, stats.bytes)
    groups = [(one["by"], one["group"], one["pages"], one["bytes"]) for one in found["groups"]]
    assert sorted(groups) == sorted((one, name, *group) for one in names for name, group in stats.by[one].items())
    assert {f"{group.pages:,}" for group in stats.by[names[0]].values()} <= numbers(shown)


@pytest.mark.parametrize("path", ["/audit", "/compare", "/stats"])
def test_without_a_site_there_is_a_form_alone(sample_client, path):
    found = sample_client.get(path)

    assert found.status_code == 200
    assert 'name="site"' in found.text
    assert sample_client.get(f"{path}.json").status_code == 400


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/audit?site=http://", "is not a URL"),
        ("/audit?site=*.example.com", "all hosts below it"),
        ("/compare?site=example.com&since=soon", "is not a time"),
        ("/stats?site=example.com&by=colour", "must be one of"),
        ("/stats.json?site=a/?b", "without ?"),
    ],
)
def test_what_is_wrong_is_a_sentence(sample_client, path, said):
    found = sample_client.get(path)

    assert found.status_code == 400
    assert said in found.text


@pytest.mark.parametrize("path", ["/audit?site=all", "/compare?site=all&since=7d", "/stats?site=all"])
def test_reports_on_an_empty_table_say_so_in_numbers(client, path):
    found = client.get(path)

    assert found.status_code == 200
    assert 'class="problem"' not in found.text
    assert ">0<" in found.text or "0 pages" in found.text


def test_a_title_of_markup_stays_text_in_a_report(table, client):
    for name in "ab":
        table.put(Page(url=f"https://example.com/{name}", body=b"<title>&lt;script&gt;x&lt;/script&gt;</title>"))

    shown = client.get("/audit", params={"site": "example.com"}).text

    assert "<script>x" not in shown
    assert "&lt;script&gt;x" in shown


@pytest.mark.parametrize("path", ["/audit?site=all", "/compare?site=all&since=7d", "/stats?site=all"])
def test_reports_begin_before_the_store_answers(sample, begins_without_the_store, path):
    assert begins_without_the_store(sample, path)


def test_a_finding_that_needs_an_index_is_left_out_and_says_so(serving):
    with webtable.open("memory:bare-audit", create=True, indexes=()) as table, serving(table) as client:
        table.put(Page(url="https://example.com/", body=b"<title>A</title>"))

        shown = client.get("/audit", params={"site": "example.com"}).text

    assert "webtable index add" in shown.partition('id="broken-links"')[2].partition("</section>")[0]
