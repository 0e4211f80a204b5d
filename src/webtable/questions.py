"""The questions that list records, as data, for programs that offer all of them, and what people write in them.

The command line and the explorer are made of them.
"""

from typing import TYPE_CHECKING

from webtable._late import late

if TYPE_CHECKING:
    from webtable.repository.answers.columns import Column, Columns, Form, column
    from webtable.repository.answers.listing import SITE, Listing, ListingOption
    from webtable.repository.answers.page_columns import PAGES, read_for
    from webtable.repository.answers.results import Limited
    from webtable.repository.arguments import TIME_FORMS, duration_of, is_ago, parse_time
    from webtable.repository.reading.site import named_site
    from webtable.repository.table.catalogue import GROUPS, LISTINGS, ListedQuestion

__all__ = [
    "GROUPS",
    "LISTINGS",
    "PAGES",
    "SITE",
    "TIME_FORMS",
    "Column",
    "Columns",
    "Form",
    "Limited",
    "ListedQuestion",
    "Listing",
    "ListingOption",
    "column",
    "duration_of",
    "is_ago",
    "named_site",
    "parse_time",
    "read_for",
]

if not TYPE_CHECKING:  # a type checker would assume that every name exists
    __getattr__, __dir__ = late(
        __name__,
        {
            "webtable.repository.answers.columns": ("Column", "Columns", "Form", "column"),
            "webtable.repository.answers.results": ("Limited",),
            "webtable.repository.answers.page_columns": ("PAGES", "read_for"),
            "webtable.repository.arguments": ("TIME_FORMS", "duration_of", "is_ago", "parse_time"),
            "webtable.repository.answers.listing": ("SITE", "Listing", "ListingOption"),
            "webtable.repository.reading.site": ("named_site",),
            "webtable.repository.table.catalogue": ("GROUPS", "LISTINGS", "ListedQuestion"),
        },
    )
