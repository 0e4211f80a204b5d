"""Full text: what is indexed of a page, how writers keep it, and how it is filled and mended."""

from typing import TYPE_CHECKING

from webtable._late import late

if TYPE_CHECKING:
    from webtable.repository.full_text import documents, index, upkeep

__all__ = ["documents", "index", "upkeep"]

if not TYPE_CHECKING:  # a type checker would assume that every name exists
    __getattr__, __dir__ = late(__name__, {}, __all__)
