"""Tables of records under a row key of your own."""

from webtable.repository.records.record import Record, RecordOutcome, Records
from webtable.repository.records.table import KeyedTable, compact, layout_of

__all__ = [
    "KeyedTable",
    "Record",
    "RecordOutcome",
    "Records",
    "compact",
    "layout_of",
]
