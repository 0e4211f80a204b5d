"""webtable.aio where tasks are cancelled, loops end, and processes fork."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

import webtable
from webtable import Page, aio
from webtable.aio.results import Calls
from webtable.errors import InvalidArgument, InvalidURL, StoreUnavailable, TableNotFound, WriteFailed
from webtable.testing import ListeningStore

NOW = datetime.now(UTC).replace(microsecond=0)


def page(path: str) -> Page:
    return Page(url=f"https://a.example/{path}", body=f"<title>{path}</title>".encode(), fetched_at=NOW)


class Gate:
    """What calls of a store wait for; *error* is what they raise then."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.waiting = threading.Event()
        self.opened = threading.Event()
        self.opened.set()
        self.error: Exception | None = None
        self.stopped = "write"

    def __call__(self, call) -> None:
        self.calls.append(call.name)
        if call.name == self.stopped and not self.opened.is_set():
            self.waiting.set()
            assert self.opened.wait(30)
            if self.error is not None:
                raise self.error


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def gated(gate, memory_url):
    """A table of the synchronous library over a store whose calls go through the gate."""
    with webtable.open(memory_url, create=True) as made:
        yield webtable.WebTable(ListeningStore(made.store, gate), made.table, made.layout)


async def until_set(event: threading.Event) -> None:
    await asyncio.to_thread(event.wait, 30)


def test_a_put_that_has_to_wait_lets_the_loop_go_on(gated, gate):
    async def main():
        table, turns = aio.WebTable(gated), 0
        async with table.writer(buffer_pages=1, in_flight=1) as writer:
            gate.opened.clear()
            putting = asyncio.ensure_future(asyncio.gather(*[writer.put(page(str(number))) for number in range(10)]))
            await until_set(gate.waiting)
            for _ in range(50):
                await asyncio.sleep(0.001)
                turns += 1
            was_done = putting.done()
            gate.opened.set()
            await putting
        return turns, was_done, writer.stored

    assert asyncio.run(main()) == (50, False, 10)


def test_pages_go_to_the_store_in_the_order_in_which_they_were_put(gated):
    order: list[str] = []

    async def main():
        async with aio.WebTable(gated).writer(on_outcome=lambda outcome: order.append(outcome.url)) as writer:
            await asyncio.gather(*[writer.put(page(f"{number:03}")) for number in range(200)])

    asyncio.run(main())

    assert order == [f"https://a.example/{number:03}" for number in range(200)]


def test_a_question_calls_no_store_before_it_is_asked(gated, gate):
    table = aio.WebTable(gated)
    gate.calls.clear()

    table.pages("a.example")
    table.hosts("a.example")
    table.search("word", "a.example")
    table.changes("a.example", since="7d")
    table.duplicate_groups("a.example")
    table.titles("a.example")
    table.redirect_chains("a.example")
    table.canonicals("a.example")
    table.hreflang("a.example")
    table.pagination("a.example")
    table.soft_404s("a.example")
    table.depths("a.example")
    table.crawls("a.example")
    table.headings("a.example")
    table.images("a.example")
    table.structured_data("a.example")
    table.insecure_content("a.example")
    table.fetched(since="7d")
    table.modified(since="7d")
    table.outdated(not_fetched_since="7d")
    table.largest()
    table.with_status(200)
    table.errors()
    table.redirects(to="https://a.example/")
    table.duplicates("https://a.example/")
    table.links.to("https://a.example/")
    table.links.of("https://a.example/")
    table.links.most_linked()
    table.links.dead_ends()
    table.links.broken()
    table.links.orphans("a.example")
    table.links.discovered("a.example")
    table.get_many(["https://a.example/"])

    assert gate.calls == []


def test_errors_are_those_of_the_library(tmp_path):
    async def main():
        with pytest.raises(TableNotFound):
            await aio.open(tmp_path / "none.db")
        with pytest.raises(InvalidArgument, match="threads=0"):
            aio.open(tmp_path / "none.db", threads=0)
        async with aio.open(tmp_path / "crawl.db", create=True) as table:
            with pytest.raises(InvalidURL):
                await table.get("no url")
            with pytest.raises(InvalidArgument, match="size=0"):
                await table.pages("a.example").page(size=0)
            async with table.writer() as writer:
                with pytest.raises(InvalidURL):
                    await writer.put(Page(url="no url", fetched_at=NOW))

    asyncio.run(main())


def test_no_more_threads_call_a_table_than_it_was_given(tmp_path):
    async def main():
        async with aio.open(tmp_path / "crawl.db", create=True, threads=3) as table:
            await asyncio.gather(*[table.get(f"https://a.example/{number}") for number in range(200)])
            return [one.name for one in threading.enumerate() if one.name.startswith("webtable-aio")]

    assert 1 <= len(asyncio.run(main())) <= 3


# Streams.


class Rows:
    """An iterator that tells how far it was read, and whether it was closed."""

    def __init__(self, count: int, damaged: int = -1) -> None:
        self.left = iter(range(count))
        self.damaged = damaged
        self.read = 0
        self.closed = threading.Event()

    def __iter__(self):
        return self

    def __next__(self) -> int:
        number = next(self.left)
        self.read += 1
        if number == self.damaged:
            raise ValueError(number)
        return number

    def close(self) -> None:
        self.closed.set()


@pytest.fixture
def calls():
    made = Calls(2, "test")
    yield made
    made.close()


def test_a_stream_is_read_one_piece_ahead_and_no_further(calls):
    rows = Rows(100_000)

    async def main():
        async with aclosing(aio.Stream(calls, lambda: rows)) as stream:
            first = await anext(stream)
            await asyncio.sleep(0.3)
            return first, rows.read

    first, read = asyncio.run(main())

    assert first == 0
    assert 128 < read <= 128 + 1_024
    assert rows.closed.is_set()


def test_an_error_comes_at_its_place_and_what_is_behind_it_when_asked_on(calls):
    async def main():
        stream, found = aio.Stream(calls, lambda: Rows(6, damaged=3)), []
        with pytest.raises(ValueError, match="3"):
            async for number in stream:
                found.append(number)
        return found, [number async for number in stream]

    assert asyncio.run(main()) == ([0, 1, 2], [4, 5])


def test_a_stream_that_is_left_is_closed(calls):
    rows = Rows(100_000)

    async def main():
        async for _ in aio.Stream(calls, lambda: rows):
            break
        await until_set(rows.closed)

    asyncio.run(main())

    assert rows.closed.is_set()
    assert rows.read <= 128 + 1_024


def test_a_stream_whose_task_is_cancelled_is_closed_behind_the_piece_that_is_read(calls):
    rows, reading, goes_on = Rows(10), threading.Event(), threading.Event()

    def slow():
        reading.set()
        goes_on.wait(30)
        return rows

    async def main():
        stream = aio.Stream(calls, slow)
        task = asyncio.ensure_future(anext(stream))
        await until_set(reading)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        goes_on.set()
        await until_set(rows.closed)
        return [number async for number in stream]

    assert asyncio.run(main()) == []
    assert rows.closed.is_set()


def open_files(path: Path) -> int:
    """Return how many descriptors of this process lead to the database at *path*."""
    links = [Path(f"/proc/self/fd/{name.name}") for name in Path("/proc/self/fd").iterdir()]
    found = 0
    for link in links:
        with suppress(OSError):
            found += link.readlink() == path
    return found


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="descriptors are looked up in /proc")
def test_calls_and_scans_that_were_cancelled_keep_no_connection(tmp_path):
    path = tmp_path / "crawl.db"

    async def listing(table):
        async for _ in table.pages("a.example"):
            await asyncio.sleep(0)

    async def main():
        async with aio.open(path, create=True, threads=2) as table:
            async with table.writer() as writer:
                for number in range(600):
                    await writer.put(page(str(number)))
            for turn in range(40):
                tasks = [asyncio.ensure_future(listing(table)), asyncio.ensure_future(table.get("https://a.example/1"))]
                await asyncio.sleep(0.0005 * turn)
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            found = await table.get("https://a.example/1")
            return found.title, await table.pages("a.example").count(), open_files(path)

    title, count, files = asyncio.run(main())

    assert (title, count) == ("1", 600)
    assert files <= 10
    assert open_files(path) == 0


# Cancelled calls.


def test_a_call_that_was_cancelled_comes_to_its_end_and_others_go_on(gated, gate):
    async def main():
        table = aio.WebTable(gated, threads=1)
        gate.stopped = "write"
        gate.opened.clear()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(table.put(page("one")), 0.2)
        gate.opened.set()
        return await table.get("https://a.example/one")

    assert asyncio.run(main()).title == "one"


def test_a_flush_that_was_cancelled_can_be_awaited_again(gated, gate):
    async def main():
        async with aio.WebTable(gated).writer() as writer:
            gate.opened.clear()
            receipt = await writer.put(page("one"))
            flushing = asyncio.ensure_future(writer.flush())
            await until_set(gate.waiting)
            flushing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await flushing
            gate.opened.set()
            await writer.flush()
            return receipt.done(), writer.stored

    assert asyncio.run(main()) == (True, 1)


@pytest.mark.parametrize("ends", ["flush", "close"])
def test_what_a_cancelled_flush_was_to_raise_comes_with_the_next(gated, gate, ends):
    async def main():
        writer = await aio.WebTable(gated).writer()
        gate.error = StoreUnavailable("away")
        gate.opened.clear()
        await writer.put(page("one"))
        ending = asyncio.ensure_future(getattr(writer, ends)())
        await until_set(gate.waiting)
        ending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ending
        gate.opened.set()
        with pytest.raises(WriteFailed) as caught:
            await writer.close()
        await writer.close()
        return [one.url for one in caught.value.pages]

    assert asyncio.run(main()) == ["https://a.example/one"]


def test_what_a_cancelled_block_was_to_raise_comes_with_the_end_of_the_table(gated, gate):
    async def main():
        async def crawl():
            async with table.writer() as writer:
                await writer.put(page("one"))

        table = aio.WebTable(gated)
        gate.error = StoreUnavailable("away")
        gate.opened.clear()
        crawling = asyncio.ensure_future(crawl())
        await until_set(gate.waiting)
        crawling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await crawling
        gate.opened.set()
        with pytest.raises(WriteFailed) as caught:
            await table.close()
        return [one.url for one in caught.value.pages]

    assert asyncio.run(main()) == ["https://a.example/one"]


def test_a_table_whose_opening_was_cancelled_is_closed(monkeypatch):
    opening, goes_on, closed = threading.Event(), threading.Event(), threading.Event()

    class Opened:
        close = staticmethod(closed.set)

    def slow(*_: object, **__: object) -> Opened:
        opening.set()
        goes_on.wait(30)
        return Opened()

    monkeypatch.setattr(webtable.aio.table, "sync_open", slow)

    async def main():
        async def opened():
            async with aio.open("crawl.db"):
                raise AssertionError("it was not to be opened")

        task = asyncio.ensure_future(opened())
        await until_set(opening)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        goes_on.set()
        await until_set(closed)

    asyncio.run(main())

    assert closed.is_set()


def test_a_receipt_outlives_who_awaited_it(gated, gate):
    async def main():
        async with aio.WebTable(gated).writer() as writer:
            gate.opened.clear()
            receipt = await writer.put(page("one"))
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(receipt, 0.1)
            gate.opened.set()
            return (await receipt).is_new, await receipt.exception()

    assert asyncio.run(main()) == (True, None)


# Loops and processes that end.


def test_a_table_may_be_used_in_several_loops_one_after_another(tmp_path):
    async def opened():
        table = await aio.open(tmp_path / "crawl.db", create=True)
        return table, await table.writer()

    async def put(writer, path):
        await asyncio.gather(*[writer.put(page(f"{path}{number}")) for number in range(20)])

    async def closed(table, writer):
        await writer.close()
        count = await table.pages("a.example").count()
        await table.close()
        return count

    table, writer = asyncio.run(opened())
    asyncio.run(put(writer, "a"))
    asyncio.run(put(writer, "b"))

    assert asyncio.run(closed(table, writer)) == 40


BEGINNING = """
import asyncio, os, signal, sys, warnings
from webtable import Page, aio
from webtable.errors import OtherProcess

def page(number):
    return Page(url=f"https://a.example/{number}", body=b"x")
"""


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "dev", "-W", "default::ResourceWarning", "-c", BEGINNING + code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)


def stored(folder: Path) -> int:
    with webtable.open(folder / "crawl.db") as table:
        return table.pages("a.example").count()


def test_a_writer_that_is_open_when_its_loop_ends_stores_what_it_holds_and_says_so(tmp_path):
    ended = run(
        """
async def main():
    global table, writer
    table = await aio.open("crawl.db", create=True)
    writer = await table.writer(max_age=3600)
    for number in range(50):
        await writer.put(page(number))

asyncio.run(main())
""",
        tmp_path,
    )

    assert ended.returncode == 0, ended.stderr
    assert "ResourceWarning" in ended.stderr
    assert "a writer was left open" in ended.stderr
    assert stored(tmp_path) == 50


def test_ctrl_c_ends_the_block_of_a_writer_with_all_its_pages_stored(tmp_path):
    ended = run(
        """
async def main():
    async with aio.open("crawl.db", create=True) as table, table.writer(max_age=3600) as writer:
        for number in range(1000):
            await writer.put(page(number))
            if number == 99:
                os.kill(os.getpid(), signal.SIGINT)
                await asyncio.sleep(60)

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts jobs in the background without it
asyncio.run(main())
""",
        tmp_path,
    )

    assert ended.returncode == -signal.SIGINT, ended.stderr
    assert "KeyboardInterrupt" in ended.stderr
    assert "left open" not in ended.stderr
    assert stored(tmp_path) == 100


@pytest.mark.skipif(not hasattr(webtable._process_hooks.os, "fork"), reason="no fork here")
def test_a_forked_process_reads_and_leaves_the_writer_to_its_parent(tmp_path):
    ended = run(
        """
async def child(table, writer, stream):
    found = await table.get("https://a.example/1")
    refused = 0
    for call in (lambda: writer.put(page(999)), writer.flush, lambda: anext(stream)):
        try:
            await call()
        except OtherProcess:
            refused += 1
    await writer.close()
    return 0 if found is not None and refused == 3 else 1

async def main():
    async with aio.open("crawl.db", create=True) as table:
        await table.put(page(1))
        async with table.writer(max_age=3600) as writer:
            await writer.put(page(2))
            stream = table.get_many(f"https://a.example/{number}" for number in range(5000))
            await anext(stream)
            for _ in range(127):
                await anext(stream)
            pid = os.fork()
            if pid == 0:
                os._exit(asyncio.run(child(table, writer, stream)))
            _, status = await asyncio.to_thread(os.waitpid, pid, 0)
            await stream.aclose()
            return os.waitstatus_to_exitcode(status)

sys.exit(asyncio.run(main()))
""",
        tmp_path,
    )

    assert ended.returncode == 0, ended.stderr
    assert stored(tmp_path) == 2
