"""The writing of documents into a folder of tantivy, which is open for one call at a time.

So no thread is left between calls: what a commit has to merge is merged before the call returns.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import tantivy

from webtable._files import Folder
from webtable.store.search_directory.documents import DocumentPacking, row_text, schema
from webtable.store.search_directory.failures import translated
from webtable.store.search_directory.queries import QueryMaker
from webtable.store.search_directory.reading import all_documents, opened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from webtable.store.search import Document

_MEMORY: Final = 64 * 2**20
"""The bytes of terms that are collected before a segment is written."""
_COPIED_AT_ONCE: Final = 5_000
_LOCK: Final = ".tantivy-writer.lock"


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
        for some in all_documents(index, _COPIED_AT_ONCE):
            with _writer(directory, target) as (_, writer):
                for stored in some:
                    writer.add_document(packing.packed(packing.unpacked(stored)))
                writer.commit()


@contextmanager
def _writer(directory: Path, folder: str) -> Iterator[tuple[tantivy.Index, tantivy.IndexWriter]]:
    """Give the index and its writer, for a block that commits."""
    # Our own lock is held; this one may be inherited by a child of a writer, and would outlive it.
    with Folder(directory) as above:
        above.remove(f"{folder}/{_LOCK}")
    index = opened(directory, folder)
    # One thread: documents keep their order, so that the same writes make the same index.
    writer = index.writer(_MEMORY, 1)
    try:
        yield index, writer
    finally:
        writer.wait_merging_threads()
