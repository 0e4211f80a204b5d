"""All errors that webtable raises, as one tree.

WebTableError
├── InvalidURL               not an http(s) URL that a browser accepts; correct or skip it (also a ValueError)
│   └── KeyTooLong           its row key would be over 16,384 bytes
├── KeyFormatError           these bytes are not a row key of this format (also a ValueError)
├── InvalidArgument          a wrong argument; the message quotes it (also a ValueError)
│   ├── UnknownColumn        no such column
│   ├── UnknownIndex         no such index
│   ├── UnknownField         the row key has no such field
│   ├── FieldError           a value that a field of a row key cannot hold
│   ├── NoRange              a question that a row key cannot answer by ranges
│   ├── NotAlterable         an option that a table keeps as it was created; the message says why and what helps
│   └── InvalidToken         a page token that is damaged or belongs to another question
├── InvalidCapture           a page that the table cannot store (also a ValueError)
│   ├── ExpiredCapture       older than the time for which the table keeps content
│   ├── FutureCapture        fetched more than a day from now
│   ├── HiddenByDelete       older than the delete of its page, which would hide it
│   └── CellTooLarge         a cell over the limit of the store, after compression
├── FullScanNeeded           a question that needs reading the whole table (also a ValueError)
│   └── IndexNeeded          the table has no index for this question; the message says how to add it
├── IndexFailed              the function of an index of your own failed for a page
├── WriteFailed              pages that could not be stored, each with its reason
├── MissingExtra             a package that is not installed; the message says which (also an ImportError)
├── OtherProcess             a writer or a scan of the parent process, used after a fork; make a new one
├── FormatError              an input file that cannot be read as the format it should have
├── SchemaError              the table is not what the caller expects
│   ├── TableNotFound        no such table or file; create it first
│   ├── LayoutMismatch       the table was created with another layout
│   │   ├── IndexNotNamed    the table has an index of your own; name it, and it is imported
│   │   ├── NewerFormat      written by a later webtable; use that version (also a NotAStore)
│   │   └── OlderFormat      from before the first release; export it with the version that made it (also a NotAStore)
│   └── SchemaDrift          the families of the table differ from the schema
└── StoreError               the store could not carry out a call
    ├── StoreUnavailable     not reached in time; a retry may help
    ├── StoreRefused         the store refused; a retry does not help
    │   └── StoreFull        its disk is full; free space, and store the rest
    ├── DamagedRow           a stored row that cannot be read; store its page again, or delete it
    ├── NotAStore            the URL does not lead to a store of this kind
    └── CapabilityError      this store cannot do that; the message says what to run instead
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from webtable._messages import Message, Words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

__all__ = [
    "CapabilityError",
    "CellTooLarge",
    "DamagedRow",
    "ExpiredCapture",
    "FieldError",
    "FormatError",
    "FullScanNeeded",
    "FutureCapture",
    "HiddenByDelete",
    "IndexFailed",
    "IndexNeeded",
    "IndexNotNamed",
    "InvalidArgument",
    "InvalidCapture",
    "InvalidToken",
    "InvalidURL",
    "KeyFormatError",
    "KeyTooLong",
    "LayoutMismatch",
    "MissingExtra",
    "NewerFormat",
    "NoRange",
    "NotAStore",
    "NotAlterable",
    "OlderFormat",
    "OtherProcess",
    "SchemaDrift",
    "SchemaError",
    "StoreError",
    "StoreFull",
    "StoreRefused",
    "StoreUnavailable",
    "TableNotFound",
    "UnknownColumn",
    "UnknownField",
    "UnknownIndex",
    "WebTableError",
    "WriteFailed",
]


class WebTableError(Exception):
    """The root of every error that webtable raises on purpose; all of them can be pickled."""

    def __init__(self, *parts: object) -> None:
        # Several parts are a message whose commands the command line writes in its own words.
        super().__init__(*(parts if len(parts) < 2 else [Message(*parts)]))

    # Exception calls the class with `args`, which hold the message alone.
    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (type(self), self.args, vars(self))


def _remade(kind: type[WebTableError], args: tuple[Any, ...], values: dict[str, Any]) -> WebTableError:
    """Return the error that was pickled."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(values)
    return error


class InvalidURL(WebTableError, ValueError):
    """A URL that cannot become a row key; the message quotes it and says why.

    `without_scheme` is the text that was given if it has no scheme, as a host has none; else "".
    """

    without_scheme: str = ""


class KeyTooLong(InvalidURL):
    """A URL whose row key would be over 16,384 bytes; keys are never truncated."""


class KeyFormatError(WebTableError, ValueError):
    """Bytes that are not a row key of this format."""


class InvalidArgument(WebTableError, ValueError):
    """A wrong argument; the message begins with `name=value`, or quotes them. The command line has the option there."""


class UnknownColumn(InvalidArgument):
    """A column that a page does not have; the message lists those it has."""


class UnknownIndex(InvalidArgument):
    """An index that the table does not have, or that does not exist; the message lists those that do."""


class UnknownField(InvalidArgument):
    """A field that a row key does not have; the message lists those it has."""


class FieldError(InvalidArgument):
    """A value that a field of a row key cannot hold; the message names the field, the value and the limit."""


class NoRange(InvalidArgument):
    """A question that a row key cannot answer by ranges; `reason` says why, and `fix` what would help."""

    def __init__(self, reason: str, fix: str) -> None:
        super().__init__(f"{reason}; {fix}")
        self.reason = reason
        self.fix = fix


class NotAlterable(InvalidArgument):
    """An option that cannot be changed after the table was created; the message says why, and what would help."""


class InvalidToken(InvalidArgument):
    """A page token that is damaged, or comes from another question."""


class InvalidCapture(WebTableError, ValueError):
    """A page that this table cannot store; nothing of it was written."""


class ExpiredCapture(InvalidCapture):
    """A capture older than the time for which the table keeps content: the store would drop it at once."""


class FutureCapture(InvalidCapture):
    """A capture dated more than a day from now: it would hide every later one."""


class HiddenByDelete(InvalidCapture):
    """Older than the delete of its page or row, which hides it. `deleted_at` is when; of rows under other keys None."""

    def __init__(self, message: str, deleted_at: datetime | None = None) -> None:
        super().__init__(message)
        self.deleted_at = deleted_at


class CellTooLarge(InvalidCapture):
    """A cell over the limit of the store, after compression; a writer with `max_body` truncates such bodies instead.

    The message ends with `CUTS` if it concerns a body.
    """

    CUTS: Final = Message("; ", Words("max_body=", "ingest --max-body"), " cuts long bodies")


class FullScanNeeded(WebTableError, ValueError):
    """A question that would read all of a large table; name a site, give a limit, or `ALL` to ask it nevertheless."""


class IndexNeeded(FullScanNeeded):
    """A question whose index the table does not have, or does not have completely yet.

    The message names the command that adds or completes it.
    """


class IndexFailed(WebTableError):
    """The function of an index failed for a page, or returned something that is not a term; the message names both."""


class WriteFailed(WebTableError):
    """Pages, or rows of another table, that were put but could not be stored.

    `failures` has a `PageOutcome` for each page, with its URL and its error, in the order of the writes, or a
    `RecordOutcome` for each row of a `KeyedTable`. `pages` are the pages themselves, to be put again or kept elsewhere,
    except those in the `spool` of the writer; if many batches have failed since the last `flush`, only as many of the
    first as the writer may hold.
    """

    # Any, because this low module imports no value, not even for type checkers.
    def __init__(self, message: str, failures: Sequence[Any] = (), pages: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.failures: Final = tuple(failures)
        self.pages: Final = list(pages)


class MissingExtra(WebTableError, ImportError):
    """An optional package that this call needs is not installed; the message says how to install it."""


class OtherProcess(WebTableError):
    """A writer or a scan of the parent process was used after a fork; make a new one in this process."""


class FormatError(WebTableError):
    """An input file that cannot be read (any further) as the format it should have.

    `limit` is the name in `ReadLimits` of the limit that a file is over, which may be sound; else it is None.
    """

    def __init__(self, message: str = "", *, limit: str | None = None) -> None:
        super().__init__(message)
        self.limit: str | None = limit


class SchemaError(WebTableError):
    """The table is not what the caller expects."""


class TableNotFound(SchemaError):
    """No such table, or no such file: `reason` says which; the message also says how to create it."""

    def __init__(self, reason: str, fix: str = "") -> None:
        super().__init__(reason + fix)
        self.reason = reason


class LayoutMismatch(SchemaError):
    """The table was created with another layout; the message shows both."""


class IndexNotNamed(LayoutMismatch):
    """The table has an index that a user defined, but its importable name was not given.

    The message gives the name of the index in the table, and says where to give it.
    """


class SchemaDrift(SchemaError):
    """The families of the table differ from the schema; the message lists the differences."""


class StoreError(WebTableError):
    """The store could not carry out a call."""


class StoreUnavailable(StoreError):
    """The store was not reached in time; a retry may help."""


class StoreRefused(StoreError):
    """The store refused; a retry does not help."""


class StoreFull(StoreRefused):
    """The disk of the store, or its quota, is full: no page can be stored until there is space."""


class DamagedRow(StoreError):
    """A stored row that cannot be read: `row` is its key, `url` the URL of the key, `reason` what is wrong.

    To repair it, store a newer capture of the page, or delete the page.
    """

    def __init__(self, row: bytes, url: str | None, reason: str) -> None:
        super().__init__(f"{url or repr(row[:200])}: the stored row is damaged: {reason}")
        self.row = row
        self.url = url
        self.reason = reason


class NotAStore(StoreError):
    """The URL leads to something else than a store of this kind: another file format, protocol or transport."""


class NewerFormat(LayoutMismatch, NotAStore):
    """The table, or its file, is of a later webtable; the message names the format that this version does not know."""


class OlderFormat(LayoutMismatch, NotAStore):
    """The table, or its file, has a format of before the first release; export it with the version that made it."""


class CapabilityError(StoreError):
    """This store cannot do that; the message says what to run instead."""


def failed_together(what: str, errors: Sequence[Exception]) -> Exception:
    """Return one error to raise for *errors*: a single one as it is, several as an `ExceptionGroup` named *what*."""
    return errors[0] if len(errors) == 1 else ExceptionGroup(f"{what}: {len(errors)} errors", errors)
