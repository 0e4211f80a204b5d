"""Questions that an index answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from webtable.repository import questions
from webtable.repository.answers.results import Window
from webtable.repository.arguments import LIKE
from webtable.repository.partitions.questions import repeatable
from webtable.repository.reading.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.repository.answers.results import Pages, Results
    from webtable.repository.arguments import Moment
    from webtable.repository.context import Frame
    from webtable.repository.duplicates.near import NearDuplicate
    from webtable.repository.indexes.answer import PageOptions
    from webtable.repository.indexes.questions import SizeClass
    from webtable.repository.reading.site import Site


class IndexQuestions:
    """The questions that a `WebTable` answers from an index.

    They take the options of `webtable.answers.PageOptions`, and have the order "storage", which is the fastest, besides
    the orders that they name; all but `near_duplicates`, which names its own. Without a *site* they are about all pages
    of the table.
    """

    _frame: Frame

    @repeatable()
    def fetched(
        self,
        site: Site | None = None,
        *,
        since: Moment | None = None,
        until: Moment | None = None,
        **options: Unpack[PageOptions],
    ) -> Pages:
        """Return the pages that were fetched from *since* on and before *until*, the `newest` or the `oldest` first.

        A page token belongs to one pair of moments: give datetimes where you want to continue, as "7d" is another
        moment in each call.
        """
        asked = questions.indexed
        return asked.by_time(self._frame, "fetched", since, until, {"site": site, **options}, asked.FETCHED)

    @repeatable()
    def modified(
        self,
        site: Site | None = None,
        *,
        since: Moment | None = None,
        until: Moment | None = None,
        **options: Unpack[PageOptions],
    ) -> Pages:
        """Return the pages that were modified from *since* on and before *until*, the `newest` or the `oldest` first.

        A page was modified when its server says so (`last_modified`), else when a capture first brought its content
        (`changed_at`).
        """
        asked = questions.indexed
        return asked.by_time(self._frame, "modified", since, until, {"site": site, **options}, asked.MODIFIED)

    @repeatable()
    def outdated(
        self,
        site: Site | None = None,
        *,
        not_fetched_since: Moment | None = None,
        not_modified_since: Moment | None = None,
        **options: Unpack[PageOptions],
    ) -> Pages:
        """Return the pages that were not fetched, or not modified, since a moment: those to fetch again.

        Exactly one of *not_fetched_since* and *not_modified_since* must be given. The `oldest` come first, or the
        `newest`.
        """
        return questions.indexed.outdated(self._frame, not_fetched_since, not_modified_since, {"site": site, **options})

    @repeatable()
    def largest(
        self,
        site: Site | None = None,
        *,
        size_class: SizeClass | None = None,
        min_size: int | None = None,
        max_size: int | None = None,
        **options: Unpack[PageOptions],
    ) -> Pages:
        """Return the pages by the size of their bodies, the `largest` first (or the `smallest`).

        *min_size* and *max_size* are in bytes, both included; a *size_class* is a name for both: small (below 1,000),
        medium (below 10,000), large (below 100,000) or huge.
        """
        return questions.indexed.largest(self._frame, size_class, min_size, max_size, {"site": site, **options})

    @repeatable()
    def with_status(self, status: int, site: Site | None = None, **options: Unpack[PageOptions]) -> Pages:
        """Return the pages whose last capture has this *status* code, by `url`."""
        return questions.indexed.with_status(self._frame, status, {"site": site, **options})

    @repeatable()
    def errors(self, site: Site | None = None, **options: Unpack[PageOptions]) -> Pages:
        """Return the pages whose last capture has a status of 400 or above, by `status` and URL."""
        return questions.indexed.errors(self._frame, {"site": site, **options})

    @repeatable()
    def redirects(self, site: Site | None = None, *, to: str | None = None, **options: Unpack[PageOptions]) -> Pages:
        """Return the pages that redirect, with a status of 300 to 399 other than 304, by `status` and URL.

        With *to*, return only those that lead directly to that URL, whatever their status, by `url` (from the index
        "url").
        """
        return questions.indexed.redirects(self._frame, to, {"site": site, **options})

    @repeatable()
    def duplicates(self, url: str, site: Site | None = None, **options: Unpack[PageOptions]) -> Pages:
        """Return the other pages that have exactly the content (the digest) of *url*, by `url`.

        There are none if *url* is not stored or has no body. Raises `DamagedRow` if its own row cannot be read.
        """
        return questions.duplicate_groups.duplicates(self._frame, url, {"site": site, **options})

    def near_duplicates(
        self,
        url: str,
        site: Site | None = None,
        *,
        at_least: float = LIKE,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "similarity",
    ) -> Results[NearDuplicate]:
        """Return the other pages whose main text is nearly that of *url*, the most similar first, or by `url`.

        Their `similarity` is *at_least* that share of all sequences of five words in either text, which both have: it
        is counted in the stored texts. The index `likeness` finds 99.9 in 100 of the pages with a similarity of 0.9,
        92 of those with 0.8, and 57 of those with 0.7. There are none if *url* is not stored, or its text has fewer
        than five words. By `url` they are found as the answer is read, else all of them first. Raises `MissingExtra`
        without numpy, and `DamagedRow` if the row of *url* cannot be read.
        """
        scope, window = Scope.of(site), Window(order, limit, after)
        wish = questions.near_duplicates.Wish(url, at_least)
        return questions.near_duplicates.NearDuplicatesQuestion(self._frame, scope, window, wish, columns).answer()

    @repeatable()
    def indexed(
        self,
        index: str,
        site: Site | None = None,
        *,
        term: str | tuple[str, ...] | None = None,
        **options: Unpack[PageOptions],
    ) -> Pages:
        """Return the pages that the *index* of this name, also one of your own, has for *term*, or for all terms.

        They come by `term`, compared by code points and part by part, then by URL ("de" before "de-AT" before "deu"),
        or in `reverse`. A page with several terms comes once, at the first of them. Raises `UnknownIndex`.
        """
        return questions.indexed.indexed(self._frame, index, term, {"site": site, **options})
