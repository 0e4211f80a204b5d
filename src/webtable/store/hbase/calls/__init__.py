"""The calls of each Thrift API: reads and writes, what of a row is wanted, and which answers are believed."""
