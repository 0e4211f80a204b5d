"""Secondary indexes: entries in tables of their own, each a hint that the page which it names confirms or not."""

from typing import TYPE_CHECKING

from webtable._late import late

if TYPE_CHECKING:
    from webtable.repository.indexes.index import Index
    from webtable.repository.indexes.web import WEB_INDEXES

__all__ = ["WEB_INDEXES", "Index"]

_HOMES = {
    "webtable.repository.indexes.index": ("Index",),
    "webtable.repository.indexes.web": ("WEB_INDEXES",),
}

if not TYPE_CHECKING:  # a checker would take every name for one that is there
    __getattr__, __dir__ = late(__name__, _HOMES)
