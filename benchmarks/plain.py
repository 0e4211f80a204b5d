"""The peer on HBase: what one writes with HappyBase alone, a column for each thing that is known of a page."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    import happybase

    from webtable import Page

METADATA = (
    "url",
    "title",
    "status",
    "content_type",
    "charset",
    "size",
    "digest",
    "etag",
    "last_modified",
    "fetched_at",
    "headers",
    "outlink_count",
)
METADATA_COLUMNS = [f"metadata:{name}".encode() for name in METADATA]
HTML = b"content:html"
TITLE = b"metadata:title"
LINKS = b"outlinks:urls"
BATCH_CELLS = 1_000
"""How many cells HappyBase sends at once."""


def cells_of(page: Page) -> dict[bytes, bytes]:
    """Return the cells of *page*: its body as it is and its metadata as 12 columns."""
    body = page.body or b""
    return {
        HTML: body,
        b"metadata:url": page.url.encode(),
        b"metadata:title": (page.title or "").encode(),
        b"metadata:status_code": str(page.status).encode(),
        b"metadata:content_type": (page.content_type or "").encode(),
        b"metadata:charset": (page.charset or "").encode(),
        b"metadata:size": str(len(body)).encode(),
        b"metadata:digest": hashlib.sha256(body).hexdigest().encode(),
        b"metadata:etag": (page.etag or "").encode(),
        b"metadata:last_modified": _time(page.last_modified),
        b"metadata:fetched_at": _time(page.fetched_at),
        b"metadata:headers": json.dumps(page.headers).encode(),
        b"metadata:outlink_count": str(len(page.outlinks or ())).encode(),
    }


def put_all(table: happybase.Table, pages: Iterable[Page], keys: Mapping[str, bytes]) -> None:
    """Store *pages* in batches under *keys*, which are made beforehand."""
    with table.batch(batch_size=BATCH_CELLS) as batch:
        for page in pages:
            batch.put(keys[page.url], cells_of(page))


def _time(moment: datetime | None) -> bytes:
    return moment.isoformat().encode() if moment else b""
