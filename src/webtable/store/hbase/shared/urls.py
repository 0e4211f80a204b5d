"""What the store URLs of both ways to HBase have in common: hosts, a table and options."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from webtable.store.url import StoreURL

_AUTHORITY: Final = re.compile("//([^/?#]*)")


def parts_of(url: StoreURL) -> tuple[str, str, str]:
    """The authority, the path and the query of *url*; raises `InvalidArgument` if it cannot be read."""
    match = _AUTHORITY.match(url.rest)
    authority, rest = ("", url.rest) if match is None else (match[1], url.rest[match.end() :])
    try:
        parts = urlsplit(rest)
    except ValueError as exc:
        raise InvalidArgument(f"store={url.text!r}: {exc}") from None
    return authority, parts.path, parts.query


def hosts_of(url: StoreURL, authority: str, example: str) -> list[tuple[str, int | None]]:
    """The hosts in *authority*, without user and password, and their ports, as in *example*.

    Raises `InvalidArgument` for a host or port that cannot be such.
    """
    try:
        parts = [urlsplit(f"//{host}") for host in authority.split(",")]
        hosts = [(part.hostname or "", part.port) for part in parts]
    except ValueError as exc:
        # `from None`, as the error of urllib about a wrong port quotes it, and all that was taken for one.
        raise InvalidArgument(f"store={url.text!r}: {exc}") from None
    for host, _ in hosts:
        if not host:
            raise InvalidArgument(f"store={url.text!r} must name a host, as in {url.scheme}://{example}/crawl")
        if not _can_be_a_host(host):
            raise InvalidArgument(f"store={url.text!r}: {host!r} cannot be a host")
    return hosts


def _can_be_a_host(text: str) -> bool:
    try:
        text.encode("idna")  # as sockets do, which would raise an error of Python
    except UnicodeError:
        return False
    return text.isprintable() and " " not in text
