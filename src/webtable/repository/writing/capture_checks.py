"""Checks of captures before they are stored: of types and ranges, of their age, and of deletes that would hide them."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import sha256
from itertools import chain
from sys import float_info
from types import NoneType
from typing import TYPE_CHECKING, Any

from msgspec.structs import astuple, replace

from webtable import errors
from webtable._clock import clock
from webtable._messages import Command, Message
from webtable.page.body import payload_digest
from webtable.page.facts import compacted, filled
from webtable.page.headers import Headers
from webtable.page.json_lines import ATTRIBUTES, TYPES, WHOLE_NUMBERS, types_of
from webtable.page.page import BLANK, Page
from webtable.page.parts import LINK_KINDS, SHARED, Link, different_links, links_as_lists
from webtable.repository.arguments import checked_date, in_utc
from webtable.repository.links.inlink_cells import is_only_self
from webtable.repository.page_storage.cells import json_of
from webtable.repository.writing.repeats import rows_for
from webtable.rowkey import WebKey, canonical_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.repository.page_storage.layouts import Layouts
    from webtable.repository.page_storage.state import KeyedPage, Stored

_OURS: dict[str, Any] = {
    "_inlinks_at": None,
    "_hints_at": None,
    "_similarity": None,
    "_unchanged": None,
    "_has_late": False,
    "first_seen": None,
    "link_counts": None,
    "_only_self_links": False,
}
"""The fields that are computed when a page is stored, whatever the page has there."""


_COUNTS = tuple(name for name in WHOLE_NUMBERS if name != "status")
_TYPES = {ATTRIBUTES[name]: types_of(kind) for name, kind in TYPES.items() if ATTRIBUTES[name] not in _OURS}


def taken(
    page: object, key: WebKey, layouts: Layouts, *, parse: bool = True, detect_language: bool = False
) -> tuple[bytes, Page, Sequence[bytes]]:
    """Return the row of *page*, the page as it will be stored, and the rows whose stored state it depends on.

    Raises what `Writer.put` does for a page that the table cannot keep, and for a value that is not a page.
    """
    if not isinstance(page, Page):
        raise errors.InvalidArgument(f"page={page!r} must be a webtable.Page")
    row, page = keyed(key, page)
    page, _ = filled(checked(page, layouts), parse=parse, detect_language=detect_language)
    return row, compacted(page), (row,) if page.same_as is None else rows_for(key, row, page)


def keyed(key: WebKey, page: Page) -> KeyedPage:
    """Return the row key of *page*, and the page under its canonical URL; raises `InvalidURL`."""
    url = canonical_url(page.url)
    return key.encode(url), page if url == page.url else replace(page, url=url)


def checked(page: Page, layouts: Layouts) -> Page:
    """Return *page* with its date in UTC and to the millisecond, after checking its values.

    Raises `ExpiredCapture` for a date older than the table's time to live, `FutureCapture` for a date more than a day
    from now, and `InvalidCapture` for a value of another type or out of range, a date without a timezone or before
    1970, and a page that has only its URL.
    """
    # In this order, as the later checks rely on the types.
    now = clock.now()
    _check_types(page)
    _check_numbers(page)
    page = _with_text_headers(page)
    fetched_at = checked_date(page.url, "fetched_at", page.fetched_at, now)
    if page.body is None:
        _check_is_known(page)
    page = replace(page, fetched_at=fetched_at, **_OURS)
    if page._payload_digest is not None or page._repeats_at is not None:
        page = _with_checked_names(page)
    # The time to live may have been raised since the layout was last read.
    if expired(page, layouts.current.ttl, now) and (error := expired(page, layouts.recent().ttl, now)):
        raise error
    return page


def expired(page: Page, ttl: int | None, now: datetime) -> errors.ExpiredCapture | None:
    """Return an error if *page* is older than *ttl* seconds: the store would drop it as it is written."""
    if ttl is None or page.fetched_at > now - timedelta(seconds=ttl):
        return None
    return errors.ExpiredCapture(
        f"{page.url[:200]}: fetched_at={page.fetched_at:%Y-%m-%d} is older than the {ttl / 86400:g} "
        "days for which the table keeps content: let it keep everything (",
        Command("alter --ttl none", python="table.maintenance.alter(ttl=None)"),
        ") to store old captures",
    )


def _with_checked_names(page: Page) -> Page:
    """Return *page* with its payload digest in one spelling, and the date that it repeats like its own."""
    repeats_at = page._repeats_at if page.same_as is not None and page.body is None else None
    return replace(
        page,
        _payload_digest=payload_digest(page._payload_digest),
        _repeats_at=None if repeats_at is None else in_utc(page.url, "repeats_at", repeats_at),
    )


# The types of the values of valid pages, field by field. There are few combinations, and checking field by field takes
# longer than all other checks.
_right: set[tuple[type, ...]] = set()
_MOST_RIGHT = 4_096


def _check_types(page: Page) -> None:
    # A msgspec.Struct accepts any value; one of a wrong type would be stored, and could not be read back.
    types = tuple(map(type, astuple(page)))
    if types not in _right:
        _check_each_type(page)
        if len(_right) < _MOST_RIGHT:
            _right.add(types)
    for name, moment in (("last_modified", page.last_modified), ("content_at", page.stored.content_at)):
        if moment is not None and moment.tzinfo is None:
            raise errors.InvalidCapture(f"{page.url[:200]}: {name}={moment} has no timezone")
    html = page._html_facts
    if html and not (set(html) <= set(SHARED) and set(map(type, html.values())) == {str}):
        raise errors.InvalidCapture(f"{page.url[:200]}: html_facts must be a dict of text for {', '.join(SHARED)}")
    links = page.outlinks
    if links and not (set(map(type, links)) <= {Link} and _are_links(*zip(*links, strict=True))):
        raise errors.InvalidCapture(f"{page.url[:200]}: outlinks must be webtable.Link values of str, `times` an int")
    if links and not {link.kind for link in links} <= set(LINK_KINDS):
        wrong = next(link.kind for link in links if link.kind not in LINK_KINDS)
        raise errors.InvalidCapture(
            f"{page.url[:200]}: a link is of the kind {wrong[:50]!r}; it must be one of {', '.join(LINK_KINDS)}"
        )


_WANTED = {"headers": "a dict of names and values, or a list of such pairs"}
"""The values of fields that take others than they keep."""


def _check_each_type(page: Page) -> None:
    for name, types in _TYPES.items():
        value = getattr(page, name)
        if not isinstance(value, types) or (type(value) is bool and bool not in types):
            wanted = _WANTED.get(name) or " or ".join("None" if kind is NoneType else kind.__name__ for kind in types)
            raise errors.InvalidCapture(
                f"{str(page.url)[:200]}: {name.removeprefix('_')} is {type(value).__name__}; it must be {wanted}"
            )


def _check_numbers(page: Page) -> None:
    if page.status and not 100 <= page.status <= 999:
        raise errors.InvalidCapture(f"{page.url[:200]}: status={page.status} must be from 100 to 999")
    for name in _COUNTS:
        if not 0 <= (getattr(page, name) or 0) < 2**63:
            raise errors.InvalidCapture(f"{page.url[:200]}: {name}={getattr(page, name)} must be from 0 to 2**63 - 1")
    if page.priority is not None and not -float_info.max <= page.priority <= float_info.max:
        raise errors.InvalidCapture(f"{page.url[:200]}: priority={str(page.priority)[:50]} must be a finite number")


def _check_is_known(page: Page) -> None:
    # With the default it would be stored with status 200, which no server has sent.
    if page == replace(BLANK, url=page.url, fetched_at=page.fetched_at):
        raise errors.InvalidCapture(
            f"{page.url[:200]}: the page has only a URL: give its body (body=b'' for an empty one), its headers, "
            "a status other than 200, or another field that was fetched"
        )


def _with_text_headers(page: Page) -> Page:
    if set(map(type, chain(page.headers, page.headers.values()))) <= {str}:
        return page
    try:
        return replace(page, headers=Headers(list(page.headers.items())))
    except (TypeError, ValueError) as exc:
        raise errors.InvalidCapture(f"{page.url[:200]}: invalid headers: {exc}") from exc


def _are_links(*values: Sequence[object]) -> bool:
    *texts, times = values
    numbers = [number for number in times if type(number) is int and 0 < number <= 10**9]
    return set(map(type, chain.from_iterable(texts))) <= {str} and len(numbers) == len(times)


def measured(page: Page, max_body: int | None, digest: str | None) -> Page:
    """Return *page* as it is stored: with its `different_links`, and the size and digest of its body.

    *digest* and size are those of the whole body; a body longer than *max_body* is truncated. If the body was truncated
    before, and the page gives a larger size, its size and digest are kept.
    """
    links, body = page.outlinks, page.body
    if links is not None:
        links = different_links(links)
    is_cut = body is not None and max_body is not None and len(body) > max_body
    is_given = body is None or (page.truncated and (page.size or 0) > len(body))
    return replace(
        page,
        body=body[:max_body] if body is not None and is_cut else body,
        digest=page.digest if is_given else digest,
        size=page.size if is_given or body is None else len(body),
        truncated=page.truncated or is_cut,
        outlinks=links,
        outlink_count=page.outlink_count if links is None else len(links),
        _only_self_links=bool(links) and is_only_self(page.url, links or ()),
        _links_digest=sha256(json_of(links_as_lists(links))).hexdigest() if links and body is None else None,
    )


def refusal(page: Page, stored: Stored, ttl: int | None, now: datetime) -> errors.WebTableError | None:
    """Return why *page* must not be stored, given the *stored* state, or None.

    A delete would hide it, it has expired, or it is older than a stored page that cannot be read; a capture that is
    not older replaces such a page.
    """
    error = hidden(page, stored) or expired(page, ttl, now)
    if error is None and stored.unreadable is not None and stored.unreadable.hides(page):
        return stored.unreadable.error
    return error


def hidden(page: Page, stored: Stored) -> errors.HiddenByDelete | None:
    """Return an error if a delete is later than *page*: the store would accept the capture, and hide it."""
    deleted = stored.deleted
    if deleted is None or not deleted.hides(page.fetched_at):
        return None
    return errors.HiddenByDelete(
        Message(
            f"{page.url[:200]}: a delete of {deleted.until:%Y-%m-%d %H:%M:%S} UTC hides this capture, "
            f"which is of {page.fetched_at:%Y-%m-%d %H:%M:%S}: fetch the page again, or forget the "
            "deletes (",
            Command("compact", python="table.maintenance.compact()"),
            ") to store older captures",
        ),
        deleted.until,
    )
