"""WebTable: what crawlers and notebooks hold. Pages in, pages out."""

from __future__ import annotations

import time
import weakref
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

from webtable.errors import InvalidArgument, WriteFailed
from webtable.repository.batch import BatchWriter
from webtable.repository.codec import EXTRA_COLUMNS, PageCodec
from webtable.repository.pages import Explanation, Order, Pages, check_order, position_of
from webtable.repository.reader import PageReader
from webtable.repository.scan import ScanSpec, in_key_order, in_storage_order, read_ahead
from webtable.repository.writer import OutcomeCallback, Writer, failed
from webtable.rowkey import KeyRange, canonical_host, canonical_url
from webtable.store import Delete, Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import TracebackType

    from webtable.page import Page, PageOutcome
    from webtable.schema import Layout


class WebTable:
    """A table of web pages; `webtable.open` makes one.

    May be used by many threads at once. `name` tells the store and the table, `layout` how its keys are made.
    """

    def __init__(self, store: Store, table: str, layout: Layout) -> None:
        self.store = store
        self.table = table
        self.layout = layout
        self.key = layout.web_key()
        self._codec = PageCodec(layout)
        self._reader = PageReader(store, table, self._codec)
        self._writers: weakref.WeakSet[Writer] = weakref.WeakSet()

    @property
    def name(self) -> str:
        """The store's URL and the table's name."""
        return f"{self.store.name}/{self.table}"

    def __repr__(self) -> str:
        return f"<WebTable {self.name} salt={self.layout.salt}>"

    def writer(
        self,
        *,
        buffer_bytes: int = 8 * 2**20,
        buffer_pages: int = 500,
        max_age: float = 5.0,
        max_body: int | None = None,
        on_outcome: OutcomeCallback | None = None,
    ) -> Writer:
        """Return a writer, to be used in a `with` block.

        A batch is sent at *buffer_bytes* of bodies, at *buffer_pages* pages, or after *max_age* seconds. Bodies over
        *max_body* bytes are cut and marked `truncated`. *on_outcome* gets a `PageOutcome` for every page, in place of
        the `WriteFailed` that `flush` and the end of the block raise for those that were not stored.
        """
        batch_writer = BatchWriter(self.store, self.table, self.key, self._codec, self.layout, max_body)
        writer = Writer(
            batch_writer,
            ttl=self.layout.ttl,
            buffer_bytes=buffer_bytes,
            buffer_pages=buffer_pages,
            max_age=max_age,
            on_outcome=on_outcome,
        )
        self._writers.add(writer)
        return writer

    def put(self, page: Page) -> None:
        """Store one page and return when it is stored; many are stored far faster through a `writer`.

        Raises as `Writer.put` and `Writer.flush` do.
        """
        with self.writer(max_age=3_600) as writer:
            writer.put(page)

    def get(self, url: str, *, columns: Sequence[str] | None = None) -> Page | None:
        """Return the newest capture of *url*, with its body and links, or None where it is not stored.

        *columns* names what is wanted instead; `html` and `outlinks` are read only where they are named.
        Raises `InvalidURL` and `UnknownColumn`.
        """
        (page,) = self.get_many([url], columns=columns)
        return page

    def get_many(self, urls: Iterable[str], *, columns: Sequence[str] | None = None) -> Iterator[Page | None]:
        """Yield for each of *urls*, in their order, what `get` returns; read in batches, lazily."""
        wanted = EXTRA_COLUMNS if columns is None else tuple(columns)
        self._codec.select(wanted)
        keys = map(self.key.encode, urls)
        while batch := list(islice(keys, 64)):
            yield from self._reader.read(batch, wanted)

    def history(self, url: str, *, columns: Sequence[str] | None = None) -> list[Page]:
        """Return the stored versions of *url*, newest first: one for each content, dated when it was first seen.

        Bodies are read where *columns* names `html`. Empty where the URL is not stored. Raises `InvalidURL` and
        `UnknownColumn`.
        """
        names = self._codec.columns
        with_html = names.html in self._codec.select(columns)
        stored = [names.capture, names.html] if with_html else [names.capture]
        (row,) = self.store.read(self.table, [self.key.encode(url)], columns=stored, versions=self.layout.versions)
        versions: list[Page] = []
        if row is not None:
            bodies = {cell.timestamp: cell for cell in row.cells.get(names.html, ())}
            for capture in row.cells.get(names.capture, ()):
                version = self._codec.version(row, capture, bodies.get(capture.timestamp))
                if versions and _same_content(versions[-1], version):
                    # Content that was only renewed: it was first seen under the older date.
                    version = replace(version, html=version.html or versions[-1].html)
                    versions.pop()
                versions.append(version)
        return versions

    def delete(self, url: str) -> bool:
        """Remove all that is stored of *url*, and return whether anything was.

        What was fetched before this moment stays removed also where it is put again, until the store's next major
        compaction: a delete hides all older cells. Raises `InvalidURL`.
        """
        row = self.key.encode(url)
        (found,) = self.store.read(self.table, [row])
        if found is None:
            return False
        newest = max(cell.timestamp for cells in found.cells.values() for cell in cells)
        (error,) = self.store.write(self.table, [Delete(row, max(newest, time.time_ns() // 1_000_000))])
        if error is not None:
            raise error
        return True

    def pages(
        self,
        domain: str,
        *,
        host_only: bool = False,
        path: str | None = None,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: Order = "url",
    ) -> Pages:
        """Return the pages of *domain* and of all hosts below it, lazily; without their bodies unless asked.

        *host_only* leaves out the hosts below, and so does *path*, which names a directory of the host (`/docs/`).
        *columns* may name `html` and `outlinks`; the other columns always come. At most *limit* pages come, behind
        the place of the token *after*. They come in the order of their URL keys (host reversed, then path, query,
        scheme), or with `order="storage"` in the store's, which is the faster where many salts take part.

        Raises `InvalidURL` for what is no host, `UnknownColumn`, `InvalidToken`, `InvalidArgument`.
        """
        check_order(order, limit)
        host = canonical_host(domain)
        question, ranges = self._ranges(host, host_only=host_only, path=path)
        selected = self._codec.select(columns)
        behind = position_of(after, question, order)
        spec = ScanSpec(self.table, ranges, selected)

        def run(after_key: bytes | None, at_most: int | None) -> Iterator[Page]:
            return self._scan(ScanSpec(self.table, ranges, selected, at_most), order, after_key)

        def place(page: Page) -> bytes:
            row = self.key.encode(page.url)
            return row if order == "storage" else self.key.unsalted(row)

        return Pages(question, order, limit, behind, run, place, lambda: self._explain(question, order, spec))

    def close(self) -> None:
        """Flush and close the writers, then the store; raises `WriteFailed` for pages that could not be stored."""
        failures: list[PageOutcome] = []
        try:
            for writer in list(self._writers):
                try:
                    writer.close()
                except WriteFailed as exc:
                    failures += exc.failures
        finally:
            self.store.close()
        if failures:
            raise failed(failures)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ranges(self, host: str, *, host_only: bool, path: str | None) -> tuple[str, list[KeyRange]]:
        if path is not None:
            if not isinstance(path, str) or not path.startswith("/") or "?" in path or "#" in path:
                raise InvalidArgument(f"path={path!r} must be a directory of the host, as in '/docs/'")
            directory = canonical_url(f"https://{host}{path if path.endswith('/') else path + '/'}")
            return f"pages below {directory}", self.key.directory_ranges(directory)
        if host_only:
            return f"pages of {host}", self.key.host_ranges(host)
        return f"pages of {host} and below", self.key.subtree_ranges(host)

    def _scan(self, spec: ScanSpec, order: Order, after: bytes | None) -> Iterator[Page]:
        if spec.limit == 0:
            return
        if order == "storage":
            rows = in_storage_order(self.store, spec, after)
        else:
            light = [self._codec.columns.page]
            rows = in_key_order(self.store, spec, self.key.unsalted, light, after)
        with closing(read_ahead(rows, self._reader.page)) as pages:
            yield from pages

    def _explain(self, question: str, order: Order, spec: ScanSpec) -> Explanation:
        each = order == "url" and len(spec.ranges) > 1
        calls = self.store.describe_calls(self.table, spec.ranges, each=each)
        columns = spec.columns or ()
        if each and len(columns) > 1:
            calls = [*calls, "read: bodies and links of the merged rows, 64 rows a call"]
        names = tuple(column.decode() for column in columns)
        return Explanation(question, order, names, tuple(spec.ranges), tuple(calls))


def _same_content(one: Page, other: Page) -> bool:
    return one.digest is not None and (one.digest, one.status_code) == (other.digest, other.status_code)
