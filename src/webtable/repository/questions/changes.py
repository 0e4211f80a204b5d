"""The question for the changes of pages between two moments: which are new, gone, moved, missing, changed, unchanged.

The newest metadata of a page is enough if its content is older than a moment, or its first capture later. For other
pages the list of versions is read, without bodies, many at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import msgspec

from webtable._clock import milliseconds
from webtable.errors import DamagedRow, InvalidArgument
from webtable.page.page import Page, charset_of, media_of
from webtable.repository.answers.columns import Column, Form, column, declared
from webtable.repository.answers.listing import BY_URL, SITE, Listing, ListingOption
from webtable.repository.arguments import TIME_FORMS, Moment, moments, said_time
from webtable.repository.page_storage.cells import together
from webtable.repository.page_storage.state import brought
from webtable.repository.questions.findings import label_of, problems_of
from webtable.repository.questions.page import versions_in
from webtable.repository.questions.pages import ScopeQuestion, pieces_of
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from webtable.repository.answers.results import Window
    from webtable.repository.context import TableContext
    from webtable.repository.reading.read_ahead import Damage
    from webtable.repository.reading.scope import Scope


ChangeKind = Literal["new", "gone", "moved", "missing", "changed", "unchanged"]
"""How a page has changed between two moments."""
CHANGE_KINDS: tuple[ChangeKind, ...] = get_args(ChangeKind)
CHANGED: tuple[ChangeKind, ...] = ("new", "gone", "moved", "changed")
"""The kinds that captures show; a page that was not met again may be as it was."""
_GONE = (404, 410)
ChangedField = Literal[
    "content",
    "status",
    "redirect_to",
    "content_type",
    "title",
    "canonical",
    "description",
    "robots",
    "h1",
    "language",
    "other_canonical",
    "robots_by_bot",
]
"""What is compared of a page: the content is its body, the others are fields of `Page`."""
_COMPARED: tuple[ChangedField, ...] = get_args(ChangedField)
IgnoredContent = Literal["boilerplate"]
"""What of a body may change without the page being changed: what surrounds its main text, and its markup."""


PAGES_AT_ONCE = 256
"""The versions of how many pages, without bodies, are read at once."""
VERSIONS_AT_ONCE = 16
"""How many versions of each page are read first; if they are too new to answer, all are read."""


@dataclass(frozen=True, slots=True)
class Change:
    """The change of the page `url` between two moments: its `kind`, and the page `before` and `after`.

    Both are without body and links. If a page still has the content that it had at a moment, its newest capture, which
    may be later, represents it. None means that the page was not stored, or that its version is no longer kept.
    """

    kind: ChangeKind
    url: str
    before: Page | None
    after: Page | None

    @property
    def changed(self) -> tuple[ChangedField, ...]:
        """What differs, by the names of fields (`content` for the body); empty if one of the two is None."""
        before, after = self.before, self.after
        if before is None or after is None or before is after:
            return ()
        values = zip(_COMPARED, _compared(before), _compared(after), strict=True)
        return tuple(name for name, old, new in values if old != new)


def _compared(page: Page) -> tuple[object, ...]:
    digest, status, redirect_to, facts = brought(page)
    return digest, status, redirect_to, page.content_type, *facts


def _sides(name: str, form: Form, field: str, **more: str) -> list[Column]:
    """Return the columns of a *field* of the page before and after a change; *more* are their headings."""

    def value(side: str) -> Callable[[Change], Any]:
        return lambda change: getattr(getattr(change, side), field, None)

    return [column(f"{name}_{side}", form, value(side), heading=more.get(side)) for side in ("before", "after")]


PAGE_CHANGES = declared(
    Change,
    "change",
    column("url", "url"),
    column("kind"),
    *_sides("status", "status", "status", before="was", after="status"),
    *_sides("title", "title", "title", after="title"),
    *_sides("size", "bytes", "size"),
    *_sides("redirect", "text", "redirect_to"),
    *_sides("digest", "digest", "digest"),
    *_sides("fetched", "time", "fetched_at"),
    column("changed", "urls", lambda change: list(change.changed) or None),
    listed=("url", "kind", "changed", "status_before", "status_after", "title_after"),
)
"""The page before and after."""


class Period(NamedTuple):
    """The time between two moments in epoch milliseconds; without an end it lasts until now.

    What was last fetched before `met_since` was not met again.
    """

    since: int
    until: int | None
    met_since: int


class _Absent(NamedTuple):
    """Stands for a page at a moment: its version was `stored` and is no longer kept, or the page was not stored."""

    was_stored: bool


_At = Page | _Absent | DamagedRow
_LOST, _NOT_THERE = _Absent(True), _Absent(False)


SINCE = ListingOption("since", f"The time to compare with: {TIME_FORMS}.", "time", metavar="TIME", example="3d")
UNTIL = ListingOption("until", "The time that is compared. Default: now.", "time", metavar="TIME")
MET_SINCE = ListingOption(
    "met_since",
    "When the later crawl began: pages last fetched before are missing. Default: since.",
    "time",
    metavar="TIME",
)
IGNORE = ListingOption(
    "ignore",
    "Count a body as unchanged if its main text is: comments, tokens, markup, navigation. Reads these bodies.",
    choices=get_args(IgnoredContent),
)
LISTING = Listing(
    "changes",
    PAGE_CHANGES,
    orders=BY_URL,
    options=(
        SITE,
        SINCE,
        UNTIL,
        MET_SINCE,
        ListingOption(
            "kind",
            "Only these (repeatable). Default: new, gone, moved, changed.",
            choices=CHANGE_KINDS,
            is_many=True,
        ),
        ListingOption(
            "fields",
            "Only pages of which this has changed (repeatable).",
            flag="field",
            choices=_COMPARED,
            is_many=True,
        ),
        IGNORE,
    ),
    examples=(
        "webtable changes example.com --since 7d",
        "webtable changes example.com --since 2026-11-01 --until 2026-11-08 --kind new --kind gone",
        "webtable changes example.com --since 7d --field robots --field canonical",
        "webtable changes example.com --since 7d --ignore boilerplate --format csv > changes.csv",
    ),
    help="""List the pages of a host, and of all hosts below it, that are new, gone, moved or changed since a time.

    A page is gone if its status was below 400 and is 404 or 410 now; moved if it redirects now; missing if it was not
    fetched again. The column `changed` says what differs.
    """,
)


class ChangesQuestion(ScopeQuestion[Change]):
    """How the pages of a scope have changed between two times."""

    listing = LISTING
    notes: Sequence[str] = (
        f"for pages whose content has changed since, the list of versions is read, {PAGES_AT_ONCE} pages a call",
    )

    def __init__(
        self,
        context: TableContext,
        scope: Scope,
        window: Window,
        since: Moment | None,
        until: Moment | None,
        met_since: Moment | None,
        kind: ChangeKind | Collection[ChangeKind] | None,
        fields: ChangedField | Collection[ChangedField] | None,
        ignore: IgnoredContent | None,
    ) -> None:
        super().__init__(context, scope, window)
        self.kinds: tuple[ChangeKind, ...] = _kinds(kind)
        self.fields: frozenset[str] | None = problems_of(fields, ChangedField, "fields")
        self.ignored: frozenset[str] | None = problems_of(ignore, IgnoredContent, "ignore")
        first, last, met = moments(since=since, until=until, met_since=met_since).values()
        if first is None:
            raise InvalidArgument("since= must be given: the moment to compare with")
        begin, end = milliseconds(first), None if last is None else milliseconds(last)
        # Captures of the first moment are of the earlier crawl, those of the last one of the later.
        self.period: Period = Period(begin, end, min(begin + 1, end or begin + 1) if met is None else milliseconds(met))
        times = f"since {said_time(first)}" if last is None else f"from {said_time(first)} to {said_time(last)}"
        only = f"{label_of(self.fields)}{', by main text' if self.ignored else ''}"
        self.title: str = f"{self.pages.label} that are {' or '.join(self.kinds)}, {times}{only}"

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Change]:
        pages = self.pages.pages(self.pages.spec(expected=expected), self.window.order, after, damage)
        fields = self.fields
        changes = damage.sift(changes_of(self.context, pages, self.period, expected))
        changes = (change for change in changes if fields is None or not fields.isdisjoint(change.changed))
        if self.ignored:
            changes = _by_main_text(self.context, changes, expected)
        return (change for change in changes if change.kind in self.kinds)


def _kinds(kind: ChangeKind | Collection[ChangeKind] | None) -> tuple[ChangeKind, ...]:
    wanted = CHANGED if kind is None else (kind,) if isinstance(kind, str) else tuple(kind)
    unknown = [name for name in wanted if name not in CHANGE_KINDS]
    if unknown or not wanted:
        raise InvalidArgument(f"kind={kind!r} must be one of {', '.join(CHANGE_KINDS)}, or several")
    return tuple(name for name in CHANGE_KINDS if name in wanted)


def changes_of(
    context: TableContext, pages: Iterator[Page], period: Period, expected: int | None
) -> Iterator[Change | DamagedRow]:
    """Yield the change of each of *pages*, in their order; nothing for pages that were first stored later."""
    for batch in pieces_of(pages, expected, PAGES_AT_ONCE):
        needed = [context.key.encode(page.url) for page in batch if _needs_versions(page, period)]
        versions = _versions(context, needed, period.since)
        for page in batch:
            change = _change(page, period, versions.get(page.url, ()))
            if change is not None:
                yield change


def _by_main_text(context: TableContext, changes: Iterator[Change], expected: int | None) -> Iterator[Change]:
    """Yield *changes*, of which those are "unchanged" that do not touch the main text of a page."""
    for batch in pieces_of(changes, expected, PAGES_AT_ONCE):
        sizes = ((change, sum(side.size or 0 for side in _bodies(change))) for change in batch)
        for piece in together(sizes):
            pages = [(context.key.encode(page.url), page) for change in piece for page in _bodies(change)]
            texts = map(_main_text, context.pages.contents_of(pages)) if pages else iter(())
            for change in piece:
                sides = [next(texts) for _ in _bodies(change)]
                is_same = bool(sides) and None not in sides and len(set(sides)) == 1
                yield replace(change, kind="unchanged") if is_same else change


def _bodies(change: Change) -> list[Page]:
    """Return both sides of a *change* of the body alone, as pages whose bodies can be read; else none."""
    if change.kind != "changed" or change.changed != ("content",):
        return []
    return [
        msgspec.structs.replace(side, has_body=side.digest is not None, outlink_count=None)
        for side in (change.before, change.after)
        if side is not None
    ]


def _main_text(page: Page | DamagedRow) -> str | None:
    if isinstance(page, DamagedRow) or page.body is None:
        return None
    from webtable.page.extract import main_content  # it imports parsers, which only this needs

    content = main_content(page.body, charset_of(page), media_of(page))
    return None if content is None else content.text


def _versions(
    context: TableContext, rows: Sequence[bytes], since: int
) -> Mapping[str, Sequence[tuple[int, Page | DamagedRow]]]:
    """Return the versions of the pages of *rows* down to the moment *since*, newest first, by their URLs."""
    if not rows:
        return {}
    # All of them, not a time range, in which HBase may also find versions that it is about to remove.
    column, limit = context.codec.columns.capture, context.layouts.recent().versions
    stored = context.store.read(context.table, rows, Wanted([column], versions=min(limit, VERSIONS_AT_ONCE)))
    for place, row in enumerate(stored):
        cells = () if row is None else row.cells[column]
        if row is not None and VERSIONS_AT_ONCE == len(cells) < limit and cells[-1].timestamp > since:
            (stored[place],) = context.store.read(context.table, [row.key], Wanted([column], versions=limit))
    return {context.key.url_of(row.key): list(versions_in(context, row)) for row in stored if row is not None}


def _needs_versions(page: Page, period: Period) -> bool:
    if _newest_at(page, period.until) is _NOT_THERE:
        return False
    return _newest_at(page, period.since) is None or _newest_at(page, period.until) is None


def _newest_at(page: Page, moment: int | None) -> _At | None:
    """Return the page at a *moment* as far as its newest capture shows; None if it does not."""
    if moment is None or milliseconds(page.fetched_at) <= moment:
        return page
    if page.first_seen is not None and milliseconds(page.first_seen) > moment:
        return _NOT_THERE
    # By the date of the stored content, not by `changed_at`: a late capture after content that was written again leaves
    # that as it is.
    return page if (at := page.stored.content_at) is None or milliseconds(at) <= moment else None


def _at(page: Page, moment: int | None, versions: Sequence[tuple[int, Page | DamagedRow]]) -> _At:
    """Return the page at a *moment*, by its newest capture or else by its *versions*."""
    newest = _newest_at(page, moment)
    if newest is not None or moment is None:
        return page if newest is None else newest
    return next((version for at, version in versions if at <= moment), _LOST)


def _change(
    page: Page, period: Period, versions: Sequence[tuple[int, Page | DamagedRow]]
) -> Change | DamagedRow | None:
    before, after = _at(page, period.since, versions), _at(page, period.until, versions)
    # First stored later: of a deleted page nothing is left, so it is never in the answer.
    if after is _NOT_THERE:
        return None
    damaged = next((side for side in (before, after) if isinstance(side, DamagedRow)), None)
    if damaged is not None:
        return damaged
    pages = [side if isinstance(side, Page) else None for side in (before, after)]
    # The newest capture tells: of one that was fetched later it is not known when it was met before, unless it changed.
    is_met = milliseconds(page.fetched_at) >= period.met_since
    kind: ChangeKind = "new" if before is _NOT_THERE else _kind(*pages) if is_met else "missing"
    return Change(kind, page.url, *pages)


def _kind(before: Page | None, after: Page | None) -> ChangeKind:
    # One of the two is no longer kept: only new content pushes a version out.
    if before is None or after is None:
        return "changed"
    if before.status < 400 and after.status in _GONE:
        return "gone"
    if before.redirect_to is None and after.redirect_to is not None and 300 <= after.status < 400:
        return "moved"
    return "unchanged" if brought(before) == brought(after) else "changed"
