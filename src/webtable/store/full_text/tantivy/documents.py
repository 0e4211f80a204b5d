"""Documents as tantivy keeps them.

Terms are indexed as they come, parted at spaces. Beside them each document is stored whole, packed: tantivy can
change no document in place, and its Python package cannot merge on demand, so `terms=None` and `compact` take the terms
from there. A row is text whose characters have the order of its bytes, with none that has a meaning in a query.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
import tantivy
import zstandard

from webtable.store.full_text import FIELDS, Document

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        """Return what a stored document of tantivy has; raises `ValueError` if that is damaged."""
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
