"""A part of a web table that belongs to one test."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from webtable import Page, WebTable


@dataclass(frozen=True)
class Site:
    """A registered domain that belongs to one test, in a table that others use too."""

    table: WebTable
    domain: str
    now: datetime

    def page(self, path: str = "/", *, host: str = "", age: float = 3600, **fields) -> Page:
        """Return a capture of a page of the site, fetched *age* seconds ago; *host* is in front of the domain."""
        name = f"{host}.{self.domain}" if host else self.domain
        fields = {"title": f"title of {path}", "outlinks": (), **fields}
        return Page(url=f"https://{name}{path}", fetched_at=self.now - timedelta(seconds=age), **fields)

    def store(self, *pages: Page, **options) -> None:
        with self.table.writer(**options) as writer:
            for page in pages:
                writer.put(page)

    def url(self, path: str = "/") -> str:
        return f"https://{self.domain}{path}"


def with_limit(url: str) -> str:
    """Return *url*, of a file with the limit that HBase has for cells."""
    return url if url.startswith(("hbase", "memory")) else f"sqlite:{url}?max_cell=10MiB"
