"""Revisit records as warcio writes them, ingested in one process and in several, and by a process that is killed."""

from __future__ import annotations

import gzip
import io
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

import webtable
from nightly import some
from webtable.formats import read_pages

# warcio leaves its temporary files to the garbage collector.
pytestmark = [pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"), pytest.mark.slow]

X, Y, Z = "https://example.com/x", "https://example.com/y", "https://example.com/z"
A, B = b"<title>A</title><p>" + b"a" * 2_000, b"<title>B</title><p>" + b"b" * 2_000


class Archive:
    """A WARC file that warcio writes; `payload` has the digests of the payloads of its responses."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("wb")
        self._writer = WARCWriter(self._file, gzip=True)

    def response(self, url, day, body, *, encoded=False):
        """Write a response, and return the arguments of a revisit of it."""
        headers = [("Content-Type", "text/html"), *([("Content-Encoding", "gzip")] if encoded else [])]
        payload = gzip.compress(body) if encoded else body
        record = self._record(url, "response", day, headers, payload)
        return {"of": url, "date": day, "digest": record.rec_headers.get_header("WARC-Payload-Digest")}

    def revisit(self, url, day, *, of=None, date=None, digest=None, profile="identical-payload-digest", head=True):
        fields = {"WARC-Profile": f"http://netpreserve.org/warc/1.1/revisit/{profile}"}
        named = {"WARC-Refers-To-Target-URI": of, "WARC-Payload-Digest": digest}
        named["WARC-Refers-To-Date"] = None if date is None else self.date(date)
        fields |= {name: value for name, value in named.items() if value is not None}
        self._record(url, "revisit", day, [("Content-Type", "text/html")] if head else None, b"", **fields)

    @staticmethod
    def date(day):
        return f"2024-01-{day:02}T00:00:00Z"

    def close(self):
        self._file.close()
        return str(self.path)

    def _record(self, url, kind, day, headers, payload, **fields):
        status = "200 OK" if fields.get("WARC-Profile", "")[-12:] != "not-modified" else "304 Not Modified"
        http = None if headers is None else StatusAndHeaders(status, headers, protocol="HTTP/1.1")
        record = self._writer.create_warc_record(
            url,
            kind,
            payload=io.BytesIO(payload),
            http_headers=http,
            warc_headers_dict={"WARC-Date": self.date(day), **fields},
        )
        self._writer.write_record(record)
        return record


@pytest.fixture
def ingest(tmp_path):
    """Ingest files into a store in a process of its own, and return its output."""

    def ingest(*files, store="crawl.db", **options):
        arguments = [f"--{name}={value}" for name, value in options.items()]
        command = [sys.executable, "-m", "webtable.cli", "-s", store, "ingest", *arguments, *files]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return ingest


def bodies(store, *urls):
    with webtable.open(store) as table:
        return [page and page.body for page in map(table.get, urls)]


def test_the_digest_of_a_payload_is_kept_where_its_body_was_decoded(tmp_path):
    archive = Archive(tmp_path / "a.warc.gz")
    plain = archive.response(X, 1, A)
    packed = archive.response(X, 2, B, encoded=True)
    archive.revisit(Y, 3, **plain)

    pages = list(read_pages(archive.close()))

    assert [page.stored.payload_digest for page in pages] == [None, packed["digest"], plain["digest"]]
    assert [page.stored.repeats_at for page in pages] == [None, None, pages[0].fetched_at]
    assert pages[1].body == B


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("encoded", [True, False])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_revisits_are_completed_in_one_run_whichever_file_comes_first(tmp_path, ingest, order, encoded, workers):
    originals, revisits = Archive(tmp_path / "o.warc.gz"), Archive(tmp_path / "r.warc.gz")
    named = originals.response(X, 1, A, encoded=encoded)
    originals.response(X, 2, B, encoded=encoded)
    revisits.revisit(Y, 3, **named)
    revisits.revisit(Z, 3, of=X, digest=named["digest"])
    revisits.revisit(X, 4, digest=named["digest"])
    files = [originals.close(), revisits.close()]

    told = ingest(*(files[at] for at in order), workers=workers)

    assert bodies(tmp_path / "crawl.db", X, Y, Z) == [A, A, A]
    with webtable.open(tmp_path / "crawl.db") as table:
        assert [page.body for page in table.history(X, columns=["body"])] == [A, B, A]
    assert "waiting" not in told


def test_a_later_run_completes_what_an_earlier_one_has_reported(tmp_path, ingest):
    originals, revisits = Archive(tmp_path / "o.warc.gz"), Archive(tmp_path / "r.warc.gz")
    named = originals.response(X, 1, A)
    revisits.revisit(Y, 3, **named, head=False)
    revisits.revisit(Z, 3, **named)
    files = originals.close(), revisits.close()

    first = ingest(files[1])
    listed = subprocess.run(
        [sys.executable, "-m", "webtable.cli", "-s", "crawl.db", "unresolved", "--format", "csv"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    ).stdout
    checks = {check.check: check for check in webtable.doctor(tmp_path / "crawl.db")}
    second = ingest(files[0])

    assert "2 revisits waiting for the originals (unresolved lists them)" in first
    assert [line.split(",")[0] for line in listed.splitlines()[1:]] == [Y, Z]
    assert (checks["revisits"].state, checks["revisits"].finding) == (
        "warning",
        "2 revisits of captures that are not stored",
    )
    assert "waiting" not in second
    assert bodies(tmp_path / "crawl.db", Y, Z) == [A, A]


@pytest.mark.parametrize("workers", [1, 2])
def test_revisits_keep_their_bodies_where_the_original_changed_later_in_the_file(tmp_path, ingest, workers):
    archive = Archive(tmp_path / "a.warc.gz")
    named = archive.response(X, 1, A)
    urls = [f"https://example.com/{number}" for number in range(30)]
    for url in urls:
        archive.revisit(url, 2, **named)
    archive.response(X, 3, B)
    archive.revisit(Y, 4, of=X)
    file = archive.close()

    ingest(file, workers=workers)
    once = bodies(tmp_path / "crawl.db", X, Y, *urls)
    ingest(file, workers=workers)

    assert once == [B, B, *[A] * 30]
    assert bodies(tmp_path / "crawl.db", X, Y, *urls) == once


def test_a_304_record_that_names_a_capture_which_is_not_stored_waits_for_that(tmp_path, ingest):
    archive, missing = Archive(tmp_path / "a.warc.gz"), Archive(tmp_path / "m.warc.gz")
    archive.response(X, 1, A)
    archive.revisit(X, 4, of=X, date=3, profile="server-not-modified")
    missing.response(X, 3, B)

    ingest(archive.close())
    before = bodies(tmp_path / "crawl.db", X)
    ingest(missing.close())

    assert (before, bodies(tmp_path / "crawl.db", X)) == ([None], [B])


KILLED = """
import os, sys, threading, webtable
from webtable.formats import read_pages
with webtable.open(sys.argv[1], create=True) as table, table.writer(buffer_pages=1) as writer:
    for number, page in enumerate(read_pages(sys.argv[2])):
        writer.put(page)
        if number == int(sys.argv[3]):
            os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("at", some(range(0, 12, 2), 2))
def test_a_crawl_that_is_killed_half_way_is_whole_after_it_is_stored_again(tmp_path, ingest, at):
    archive = Archive(tmp_path / "a.warc.gz")
    urls = [f"https://example.com/{number}" for number in range(5)]
    for url in urls:
        archive.revisit(url, 3, of=X, date=1)
    named = archive.response(X, 1, A)
    archive.response(X, 2, B)
    for url in urls:
        archive.revisit(f"{url}/again", 3, **named)
    file = archive.close()
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "crawl.db"), file, str(at)], check=False)

    ingest(file)

    assert killed.returncode == -signal.SIGKILL
    assert bodies(tmp_path / "crawl.db", *urls, *(f"{url}/again" for url in urls)) == [A] * 10
    with webtable.open(tmp_path / "crawl.db") as table:
        assert list(table.unresolved()) == []


def test_two_processes_with_revisits_and_originals_leave_none_open(tmp_path):
    originals, revisits = Archive(tmp_path / "o.warc.gz"), Archive(tmp_path / "r.warc.gz")
    urls = [f"https://example.com/{number}" for number in range(60)]
    for number, url in enumerate(urls):
        named = originals.response(url, 1, A + b"%d" % number)
        revisits.revisit(f"{url}/again", 3, **named)
    files = originals.close(), revisits.close()
    webtable.create(tmp_path / "crawl.db")
    command = [sys.executable, "-m", "webtable.cli", "-s", "crawl.db", "ingest", "--batch", "3"]

    processes = [subprocess.Popen([*command, file], cwd=tmp_path, stdout=subprocess.PIPE) for file in files]
    for process in processes:
        process.communicate()

    with webtable.open(tmp_path / "crawl.db") as table:
        assert list(table.unresolved()) == []
    assert bodies(tmp_path / "crawl.db", *(f"{url}/again" for url in urls)) == [A + b"%d" % at for at in range(60)]
