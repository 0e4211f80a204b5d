"""Everything that can go wrong, as one tree.

WebTableError
├── InvalidURL               no http(s) URL that a browser would accept; fix or skip it (also a ValueError)
│   └── KeyTooLong           its row key would be over 16,384 bytes
├── KeyFormatError           these bytes are no row key of this format (also a ValueError)
├── InvalidArgument          an argument that no call can honour (also a ValueError)
│   ├── UnknownColumn        no such column
│   ├── UnknownIndex         no such index
│   ├── UnknownField         a row key that has no such field
│   ├── FieldError           a value that a field of a row key cannot hold
│   ├── NoRange              a question that a row key cannot answer by ranges
│   ├── NotAlterable         an option that a table keeps as it was created; the message says why and what helps
│   └── InvalidToken         a page token that is damaged or belongs to another query
├── InvalidCapture           a page that the table cannot keep as it is (also a ValueError)
│   ├── ExpiredCapture       older than its family's time to live
│   ├── FutureCapture        fetched more than a day from now
│   ├── HiddenByDelete       older than a delete of its page, which would hide it
│   └── CellTooLarge         a cell over the store's limit, after compression
├── FullScanNeeded           a question that only a scan of the whole table answers (also a ValueError)
│   └── IndexNeeded          a question on a table without the index it needs; the message says how to add it
├── IndexFailed              the function of an index of your own failed for a page
├── WriteFailed              pages that were handed in and not stored, each with its reason
├── OtherProcess             a writer, or a scan under way, of the process that this one was forked from
├── FormatError              an input file that cannot be read as what it is taken for
├── SchemaError              the table is not what the caller takes it for
│   ├── TableNotFound        no such table or file; create it first
│   ├── LayoutMismatch       the table was created with another layout
│   │   └── IndexNotNamed    an index of your own that the table has; name it, and it is imported
│   └── SchemaDrift          the table's families differ from the schema
└── StoreError               the store did not do it
    ├── StoreUnavailable     not reached in time; trying again may help
    ├── StoreRefused         understood and declined; trying again does not help
    ├── DamagedRow           a stored row that cannot be read; deleting or storing its page anew mends it
    ├── NotAStore            what the URL leads to is no store of this kind
    └── CapabilityError      this store has no call for that; the message says what to run instead
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime


class WebTableError(Exception):
    """The root of every error that webtable raises on purpose."""


class InvalidURL(WebTableError, ValueError):
    """A URL that cannot become a row key; the message quotes it and says why."""


class KeyTooLong(InvalidURL):
    """A URL whose row key would be over 16,384 bytes; keys are never cut."""


class KeyFormatError(WebTableError, ValueError):
    """Bytes that are no row key of this format."""


class InvalidArgument(WebTableError, ValueError):
    """An argument that no call can honour; the message quotes its name and value."""


class UnknownColumn(InvalidArgument):
    """A column that a page does not have; the message lists those it has."""


class UnknownIndex(InvalidArgument):
    """An index that a table does not have, or that there is not; the message lists those there are."""


class UnknownField(InvalidArgument):
    """A field that a row key does not have; the message lists those it has."""


class FieldError(InvalidArgument):
    """A value that a field of a row key cannot hold; the message names the field, the value and the limit."""


class NoRange(InvalidArgument):
    """A question that a row key cannot answer by ranges; `reason` says why, `remedy` what would help."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason}; {remedy}")
        self.reason = reason
        self.remedy = remedy


class NotAlterable(InvalidArgument):
    """An option that a table keeps as it was created; the message says why, and what would help."""


class InvalidToken(InvalidArgument):
    """A page token that is damaged or was given out by another query."""


class InvalidCapture(WebTableError, ValueError):
    """A page that this table cannot keep as it is; nothing of it was written."""


class ExpiredCapture(InvalidCapture):
    """A capture older than its family's time to live: the store would drop it as it is written."""


class FutureCapture(InvalidCapture):
    """A capture dated more than a day from now: it would hide every later one."""


class HiddenByDelete(InvalidCapture):
    """A capture older than a delete of its page: the delete would hide it. `deleted_at` is the moment of the delete."""

    def __init__(self, message: str, deleted_at: datetime) -> None:
        super().__init__(message)
        self.deleted_at = deleted_at


class CellTooLarge(InvalidCapture):
    """A cell over the store's limit after compression; `max_body` cuts such bodies instead."""


class FullScanNeeded(WebTableError, ValueError):
    """A question that has neither a key range nor an index; it is answered only when called with `full_scan=True`."""


class IndexNeeded(FullScanNeeded):
    """A question on a table without the index that answers it, or with one that is not complete yet.

    The message names the command that adds or completes it.
    """


class IndexFailed(WebTableError):
    """The function of an index failed for a page, or gave what is no term; the message names both."""


class WriteFailed(WebTableError):
    """Pages, or rows of another table, that were handed in and are not stored.

    `failures` holds one `PageOutcome` a page, with its URL and its error, in the order of the writes; of rows that were
    put into a `KeyedTable` one `RecordOutcome` each.
    """

    def __init__(self, message: str, failures: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.failures = tuple(failures)


class OtherProcess(WebTableError):
    """A writer, or a scan under way, that belongs to the process that this one was forked from: make a new one here."""


class FormatError(WebTableError):
    """An input file that cannot be read further as what it is taken for."""


class SchemaError(WebTableError):
    """The table is not what the caller takes it for."""


class TableNotFound(SchemaError):
    """No such table, or no such file; the message says how to create it."""


class LayoutMismatch(SchemaError):
    """The table was created with another layout; the message shows both."""


class IndexNotNamed(LayoutMismatch):
    """The table has an index of somebody's own, and this process was not told that it may be imported.

    The message says by which name the table has it, and where that can be given.
    """


class SchemaDrift(SchemaError):
    """The families of the table differ from the schema; the message lists the differences."""


class StoreError(WebTableError):
    """The store did not do what it was asked."""


class StoreUnavailable(StoreError):
    """The store was not reached in time; trying again may help."""


class StoreRefused(StoreError):
    """The store understood and declined; trying again does not help."""


class DamagedRow(StoreError):
    """A stored row that cannot be read: `row` is its key, `url` what the key stands for, `reason` what is wrong.

    To delete the page mends it, and so does storing a newer capture of it.
    """

    def __init__(self, row: bytes, url: str | None, reason: str) -> None:
        super().__init__(f"{url or repr(row[:200])}: the stored row is damaged: {reason}")
        self.row = row
        self.url = url
        self.reason = reason


class NotAStore(StoreError):
    """What the URL leads to is no store of this kind: another file format, protocol or transport."""


class CapabilityError(StoreError):
    """This store has no call for that; the message says what to run instead."""


def failed_together(what: str, errors: Sequence[Exception]) -> Exception:
    """Return *errors* as one to be raised: a single one as it is, several as the `ExceptionGroup` of *what*."""
    return errors[0] if len(errors) == 1 else ExceptionGroup(f"{what}: {len(errors)} errors", errors)
