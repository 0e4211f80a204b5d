"""Sample data to try webtable on: three crawls of a small fictional web, as WARC files and as a store."""

from webtable.demo.sample import Sample, make_sample, sample_table

__all__ = ["Sample", "make_sample", "sample_table"]
