"""webtable for asyncio: the same names, whose calls are awaited.

`open` gives a `WebTable` in an `async with` block. Values (pages, links, statistics), errors and row keys are those of
`webtable` itself. There is no second implementation: every call runs the synchronous library in a thread.
"""

from webtable.aio.results import Hosts, Opening, Results, Stream
from webtable.aio.table import KeyedTable, RecordWriter, WebTable, adopt, copy_target, create, doctor, open, regions_of
from webtable.aio.writer import Receipt, Writer

__all__ = [
    "Hosts",
    "KeyedTable",
    "Opening",
    "Receipt",
    "RecordWriter",
    "Results",
    "Stream",
    "WebTable",
    "Writer",
    "adopt",
    "copy_target",
    "create",
    "doctor",
    "open",
    "regions_of",
]
