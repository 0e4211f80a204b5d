"""The conversions of every answer: to an Arrow stream, a data frame, a list of dicts, a Parquet file."""

from __future__ import annotations

from abc import abstractmethod
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from webtable.display import Shown, ShowsItself, Unbroken, shown_text
from webtable.errors import MissingExtra
from webtable.repository.answers.arrow import arrow, batches_of, schema_of, write_parquet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from os import PathLike

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from webtable.repository.answers.columns import Column, ColumnNames, Columns

T = TypeVar("T")

SHOWN_ROWS = 10
"""How many rows notebooks and terminals show."""


class Tabular(ShowsItself, Generic[T]):
    """An answer as a table: a row for each result, and columns with stable names and types.

    pyarrow, polars, duckdb and pandas accept it directly, through the Arrow PyCapsule protocol: `pl.DataFrame(answer)`,
    `pa.table(answer)`, `duckdb.sql("select … from answer")`, `pd.DataFrame.from_arrow(answer)`. Each conversion asks
    the question again. All but `to_dicts`, `first` and `count` need the extra `hbase-webtable[arrow]`, and raise
    `MissingExtra` without it.
    """

    __slots__ = ()

    if not TYPE_CHECKING:  # a checker would take any name for an attribute

        def __getattr__(self, name: str) -> NoReturn:
            drawn = "; pictures are drawn of stats, hosts and history" if name == "plot" else ""
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}{drawn}", name=name, obj=self)

    @property
    @abstractmethod
    def _columns(self) -> Columns:
        """The columns of the results."""

    @abstractmethod
    def __iter__(self) -> Iterator[T]: ...

    def _batches(self, columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
        """Yield the results as record batches with these *columns*."""
        return batches_of(self._rows(), columns)

    def _rows(self) -> Iterator[Any]:
        """Yield the rows of the table, by default the results."""
        return iter(self)

    def to_arrow(
        self, columns: Sequence[str] | None = None, *, names: ColumnNames = "webtable"
    ) -> pa.RecordBatchReader:
        """Return the results as a reader of Arrow record batches, which are read from the store on demand.

        *columns* are names of columns (docs/frames.md lists them), in that order; by default those that the question
        named, else the usual ones. *names* may be "commoncrawl", for the names of columns in Common Crawl's index.
        Raises `UnknownColumn`, `InvalidArgument`, `MissingExtra`; while it is read, `FormatError` for a value that
        Arrow cannot hold, and what the question raises.
        """
        answer = self._reading(columns)
        chosen, renamed = answer._columns.chosen(columns), answer._columns.renaming(names)
        schema = schema_of(chosen)
        batches = answer._batches(chosen)
        if renamed:
            schema = arrow().schema([field.with_name(renamed.get(field.name, field.name)) for field in schema])
            batches = (batch.rename_columns(schema.names) for batch in batches)
        return arrow().RecordBatchReader.from_batches(schema, batches)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the results as an Arrow C stream."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __array__(self, *_: object, **__: object) -> NoReturn:
        """Refuse the conversion to an array: numpy and `pandas.DataFrame` would make one column of objects."""
        raise TypeError("an answer is not an array: use .to_pandas(), or pandas.DataFrame(answer.to_dicts())")

    def to_pandas(self, columns: Sequence[str] | None = None, *, names: ColumnNames = "webtable") -> pd.DataFrame:
        """Return the results as a pandas data frame.

        Numbers and truth values that may be missing have the nullable types of pandas (Int64, boolean), so they do not
        become floats. Raises what `to_arrow` does.
        """
        reader = self.to_arrow(columns, names=names)
        pandas = _imported("pandas")
        pa = arrow()
        # By default pandas makes floats of numbers as soon as one is missing, which have no exact values above 2**53.
        types = {pa.int64(): pandas.Int64Dtype(), pa.bool_(): pandas.BooleanDtype()}
        return reader.read_all().to_pandas(types_mapper=types.get)

    def to_polars(self, columns: Sequence[str] | None = None, *, names: ColumnNames = "webtable") -> pl.DataFrame:
        """Return the results as a polars data frame. Raises what `to_arrow` does."""
        reader = self.to_arrow(columns, names=names)
        return _imported("polars").from_arrow(reader.read_all())  # type: ignore[no-any-return]

    def to_parquet(
        self, path: str | PathLike[str], columns: Sequence[str] | None = None, *, names: ColumnNames = "webtable"
    ) -> int:
        """Write the results to a Parquet file, and return how many there were.

        The file appears when it is complete. If results have a `url`, whole hosts are together in a row group, up to
        50,000 rows. Raises what `to_arrow` does, and `OSError`.
        """
        reader = self.to_arrow(columns, names=names)
        # A column of records may have any name; only that of pages has their addresses in order.
        has_urls = any(column.name == "url" and column.form == "url" for column in self._columns.all)
        return write_parquet(reader, path, "url" if has_urls and "url" in reader.schema.names else None)

    def to_dicts(self, columns: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Return the results as dicts, by names of *columns*; raises `UnknownColumn`, `InvalidArgument`."""
        answer = self._reading(columns)
        chosen = answer._columns.chosen(columns)
        return [{column.name: column.of(row) for column in chosen} for row in answer._rows()]

    def _reading(self, columns: Sequence[str] | None) -> Tabular[T]:  # noqa: ARG002 - for those that can be read
        """Return the same answer with what *columns* need, if that can be read."""
        return self

    def _shown(self) -> Shown:
        """Return the first rows, after reading them; if there are none, a sentence that says so."""
        columns = self._columns.chosen(self._columns.named or self._columns.listed)
        # One more, to know whether there are more.
        limit = self._most_shown()
        head = self._head(limit + 1)
        if not head:
            return Shown("", (), (), self._nothing())
        rows = [[_shown_of(row, column) for column in columns] for row in head[:limit]]
        more = f"the first {limit:,}; iterate for all, or use .to_pandas() or .to_arrow()"
        return Shown(self._title(), [column.name for column in columns], rows, more if len(head) > limit else "")

    def _most_shown(self) -> int:
        """Return how many rows are shown at most."""
        return SHOWN_ROWS

    def _head(self, count: int) -> list[Any]:
        """Return the first *count* rows."""
        return list(islice(self._rows(), count))

    def _title(self) -> str:
        """Return the title of the answer, for display."""
        return type(self).__name__

    def _nothing(self) -> str:
        """Return in words that there are no rows, for display."""
        return f"no {self._title()}"

    def first(self) -> T | None:
        """Return the first result, or None."""
        return next(islice(iter(self), 1), None)

    def count(self) -> int:
        """Return how many results there are, by reading all of them."""
        return sum(1 for _ in self)


def _shown_of(row: Any, column: Column) -> object:
    value = (column.marked or column.of)(row)
    return Unbroken(shown_text(value)) if column.form == "moment" else value


def _imported(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as exc:
        raise MissingExtra(f"this needs {name}: pip install {name} ({exc})") from exc
