"""The addresses of pages, as they are written in links."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

if TYPE_CHECKING:
    from starlette.requests import Request


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
