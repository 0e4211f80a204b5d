"""Row keys: those of URLs that are given, split points of regions, and what the advisor says of these URLs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webtable.errors import InvalidArgument, WebTableError
from webtable.explorer.reading import reading
from webtable.explorer.rendering import Linker
from webtable.explorer.views.json_pages import json_page
from webtable.explorer.views.row_key import KeyPiece, pieces_of
from webtable.rowkey import key_text, sample_split_points, split_points
from webtable.rowkey.advice import Advice, advise

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from webtable import WebTable
    from webtable.explorer.explorer import Explorer
    from webtable.explorer.streaming import Outlet

MOST_URLS: Final = 500
"""How many URLs are taken: they are in the address of the page, which servers limit to some 64 kB."""
MOST_REGIONS: Final = 1_000
REGIONS: Final = 16


class MadeKey(NamedTuple):
    """The row key that a URL has in the table, in `pieces`; or the `problem` of a text that is no URL."""

    url: str
    key: bytes
    pieces: list[KeyPiece]
    problem: str = ""


class KeyQuestion:
    """What the page of keys is asked: *urls*, one a line, and a number of *regions*; raises `InvalidArgument`."""

    def __init__(self, table: WebTable, request: Request) -> None:
        self.text: Final = str(request.query_params.get("urls", ""))
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        if len(lines) > MOST_URLS:
            raise InvalidArgument(
                f"urls: {len(lines):,} are too many for an address; give up to {MOST_URLS}, or use webtable keys advise"
            )
        regions = str(request.query_params.get("regions", "")).strip() or str(REGIONS)
        if not (regions.isascii() and regions.isdecimal() and 1 <= int(regions) <= MOST_REGIONS):
            raise InvalidArgument(f"regions={regions!r} must be a number from 1 to {MOST_REGIONS:,}")
        self.regions: Final = int(regions)
        self.salt: Final = table.layout.salt
        self.digits: Final = table.layout.digits
        self.keys: Final = [_made(table, line) for line in lines]

    def urls(self) -> list[str]:
        """Return the given URLs that have a key."""
        return [one.url for one in self.keys if not one.problem]

    def even_points(self) -> list[bytes]:
        """Return the split points with which a new table has evenly many salts in each region; none without salts."""
        return split_points(min(self.regions, 16**self.digits), self.digits) if self.digits else []

    def sample_points(self) -> list[bytes]:
        """Return the split points that give each region equally many of the given URLs."""
        return sample_split_points([one.key for one in self.keys if not one.problem], self.regions)

    def advice(self) -> Advice:
        """Return how designs of keys compare on the given URLs."""
        return advise(self.urls(), regions=self.regions)


def _made(table: WebTable, url: str) -> MadeKey:
    try:
        return MadeKey(url, table.key.encode(url), pieces_of(table.key, url))
    except WebTableError as exc:
        return MadeKey(url, b"", [], str(exc))


def page(explorer: Explorer, request: Request) -> Response:
    """Return the page of keys."""
    linker, asked = Linker(request), KeyQuestion(explorer.table, request)

    def make(outlet: Outlet) -> None:
        table = reading(explorer.table, outlet.gone)

        def starts() -> list[bytes]:
            return [region.keys.start for region in table.store.regions(table.table)]

        explorer.pages.write(
            outlet,
            "keys.html",
            linker,
            "Row keys",
            asked=asked,
            starts=starts,
            key_text=key_text,
            json=linker.link("/keys.json", urls=asked.text, regions=asked.regions),
        )

    return explorer.streaming.response(make, "text/html")


def as_json(explorer: Explorer, request: Request) -> Response:
    """Return the keys, the split points and the advice as JSON; keys are as the HBase shell shows them."""
    asked = KeyQuestion(explorer.table, request)

    def make(_: WebTable) -> dict[str, Any]:
        return {
            "keys": [
                {"url": one.url, "key": None, "problem": one.problem}
                if one.problem
                else {"url": one.url, "key": key_text(one.key), "hex": one.key.hex(), "problem": None}
                for one in asked.keys
            ],
            "split_points": {
                "salts": [key_text(point) for point in asked.even_points()],
                "urls": [key_text(point) for point in asked.sample_points()],
            },
            "advice": json.loads(asked.advice().to_json()) if asked.urls() else None,
        }

    return json_page(explorer, make)
