"""Maintenance: tables created, altered and deleted from, verified and diagnosed, and a summary of what they hold."""

from typing import TYPE_CHECKING

from webtable._late import late

if TYPE_CHECKING:
    from webtable.repository.maintenance import verify

__all__ = ["verify"]

if not TYPE_CHECKING:  # a question is loaded when it is asked, so that the others cost nothing at the start
    __getattr__, __dir__ = late(__name__, {}, __all__)
