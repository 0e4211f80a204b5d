"""The protocols of web archives over the stored versions of pages, beside the explorer: CDX and Memento."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from starlette.routing import Route

from webtable.explorer.archive_api import cdx, memento
from webtable.explorer.archive_api.server import ArchiveServer, Blocks

if TYPE_CHECKING:
    from webtable import WebTable
    from webtable.explorer.http import Streaming

__all__ = ["routes"]


def routes(table: WebTable, streaming: Streaming) -> list[Route]:
    """Return the routes of the CDX server and of Memento over *table*."""
    server = ArchiveServer(table, streaming, Blocks())
    answers = {
        "/cdx": partial(cdx.answer, server, is_wayback=False),
        "/cdx/search/cdx": partial(cdx.answer, server, is_wayback=True),
        "/timegate/{url:rest}": partial(memento.timegate, server),
        "/timemap/{form}/{url:rest}": partial(memento.timemap, server),
        "/web/{time}/{url:rest}": partial(memento.memento, server),
    }
    return [Route(path, answer) for path, answer in answers.items()]
