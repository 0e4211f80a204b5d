"""What a copy has done, counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from zlib import crc32

from webtable.errors import DamagedRow, HiddenByDelete, InvalidToken, SchemaError, StoreUnavailable, WebTableError
from webtable.repository.scanning.damage import MOST_KEPT


@dataclass(frozen=True, slots=True)
class Copied:
    """What `WebTable.copy_to` has done so far.

    `pages` were written, with so many `versions` and `bytes` of bodies and links, as they are stored; `unchanged` were
    there already, and `deleted` says how many deletes were repeated. `merged` are those of the pages of which the
    target had captures of its own: each took its place beside them. `inlinks` are the links to pages that were written.

    `damaged` counts rows of the source of which something cannot be read: it is left out; `examples` are the first 100.
    `hidden` are pages that the target has deleted since they were fetched, and `failed` those that it did not store;
    `errors` are the first 100 reasons. `token` stands for the place up to which all is copied: `copy_to` goes on behind
    it. It is None where there is nothing behind it.
    """

    pages: int = 0
    versions: int = 0
    bytes: int = 0
    unchanged: int = 0
    deleted: int = 0
    merged: int = 0
    inlinks: int = 0
    damaged: int = 0
    hidden: int = 0
    failed: int = 0
    examples: tuple[DamagedRow, ...] = ()
    errors: tuple[WebTableError, ...] = ()
    token: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether nothing was left out."""
        return not (self.damaged or self.hidden or self.failed)

    @property
    def looked_at(self) -> int:
        """How many pages were looked at."""
        return self.pages + self.unchanged + self.hidden + self.failed


class Counts:
    """The counts of a copy that runs."""

    def __init__(self) -> None:
        self._counts = Counter[str]()
        self._examples: list[DamagedRow] = []
        self._errors: list[WebTableError] = []

    def add(self, **counts: int) -> None:
        """Add *counts*, which have the names of the fields of `Copied`."""
        self._counts.update(counts)

    def add_damaged(self, error: DamagedRow) -> None:
        """Count a row of the source that cannot be read."""
        self.add(damaged=1)
        if len(self._examples) < MOST_KEPT:
            self._examples.append(error)

    def add_failed(self, error: WebTableError) -> None:
        """Count a page that was not stored; raises *error* where no other would be either."""
        if isinstance(error, StoreUnavailable | SchemaError):
            raise error
        if isinstance(error, HiddenByDelete):
            self.add(hidden=1)
        else:
            self.add(failed=1)
        if len(self._errors) < MOST_KEPT:
            self._errors.append(error)

    def copied(self, token: str | None) -> Copied:
        """Return them as a value of this moment."""
        return Copied(**self._counts, examples=tuple(self._examples), errors=tuple(self._errors), token=token)


PAGES, LINKS = "pages", "links"
"""The two passes of a copy."""


def token_of(step: str, row: bytes) -> str:
    """Return the token of the place behind *row* in a *step* of a copy.

    >>> token_of(LINKS, b"ab"), place_of(token_of(LINKS, b"ab"))
    ('links-6162-91846d14', ('links', b'ab'))
    """
    text = f"{step}-{row.hex()}"
    return f"{text}-{crc32(text.encode()):08x}"


def place_of(token: str | None) -> tuple[str, bytes]:
    """Return the step and the row that *token* stands for, the beginning for None; raises `InvalidToken`."""
    if token is None:
        return PAGES, b""
    try:
        step, row, _ = token.split("-")
        place = step, bytes.fromhex(row)
    except (AttributeError, ValueError):
        place = "", b""
    if place[0] not in (PAGES, LINKS) or token_of(*place) != token:
        raise InvalidToken(f"after={token!r} is no token of a copy: take that of webtable.Copied")
    return place
