"""What each region holds of a table: which are hot and which are empty, as the doctor and `plot regions` say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

HOT: Final = 2.0
"""A region is hot that holds more than this many times its fair share of the pages, or of the bytes."""
_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class RegionShares:
    """The share of all pages, and of all bytes (None where these are not known), that each region has, by first key."""

    pages: Mapping[str, float]
    bytes: Mapping[str, float] | None

    @classmethod
    def of(cls, groups: Mapping[str, tuple[int, int | None]]) -> RegionShares:
        """Return the shares of *groups*: the pages and bytes of each region."""
        pages = sum(group[0] for group in groups.values()) or 1
        sizes = {name: group[1] for name, group in groups.items()}
        total = sum(size or 0 for size in sizes.values()) or 1
        has_bytes = None not in sizes.values()
        return cls(
            {name: group[0] / pages for name, group in groups.items()},
            {name: (size or 0) / total for name, size in sizes.items()} if has_bytes else None,
        )

    @property
    def fair(self) -> float:
        """The share of each region if all had the same."""
        return 1 / max(1, len(self.pages))

    def highest(self, name: str) -> tuple[float, str]:
        """Return the larger share that a region has, and of what: `pages` or `bytes`."""
        shares = [(self.pages[name], "pages")]
        if self.bytes is not None:
            shares.append((self.bytes[name], "bytes"))
        return max(shares)

    @property
    def hot(self) -> list[str]:
        """The regions that hold more than `HOT` times their fair share; an only region is never hot.

        Where over half of the regions are empty, one of the others is hot.
        """
        return [name for name in self.pages if len(self.pages) > 1 and self.highest(name)[0] > HOT * self.fair]

    @property
    def empty(self) -> list[str]:
        """The regions without a page; none of them where no region has one."""
        return [name for name, share in self.pages.items() if not share] if any(self.pages.values()) else []

    def __str__(self) -> str:
        """Return what is to be known of them, in a line."""
        if len(self.pages) == 1:
            return "1 region"
        if not any(self.pages.values()):
            return f"{len(self.pages):,} regions: no pages"
        hot, empty = self.hot, self.empty
        over = f"over {HOT:g} times the fair share of pages or bytes"
        held = f"{named(hot)} hold {over}" if hot else f"none holds {over}"
        without = f", {named(empty)} have no page" if empty else ""
        return f"{len(self.pages):,} regions: {held}{without}"


def named(regions: list[str]) -> str:
    """Return how many *regions* these are, and the first keys of some."""
    keys = ", ".join(name or "the first" for name in regions[:_NAMED])
    return f"{len(regions):,} ({keys}{', …' if len(regions) > _NAMED else ''})"
