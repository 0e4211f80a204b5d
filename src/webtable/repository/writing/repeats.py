"""Content that captures repeat: of another URL, which `same_as` names, or of another capture of their own URL."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from webtable.errors import DamagedRow, InvalidURL, WebTableError
from webtable.page.body import algorithm_of, payload_digest_of
from webtable.page.facts import repeated_facts
from webtable.page.page import BLANK, INHERITED_FROM_BODY, Page, inherited, repeated_content
from webtable.repository.links.inlink_cells import with_self_links
from webtable.repository.page_storage.decisions import response_fields
from webtable.repository.page_storage.state import CAPTURED, DAMAGED_CAPTURE, NEWEST, KeyedPage, PageWrite, Version
from webtable.repository.upkeep.revisits import other_scheme
from webtable.rowkey import WebKey, canonical_url
from webtable.rowkey.urls import canonical_or_none

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from webtable.repository.context import TableContext

Sources = dict[int, "Page | DamagedRow | None"]
"""The captures of a batch that repeat a certain capture or another URL, by their places, with its content.

None where that is not stored: the capture is an open revisit.
"""
NOT_MODIFIED = 304
MOST_COMPARED = 64
"""How many stored bodies are digested at most to find the one that a revisit names."""


def row_of(key: WebKey, page: Page) -> bytes | None:
    """Return the row of the URL that *page* repeats, or None."""
    if page.same_as is None:
        return None
    try:
        return key.encode(page.same_as)
    except InvalidURL:
        return None


def rows_for(key: WebKey, row: bytes, page: Page) -> tuple[bytes, ...]:
    """Return the rows that may have the content that *page*, of *row*, repeats, its own included; likely ones first."""
    repeated = row_of(key, page)
    if repeated is None or page.same_as is None or (repeated == row and not _is_named(page)):
        return (row,)
    # Crawlers follow redirects from http to https, and name an original by either.
    other = other_scheme(canonical_url(page.same_as))
    return tuple(dict.fromkeys((repeated, row if other is None else key.encode(other), row)))


class _Original(NamedTuple):
    """The capture that a revisit repeats: a version of the page of a row."""

    row: bytes
    version: Version

    @property
    def page(self) -> Page:
        """A page with which the content of the version is read."""
        capture = self.version.capture
        fields = {"digest": capture.digest, "size": capture.size, "truncated": capture.truncated}
        has_body = capture.digest is not None
        return replace(BLANK, **fields, _content_at=self.version.at, has_body=has_body, outlink_count=0)


def sources_of(context: TableContext, batch: Sequence[KeyedPage], room: int) -> tuple[Sources, int]:
    """The content that captures of *batch* repeat, of those that say so, and how many pages of *batch* that covers.

    It covers as many pages as repeat *room* bytes of stored content. A 304 that names no capture is left out: what is
    stored of its page decides.
    """
    repeating = {
        index: rows
        for index, (row, page) in enumerate(batch)
        if page.same_as is not None and page.body is None and page.stored.content_at is None
        if len(rows := rows_for(context.key, row, page)) > 1
        or (_is_own(page) and (_is_named(page) or page.status != NOT_MODIFIED))
    }
    if not repeating:
        return {}, len(batch)
    # The pages of all of them are read in one call, their contents one after another.
    finder = _Finder(context, set(chain.from_iterable(repeating.values())))
    sources: Sources = {}
    originals: dict[int, _Original] = {}
    for index, rows in repeating.items():
        row, page = batch[index]
        original = finder.original(page, row, rows)
        if not isinstance(original, _Original):
            sources[index] = original
        elif original.row == row and not _is_named(page):
            sources[index] = replace(page, same_as=page.url)
        elif finder.is_what_it_has(page, row, original):
            sources[index] = replace(page, same_as=page.url, _repeats_at=None, digest=original.version.capture.digest)
        else:
            originals[index] = original
    count = len(batch)
    contents: dict[tuple[bytes, datetime], Page | DamagedRow] = {}
    for index, original in originals.items():
        place = original.row, original.version.at
        if place not in contents:
            room -= original.version.capture.size or 0
            if room < 0 and contents:
                count = index
                break
            (contents[place],) = context.pages.contents_of([(original.row, original.page)])
        row, page = batch[index]
        sources[index] = _whole(page, row, original, context.key.url_of(original.row), contents[place])
    return {index: source for index, source in sources.items() if index < count}, count


def repeated_of(index: int, page: Page, sources: Sources) -> Page | DamagedRow | None:
    """Return the *page* at place *index* of a batch, which repeats another, with what that has, None without it.

    A page that has the content of its own URL already stays as it is.
    """
    if index in sources:
        return sources[index]
    return page if page.body is None and _is_own(page) else replace(page, same_as=None, _repeats_at=None)


def _is_own(page: Page) -> bool:
    """Whether *page* repeats its own URL, or a URL that no page can have."""
    return page.same_as is not None and canonical_or_none(page.same_as) == page.url


def _is_named(page: Page) -> bool:
    return page._repeats_at is not None or page._payload_digest is not None


# Other content is never taken: a revisit without its content can be completed later, a wrong body stays. pywb looks an
# original up in the same way.
class _Finder:
    """Finds the captures that revisits repeat among the versions of the pages of some *rows*.

    That is the capture of the URL and the date that the record names, else one of that URL, or of its own, with the
    digest that it names. A capture with another digest is never taken, nor one of another date if a date alone is
    named. A digest in a record is that of the payload as it was transferred: it is kept with a capture whose body was
    decoded, and computed from the body of any other.
    """

    def __init__(self, context: TableContext, rows: Collection[bytes]) -> None:
        self._context = context
        in_order = sorted(rows)
        self._states = dict(zip(in_order, context.pages.stored(in_order), strict=True))
        self._whole: set[bytes] = set()
        self._digests: dict[tuple[bytes, datetime, str], str | None] = {}

    def original(self, page: Page, own: bytes, rows: Sequence[bytes]) -> _Original | DamagedRow | None:
        """Return the capture that *page* repeats, in one of *rows*; the row *own* is that of its URL."""
        targets = [row for row in rows if row != own or _is_own(page)]
        original = self._stored(page, targets, rows)
        # Read only if the newest eight do not have it: for most captures they do.
        more = [row for row in rows if len(self._states[row].versions) >= NEWEST and row not in self._whole]
        if original is None and more and self._context.layout.versions > NEWEST:
            self._whole.update(more)
            self._states.update(zip(more, self._context.pages.stored(more, self._context.layout.versions), strict=True))
            original = self._stored(page, targets, rows)
        return original or self._of_body(page, rows)

    def is_what_it_has(self, page: Page, row: bytes, original: _Original) -> bool:
        """Whether *original* is the content that the page of *row* has until *page*, so that it need not be read."""
        before = self._states[row].page
        return (
            original.row == row
            and before is not None
            and before.same_as is None
            and before.has_body
            and before.stored.content_at == original.version.at
            and before.fetched_at <= page.fetched_at
            and not (page.status == NOT_MODIFIED and before.status >= 400)
        )

    def _stored(self, page: Page, targets: Sequence[bytes], rows: Sequence[bytes]) -> _Original | DamagedRow | None:
        # Where the date is named and the digest differs, it is another capture.
        at, digest = page._repeats_at, page._payload_digest
        for row in targets:
            if (unreadable := self._states[row].unreadable) is not None:
                return unreadable.error
            version = self._last(row, page) if not _is_named(page) else None
            if at is not None:
                version = self._dated(row, at, digest)
            if version is not None:
                return self._original(row, version)
        for row in rows if digest is not None else ():
            same = [
                candidate for candidate in self._states[row].versions if candidate.capture._payload_digest == digest
            ]
            if same:
                # The same payload has the same content, whichever of its captures it is.
                return self._original(row, same[0])
        if at is not None and digest is None and page.status == NOT_MODIFIED:
            versions = ((row, self._around(row, at)) for row in targets)
            return next((self._original(row, version) for row, version in versions if version is not None), None)
        return None

    def _original(self, row: bytes, version: Version) -> _Original | DamagedRow:
        if version.capture is DAMAGED_CAPTURE:
            return self._context.codec.damaged(row, self._context.codec.columns.capture, f"the capture of {version.at}")
        return _Original(row, version)

    def _last(self, row: bytes, page: Page) -> Version | None:
        """Return the version that the page of *row* had at the date of *page*; None after an open revisit."""
        newest = self._states[row].page
        if newest is not None and newest.same_as is not None and newest.fetched_at < page.fetched_at:
            return None
        return self._as_of(row, page.fetched_at)

    def _as_of(self, row: bytes, moment: datetime) -> Version | None:
        return next((version for version in self._states[row].versions if version.at <= moment), None)

    def _dated(self, row: bytes, at: datetime, digest: str | None) -> Version | None:
        """Return the version of the capture dated *at*, unless it has another *digest*.

        Dates are often cut to the second.
        """
        state = self._states[row]
        dated = [version for version in state.versions if version.at == at]
        if not dated and not at.microsecond:
            dated = [version for version in state.versions if version.at.replace(microsecond=0) == at]
        newest = state.page
        if not dated and newest is not None and newest.same_as is None:
            # It found the content unchanged, so that its date is not that of a version.
            fetched_at = newest.fetched_at if at.microsecond else newest.fetched_at.replace(microsecond=0)
            same = [
                version for version in state.versions if fetched_at == at and version.at == newest.stored.content_at
            ]
            # If it was encoded, the digest of this capture is not known.
            return next(
                (
                    version
                    for version in same
                    if version.capture._payload_digest or self._may_have(row, version, digest)
                ),
                None,
            )
        return next((version for version in dated if self._may_have(row, version, digest)), None)

    def _around(self, row: bytes, at: datetime) -> Version | None:
        """Return the version that the page had before *at* and has had since, so that a 304 has named it."""
        newest, version = self._states[row].page, self._as_of(row, at)
        if newest is None or version is None or newest.stored.content_at != version.at or newest.fetched_at < at:
            return None
        return version

    def _of_body(self, page: Page, rows: Sequence[bytes]) -> _Original | None:
        """Return the newest capture whose body has the digest that *page* names."""
        digest = page._payload_digest
        if digest is None:
            return None
        versions = [
            (row, version) for row in rows for version in self._states[row].versions if not _is_other(version, digest)
        ]
        compared = sorted(versions, key=lambda each: each[1].at > page.fetched_at)[:MOST_COMPARED]
        return next(
            (_Original(row, version) for row, version in compared if self._has_digest(row, version, digest)), None
        )

    def _may_have(self, row: bytes, version: Version, digest: str | None) -> bool:
        """Whether *version* has this payload *digest*, if any; one that was cut may have any."""
        capture = version.capture
        if digest is None or capture is DAMAGED_CAPTURE or (capture.truncated and not _is_other(version, digest)):
            return True
        return self._has_digest(row, version, digest)

    def _has_digest(self, row: bytes, version: Version, digest: str) -> bool:
        if version.capture._payload_digest is not None:
            return version.capture._payload_digest == digest
        if version.capture.digest is None:
            return False
        # Of a body that was stored as it was sent the digest is not kept: it is computed, once.
        place = row, version.at, algorithm_of(digest)
        if place not in self._digests:
            (content,) = self._context.pages.contents_of([(row, _Original(row, version).page)])
            body = content.body if isinstance(content, Page) else None
            self._digests[place] = None if body is None else payload_digest_of(body, algorithm_of(digest))
        return self._digests[place] == digest


def _is_other(version: Version, digest: str | None) -> bool:
    """Whether *version* is known to have another payload digest than *digest*."""
    own = version.capture._payload_digest
    return own is not None and digest is not None and own != digest and algorithm_of(own) == algorithm_of(digest)


def _whole(
    page: Page, row: bytes, original: _Original, url: str, content: Page | DamagedRow
) -> Page | DamagedRow | None:
    """Return *page*, of *row*, with the *content* of its original, a capture of *url*; None if that has expired."""
    capture = original.version.capture
    # Nothing damaged is written again, under another date.
    if isinstance(content, DamagedRow):
        return content
    if capture.digest is not None and content.body is None:
        return None
    if original.row == row:
        own = response_fields(page, capture)
    else:
        source = replace(BLANK, url=url, **{name: getattr(capture, name) for name in CAPTURED})
        own = {
            **inherited(page, capture, INHERITED_FROM_BODY),
            **repeated_facts(page, source, page.headers),
        }
    links = content.outlinks
    return with_self_links(
        replace(
            page,
            same_as=None,
            _repeats_at=None,
            **own,
            **repeated_content(page, capture),
            body=content.body,
            truncated=capture.truncated,
            outlinks=links,
            outlink_count=None if links is None else len(links),
        )
    )


def restored(context: TableContext, writes: Sequence[tuple[bytes, PageWrite]]) -> list[Page | WebTableError]:
    """Return the page of each of *writes*, given with their rows, as it is to be written.

    A page whose stored content is written again gets that content; if it is lost, the error is returned in its place.
    """
    pages: list[Page | WebTableError] = [write.page for _, write in writes]
    repeating = [(at, row, write.content_of) for at, (row, write) in enumerate(writes) if write.content_of]
    try:
        contents = context.pages.contents_of([(row, source) for _, row, source in repeating])
    except WebTableError as exc:
        for at, _, _ in repeating:
            pages[at] = exc
        return pages
    for (at, _, _), content in zip(repeating, contents, strict=True):
        pages[at] = content if isinstance(content, DamagedRow) else _with_content(writes[at][1].page, content)
    return pages


def _with_content(page: Page, content: Page) -> Page:
    links = content.outlinks
    return with_self_links(
        replace(
            page,
            body=content.body,
            has_body=content.body is not None,
            outlinks=links,
            outlink_count=None if links is None else len(links),
        )
    )
