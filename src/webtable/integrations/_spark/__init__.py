"""A data source for Spark 4, in Python alone: `spark.read.format("webtable")` and `df.write.format("webtable")`.

Spark finds it by the package `pyspark_webtable`, which is installed with webtable.
"""

from webtable._importable import needed

with needed("PySpark 4", "spark"):
    import pyspark.sql.datasource as _datasource  # noqa: F401 - all modules here need it

from webtable.integrations._spark.source import WebTableSource

__all__ = ["WebTableSource"]
