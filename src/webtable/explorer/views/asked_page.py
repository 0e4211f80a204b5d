"""Which page a request is about, what is said of one that is not stored, and its capture as facts to show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from starlette.responses import HTMLResponse

from webtable.errors import InvalidArgument
from webtable.explorer.reading import reading
from webtable.explorer.rendering import Linker, ShownCell, cell
from webtable.questions import LISTINGS
from webtable.rowkey import canonical_url

if TYPE_CHECKING:
    import threading
    from collections.abc import Sequence
    from datetime import datetime

    from starlette.requests import Request

    from webtable import Page
    from webtable.explorer.explorer import Explorer

PAGE_COLUMNS: Final = LISTINGS["pages"].columns.chosen()


class AskedPage:
    """The canonical `url` and the `moment` that a *request* names; raises `InvalidArgument` and `InvalidURL`."""

    def __init__(self, request: Request) -> None:
        given = request.query_params.get("url", "").strip()
        if not given:
            raise InvalidArgument("url is needed: the URL of a page")
        self.url: Final = canonical_url(given)
        self.linker: Final = Linker(request)
        self.moment: Final = request.query_params.get("at") or self.linker.as_of or None

    async def read(self, explorer: Explorer, columns: Sequence[str] | None = None) -> Page | None:
        """Return the page as it was at the moment, None if it was not stored; *columns* are those of `get`."""

        def get(gone: threading.Event) -> Page | None:
            return reading(explorer.table, gone).get(self.url, as_of=self.moment, columns=columns)

        return await explorer.streaming.value(get)

    def missing(self, explorer: Explorer, what: str = "It") -> HTMLResponse:
        """Return the response for something that is not stored."""
        problem = f"{what} is not stored{f' as of {self.moment}' if self.moment else ''}: {self.url}"
        return HTMLResponse(explorer.pages.text("message.html", self.linker, "Not stored", problem=problem), 404)


def facts_of(page: Page, linker: Linker) -> dict[str, ShownCell]:
    """Return what is known of the capture *page*, besides its headers, body and links, by the names of columns."""
    known = (one for one in PAGE_COLUMNS if one.name == "status" or one.of(page) not in (None, one.default))
    return {one.name: cell(one, page, linker) for one in known}


def exact(moment: datetime) -> str:
    """Return *moment* as it is written in an address: to the second, or to the millisecond if it has some."""
    precision = "milliseconds" if moment.microsecond else "seconds"
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")
