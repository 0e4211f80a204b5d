"""Everything that shows how many pages, hosts and bytes a table has shows the same numbers, on every store."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

from typer.testing import CliRunner

import webtable
from webtable import Page
from webtable.cli import app
from webtable.maintenance import TableSummary
from webtable.reports import audit
from webtable.repository.maintenance import summary
from webtable.repository.upkeep import queue as queue_module
from webtable.repository.upkeep.queue import RecountQueue

NOW = datetime.now(UTC).replace(microsecond=0)
COUNT = 60


def page(number, *, age=7_200, size=1, **fields):
    """Return a capture of the page *number*, on one of five hosts."""
    at = NOW - timedelta(seconds=age + number)
    return Page(url=f"https://host{number % 5}.example/{number}", body=b"x" * size, fetched_at=at, **fields)


def store(table, pages):
    with table.writer() as writer:
        for one in pages:
            writer.put(one)


def run(url, *args):
    done = CliRunner().invoke(app, ["-s", url, *args], prog_name="webtable")
    assert done.exit_code == 0, done.stderr
    return done


def filled(url):
    """Return a table of which every host is counted, where pages have changed and others are errors since."""
    table = webtable.open(url, create=True, ttl=None)
    store(table, (page(number, size=10 + 7 * number) for number in range(COUNT)))
    store(table, (page(number, age=3_600, size=900 + number) for number in range(0, COUNT, 4)))
    store(table, (page(number, age=1_800, size=3, status=404) for number in range(1, COUNT, 4)))
    table.links.refresh()
    return table


def shown(table, url):
    """Return the pages, hosts and bytes that each place shows; None for what it does not show."""
    totals, stats = audit(table, "example"), table.stats(webtable.ALL, by=["host", "region"])
    hosts = [host for host in table.hosts() if host.pages]
    (info,) = (
        one
        for one in map(json.loads, run(url, "info", "--format", "jsonl").stdout.splitlines())
        if one["what"] == "summary"
    )
    metrics = dict(re.findall(r"^webtable_(\w+)\{[^}]*\} (\S+)$", run(url, "metrics").stdout, re.MULTILINE))
    notebook = re.search(r"([\d,]+) of ([\d,]+) hosts, ([\d,]+) bytes", table._repr_html_()).groups()
    by_sum = [sum(group[at] for group in stats.by["region"].values()) for at in (0, 1)]
    pictures = table.hosts().plot(), stats.plot("region")
    areas, bars = (re.search(r"([\d,]+) pages, ([\d.]+ kB)", one.get_title(loc="left")).groups() for one in pictures)
    found, exact = summary.table_summary(table), summary.table_summary(table, count=True)
    return {
        "known": (found.pages, found.hosts, found.unpacked),
        "counted": (exact.pages, exact.hosts, exact.unpacked),
        "info": (info["pages"], info["hosts"], info["unpacked"]),
        "metrics": tuple(int(float(metrics[name])) for name in ("pages", "hosts", "unpacked_bytes")),
        "stats": (stats.pages, len(stats.by["host"]), stats.bytes),
        "regions": (by_sum[0], None, by_sum[1]),
        "hosts": (sum(host.pages for host in hosts), len(hosts), sum(host.bytes for host in hosts)),
        "audit": (totals.pages, totals.hosts, totals.bytes),
        "notebook": tuple(int(number.replace(",", "")) for number in notebook),
        "plot of hosts": (int(areas[0]), None, None),
        "plot of regions": (int(bars[0]), None, None) if areas == bars else areas,
    }


def test_every_count_of_a_table_is_the_same_after_changes_errors_and_deletes(new_url, monkeypatch):
    monkeypatch.setattr(summary, "FEW", 20)
    url = new_url()
    with filled(url) as table:
        for number in (0, 1, 2, 3, 4, *range(8, COUNT, 5)):  # among these all pages of a host
            table.delete(page(number).url)
        table.links.refresh()
        expected = list(table.pages(webtable.ALL))

        found = shown(table, url)

    exact = len(expected), len({one.url.split("/")[2] for one in expected}), sum(one.size for one in expected)
    assert exact[1] == 4
    for place, numbers in found.items():
        assert numbers == tuple(None if one is None else right for one, right in zip(numbers, exact, strict=True)), (
            place
        )


def test_what_waits_for_the_next_refresh_is_named_after_puts_and_deletes(new_url, monkeypatch):
    monkeypatch.setattr(summary, "FEW", 20)
    url = new_url()
    with filled(url) as table:
        before = summary.table_summary(table)
        table.delete(page(7).url)
        table.delete(page(8).url)
        store(table, [page(COUNT, size=2)])
        store(table, [page(COUNT, age=0, size=5)])

        found, told = summary.table_summary(table), run(url, "info")
        table.links.refresh()
        after = summary.table_summary(table)

    assert (before.waiting, found.waiting, after.waiting) == (0, 3, 0)
    assert (found.pages, found.unpacked) == (before.pages, before.unpacked)
    assert "3 rows waiting; run `webtable -s " in told.stderr
    assert after.pages == COUNT - 1
    assert before.as_of < after.as_of


def test_hosts_without_counts_of_which_nothing_waits_leave_nothing_known(new_url, monkeypatch):
    monkeypatch.setattr(summary, "FEW", 20)
    with filled(new_url()) as table:
        store(table, [Page(url="https://new.example/", body=b"x", fetched_at=NOW)])
        queue = RecountQueue(table.store, table.table)
        before = summary.table_summary(table)
        queue.remove(list(queue.waiting()))  # as if its batch were lost

        found = summary.table_summary(table)

    assert (before.pages, before.waiting) == (COUNT, 1)
    assert found == TableSummary(None, None, None, None, None, before.oldest, before.newest)


def test_more_rows_than_are_looked_at_wait_at_least(new_url, monkeypatch):
    monkeypatch.setattr(queue_module, "MOST_LOOKED_AT", 3)
    with webtable.open(new_url(), create=True, indexes=["host"]) as table:
        for number in range(9):
            table.put(page(number))

        found = RecountQueue(table.store, table.table).pending()

    assert str(found) == "at least 4 rows waiting"


def test_what_is_unknown_is_not_shown_and_info_says_how_to_count_it(new_url, monkeypatch):
    monkeypatch.setattr(summary, "FEW", 1)
    url = new_url()
    with webtable.open(url, create=True, indexes=[]) as table:
        store(table, [page(number) for number in range(3)])

    unknown, exact = run(url, "info"), run(url, "info", "--count")

    assert "summary.pages\tnone\n" in unknown.stdout
    assert "info --count` reads and counts all of them" in unknown.stderr
    assert "webtable_pages" not in run(url, "metrics").stdout
    assert "summary.pages\t3\n" in exact.stdout
    assert exact.stderr == ""
