"""A data source for Spark 4, in Python alone: `spark.read.format("webtable")` and `df.write.format("webtable")`.

Spark finds it by the package `pyspark_webtable`, which is installed with webtable.
"""

from webtable._extras import missing_extra

try:
    import pyspark.sql.datasource as _datasource  # noqa: F401 - all modules here need it
except ImportError as _exc:
    raise missing_extra("PySpark 4", "spark", _exc) from _exc

from webtable.integrations._spark.source import WebTableSource

__all__ = ["WebTableSource"]
