"""What both ways to HBase share: rows, filters, writes, scans, tables, threads and errors."""
