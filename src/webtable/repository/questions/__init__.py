"""The questions that a web table answers, by what answers them: ranges of rows, indexes, text."""

from typing import TYPE_CHECKING

from webtable._late import late

if TYPE_CHECKING:
    from webtable.repository.duplicates import exact, near
    from webtable.repository.hosts import entries, hosts
    from webtable.repository.indexes import questions
    from webtable.repository.questions import (
        changes,
        crawls,
        growth,
        handles,
        pages,
        redirect_chains,
        search,
        stats,
        titles,
        unresolved,
        verification,
        versions,
    )

__all__ = [
    "changes",
    "crawls",
    "duplicate_groups",
    "growth",
    "handles",
    "host_entries",
    "hosts",
    "indexed",
    "near_duplicate_groups",
    "near_duplicates",
    "pages",
    "redirect_chains",
    "search",
    "stats",
    "titles",
    "unresolved",
    "verification",
    "versions",
]

if not TYPE_CHECKING:  # a type checker would assume that every name exists
    __getattr__, __dir__ = late(__name__, {}, __all__)
