"""The questions about links that a web table answers: links to and from a page, broken and missing ones, the graph."""

from typing import TYPE_CHECKING

from webtable._late import late

if TYPE_CHECKING:
    from webtable.repository.links import inlinks, links, unlinked

__all__ = ["inlinks", "link_graph", "links", "unlinked"]

if not TYPE_CHECKING:  # a type checker would assume that every name exists
    __getattr__, __dir__ = late(__name__, {}, __all__)
