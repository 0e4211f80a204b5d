"""Lines of a CDXJ index: where the record of a capture is, under a key that sorts a host's URLs together."""

from __future__ import annotations

import re
from datetime import UTC
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

if TYPE_CHECKING:
    from webtable._page.page import Page
    from webtable.formats.archives.warc_records import Record

_WWW = re.compile(r"www\d*\.")


def surt(url: str) -> str:
    """Return the key of *url*, which is canonical, in an index: as replay tools look it up.

    The host stands reversed, without `www.`; the scheme is left out, all is in lower case, parameters are sorted and an
    end slash is dropped. It is what the tools of the Internet Archive make of a URL but for session IDs, which stay.

    >>> surt("https://www.Example.com:8080/Docs/?b=2&a=1")
    'com,example:8080)/docs?a=1&b=2'
    """
    parts = urlsplit(url.lower())
    host = _WWW.sub("", parts.hostname or "", count=1) if _WWW.match(parts.hostname or "") else parts.hostname or ""
    is_address = ":" in host or host.replace(".", "").isdigit()
    reversed_host = host if is_address else ",".join(reversed(host.split(".")))
    port = "" if parts.port is None else f":{parts.port}"
    path = parts.path if parts.path == "/" else parts.path.rstrip("/") or "/"
    query = "&".join(sorted(parts.query.split("&"))) if parts.query else ""
    return f"{reversed_host}{port}){path}{'?' if query else ''}{query}"


def cdxj_line(page: Page, record: Record, offset: int, length: int, filename: str) -> bytes:
    """Return the line of the *record* of *page*, which is *length* bytes behind *offset* of the file, with its end."""
    fields = {
        "url": page.url,
        "mime": "warc/revisit" if record.kind == "revisit" else page.content_type or "unk",
        "status": str(page.status_code),
        **({"digest": record.digest} if record.digest else {}),
        "length": str(length),
        "offset": str(offset),
        "filename": filename,
    }
    moment = page.fetched_at.astimezone(UTC)
    return f"{surt(page.url)} {moment:%Y%m%d%H%M%S} ".encode() + msgspec.json.encode(fields) + b"\n"
