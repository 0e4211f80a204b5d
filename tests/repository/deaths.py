"""Stores that kill their writer at one of its calls, and the pages to do it with."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from webtable import Link, Page, WebTable
from webtable.store import Store
from webtable.testing import Call, FailingStore, ListeningStore, WrappedStore

CALLS = ("write", "read", "read_cells", "scan", "first_rows")

Listener = Callable[..., None]


class Killed(BaseException):
    """What nothing catches: the writer is gone."""


class EachAlone(WrappedStore):
    """A store on which each call stands for itself, as on HBase: only so can two writers cross."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.capabilities = replace(self.capabilities, writes_concurrently=True)

    def transaction(self) -> AbstractContextManager[None]:
        return nullcontext()


def listening(table: WebTable, listener: Listener) -> WebTable:
    """Return *table* once more, as another process would open it, over a store that tells *listener* of `CALLS`.

    It is told the name, the table and the other arguments before the call is done, and may raise.
    """

    def tell(call: Call) -> None:
        if call.name in CALLS:
            listener(call.name, call.table, *call.arguments.values())

    return WebTable(ListeningStore(EachAlone(table.store), tell), table.table, table.layout)


@dataclass
class Deadly:
    """Counts the calls to a store, and kills the writer behind so many of them."""

    left: int | None = None
    calls: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, call: str, table: str, *_: object) -> None:
        with self.lock:
            self.calls.append(f"{call} {table}")
            if self.left is not None:
                self.left -= 1
                if self.left < 0:
                    raise Killed


def is_through(table: WebTable, act: Callable[[WebTable], object], calls: int) -> bool:
    """Do *act*, killed behind so many *calls* to the store, and return whether it came to its end."""
    try:
        act(listening(table, Deadly(calls)))
    except Killed:
        return False
    return True


@contextmanager
def killed_after(table: WebTable, wanted: Callable[..., bool]) -> Iterator[WebTable]:
    """Give the table whose writer is killed before the first call that is *wanted*, and all later ones."""
    dead = threading.Event()

    def is_dead(call: Call) -> bool:
        if call.name in CALLS and wanted(call.name, call.table, *call.arguments.values()):
            dead.set()
        return dead.is_set()

    try:
        yield WebTable(FailingStore(EachAlone(table.store), Killed, at=is_dead), table.table, table.layout)
    except Killed:
        return
    raise AssertionError("the writer came to its end")


@dataclass
class Town:
    """A site of a few pages that link to each other: a domain of its own in a table, crawled some days ago."""

    table: WebTable
    domain: str = field(default_factory=lambda: f"{uuid.uuid4().hex[:10]}.example")
    now: datetime = field(default_factory=lambda: datetime.now(UTC).replace(microsecond=0))

    def url(self, path: str = "/", host: str = "") -> str:
        return f"https://{host + '.' if host else ''}{self.domain}{path}"

    def links(self, *paths: str) -> tuple[Link, ...]:
        return tuple(Link(self.url(path), f"to {path}", "nofollow" if path == "/" else "") for path in paths)

    def page(self, path: str = "/", *, days: float = 5.0, host: str = "", **fields: Any) -> Page:
        """Return a capture of some *days* ago."""
        fields = {"title": f"title of {path}", "outlinks": (), **fields}
        return Page(url=self.url(path, host), fetched_at=self.now - timedelta(days=days), **fields)

    def store(self, *pages: Page) -> None:
        with self.table.writer() as writer:
            for page in pages:
                writer.put(page)

    def build(self, days: float = 5.0) -> Town:
        """Store seven pages as of some *days* ago."""
        home, twin = ("/a", "/b", "/gone", "/"), self.now - timedelta(days=400)
        self.store(
            self.page("/", days=days, body=b"home", outlinks=self.links(*home)),
            self.page("/a", days=days, body=b"a" * 1_000, outlinks=self.links("/", "/b", "/never")),
            self.page("/b", days=days, body=b"b" * 20),
            self.page("/twin", days=days, body=b"b" * 20, last_modified=twin),
            self.page("/gone", days=days, status=404, body=b"gone", outlinks=self.links("/")),
            self.page("/old", days=days, status=301, redirect_to=self.url("/a"), outlinks=None),
            self.page("/", days=days, host="shop", body=b"shop", outlinks=self.links("/", "/gone")),
        )
        return self
