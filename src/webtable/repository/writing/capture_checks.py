"""Which captures a table takes, and as what: checked, measured, not expired, and not hidden by a delete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import chain
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

import msgspec
from msgspec.structs import astuple, replace

from webtable._clock import clock
from webtable._page.extract import filled
from webtable._page.headers import Headers
from webtable._page.page import Link, Page
from webtable.errors import (
    ExpiredCapture,
    FutureCapture,
    HiddenByDelete,
    InvalidArgument,
    InvalidCapture,
    WebTableError,
)
from webtable.repository.hints.inlinks import is_only_self
from webtable.repository.stored.values import json_of
from webtable.repository.writing.repeats import row_of
from webtable.rowkey import canonical_url

if TYPE_CHECKING:
    from webtable.repository.stored.layouts import Layouts
    from webtable.repository.stored.page_state import Stored
    from webtable.rowkey import WebKey

MAX_AHEAD = timedelta(days=1)
"""How far in the future a capture may be dated: clocks differ, and a date further off would hide later captures."""

_OURS: dict[str, Any] = {
    "inlinks_at": None,
    "hints_at": None,
    "first_seen": None,
    "link_counts": None,
    "only_self_links": False,
}
"""The fields that are found when a page is stored, whatever it says."""


def _types_of(annotation: Any) -> tuple[type, ...]:
    """Return the types of the values that a field with this *annotation* can have."""
    kind = get_origin(annotation) or annotation
    if kind in (Union, UnionType):
        return tuple(chain.from_iterable(map(_types_of, get_args(annotation))))
    if kind is Annotated:
        return _types_of(annotation.__origin__)
    return {tuple: (tuple, list), Mapping: (dict,)}.get(kind, (kind,))


_TYPES = {one.name: _types_of(one.type) for one in msgspec.structs.fields(Page) if one.name not in _OURS}


def taken(page: object, key: WebKey, layouts: Layouts) -> tuple[bytes, Page, Sequence[bytes]]:
    """Return the row of *page*, the page as it is to be stored, and the rows whose stored state decides upon it.

    Raises what `Writer.put` does for a page that the table cannot keep, and for what is none.
    """
    if not isinstance(page, Page):
        raise InvalidArgument(f"page={page!r} must be a webtable.Page")
    row, page = keyed(key, page)
    page, _ = filled(checked(page, layouts))
    repeated = row_of(key, page)
    return row, page, (row,) if repeated is None else (row, repeated)


def keyed(key: WebKey, page: Page) -> tuple[bytes, Page]:
    """Return the row key of *page*, and the page under its canonical URL; raises `InvalidURL`."""
    url = canonical_url(page.url)
    return key.encode(url), page if url == page.url else replace(page, url=url)


def checked(page: Page, layouts: Layouts) -> Page:
    """Return *page* as it can be stored, its date in UTC and to the millisecond.

    Raises `ExpiredCapture` for a date at which a cell is gone by the time to live of the table, `FutureCapture`
    for one more than a day from now, `InvalidCapture` for a value of another type or out of its bounds, a date without
    a timezone or before 1970, and a page of which nothing is known but its URL.
    """
    now = clock.now()
    _check_types(page)
    _check_numbers(page)
    page = _with_text_headers(page)
    fetched_at = _in_utc(page)
    if fetched_at > now + MAX_AHEAD:
        raise FutureCapture(f"{page.url[:200]}: fetched_at={fetched_at:%Y-%m-%d %H:%M:%S} is over a day from now")
    if fetched_at.year < 1970:
        raise InvalidCapture(f"{page.url[:200]}: fetched_at={fetched_at:%Y-%m-%d} is before 1970")
    if page.body is None:
        _check_is_known(page)
    page = replace(page, fetched_at=fetched_at, **_OURS)
    # The time to live may have been raised since the layout was read last.
    if expired(page, layouts.known.ttl, now) and (error := expired(page, layouts.recent().ttl, now)):
        raise error
    return page


def expired(page: Page, ttl: int | None, now: datetime) -> ExpiredCapture | None:
    """Return why the store would drop *page* as it is written: it is older than content is kept (*ttl* in seconds)."""
    if ttl is None or page.fetched_at > now - timedelta(seconds=ttl):
        return None
    return ExpiredCapture(
        f"{page.url[:200]}: fetched_at={page.fetched_at:%Y-%m-%d} is past the {ttl / 86_400:g} days for which the "
        "table keeps content: have it keep everything (webtable alter --ttl none) to store old captures"
    )


def _in_utc(page: Page) -> datetime:
    """Return the date of *page* in UTC and to the millisecond."""
    fetched_at = page.fetched_at
    if fetched_at.tzinfo is not UTC:
        if fetched_at.tzinfo is None:
            raise InvalidCapture(f"{page.url[:200]}: fetched_at={fetched_at} has no timezone; take datetime.now(UTC)")
        try:
            fetched_at = fetched_at.astimezone(UTC)
        except OverflowError as exc:
            raise InvalidCapture(f"{page.url[:200]}: fetched_at={fetched_at} is no date of a capture") from exc
    beyond = fetched_at.microsecond % 1000
    return fetched_at.replace(microsecond=fetched_at.microsecond - beyond) if beyond else fetched_at


# The types of the values of a page that is right, field by field: pages have few kinds, and to look each field up takes
# longer than all else that is checked.
_right: set[tuple[type, ...]] = set()
_MOST_RIGHT = 4_096


def _check_types(page: Page) -> None:
    # A msgspec.Struct takes any value; one of another type would be stored, and could not be read back.
    found = tuple(map(type, astuple(page)))
    if found not in _right:
        _check_each_type(page)
        if len(_right) < _MOST_RIGHT:
            _right.add(found)
    for name in ("last_modified", "content_at"):
        if (moment := getattr(page, name)) is not None and moment.tzinfo is None:
            raise InvalidCapture(f"{page.url[:200]}: {name}={moment} has no timezone")
    links = page.outlinks
    if links and not (set(map(type, links)) <= {Link} and set(map(type, chain.from_iterable(links))) <= {str}):
        raise InvalidCapture(f"{page.url[:200]}: outlinks must be webtable.Link, each of three str")


def _check_each_type(page: Page) -> None:
    for name, types in _TYPES.items():
        value = getattr(page, name)
        if not isinstance(value, types):
            wanted = " or ".join("None" if one is NoneType else one.__name__ for one in types)
            raise InvalidCapture(f"{str(page.url)[:200]}: {name} is {type(value).__name__}; it must be {wanted}")


def _check_numbers(page: Page) -> None:
    if not 100 <= page.status <= 999:
        raise InvalidCapture(f"{page.url[:200]}: status={page.status} is no status: they are from 100 to 999")
    for name in ("size", "outlink_count", "change_count"):
        if not 0 <= (getattr(page, name) or 0) < 2**63:
            raise InvalidCapture(f"{page.url[:200]}: {name}={getattr(page, name)} must be from 0 to 2**63 - 1")


def _check_is_known(page: Page) -> None:
    # By its default it would be stored as a page with status 200, which nobody has seen.
    if page == Page(url=page.url, fetched_at=page.fetched_at):
        raise InvalidCapture(
            f"{page.url[:200]}: nothing is known of it but its URL: give its body (body=b'' for an empty one), or its "
            "headers, a status other than 200, or what else was fetched"
        )


def _with_text_headers(page: Page) -> Page:
    if set(map(type, chain(page.headers, page.headers.values()))) <= {str}:
        return page
    try:
        return replace(page, headers=Headers(list(page.headers.items())))
    except (TypeError, ValueError) as exc:
        raise InvalidCapture(f"{page.url[:200]}: its headers are none: {exc}") from exc


def measured(page: Page, max_body: int | None, digest: str | None) -> Page:
    """Return *page* as it is stored: its links counted, one for each URL (the first), and its body measured.

    *digest* is that of the whole body, as the size is; a long one is cut to *max_body*. Of one that came cut they are
    what the page says, if it says that there was more.
    """
    links, body = page.outlinks, page.body
    if links is not None:
        first: dict[str, Link] = {}
        for link in links:
            first.setdefault(link.url, link)
        links = tuple(first.values())
    is_cut = body is not None and max_body is not None and len(body) > max_body
    is_told = body is None or (page.truncated and (page.size or 0) > len(body))
    return replace(
        page,
        body=body[:max_body] if body is not None and is_cut else body,
        digest=page.digest if is_told else digest,
        size=page.size if is_told or body is None else len(body),
        truncated=page.truncated or is_cut,
        outlinks=links,
        outlink_count=page.outlink_count if links is None else len(links),
        only_self_links=bool(links) and is_only_self(page.url, links or ()),
        links_digest=sha256(json_of(links)).hexdigest() if links and body is None else None,
    )


def refusal(page: Page, stored: Stored, ttl: int | None, now: datetime) -> WebTableError | None:
    """Return why *page* is not to be stored beside what is *stored*, None where it is.

    It would be hidden, has expired, or what is stored cannot be read; a capture that is not older replaces that.
    """
    error = hidden(page, stored) or expired(page, ttl, now)
    if error is None and stored.unreadable is not None and stored.unreadable.hides(page):
        return stored.unreadable.error
    return error


def hidden(page: Page, stored: Stored) -> HiddenByDelete | None:
    """Return why the store would hide *page* although it takes it: a delete is later than the capture."""
    deleted = stored.deleted
    if deleted is None or not deleted.hides(page.fetched_at):
        return None
    return HiddenByDelete(
        f"{page.url[:200]}: a delete of {deleted.until:%Y-%m-%d %H:%M:%S} UTC hides this capture, which is of "
        f"{page.fetched_at:%Y-%m-%d %H:%M:%S}: fetch the page again, or have the deletes forgotten (webtable compact) "
        "to store what is older",
        deleted.until,
    )
