"""The repository: pages in, pages out, over the store port."""

from webtable.repository.keyed import Table
from webtable.repository.opening import LayoutOptions, create, open  # as in shelve.open
from webtable.repository.pages import Batch, Explanation, Order, Pages
from webtable.repository.records import Record, RecordOutcome
from webtable.repository.regions import RegionComparison, compared_regions, regions_of
from webtable.repository.sampling import sample_urls
from webtable.repository.table import WebTable
from webtable.repository.writer import Writer

__all__ = [
    "Batch",
    "Explanation",
    "LayoutOptions",
    "Order",
    "Pages",
    "Record",
    "RecordOutcome",
    "RegionComparison",
    "Table",
    "WebTable",
    "Writer",
    "compared_regions",
    "create",
    "open",
    "regions_of",
    "sample_urls",
]
