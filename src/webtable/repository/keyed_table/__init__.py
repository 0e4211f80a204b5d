"""Rows under any declared key: records, scans, the writer, and the table."""
