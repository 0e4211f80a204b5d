"""What a store can do, how much it takes, and how a web table is laid out in it unless somebody says otherwise."""

from __future__ import annotations

from dataclasses import dataclass

from webtable.schema import DEFAULT_TTL, DEFAULT_VERSIONS
from webtable.store.rows import MAX_CELL


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What callers go by: nobody asks what a store is called."""

    max_cell: int = MAX_CELL
    """The largest cell in bytes: row key, family, qualifier, value and 24 more. A larger one is a `StoreRefused`."""
    writes_side_by_side: bool = True
    """Whether several threads that write at once are faster than one."""
    processes_write_side_by_side: bool = False
    """Whether several processes that write at once are faster than one; those of `webtable ingest --workers` do."""
    scans_range_by_range: bool = False
    """Whether a scan has calls for each of its ranges: it may be cheaper to go on through what lies between two."""
    changes_families: bool = True
    """Whether it can add and change families of a table that is there; else `set_family` is a `CapabilityError`."""
    default_ttl: int | None = DEFAULT_TTL
    """For how many seconds a new web table keeps content here unless it is told otherwise; None is for ever."""
    default_versions: int | None = DEFAULT_VERSIONS
    """How many contents of a page a new web table keeps here unless it is told otherwise; None is all of them."""
    has_snapshots: bool = False
    """Whether the shell of the store takes snapshots of its tables; else `backup` may write it into a file."""
    made_when_missing: bool = False
    """Whether `webtable ingest` makes a web table that is missing: nobody has to decide how it is to be laid out."""
    why_empty: str = ""
    """How a store that is there may have come to hold no table at all, and what to do; empty where that is usual."""
