"""Answers as data frames of Dask, whose workers read them from the store (extra `[dask]`)."""

from __future__ import annotations

import os
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from webtable._importable import needed

with needed("dask", "dask"):
    import dask
    import dask.dataframe

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from webtable.parallel import Divisible, Partition

__all__ = ["read_pages"]


def read_pages(
    answer: Divisible[Any], npartitions: int | None = None, *, columns: Sequence[str] | None = None
) -> dask.dataframe.DataFrame:
    """Return *answer*, of any question or a scan, as a Dask data frame of *npartitions* parts (four a core by default).

    It has the *columns* and types of `answer.to_pandas(columns)`; bytes and lists stay what they are, whatever
    `dataframe.convert-string` says. Only row keys are read now. Each task then opens the store itself and reads its
    part, without the columns that the program does not use. Raises what `answer.partitions` and `to_arrow` do.
    """
    parts = answer.partitions(4 * (os.cpu_count() or 1) if npartitions is None else npartitions)
    with parts[0].open() as first:
        nothing = replace(first, limit=0).to_pandas(columns)
    # Dask would make text of all objects. It takes tasks with one label and the same arguments for the same.
    with dask.config.set({"dataframe.convert-string": False}):
        return dask.dataframe.from_map(
            _context, parts, columns=list(nothing.columns), meta=nothing, label=f"webtable-{uuid.uuid4().hex[:12]}"
        )


def _context(part: Partition[Any], columns: Sequence[str] | None = None) -> pd.DataFrame:
    with part.open() as answer:
        return answer.to_pandas(columns)
