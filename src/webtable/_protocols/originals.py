"""What requests name: the URL of a page, in the path or as people write it, and a moment in up to 14 digits."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from starlette.convertors import Convertor, register_url_convertor

from webtable.errors import InvalidArgument
from webtable.rowkey import canonical_url

if TYPE_CHECKING:
    from starlette.requests import Request

_SCHEME: Final = re.compile(r"(https?):/+", re.IGNORECASE)
_ANY_SCHEME: Final = re.compile(r"\s*[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_QUOTED: Final = re.compile(r"https?%3a", re.IGNORECASE)
_EARLIEST: Final = "19700101000000"


class Rest(Convertor[str]):
    """The rest of a path, also with encoded line ends, which `path` of Starlette does not match."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        """Return *value*."""
        return value

    def to_string(self, value: str) -> str:
        """Return *value*."""
        return value


register_url_convertor("rest", Rest())


def original_of(request: Request, parts: int) -> str:
    """Return the URL that follows the first *parts* parts of the path, with its query and its encoded characters."""
    path = request.scope["raw_path"].decode("utf-8", "replace").split("/", parts + 1)[-1]
    query = request.scope["query_string"].decode("utf-8", "replace")
    url = (unquote(path) if _QUOTED.match(path) else path) + (f"?{query}" if query else "")
    return _SCHEME.sub(r"\1://", url, count=1) if _SCHEME.match(url) else url  # some clients make one slash of two


def forms_of(url: str) -> tuple[str, ...]:
    """Return the canonical URLs that have the same key in an index as *url*, which may lack its scheme, itself first.

    They have the other scheme, and a `www.` more or less. Raises `InvalidURL`.

    >>> forms_of("example.com/a")[:2]
    ('https://example.com/a', 'https://www.example.com/a')
    """
    scheme, _, rest = canonical_url(url if _ANY_SCHEME.match(url) else f"https://{url}").partition("://")
    other = "http" if scheme == "https" else "https"
    return tuple(f"{one}://{host}" for one in (scheme, other) for host in with_www(rest))


def with_www(host: str) -> tuple[str, ...]:
    """Return *host*, what may follow it included, and the same with a `www.` more or less; an IP address is alone."""
    name = re.split(r"[/:]", host, maxsplit=1)[0]
    if host.startswith("[") or name.rpartition(".")[2].isdigit():
        return (host,)
    return (host, host.removeprefix("www.") if host.startswith("www.") else f"www.{host}")


def timestamp_of(moment: datetime) -> str:
    """Return *moment* in 14 digits, in UTC."""
    return f"{moment.astimezone(UTC):%Y%m%d%H%M%S}".rjust(14, "0")


def digits_of(name: str, text: str) -> str:
    """Return *text*, which is up to 14 digits; raises `InvalidArgument`, which quotes *name*."""
    if not re.fullmatch(r"\d{1,14}", text, re.ASCII):
        raise InvalidArgument(f"{name}={text[:100]!r} must be a time in up to 14 digits, as in 2026 or 20261120103000")
    return text


def moment_of(name: str, text: str) -> datetime:
    """Return the beginning of the year, day or second that *text* names in up to 14 digits.

    Raises `InvalidArgument`, which quotes *name*.

    >>> moment_of("closest", "202611")
    datetime.datetime(2026, 11, 1, 0, 0, tzinfo=datetime.timezone.utc)
    """
    whole = digits_of(name, text) + _EARLIEST[len(text) :]
    try:
        return datetime.strptime(whole, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        raise InvalidArgument(f"{name}={text!r} is not a date, as 20261120 is") from None
