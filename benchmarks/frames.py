"""How fast does a listing become a data frame, against one of Page objects and against the cells alone?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from benchmarks.material import made_up_pages
from benchmarks.measuring import Result, Run, compare, stopwatch
from webtable import ALL, Page
from webtable.repository.answers.columns import PAGES
from webtable.rowkey import KeyRange
from webtable.store import Wanted

if TYPE_CHECKING:
    from benchmarks.setting import Setting
    from webtable import WebTable

SITES = [f"site-{number}.example" for number in range(50)]
COLUMNS = PAGES.usual
OF_STORED = [name for name in COLUMNS if not hasattr(Page, name)]
OF_PAGES = [name for name in COLUMNS if name not in OF_STORED]


def results(setting: Setting, table: WebTable, store: str) -> list[Result]:
    """Store made-up pages of 50 sites in *table* and make data frames of them."""
    pages = made_up_pages(setting.scaled(100_000), SITES, body_bytes=500)
    with table.writer() as writer:
        count = writer.put_many(pages)

    def ours() -> Run:
        with stopwatch() as watch:
            frame = table.pages(ALL).to_pandas()
        return Run(watch.seconds, len(frame), (len(frame), set(frame["url"]), frame["size"].sum()))

    def objects() -> Run:
        with stopwatch() as watch:
            found = list(table.pages(ALL))
            frame = pd.DataFrame([_fields(page) for page in found])
        return Run(watch.seconds, len(frame), (len(frame), set(frame["url"]), frame["size"].sum()))

    def batches() -> Run:
        with stopwatch() as watch:
            rows = sum(batch.num_rows for batch in table.pages(ALL).to_arrow())
        return Run(watch.seconds, rows, rows)

    def cells() -> Run:
        with stopwatch() as watch:
            rows = sum(1 for _ in table.store.scan(table.table, [KeyRange()], Wanted([b"metadata:page"])))
        return Run(watch.seconds, rows, rows)

    what = f"{store}, {count:,} pages, their metadata"
    return [
        compare(
            f"{what}: pages(...).to_pandas()",
            "a DataFrame of a list of Page objects",
            target=3,
            ours=ours,
            peer=objects,
            pairs=setting.pairs(5),
            note=f"{len(COLUMNS)} columns; a table without indexes",
        ),
        compare(
            f"{what}: pages(...).to_arrow(), batch by batch",
            "the same cells as rows of the store port, in the order of the store",
            target=0.5,
            ours=batches,
            peer=cells,
            pairs=setting.pairs(5),
            note="ours in the order of URLs; a table without indexes",
        ),
    ]


def _fields(page: Page) -> dict[str, object]:
    fields = {name: getattr(page, name) for name in OF_PAGES}
    stored = page.stored
    for name in OF_STORED:
        fields[name] = getattr(stored, name)
    return fields
