"""What is logged of gateways: connections that were lost, calls that were slow, and what was done about it.

Nothing of a page is ever in it: of row keys only those at which a scan goes on, and of replies that were not believed
only that they were not. Texts from elsewhere are one line, whatever is in them.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from webtable.store.hbase.failures import subject_of
from webtable.store.hbase.stream import WrongReply

if TYPE_CHECKING:
    from webtable.errors import WebTableError

LOGGER: Final = logging.getLogger("webtable.store.hbase")
logging.getLogger("webtable").addHandler(logging.NullHandler())  # quiet where the program sets up no logging

_LONGEST: Final = 300  # of the reason, which may quote a server


def tell(
    level: int,
    event: str,
    text: str,
    *,
    gateway: str,
    table: str | None,
    seconds: float,
    error: WebTableError | None = None,
) -> None:
    """Log *event* of *gateway* at *level*, how many *seconds* it took or will take, and why.

    *event*, *gateway*, *table* and *seconds* are fields of the record too. Where nobody listens nothing is done.
    """
    if not LOGGER.isEnabledFor(level):
        return
    subject = subject_of(gateway, table)
    reason = "" if error is None else f": {_reason(error, subject)}"
    fields = {"event": event, "gateway": gateway, "table": table, "seconds": seconds}
    LOGGER.log(level, "%s: %s (%.3f s)%s", one_line(subject), one_line(text), seconds, one_line(reason), extra=fields)


def one_line(text: str) -> str:
    r"""Return *text* with everything escaped that could end its line, or steer a terminal.

    >>> one_line("a\nb\x1b[2J")
    'a\\nb\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def _reason(error: WebTableError, subject: str) -> str:
    if isinstance(error.__cause__, WrongReply):
        return "a reply that is not believed"  # its error may quote it
    return str(error).removeprefix(f"{subject}: ")[:_LONGEST]
