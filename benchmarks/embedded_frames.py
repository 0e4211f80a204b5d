"""How fast does a listing of the embedded store become a data frame?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import webtable
from benchmarks import frames

if TYPE_CHECKING:
    from benchmarks.measuring import Result
    from benchmarks.setting import Setting

NEEDS = frozenset[str]()


def run(setting: Setting) -> list[Result]:
    """Make data frames of the pages of one file."""
    with webtable.open(setting.new_file(), create=True, indexes=[]) as table:
        return frames.results(setting, table, "embedded")
