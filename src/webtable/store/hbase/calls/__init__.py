"""The calls of both Thrift APIs: reads and writes, the selection of cells, and the validation of answers."""
