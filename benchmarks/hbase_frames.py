"""How fast does a listing from HBase become a data frame?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks import frames

if TYPE_CHECKING:
    from benchmarks.measuring import Result
    from benchmarks.setting import Setting

NEEDS = frozenset({"hbase"})


def run(setting: Setting) -> list[Result]:
    """Make data frames of the pages of one table."""
    with setting.hbase_table() as table:
        return frames.results(setting, table, "HBase")
