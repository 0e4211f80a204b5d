"""Pages made of templates: everything crawled is escaped, and a page is written as its parts are known."""

from __future__ import annotations

import re
import unicodedata
from base64 import b64encode
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import jinja2
from markupsafe import Markup

from webtable.explorer.page_model import MEDIA, Linker, PagePart, Rows, View
from webtable.rowkey.advice import heat_map, scale_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from webtable.rowkey.advice import Judgement

# Control characters, and those that turn the direction of a text around (Unicode's bidirectional formatting).
_CONTROL: Final = re.compile(r"[^\S\n\t ]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Templates:
    """Writes the pages of the table *name* as HTML."""

    def __init__(self, name: str) -> None:
        self._templates = jinja2.Environment(
            loader=jinja2.PackageLoader("webtable.explorer"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            finalize=_shown,  # what is crawled is in every page: no template can forget it
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters["words"] = words
        self._templates.globals |= {
            "table_name": name,
            "grouped": _grouped,
            "marks": _marks,
            "heat_maps": _heat_maps,
            "endings": [ending for ending in MEDIA if ending != "json"],
        }

    def pieces(self, request: Linker, view: View, parts: Iterable[PagePart] = ()) -> Iterator[str]:
        """Yield the HTML of a *view* with its *parts*, as they are made, in answer to a *request*."""
        address = {"link": request.link, "root": request.root, "as_of": request.as_of}
        return self._templates.get_template("view.html").generate(view=view, parts=parts, request=request, **address)


def words(name: str) -> str:
    """Return the *name* of an option or a question as words."""
    return name.replace("_", " ")


def harmless(text: str) -> str:
    """Return *text* with characters that control how it is shown made visible: a title cannot turn a line around."""
    return _CONTROL.sub(lambda control: " " if control[0].isspace() else f"\\u{ord(control[0]):04x}", text)


def _shown(value: object) -> object:
    if isinstance(value, str) and not isinstance(value, Markup):
        return harmless(unicodedata.normalize("NFC", value))
    return "" if value is None else value


class TimelineMark(NamedTuple):
    """A record on a time line of 1,000 units: where it begins, how wide it is, its text, link and kind."""

    x: float
    width: float
    text: str
    href: str | None
    kind: str


def _marks(rows: Rows, linker: Linker) -> list[TimelineMark]:
    """Return the records of *rows*, which have a `begin` and an `end`, or `fetched_at`, on a time line."""
    records: list[Any] = list(rows.records)
    spans = [(item.begin, item.end) if hasattr(item, "begin") else (item.fetched_at,) * 2 for item in records]
    first = min((begin for begin, _ in spans), default=None)
    whole = max(((end - first).total_seconds() for _, end in spans), default=0) or 1
    marks = []
    for cells, (begin, end) in zip(Rows(rows.columns, records, rows.hrefs).cells(linker), spans, strict=True):
        texts = {cell.name: cell.pieces[0].text for cell in cells}
        x, stop = (980 * (moment - first).total_seconds() / whole for moment in (begin, end))  # 20 for the last mark
        href = next((piece.href for cell in cells for piece in cell.pieces if piece.href), None)
        text, kind = ", ".join(list(texts.values())[:3]), f"s{texts.get('status', '')[:1]}"
        marks.append(TimelineMark(round(x, 1), round(stop - x + 16, 1), text, href, kind))
    return marks


def _heat_maps(designs: Sequence[Judgement]) -> Iterator[tuple[str, str]]:
    """Yield the name of each of *designs* and its heat map, all on one scale, as an address of its own."""
    scale = scale_of(designs)
    for design in designs:
        drawing = b64encode(heat_map(design, scale=scale).encode()).decode()
        yield design.name, f"data:image/svg+xml;base64,{drawing}"


def _grouped(records: Iterable[object], name: str) -> list[tuple[str, list[object]]]:
    """Return *records*, which come group by group, by their attribute *name*."""
    return [(group, list(members)) for group, members in groupby(records, attrgetter(name))]
