"""What could not be sent is handed back, or left in a file that `webtable ingest` takes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

import webtable
from webtable import Link, WebTable
from webtable.cli.app import app
from webtable.errors import CellTooLarge, InvalidArgument, StoreUnavailable, WriteFailed
from webtable.formats import read_pages
from webtable.repository.writing.spool import Spool
from webtable.testing import FailingStore

GONE = StoreUnavailable("the gateway is restarted")


def gone(site):
    """The table of *site* again, over a store that is away."""
    return WebTable(FailingStore(site.table.store, GONE), site.table.table, site.table.layout)


def a_page(site, path, **more):
    page = site.page(path, body=b"\xff\xfe not UTF-8", age=400)
    links = (Link(site.url("/target"), "there", "nofollow"),)
    headers = [("Content-Type", "text/html"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("ETag", '"7"')]
    return replace(page, headers=webtable.page.Headers(headers), outlinks=links, status=203, **more)


def test_the_error_hands_back_the_pages_that_were_not_stored(site):
    with pytest.raises(WriteFailed) as raised, gone(site).writer() as writer:
        for path in ("/a", "/b"):
            writer.put(a_page(site, path))

    assert [page.url for page in raised.value.pages] == [site.url("/a"), site.url("/b")]
    with site.table.writer() as writer:
        for page in raised.value.pages:
            writer.put(page)
    assert writer.stored == 2
    assert site.table.get(site.url("/a")).body == b"\xff\xfe not UTF-8"


def test_pages_are_handed_back_once_and_no_more_than_the_writer_may_hold(site):
    writer = gone(site).writer(buffer_bytes=20_000, in_flight=1)
    for number in range(60):
        writer.put(site.page(f"/{number}", body=b"x" * 1_000))

    with pytest.raises(WriteFailed) as raised:
        writer.flush()
    writer.close()

    assert len(raised.value.failures) == 60
    assert 0 < len(raised.value.pages) < 40
    assert [page.url for page in raised.value.pages] == [
        failure.url for failure in raised.value.failures[: len(raised.value.pages)]
    ]


def test_what_could_not_be_sent_is_taken_back_by_ingest_as_it_was(site, tmp_path, new_url):
    spool, url = tmp_path / "unsent.jsonl.zst", new_url()
    pages = [a_page(site, "/a"), a_page(site, "/b")]
    with pytest.raises(WriteFailed, match=r"unsent\.jsonl\.zst") as raised, gone(site).writer(spool=spool) as writer:
        for page in pages:
            writer.put(page)

    webtable.create(url, indexes=[])
    ended = CliRunner().invoke(app, ["-s", url, "ingest", str(spool)])

    assert ended.exit_code == 0, ended.output
    assert raised.value.pages == []
    with webtable.open(url) as table:
        for page in pages:
            stored = table.get(page.url)
            assert (stored.fetched_at, stored.body, stored.status) == (page.fetched_at, page.body, 203)
            assert stored.outlinks == page.outlinks
            assert stored.headers == page.headers


def test_a_spool_that_is_there_is_left_and_the_next_has_a_number(site, tmp_path):
    writer = gone(site).writer(spool=tmp_path / "unsent.jsonl.zst")
    for path in ("/a", "/b", "/c"):
        writer.put(site.page(path, body=b"x"))
        with pytest.raises(WriteFailed):
            writer.flush()
    writer.close()

    names = ["unsent.jsonl.zst", "unsent-2.jsonl.zst", "unsent-3.jsonl.zst"]
    assert {file.name for file in tmp_path.iterdir()} == set(names)
    assert [page.url for name in names for page in read_pages(tmp_path / name, types=None)] == [
        site.url("/a"),
        site.url("/b"),
        site.url("/c"),
    ]


def test_with_a_function_for_outcomes_the_spool_is_written_and_nothing_raised(site, tmp_path):
    outcomes = []

    with gone(site).writer(spool=tmp_path / "unsent.jsonl.zst", on_outcome=outcomes.append) as writer:
        writer.put(site.page("/a", body=b"x"))

    assert [type(outcome.error) for outcome in outcomes] == [StoreUnavailable]
    assert [page.url for page in read_pages(tmp_path / "unsent.jsonl.zst", types=None)] == [site.url("/a")]


def test_a_page_is_in_the_spool_before_its_failure_is_reported(site, tmp_path):
    spool, reported = tmp_path / "unsent.jsonl.zst", {}

    def in_spool(url):
        return spool.exists() and url in {page.url for page in read_pages(spool, types=None)}

    def on_outcome(outcome):
        reported[outcome.url] = in_spool(outcome.url)

    with gone(site).writer(spool=spool, buffer_pages=2, on_outcome=on_outcome) as writer:
        receipts = [writer.put(site.page(f"/{number}", body=b"x")) for number in range(7)]
        for receipt in receipts:
            assert isinstance(receipt.exception(), StoreUnavailable)
            assert in_spool(receipt.url)

    assert reported == dict.fromkeys([receipt.url for receipt in receipts], True)
    assert list(tmp_path.iterdir()) == [spool]


def test_a_spool_whose_process_was_killed_as_it_wrote_gives_the_pages_before(site, tmp_path):
    spool = Spool(tmp_path / "unsent.jsonl.zst")
    path = spool.append([site.page("/a", body=b"x")])
    whole = path.stat().st_size
    spool.append([site.page("/b", body=os.urandom(5_000))])
    os.truncate(path, whole + 2_000)

    pages = read_pages(path, types=None)

    assert next(iter(pages)).url == site.url("/a")


def test_more_than_the_writer_may_hold_is_written_before_it_is_closed(site, tmp_path):
    writer = gone(site).writer(spool=tmp_path / "unsent.jsonl.zst", buffer_bytes=20_000, in_flight=1)
    for number in range(60):
        writer.put(site.page(f"/{number}", body=b"x" * 1_000))

    assert list(tmp_path.glob("unsent*"))
    with pytest.raises(WriteFailed) as raised:
        writer.close()

    written = [page.url for file in tmp_path.iterdir() for page in read_pages(file, types=None)]
    assert sorted(written) == sorted(failure.url for failure in raised.value.failures)
    assert len(written) == 60


def test_what_the_table_refuses_is_handed_back_and_not_written(site, tmp_path):
    noise = os.urandom(11 * 2**20)
    with (
        pytest.raises(WriteFailed) as raised,
        site.table.writer(spool=tmp_path / "unsent.jsonl.zst", buffer_bytes=2**30) as writer,
    ):
        writer.put(site.page("/large", body=noise))

    assert [type(failure.error) for failure in raised.value.failures] == [CellTooLarge]
    assert [page.url for page in raised.value.pages] == [site.url("/large")]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("told", [None, lambda outcome: None])
def test_a_spool_that_cannot_be_written_is_an_error_that_has_the_pages(site, tmp_path, monkeypatch, told):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    writer = gone(site).writer(spool=tmp_path / "unsent.jsonl.zst", on_outcome=told)
    writer.put(site.page("/a", body=b"x"))

    with pytest.raises(WriteFailed, match="No space left") as raised:
        writer.close()

    assert [page.url for page in raised.value.pages] == [site.url("/a")]
    assert isinstance(raised.value.__cause__, OSError)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["unsent.jsonl", "missing/unsent.jsonl.zst"])
def test_a_spool_that_could_never_be_written_is_refused_at_once(site, tmp_path, name):
    with pytest.raises(InvalidArgument, match="spool"):
        site.table.writer(spool=tmp_path / name)


AT_THE_END = """
import sys, webtable
from webtable import Page, WebTable
from webtable.errors import StoreUnavailable
from webtable.testing import FailingStore
table = webtable.open(sys.argv[1], create=True)
gone = FailingStore(table.store, StoreUnavailable("gone"))
writer = WebTable(gone, table.table, table.layout).writer(spool=sys.argv[2])
writer.put(Page(url="https://left.example/a", body=b"x"))
"""


def test_a_process_that_ends_leaves_its_pages_in_the_spool(tmp_path):
    spool = tmp_path / "unsent.jsonl.zst"

    ended = subprocess.run(
        [sys.executable, "-c", AT_THE_END, str(tmp_path / "a.db"), str(spool)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )

    assert "unsent.jsonl.zst" in ended.stderr
    assert [page.url for page in read_pages(spool, types=None)] == ["https://left.example/a"]


def test_a_table_that_is_closed_hands_back_the_pages_of_all_its_writers(site):
    table = gone(site)
    for path in ("/a", "/b"):
        table.writer().put(site.page(path, body=b"x"))
    table.store.close = lambda: None

    with pytest.raises(WriteFailed) as raised:
        table.close()

    assert sorted(page.url for page in raised.value.pages) == [site.url("/a"), site.url("/b")]
