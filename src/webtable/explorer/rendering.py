"""Pages made of templates: everything crawled is escaped, and a page is written as its parts are known."""

from __future__ import annotations

import re
import unicodedata
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

import jinja2
from markupsafe import Markup
from starlette.responses import PlainTextResponse, Response

from webtable.display import charts
from webtable.display.charts import Mark
from webtable.explorer.page_model import MEDIA, Linker, PagePart, Rows, View, words
from webtable.explorer.views.questions import menu

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from starlette.requests import Request

# Control characters, and those that turn the direction of a text around (Unicode's bidirectional formatting).
_CONTROL: Final = re.compile(r"[^\S\n\t ]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_TYPES: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


class StaticFiles:
    """The styles and scripts: under an address with their hash a browser keeps them for a year."""

    def __init__(self) -> None:
        folder = files("webtable.explorer") / "static"
        self._bodies = {file.name: file.read_bytes() for file in folder.iterdir() if "." in file.name}
        self._hashes = {name: sha256(body).hexdigest()[:16] for name, body in self._bodies.items()}

    def address(self, name: str) -> str:
        """Return the address of a file, with its hash, from the root on."""
        return f"/static/{name}?v={self._hashes[name]}"

    async def response(self, request: Request) -> Response:
        """Return a file."""
        name = request.path_params["name"]
        if name not in self._bodies:
            return PlainTextResponse(f"404: there is no file {name[:100]!r}\n", 404)
        is_known = request.query_params.get("v") == self._hashes[name]
        headers = {"cache-control": "private, max-age=31536000, immutable"} if is_known else {}
        return Response(self._bodies[name], headers=headers, media_type=_TYPES[name.rpartition(".")[2]])


class Templates:
    """Writes the pages of the table *name* as HTML."""

    def __init__(self, name: str, static: StaticFiles) -> None:
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
            "static": static.address,
            "menu": menu,
            "drawn": _drawn,
            "bar": lambda share: _drawn(charts.bar(share)),
            "timeline": _timeline,
            "endings": [ending for ending in MEDIA if ending != "json"],
        }

    def pieces(self, request: Linker, view: View, parts: Iterable[PagePart] = ()) -> Generator[str]:
        """Yield the HTML of a *view* with its *parts*, as they are made, in answer to a *request*."""
        address = {"link": request.link, "root": request.root, "as_of": request.as_of}
        template = self._templates.get_template("view.html")
        yield from template.generate(view=view, parts=parts, request=request, **address)


def harmless(text: str) -> str:
    """Return *text* with characters that control how it is shown made visible: a title cannot turn a line around."""
    return _CONTROL.sub(lambda control: " " if control[0].isspace() else f"\\u{ord(control[0]):04x}", text)


def _shown(value: object) -> object:
    if isinstance(value, str) and not isinstance(value, Markup):
        return harmless(unicodedata.normalize("NFC", value))
    return "" if value is None else value


def _drawn(chart: str) -> Markup:
    return Markup(chart)  # noqa: S704 - the charts escape what they are made of


def _timeline(rows: Rows) -> Markup:
    """Return the records of *rows*, which have an `end` or `fetched_at`, on a time line."""
    records: list[Any] = list(rows.records)
    moments = [getattr(record, "end", None) or record.fetched_at for record in records]
    first = min(moments, default=None)
    whole = max(((moment - first).total_seconds() for moment in moments), default=0) or 1
    marks = []
    for record, moment in zip(records, moments, strict=True):
        text = ", ".join(str(column.shown(record)) for column in rows.columns[:3])
        kind, href = f"s{getattr(record, 'status', 200) // 100}", next(iter(rows.hrefs.values()))(record)
        marks.append(Mark((moment - first).total_seconds() / whole, text, kind, href))
    return _drawn(charts.timeline(marks, "On a time line") if marks else "")
