"""Store URLs: which store, where it is, and which table in it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from webtable.errors import InvalidArgument

DEFAULT_TABLE = "pages"
_MEMORY = re.compile(r":memory:|[?&]mode=memory\b")
_OPTIONS = {"sqlite": {"table", "timeout"}, "hbase": {"thrift2", "transport", "protocol", "timeout", "pool"}}


@dataclass(frozen=True, slots=True)
class StoreURL:
    """A store URL taken apart.

    sqlite: a path, or `sqlite:path?table=NAME&timeout=SECONDS`; the table is `pages` unless it is named.
    hbase: `hbase://host:port/[namespace:]table` and, behind a `?`, `thrift2=PORT`, `transport=buffered|framed`,
    `protocol=binary|compact`, `timeout=SECONDS`, `pool=CONNECTIONS`.
    """

    kind: Literal["sqlite", "hbase"]
    table: str
    path: str = ""
    host: str = ""
    port: int = 9090
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, url: str | os.PathLike[str]) -> StoreURL:
        """Return the parts of *url*; raises `InvalidArgument` that says what is wrong with it."""
        if not isinstance(url, str | os.PathLike) or not isinstance(os.fspath(url), str):
            raise InvalidArgument(f"store={url!r} must be a path or a URL")
        text = os.fspath(url)
        scheme, colon, rest = text.partition(":")
        if isinstance(url, os.PathLike) or not colon or len(scheme) < 2 or "/" in scheme:
            return cls._sqlite(text)
        if scheme == "sqlite":
            rest = rest.removeprefix("//")
            if rest.startswith("file:"):
                check_path(rest)
            path, _, query = rest.partition("?")
            check_path(unquote(path))
            return cls._sqlite(unquote(path), _options(text, "sqlite", query))
        if scheme == "hbase":
            return cls._hbase(text)
        if scheme == "file":
            check_path(text)
        raise InvalidArgument(f"store={text!r} must be a path, sqlite:PATH or hbase://HOST:PORT/TABLE")

    @classmethod
    def _sqlite(cls, path: str, options: Mapping[str, str] | None = None) -> StoreURL:
        check_path(path)
        given = dict(options or {})
        return cls("sqlite", given.pop("table", DEFAULT_TABLE), path=path, options=given)

    @classmethod
    def _hbase(cls, text: str) -> StoreURL:
        try:
            parts = urlsplit(text)
            port = parts.port or 9090
        except ValueError as exc:
            raise InvalidArgument(f"store={text!r}: {exc}") from exc
        if not parts.hostname:
            raise InvalidArgument(f"store={text!r} must name a host, as in hbase://localhost:9090/crawl")
        table = unquote(parts.path.strip("/")) or DEFAULT_TABLE
        return cls("hbase", table, host=parts.hostname, port=port, options=_options(text, "hbase", parts.query))

    def number(self, option: str, default: float) -> float:
        """Return the option as a positive number; raises `InvalidArgument` where it is none."""
        text = self.options.get(option)
        try:
            value = default if text is None else float(text)
        except ValueError:
            value = -1.0
        if not 0 < value < float("inf"):
            raise InvalidArgument(f"store: {option}={text!r} must be a number above 0")
        return value


def check_path(path: str) -> None:
    """Raise `InvalidArgument` where *path* names no file, but what SQLite takes for a database in memory."""
    if not path:
        raise InvalidArgument("store='' must name a file, as in crawl.db")
    if path in (":memory:", "/:memory:") or (path.startswith("file:") and _MEMORY.search(path)):
        raise InvalidArgument(
            f"store={path!r}: there is no store in memory; a store is a file, which threads and processes share: give "
            "one in a temporary directory (tempfile.TemporaryDirectory()), or ./:memory: for a file of that name"
        )


def _options(url: str, kind: str, query: str) -> dict[str, str]:
    options = dict(parse_qsl(query, keep_blank_values=True))
    unknown = sorted(set(options) - _OPTIONS[kind])
    if unknown:
        known = ", ".join(sorted(_OPTIONS[kind]))
        raise InvalidArgument(f"store={url!r}: unknown option {unknown[0]!r}; {kind} has {known}")
    return options
