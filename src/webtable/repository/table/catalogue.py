"""The questions that list records, as data: what each takes and returns."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from webtable.repository.link_questions import inlinks, link_graph, links, unlinked
from webtable.repository.questions import (
    changes,
    crawls,
    duplicate_groups,
    growth,
    hosts,
    indexed,
    near_duplicate_groups,
    near_duplicates,
    pages,
    redirect_chains,
    search,
    titles,
)
from webtable.repository.questions.listing import Listing

if TYPE_CHECKING:
    from collections.abc import Mapping

_MODULES = (
    pages,
    hosts,
    unlinked,
    changes,
    search,
    duplicate_groups,
    near_duplicate_groups,
    titles,
    redirect_chains,
    crawls,
    growth,
    indexed,
    near_duplicates,
    inlinks,
    links,
    link_graph,
)
LISTINGS: Final[Mapping[str, Listing]] = MappingProxyType(
    {one.name: one for module in _MODULES for one in vars(module).values() if isinstance(one, Listing)}
)
"""The questions by their names, which are those of their commands with `_` for `-`."""
