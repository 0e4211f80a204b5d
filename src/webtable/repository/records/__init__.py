"""Rows under any declared key: values and cells in, records out."""
