"""What is logged beside the answers: events as one line each, and as the fields of a record.

Nothing of a page is ever in it. Texts from elsewhere are one line, whatever is in them.
"""

from __future__ import annotations

import logging
from typing import Final

LOGGER: Final = logging.getLogger("webtable.store")
logging.getLogger("webtable").addHandler(logging.NullHandler())  # quiet where the program sets up no logging


def subject_of(name: str, table: str | None) -> str:
    """Return what a message about *table* on the store *name* begins with."""
    return f"{name}: table {table!r}" if table else name


def tell(
    logger: logging.Logger,
    level: int,
    event: str,
    text: str,
    *,
    store: str,
    table: str | None,
    seconds: float,
    reason: str = "",
    fields: dict[str, object] | None = None,
) -> None:
    """Log *event* of *store* at *level*, how many *seconds* it took or will take, and why.

    *event*, *store*, *table* and *seconds* are fields of the record too, beside *fields*. Where nobody listens nothing
    is done.
    """
    if not logger.isEnabledFor(level):
        return
    extra = {"event": event, "store": store, "table": table, "seconds": seconds, **(fields or {})}
    parts = [one_line(part) for part in (subject_of(store, table), text)]
    logger.log(level, "%s: %s (%.3f s)%s", *parts, seconds, one_line(reason and f": {reason}"), extra=extra)


def one_line(text: str) -> str:
    r"""Return *text* with everything escaped that could end its line, or steer a terminal.

    >>> one_line("a\nb\x1b[2J")
    'a\\nb\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
