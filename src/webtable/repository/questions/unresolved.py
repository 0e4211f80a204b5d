"""The question for open revisits: captures whose content is that of another one, which is not stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from webtable.repository.answers.columns import column, declared
from webtable.repository.answers.listing import SITE, Listing
from webtable.repository.questions.rows import TableQuestion
from webtable.repository.upkeep.revisits import OpenRevisits, page_in, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.repository.answers.results import Explanation, Window
    from webtable.repository.context import Frame
    from webtable.repository.reading.damage import Damage
    from webtable.repository.reading.scope import Scope


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A capture of the page `url` whose content is not stored: it is that of a capture of the URL `original`.

    `original_at` and `payload_digest` are the date of that capture and the digest of its payload, as the revisit record
    names them; None where it does not.
    """

    url: str
    fetched_at: datetime
    original: str
    original_at: datetime | None
    payload_digest: str | None


UNRESOLVED = declared(
    Unresolved,
    "revisit",
    column("url", "url"),
    column("fetched_at", "time", heading="fetched"),
    column("original", "url"),
    column("original_at", "time", heading="original of"),
    column("payload_digest", "digest"),
    listed=("url", "fetched_at", "original", "original_at"),
)
LISTING = Listing(
    "unresolved",
    UNRESOLVED,
    orders=("url",),
    options=(SITE,),
    examples=(
        "webtable unresolved example.com",
        "webtable unresolved all --columns original,original_at --format csv",
    ),
    help="""List the captures whose content is that of another capture, which is not stored.

    Crawlers write such revisit records for what they have fetched before. They get their content when their originals
    are stored: ingest the files that have these.
    """,
)


class UnresolvedQuestion(TableQuestion[Unresolved]):
    """Which revisits of a scope are open."""

    def __init__(self, frame: Frame, scope: Scope, window: Window) -> None:
        super().__init__(frame, scope, window, LISTING)
        self.title: str = "open revisits" + (f" of {scope}" if scope.place is not None else "")
        self.revisits: OpenRevisits = OpenRevisits(frame.store, frame.table, frame.key)

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Unresolved]:
        del expected, damage  # what cannot be read stays out, as it can never be completed
        contains, part = self.scope.contains(), self.frame.keys_of(self.frame.table)
        for row in self.revisits.rows([self.scope.unsalted()], after):
            page, key = page_in(row), place_of(row).rpartition(b"\0")[0]
            if page is not None and (contains is None or contains(key)) and self.frame.key.salted(key) in part:
                original = page.same_as or page.url
                yield Unresolved(page.url, page.fetched_at, original, page._repeats_at, page._payload_digest)

    def place(self, result: Unresolved) -> bytes:
        return self.revisits.place(result.url, result.fetched_at)

    def explain(self) -> Explanation:
        return self.plan(("queue:capture",), (self.revisits.range_of(self.scope.unsalted()),), "rows of the queue")
