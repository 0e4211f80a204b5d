"""URLs of the embedded store: `sqlite:path?table=NAME&timeout=SECONDS&max_cell=SIZE`, or a path."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote

from webtable.errors import InvalidArgument
from webtable.store.url import DEFAULT_TABLE, URLOptions

if TYPE_CHECKING:
    from webtable.store.url import StoreURL

OPTIONS: Final = frozenset({"table", "timeout", "max_cell"})
_MEMORY: Final = re.compile(r":memory:|[?&]mode=memory\b")


class FileAddress(NamedTuple):
    """A file, and a table in it, by default `pages`."""

    path: str
    table: str
    options: URLOptions


def address_of(url: StoreURL) -> FileAddress:
    """Return the address in *url*; raises `InvalidArgument` that says what is wrong with it."""
    if url.is_path:
        check_path(url.text)
        return FileAddress(url.text, DEFAULT_TABLE, URLOptions())
    if url.scheme == "file":
        check_path(f"file:{url.rest}")
        raise InvalidArgument(f"store={url.text!r} must be a path, sqlite:PATH or hbase://HOST:PORT/TABLE")
    rest = url.rest.removeprefix("//")
    if rest.startswith("file:"):
        check_path(rest)
    quoted, _, query = rest.partition("?")
    path = unquote(quoted)
    check_path(path)
    options = url.options(query, OPTIONS)
    return FileAddress(path, options.get("table", DEFAULT_TABLE), options)


def check_path(path: str) -> None:
    """Raise `InvalidArgument` if *path* does not name a file, but means a database in memory to SQLite."""
    if not path:
        raise InvalidArgument("store='' must name a file, as in crawl.db")
    if path in (":memory:", "/:memory:") or (path.startswith("file:") and _MEMORY.search(path)):
        raise InvalidArgument(
            f"store={path!r}: SQLite has no store in memory; a store is a file, which threads and processes "
            "share: give one in a temporary directory (tempfile.TemporaryDirectory()), or ./:memory: for a file of "
            "that name; for tests there is memory:NAME, which is not persistent"
        )
