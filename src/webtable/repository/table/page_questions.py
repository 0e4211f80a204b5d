"""Questions about one page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable.repository import questions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from webtable.page.page import Page
    from webtable.repository.arguments import Moment
    from webtable.repository.context import Frame
    from webtable.repository.questions.handles import Resolution
    from webtable.repository.questions.versions import History
    from webtable.repository.text.difference import Difference


class PageQuestions:
    """The questions that a `WebTable` answers about one page."""

    _frame: Frame

    def get(
        self, url: str, *, as_of: Moment | None = None, columns: Sequence[str] | None = None, verify: bool = False
    ) -> Page | None:
        """Return the newest capture of *url*, with its body and links, or None if it is not stored.

        With *as_of*, return the page as it was at that moment: the newest capture up to it, or, of a page that was
        fetched again since, the content that it had then (title, status, type, headers, body and links), as far as it
        is kept. *columns* names what is read instead; `body` and `outlinks` are read only if they are named. With
        *verify*, the body is also compared with its digest and its size. Raises `InvalidURL`, `UnknownColumn`,
        `InvalidArgument`, and `DamagedRow` for a page that cannot be read.
        """
        return questions.versions.get(self._frame, url, as_of, columns, verify=verify)

    def get_many(self, urls: Iterable[str], *, columns: Sequence[str] | None = None) -> Iterator[Page | None]:
        """Return an iterator that gives, for each of *urls* in their order, what `get` returns; it reads in batches.

        It raises `DamagedRow` at a page that cannot be read; the next call continues after that page.
        """
        return questions.versions.get_many(self._frame, urls, columns)

    def history(self, url: str, *, columns: Sequence[str] | None = None) -> History:
        """Return the stored versions of *url*, newest first: one for each content, dated when it was first seen.

        Bodies and links are read if *columns* names `body` or `outlinks`. The history is empty if the URL is not
        stored. A version that cannot be read is left out and counted in `metrics`. Raises `InvalidURL` and
        `UnknownColumn`.
        """
        return questions.versions.history(self._frame, url, columns)

    def history_many(self, urls: Iterable[str]) -> Iterator[History]:
        """Return an iterator that gives, for each of *urls* in their order, what `history` returns, without bodies.

        It reads the versions of up to 64 pages in a call of the store, of fewer where they have over 8 MiB of metadata.
        """
        return questions.versions.history_many(self._frame, urls)

    def diff(self, url: str, old: Moment | None = None, new: Moment | None = None) -> Difference | None:
        """Return what changed between two versions of *url*: in its title, status, headers, text and links.

        The versions are those at the moments *old* and *new*; by default the newest one and the one before it. Returns
        None if one of them is not stored. Raises `InvalidURL`, `InvalidArgument`, and `DamagedRow` for a version that
        cannot be read.
        """
        return questions.versions.diff(self._frame, url, old, new)

    def validators(self, url: str) -> dict[str, str]:
        """Return the request headers that ask the server of *url* to answer only if its content has changed.

        These are `If-None-Match` and `If-Modified-Since`, as far as the server gave an ETag and a date. The dictionary
        is empty where the answer "not modified" would be of no use: the URL is not stored, its last capture is an error
        or a redirect, or its body is not stored any more. Raises `InvalidURL`.
        """
        return questions.versions.validators(self._frame, url)

    def by_handle(self, handle: str, *, columns: Sequence[str] | None = None) -> Page | None:
        """Return the page whose URL has this *handle* (`webtable.indexes.handle_of`), or None if none is stored.

        A URL that redirects has its own handle, and its page has `redirect_to`; `resolve` follows it. Raises
        `InvalidArgument` for a text that is not a handle, `UnknownColumn`, `IndexNeeded`, `DamagedRow`.
        """
        return questions.handles.by_handle(self._frame, handle, columns)

    def resolve(self, url: str) -> Resolution:
        """Return where *url*, or the URL with the handle *url*, leads by the redirects that are stored.

        A page that does not redirect leads to itself. Raises `InvalidURL`, `DamagedRow`.
        """
        return questions.handles.resolve(self._frame, url)
