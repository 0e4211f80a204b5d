"""The full text of a table in a directory: an index of tantivy (https://github.com/quickwit-oss/tantivy).

For tables whose store keeps none itself, as HBase.

One process writes at a time, and holds a lock from its first write until `close`; it may be killed at any moment.
Others read meanwhile, each call as of the last commit, and go on with a complete index while one is built in its place.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import re
import secrets
import shutil
import stat
import threading
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import groupby
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
import zstandard

from webtable._checksums import unsealed, with_checksum
from webtable._files import OWNER_ONLY_FOLDER, Folder, plain_parts
from webtable._importable import needed
from webtable._limits import check_format
from webtable._messages import Command, Message
from webtable._process_hooks import renew_after_fork
from webtable.errors import (
    FormatError,
    InvalidArgument,
    NotAStore,
    StoreError,
    StoreFull,
    StoreRefused,
    StoreUnavailable,
    WebTableError,
)
from webtable.store.full_text import ALWAYS, FIELDS, Document, Match, SearchIndex, TermPhrase, TermQuery

with needed("tantivy", "search"):
    import tantivy
    from tantivy import FieldType, Occur, Order, Query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


# --- Documents --------------------------------------------------------------------------------------------------------
#
# Terms are indexed as they come, parted at spaces. Beside them each document is stored whole, packed: tantivy can
# change no document in place, and its Python package cannot merge on demand, so `terms=None` and `compact` take the
# terms from there. A row is text whose characters have the order of its bytes, with none that has a meaning in a
# query.


_FIRST: Final = 0x100
"""The character of the byte 0; the 256 from there on are letters."""
_CODED: Final = {byte: _FIRST + byte for byte in range(256)}
_DECODED: Final = {_FIRST + byte: byte for byte in range(256)}
NOTHING: Final = "-"
"""Stands for an empty type or language, for which there would be no term."""


def schema() -> tantivy.Schema:
    """Return the fields of the index."""
    builder = tantivy.SchemaBuilder()
    for name in FIELDS:
        builder.add_text_field(name, tokenizer_name="whitespace", index_option="position")
    builder.add_text_field("row", stored=True, fast=True, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("captured", fast=True)
    builder.add_integer_field("status", indexed=True)
    builder.add_text_field("type", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("language", tokenizer_name="raw", index_option="basic")
    builder.add_bytes_field("document", stored=True)
    return builder.build()


def row_text(row: bytes) -> str:
    """Return the text of *row*."""
    return row.decode("latin-1").translate(_CODED)


def row_of(text: str) -> bytes:
    """Return the row of a text."""
    return text.translate(_DECODED).encode("latin-1")


class DocumentPacking:
    """Makes documents of tantivy; for one thread."""

    def __init__(self) -> None:
        self._packer, self._unpacker = zstandard.ZstdCompressor(), zstandard.ZstdDecompressor()
        self._encoder, self._decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(Document)

    def packed(self, document: Document) -> tantivy.Document:
        """Return *document*, which must have terms, for tantivy."""
        made = tantivy.Document()
        for name, terms in zip(FIELDS, document.terms or (), strict=True):
            made.add_text(name, terms)
        made.add_text("row", row_text(document.row))
        made.add_integer("captured", document.captured)
        made.add_integer("status", document.status)
        made.add_text("type", document.content_type or NOTHING)
        for language in _with_wider(document.language):
            made.add_text("language", language)
        made.add_bytes("document", self._packer.compress(self._encoder.encode(document)))
        return made

    def unpacked(self, stored: tantivy.Document) -> Document:
        """The document that was packed into *stored*; raises `ValueError` if that is damaged."""
        try:
            return self._decoder.decode(self._unpacker.decompress(bytes(stored["document"][0])))
        except zstandard.ZstdError as exc:
            raise ValueError(f"a stored document is damaged: {exc}") from exc


def _with_wider(language: str) -> Iterator[str]:
    """Yield a language and what stands for it as well: de-at-1996, de-at, de."""
    yield language or NOTHING
    while "-" in language:
        language = language.rpartition("-")[0]
        if language:
            yield language


# --- The state of a directory -----------------------------------------------------------------------------------------
#
# `search.json` says what a directory of full text has: one index, and the one that will take its place.
#
# The file is replaced as a whole, after what it tells of was committed. So a place in it is never ahead of the
# documents, whenever a process is killed, and a rebuilt index takes the place of the old one in one step.


FORMAT: Final = 1
FILE: Final = "search.json"
_MOST_BYTES: Final = 1_000_000
FOLDER: Final = re.compile(r"index-[0-9a-f]{16}")
_REMEDY: Final = Message(
    "it can be built again from the pages: empty the directory, then ",
    Command("search-index create", python="table.search_index.create()"),
)


class Generation(msgspec.Struct, frozen=True):
    """An index of tantivy in its own `folder`, and how far it has come."""

    folder: str
    settings: str
    filled: bytes | None = b""
    cursor: str = ""
    as_of: datetime | None = None


class DirectoryState(msgspec.Struct, frozen=True):
    """The index that is `current`, and the one that is built to take its place."""

    current: Generation
    next: Generation | None = None
    format: int = FORMAT

    @property
    def newest(self) -> Generation:
        """The index that is written."""
        return self.next or self.current

    @property
    def folders(self) -> set[str]:
        """The folders of both."""
        return {generation.folder for generation in (self.current, self.next) if generation is not None}

    def with_newest(self, generation: Generation) -> DirectoryState:
        """Return the state with *generation* in place of `newest`; it becomes the `current` one when it is filled."""
        is_current = self.next is None or generation.filled is None
        return DirectoryState(generation) if is_current else DirectoryState(self.current, generation)


def read_state(directory: Path) -> DirectoryState | None:
    """Return the state of *directory*, None if there is no full text.

    Raises `NotAStore` if it is no directory of full text, and `StoreError` if the file is damaged.
    """
    try:
        with Folder(directory) as opened, opened.reading(FILE) as file:
            written = file.read(_MOST_BYTES)
    except FileNotFoundError:
        return None
    except NotADirectoryError as exc:
        raise NotAStore(f"{directory}: not a directory; full text needs one of its own") from exc
    except OSError as exc:
        raise StoreUnavailable(f"{directory}: {FILE} cannot be read: {exc.strerror}") from exc
    except FormatError as exc:
        raise damaged(directory, str(exc)) from exc
    try:
        plain = unsealed(written)
        check_format(str(directory), "full text", msgspec.json.decode(plain, type=_Format).format, FORMAT)
        state = msgspec.json.decode(plain, type=DirectoryState)
    except (ValueError, RecursionError) as exc:
        raise damaged(directory, f"{FILE} is damaged: {exc}") from exc
    if not all(FOLDER.fullmatch(name) for name in state.folders):
        raise damaged(directory, f"{FILE} names a folder outside")
    return state


def write_state(directory: Path, state: DirectoryState) -> None:
    """Put *state* in place of the stored one, at once."""
    with Folder(directory) as opened, opened.replacing(FILE, is_private=True) as file:
        file.write(with_checksum(msgspec.json.encode(state)))


def damaged(directory: Path, why: str) -> StoreError:
    """Return the error for full text that cannot be read."""
    return StoreError(f"{directory}: the full text cannot be read: {why}; " + _REMEDY)


class _Format(msgspec.Struct):
    format: int


# --- Errors -----------------------------------------------------------------------------------------------------------


_MEANINGS: Final[tuple[tuple[str, type[StoreError], str], ...]] = (
    ("No space left", StoreFull, "the disk is full"),
    ("Disk quota exceeded", StoreFull, "the quota of the disk is used up"),
    ("Permission denied", StoreRefused, "this user may not write there, which tantivy needs for its lock even to read"),
    ("Read-only file system", StoreRefused, "the disk is read-only, and tantivy needs its lock even to read"),
    ("Too many open files", StoreUnavailable, "this process has too many open files"),
)
"""What tantivy says in its errors, which have no codes, and what that means."""
_MANY_WORDS: Final = "too many words begin like the last one of a phrase: write more letters"


@contextmanager
def translated(directory: Path) -> Iterator[None]:
    """Turn what tantivy raises in the block into errors of the store."""
    try:
        yield
    except FormatError as exc:
        raise damaged(directory, str(exc)) from exc
    except WebTableError:
        raise
    except (ValueError, OSError, RuntimeError, TypeError, KeyError, IndexError) as exc:
        message = str(exc)
        if "exceeded max expansions" in message:
            raise InvalidArgument(_MANY_WORDS) from exc
        for text, kind, meaning in _MEANINGS:
            if text in message:
                raise kind(f"{directory}: {meaning}") from exc
        raise damaged(directory, message) from exc
    except BaseException as exc:
        # What a panic in Rust becomes is no Exception, and its class cannot be imported.
        if type(exc).__name__ != "PanicException":
            raise
        raise damaged(directory, str(exc)) from exc


# --- Queries ----------------------------------------------------------------------------------------------------------
#
# A term is scored by BM25 in each field, times the weight of that field, and the scores are added. A phrase counts
# like its terms together (the sum of their idf). At the end of a phrase, the beginning of a term counts like a term
# that no document has. A beginning alone is scored by the `MOST_SCORED` most common terms that begin so; the others
# match without a score.


MOST_SCORED: Final = 128
"""How many of the terms with a common beginning count for the score."""


class QueryMaker:
    """Makes the queries for an index as *searcher* sees it."""

    def __init__(self, index: tantivy.Index, searcher: tantivy.Searcher) -> None:
        self._index = index
        self._schema = index.schema
        self._searcher = searcher

    def query(self, query: TermQuery) -> Query:
        """Return *query* for tantivy."""
        parts = [(Occur.Must, self._phrase(part)) for part in query.wanted]
        # What has no score is added as 0, so that tantivy intersects it with the terms.
        parts += [(Occur.Must, Query.const_score_query(part, 0.0)) for part in self._filters(query)]
        parts += [(Occur.MustNot, self._phrase(part)) for part in query.without]
        return Query.boolean_query(parts)

    def after_row(self, row: bytes) -> Query:
        """Return the query for all documents after *row*."""
        if not row:
            return Query.all_query()
        return self._index.parse_query(f"row:{{{row_text(row)} TO *]")

    def of_row(self, row: bytes) -> Query:
        """Return the query for the document of *row*."""
        return self._is("row", row_text(row))

    def _filters(self, query: TermQuery) -> list[Query]:
        filters = []
        if query.rows.start or query.rows.stop:
            start, stop = (row_text(row) or "*" for row in query.rows)
            # The parser, because the package has no other way to a range of text.
            filters.append(self._index.parse_query(f"row:[{start} TO {stop}}}"))
        if query.captured != ALWAYS:
            first, end = query.captured
            integer = FieldType.Integer
            filters.append(Query.range_query(self._schema, "captured", integer, first, end, include_upper=False))
        equal = (("status", query.status), ("type", query.content_type), ("language", query.language))
        return filters + [
            self._is(name, NOTHING if value == "" else value) for name, value in equal if value is not None
        ]

    def _is(self, field: str, value: str | int) -> Query:
        return Query.term_query(self._schema, field, value, "basic")

    def _phrase(self, phrase: TermPhrase) -> Query:
        in_fields = [Query.boost_query(self._in_field(phrase, name), FIELDS[name]) for name in phrase.fields]
        return Query.boolean_query([(Occur.Should, query) for query in in_fields])

    def _in_field(self, phrase: TermPhrase, field: str) -> Query:
        *before, last = phrase.terms
        schema = self._schema
        if not phrase.is_prefix:
            if before:
                return Query.phrase_query(schema, field, list(phrase.terms))
            return Query.term_query(schema, field, last, "freq")
        any_end = f"{re.escape(last)}.*"
        if before:
            return Query.regex_phrase_query(schema, field, [*map(re.escape, before), any_end])
        terms = self._searcher.terms_with_prefix(field, last, limit=MOST_SCORED)
        parts = [(Occur.Should, Query.term_query(schema, field, term, "freq")) for term, _ in terms]
        if len(terms) == MOST_SCORED:
            others = Query.const_score_query(Query.regex_query(schema, field, any_end), 0.0)
            parts.append((Occur.Should, others))
        return Query.boolean_query(parts) if parts else Query.empty_query()


# --- Reading ----------------------------------------------------------------------------------------------------------
#
# Each call sees the index as of the last commit.


_LEAST_READ: Final = 256
"""How many of the best documents are asked for at least, since more of them cost little."""
_LOCK: Final = ".tantivy-meta.lock"
_MANAGED: Final = ".managed.json"
_MOST_MANAGED: Final = 10_000_000


def _leave_lock() -> None:
    """Close the lock that a thread of tantivy held in the parent, where it looks after new commits now and then.

    The child has it too, and would wait for itself for ever. Not by `Readers.after_fork`: such a thread outlives its
    `Readers` for a moment.
    """
    with suppress(OSError):
        for file in list(Path("/proc/self/fd").iterdir()):
            with suppress(OSError):
                if file.readlink().name == _LOCK:
                    os.close(int(file.name))


os.register_at_fork(after_in_child=_leave_lock)


class Readers:
    """The index of a folder of *directory* that was used last, kept open."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._open: tuple[str, tantivy.Index, object] | None = None
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Leave the index to the parent: its threads are not in the child."""
        self._lock = threading.Lock()
        if self._open is not None:
            # Closing it would wait for threads that the child does not have.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._open[1]))
            self._open = None

    def close(self) -> None:
        """Close the index."""
        with self._lock:
            self._open = None

    def documents(self, folder: str, after: bytes, limit: int) -> list[tuple[bytes, int]]:
        """Return the rows of at most *limit* documents after the row *after*, in order, each with its date."""
        with translated(self._directory):
            index, searcher = self._at(folder)
            query = QueryMaker(index, searcher).after_row(after)
            hits = searcher.search(query, limit, count=False, order_by_field="row", order=Order.Asc).hits
            dates = searcher.fast_field_values("captured", [address for _, address in hits])
            return [(row_of(row), int(date or 0)) for (row, _), date in zip(hits, dates, strict=True)]

    def captured(self, folder: str, rows: Sequence[bytes]) -> list[int | None]:
        """Return the date of the document of each of *rows*."""
        with translated(self._directory):
            index, searcher = self._at(folder)
            queries = QueryMaker(index, searcher)
            hits = [searcher.search(queries.of_row(row), 1, count=False).hits for row in rows]
            dates = iter(searcher.fast_field_values("captured", [hit[0][1] for hit in hits if hit]))
            return [int(next(dates) or 0) if hit else None for hit in hits]

    def matches(self, folder: str, query: TermQuery, after: Match | None, limit: int) -> list[Match]:
        """Return at most *limit* matches of *query* after the one *after*."""
        with translated(self._directory):
            index, searcher = self._at(folder)
            tantivy_query = QueryMaker(index, searcher).query(query)
            size = max(2 * limit, _LEAST_READ)
            while True:
                hits = searcher.search(tantivy_query, size, count=False).hits
                matches = _in_order(searcher, hits, after, limit, is_all=len(hits) < size)
                if matches is not None:
                    return matches
                size *= 4

    def _at(self, folder: str) -> tuple[tantivy.Index, tantivy.Searcher]:
        """Return the index of *folder*, and a searcher as of its last commit."""
        path = self._directory / folder
        status = (path / "meta.json").stat()
        now = (status.st_ino, status.st_mtime_ns, status.st_size)
        with self._lock:
            if self._open is None or self._open[0] != folder:
                self._open = (folder, opened(self._directory, folder), now)
            elif self._open[2] != now:
                self._open[1].reload()
                self._open = (*self._open[:2], now)
            return self._open[1], self._open[1].searcher()


def opened(directory: Path, folder: str) -> tantivy.Index:
    """Return the index in *folder* of *directory*, which sees later commits only after `reload`.

    Raises `FormatError` for a link or a pipe in it, and for a list of its files that names others: tantivy opens what
    is there, and its writers remove files that the list names and the index does not need.
    """
    with Folder(directory) as above, above.folder(folder) as own:
        names = own.names()
        for name in names:
            own.check_file(name)
        if _MANAGED in names:
            with own.reading(_MANAGED) as file:
                managed = msgspec.json.decode(file.read(_MOST_MANAGED), type=list[str])
            if any(len(plain_parts(name)) > 1 for name in managed):
                raise FormatError(f"{own.path / _MANAGED}: it names files in other directories")
        index = tantivy.Index.open(str(own.path))
    index.config_reader("manual")
    return index


def all_documents(index: tantivy.Index, at_once: int) -> Iterator[list[tantivy.Document]]:
    """Yield the stored documents in the order of their rows, some *at_once*."""
    searcher = index.searcher()
    queries = QueryMaker(index, searcher)
    after = b""
    while True:
        query = queries.after_row(after)
        hits = searcher.search(query, at_once, count=False, order_by_field="row", order=Order.Asc).hits
        if not hits:
            return
        yield [searcher.doc(address) for _, address in hits]
        after = row_of(hits[-1][0])


def _in_order(
    searcher: tantivy.Searcher,
    hits: list[tuple[float, tantivy.DocAddress]],
    after: Match | None,
    limit: int,
    *,
    is_all: bool,
) -> list[Match] | None:
    """Return the first *limit* of *hits* after the match *after*; None if others may belong among them.

    Tantivy orders equal scores by the numbers of documents, so all of one score are needed to put them by rows.
    """
    if after is not None:
        hits = [hit for hit in hits if hit[0] <= after.score]
    if not is_all:
        # There may be more documents with the last score.
        hits = [hit for hit in hits if hit[0] != hits[-1][0]]
    matches: list[Match] = []
    for score, equal in groupby(hits, key=itemgetter(0)):
        if len(matches) >= limit:
            break
        rows = sorted(row_of(searcher.doc(address)["row"][0]) for _, address in equal)
        matches += [Match(row, score) for row in rows if after is None or score < after.score or row > after.row]
    return matches[:limit] if is_all or len(matches) >= limit else None


# --- The lock ---------------------------------------------------------------------------------------------------------
#
# One process writes to a directory at a time.


LOCK_FILE = "writer.lock"


class WritingLock:
    """The lock of *directory*, which ends with its process."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._file: int | None = None
        renew_after_fork(self)

    def acquire(self) -> None:
        """Take the lock, and make the directory if it is missing; raises `StoreUnavailable` if another one has it."""
        if self._file is not None:
            return
        directory = self._directory
        try:
            directory.mkdir(mode=OWNER_ONLY_FOLDER, exist_ok=True)
            with Folder(directory) as opened:
                file = opened.open(LOCK_FILE, os.O_RDWR | os.O_CREAT)
        except (FileExistsError, NotADirectoryError) as exc:
            raise NotAStore(f"{directory}: not a directory; full text needs one of its own") from exc
        except FormatError as exc:
            raise NotAStore(str(exc)) from exc
        except OSError as exc:
            raise StoreRefused(f"{directory}: full text cannot be written there: {exc.strerror}") from exc
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            holder = os.pread(file, 20, 0).decode("ascii", "replace")
            os.close(file)
            raise StoreUnavailable(
                f"{directory}: process {holder or 'unknown'} is writing full text there; wait until it has ended"
            ) from exc
        os.ftruncate(file, 0)
        os.pwrite(file, str(os.getpid()).encode(), 0)
        self._file = file

    def release(self) -> None:
        """Give the lock back, if this process has it."""
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)  # explicitly, because a forked child may still have the file open
            os.close(self._file)
            self._file = None

    def after_fork(self) -> None:
        """Leave the lock to the parent, in the child."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self.release()


# --- Writing ----------------------------------------------------------------------------------------------------------
#
# A folder of tantivy is open for one call at a time.
#
# So no thread is left between calls: what a commit has to merge is merged before the call returns.


_MEMORY: Final = 64 * 2**20
"""The bytes of terms that are collected before a segment is written."""
_COPIED_AT_ONCE: Final = 5_000
_WRITER_LOCK: Final = ".tantivy-writer.lock"


def created(directory: Path, folder: str) -> None:
    """Make the *folder* with an empty index."""
    with translated(directory):
        (directory / folder).mkdir(mode=0o700)
        tantivy.Index(schema(), str(directory / folder), reuse=False)


def written(directory: Path, folder: str, documents: Sequence[Document], gone: Sequence[bytes]) -> list[bytes]:
    """Remove the rows *gone*, put *documents*, and commit; returns the rows whose terms are needed."""
    lacking: list[bytes] = []
    with translated(directory), _writer(directory, folder) as (index, writer):
        packing = DocumentPacking()
        searcher = index.searcher()
        queries = QueryMaker(index, searcher)
        put: dict[bytes, Document | None] = {}

        def known(row: bytes) -> Document | None:
            if row in put:
                return put[row]
            hits = searcher.search(queries.of_row(row), 1, count=False).hits
            return packing.unpacked(searcher.doc(hits[0][1])) if hits else None

        for row in gone:
            writer.delete_documents_by_term("row", row_text(row))
            put[row] = None
        for document in documents:
            if document.terms is None:
                before = known(document.row)
                if before is None or before.digest != document.digest:
                    lacking.append(document.row)
                    continue
                document = document._replace(terms=before.terms)
            writer.delete_documents_by_term("row", row_text(document.row))
            writer.add_document(packing.packed(document))
            put[document.row] = document
        writer.commit()
    return lacking


def copied(directory: Path, source: str, target: str) -> None:
    """Write the documents of the folder *source* into the new folder *target*."""
    created(directory, target)
    with translated(directory):
        packing = DocumentPacking()
        index = opened(directory, source)
        for batch in all_documents(index, _COPIED_AT_ONCE):
            with _writer(directory, target) as (_, writer):
                for stored in batch:
                    writer.add_document(packing.packed(packing.unpacked(stored)))
                writer.commit()


@contextmanager
def _writer(directory: Path, folder: str) -> Iterator[tuple[tantivy.Index, tantivy.IndexWriter]]:
    """Give the index and its writer, for a block that commits."""
    # Our own lock is held; this one may be inherited by a child of a writer, and would outlive it.
    with Folder(directory) as above:
        above.remove(f"{folder}/{_WRITER_LOCK}")
    index = opened(directory, folder)
    # One thread: documents keep their order, so that the same writes make the same index.
    writer = index.writer(_MEMORY, 1)
    try:
        yield index, writer
    finally:
        writer.wait_merging_threads()


# --- The index --------------------------------------------------------------------------------------------------------


_T = TypeVar("_T")
_NEWEST, _CURRENT = attrgetter("newest.folder"), attrgetter("current.folder")


class TantivyIndex(SearchIndex):
    """The full text in *directory*, which is made when the index is created.

    Raises `StoreUnavailable` if another process is writing, `NotAStore` for a directory of something else, and
    `StoreError` for a damaged one.
    """

    at_once = 1_000

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = WritingLock(directory)
        self._readers = Readers(directory)
        self._mutex = threading.RLock()

    @property
    def as_of(self) -> datetime | None:
        """Up to when captures are in it, as `reach` was given it."""
        state = read_state(self._directory)
        return None if state is None else state.current.as_of

    def settings(self) -> str | None:
        """Return the settings of the index that is written."""
        state = read_state(self._directory)
        return None if state is None else state.newest.settings

    def searched(self) -> str | None:
        """Return the settings of the index that is read, unless that is not complete."""
        state = read_state(self._directory)
        return None if state is None or state.current.filled is not None else state.current.settings

    def filled(self) -> bytes | None:
        """Return the row up to which the index that is written is filled."""
        state = read_state(self._directory)
        return None if state is None else state.newest.filled

    def cursor(self) -> str:
        """The cursor that `reach` was given last."""
        state = read_state(self._directory)
        return "" if state is None else state.newest.cursor

    def create(self, settings: str) -> None:
        """Create the index in a new folder; a complete one that is there is read until the new one is filled."""
        with self._writing() as state:
            generation = Generation(_new_folder(), settings)
            created(self._directory, generation.folder)
            is_complete = state is not None and state.current.filled is None
            self._put(
                DirectoryState(state.current, generation) if state and is_complete else DirectoryState(generation)
            )

    def drop(self) -> None:
        """Remove the index, and one that is built."""
        if read_state(self._directory) is None:
            return
        with self._writing():
            (self._directory / FILE).unlink(missing_ok=True)
            self._clean(set())

    def write(
        self, documents: Iterable[Document], gone: Iterable[bytes] = (), *, filled: bytes | None = b""
    ) -> list[bytes]:
        """Write and commit, then keep *filled*; a killed write has committed all of it or nothing."""
        documents, gone = list(documents), list(gone)
        with self._writing() as state:
            newest = _needed(self._directory, state).newest
            lacking = written(self._directory, newest.folder, documents, gone) if documents or gone else []
            if filled != b"":
                self._reached(filled, newest.cursor, newest.as_of)
        return lacking

    def reach(self, cursor: str, as_of: datetime | None = None) -> None:
        """Keep *cursor*, and the moment *as_of* if it is given."""
        with self._writing() as state:
            newest = _needed(self._directory, state).newest
            self._reached(newest.filled, cursor, as_of or newest.as_of)

    def documents(self, after: bytes, limit: int) -> list[tuple[bytes, int]]:
        """Return the documents of the index that is written, as of its last commit."""
        return self._read(_NEWEST, lambda folder: self._readers.documents(folder, after, limit))

    def captured(self, rows: Sequence[bytes]) -> list[int | None]:
        """Return the dates in the index that is written, as of its last commit."""
        return self._read(_NEWEST, lambda folder: self._readers.captured(folder, rows))

    def matches(self, query: TermQuery, after: Match | None, limit: int) -> list[Match]:
        """Return the matches as of the last commit."""
        return self._read(_CURRENT, lambda folder: self._readers.matches(folder, query, after, limit))

    def _read(self, choose: Callable[[DirectoryState], str], read: Callable[[str], _T]) -> _T:
        """Read the folder that *choose* names, once more if a compaction has replaced it meanwhile."""
        while True:
            folder = choose(_needed(self._directory, read_state(self._directory)))
            try:
                return read(folder)
            except StoreError:
                state = read_state(self._directory)
                if state is not None and choose(state) == folder:
                    raise

    def compact(self) -> None:
        """Write the documents into a new folder, and remove the old one; takes the space of both meanwhile."""
        with self._writing() as state:
            state = _needed(self._directory, state)
            self._put(DirectoryState(self._copied(state.current), state.next and self._copied(state.next)))

    def _copied(self, generation: Generation) -> Generation:
        folder = _new_folder()
        copied(self._directory, generation.folder, folder)
        return msgspec.structs.replace(generation, folder=folder)

    def close(self) -> None:
        """Let other processes write; the object may be used again."""
        with self._mutex:
            self._readers.close()
            self._lock.release()

    @contextmanager
    def _writing(self) -> Iterator[DirectoryState | None]:
        """Hold the lock, and give the state; what killed writers have left is removed before."""
        with self._mutex:
            self._check()
            self._lock.acquire()
            state = read_state(self._directory)
            self._clean(set() if state is None else state.folders)
            yield state

    def _check(self) -> None:
        """Raise `NotAStore` for a directory that has files of others, and nothing of ours."""
        if self._directory.is_dir() and not (self._directory / LOCK_FILE).exists():
            for path in self._directory.iterdir():
                if path.name != FILE and FOLDER.fullmatch(path.name) is None:
                    raise NotAStore(f"{self._directory}: it has other files ({path.name}); name a new or empty one")

    def _reached(self, filled: bytes | None, cursor: str, as_of: datetime | None) -> None:
        state = _needed(self._directory, read_state(self._directory))
        newest = state.newest
        self._put(state.with_newest(Generation(newest.folder, newest.settings, filled, cursor, as_of)))

    def _put(self, state: DirectoryState) -> None:
        write_state(self._directory, state)
        self._clean(state.folders)

    def _clean(self, folders: set[str]) -> None:
        """Remove what the state does not name, as killed writers leave; who reads it goes on with the open files."""
        for path in self._directory.glob(f"{FILE}.*.part"):
            path.unlink(missing_ok=True)
        for path in self._directory.glob("index-*"):
            if path.name not in folders and FOLDER.fullmatch(path.name):
                shutil.rmtree(path, ignore_errors=True)

    def bytes(self) -> int:
        """Return the bytes of all files in the directory."""
        total = 0
        for path in self._directory.rglob("*"):
            with suppress(FileNotFoundError):  # merged meanwhile
                status = path.lstat()
                total += status.st_size if stat.S_ISREG(status.st_mode) else 0
        return total


def _new_folder() -> str:
    # Never used again, so that a reader knows by the name that it has another index.
    return f"index-{secrets.token_hex(8)}"


def _needed(directory: Path, state: DirectoryState | None) -> DirectoryState:
    if state is None:
        raise StoreError(
            f"{directory}: there is no full text: ",
            Command("search-index create", python="table.search_index.create()"),
        )
    return state
