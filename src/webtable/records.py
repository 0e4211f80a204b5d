"""Tables of records under a row key of your own."""

from webtable.repository.keyed_table import (
    KeyedTable,
    Record,
    RecordOutcome,
    RecordVersion,
    RecordWriter,
    compact,
    layout_of,
)
from webtable.schema import TypedColumn

__all__ = [
    "KeyedTable",
    "Record",
    "RecordOutcome",
    "RecordVersion",
    "RecordWriter",
    "TypedColumn",
    "compact",
    "layout_of",
]
