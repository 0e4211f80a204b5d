"""The questions of a table that reports ask: a `WebTable` has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime

    from webtable.repository.answers.results import Pages, Results
    from webtable.repository.duplicates.exact import DuplicateGroup, Sameness
    from webtable.repository.duplicates.near import NearDuplicateGroup
    from webtable.repository.links.links import BrokenLink
    from webtable.repository.metrics import Metrics
    from webtable.repository.questions.changes import Change, ChangeKind
    from webtable.repository.questions.redirect_chains import RedirectChain
    from webtable.repository.questions.titles import TitleProblem
    from webtable.repository.reading.site import Site


class AskedLinks(Protocol):
    """The questions about links that reports ask."""

    def broken(self, site: Site, /) -> Results[BrokenLink]:
        """Return the links that lead to an error page."""

    def orphans(self, site: Site, /) -> Pages:
        """Return the pages that no other page links to."""


class AskedIndexes(Protocol):
    """The questions about indexes that reports ask."""

    def states(self) -> Mapping[str, object]:
        """Return the states of the indexes, by name."""


class AskedTable(Protocol):
    """A table of web pages, as far as reports ask it: a `WebTable`."""

    @property
    def links(self) -> AskedLinks:
        """The links between pages."""

    @property
    def indexes(self) -> AskedIndexes:
        """The indexes."""

    @property
    def metrics(self) -> Metrics:
        """A snapshot of the metrics."""

    def pages(self, site: Site, /) -> Pages:
        """Return the pages of *site*."""

    def errors(self, site: Site, /) -> Pages:
        """Return the error pages of *site*."""

    def redirect_chains(self, site: Site, /) -> Results[RedirectChain]:
        """Return the chains of redirects."""

    def duplicate_groups(self, site: Site, /, *, by: Sameness = "content") -> Results[DuplicateGroup]:
        """Return the groups of pages with the same content or title."""

    def near_duplicate_groups(self, site: Site, /) -> Results[NearDuplicateGroup]:
        """Return the groups of pages with nearly the same text."""

    def titles(self, site: Site, /) -> Results[TitleProblem]:
        """Return what is wrong with titles."""

    def changes(
        self, site: Site, /, *, since: datetime, until: datetime, kind: Collection[ChangeKind]
    ) -> Results[Change]:
        """Return what became of the pages between two moments."""
