"""What the parts of a page have: records with their columns, as cells to show and as files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import chain, islice
from operator import itemgetter
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, cast
from urllib.parse import quote, urlencode

from webtable.errors import StoreUnavailable, WebTableError
from webtable.formats import write_rows
from webtable.questions import Column, column
from webtable.store import CallCancelled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request

    from webtable.explorer.http.streaming import Outlet


# --- The addresses of pages, as they are written in links -------------------------------------------------------------


class Linker:
    """Where a request came in: what links are relative to, and the moment that all pages are shown as of."""

    def __init__(self, request: Request) -> None:
        self.root: str = request.scope.get("root_path", "")
        self.as_of: str = request.query_params.get("as_of", "")

    def link(self, path: str, **query: object) -> str:
        """Return the address of the page at *path* with a *query*; empty values are left out."""
        given = {name: value for name, value in query.items() if value not in (None, "", ())}
        if self.as_of:
            given.setdefault("as_of", self.as_of)
        return self.root + quote(path, safe="/:~@!$'()*,;=+") + (f"?{urlencode(given, doseq=True)}" if given else "")

    def page(self, url: str) -> str:
        """Return the address of the page about *url*."""
        return self.link("/page", url=url)


# ----------------------------------------------------------------------------------------------------------------------


MEDIA: Final = {
    "json": "application/json",
    "jsonl": "application/jsonl",
    "csv": "text/csv; charset=utf-8",
    "csv_raw": "text/csv; charset=utf-8",
    "tsv": "text/tab-separated-values; charset=utf-8",
    "tsv_raw": "text/tab-separated-values; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}
"""The media types of the files, by their endings."""


class ShownPiece(NamedTuple):
    """A piece of a cell: its text, where it leads, and its mark: "marked", "old", "new" or none."""

    text: str
    href: str | None = None
    mark: str = ""


class ShownCell(NamedTuple):
    """A value of a record: the name and the form of its column, and its pieces."""

    name: str
    form: str
    pieces: Sequence[ShownPiece]


@dataclass(slots=True)
class Rows:
    """Records and their columns; what follows them, and what went wrong, is known once they were read."""

    columns: Sequence[Column]
    records: Iterable[Any]
    hrefs: Mapping[str, Callable[[Any], str | None]] = field(default_factory=dict)
    """Where the cells of a column lead; those of URLs lead to their pages."""
    goes_on: str = "after"
    """The option of the address that takes the token."""
    empty: str = "Nothing was found."
    count: int = 0
    problem: str = ""

    @property
    def next_token(self) -> str | None:
        """The token with which they go on."""
        token: str | None = getattr(self.records, "next_token", None)
        return token

    def read(self) -> Iterator[Any]:
        """Yield the records; counts them, and keeps what goes wrong."""
        try:
            for record in self.records:
                self.count += 1
                yield record
        except CallCancelled:
            raise
        except (WebTableError, OSError) as exc:
            self.problem = problem_of(exc)

    def cells(self, linker: Linker) -> Iterator[list[ShownCell]]:
        """Yield the cells of each record."""
        for record in self.read():
            yield [self._cell(one, record, linker) for one in self.columns]

    def write(self, outlet: Outlet, ending: str) -> None:
        """Write the records in the format *ending*; raises what goes wrong."""
        records = iter(self.records)
        first = list(islice(records, 1))  # before the line of headings, so that a refusal is the whole answer
        write_rows(chain(first, records), self._filed(), cast("IO[bytes]", outlet), ending)

    def write_json(self, outlet: Outlet) -> None:
        """Write the records as elements of an array, without its brackets."""
        write_rows(self.read(), self._filed(), cast("IO[bytes]", _Array(outlet)), "jsonl")

    def _filed(self) -> list[Column]:
        """Return the columns without those that only lead somewhere."""
        return [one for one in self.columns if one.is_usual or one.name not in self.hrefs]

    def _cell(self, one: Column, record: Any, linker: Linker) -> ShownCell:
        match one.of(record):
            case {"before": before, "after": after}:
                parts = [("old", before), ("new", after)]
            case list() | tuple() as several if several and all(isinstance(part, str) for part in several):
                parts = [("", part) for part in several]
            case _:
                return ShownCell(one.name, one.form, self._pieces(one, record, linker))
        pieces: list[ShownPiece] = []
        for mark, part in parts:
            if part is not None:
                alone = replace(one, of=partial(_given, part))
                pieces += (piece._replace(mark=mark) for piece in self._pieces(alone, record, linker))
        return ShownCell(one.name, one.form, pieces)

    def _pieces(self, one: Column, record: Any, linker: Linker) -> list[ShownPiece]:
        href = self.hrefs[one.name](record) if one.name in self.hrefs else None
        if href is None and one.form in ("url", "urls") and isinstance(url := one.of(record), str) and url:
            href = linker.page(url)
        return [ShownPiece(text, href, "marked" * is_marked) for text, is_marked in one.shown(record).pieces]


def facts(known: Mapping[str, Any]) -> Rows:
    """Return facts by their names as a record; numbers called bytes or size are sizes."""
    columns = [
        column(name, "bytes" if name in ("bytes", "size") else _form_of(value), itemgetter(name))
        for name, value in known.items()
    ]
    return Rows(columns, [known])


def problem_of(exc: Exception) -> str:
    """Return what *exc* says; where the store does not answer, also what finds out why."""
    more = ". The checks on the first page, or webtable doctor, say what is wrong and what helps"
    return f"{exc}{more}" if isinstance(exc, StoreUnavailable) else str(exc)


def _given(value: object, _: object) -> object:
    return value


def _form_of(value: object) -> Any:
    return {int: "count", bool: "bool", float: "fraction", datetime: "time"}.get(type(value), "text")


class _Array:
    """Where lines of JSON are written as the elements of an array."""

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet
        self._between = b"\n"

    def write(self, line: bytes) -> int:
        self._outlet.write(self._between + line.rstrip(b"\n"))
        self._between = b",\n"
        return len(line)
