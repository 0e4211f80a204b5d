"""The repository: pages in, pages out, over the store port."""

from webtable.repository.opening import LayoutOptions, create, open  # as in shelve.open
from webtable.repository.pages import Batch, Explanation, Order, Pages
from webtable.repository.table import WebTable
from webtable.repository.writer import Writer

__all__ = ["Batch", "Explanation", "LayoutOptions", "Order", "Pages", "WebTable", "Writer", "create", "open"]
