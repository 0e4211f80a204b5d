"""How programs ask for stored versions: CDX and Memento, with examples to copy and a form to try."""

from __future__ import annotations

import shlex
from operator import itemgetter
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from webtable import ALL, Page
from webtable.explorer.page_model import PagePart, Rows, View, ViewRequest
from webtable.questions import ListingOption, column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable import WebTable

_ABOUT: Final = (
    "Programs for web archives ask this table as they ask pywb or the Wayback Machine. Each of them sends the token as "
    "the header Authorization: Bearer TOKEN, or begins the path with /-/TOKEN. The page “Ask the explorer from "
    "programs” of the docs says what each parameter means: webtable help."
)
_CDX: Final = (
    ListingOption("url", "A URL, or a host with matchType.", is_needed=True),
    ListingOption("matchType", "Which URLs.", choices=("exact", "prefix", "host", "domain")),
    ListingOption("output", "The format.", choices=("json", "cdxj", "text")),
    ListingOption("limit", "The most lines.", "number", default=20),
)


def view(request: ViewRequest) -> View:
    """Return the page about the protocols."""

    def parts(table: WebTable) -> Iterator[PagePart]:
        page = table.pages(ALL, order="storage", limit=1).first() or Page(url="https://example.com/")
        host, time = page.url.split("/")[2], f"{page.fetched_at:%Y%m%d}"
        # In a path a URL stands as it is, or quoted as a whole.
        url = page.url if quote(page.url, safe="/:") == page.url else quote(page.url, safe="")
        cdx = (
            ("All versions of a page", f"/cdx?url={url}&output=json"),
            ("Of a host, without errors", f"/cdx?url={host}&matchType=host&filter=!=status:404&limit=20"),
            ("As the Wayback Machine answers", f"/cdx/search/cdx?url={host}/*&output=json&limit=20"),
        )
        memento = (
            ("The version nearest to a date (header Accept-Datetime)", f"/timegate/{url}"),
            ("All versions", f"/timemap/link/{url}"),
            ("All versions as JSON", f"/timemap/json/{url}"),
            ("The newest version as a browser shows it", f"/web/{time}/{url}"),
            ("Its body as it is stored", f"/web/{time}id_/{url}"),
        )

        def examples(of: tuple[tuple[str, str], ...]) -> Rows:
            base = f"{request.request.base_url}".rstrip("/").removesuffix(request.root)
            # Who copies a command trusts it: a URL that was crawled is no part of the shell's language.
            words = "curl -H 'Authorization: Bearer TOKEN'"
            command = column("command", of=lambda example: f"{words} {shlex.quote(base + example[1])}")
            columns = column("asks", of=itemgetter(0)), column("try", of=itemgetter(1), is_usual=False), command
            return Rows(columns, of, {"try": lambda example: request.root + example[1]})

        yield PagePart("try", lambda: None, "Try CDX", form=_CDX, action="/cdx")
        yield PagePart("cdx", lambda: examples(cdx), "CDX")
        yield PagePart("memento", lambda: examples(memento), "Memento")

    return View("Archives", parts, _ABOUT)
