"""What a capture becomes beside what is stored already: new content, the same again, or a late one."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from webtable.errors import ExpiredCapture, FutureCapture, InvalidCapture
from webtable.page import Page

MAX_AHEAD = timedelta(days=1)
"""How far in the future a capture may be dated: clocks differ, and a date further off would hide later captures."""


@dataclass(frozen=True, slots=True)
class Write:
    """A page as it is to be written: its metadata, and its content where `with_content`."""

    page: Page
    with_content: bool = True
    content_of: Page | None = None
    """The stored page whose body and links are to be written again, where `page` does not bring its own."""


def checked(page: Page, *, ttl: int | None, now: datetime) -> Page:
    """Return *page* as it can be stored: its date in UTC, to the millisecond, and its links counted.

    Raises `ExpiredCapture` for a date at which a cell lives no more (*ttl* in seconds), `FutureCapture` for one more
    than a day from *now*, `InvalidCapture` for a date without a timezone.
    """
    fetched_at = page.fetched_at
    if fetched_at.tzinfo is None:
        raise InvalidCapture(f"{page.url[:200]}: fetched_at={fetched_at} has no timezone; take datetime.now(UTC)")
    fetched_at = fetched_at.astimezone(UTC)
    fetched_at = fetched_at.replace(microsecond=fetched_at.microsecond // 1000 * 1000)
    if fetched_at > now + MAX_AHEAD:
        raise FutureCapture(f"{page.url[:200]}: fetched_at={fetched_at:%Y-%m-%d %H:%M:%S} is over a day from now")
    if ttl is not None and fetched_at <= now - timedelta(seconds=ttl):
        raise ExpiredCapture(
            f"{page.url[:200]}: fetched_at={fetched_at:%Y-%m-%d} is past the {ttl / 86_400:g} days for which the table "
            "keeps content: create the table with ttl=None (webtable create --ttl none) to store old captures"
        )
    return replace(
        page,
        fetched_at=fetched_at,
        outlink_count=page.outlink_count if page.outlinks is None else len(page.outlinks),
    )


def measured(page: Page, max_body: int | None) -> Page:
    """Return *page* with the digest and the size of its body, and a body over *max_body* bytes cut."""
    body = page.html
    if body is None:
        return page
    cut = max_body is not None and len(body) > max_body
    return replace(
        page,
        html=body[:max_body] if cut else body,
        digest=hashlib.sha256(body).hexdigest(),
        size=len(body),
        truncated=page.truncated or cut,
    )


def decide(page: Page, before: Page | None, ttl: int | None) -> list[Write]:
    """Return what is to be written of the `checked` *page*, where *before* is the page as it is stored.

    Nothing where the very same capture is there already. A page that repeats what is stored (the same digest and
    status, or `same_as` its own URL) keeps its content, which is written anew once half of its *ttl* (seconds) is
    over, so that it cannot expire while the page is alive.
    """
    if before is None:
        return [Write(_changed(page, 0))]
    if page.same_as is not None:
        page = _repeated(page, before)
    same = page.digest is not None and (page.digest, page.status_code) == (before.digest, before.status_code)
    stored_at = before.content_at or before.fetched_at
    if page.fetched_at < before.fetched_at:
        return _late(page, before, stored_at, same=same)
    if not same:
        return [Write(_changed(page, before.change_count + (page.fetched_at > before.fetched_at)))]
    kept = replace(
        page,
        changed_at=before.changed_at,
        change_count=before.change_count,
        content_at=stored_at,
        outlink_count=before.outlink_count,
        truncated=before.truncated,
    )
    if replace(kept, html=None, outlinks=None) == before:
        return []
    due = ttl is not None and page.fetched_at - stored_at > timedelta(seconds=ttl / 2)
    if due or (page.html is not None and stored_at == page.fetched_at):
        content_of = before if page.html is None else None
        return [Write(replace(kept, content_at=page.fetched_at), content_of=content_of)]
    return [Write(kept, with_content=False)]


def _late(page: Page, before: Page, stored_at: datetime, *, same: bool) -> list[Write]:
    late = Write(_changed(page, 0))
    if page.fetched_at < stored_at:
        return [late]
    if same:
        return []
    # The page had other content in between, so what it has now is a version of its own, with its own date.
    return [late, Write(replace(before, content_at=before.fetched_at), content_of=before)]


def _repeated(page: Page, before: Page) -> Page:
    """Return a capture without a body as the capture of the stored content that it stands for."""
    return replace(
        page,
        same_as=None,
        title=page.title or before.title,
        status_code=before.status_code if page.status_code == 304 else page.status_code,
        content_type=page.content_type or before.content_type,
        charset=page.charset or before.charset,
        headers={**before.headers, **page.headers},
        etag=page.etag or before.etag,
        last_modified=page.last_modified or before.last_modified,
        redirect_to=page.redirect_to or before.redirect_to,
        digest=before.digest,
        size=before.size,
    )


def _changed(page: Page, count: int) -> Page:
    return replace(page, same_as=None, changed_at=page.fetched_at, change_count=count, content_at=page.fetched_at)
