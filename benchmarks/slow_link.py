"""What is left of writing, ingesting, scanning and listing through a link of 1 Gbit/s and 10 ms, beside HappyBase?"""

from __future__ import annotations

import asyncio
import multiprocessing
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit

from benchmarks import hbase_ingest, hbase_listing, hbase_site_scan, hbase_write
from benchmarks.measuring import LeftOut

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

    from benchmarks.measuring import Result
    from benchmarks.setting import Setting

NEEDS = frozenset({"hbase", "corpus"})

BYTES_A_SECOND = 125_000_000
ROUND_TRIP = 0.010
PAIRS = 2
"""The link evens out what a machine does in one minute and not in the next, and all takes longer behind it."""
PIECE = 2**16
ON_THE_WAY = 64
"""Pieces that are on their way in one direction of a connection, more than such a link can hold."""


def run(setting: Setting) -> list[Result | LeftOut]:
    """Run benchmarks of HBase with both gateways behind the link."""
    if setting.hbase is None:
        return [LeftOut("a slow link", setting.missing.get("hbase", "no HBase"))]
    with ExitStack() as stack:
        slow = replace(setting, hbase=_behind_links(setting, stack), most_pairs=PAIRS)
        if setting.by_native:
            slow = replace(slow, native=_native_behind_links(setting.native or "", stack))
        found = [row for one in (hbase_write, hbase_ingest, hbase_site_scan, hbase_listing) for row in one.run(slow)]
    return [replace(row, what=f"1 Gbit/s and 10 ms: {row.what}", target=None) for row in found]


@contextmanager
def slow_link(host: str, port: int) -> Iterator[int]:
    """Lend a port of this machine, from which a process of its own passes everything on to *host* at *port*, slowly."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, host, port), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours.recv()
    finally:
        ours.close()
        process.join(10)


class Direction:
    """One direction of the link, which all connections share: a piece is through when those before it are."""

    def __init__(self) -> None:
        self._free_at = 0.0

    def through_at(self, size: int) -> float:
        """Return when a piece of so many bytes that comes now is at the other end."""
        now = asyncio.get_running_loop().time()
        self._free_at = max(now, self._free_at) + size / BYTES_A_SECOND
        return self._free_at + ROUND_TRIP / 2


def _behind_links(setting: Setting, stack: ExitStack) -> str:
    """Return the URL of an HBase whose gateways are those of *setting*, at the other end of a link each."""
    host, port = setting.happybase_address
    options = dict(parse_qsl(urlsplit(setting.hbase or "").query))
    if "thrift2" in options:
        options["thrift2"] = str(stack.enter_context(slow_link(host, int(options["thrift2"]))))
    return f"hbase://127.0.0.1:{stack.enter_context(slow_link(host, port))}?{urlencode(options)}"


def _native_behind_links(url: str, stack: ExitStack) -> str:
    """Return *url*, in which servers are renamed, with a link in front of each of them."""
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    renamed = dict(pair.split("=", 1) for pair in options["rename"].split(","))
    links = {there: stack.enter_context(slow_link(*_address(there))) for there in {*renamed.values(), parts.netloc}}
    options["rename"] = ",".join(f"{name}=127.0.0.1:{links[there]}" for name, there in renamed.items())
    return f"{parts.scheme}://127.0.0.1:{links[parts.netloc]}?{urlencode(options)}"


def _address(there: str) -> tuple[str, int]:
    host, _, port = there.rpartition(":")
    return host, int(port)


def _serve(pipe: Connection, host: str, port: int) -> None:
    """Pass on what comes until the other end of *pipe* is closed."""
    asyncio.run(_listen(pipe, host, port))


async def _listen(pipe: Connection, host: str, port: int) -> None:
    there, back = Direction(), Direction()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reply, request = await asyncio.open_connection(host, port)
        await asyncio.gather(_pass(reader, request, there), _pass(reply, writer, back))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    pipe.send(server.sockets[0].getsockname()[1])
    with suppress(EOFError):
        await asyncio.to_thread(pipe.recv)
    server.close()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, direction: Direction) -> None:
    """Pass all of *reader* on to *writer*, each piece when it is through."""
    under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(ON_THE_WAY)

    async def arrive() -> None:
        clock = asyncio.get_running_loop().time
        while (arrival := await under_way.get())[1]:
            await asyncio.sleep(max(0.0, arrival[0] - clock()))
            writer.write(arrival[1])
            await writer.drain()
        writer.close()

    arriving = asyncio.create_task(arrive())
    with suppress(OSError):
        while data := await reader.read(PIECE):
            await under_way.put((direction.through_at(len(data)), data))
    await under_way.put((0.0, b""))
    with suppress(OSError):
        await arriving
