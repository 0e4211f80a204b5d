"""Tables that other programs made: how their rows are read as captures, and stored in a web table."""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from webtable import errors
from webtable._clock import moment_of, now_in_milliseconds
from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable._messages import Words
from webtable.errors import DamagedRow, InvalidArgument, UnknownColumn
from webtable.page.headers import Headers, http_date, redirect_target
from webtable.page.json_lines import headers_in_row, page_with, time_in_row
from webtable.page.parts import Link, unknown_column
from webtable.repository.copying import (
    ROWS_AT_ONCE,
    Copied,
    CopyPlace,
    CopyPlaces,
    Counts,
    RateLimit,
    too_old,
    walked,
)
from webtable.repository.journal import Journal
from webtable.repository.keyed_table.records import cell_name
from webtable.repository.maintenance.create import StoredWebTable
from webtable.repository.page_storage.cells import cells_of, together
from webtable.repository.writing.batch import BatchWriter
from webtable.repository.writing.writer import Writer
from webtable.rowkey import canonical_url, key_text
from webtable.rowkey.ranges import ALL_KEYS
from webtable.store import Cell, Row, Store, TimeRange, Wanted, open_store
from webtable.store.observed import observed
from webtable.store.rows import ALL_QUALIFIERS

if TYPE_CHECKING:
    from os import PathLike

    from webtable.page.page import Page
    from webtable.repository.context import TableContext
    from webtable.repository.table.groups import CopyTarget
    from webtable.repository.writing.outcomes import PageOutcome


# --- Keys -------------------------------------------------------------------------------------------------------------


_HOST = rb"(?P<%b>\[[0-9A-Fa-f:.]+\]|[^/?#STOP]+)"
_KEY_PARTS: Final = {
    **{name: _HOST.replace(b"%b", name.encode()) for name in ("host", "reversed_host")},
    "scheme": rb"(?P<scheme>https?)",
    ":port": rb"(?::(?P<port>\d{1,5}))?",
    "path": rb"(?P<path>.*)",
    "url": rb"(?P<url>.+)",
    "salt": rb"[^STOP]*",
}
"""Patterns by the names of parts; STOP is what follows."""


# Whatever key a stranger has put, matching takes linear time: no part of a pattern can match where the next one begins.
class KeyForm:
    """The form of the keys of a foreign table: text with the parts of a URL in braces.

    These are `{host}`, `{reversed_host}` (com.example.www), `{scheme}`, `{:port}` (a colon and the port, if the key has
    one), `{path}` (with the query, up to the end of the key, with or without its first slash) and `{url}`. `{salt}` is
    anything up to the text that follows it, `{salt:2}` any two bytes. A form without `{scheme}` has URLs of *scheme*.
    Raises `InvalidArgument` for a form that leads to no URL.

    >>> KeyForm("{salt}:{reversed_host}{path}").url_of(b"5a:com.example.blog/post?id=1")
    'https://blog.example.com/post?id=1'
    """

    def __init__(self, form: str, scheme: str = "https") -> None:
        if scheme not in ("https", "http"):
            raise InvalidArgument(f"scheme={scheme!r} must be https or http")
        self._form, self._scheme = form, scheme
        pieces = re.split(r"\{([^{}]*)\}", form)
        names, texts = pieces[1::2], pieces[2::2]
        pattern = re.escape(pieces[0].encode())
        for name, text, following in zip(names, texts, [*names[1:], ""], strict=True):
            if name in ("path", "url") and (text or following):
                raise InvalidArgument(f"key={form!r}: {{{name}}} must be at its end")
            stop = text[:1] or (":" if following == ":port" else "")
            pattern += self._pattern(name, stop.encode()) + re.escape(text.encode())
        if len({"url", "host", "reversed_host"}.intersection(names)) != 1 or len(set(names)) < len(names):
            raise InvalidArgument(f"key={form!r} must have {{host}}, {{reversed_host}} or {{url}}, and no part twice")
        self._keys = re.compile(pattern, re.DOTALL)

    def url_of(self, key: bytes) -> str:
        """Return the URL for *key*; raises `ValueError` for a key that does not have the form."""
        match = self._keys.fullmatch(key)
        if match is None:
            raise ValueError(f"its key does not have the form {self._form}")
        parts = {name: value.decode() for name, value in match.groupdict(b"").items()}
        if "url" in parts:
            return parts["url"]
        reversed_host = parts.get("reversed_host", "")
        # Nutch leaves an IPv6 address as it is.
        labels = [reversed_host] if reversed_host.startswith("[") else reversed_host.split(".")[::-1]
        host, port, path = parts.get("host") or ".".join(labels), parts.get("port"), parts.get("path", "")
        slash = "" if path.startswith("/") else "/"
        return f"{parts.get('scheme', self._scheme)}://{host}{f':{port}' if port else ''}{slash}{path}"

    def _pattern(self, name: str, stop: bytes) -> bytes:
        if salt := re.fullmatch(r"salt:(\d{1,4})", name):
            return b".{%d}" % int(salt[1])
        if name not in _KEY_PARTS or (name == "salt" and not stop):
            parts = ", ".join(f"{{{part}}}" for part in ("salt:2", *_KEY_PARTS))
            raise InvalidArgument(f"key={self._form!r}: {{{name}}} must be one of {parts}; {{salt}} has text after it")
        return _KEY_PARTS[name].replace(b"STOP", re.escape(stop))


# --- Values -----------------------------------------------------------------------------------------------------------
#
# Each function raises one of `_UNREADABLE` for a value that it cannot read.


_UNREADABLE = (ValueError, TypeError, OverflowError, RecursionError, msgspec.MsgspecError)
_NUMBER = re.compile(rb"\s*(\d{1,19})(?:\.0*)?(?:\s.*)?", re.DOTALL)


def _number(value: bytes) -> int:
    if match := _NUMBER.fullmatch(value):
        return int(match[1])
    # A status and milliseconds up to the year 10889 begin with a control character, which no text does.
    if len(value) in (2, 4, 8) and value[0] < 4:
        return int.from_bytes(value, "big")
    raise ValueError("it is no number")


def _status(value: bytes) -> int:
    number = _number(value)
    if number > 999:
        raise ValueError(f"{number} is no status")
    return number


def _time(value: bytes) -> datetime:
    if value[:1] == b"\0":
        return moment_of(_number(value))
    text = value.decode().strip()
    if re.fullmatch(r"\d{8}|\d{14}", text):
        return datetime.strptime(text.ljust(14, "0"), "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    if re.fullmatch(r"\d{9,13}(\.\d{1,9})?", text):
        number = float(text)
        return moment_of(round(number if number >= 1e11 else number * 1000))  # as seconds that is the year 5138
    of_http = http_date(text) if text[:1].isalpha() else None
    return of_http or time_in_row(text)


def _headers(value: bytes) -> Headers:
    if value.lstrip()[:1] in (b"{", b"["):
        return headers_in_row(msgspec.json.decode(value))
    lines = [line for line in value.splitlines() if line.strip() and not line.startswith(b"HTTP/")]
    if not all(b":" in line for line in lines):
        raise ValueError("it is neither JSON nor lines of names and values")
    return Headers([(name, text.strip()) for name, _, text in (line.partition(b":") for line in lines)])


def _links(value: bytes) -> list[Link]:
    """Return the links in *value*, which may be relative to their page."""
    if value.lstrip()[:1] not in (b"{", b"["):
        return [Link(url, anchor) for url, _, anchor in (line.partition("\t") for line in value.decode().splitlines())]
    entries = msgspec.json.decode(value, type=dict[str, Any] | list[str | list[Any] | dict[str, Any]])
    return [_link(entry) for entry in (entries.items() if isinstance(entries, dict) else entries)]


def _link(entry: str | Sequence[Any] | Mapping[str, Any]) -> Link:
    if isinstance(entry, Mapping):
        entry = (entry.get("url", entry.get("href")), entry.get("anchor", entry.get("text")), entry.get("rel"))
    url, anchor, rel = (*(str(text or "") for text in ([entry] if isinstance(entry, str) else entry[:3])), "", "")[:3]
    return Link(url, anchor, rel)


_TEXTS = ("url", "title", "content_type", "charset", "etag", "redirect_to", "canonical", "description", "language")
_READERS: Final[Mapping[str, Callable[[bytes], Any]]] = {
    **dict.fromkeys(_TEXTS, bytes.decode),
    "body": bytes,
    "status": _status,
    "fetched_at": _time,
    "last_modified": _time,
    "headers": _headers,
    "outlinks": _links,
}
_FAMILIES: Final[Mapping[str, Callable[[Sequence[tuple[bytes, bytes]]], Any]]] = {
    "headers": Headers,
    "outlinks": lambda pairs: [Link(url.decode(), anchor.decode()) for url, anchor in pairs],
}
"""What reads the fields that a whole family may have, with a column for each header or link."""
_NEEDED: Final = ("url", "status", "fetched_at")
"""The fields without which a capture would be a wrong one: if one of them cannot be read, it is left out."""


# --- How a table stores pages -----------------------------------------------------------------------------------------


class TablePreset(NamedTuple):
    """How a program stores pages: the columns by field, the form of its keys, and what its numbers for a status mean.

    `status` returns the status of a capture for the number, and for whether there is a body; None if it is no capture.
    """

    columns: Mapping[str, str]
    key: str | None = None
    status: Callable[[int, bool], int | None] = lambda number, _: number


def _nutch_status(number: int, has_body: bool) -> int | None:
    """Return the status for one of Nutch's `CrawlStatus`, of which a body is stored with 2, 4 and 5 alone.

    The other numbers with a body are of a later fetch that brought none, and this is the body of the one before.
    """
    redirects = {4: 302, 5: 301}
    return redirects.get(number, 200) if has_body else {2: 200, 3: 404, **redirects}.get(number)


# Without f:ts: after `updatedb` that is when to fetch the page next. The timestamp of f:cnt is from the fetch.
_NUTCH2: Final = TablePreset(
    {"body": "f:cnt", "status": "f:st", "content_type": "f:typ", "title": "p:t", "headers": "h:", "outlinks": "ol:"},
    "{reversed_host}:{scheme}{:port}{path}",
    _nutch_status,
)
_PRESETS: Final[Mapping[str, TablePreset]] = {"nutch2": _NUTCH2}


def _preset(name: str | None, columns: Mapping[str, str] | None, key: str | None) -> TablePreset:
    """Return the preset *name* with these *columns* and this *key*; raises `InvalidArgument` if that makes no page."""
    if name is not None and name not in _PRESETS:
        raise InvalidArgument(f"preset={name!r} must be one of {', '.join(_PRESETS)}")
    preset = TablePreset({}) if name is None else _PRESETS[name]
    preset = preset._replace(columns={**preset.columns, **(columns or {})}, key=key or preset.key)
    for field_name, column in preset.columns.items():
        if field_name not in _READERS:
            raise UnknownColumn(unknown_column(field_name, "page", _READERS))
        if column.endswith(":") and field_name not in _FAMILIES:
            raise InvalidArgument(f"columns={field_name!r}: {column!r} must have a qualifier after its family")
    if not {"body", "status"}.intersection(preset.columns) or (preset.key is None and "url" not in preset.columns):
        raise InvalidArgument("columns= must have the body or the status, and the URL unless the keys have it (key=)")
    return preset


# --- What is reported -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Adopted(Copied):
    """The progress, or the result, of `adopt`: counts as of a copy, of rows of the source and their captures.

    `pages` are the rows that brought something new, with `versions` new captures; `bytes` are those of all bodies that
    were read. `unchanged` rows were in the target already. `damaged` captures were left out, because their URL, status
    or date cannot be read, or their body is over the limit. `empty` rows have no capture. Of captures that are stored,
    `unreadable` has the number of values that are not, by field. `examples` has the first 100 of either kind.
    """

    empty: int = 0
    unreadable: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether nothing was left out."""
        return not (self.damaged or self.hidden or self.failed or self.unreadable)


class AdoptionCounts(Counts):
    """The counts of a running adoption."""

    def __init__(self) -> None:
        super().__init__()
        self._unreadable = Counter[str]()

    def add_unreadable(self, name: str, error: DamagedRow) -> None:
        """Count a value of the field *name* that is left out."""
        self._unreadable[name] += 1
        self.add_example(error)

    def copied(self) -> Adopted:
        """Return the present counts."""
        return Adopted(**self.fields(), unreadable=dict(self._unreadable))


# --- Rows as captures -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ForeignTable:
    """A *table* of another program, read as the preset says; at most *versions* of a row become captures.

    What cannot be read is counted in *counts*.
    """

    store: Store
    table: str
    columns: Mapping[str, bytes]
    """The columns by field, families with a colon at their end."""
    key: KeyForm
    status: Callable[[int, bool], int | None]
    limits: ReadLimits
    versions: int
    counts: AdoptionCounts

    def groups(self, after: bytes, limit: RateLimit) -> Iterator[list[Row]]:
        """Yield the rows after the key *after*, about 8 MiB at once."""
        columns = [column for column in self.columns.values() if not column.endswith(b":")]
        rows = self.store.scan(self.table, [ALL_KEYS.after(after)], Wanted(columns, versions=self.versions))
        weighed = ((row, sum(len(cell.value) for cells in row.cells.values() for cell in cells)) for row in rows)
        for group in together(weighed, limit.at_once(ROWS_AT_ONCE)):
            yield group
            limit.wait(len(group))

    def captures(self, rows: Sequence[Row]) -> Iterator[list[Page]]:
        """Yield the captures of each of *rows*, oldest first."""
        families = [self._family(name, rows) for name in _FAMILIES if self.columns.get(name, b"").endswith(b":")]
        for row in rows:
            cells: dict[bytes, Sequence[Cell]] = {}
            for family in families:
                cells.update(next(family))
            # Last, as a field may have a column in such a family.
            yield self._captures(Row(row.key, {**cells, **row.cells}))

    def _family(self, name: str, rows: Sequence[Row]) -> Iterator[Mapping[bytes, Sequence[Cell]]]:
        """Yield the cells of the family with the field *name*, of each of *rows*; one more than the limit allows."""
        column = self.columns[name]
        limit = (self.limits.fields if name == "headers" else self.limits.links) + 1
        # In pieces, as a row may be larger than memory; these have the newest cells alone.
        pieces = cells_of(self.store, self.table, column[:-1], [row.key for row in rows], ALL_QUALIFIERS)
        for row, (_, of_row) in zip(rows, groupby(pieces, key=itemgetter(0)), strict=True):
            pairs = islice(chain.from_iterable(cells for _, cells in of_row), limit)
            newest = {qualified: [cell] for qualified, cell in pairs if qualified != column}
            if newest and len(self._timestamps(row)) > 1:
                (whole,) = self.store.read(self.table, [row.key], Wanted([*newest], versions=self.versions))
                yield {} if whole is None else whole.cells
            else:
                yield newest

    def _timestamps(self, row: Row) -> list[int]:
        """Return the timestamps of the captures of *row*, newest first."""
        cells: Sequence[Cell] = ()
        for name in ("body", "status", "fetched_at"):
            cells = cells or row.cells.get(self.columns.get(name, b""), ())
        return [cell.timestamp for cell in cells]

    def _captures(self, row: Row) -> list[Page]:
        """Return the captures of *row*, oldest first."""
        captures: dict[datetime, Page] = {}
        is_damaged = False
        until: float = math.inf
        for timestamp in self._timestamps(row):
            try:
                if page := self._capture(row, timestamp, until, captures):
                    captures[page.fetched_at] = page
            except DamagedRow as error:
                self.counts.add_damaged(error)
                is_damaged = True
            until = timestamp
        self.counts.add(empty=not (captures or is_damaged))
        return sorted(captures.values(), key=lambda page: page.fetched_at)

    def _capture(self, row: Row, timestamp: int, until: float, newer: Mapping[datetime, Page]) -> Page | None:
        """Return the capture of *row* at the *timestamp*, before the one at *until*; None if it is no capture.

        Raises `DamagedRow` if it would be a wrong one.
        """
        values: dict[str, Any] = {}
        unread: list[tuple[str, DamagedRow]] = []
        url: str | None = None
        try:
            moment = moment_of(timestamp)
            own = _cell_at(row.cells.get(self.columns.get("url", b""), ()), timestamp, until)
            url = canonical_url(own.value.decode() if own else self.key.url_of(row.key))
        except _UNREADABLE as exc:
            raise DamagedRow(row.key, url, f"of the timestamp {timestamp}: {exc}") from exc
        for name, column in self.columns.items():
            try:
                if (value := self._value(name, row, column, timestamp, until)) is not None:
                    values[name] = value
            except _UNREADABLE as exc:
                error = DamagedRow(row.key, url, f"its {name} ({column.decode(errors='replace')}): {exc}")
                if name in _NEEDED or name == "body":
                    raise error from exc
                unread.append((name, error))
        if "status" in values:
            values["status"] = self.status(values["status"], bool(values.get("body")))
            if values["status"] is None:
                return None
        for name, error in unread:
            self.counts.add_unreadable(name, error)
        # A column with fewer versions than the body has no date for the older captures.
        if values.get("fetched_at") is None or values["fetched_at"] in newer:
            values["fetched_at"] = moment
        if "outlinks" in values:
            values["outlinks"] = self._resolved(url, values["outlinks"])
        return page_with({**values, "url": url})

    def _value(self, name: str, row: Row, column: bytes, timestamp: int, until: float) -> Any:
        read: Callable[[Any], Any]
        value: Any = None
        if column.endswith(b":"):
            names = [
                of_row for of_row in row.cells if of_row.startswith(column) and of_row not in self.columns.values()
            ]
            cells = ((qualified, _cell_at(row.cells[qualified], timestamp, until)) for qualified in names)
            value = [(qualified[len(column) :], cell.value) for qualified, cell in cells if cell] or None
            read, size = _FAMILIES[name], sum(map(len, chain.from_iterable(value or ())))
        elif cell := _cell_at(row.cells.get(column, ()), timestamp, until):
            read, value, size = _READERS[name], cell.value, len(cell.value)
        if value is None:
            return None
        if size > (
            limit := {"body": self.limits.record, "outlinks": 4 * self.limits.link_text}.get(name, self.limits.head)
        ):
            raise ValueError(f"it has {size:,} bytes, over the limit of {limit:,}")
        value = read(value)
        if name == "headers" and len(value) > self.limits.fields:
            raise ValueError(f"it has over {self.limits.fields:,} headers")
        return value

    def _resolved(self, url: str, links: Sequence[Link]) -> tuple[Link, ...]:
        """Return the *links* of the page *url* that lead to pages, as many of the first as the limits allow."""
        resolved: list[Link] = []
        room = self.limits.link_text
        for link in links:
            target = redirect_target(url, link.url.strip())
            if target is not None:
                room -= len(target) + len(link.anchor) + len(link.rel)
                if room < 0 or len(resolved) == self.limits.links:
                    break
                resolved.append(link._replace(url=target))
        return tuple(resolved)


# A title, say, is often written after its body (Nutch parses later), or only when it changes.
def _cell_at(cells: Sequence[Cell], timestamp: int, until: float) -> Cell | None:
    """Return the one of *cells*, newest first, that was there at the *timestamp*, else the next before *until*."""
    newest = next((cell for cell in cells if cell.timestamp <= timestamp), None)
    return newest or next((cell for cell in reversed(cells) if cell.timestamp < until), None)


# --- The adoption -----------------------------------------------------------------------------------------------------


def adopt(
    source: str | PathLike[str],
    target: CopyTarget,
    *,
    columns: Mapping[str, str] | None = None,
    key: str | None = None,
    scheme: str = "https",
    preset: str | None = None,
    limits: ReadLimits = DEFAULT_LIMITS,
    dry_run: bool = False,
    resume: str | PathLike[str] | None = None,
    rate: float | None = None,
    on_copied: Callable[[Adopted], object] | None = None,
) -> Adopted:
    """Store the pages of a table that another program made, at the URL *source*, in the web table *target*.

    *columns* has the columns of the source by fields of a page, as in `{"url": "metadata:url", "body":
    "content:html"}`; a column of headers or links has JSON or lines, a whole family (`"outlinks": "ol:"`) one column
    for each. Without a column of URLs they come from the row keys: *key* is their form, as in
    `"{salt}:{reversed_host}{path}"`, with `{host}`, `{scheme}`, `{:port}`, `{url}` and `{salt:2}`; *scheme* is that of
    keys without one. The *preset* "nutch2" has columns and keys of Apache Nutch 2, of which *columns* and *key* may
    replace some.

    Each version of the body is a capture, or each of the status in a row without a body. Its date is the timestamp,
    unless there is a column for `fetched_at`, and it has the other values as they were then. Numbers are text or
    big-endian integers; times ISO 8601, dates of HTTP, or seconds or milliseconds since 1970. What has no column is
    found in the body and the headers, as by `put`.

    The source is only read. What the target has already stays as it is, so the call may be repeated; *resume*, *rate*,
    *dry_run* and *on_copied* are as in `table.maintenance.copy`. What cannot be read, or is over the *limits*, is
    counted and named in the result. Raises `InvalidArgument` for columns and keys that lead to no page, and for a
    source that is a web table; `UnknownColumn` for a family that the source does not have; `ExpiredCapture`, before
    anything is written, if the target would drop pages that old; `TableNotFound`, `StoreUnavailable`, and `OSError` for
    the journal.
    """
    limit, form, context = RateLimit(rate), _preset(preset, columns, key), target._context
    key_form = KeyForm(form.key or "{url}", scheme)
    if dry_run and resume is not None:
        raise InvalidArgument("resume= and dry_run=True exclude each other: a dry run reads all rows")
    store, table = open_store(source)
    name = f"{store.name}/{table}"
    with store:
        if StoredWebTable.read(store, table) is not None:
            copy = Words("table.maintenance.copy", "webtable copy SRC DST")
            raise InvalidArgument(f"source={name} is a web table: use ", copy)
        families = {family.name: family for family in store.describe(table).schema.families}
        stored = {name: cell_name(column, families) for name, column in form.columns.items()}
        versions = min(max(family.versions for family in families.values()), context.layouts.recent().versions)
        counts, view = AdoptionCounts(), observed(store).reading()
        foreign = ForeignTable(view, table, stored, key_form, form.status, limits, versions, counts)
        _check_kept(foreign, context)
        job = f"adopt into {context.name}, with {dict(form.columns)} {form.key} {scheme}"
        with Journal(resume, job, CopyPlaces, seconds=0).alone("adopt") as journal:
            walk = partial(_adopted, foreign, context, limit, dry_run=dry_run)
            walked(journal, name, context, walk, counts, on_copied)
    return counts.copied()


def _check_kept(foreign: ForeignTable, target: TableContext) -> None:
    """Raise `ExpiredCapture` if the *target* would drop a page of the foreign table for its age."""
    ttl, column = target.layout.ttl, foreign.columns.get("body", foreign.columns.get("status", b""))
    if ttl is None or "fetched_at" in foreign.columns:
        return
    past = Wanted([column], time_range=TimeRange(0, now_in_milliseconds() - ttl * 1000 + 1))
    for row in foreign.store.scan(foreign.table, [ALL_KEYS], past, limit=1):
        raise too_old(key_text(row.key[:200]), row.cells[column][0].timestamp, ttl, target.name)


def _adopted(
    foreign: ForeignTable, target: TableContext, limit: RateLimit, began: CopyPlace, *, dry_run: bool
) -> Generator[CopyPlace]:
    """Store the captures of the rows after the place *began*, and yield the places reached."""
    outcomes: deque[PageOutcome] = deque()
    writer = Writer(BatchWriter(target, None), timeout=target.store.timeout, on_outcome=outcomes.append)
    with closing(writer):
        for rows in foreign.groups(began.row, limit):
            for captures in foreign.captures(rows):
                foreign.counts.add(bytes=sum(len(page.body or b"") for page in captures))
                if dry_run:
                    foreign.counts.add(pages=bool(captures), versions=len(captures))
                    continue
                for page in captures:
                    try:
                        writer.put(page)
                    except errors.WebTableError as exc:
                        foreign.counts.add_failed(exc)
            writer.flush()
            _settle(outcomes, foreign.counts)
            yield CopyPlace("pages", rows[-1].key)


def _settle(outcomes: deque[PageOutcome], counts: AdoptionCounts) -> None:
    """Count the *outcomes* of captures, and forget them; raises an error that concerns all pages."""
    new = Counter[str]()
    while outcomes:
        outcome = outcomes.popleft()
        if outcome.error is None:
            new[outcome.url] += outcome.is_new
        else:
            counts.add_failed(outcome.error)
    pages = sum(map(bool, new.values()))
    counts.add(pages=pages, versions=new.total(), unchanged=len(new) - pages)
