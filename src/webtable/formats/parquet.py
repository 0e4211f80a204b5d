"""Reader of pages in Parquet files, one per row, by the column names of answers or of Common Crawl.

pyarrow reads a few hundred rows at once and allocates whatever the file says: the limits apply to a row only after it
was read, so files from untrusted sources should come in another format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

from webtable.errors import InvalidURL, UnknownColumn
from webtable.formats.read_report import (
    Damaged,
    DamagedFile,
    DamagedRecord,
    OverLimit,
    Place,
    ReadReport,
    check_announced,
)
from webtable.repository.answers.arrow_batches import arrow
from webtable.repository.answers.arrow_pages import ROWS_AT_ONCE, checked_columns, page_of
from webtable.rowkey import canonical_url

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from webtable._limits import ReadLimits
    from webtable._page.page import Page

MAGIC = b"PAR1"
"""The first bytes of Parquet files."""


def read_parquet(
    file: BinaryIO,
    source: str,
    report: ReadReport,
    types: Collection[str] | None,
    limits: ReadLimits,
    *,
    skip: int = 0,
) -> Iterator[Page]:
    """Yield the pages of a Parquet file after the first *skip* of its rows; a row that is not a page is reported."""
    pa = arrow()
    try:
        parquet = pa.parquet.ParquetFile(file)
        fields = checked_columns(parquet.schema_arrow.names)
        for number, row in _rows(parquet, list(fields), source, report):
            if number <= skip:
                continue
            values = {fields[name]: value for name, value in row.items()}
            page = report.attempt(
                lambda: check_announced(types, _page(values, limits)),  # noqa: B023 - called at once
                lambda reason: DamagedRecord(source, number, None, reason, "row"),  # noqa: B023
            )
            report.add_record(0)
            report.place = Place(0, number)  # it is also after rows that cannot be read
            if page is not None:
                report.pages += 1
                yield page
    except UnknownColumn as exc:
        raise DamagedFile(str(exc), 0) from exc
    except (pa.ArrowException, OSError) as exc:
        raise DamagedFile(f"not a sound Parquet file: {exc}", 0) from exc


def _rows(parquet: Any, columns: list[str], source: str, report: ReadReport) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the rows with their numbers, from 1; unreadable parts of row groups are reported."""
    first = 1
    # One row group at a time: otherwise a batch takes rows of many groups, and all of their bodies.
    for group in range(parquet.num_row_groups):
        number, described = first, parquet.metadata.row_group(group)
        try:
            for batch in parquet.iter_batches(ROWS_AT_ONCE, row_groups=[group], columns=columns):
                for row in batch.to_pylist():
                    yield number, row
                    number += 1
        except (arrow().ArrowException, OSError, UnicodeDecodeError) as exc:
            chunks = map(described.column, range(described.num_columns))
            skipped = sum(chunk.total_compressed_size for chunk in chunks)
            report.add_gap(DamagedRecord(source, number, None, f"its row group is damaged: {exc}", "row"), skipped)
        first += described.num_rows


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
