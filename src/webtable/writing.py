"""The outcomes of writing pages: receipts, what became of each page, and what limits drop."""

from webtable.repository.failed_fetches import Backoff
from webtable.repository.writing.outcomes import (
    Dropped,
    OutcomeCallback,
    PageOutcome,
    Receipt,
    RefusedRow,
    Retry,
    RetryCallback,
)
from webtable.repository.writing.writer import Writer

__all__ = [
    "Backoff",
    "Dropped",
    "OutcomeCallback",
    "PageOutcome",
    "Receipt",
    "RefusedRow",
    "Retry",
    "RetryCallback",
    "Writer",
]
