"""Lakes: the newest capture of each page as Parquet files in folders as Hive names them, and what came since."""
