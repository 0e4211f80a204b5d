"""Decisions about captures, given the stored state of their page: new content, repeated content, or a late capture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from webtable.page.facts import repeated_facts
from webtable.page.headers import Headers, freshened
from webtable.page.page import Page, inherited, repeated_content
from webtable.repository.page_storage.state import (
    DAMAGED_CAPTURE,
    Capture,
    PageWrite,
    Stored,
    Version,
    brought,
    content_date,
    is_over_half,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime


# The date of a cell is the `fetched_at` of the page. So a capture that is stored twice changes nothing: a retry, a
# replayed WARC file or a killed crawl is harmless, and a late capture takes its place in the history.
#
#   the capture                                               what is written
#   is the first                                              everything
#   has another digest, status or redirect                    everything; `change_count` goes up
#   repeats what is stored (the same, a 304, a revisit)       metadata; `content_at` says where the body is
#   repeats it after half of the TTL                          everything, so that content outlives no page
#   has a body where only a cut one, or none, is stored       everything; no change
#   is a 304 after an error page                              the content before the error, as a version
#   is a 304 of a URL that is not stored                      metadata with status 304: no content, no change
#   repeats the content of a date that is not stored          metadata, until the capture of that date comes
#   is a revisit whose original is not stored                 metadata if it is the newest; and itself, apart
#   says less of the moment of a stored capture               nothing
#   is a version of its own (`content_at` is its date)        everything, also what is there already
#   is there already, or late and like the version before     nothing
#   is late, and older than the stored content                its content, never its metadata
#   is late, and older than all captures before               the stored metadata, with its date as `first_seen`
#   is late, between the stored content and its repeat        its content; the repeat becomes a version
#   is late, and the first page before a 304 without content  everything, also under the date of the 304
def decide(page: Page, stored: Stored, ttl: int | None) -> list[PageWrite]:
    """Return the writes for the `checked` *page*, given the *stored* state.

    For a 304 of a URL that is not stored, only metadata are written, and so they are for a repeat that names the date
    of its content (`content_at`) until that content is stored. If the same capture is stored already, nothing is
    written, except to mend the page (see `mended`). A page that repeats stored content (the same digest, status and
    redirect, or `same_as` its own URL) keeps that content, which is written again once half of its *ttl* (seconds) is
    over, so that it cannot expire while the page exists. Its inlinks are written again (`inlinks_at` is None) after
    half of their time to live, which is twice as long.
    """
    before = stored.page
    if before is None:
        return [_first(page).dated(None, page.fetched_at, ttl)]
    seen = _first_seen([page.fetched_at], before)
    done = [write.dated(before, seen, ttl) for write in _decided(page, before, stored.versions, ttl)]
    if any(write.with_metadata for write in done):
        return done
    return done if (mend := mended(stored, page.fetched_at)) is None else [*done, mend]


def decide_open(page: Page, stored: Stored) -> list[PageWrite] | None:
    """Return the writes for a capture that repeats content which is not stored; None if it is stored itself.

    Its metadata say what it repeats, and are the page's until that content comes; a late one writes nothing.
    """
    before = stored.page
    there = [version.capture for version in stored.versions if version.at == page.fetched_at]
    if any(version.digest is not None or version.status != page.status for version in there):
        return None
    if before is None:
        return [PageWrite(page, with_content=False).dated(None, page.fetched_at, None)]
    is_there = before.fetched_at == page.fetched_at and before.same_as is None
    if is_there and before.has_body:
        return None
    seen = _first_seen([page.fetched_at], before)
    if page.fetched_at >= before.fetched_at and not is_there:
        dated = replace(page, changed_at=before.changed_at, change_count=before.change_count)
        write = PageWrite(dated, with_content=False).dated(before, seen, None)
        return [] if write.page == before else [write]
    return [] if (mend := mended(stored, page.fetched_at)) is None else [mend]


# Writers, `verify` and repairs share this rule: two that mend one page write the same cells, under the dates of its
# captures.
def mended(stored: Stored, *dates: datetime) -> PageWrite | None:
    """Return the write that mends a page whose newest capture disagrees with its versions, or None if they agree.

    They disagree if two writers have stored captures without knowing of each other: the newest capture has content that
    is older than another version, or is a 304 without the content that was not modified; or the page was first seen
    after one of its versions, or after one of the *dates* of its captures.
    """
    page, versions = stored.page, stored.versions
    if page is None:
        return None
    seen = _first_seen([*dates, *(version.at for version in versions)], page)
    if (write := _founded(page, versions) if _lacks_content(page, versions) else _moved_on(page, versions)) is not None:
        # The other writer has removed inlinks with older dates than its own, so all of them are written again.
        return write.dated(replace(page, _content_at=write.page.stored.content_at, _inlinks_at=None), seen, None)
    if seen == page.first_seen:
        return None
    return PageWrite(replace(page, first_seen=seen), with_content=False, with_derived=False)


def _lacks_content(page: Page, versions: Sequence[Version]) -> bool:
    """Whether *page* is a 304 whose content another writer has stored meanwhile.

    A 304 that is itself a version counts only if it came after an error; otherwise it was put as a version.
    """
    before = next((version for version in versions if version.at < page.fetched_at), None)
    came_after_error = before is not None and before.capture.status >= 400
    return _is_unfounded(page) and (page.stored.content_at is None or came_after_error)


def _moved_on(page: Page, versions: Sequence[Version]) -> PageWrite | None:
    at = page.stored.content_at
    others = at and any(at < version.at <= page.fetched_at and _is_other(version.capture, page) for version in versions)
    return PageWrite(_moved(page, versions), content_of=page) if others else None


def _is_other(capture: Capture, page: Page) -> bool:
    return capture is not DAMAGED_CAPTURE and (page.digest is None or brought(capture) != brought(page))


def _founded(page: Page, versions: Sequence[Version]) -> PageWrite | None:
    write = _back_again(page, page, versions)
    if write.content_of is None:
        return None
    at = write.content_of.stored.content_at
    return write._replace(page=replace(write.page, changed_at=at, change_count=page.change_count))


def _first_seen(dates: Iterable[datetime], before: Page) -> datetime | None:
    """Return the date of the first capture ever stored, those of *dates* included."""
    return before.first_seen and min([before.first_seen, *dates])


def _first(page: Page) -> PageWrite:
    if page.same_as is not None and content_date(page) is not None:
        return _awaiting(page, 0)
    if page.status == 304 and page.same_as is not None:
        bare = replace(page, same_as=None, digest=None, size=None, _content_at=None)
        return PageWrite(bare, with_content=False)
    return PageWrite(_changed(page, 0))


def _awaiting(page: Page, count: int) -> PageWrite:
    """Return a repeat whose content is not stored yet: its metadata, which names the date of that content."""
    bare = replace(page, same_as=None, changed_at=page.stored.content_at, change_count=count, has_body=False)
    return PageWrite(bare, with_content=False)


def _is_unfounded(page: Page) -> bool:
    """Whether *page* is a 304 that was stored without the content that was not modified."""
    return page.status == 304 and page.digest is None and not page.has_body and page.same_as is None


def _decided(page: Page, before: Page, versions: Sequence[Version], ttl: int | None) -> list[PageWrite]:
    if page.fetched_at < before.fetched_at:
        return _late(page, before, versions)
    is_version, notes = page.stored.content_at == page.fetched_at, before.stored
    # Its content may have expired, or been deleted meanwhile; then it cannot be kept.
    is_lost = before.has_body and all(version.at != notes.content_at for version in versions)
    if is_lost:
        before = replace(before, has_body=False)
    elif _is_poorer(page, before):
        return []
    if before.same_as is not None and content_date(page) is None:
        return [_after_open(page, before, versions)]
    if page.same_as is not None:
        date = content_date(page)
        is_same = page.digest is not None and brought(page) == brought(before)
        if date is not None and date != notes.content_at and not is_same:
            return [_again_of(page, before, versions, date)]
        if date is None and page.status == 304 and before.status >= 400:
            return [_back_again(page, before, versions)]
        page = _repeated(page, before)
    if not _same(page, before):
        is_change = page.fetched_at > before.fetched_at and notes.content_at is not None
        return [PageWrite(_changed(page, before.change_count + is_change))]
    kept = replace(
        page,
        changed_at=before.changed_at,
        change_count=before.change_count,
        first_seen=before.first_seen,
        size=page.size if page.body is not None else before.size,
        has_body=before.has_body,
        truncated=before.truncated,
        outlink_count=before.outlink_count,
        _content_at=notes.content_at,
        _only_self_links=notes.only_self_links,
        _inlinks_at=notes.inlinks_at,
        _hints_at=notes.hints_at,
        _links_digest=notes.links_digest,
        _similarity=page.stored.similarity
        if page.fetched_at > before.fetched_at and notes.similarity is None
        else notes.similarity,
    )
    if not is_lost and replace(kept, body=None, outlinks=None, _payload_digest=None) == before:
        return []
    is_own = is_version and page.fetched_at > before.fetched_at
    is_whole = page.body is not None and not page.truncated
    is_better = page.body is not None and (not before.has_body or (is_whole and before.truncated))
    is_due = _is_due(page, before, ttl)
    if is_own or is_better or (is_due and (is_whole or (page.body is not None and before.truncated))):
        return [PageWrite(replace(_changed(page, before.change_count), changed_at=before.changed_at))]
    if is_due:
        digest = _payload_digest(versions, notes.content_at)
        return [PageWrite(replace(kept, _content_at=page.fetched_at, _payload_digest=digest), content_of=before)]
    return [PageWrite(kept, with_content=False)]


# Files of one crawl may have a response twice: whole, cut, and as a revisit without its original.
def _is_poorer(page: Page, before: Page | Capture, at: datetime | None = None) -> bool:
    """Whether *page* tells less of the response of a moment than what is stored of that moment (*at*)."""
    if page.fetched_at != (before.fetched_at if isinstance(before, Page) else at):
        return False
    if (page.status, page.redirect_to or before.redirect_to) != (before.status, before.redirect_to):
        # Another answer of that moment: the one that was put last stands.
        return page.status == 304 and before.status >= 400
    if page.body is not None:
        is_whole = before.digest is not None and (before.has_body if isinstance(before, Page) else True)
        size = before.size or 0
        return is_whole and page.truncated and (not before.truncated or (page.size or len(page.body)) < size)
    if isinstance(before, Page):
        has_more = before.has_body or (bool(before.outlink_count) and not page.outlinks)
    else:
        has_more = before.digest is not None
    return page.same_as is None and (has_more or (bool(before.title) and not page.title))


def _after_open(page: Page, before: Page, versions: Sequence[Version]) -> PageWrite:
    """Return the write for a capture that follows, or completes, an open revisit, after which nothing is known."""
    last = next((version for version in versions if version.at <= page.fetched_at), None)
    if page.same_as is not None:
        # A repeat of what is open itself: it takes the content that comes, as after a page that is not stored.
        bare = replace(page, same_as=None, digest=None, size=None, changed_at=None, _content_at=None)
        return PageWrite(replace(bare, change_count=before.change_count), with_content=False)
    if last is None:
        return PageWrite(_changed(page, before.change_count))
    if brought(last.capture) != brought(page):
        return PageWrite(_changed(page, before.change_count + 1))
    return PageWrite(replace(_changed(page, before.change_count), changed_at=last.at))


def _same(page: Page, before: Page) -> bool:
    has_content = page.digest is not None or (page.body is None and not before.has_body)
    own, other = ((p.digest, p.status, p.redirect_to) for p in (page, before))
    # Without a body the links are the content; a capture without links does not change them.
    same_links = (
        page.digest is not None or page.outlinks is None or page.stored.links_digest == before.stored.links_digest
    )
    return has_content and own == other and same_links


def _is_due(page: Page, before: Page, ttl: int | None) -> bool:
    since = before.stored.content_at
    if since is None or not (before.has_body or before.outlink_count):
        return False
    return is_over_half(since, page.fetched_at, ttl)


def _late(page: Page, before: Page, versions: Sequence[Version]) -> list[PageWrite]:
    """Return the writes for a capture older than the newest; never its metadata, which would not be read."""
    if page.same_as is not None:
        return []
    last = next((version for version in versions if version.at <= page.fetched_at), None)
    late = PageWrite(_changed(page, 0), with_metadata=False)
    is_stored = last is not None and last.at == page.fetched_at
    if last is not None and is_stored and _is_poorer(page, last.capture, last.at):
        return []
    content_at = before.stored.content_at
    if page.fetched_at == content_at and brought(page) == brought(before) and not is_stored:
        return [late, PageWrite(_with_content_of(before, page), with_content=False)]
    if last is not None and brought(last.capture) == brought(page) and (is_stored or page.stored.content_at is None):
        return []
    if before.same_as is not None:
        return [late]
    if content_at is None and page.status >= 400:
        return [late, PageWrite(_changed(before, before.change_count + 1))]
    # After an error only a page that is not an error is restored.
    if _is_unfounded(before) and (page.status < 300 or content_at is None):
        # With its own body and links, so that its inlinks are written with its date, like those of any content.
        founded = replace(_with_content_of(before, page), body=page.body)
        return [late, PageWrite(replace(_changed(founded, before.change_count), changed_at=page.fetched_at))]
    if content_at is None or page.fetched_at < content_at:
        return [late]
    # The page had other content in between, so its present content becomes a separate version, with its own date.
    return [late, PageWrite(_moved(before, versions), content_of=before)]


def _moved(page: Page, versions: Sequence[Version]) -> Page:
    at, count, digest = page.fetched_at, page.change_count + 2, _payload_digest(versions, page.stored.content_at)
    return replace(page, changed_at=at, change_count=count, _content_at=at, _payload_digest=digest)


def _payload_digest(versions: Sequence[Version], at: datetime | None) -> str | None:
    return next((version.capture._payload_digest for version in versions if version.at == at), None)


def _back_again(page: Page, before: Page, versions: Sequence[Version]) -> PageWrite:
    """Return the write for a 304 after an error page: it restores the content before the error."""
    count = before.change_count + 1
    # A late capture stored concurrently with a delete may have left a version after the page's own.
    earlier = (version for version in versions if version.at <= page.fetched_at)
    good = next((version for version in earlier if version.capture.status < 300), None)
    if good is None:
        return PageWrite(_changed(page, count))
    return _again(page, before, good)


def _again_of(page: Page, before: Page, versions: Sequence[Version], date: datetime) -> PageWrite:
    """Return the write for a repeat of the content of that *date*, which is not the content *before*."""
    content = next((version for version in versions if version.at == date), None)
    return _awaiting(page, before.change_count + 1) if content is None else _again(page, before, content)


def _again(page: Page, before: Page, version: Version) -> PageWrite:
    """Return the write of *page*, which repeats an older *version*, as a new version with that content."""
    capture = version.capture
    again = replace(
        page,
        **response_fields(page, capture),
        **repeated_content(page, capture),
        truncated=capture.truncated,
        _similarity=None,
        _payload_digest=capture._payload_digest,
    )
    content = {"digest": capture.digest, "size": capture.size, "truncated": capture.truncated}
    source = replace(before, _content_at=version.at, has_body=True, outlink_count=0, **content)
    return PageWrite(_changed(again, before.change_count + 1), content_of=source)


def _with_content_of(before: Page, page: Page) -> Page:
    """Return the repeat *before* with the fields of the late *page*, the capture that had its content."""
    return replace(
        _repeated(before, page),
        truncated=page.truncated,
        has_body=page.body is not None,
        outlinks=page.outlinks,
        outlink_count=page.outlink_count,
        _only_self_links=page.stored.only_self_links,
        _similarity=page.stored.similarity,
    )


def _repeated(page: Page, before: Page) -> Page:
    """Return a capture without a body with the fields of the stored content that it repeats."""
    return replace(
        page,
        same_as=None,
        **response_fields(page, before),
        **repeated_content(page, before),
        _links_digest=before.stored.links_digest,
    )


def response_fields(page: Page, before: Page | Capture) -> dict[str, Any]:
    """Return the fields of the response of *page*; fields that it does not have are taken from *before*.

    Its headers are its own, unless it is a 304, which has only some of them, or came without any. A repeat that names
    the date of its content is complete already.
    """
    if content_date(page) is not None:
        return {}
    headers = page.headers if isinstance(page.headers, Headers) else Headers(page.headers)
    if page.status == 304 or not headers:
        headers = freshened(before.headers, headers)
    return {**inherited(page, before), **repeated_facts(page, before, headers), "headers": headers}


def _changed(page: Page, count: int) -> Page:
    return replace(
        page,
        same_as=None,
        _repeats_at=None,
        changed_at=page.fetched_at,
        change_count=count,
        _content_at=page.fetched_at,
        has_body=page.body is not None,
    )
