"""Captures as they are given to a table, to become there what they are in the one that they come from."""

from __future__ import annotations

from msgspec.structs import replace

from webtable._page.page import Page
from webtable.repository.answers.arrow_pages import GIVEN

NOT_MODIFIED = 304


def as_given(page: Page) -> Page:
    """Return the capture *page*, one of those that `kept` has, as it is to be put to become what it is.

    Its `content_at` says, where that does not follow, whether it is a version of its own or repeats the content of a
    date: one must not be taken for the other, nor for a repeat of older content.
    """
    given = Page(**{name: getattr(page, name) for name in GIVEN})
    if page.content_at == page.fetched_at:
        return given
    if page.html is not None:
        return replace(given, content_at=None)
    return replace(given, same_as=page.url, truncated=False, outlinks=None)
