"""Links: inlinks as cells and their counts, and the questions about links to and from pages."""

from typing import TYPE_CHECKING

from webtable._late import late

if TYPE_CHECKING:
    from webtable.repository.links import depths, inlinks, links, unlinked

__all__ = ["depths", "inlinks", "links", "unlinked"]

if not TYPE_CHECKING:  # a question is loaded when it is asked, so that the others cost nothing at the start
    __getattr__, __dir__ = late(__name__, {}, __all__)
