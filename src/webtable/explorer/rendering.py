"""Pages made of templates: everything crawled is escaped, and a page is written as its parts are known."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar
from urllib.parse import quote, urlencode

import jinja2
from markupsafe import Markup

from webtable.answers import Host
from webtable.errors import StoreUnavailable, WebTableError
from webtable.explorer.reading import Gone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from starlette.requests import Request

    from webtable.explorer.streaming import Outlet
    from webtable.questions import Column

MOST_CHARACTERS: Final = 300
"""Of a value in a table."""
_URL_FORMS = frozenset({"url"})


T = TypeVar("T")


class ShownCell(NamedTuple):
    """A value in a table: as text, and where it leads."""

    text: str
    form: str
    href: str | None = None


@dataclass(slots=True)
class Ending:
    """What is known after the rows of a table: how many there were, where they go on, and what went wrong."""

    count: int = 0
    next: str | None = None
    problem: str = ""
    empty: str = "Nothing was found."


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


class Pages:
    """Writes pages by templates."""

    def __init__(self, table_name: str) -> None:
        self._templates = jinja2.Environment(
            loader=jinja2.PackageLoader("webtable.explorer"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            finalize=_shown,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        filters: dict[str, Callable[[Any], Any]] = {
            "words": words,
            "dashed": dashed,
            "size": size_text,
            "moment": moment_text,
        }
        self._templates.filters |= filters
        self._templates.globals |= {"table_name": table_name, "attempt": attempt}

    def write(self, outlet: Outlet, template: str, linker: Linker, title: str, **values: object) -> None:
        """Write the page of a *template*; what fails half-way is said at the end of what was written."""
        try:
            for piece in self._pieces(template, linker, title, values):
                outlet.write(piece)
        except Gone:
            raise
        except (WebTableError, OSError) as exc:
            outlet.write(Markup('<p class="problem" role="alert">{}</p>').format(harmless(problem_of(exc))))

    def text(self, template: str, linker: Linker, title: str, **values: object) -> str:
        """Return the page of a *template*."""
        return "".join(self._pieces(template, linker, title, values))

    def _pieces(self, template: str, linker: Linker, title: str, values: Mapping[str, object]) -> Iterator[str]:
        named = {"title": title, "root": linker.root, "as_of": linker.as_of, "link": linker.link, "linker": linker}
        return self._templates.get_template(template).generate(**named, **values)


def problem_of(exc: Exception) -> str:
    """Return what *exc* says; where the store does not answer, also what finds out why."""
    more = ". The checks on the first page, or webtable doctor, say what is wrong and what helps"
    return f"{exc}{more}" if isinstance(exc, StoreUnavailable) else str(exc)


def attempt(make: Callable[..., T], *given: object) -> tuple[T | None, str]:
    """Return what *make* returns for what is *given* and "", or None and the sentence that says what went wrong."""
    try:
        return make(*given), ""
    except Gone:
        raise
    except (WebTableError, OSError) as exc:
        return None, problem_of(exc)


def rows_of(
    records: Iterable[object], columns: Sequence[Column], linker: Linker, ending: Ending
) -> Iterator[list[ShownCell]]:
    """Yield the cells of *records*; counts them in *ending*, and keeps there what goes wrong."""
    make = partial(cell, linker=linker)
    try:
        for record in records:
            ending.count += 1
            yield [make(column, record) for column in columns]
    except Gone:
        raise
    except (WebTableError, OSError) as exc:
        ending.problem = problem_of(exc)


def cell(column: Column, record: object, linker: Linker) -> ShownCell:
    """Return the cell of a *record* in a *column*."""
    value = column.of(record)
    href = None
    if column.form in _URL_FORMS and isinstance(value, str) and value:
        href = linker.page(value)
    elif isinstance(record, Host) and column.name == "name":
        href = linker.link(f"/site/{record.name}/")
    return ShownCell(value_text(column.form, value), column.form, href)


def value_text(form: str, value: Any) -> str:
    """Return a *value* of a column of a *form* as text to read."""
    if value is None:
        return ""
    match form, value:
        case "bytes", int():
            return size_text(value)
        case _, bool():
            return "yes" if value else "no"
        case _, datetime():
            return moment_text(value)
        case ("count", int()):
            return f"{value:,}"
        case _, bytes():
            value = value[: 4 * MOST_CHARACTERS].decode("utf-8", "replace")
        case _, Mapping():
            value = ", ".join(f"{name}: {one}" for name, one in value.items())
        case _, float():
            return f"{value:,.2f}"
        case _, list() | tuple() if type(value) in (list, tuple):
            value = " ".join(map(str, value))
    text = str(value)
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"


def words(name: str) -> str:
    """Return the *name* of an option or a question as words."""
    return name.replace("_", " ")


def dashed(name: str) -> str:
    """Return the *name* of a question as commands and addresses have it."""
    return name.replace("_", "-")


def moment_text(moment: datetime | None) -> str:
    """Return *moment* in UTC, to the minute."""
    return "" if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"


def size_text(size: float | None) -> str:
    """Return a number of bytes with a unit."""
    if size is None:
        return ""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.5:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1_000
    return f"{size:,.1f} TB"


_CONTROL = re.compile(r"[^\S\n\t ]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def harmless(text: str) -> str:
    """Return *text* with characters that control how it is shown made visible: a title cannot turn a line around."""
    return _CONTROL.sub(lambda found: " " if found.group().isspace() else f"\\u{ord(found.group()):04x}", text)


def _shown(value: object) -> object:
    if isinstance(value, str) and not isinstance(value, Markup):
        return harmless(unicodedata.normalize("NFC", value))
    return "" if value is None else value
