"""Benchmarks of webtable against what one would use without it: `python -m benchmarks`."""
