"""Secondary indexes: entries in separate tables, which are checked against the pages that they name."""

from typing import TYPE_CHECKING

from webtable._late import late

if TYPE_CHECKING:
    from webtable.repository.indexes import questions

__all__ = ["questions"]

if not TYPE_CHECKING:  # a question is loaded when it is asked, so that the others cost nothing at the start
    __getattr__, __dir__ = late(__name__, {}, __all__)
