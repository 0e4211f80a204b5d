"""Pages out of Parquet files: a row each, by the names that answers, or Common Crawl, have for their columns.

pyarrow reads a few hundred rows at once. It allocates what the file tells it to: the limits hold for a row when it is
read, and not before that, so files that nobody vouches for should come in another format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

from webtable.errors import InvalidURL, UnknownColumn
from webtable.formats.base import Damaged, DamagedFile, DamagedRecord, OverLimit, ReadReport, check_announced
from webtable.repository.arrow.batches import arrow
from webtable.repository.arrow.pages import ROWS_AT_ONCE, checked_columns, page_of
from webtable.rowkey import canonical_url

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from webtable._limits import ReadLimits
    from webtable._page import Page

MAGIC = b"PAR1"
"""How Parquet files begin."""


def read_parquet(
    file: BinaryIO,
    source: str,
    report: ReadReport,
    types: Collection[str] | None,
    limits: ReadLimits,
    *,
    skip: int = 0,
) -> Iterator[Page]:
    """Yield the pages of a Parquet file behind the first *skip* of its rows; a row that is no page is reported."""
    pa = arrow()
    try:
        parquet = pa.parquet.ParquetFile(file)
        fields = checked_columns(parquet.schema_arrow.names)
        for number, row in enumerate(_rows(parquet, list(fields)), 1):
            if number <= skip:
                continue
            values = {fields[name]: value for name, value in row.items()}
            page = report.taken(
                lambda: check_announced(types, _page(values, limits)),  # noqa: B023 - it is called at once
                lambda reason: DamagedRecord(source, number, None, reason, "row"),  # noqa: B023
            )
            report.add_record(0)
            if page is not None:
                report.pages += 1
                yield page
    except UnknownColumn as exc:
        raise DamagedFile(str(exc), 0) from exc
    except (pa.ArrowException, OSError) as exc:
        raise DamagedFile(f"it is no sound Parquet file: {exc}", 0) from exc


def _rows(parquet: Any, columns: list[str]) -> Iterator[Mapping[str, Any]]:
    # One row group after another: else a batch takes rows of many, and with them all of their bodies.
    for group in range(parquet.num_row_groups):
        for batch in parquet.iter_batches(ROWS_AT_ONCE, row_groups=[group], columns=columns):
            yield from batch.to_pylist()


def _page(values: Mapping[str, Any], limits: ReadLimits) -> Page:
    size = sum(len(value) for value in values.values() if isinstance(value, str | bytes))
    if size > limits.record:
        raise OverLimit("record", f"it has over {limits.record:,} bytes")
    try:
        page = page_of(values)
        canonical_url(page.url)
    except (InvalidURL, ValueError, TypeError) as exc:
        raise Damaged(str(exc)) from exc
    return page
