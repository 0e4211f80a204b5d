"""Memento (RFC 7089): stored versions by the URL of the page and a time, for programs and for browsers.

`/timegate/URL` redirects to the version nearest to the header Accept-Datetime, `/timemap/link/URL` and
`/timemap/json/URL` list all of them, `/web/TIME/URL` shows one, and `/web/TIMEid_/URL` returns its body as it is
stored. All of these find the versions under http and https, with and without `www.`, as CDX does. Another time or form
than that of a version redirects to the nearest one. Redirects and errors of the client (4xx) have
the status that the page had, so that a client can record it; all others have 200, as a 503 would be asked for again.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self
from urllib.parse import quote

from starlette.responses import HTMLResponse, Response

from webtable.errors import InvalidArgument, InvalidURL, WebTableError
from webtable.explorer.archive_api.cdx import forms_of, moment_of, original_of, timestamp_of
from webtable.explorer.http import SANDBOX, NoCapture, inert, refusal
from webtable.rowkey import canonical_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.requests import Request

    from webtable import Page, WebTable
    from webtable.explorer.archive_api.server import ArchiveServer


# --- The versions of a page, their times and their addresses ----------------------------------------------------------


# A URL of these characters goes through clients and proxies as it is.
_PLAIN: Final = re.compile(r"[A-Za-z0-9!$%&()*+,/:;=?@\[\]._~-]+(?<!\?)")
_LONG: Final = 4_000  # characters of a URL that a header repeats eight times
_LINKS: Final = "application/link-format"


class Memento(NamedTuple):
    """A stored version: its moment in whole seconds, its URL, and the bytes of its body."""

    moment: datetime
    url: str
    size: int | None


class Mementos(NamedTuple):
    """The `versions` of the `original` and of the URLs that have the same key in an index, the oldest first.

    There is at least one.
    """

    original: str
    versions: tuple[Memento, ...]
    root: str
    """The address of the explorer, without a slash at its end."""

    @classmethod
    def of(cls, table: WebTable, url: str, request: Request) -> Self:
        """The versions of *url*, under http and https, with and without `www.`. Raises `NoCapture`, `InvalidURL`."""
        forms = forms_of(url)
        versions: dict[tuple[datetime, str], Memento] = {}
        for form in reversed(forms):
            for version in table.history(form):
                moment = version.fetched_at.astimezone(UTC).replace(microsecond=0)
                versions.setdefault((moment, form), Memento(moment, form, version.size))  # the last of its second
        if not versions:
            raise NoCapture(f"No version is stored of {url[:1_000]}")
        order = {form: place for place, form in enumerate(forms)}
        ordered = sorted(versions.values(), key=lambda version: (version.moment, order[version.url]))
        return cls(forms[0], tuple(ordered), _root_of(request))

    def nearest(self, moment: datetime | None, url: str = "") -> int:
        """Return the number of the version nearest to *moment*, of *url* alone if that is given.

        Without a moment it is the newest. Of two that are as near that of the original comes first.
        """
        numbers = [number for number, version in enumerate(self.versions) if url in ("", version.url)]
        if moment is None:
            return numbers[-1]

        def distance(number: int) -> tuple[timedelta, bool]:
            return abs(self.versions[number].moment - moment), self.versions[number].url != self.original

        return min(numbers, key=distance)

    def address(self, *parts: str) -> str:
        """Return the address in the explorer that has these *parts*, the last of which is a URL."""
        *names, url = parts
        # Clients write other characters in other ways, and drop a `?` at the end: quoted as a whole they stay.
        return "/".join((self.root, *names, url if _PLAIN.fullmatch(url) else quote(url, safe="")))

    def uri(self, number: int, form: str = "") -> str:
        """Return the address of a version."""
        version = self.versions[number]
        return self.address("web", f"{timestamp_of(version.moment)}{form}", version.url)

    def links(self, number: int) -> str:
        """Return the value of the header Link of the version, or for a redirect to it.

        It is without the other versions if the URL is long: clients refuse a header of more than 64 KiB.
        """
        if len(self.original) > _LONG:
            return ", ".join(self._about("timemap"))
        last = len(self.versions) - 1
        rels: dict[int, list[str]] = {}
        for rel, other in (("first", 0), ("prev", number - 1), ("", number), ("next", number + 1), ("last", last)):
            if 0 <= other <= last:
                rels.setdefault(other, []).append(rel)
        around = (self._memento(other, " ".join(filter(None, (*rels[other], "memento")))) for other in sorted(rels))
        return ", ".join([*self._about("timemap"), *around])

    def timemap(self) -> Iterator[str]:
        """Yield the links of the list of all versions."""
        yield from self._about("self")
        last = len(self.versions) - 1
        for number in range(last + 1):
            yield self._memento(number, "first " * (number == 0) + "last " * (number == last) + "memento")

    def as_json(self) -> dict[str, Any]:
        """Return the list of all versions in the form of mementoweb.org/guide/timemap-json."""
        listed = [
            {"datetime": f"{version.moment:%Y-%m-%dT%H:%M:%SZ}", "uri": self.uri(number)}
            for number, version in enumerate(self.versions)
        ]
        forms = {f"{form}_format": self.address("timemap", form, self.original) for form in ("json", "link")}
        return {
            "original_uri": self.original,
            "timegate_uri": self.address("timegate", self.original),
            "timemap_uri": forms,
            "mementos": {"first": listed[0], "last": listed[-1], "list": listed},
        }

    def _about(self, timemap: str) -> Iterator[str]:
        first, last = _date(self.versions[0].moment), _date(self.versions[-1].moment)
        yield f'<{self.original}>; rel="original"'
        yield f'<{self.address("timegate", self.original)}>; rel="timegate"'
        listed = f'<{self.address("timemap", "link", self.original)}>; rel="{timemap}"; type="{_LINKS}"'
        yield f'{listed}; from="{first}"; until="{last}"'

    def _memento(self, number: int, rel: str) -> str:
        return f'<{self.uri(number)}>; rel="{rel}"; datetime="{_date(self.versions[number].moment)}"'


def _date(moment: datetime) -> str:
    return format_datetime(moment, usegmt=True)


def _root_of(request: Request) -> str:
    path = quote(request.scope.get("root_path", ""), safe="/-")
    return f"{request.url.scheme}://{request.headers.get('host', '')}{path}"


# --- Responses --------------------------------------------------------------------------------------------------------


# The policy of a stored body: it is shown by itself, runs nothing and loads nothing.
_ALONE: Final = "sandbox; default-src 'none'"
# Markup that is rendered as it is stored may connect to other hosts, whatever the policy: it is for programs alone.
_SHOWN: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "text/plain"})
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
# Versions have milliseconds, and addresses whole seconds: the last version of one is served.
_SECOND: Final = timedelta(milliseconds=999)
_TIME: Final = re.compile(r"(\d{0,14})([a-z]{2}_)?", re.ASCII)
# How pywb marks what a version is rewritten for. Here nothing is: pages are shown, all other things are as stored.
_PAGES: Final = frozenset({"mp_", "if_", "fr_", "tf_", "bn_"})
_MEDIA_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,99}/[a-z0-9][a-z0-9!#$&^_.+-]{0,99}")
_CHARSET: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,39}")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_VALUE: Final = re.compile(r"[ -~]{0,1000}")
# Characters of all original headers together: proxies and clients refuse long ones.
_MOST_HEADERS: Final = 4_000
# Bodies are stored decoded, so these say nothing about what is sent.
_OF_THE_TRANSFER: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})


async def timegate(server: ArchiveServer, request: Request) -> Response:
    """Return the redirect to the version nearest to Accept-Datetime, or to the newest one."""

    def answer(mementos: Mementos, _: WebTable) -> Response:
        number = mementos.nearest(_accepted(request.headers.get("accept-datetime")))
        return Response(None, 302, {"location": mementos.uri(number), "link": mementos.links(number)})

    response = await _answered(server, request, 1, answer)
    response.headers["vary"] = "accept-datetime"
    return response


async def timemap(server: ArchiveServer, request: Request) -> Response:
    """Return the list of all versions, in the format of links or as JSON."""
    form = request.path_params["form"]

    def answer(mementos: Mementos, _: WebTable) -> Response:
        if form == "json":
            return Response(json.dumps(mementos.as_json(), indent=1), media_type="application/json")
        return Response(",\n".join(mementos.timemap()) + "\n", media_type="application/link-format")

    if form not in {"link", "json"}:
        return refusal(InvalidArgument(f"/timemap/{form[:100]}/ is neither /timemap/link/ nor /timemap/json/"))
    return await _answered(server, request, 2, answer)


async def memento(server: ArchiveServer, request: Request) -> Response:
    """Return a version as a browser shows it, or as it is stored."""
    text = request.path_params["time"]

    def answer(mementos: Mementos, table: WebTable) -> Response:
        if (time := _TIME.fullmatch(text)) is None:
            raise InvalidArgument(f"/web/{text[:100]}/ must have up to 14 digits, then id_ for the stored body")
        number = mementos.nearest(moment_of("time", time[1]) if time[1] else None)
        moment, url, size = mementos.versions[number]
        form = "id_" if (time[2] or "mp_") not in _PAGES else ""
        if (timestamp_of(moment), form) != (time[1], time[2] or ""):
            return Response(None, 302, {"location": mementos.uri(number, form)})

        def made() -> Response:
            page = table.get(url, as_of=moment + _SECOND, columns=["body"])
            if page is None:
                raise NoCapture(f"{url} is not stored any more")
            response = _content(page, form, _redirect(page, mementos, form))
            response.headers.update(
                {f"x-archive-orig-{name}": value for name, value in _originals(page)}
                | {"memento-datetime": _date(moment), "link": mementos.links(number)}
            )
            return response

        # The links change as further versions are stored.
        key = str(request.url), request.headers["host"], moment, size, mementos.links(number)
        return server.streaming.bounded(request, size, key, made)

    return await _answered(server, request, 2, answer)


async def _answered(
    server: ArchiveServer, request: Request, parts: int, answer: Callable[[Mementos, WebTable], Response]
) -> Response:
    def make() -> Response:
        try:
            return answer(Mementos.of(server.table, original_of(request, parts), request), server.table)
        except WebTableError as exc:
            return refusal(exc)

    return await server.streaming.value(make)


def _accepted(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return parsedate_to_datetime(text[:100]).astimezone(UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        form = "a date, as in Fri, 20 Nov 2026 10:30:00 GMT"
        raise InvalidArgument(f"Accept-Datetime: {text[:100]!r} must be {form}") from None


def _redirect(page: Page, mementos: Mementos, form: str) -> str | None:
    """Return the address of the version of the target of *page* here; None if it is no redirect."""
    if page.status not in _REDIRECTS or page.redirect_to is None:
        return None
    try:
        target = canonical_url(page.redirect_to)
    except InvalidURL:
        return None
    if target in forms_of(mementos.original):
        # These are found by each other: only a version of the target itself does not lead back here without end.
        if target != mementos.original and any(version.url == target for version in mementos.versions):
            return mementos.uri(mementos.nearest(page.fetched_at, target), form)
        if not form:
            return None
    return mementos.address("web", f"{timestamp_of(page.fetched_at)}{form}", target)


def _content(page: Page, form: str, location: str | None) -> Response:
    # A client records these as they are; a 429 or a 503 it would ask for again.
    is_refusal = 400 <= page.status < 500 and page.status != 429
    if location is not None:
        headers = {"location": location, "content-security-policy": _ALONE, "content-type": _content_type(page)}
        return Response(page.body or b"", page.status, headers)
    if page.body is None and not is_refusal:
        raise NoCapture(f"the body of {page.url} of {page.fetched_at:%Y-%m-%d %H:%M:%S} is not stored")
    status, markup = page.status if is_refusal else 200, None if form else page.html
    if markup is not None:
        return HTMLResponse(inert(markup).encode("utf-8", "replace"), status, {"content-security-policy": SANDBOX})
    headers = {"content-security-policy": _ALONE, "content-type": _content_type(page)}
    if form or page.content_type not in _SHOWN:
        headers["content-disposition"] = "attachment"
    return Response(page.body or b"", status, headers)


def _content_type(page: Page) -> str:
    """Return the media type and the charset of *page*, if they are well formed."""
    media, charset = page.content_type or "", page.charset or ""
    if not _MEDIA_TYPE.fullmatch(media):
        return "application/octet-stream"
    return f"{media}; charset={charset}" if _CHARSET.fullmatch(charset) else media


def _originals(page: Page) -> Iterator[tuple[str, str]]:
    """Yield the stored headers that are safe to be sent under another name, as many as fit."""
    room = _MOST_HEADERS
    for name, value in page.headers.items():
        room -= len(name) + len(value)
        if room < 0:
            return
        if _NAME.fullmatch(name) and _VALUE.fullmatch(value) and name.lower() not in _OF_THE_TRANSFER:
            yield name, value
