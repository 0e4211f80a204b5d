"""What is told of damaged rows on standard error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable._shown.text import plural
from webtable.cli.exit_codes import complain
from webtable.rowkey.ranges import key_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.errors import DamagedRow
    from webtable.repository import Verification

MOST_NAMED = 5
"""How many damaged rows are named."""


def tell_findings(found: Verification) -> None:
    """Tell what a verification has *found* that is damaged, lost or missing, and name the first of each."""
    tell_damage(found.examples, found.damaged + found.lost, left_out=False)
    if found.missing:
        complain(f"{plural(found.missing, 'page')} missing")
    for host in found.short_hosts[:MOST_NAMED]:
        complain(f"{host.host}: {plural(host.expected, 'page')} expected, {host.found:,} found")
    if len(found.short_hosts) > MOST_NAMED:
        complain("and of more hosts")


def tell_damage(rows: Sequence[DamagedRow], count: int, *, left_out: bool = True) -> None:
    """Tell that *count* rows are damaged, and name the first of *rows*; nothing where there are none."""
    if not count:
        return
    complain(f"{plural(count, 'damaged row')} {'left out' if left_out else 'found'}")
    for row in rows[:MOST_NAMED]:
        complain(f"{row.url or 'row ' + key_text(row.row[:200])}: {row.reason}")
    if rows and count > min(len(rows), MOST_NAMED):
        complain(f"and {count - min(len(rows), MOST_NAMED):,} more")
