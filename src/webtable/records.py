"""Tables of records under a row key of your own."""

from webtable.repository.keyed_table import KeyedTable, Record, RecordOutcome, Records, compact, layout_of

__all__ = [
    "KeyedTable",
    "Record",
    "RecordOutcome",
    "Records",
    "compact",
    "layout_of",
]
