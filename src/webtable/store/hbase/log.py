"""What is logged of gateways: connections that were lost, calls that were slow, and what was done about it.

Nothing of a page is ever in it: of row keys only those at which a scan goes on, and of replies that were not believed
only that they were not. Texts from elsewhere are one line, whatever is in them.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from webtable.store import log
from webtable.store.hbase.thrift.stream import WrongReply
from webtable.store.log import subject_of

if TYPE_CHECKING:
    from webtable.errors import WebTableError

LOGGER: Final = logging.getLogger("webtable.store.hbase")

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
    reason = "" if error is None else _reason(error, subject_of(gateway, table))
    fields: dict[str, object] = {"gateway": gateway}
    log.tell(LOGGER, level, event, text, store=gateway, table=table, seconds=seconds, reason=reason, fields=fields)


def _reason(error: WebTableError, subject: str) -> str:
    if isinstance(error.__cause__, WrongReply):
        return "a reply that is not believed"  # its error may quote it
    return str(error).removeprefix(f"{subject}: ")[:_LONGEST]
