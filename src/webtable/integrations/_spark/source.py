"""The data source itself: what Spark asks for readers and writers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from webtable.integrations._spark.options import SparkQuestion, truth_of

if TYPE_CHECKING:
    from pyspark.sql import datasource as spark
    from pyspark.sql.types import StructType


class WebTableSource(DataSource):
    """A web table as a table of Spark: `spark.read.format("webtable").option("store", …).load()`.

    docs/spark.md has the options. Spark makes the object, in processes of its own.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "webtable"

    def schema(self) -> StructType:
        """Return the columns of the answer, with the types that they have in frames."""
        from pyspark.sql.pandas.types import from_arrow_schema

        # Spark does not say whether it is for a stream, whose pages have the same columns.
        of_streams = ("since", "margin") if self.options.get("question", "pages") == "pages" else ("margin",)
        question = SparkQuestion.of(self.options, also=of_streams)
        with question.opened() as (_, answer), answer.to_arrow(question.columns) as reader:
            return from_arrow_schema(reader.schema, prefer_timestamp_ntz=False)

    def reader(self, schema: StructType) -> spark.DataSourceReader:
        """A reader of the columns of *schema*, which takes conditions over if the option says so."""
        question = SparkQuestion.of(self.options)
        if truth_of("pushdown", self.options.get("pushdown", "false")):
            # Spark refuses a reader that could take them unless its setting says so, which no process here can see.
            from webtable.integrations._spark.reading import FilteringReader

            return FilteringReader(question, schema.names)
        from webtable.integrations._spark.reading import AnswerReader

        return AnswerReader(question, schema.names)

    def writer(self, schema: StructType, overwrite: bool) -> spark.DataSourceWriter:
        """A writer that appends rows with the columns of *schema*."""
        from webtable.integrations._spark.writing import PageWriter, RowStore

        return PageWriter(RowStore.of(self.options, schema, overwrite=overwrite))

    def streamReader(self, schema: StructType) -> spark.DataSourceStreamReader:  # noqa: N802 - Spark's name
        """A reader of the pages that are fetched from an offset on."""
        from webtable.integrations._spark.reading import FetchedReader

        return FetchedReader(self.options, schema.names)

    def streamWriter(self, schema: StructType, overwrite: bool) -> spark.DataSourceStreamWriter:  # noqa: N802
        """A writer that appends the rows of each batch of a stream."""
        from webtable.integrations._spark.reading import PageStreamWriter
        from webtable.integrations._spark.writing import RowStore

        return PageStreamWriter(RowStore.of(self.options, schema, overwrite=overwrite, is_stream=True))
