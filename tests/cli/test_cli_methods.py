"""`ingest` leaves out answers to other methods than GET, or stores them under keys, by any number of workers."""

from __future__ import annotations

import gzip
import signal
from pathlib import Path

import pytest
from running import Run
from test_methods import mixed, request, response
from test_warc import record
from test_warc import response as http

import webtable
from webtable.formats import read

PAIRS = [
    request(), response("The page"),
    request("POST", b"a=1", "application/x-www-form-urlencoded", second=1), response("Thanks", second=1),
    response("", second=2), request("HEAD", second=2),
    response("", second=3), request("HEAD", second=3),
]  # fmt: skip
KEYS = ["https://example.com/a", "https://example.com/a?__wb_method=HEAD", "https://example.com/a?__wb_method=POST&a=1"]


def stored(store: str = "webtable.db") -> list[tuple[str, str | None, int]]:
    with webtable.open(store) as table:
        return sorted((page.url, page.title, len(table.history(page.url))) for page in table.pages(webtable.ALL))


def test_answers_to_other_methods_are_left_out_and_counted(run: Run):
    Path("crawl.warc").write_bytes(b"".join(PAIRS))

    done = run("ingest", "crawl.warc")

    assert done.code == 0
    assert "1 page stored" in done.out
    assert "3 answers to other methods left out (HEAD 2, POST 1)" in done.out
    assert stored() == [(KEYS[0], "The page", 1)]


@pytest.mark.parametrize(("methods", "urls"), [("all", KEYS), ("get,POST", [KEYS[0], KEYS[2]]), ("HEAD", [KEYS[1]])])
def test_methods_that_are_named_are_stored_under_their_keys(run: Run, methods: str, urls: list[str]):
    Path("crawl.warc").write_bytes(b"".join(PAIRS))

    done = run("ingest", "crawl.warc", "--methods", methods)

    assert done.code == 0
    assert [url for url, _, _ in stored()] == urls


def test_a_method_that_is_none_is_refused(run: Run):
    Path("crawl.warc").write_bytes(b"".join(PAIRS))

    done = run("ingest", "crawl.warc", "--methods", "GET POST")

    assert (done.code, "--methods" in done.err, Path("webtable.db").exists()) == (2, True, False)


@pytest.mark.slow
@pytest.mark.parametrize("methods", [[], ["--methods", "all"]])
def test_workers_find_the_same_methods_where_parts_would_tear_exchanges(
    run: Run, monkeypatch: pytest.MonkeyPatch, methods: list[str]
):
    # Files are divided in the process that starts the workers.
    monkeypatch.setattr(read.parts_of, "__defaults__", (1, *read.parts_of.__defaults__[1:]))
    monkeypatch.setattr("webtable.ingest.batches.PART_BYTES", 1)
    Path("crawl.warc.gz").write_bytes(b"".join(map(gzip.compress, mixed(3, 200))))

    one = run("-s", "one.db", "ingest", *methods, "crawl.warc.gz")
    two = run("-s", "two.db", "ingest", "--workers", "2", *methods, "crawl.warc.gz")

    def counts(out: str) -> str:
        return out.partition("B/s)")[2]

    assert (one.code, two.code, len(list(read.parts_of("crawl.warc.gz"))) > 5) == (0, 0, True)
    assert stored("two.db") == stored("one.db")
    assert counts(two.out) == counts(one.out)


@pytest.mark.slow
@pytest.mark.parametrize("methods", [[], ["--methods", "all"]])
def test_a_run_that_is_resumed_between_a_response_and_its_request_stores_the_same(
    run: Run, monkeypatch: pytest.MonkeyPatch, methods: list[str]
):
    monkeypatch.setattr("webtable.ingest.batches.BATCH_PAGES", 1)
    Path("crawl.warc.gz").write_bytes(b"".join(map(gzip.compress, mixed(5))))
    run("-s", "whole.db", "ingest", *methods, "crawl.warc.gz")
    runs = 0

    # A run that is told to end after each batch: the next one goes on from the journal.
    from webtable.ingest.batches import PageBatch
    from webtable.ingest.engine import Ingest

    take = Ingest._take

    def ended(self: Ingest, batch: PageBatch) -> None:
        take(self, batch)
        self.interrupt(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(Ingest, "_take", ended)
        while runs < 100 and run("-s", "parts.db", "ingest", "--resume", *methods, "crawl.warc.gz").code:
            runs += 1
            if '"is_done":true' in Path("parts.db.ingest").read_text():
                break

    assert runs > 5
    assert stored("parts.db") == stored("whole.db")


def test_pages_whose_body_disagrees_with_its_headers_are_counted_by_what_says_so(run: Run):
    bodies = http(b"hello", "Content-Encoding: gzip", media="text/plain"), http(b"<p>short", "Content-Length: 99")
    Path("crawl.warc").write_bytes(b"".join(record(body, f"https://example.com/{n}") for n, body in enumerate(bodies)))

    done = run("ingest", "crawl.warc")

    assert (done.code, "2 pages marked truncated (gzip 1, Content-Length 1)" in done.out) == (0, True)


def test_an_index_of_another_tool_finds_the_answers_of_an_export(run: Run):
    Path("crawl.warc").write_bytes(b"".join(PAIRS))
    run("ingest", "crawl.warc", "--methods", "all")

    done = run("export", "out", "all")

    assert done.code == 0
    lines = Path("out/index.cdxj").read_text().splitlines()
    assert sorted({line.split(" ")[0] for line in lines}) == [
        "com,example)/a",
        "com,example)/a?__wb_method=head",
        "com,example)/a?__wb_method=post&a=1",
    ]
