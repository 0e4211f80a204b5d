"""Questions that ranges of rows answer: the pages and hosts of a domain, and what nobody has fetched yet."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING

from webtable.checksums import UNREADABLE
from webtable.errors import DamagedRow, FullScanNeeded, IndexNeeded, InvalidArgument
from webtable.repository.arguments import check_numbers
from webtable.repository.indexes.index import place_of
from webtable.repository.indexes.web import HOST, HOST_COUNTS, HOST_VALUES, HostCounts
from webtable.repository.questions.base import PLAIN_KEY, Asked
from webtable.repository.results import Explanation, Pages, Results, check_order, position_of
from webtable.repository.scan import ScanSpec, in_key_order
from webtable.rowkey import KeyRange, canonical_host, canonical_url
from webtable.rowkey.domain import host_of, reversed_host
from webtable.schema import INDEX_COLUMN
from webtable.store.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from webtable.page import Page
    from webtable.repository.damage import Damage
    from webtable.store import Row

ROW_ORDERS = ("url", "storage")
MOST_HOSTS = 256
"""The most hosts of a domain whose salts are worth looking up before its pages are read."""
HOSTS_AT_ONCE = 64
"""How many hosts are checked at once, where each is one range."""


@dataclass(frozen=True, slots=True)
class Host:
    """A host that has pages: how many, and how many bytes their bodies have, as of `counted_at`.

    The counts are None where nobody has counted yet (`WebTable.refresh_links` does).
    """

    name: str
    pages: int | None = None
    bytes: int | None = None
    counted_at: datetime | None = None


class PageQuestions(Asked):
    """The questions that are answered from the rows of a domain."""

    def pages(
        self,
        domain: str | None = None,
        *,
        host_only: bool = False,
        path: str | None = None,
        status: int | Collection[int] | None = None,
        content_type: str | None = None,
        min_size: int | None = None,
        max_size: int | None = None,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
        full_scan: bool = False,
    ) -> Pages:
        """Return the pages of *domain* and of all hosts below it, lazily; without their bodies unless asked.

        *host_only* leaves out the hosts below, and so does *path*, which names a directory of the host (`/docs/`).
        *status*, *content_type* and the sizes (in bytes, both included) choose among them; all rows are read for that.
        Without a *domain* all pages of the table come, which takes *full_scan*, else `FullScanNeeded` is raised.
        *columns* may name `html`, `outlinks` and `link_counts`; the other columns always come. At most *limit* pages
        come, behind the place of the token *after*. They come in the order of their URL keys (host reversed, then path,
        query, scheme), or with `order="storage"` in the store's, which is the faster where many salts take part.

        Raises `InvalidURL` for what is no host, `UnknownColumn`, `InvalidToken`, `InvalidArgument`.
        """
        check_order(order, ROW_ORDERS, limit)
        question, ranges = self._rows_of(domain, host_only=host_only, path=path, full_scan=full_scan)
        keep, chosen = _chosen(status, content_type, min_size, max_size)
        question += chosen
        selected = self._codec.select(columns)
        behind = position_of(after, question, order)
        # A row that is no page may have counts of links, so the store's limit would count it.
        is_limited = keep is None and self._codec.columns.links not in selected
        is_subtree = domain is not None and not host_only and path is None

        def spec(at_most: int | None) -> ScanSpec:
            some = self._existing(domain or "", ranges) if is_subtree else ranges
            return ScanSpec(self.table, some, Wanted(selected), at_most if is_limited else None, expected=at_most)

        def run(after_key: bytes | None, at_most: int | None, damage: Damage) -> Iterator[Page]:
            if at_most == 0:
                return iter(())
            pages = self._scan(spec(at_most), order, after_key, damage)
            return pages if is_limited else islice(filter(keep, pages), at_most)

        return Results(
            question,
            order,
            limit,
            behind,
            run,
            lambda page: self._place(page.url, order),
            lambda: self._explain_scan(question, order, spec(None)),
            self._damage,
        )

    def hosts(
        self, domain: str | None = None, *, limit: int | None = None, after: str | None = None, order: str = "url"
    ) -> Results[Host]:
        """Return the hosts that have pages, of *domain* or of the whole table, with how many pages and bytes they have.

        The counts are those of `refresh_links`, and each says when it was made; `stats` counts now. Hosts come in the
        order of their pages. Raises `InvalidURL`, `InvalidToken`, `InvalidArgument`; `IndexNeeded` when it is asked.
        """
        check_order(order, ["url"], limit)
        host = None if domain is None else canonical_host(domain)
        question = "hosts" if host is None else f"hosts of {host} and below"
        behind = position_of(after, question, order)

        def run(after_place: bytes | None, at_most: int | None, damage: Damage) -> Iterator[Host]:
            rows = self._host_entries(host, question, after_place, at_most, keys_only=False)
            return islice(self._with_pages(rows, damage), at_most)

        def explain() -> Explanation:
            ranges = self._host_ranges(host)
            table = self.indexes.ready(HOST.name, question).table
            calls = self.store.describe_calls(table, ranges, each=len(ranges) > 1)
            columns = (INDEX_COLUMN.decode(), HOST_COUNTS.decode())
            note = "each host is checked: its first row is looked for, 64 hosts at once"
            return Explanation(question, order, columns, tuple(ranges), tuple(calls), HOST.name, (note,))

        def place(found: Host) -> bytes:
            return PLAIN_KEY.host_ranges(found.name)[0].start

        return Results(question, order, limit, behind, run, place, explain, self._damage)

    def _rows_of(
        self, domain: str | None, *, host_only: bool, path: str | None, full_scan: bool
    ) -> tuple[str, list[KeyRange]]:
        if domain is None:
            if host_only or path is not None:
                raise InvalidArgument("host_only and path choose among the pages of a domain: name the domain")
            if not full_scan:
                raise FullScanNeeded(
                    f"{self.name}: a question without a domain reads the whole table: name a domain, "
                    "or say full_scan=True"
                )
            return "all pages", self._whole()
        host = canonical_host(domain)
        if path is not None:
            if not isinstance(path, str) or not path.startswith("/") or "?" in path or "#" in path:
                raise InvalidArgument(f"path={path!r} must be a directory of the host, as in '/docs/'")
            directory = canonical_url(f"https://{host}{path if path.endswith('/') else path + '/'}")
            return f"pages below {directory}", self.key.directory_ranges(directory)
        if host_only:
            return f"pages of {host}", self.key.host_ranges(host)
        return f"pages of {host} and below", self.key.subtree_ranges(host)

    def _whole(self) -> list[KeyRange]:
        """Return the ranges of all rows, one a salt, so that they can be merged."""
        digits = self.layout.digits if self.layout.salt != "none" else 0
        salts = [f"{number:0{digits}x}:".encode() for number in range(16**digits)] if digits else [b""]
        return [KeyRange(salt, salt[:-1] + b";" if salt else b"") for salt in salts]

    def _existing(self, domain: str, ranges: list[KeyRange]) -> list[KeyRange]:
        """Return those of the *ranges* of a subtree, one a salt, whose salt a host below *domain* has."""
        if self.layout.salt != "host" or len(ranges) == 1:
            return ranges
        try:
            hosts = list(
                islice(
                    self._host_entries(canonical_host(domain), "", None, MOST_HOSTS + 1, keys_only=True), MOST_HOSTS + 1
                )
            )
        except IndexNeeded:
            return ranges
        if len(hosts) > MOST_HOSTS:
            return ranges
        salts = {keys.start[: self.layout.digits + 1] for row in hosts for keys in self._ranges_of(row)}
        return [keys for keys in ranges if keys.start[: self.layout.digits + 1] in salts]

    def _host_ranges(self, host: str | None) -> list[KeyRange]:
        if host is None:
            return HOST.ranges(KeyRange())
        places = PLAIN_KEY.subtree_ranges(host)[0]
        # An address is no domain, and what is below a single label is in all shards.
        is_one = host.count(".") > 0
        return HOST.ranges(places, HOST.sharding(places.start[:-1] + b"/", b"") if is_one else None)

    def _host_entries(
        self, host: str | None, question: str, after: bytes | None, expected: int | None, *, keys_only: bool
    ) -> Iterator[Row]:
        table = self.indexes.ready(HOST.name, question).table
        spec = ScanSpec(
            table, self._host_ranges(host), Wanted([INDEX_COLUMN, HOST_COUNTS], keys_only=keys_only), expected=expected
        )
        return in_key_order(self.store, spec, place_of, None if keys_only else spec.wanted.columns, after)

    def _with_pages(self, entries: Iterator[Row], damage: Damage) -> Iterator[Host]:
        """Yield the hosts of *entries* that still have a page."""
        size = HOSTS_AT_ONCE if self.layout.salt != "url" else 1
        while batch := list(islice(entries, size)):
            named = [(row, ranges) for row in batch if (ranges := self._ranges_of(row, damage))]
            wanted = [keys for _, ranges in named for keys in ranges]
            first = iter(
                self.store.first_rows(self.table, wanted, 1, Wanted([self._codec.columns.page], keys_only=True))
            )
            for row, ranges in named:
                self.metrics["host.read"] += 1
                if not any(list(islice(first, len(ranges)))):
                    self.metrics["host.dropped"] += 1
                    continue
                counts = self._host_counts(row, damage)
                name = _host_of(row)
                yield Host(name) if counts is None else Host(name, counts.pages, counts.bytes, counts.counted_at)

    def _ranges_of(self, entry: Row, damage: Damage | None = None) -> list[KeyRange]:
        """Return the ranges of the pages of the host that *entry* names, none where it names none."""
        try:
            return self.key.host_ranges(_host_of(entry))
        except ValueError as exc:
            if damage is not None:
                damage.add(DamagedRow(entry.key, None, f"the host index: it names no host: {exc}"))
            return []

    def _host_counts(self, entry: Row, damage: Damage) -> HostCounts | None:
        cells = entry.cells.get(HOST_COUNTS)
        try:
            return HOST_VALUES.read(cells[0].value, entry.key, cells[0].timestamp) if cells else None
        except UNREADABLE as exc:
            damage.add(DamagedRow(entry.key, None, f"the host index: the counts cannot be read: {exc}"))
            return None


def _host_of(entry: Row) -> str:
    """Return the host that *entry* names; raises `ValueError`."""
    host = host_of(place_of(entry.key)[:-1].decode())
    if reversed_host(host).encode() + b"/" != place_of(entry.key):
        raise ValueError(f"{host[:200]!r} stands there")
    return host


def _chosen(
    status: int | Collection[int] | None, content_type: str | None, min_size: int | None, max_size: int | None
) -> tuple[Callable[[Page], bool] | None, str]:
    """Return what tells whether a page is chosen (None: each is), and how the question says it."""
    wanted = {status} if isinstance(status, int) else None if status is None else set(status)
    if isinstance(status, str) or not all(type(one) is int for one in wanted or ()):
        raise InvalidArgument(f"status={status!r} must be a status code, or several")
    if content_type is not None and not isinstance(content_type, str):
        raise InvalidArgument(f"content_type={content_type!r} must be a media type, as in 'text/html'")
    check_numbers(min_size=min_size, max_size=max_size)
    if min_size is not None and max_size is not None and max_size < min_size:
        raise InvalidArgument(f"max_size={max_size} is below min_size={min_size}")
    given = {
        "status": wanted and sorted(wanted),
        "content_type": content_type,
        "min_size": min_size,
        "max_size": max_size,
    }
    said = "".join(f", {name} {value}" for name, value in given.items() if value is not None)
    if not said:
        return None, ""

    def keep(page: Page) -> bool:
        return (
            (wanted is None or page.status_code in wanted)
            and (content_type is None or page.content_type == content_type.strip().lower())
            and (min_size is None or (page.size is not None and page.size >= min_size))
            and (max_size is None or (page.size is not None and page.size <= max_size))
        )

    return keep, said
