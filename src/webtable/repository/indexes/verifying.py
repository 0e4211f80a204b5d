"""Comparing an index with its table, both ways, and repairing what differs.

Two kinds of differences are drift. An entry is *missing* where a page has none that it should have: questions miss that
page. An entry is *stale* where its page has moved on: questions read it in vain. A third kind is none: an entry that is
not older than its page, or that has no page, belongs to a capture that is being stored just now, or to one whose writer
was killed and that may be stored again. It must stay, because removing it would hide it from then on: a delete in HBase
also hides what is put later with the same timestamp.
"""

from __future__ import annotations

from datetime import UTC, datetime

from webtable.repository.indexes.comparing import SETTLE_SECONDS, Drift
from webtable.repository.indexes.entries import EntryComparison
from webtable.repository.indexes.managing import IndexManagement, Progress
from webtable.repository.indexes.web import LINK
from webtable.repository.links.comparing import InlinkComparison
from webtable.repository.questions.base import check_times


class IndexVerification(IndexManagement):
    """Comparing the indexes of a table with its pages."""

    def verify_index(
        self,
        index: str,
        *,
        as_of: datetime | None = None,
        on_progress: Progress | None = None,
        settle: float = SETTLE_SECONDS,
    ) -> Drift:
        """Return how *index* differs from the pages, both ways, without changing anything.

        Captures later than *as_of* (now by default) are left out, so that running writers do not look like drift; for
        the same reason a difference must stay for *settle* seconds. The link index is compared with the inlinks of all
        pages too. *on_progress* is told how many pages and entries were looked at. Raises `UnknownIndex`.
        """
        return self.repair_index(index, apply=False, as_of=as_of, on_progress=on_progress, settle=settle)

    def repair_index(
        self,
        index: str,
        *,
        apply: bool = False,
        as_of: datetime | None = None,
        on_progress: Progress | None = None,
        settle: float = SETTLE_SECONDS,
    ) -> Drift:
        """Return what `verify_index` does, and with *apply* write what is missing and remove what is stale."""
        check_times(as_of=as_of)
        drift = Drift(index, as_of or datetime.now(UTC))
        found, damage = self.indexes.named(index), self._damage()
        comparisons: list[EntryComparison | InlinkComparison] = [
            EntryComparison(self, found, drift, damage, settle=settle, apply=apply)
        ]
        if found.index.name == LINK.name:
            comparisons.append(InlinkComparison(self, drift, damage, settle=settle, apply=apply))
        for comparison in comparisons:
            for _ in comparison.run():
                if on_progress is not None:
                    on_progress(drift.pages + drift.entries)
        return drift
