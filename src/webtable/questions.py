"""The questions that list records, as data, for programs that offer all of them, as the explorer does."""

from webtable.repository.answers.columns import Column, Columns, column
from webtable.repository.answers.limited import Limited
from webtable.repository.questions.listing import Listing, ListingOption
from webtable.repository.table.catalogue import LISTINGS

__all__ = [
    "LISTINGS",
    "Column",
    "Columns",
    "Limited",
    "Listing",
    "ListingOption",
    "column",
]
