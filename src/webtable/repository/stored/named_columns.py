"""The columns of a page that questions may name, and the fields that are read for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from webtable.errors import UnknownColumn
from webtable.page.json_lines import ATTRIBUTES
from webtable.page.parts import unknown_column

EXTRA_COLUMNS = ("body", "outlinks", "link_counts")
"""The columns of a page that are separate cells, and are read only on request."""
PAGE_COLUMNS = tuple(name for name in ATTRIBUTES if name != "same_as")
"""All fields of a page."""
_OF_COUNTS = ("inlinks", "internal", "external", "self_links", "counted_at")
_OF_URL = ("host", "host_reversed", "registered_domain", "scheme", "path", "query")
_INTERNAL = ("links_digest", "inlinks_at", "hints_at", "likeness", "html_facts", "payload_digest", "repeats_at")
COMPUTED: Final = {
    "text": "body",
    **dict.fromkeys(_OF_COUNTS, "link_counts"),
    **dict.fromkeys(_OF_URL, "url"),
}
"""The further columns of pages, and the field that each is computed from."""
NAMED_COLUMNS: Final = (*(name for name in PAGE_COLUMNS if name not in _INTERNAL), *COMPUTED)
"""All columns of a page, for `columns=`."""


def column_names(columns: Sequence[str] | None) -> tuple[str, ...]:
    """Return page columns as a tuple; a single name is allowed. Raises `UnknownColumn` for anything but names.

    >>> column_names("body"), column_names(["body", "outlinks"]), column_names(None)
    (('body',), ('body', 'outlinks'), ())
    """
    if not isinstance(columns, Iterable | None):
        raise UnknownColumn(f"columns={columns!r} must be a list of names, as in ['body']")
    return (columns,) if isinstance(columns, str) else tuple(columns or ())


def fields_of(columns: Sequence[str] | None) -> tuple[str, ...]:
    """Return the fields of a page from which *columns* are computed: themselves, unless they are no fields.

    >>> fields_of(["text", "host", "title"])
    ('body', 'url', 'title')
    """
    return tuple(dict.fromkeys(COMPUTED.get(name, name) for name in column_names(columns)))


def checked_fields(columns: Sequence[str] | None) -> tuple[str, ...]:
    """Return the fields for *columns*, as `fields_of` does; raises `UnknownColumn` for a name that a page has not."""
    unknown = [name for name in column_names(columns) if name not in NAMED_COLUMNS]
    if unknown:
        raise UnknownColumn(unknown_column(unknown[0], "page", NAMED_COLUMNS))
    return fields_of(columns)
