"""The questions that list records, as data, for programs that offer all of them, as the explorer does."""

from typing import TYPE_CHECKING

from webtable._late import late

if TYPE_CHECKING:
    from webtable.repository.answers.columns import Column, Columns, column
    from webtable.repository.answers.limited import Limited
    from webtable.repository.questions.listing import Listing, ListingOption
    from webtable.repository.table.catalogue import GROUPS, LISTINGS, ListedQuestion

__all__ = [
    "GROUPS",
    "LISTINGS",
    "Column",
    "Columns",
    "Limited",
    "ListedQuestion",
    "Listing",
    "ListingOption",
    "column",
]

if not TYPE_CHECKING:  # a type checker would assume that every name exists
    __getattr__, __dir__ = late(
        __name__,
        {
            "webtable.repository.answers.columns": ("Column", "Columns", "column"),
            "webtable.repository.answers.limited": ("Limited",),
            "webtable.repository.questions.listing": ("Listing", "ListingOption"),
            "webtable.repository.table.catalogue": ("GROUPS", "LISTINGS", "ListedQuestion"),
        },
    )
