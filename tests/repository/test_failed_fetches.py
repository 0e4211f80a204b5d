"""Failed fetches: what came instead of a page, and when it is to be fetched again."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest

import webtable
from store_differences import on_every_store
from webtable import Page
from webtable._clock import clock
from webtable.answers import FailedFetch
from webtable.errors import FutureCapture, InvalidArgument, InvalidCapture, InvalidURL

HOUR = timedelta(hours=1)


def memory_table():
    return webtable.open(f"memory:{uuid.uuid4().hex}", create=True, indexes=["time", "link", "status", "host"])


def failed(site):
    return [(failure.url, failure.reason) for failure in site.table.failed(site.domain)]


@on_every_store
def test_a_failure_says_why_how_often_and_when_to_try_again(site):
    url, began = site.url("/a"), site.now - 3 * HOUR

    first = site.table.put_failed(url, "timeout", at=began)
    second = site.table.put_failed(url, "dns", at=began + 2 * HOUR, detail="no address")

    assert first == FailedFetch(url, "timeout", began, 1, began, began + HOUR)
    assert second == FailedFetch(url, "dns", began + 2 * HOUR, 2, began, began + 4 * HOUR, "no address")
    assert list(site.table.failed(site.domain)) == [second]


@on_every_store
def test_a_failure_that_is_told_again_counts_once(site):
    for _ in range(3):
        site.table.put_failed(site.url("/a"), "timeout", at=site.now - HOUR)

    assert [failure.attempts for failure in site.table.failed(site.domain)] == [1]


@on_every_store
def test_a_page_keeps_its_content_and_its_history_when_a_fetch_fails(site):
    url = site.url("/a")
    site.table.put(Page(url=url, body=b"A", etag='"1"', fetched_at=site.now - 2 * HOUR))
    before = (site.table.get(url, columns=["body"]), list(site.table.history(url)))

    site.table.put_failed(url, "refused", at=site.now - HOUR)

    assert (site.table.get(url, columns=["body"]), list(site.table.history(url))) == before
    assert failed(site) == [(url, "refused")]


@on_every_store
@pytest.mark.parametrize("kind", ["page", "not modified", "error"])
def test_an_answer_of_any_status_clears_a_failure(site, kind):
    url = site.url(f"/{kind.replace(' ', '-')}")
    site.table.put(Page(url=url, body=b"A", fetched_at=site.now - 4 * HOUR))
    site.table.put_failed(url, "tls", at=site.now - 3 * HOUR)
    assert (url, "tls") in failed(site)

    if kind == "not modified":
        site.table.put_not_modified(url, site.now - 2 * HOUR)
    else:
        site.table.put(Page(url=url, status=503 if kind == "error" else 200, body=b"B", fetched_at=site.now - 2 * HOUR))
    assert (url, "tls") not in failed(site)

    again = site.table.put_failed(url, "dns", at=site.now - HOUR)
    assert (again.attempts, again.failing_since) == (1, site.now - HOUR)


@on_every_store
def test_a_failure_before_a_stored_capture_or_delete_changes_nothing(site):
    url = site.url("/a")
    site.table.put(Page(url=url, body=b"A", fetched_at=site.now - HOUR))

    assert site.table.put_failed(url, "timeout", at=site.now - 2 * HOUR) is None
    assert site.table.put_failed(url, "timeout", at=site.now - HOUR) is None
    site.table.delete(url)
    assert site.table.put_failed(url, "timeout", at=site.now - HOUR / 2) is None
    assert failed(site) == []


@on_every_store
def test_what_only_ever_failed_is_no_page(site):
    site.table.put(Page(url=site.url("/"), body=b"A", fetched_at=site.now))
    site.table.put_failed(site.url("/a"), "robots", at=site.now)

    assert site.table.get(site.url("/a")) is None
    assert [page.url for page in site.table.pages(site.domain)] == [site.url("/")]
    assert site.table.stats(site.domain).pages == 1
    assert failed(site) == [(site.url("/a"), "robots")]


@on_every_store
def test_a_linked_url_that_failed_is_not_discovered_before_its_next_time(site, monkeypatch):
    links = b"<a href=/a>a</a><a href=/b>b</a>"
    site.table.put(Page(url=site.url("/"), body=links, content_type="text/html", fetched_at=site.now))
    site.table.put_failed(site.url("/a"), "timeout", at=site.now)

    def discovered():
        return list(site.table.links.discovered(site.domain))

    assert discovered() == [site.url("/b")]
    later = clock.nanoseconds
    monkeypatch.setattr(clock, "nanoseconds", lambda: later() + 3_700 * 10**9)
    assert discovered() == [site.url("/a"), site.url("/b")]


@on_every_store
def test_an_outdated_page_that_failed_is_left_out_before_its_next_time(site):
    for path in ("/a", "/b", "/c"):
        site.table.put(Page(url=site.url(path), body=b"A", fetched_at=site.now - 10 * HOUR))
    site.table.put_failed(site.url("/a"), "timeout", at=site.now)
    site.table.put_failed(site.url("/b"), "timeout", at=site.now - 2 * HOUR)

    outdated = site.table.outdated(site.domain, not_fetched_since=site.now - HOUR)

    assert sorted(page.url for page in outdated) == [site.url("/b"), site.url("/c")]
    assert [failure.url for failure in site.table.failed(site.domain, due=True)] == [site.url("/b")]


@on_every_store
def test_the_caller_decides_how_long_to_wait(site):
    waits = {1: timedelta(minutes=5), 2: timedelta.max}

    site.table.put_failed(site.url("/a"), "captcha", at=site.now - HOUR, backoff=waits.__getitem__)
    (first,) = site.table.failed(site.domain)
    site.table.put_failed(site.url("/a"), "captcha", at=site.now, backoff=waits.__getitem__)
    (second,) = site.table.failed(site.domain)

    assert (first.retry_at, second.retry_at.year) == (site.now - HOUR + timedelta(minutes=5), 9999)


@on_every_store
def test_failures_are_listed_by_site_reason_and_in_pages(site):
    for path, reason in (("/a", "dns"), ("/b", "tls"), ("/c", "dns"), ("/docs/d", "dns")):
        site.table.put_failed(site.url(path), reason, at=site.now)

    dns = site.table.failed(site.domain, reason="dns")
    first = dns.page(size=2)
    rest = list(site.table.failed(site.domain, reason="dns", after=first.next_token))

    assert [failure.url for failure in (*first, *rest)] == [site.url(path) for path in ("/a", "/c", "/docs/d")]
    assert [failure.url for failure in site.table.failed(site.url("/docs/"))] == [site.url("/docs/d")]
    assert list(site.table.failed("other.example")) == []
    assert "queue:failed" in dns.explain().columns


@on_every_store
def test_deletes_remove_failures_of_pages_and_of_what_is_none(site):
    for path in ("/a", "/b", "/c"):
        site.table.put_failed(site.url(path), "dns", at=site.now - HOUR)

    site.table.delete(site.url("/a"))
    assert failed(site) == [(site.url("/b"), "dns"), (site.url("/c"), "dns")]
    site.table.delete(site.url("/b"), dry_run=True)
    site.table.delete_pages(site.domain, dry_run=True)
    assert len(failed(site)) == 2
    site.table.delete_pages(site.domain)
    assert failed(site) == []


def test_a_copy_has_the_failures_that_its_target_does_not_know_better():
    source, target, now = memory_table(), memory_table(), datetime.now(UTC)
    for number, name in enumerate("abc"):
        source.put_failed(f"https://example.com/{name}", "dns", at=now - (10 - number) * HOUR)
    target.put(Page(url="https://example.com/a", body=b"A", fetched_at=now))
    target.put_failed("https://example.com/b", "tls", at=now)

    source.maintenance.copy(target)

    assert [(failure.url[-1], failure.reason) for failure in target.failed()] == [("b", "tls"), ("c", "dns")]


def test_a_writer_stores_a_failure_at_once():
    table = memory_table()
    with table.writer() as writer:
        stored = writer.put_failed("https://example.com/", "timeout")
        assert list(table.failed()) == [stored]
    with pytest.raises(webtable.WriteFailed):
        writer.put_failed("https://example.com/", "timeout")


def test_frames_and_parts_have_the_failures(tmp_path):
    with webtable.open(tmp_path / "crawl.db", create=True) as table:
        for number in range(20):
            table.put_failed(f"https://example.com/{number:02}", "dns")

        frame = table.failed().to_pandas()

        assert list(frame.columns[:3]) == ["url", "reason", "failed_at"]
        assert len(frame) == 20
        parts = table.failed(webtable.ALL).partitions(3)
        assert sorted(failure.url for part in parts for failure in part.pages()) == sorted(frame["url"])


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"url": "no url"}, InvalidURL),
        ({"reason": "Connection timed out"}, InvalidArgument),
        ({"reason": ""}, InvalidArgument),
        ({"at": datetime(2026, 1, 1)}, InvalidCapture),
        ({"at": datetime(1969, 1, 1, tzinfo=UTC)}, InvalidCapture),
        ({"at": datetime.now(UTC) + timedelta(days=2)}, FutureCapture),
    ],
)
def test_what_cannot_be_kept_is_refused(arguments, error):
    table = memory_table()

    with pytest.raises(error):
        table.put_failed(**{"url": "https://example.com/", "reason": "dns", **arguments})

    assert list(table.failed()) == []


def test_a_long_message_is_cut():
    table = memory_table()

    table.put_failed("https://example.com/", "other", detail="x" * 100_000)

    assert [len(failure.detail) for failure in table.failed()] == [1_000]


def test_a_row_that_cannot_be_read_is_left_out_and_replaced():
    table = memory_table()
    table.put_failed("https://example.com/", "dns", at=datetime.now(UTC) - HOUR)
    from webtable.store import NewCell, Put

    (row,) = table.store.scan("pages_queue", [webtable.rowkey.KeyRange(b"failed:", b"failed;")])
    ((column, (cell, *_)),) = row.cells.items()
    table.store.write("pages_queue", [Put(row.key, [NewCell(column, cell.timestamp, b"{}")])])

    assert list(table.failed()) == []
    table.put_failed("https://example.com/", "dns")
    assert [failure.attempts for failure in table.failed()] == [1]
