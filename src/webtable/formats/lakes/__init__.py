"""Parquet datasets: the newest capture of each page in folders as Hive names them, and what came since."""
