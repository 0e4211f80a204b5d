"""Full text: words and queries, what is indexed of a page, how it is kept, and the question for words."""

from typing import TYPE_CHECKING

from webtable._late import late

if TYPE_CHECKING:
    from webtable.repository.full_text import index, search, upkeep

__all__ = ["index", "search", "upkeep"]

if not TYPE_CHECKING:  # a question is loaded when it is asked, so that the others cost nothing at the start
    __getattr__, __dir__ = late(__name__, {}, __all__)
