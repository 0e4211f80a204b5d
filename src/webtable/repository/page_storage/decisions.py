"""Decisions about captures, given the stored state of their page: new content, repeated content, or a late capture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from webtable.page.facts import repeated_facts
from webtable.page.headers import Headers, freshened
from webtable.page.page import BLANK, INHERITED_FROM_RESPONSE, Page, inherited, repeated_content
from webtable.page.parts import SAID, SHARED
from webtable.repository.page_storage.state import (
    DAMAGED_CAPTURE,
    Capture,
    Content,
    PageWrite,
    Stored,
    Version,
    brought,
    content_date,
    is_over_half,
    saying,
)
from webtable.repository.page_storage.timeline import (
    NO_CONTENT,
    Event,
    begins,
    changed_since,
    changes,
    dates_in,
    events_of,
    following,
    is_bare,
    merged,
    own_facts,
    replayed,
    with_date,
    with_last,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from webtable.page.parts import SharedFact


# The date of a cell is the `fetched_at` of the page. So a capture that is stored twice changes nothing: a retry, a
# replayed WARC file or a killed crawl is harmless, and a late capture takes its place in the history.
#
#   the capture                                               what is written
#   is the first                                              everything
#   has another digest, status or redirect                    everything; `change_count` goes up
#   repeats content, and says something else of itself        everything, with the stored body; `change_count` goes up
#   repeats what is stored (the same, a 304, a revisit)       metadata; `content_at` says where the body is
#   repeats it after half of the TTL                          everything, so that content outlives no page
#   has a body where only a cut one, or none, is stored       everything; no change
#   is a 304 after an error page                              the content before the error, as a version
#   is a 304 of a URL that is not stored                      metadata with status 304: no content, no change
#   repeats the content of a date that is not stored          metadata, until the capture of that date comes
#   is a revisit whose original is not stored                 metadata if it is the newest; and itself, apart
#   says less of the moment of a stored capture               nothing
#   is a version of its own (`content_at` is its date)        everything, also what is there already
#   is there already                                          nothing
#   is late                                                   what differs if all known captures are replayed with it
def decide(page: Page, stored: Stored, ttl: int | None) -> list[PageWrite]:
    """Return the writes for the `checked` *page*, given the *stored* state.

    For a 304 of a URL that is not stored, only metadata are written, and so they are for a repeat that names the date
    of its content (`content_at`) until that content is stored. If the same capture is stored already, nothing is
    written, except to mend the page (see `mended`). A page that repeats stored content (the same digest, status,
    redirect and facts, or `same_as` its own URL) keeps that content, which is written again once half of its *ttl*
    (seconds) is over, so that it cannot expire while the page exists. Its inlinks are written again (`inlinks_at` is
    None) after half of their time to live, which is twice as long.
    """
    before = stored.page
    follows = following(page) if follows_others(page) else None
    if before is None:
        write = _first(page)
        return [write.dated(None, page.fetched_at, ttl, _noted(write, None, follows=follows))]
    if page.fetched_at < before.fetched_at:
        done = _late(page, stored, ttl)
    else:
        seen = _first_seen([page.fetched_at], before)
        decided = _decided(page, before, stored.versions, ttl)
        done = [write.dated(before, seen, ttl, _noted(write, before, follows=follows)) for write in decided]
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
        return [PageWrite(page, with_content=False).dated(None, page.fetched_at, None, None)]
    is_there = before.fetched_at == page.fetched_at and before.same_as is None
    if is_there and before.has_body:
        return None
    seen = _first_seen([page.fetched_at], before)
    if page.fetched_at >= before.fetched_at and not is_there:
        dated = replace(page, changed_at=before.changed_at, change_count=before.change_count)
        write = PageWrite(dated, with_content=False).dated(before, seen, None, before._unchanged)
        return [] if write.page == before else [write]
    return [] if (mend := mended(stored, page.fetched_at)) is None else [mend]


# Writers, `verify` and repairs share this rule: two that mend one page write the same cells, under the dates of its
# captures.
def mended(stored: Stored, *dates: datetime, unchanged: str | None = None) -> PageWrite | None:
    """Return the write that mends a page whose newest capture disagrees with its versions, or None if they agree.

    They disagree if two writers have stored captures without knowing of each other: the newest capture has content that
    is older than another version, or is a 304 without the content that was not modified; or the page was first seen
    after one of its versions, or after one of the *dates* of its captures. Of these captures the writer also knows
    which dates it has noted as *unchanged*, and they may have changed how often the page has changed.
    """
    page, versions = stored.page, stored.versions
    if page is None:
        return None
    noted = merged(page._unchanged, unchanged)
    seen = _first_seen([*dates, *(version.at for version in versions)], page)
    write = _founded(page, versions) if _lacks_content(page, versions) else _moved_on(page, versions)
    kept = _of_history(page, page.changed_at) if write is None else write
    if write is not None or dates:
        marked = replace(page, _unchanged=noted)
        contents = replayed(events_of(Stored(marked, versions)))
        count = max(page.change_count, changes(contents))
        changed_at = changed_since(contents, kept.page.changed_at)
        has_late = page._has_late or write is not None or (count, changed_at) != (page.change_count, page.changed_at)
        counted = {"change_count": count, "changed_at": changed_at, "_unchanged": noted, "_has_late": has_late}
        kept = kept._replace(page=replace(kept.page, **counted))
        if write is None:
            kept = _of_history(kept.page, page.changed_at)
    if write is not None:
        # The other writer has removed inlinks with older dates than its own, so all of them are written again.
        return kept.dated(replace(page, _content_at=write.page.stored.content_at, _inlinks_at=None), seen, None, noted)
    kept = kept._replace(page=replace(kept.page, first_seen=seen))
    if kept.page == page:
        return None
    return kept.dated(page, seen, None, noted) if kept.changes_derived else kept


def _of_history(page: Page, changed_at: datetime | None) -> PageWrite:
    """Return the write of the newest capture *page*, of which the history alone changes.

    The index of times has an entry for the date of the change, which was *changed_at*.
    """
    return PageWrite(page, with_content=False, with_derived=page.changed_at != changed_at, with_links=False)


def _lacks_content(page: Page, versions: Sequence[Version]) -> bool:
    """Whether *page* is a 304 whose content another writer has stored meanwhile.

    A 304 that is itself a version counts only if it came after an error; otherwise it was put as a version.
    """
    before = next((version for version in versions if version.at < page.fetched_at), None)
    came_after_error = before is not None and before.capture.status >= 400
    return is_bare(page) and (page.stored.content_at is None or came_after_error)


def _moved_on(page: Page, versions: Sequence[Version]) -> PageWrite | None:
    at = page.stored.content_at
    others = [
        version
        for version in versions
        if at and at < version.at <= page.fetched_at and _is_other(version.capture, page)
    ]
    if not others:
        return None
    if dates_in(page._unchanged).get(page.fetched_at) is not None and others[0].capture.status < 400:
        return _again(_without(page, versions), page, others[0])  # a 304 has what the other writer has stored before it
    return PageWrite(_moved(page, versions), content_of=page)


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


def follows_others(page: Page) -> bool:
    """Whether *page* has whatever was there before it, as a 304; it names neither content nor a capture."""
    return page.same_as is not None and page.digest is None and content_date(page) is None


def _noted(write: PageWrite, before: Page | None, *, follows: Mapping[SharedFact, str] | None) -> str | None:
    """Return the dates of the captures that found the content unchanged, after *write*, which replaces *before*.

    *follows* is what the headers of a 304 say, None for another capture.
    """
    at, text = write.page.fetched_at, None if before is None else before._unchanged
    is_noted = follows is not None or not write.with_content
    if before is None or at > before.fetched_at:
        return with_last(text, at, follows) if is_noted else text
    return with_date(text, at, follows, is_noted=is_noted)


def _decided(page: Page, before: Page, versions: Sequence[Version], ttl: int | None) -> list[PageWrite]:
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
        if follows_others(page) and before.status >= 400:
            return [_back_again(page, before, versions)]
        page = _repeated(page, before)
    if not _same(page, before):
        is_later = notes.content_at is not None and notes.content_at < page.fetched_at
        is_change = notes.content_at is not None and (page.fetched_at > before.fetched_at or is_later)
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
        _unchanged=before._unchanged,
        _has_late=before._has_late,
    )
    if not is_lost and replace(kept, body=None, outlinks=None, _payload_digest=None) == before:
        return []
    is_own = is_version and page.fetched_at > before.fetched_at
    is_whole = page.body is not None and not page.truncated
    is_better = page.body is not None and (not before.has_body or (is_whole and before.truncated))
    says_other = notes.content_at is not None and content_date(page) is None and brought(page) != brought(before)
    if says_other:
        is_later = max(before.fetched_at, notes.content_at or page.fetched_at) < page.fetched_at
        kept = replace(kept, changed_at=page.fetched_at, change_count=before.change_count + is_later)
    is_due = says_other or _is_due(page, before, ttl)
    has_content = before.has_body or (before.outlink_count and page.outlinks is None)
    is_content = is_whole or (page.body is not None and before.truncated) or not has_content
    if is_own or is_better or (is_due and is_content):
        return [PageWrite(replace(_changed(page, kept.change_count), changed_at=kept.changed_at))]
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


# A late capture may be what a 304 after it has, and part what were captures of one content. So all captures that are
# known are replayed without it and with it, and what differs is written.
def _late(page: Page, stored: Stored, ttl: int | None) -> list[PageWrite]:
    """Return the writes for a capture older than the newest: its content, that of captures after it, and metadata."""
    late = _LateCapture(page, stored)
    return [] if late.says_nothing() else late.writes(ttl)


class _LateCapture:
    """A capture that is put after a later one, and what becomes of those after it."""

    def __init__(self, page: Page, stored: Stored) -> None:
        if stored.page is None:
            raise ValueError("a capture is only late after another one")
        self._page, self._newest, self._versions = page, stored.page, stored.versions
        self._known = events_of(stored)
        self._at = page.fetched_at
        is_awaited = self._at == self._newest._content_at and all(version.at != self._at for version in self._versions)
        if is_awaited:
            # What it says was not known; the captures that repeat it say the same.
            self._known = [
                event._replace(content=brought(page))
                if event.content is not None and event.content[:3] == brought(page)[:3]
                else event
                for event in self._known
            ]
        self._there = None if is_awaited else next((event for event in self._known if event.at == self._at), None)
        date = content_date(page) if page.same_as is not None else None
        self._repeated = next((version for version in stored.versions if version.at == date), None) if date else None
        self._is_lost = date is not None and self._repeated is None
        self._follows = follows_others(page)
        self._own = None if self._follows else brought(self._repeated.capture if self._repeated else page)

    def says_nothing(self) -> bool:
        """Whether nothing changes: the capture is there already, or a better record of its moment."""
        there, version = self._there, None if self._there is None else self._there.version
        if self._is_lost or (self._page.same_as is not None and not self._follows and self._repeated is None):
            return True
        if there is None or self._is_named():
            return False
        if version is not None and _is_poorer(self._page, version.capture, version.at):
            return True
        is_better = version is not None and version.capture.truncated and self._is_whole()
        return self._follows or (there.content == self._own and not is_better)

    def writes(self, ttl: int | None) -> list[PageWrite]:
        """Return what is written, the metadata of the newest capture last."""
        there, page = self._there, self._page
        own = own_facts(page) if self._follows else {}
        event = Event(self._at, self._own, None if there is None else there.version, own)
        known = [*(other for other in self._known if other.at != self._at), event]
        events = sorted(known, key=lambda event: event.at)
        self._before, self._now = replayed(self._known), replayed(events)
        self._begins = begins(self._now)
        self._written: set[datetime] = set()
        newest_at = self._newest.fetched_at
        writes = [write for event in events if event.at < newest_at and (write := self._version(event)) is not None]
        newest = self._newest_write(next((event for event in events if event.at == newest_at), None))
        follows = following(page) if self._follows else None
        text = with_date(newest.page._unchanged, self._at, follows, is_noted=not self._is_version(page))
        marked = replace(
            newest.page,
            first_seen=_first_seen([self._at], self._newest),
            change_count=max(0, self._newest.change_count + changes(self._now) - changes(self._before)),
            changed_at=self._changed_at(),
            _unchanged=text,
            _has_late=self._newest._has_late or bool(writes) or newest.with_content or newest.changes_derived,
        )
        if marked == self._newest and not newest.with_content:
            return writes
        newest = newest._replace(page=marked)
        if not newest.with_links:
            newest = _of_history(marked, self._newest.changed_at)
        return [*writes, newest.dated(self._newest, marked.first_seen, ttl, text) if newest.changes_derived else newest]

    def _is_version(self, page: Page) -> bool:
        return page.fetched_at in self._written and not self._follows

    def _is_named(self) -> bool:
        return self._page.stored.content_at == self._at

    def _is_whole(self) -> bool:
        return self._page.body is not None and not self._page.truncated

    def _version(self, event: Event) -> PageWrite | None:
        """Return the write of the version that *event* is now, None if that is stored, or it is none."""
        content = self._now[event.at]
        if content is None:
            return None
        is_stored = event.version is not None and brought(event.version.capture) == content
        is_own = event.at == self._at
        is_better = is_own and self._is_whole() and self._has_cut_before()
        if is_stored and not (is_better or (is_own and self._is_named())):
            return None
        if event.at not in self._begins and event.version is None and not (is_own and (is_better or self._is_named())):
            return None
        self._written.add(event.at)
        write = self._content(self._page if is_own else self._bare(event.at, content), content)
        return None if write is None else write._replace(with_metadata=False)

    def _bare(self, at: datetime, content: Content) -> Page:
        """Return a capture of which the date and the status are known."""
        return replace(BLANK, url=self._page.url, fetched_at=at, status=content[1])

    def _content(self, capture: Page, content: Content) -> PageWrite | None:
        """Return the write of *capture* as a version with this *content*, None if that is stored nowhere."""
        if capture is self._page and not self._follows and self._repeated is None:
            return PageWrite(_changed(capture, 0))
        if content[:3] == NO_CONTENT[:3]:
            return PageWrite(_changed(saying(replace(capture, status=304, digest=None, size=None), content[3]), 0))
        same = [version for version in self._versions if brought(version.capture) == content]
        is_own = self._own is not None and content[:3] == self._own[:3] and self._repeated is None
        if content == self._own or (is_own and not same):
            whole = replace(_with_content_of(capture, self._page), body=self._page.body)
            write = PageWrite(_changed(whole, 0))
        else:
            same = same or [version for version in self._versions if brought(version.capture)[:3] == content[:3]]
            if not same:
                return None
            # The newest until then, as an older one may have expired.
            version = next((version for version in same if version.at <= capture.fetched_at), same[-1])
            write = _again(capture, self._newest, version)
        # What its own headers say, where they are known, has been combined with what the HTML says.
        of_headers = following(capture) if capture.headers else {}
        combined = brought(write.page)[3]
        facts = [own if name in of_headers else now for name, own, now in zip(SAID, combined, content[3], strict=True)]
        return write._replace(page=saying(write.page, tuple(facts)))

    def _has_cut_before(self) -> bool:
        """Whether the content of this capture is stored cut, or without its body, when it was there last."""
        last = next((version for version in self._versions if version.at <= self._at), None)
        return last is not None and brought(last.capture) == self._own and last.capture.truncated

    def _newest_write(self, event: Event | None) -> PageWrite:
        """Return the write of the newest capture, whose content and its date may be others now."""
        newest, kept = self._newest, _of_history(self._newest, self._newest.changed_at)
        if event is None:
            return kept
        content, content_at = self._now[event.at], newest.stored.content_at
        if content is None:
            return kept
        since = self._begins[-1]
        if content == self._before.get(event.at):
            if self._at == content_at and content == self._own and not newest.has_body and not self._follows:
                return PageWrite(_with_content_of(newest, self._page), with_content=False)
            if self._is_whole() and newest.truncated and content == self._own and self._at >= since:
                return PageWrite(_with_content_of(newest, self._page), with_content=False)
            is_stored = any(v.at == content_at and brought(v.capture) == content for v in self._versions)
            if content_at is None or content_at >= since or not is_stored:
                return kept
            digest = _payload_digest(self._versions, content_at)
            moved = replace(newest, _content_at=since, _payload_digest=digest)
            if since == event.at:
                return PageWrite(moved, content_of=newest)
            return kept._replace(page=moved)
        own = _without(newest, self._versions)
        # Where a version is stored under its date, as of a 304 that restored what was before an error, it is replaced.
        if content == self._own and since == self._at and self._repeated is None and event.version is None:
            return PageWrite(replace(_with_content_of(own, self._page), _content_at=since), with_content=False)
        write = self._content(own, content) or kept
        was = self._before.get(event.at)
        # With another body its links are others too, which are written with a version.
        if event.version is None and since in self._written and (was is None or was[:3] == content[:3]):
            return write._replace(page=replace(write.page, _content_at=since), with_content=False)
        return write

    def _changed_at(self) -> datetime | None:
        last = begins(self._before)[-1:]
        if self._begins and self._begins[-1:] != last:
            return self._begins[-1]
        # Another writer may just have mended this date: what is written here must not undo that.
        return changed_since(self._now, self._newest.changed_at)


def _without(page: Page, versions: Sequence[Version]) -> Page:
    """Return *page*, a repeat, without what it has of the version that it repeats."""
    capture = next((version.capture for version in versions if version.at == page.stored.content_at), None)
    bare = {"digest": None, "size": None, "has_body": False, "outlink_count": None}
    own = replace(page, status=304, **bare, _content_at=None, _similarity=None)
    if capture is None:
        return own
    names = (*INHERITED_FROM_RESPONSE, *SHARED)
    others = {name: None for name in names if getattr(page, name) == getattr(capture, name)}
    headers = {name: value for name, value in page.headers.items() if capture.headers.get(name) != value}
    return replace(own, **others, headers=headers, language_detected=False, _html_facts=None)


def _moved(page: Page, versions: Sequence[Version]) -> Page:
    at, digest = page.fetched_at, _payload_digest(versions, page.stored.content_at)
    return replace(page, changed_at=at, _content_at=at, _payload_digest=digest)


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
