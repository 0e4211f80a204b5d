"""Captures as they are given to a table, to become there what they are in the one that they come from."""

from __future__ import annotations

from msgspec.structs import replace

from webtable._page import Page
from webtable.repository.arrow.pages import GIVEN

NOT_MODIFIED = 304
_BY_ITSELF = [name for name in GIVEN if name not in ("content_at", "same_as")]


def as_given(page: Page) -> Page:
    """Return the capture *page*, one of those that `kept` has, as it is to be put to become what it is.

    One without a body says whether it repeats what was stored, and under which date that is: it must neither be taken
    for a repeat of older content, nor for content of its own.
    """
    given = Page(**{name: getattr(page, name) for name in _BY_ITSELF})
    if page.html is not None:
        return given
    if page.content_at is None or page.content_at < page.fetched_at:
        return replace(given, same_as=page.url, content_at=page.content_at, truncated=False, outlinks=None)
    return replace(given, content_at=page.content_at) if page.status_code == NOT_MODIFIED else given
