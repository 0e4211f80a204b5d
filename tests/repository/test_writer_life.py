"""The life of a writer: left open at the end, forked, closed with others, waiting for a store that does not answer."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import time
import uuid

import pytest
from sites import with_limit

import webtable
from webtable import Page, WriteFailed
from webtable.errors import OtherProcess, StoreUnavailable

pytestmark = pytest.mark.slow


def run(program: str, *arguments: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *options, "-c", program, *arguments], capture_output=True, text=True, timeout=120
    )


LEFT_OPEN = """
import sys, webtable
from webtable import Page
table = webtable.open(sys.argv[1], create=True, indexes=[])
writer = table.writer()
for number in range(7):
    writer.put(Page(url=f"https://left.example/{number}", body=b"<p>left"))
"""


def test_a_writer_that_is_left_open_stores_its_pages_when_the_interpreter_ends(new_url):
    url = new_url()

    ended = run(LEFT_OPEN, url, options=("-X", "dev"))

    assert ended.returncode == 0
    assert "ResourceWarning" in ended.stderr
    assert "a writer was left open" in ended.stderr
    with webtable.open(url) as table:
        assert len(list(table.pages("left.example"))) == 7


def test_pages_of_a_writer_left_open_are_stored_also_where_warnings_are_errors_and_an_exception_ends_it(new_url):
    url = new_url()

    ended = run(LEFT_OPEN + "\nraise SystemExit(3)", url, options=("-W", "error"))

    assert ended.returncode == 3
    assert "a writer was left open" in ended.stderr
    with webtable.open(url) as table:
        assert len(list(table.pages("left.example"))) == 7


def test_pages_that_a_writer_left_open_cannot_store_are_named_at_the_end(new_url):
    program = LEFT_OPEN + "\nimport os\nwriter.put(Page(url='https://left.example/large', body=os.urandom(11 * 2**20)))"

    ended = run(program, with_limit(new_url()))

    assert "1 page not stored: https://left.example/large" in ended.stderr


def test_a_closed_writer_says_nothing_at_the_end(new_url):
    ended = run(LEFT_OPEN + "\ntable.close()", new_url(), options=("-X", "dev", "-W", "error"))

    assert (ended.returncode, ended.stderr) == (0, "")


IN_CHILD = """
import multiprocessing, sys, webtable
from webtable import Page

def crawl(url):
    table = webtable.open(url)
    writer = table.writer()
    writer.put(Page(url="https://left.example/child", body=b"<p>left"))

if __name__ == "__main__":
    webtable.create(sys.argv[1], indexes=[])
    process = multiprocessing.get_context(sys.argv[2]).Process(target=crawl, args=(sys.argv[1],))
    process.start()
    process.join()
    raise SystemExit(process.exitcode)
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_writer_left_open_in_a_process_of_multiprocessing_stores_its_pages(new_url, tmp_path, method):
    url, file = new_url(), tmp_path / "crawl.py"
    file.write_text(IN_CHILD)

    ended = subprocess.run([sys.executable, str(file), url, method], capture_output=True, text=True, timeout=120)

    assert ended.returncode == 0, ended.stderr
    with webtable.open(url) as table:
        assert [page.url for page in table.pages("left.example")] == ["https://left.example/child"]


def forked(child) -> int:
    """Run *child* in a forked process and return the code that it ends with: what it returns, or 99."""
    number = os.fork()
    if not number:
        code = 99
        try:
            code = child()
        finally:
            os._exit(code)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        ended, status = os.waitpid(number, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(number, 9)
    os.waitpid(number, 0)
    raise AssertionError("the child hangs")


def test_a_writer_of_the_parent_is_refused_in_a_forked_child_at_once(site):
    def child() -> int:
        refused = 0
        for use in (lambda: writer.put(site.page("/child", body=b"x")), writer.flush):
            try:
                use()
            except OtherProcess:
                refused += 1
        writer.close()
        return refused

    with site.table.writer() as writer:
        writer.put(site.page("/parent", body=b"x"))

        assert forked(child) == 2

    assert [page.url for page in site.table.pages(site.domain)] == [site.url("/parent")]


def test_a_forked_child_reads_and_writes_while_threads_of_the_parent_are_in_the_table(site):
    over = threading.Event()

    def busy(number):
        while not over.is_set():
            site.table.put(site.page(f"/busy/{number}/{uuid.uuid4().hex}", body=b"x"))
            list(site.table.pages(site.domain, limit=5))
            list(site.table.errors(site.domain, limit=5))

    def child() -> int:
        with site.table.writer() as writer:
            writer.put(site.page(f"/child/{os.getpid()}", body=b"x"))
        return len(list(site.table.pages(f"https://{site.domain}/child/")))

    threads = [threading.Thread(target=busy, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    try:
        found = [forked(child) for _ in range(8)]
    finally:
        over.set()
        for thread in threads:
            thread.join()

    assert found == list(range(1, 9))


def test_a_listing_that_the_parent_has_begun_goes_on_in_the_child_or_is_refused(site):
    site.store(*(site.page(f"/{number:04}", body=b"x") for number in range(1_500)))
    listing = iter(site.table.pages(site.domain))
    begun = [next(listing) for _ in range(200)]

    def child() -> int:
        try:
            return 1 if len(list(listing)) == 1_300 else 98
        except OtherProcess:
            return 1

    assert forked(child) == 1
    assert len(begun) + len(list(listing)) == 1_500


def test_a_pool_of_processes_writes_into_one_table(new_url):
    url = new_url()
    webtable.create(url, indexes=[])

    with multiprocessing.get_context("spawn").Pool(2) as pool:
        stored = pool.starmap(crawl, [(url, number) for number in range(4)])

    with webtable.open(url) as table:
        assert len(list(table.pages("pool.example"))) == sum(stored) == 40


def crawl(url: str, number: int) -> int:
    with webtable.open(url) as table, table.writer() as writer:
        for path in range(10):
            writer.put(Page(url=f"https://pool.example/{number}/{path}", body=b"x"))
    return writer.stored


def fail(outcome):
    raise RuntimeError(outcome.url)


def test_closing_a_table_stores_the_pages_of_all_writers_whatever_their_functions_raise(new_url, site):
    url, told = new_url(), []
    table = webtable.open(url, create=True, indexes=[])
    for name, told_of in (("a", fail), ("b", told.append), ("c", fail)):
        table.writer(on_outcome=told_of).put(site.page(f"/{name}", body=b"x"))

    with pytest.raises(ExceptionGroup) as raised:
        table.close()

    assert sorted(str(error) for error in raised.value.exceptions) == [site.url("/a"), site.url("/c")]
    assert [outcome.url for outcome in told] == [site.url("/b")]
    with webtable.open(url) as again:
        assert len(list(again.pages(site.domain))) == 3


def test_a_function_that_raises_is_told_of_every_page_and_all_it_raised_comes_together(site):
    writer = site.table.writer(on_outcome=fail)
    for path in ("/a", "/b", "/c"):
        writer.put(site.page(path, body=b"x"))

    with pytest.raises(ExceptionGroup) as raised:
        writer.close()

    assert [str(error) for error in raised.value.exceptions] == [site.url(path) for path in ("/a", "/b", "/c")]


def test_pages_that_were_not_stored_come_with_the_other_errors_of_a_table(new_url, site):
    table = webtable.open(with_limit(new_url()), create=True, indexes=[])
    table.writer().put(site.page("/large", body=os.urandom(11 * 2**20)))
    table.writer(on_outcome=fail).put(site.page("/a", body=b"x"))

    with pytest.raises(ExceptionGroup) as raised:
        table.close()

    assert [type(error) for error in raised.value.exceptions] == [WriteFailed, RuntimeError]


class Stalled:
    """Makes the store of a table wait at every write, as long as a call may take, and then fail."""

    def __init__(self, spied, timeout: float) -> None:
        from webtable.store.deadline import of_call

        spied.site.table.store.timeout = timeout
        self.calls = 0

        def stall(call, *_):
            if call == "write":
                self.calls += 1
                time.sleep(of_call(timeout).left())
                raise StoreUnavailable("no answer in time")

        spied.listener = stall


def test_a_flush_waits_no_longer_than_one_call_may_take(spied):
    Stalled(spied, 0.4)
    writer = spied.site.table.writer(buffer_pages=2)
    for number in range(5):
        writer.put(spied.site.page(f"/{number}", body=b"x"))

    began = time.monotonic()
    with pytest.raises(WriteFailed, match="5 pages not stored"):
        writer.flush()

    assert time.monotonic() - began < 1.9
    writer.close()


def test_a_put_waits_no_longer_than_one_call_may_take(spied):
    Stalled(spied, 0.4)
    waits = []
    with pytest.raises(WriteFailed), spied.site.table.writer(buffer_pages=1) as writer:
        for number in range(5):
            began = time.monotonic()
            writer.put(spied.site.page(f"/{number}", body=b"x"))
            waits.append(time.monotonic() - began)

    assert max(waits) < 1.9


def test_one_page_is_put_or_refused_within_one_call(spied):
    stalled = Stalled(spied, 0.4)

    began = time.monotonic()
    with pytest.raises(WriteFailed):
        spied.site.table.put(spied.site.page("/a", body=b"x"))

    assert time.monotonic() - began < 1.9
    assert stalled.calls > 1
