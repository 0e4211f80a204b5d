"""The stored versions of a page as mementos: their times and their addresses."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self
from urllib.parse import quote

from webtable._protocols.originals import forms_of, timestamp_of
from webtable._serving.late_response import NoCapture
from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request

    from webtable import WebTable

_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?", re.ASCII)
_UNQUOTED: Final = "!#$%&'()*+,/:;=?@[]~"
_LONG: Final = 4_000
_LINKS: Final = "application/link-format"


class Mementos(NamedTuple):
    """The `moments` of the versions of the `original` in whole seconds, the oldest first; there is at least one."""

    original: str
    moments: tuple[datetime, ...]
    root: str
    """The address of the explorer, without a slash at its end."""

    @classmethod
    def found(cls, table: WebTable, url: str, request: Request) -> Self:
        """Return those of *url*, or of the form of it that is stored. Raises `NoCapture`, `InvalidURL`."""
        root = _root_of(request)
        for form in forms_of(url):
            seconds = [version.fetched_at.astimezone(UTC).replace(microsecond=0) for version in table.history(form)]
            if seconds:
                return cls(form, tuple(sorted(set(seconds))), root)
        raise NoCapture(f"No version is stored of {url[:1_000]}")

    def nearest(self, moment: datetime | None) -> int:
        """Return the number of the version nearest to *moment*; without one, of the newest."""
        if moment is None:
            return len(self.moments) - 1
        return min(range(len(self.moments)), key=lambda number: abs(self.moments[number] - moment))

    def address(self, *parts: str) -> str:
        """Return the address in the explorer that has these parts."""
        return "/".join((self.root, *(quote(part, safe=_UNQUOTED) for part in parts)))

    def uri(self, number: int, form: str = "") -> str:
        """Return the address of a version."""
        return self.address("web", f"{timestamp_of(self.moments[number])}{form}", self.original)

    def links(self, number: int) -> str:
        """Return the value of the header Link of the version, or for a redirect to it.

        It is without the other versions if the URL is long: clients refuse a header of more than 64 KiB.
        """
        if len(self.original) > _LONG:
            return ", ".join(self._about("timemap"))
        last = len(self.moments) - 1
        rels: dict[int, list[str]] = {}
        for rel, other in (("first", 0), ("prev", number - 1), ("", number), ("next", number + 1), ("last", last)):
            if 0 <= other <= last:
                rels.setdefault(other, []).append(rel)
        shown = (self._memento(one, " ".join(filter(None, (*rels[one], "memento")))) for one in sorted(rels))
        return ", ".join([*self._about("timemap"), *shown])

    def timemap(self) -> Iterator[str]:
        """Yield the links of the list of all versions."""
        yield from self._about("self")
        last = len(self.moments) - 1
        for number in range(last + 1):
            rels = [*(["first"] if number == 0 else []), *(["last"] if number == last else []), "memento"]
            yield self._memento(number, " ".join(rels))

    def as_json(self) -> dict[str, Any]:
        """Return the list of all versions in the form of mementoweb.org/guide/timemap-json."""
        found = [
            {"datetime": f"{moment:%Y-%m-%dT%H:%M:%SZ}", "uri": self.uri(number)}
            for number, moment in enumerate(self.moments)
        ]
        forms = {f"{form}_format": self.address("timemap", form, self.original) for form in ("json", "link")}
        return {
            "original_uri": self.original,
            "timegate_uri": self.address("timegate", self.original),
            "timemap_uri": forms,
            "mementos": {"first": found[0], "last": found[-1], "list": found},
        }

    def _about(self, timemap: str) -> Iterator[str]:
        first, last = _date(self.moments[0]), _date(self.moments[-1])
        yield f'<{quote(self.original, safe=_UNQUOTED)}>; rel="original"'
        yield f'<{self.address("timegate", self.original)}>; rel="timegate"'
        listed = f'<{self.address("timemap", "link", self.original)}>; rel="{timemap}"; type="{_LINKS}"'
        yield f'{listed}; from="{first}"; until="{last}"'

    def _memento(self, number: int, rel: str) -> str:
        return f'<{self.uri(number)}>; rel="{rel}"; datetime="{_date(self.moments[number])}"'


def _date(moment: datetime) -> str:
    return format_datetime(moment, usegmt=True)


def _root_of(request: Request) -> str:
    host = request.headers.get("host", "")
    if not _HOST.fullmatch(host):
        raise InvalidArgument(f"Host: {host[:100]!r} is not the name of a host and a port")
    return f"{request.url.scheme}://{host}{quote(request.scope.get('root_path', ''), safe='/-')}"
