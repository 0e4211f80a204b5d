"""Duplicates: pages with the same content or title, and pages with nearly the same text."""

from typing import TYPE_CHECKING

from webtable._late import late

if TYPE_CHECKING:
    from webtable.repository.duplicates import exact, near

__all__ = ["exact", "near"]

if not TYPE_CHECKING:  # a question is loaded when it is asked, so that the others cost nothing at the start
    __getattr__, __dir__ = late(__name__, {}, __all__)
