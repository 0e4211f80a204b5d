"""What a page shows as an object of JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from webtable.explorer.reading import reading
from webtable.explorer.rendering import attempt

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response

    from webtable import WebTable
    from webtable.explorer.explorer import Explorer
    from webtable.explorer.streaming import Outlet


def json_page(explorer: Explorer, make: Callable[[WebTable], dict[str, Any]]) -> Response:
    """Return the object that *make* makes of the table, with `problem`: None, or why there is nothing else in it."""

    def write(outlet: Outlet) -> None:
        table = reading(explorer.table, outlet.gone)
        found, problem = attempt(lambda: make(table))
        outlet.write(json.dumps(msgspec.to_builtins({**(found or {}), "problem": problem or None})) + "\n")

    return explorer.streaming.response(write, "application/json")
