"""Store URLs with a user and a password, a store that takes them as HBase does, and what to look for afterwards."""

from __future__ import annotations

import base64
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Self
from urllib.parse import quote

import pytest

import webtable
from webtable import store as adapters
from webtable.store import StoreURL
from webtable.store.hbase import HBaseStore
from webtable.store.hbase.thrift.store import address_of
from webtable.store.memory import MemoryStore

USER, PASSWORD, TOKEN = "crawler-7", "s3cr3t/of@the:gate way", "t0k3n-of-nobody"
LOGIN = f"{USER}:{quote(PASSWORD, safe='')}"
SECRETS = [
    *("s3cr3t", "gate way", "gate%20way", "gate+way", TOKEN, USER),
    *(base64.b64encode(text.encode()).decode() for text in (PASSWORD, f"{USER}:{PASSWORD}", LOGIN, TOKEN)),
]
"""Pieces of them: as they are, as URLs write them, and as the header `Authorization` does."""
ANSWERS = f"hbase+http://{LOGIN}@127.0.0.1:9/crawl"
"""The URL of `Answering`."""
CLOSED = f"hbase+http://{LOGIN}@127.0.0.1:9/crawl?timeout=0.2"
"""HBase at a port at which nothing listens."""

HOME, DOMAIN, NOW = "https://example.com/", "example.com", datetime.now(UTC)


class Answering(MemoryStore):
    """A store in memory at a URL of HBase."""

    table_of = HBaseStore.table_of  # type: ignore[assignment]

    @classmethod
    def from_url(cls, url: StoreURL, *, create: bool = False) -> Self:
        del create
        address = address_of(url)
        address.settings()
        store = cls("secrets")
        store.name = f"{address.scheme}://{','.join(map(str, address.gateways))}"
        return store


def with_secrets(texts: Iterable[str]) -> list[str]:
    """Return those of *texts* with a secret in them."""
    return [text for text in texts if any(secret in text for secret in SECRETS)]


def pages() -> list[webtable.Page]:
    links = b"<title>home</title><a href=/old>o</a><a href=/x>x</a>"
    made = [
        webtable.Page(url=f"{HOME}{path}", body=b"%s%d" % (links, days), fetched_at=NOW - timedelta(days=days))
        for path, days in (("", 40), ("", 3), ("a", 2), ("b", 1))
    ]
    redirect = {"Location": HOME}
    return [*made, webtable.Page(url=f"{HOME}old", status=301, headers=redirect, fetched_at=NOW)]


@contextmanager
def answering(monkeypatch: pytest.MonkeyPatch) -> Iterator[webtable.WebTable]:
    """Give the table at `ANSWERS`, with some pages."""
    monkeypatch.setitem(adapters.BUILT_IN, "hbase+http", f"{__name__}:Answering")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = webtable.open(ANSWERS, create=True)
        with table:
            with table.writer() as writer:
                for page in pages():
                    writer.put(page)
            yield table
    finally:
        MemoryStore.forget("secrets")
