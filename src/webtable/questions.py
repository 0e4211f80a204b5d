"""The questions that list records, as data, for programs that offer all of them, and what people write in them.

The command line and the explorer are made of them.
"""

from typing import TYPE_CHECKING

from webtable._late import late

if TYPE_CHECKING:
    from webtable.repository.answers.catalogue import GROUPS, LISTINGS, ListedQuestion
    from webtable.repository.answers.columns import PAGES, Column, Columns, Form, column, read_for
    from webtable.repository.answers.listing import EXCLUDE, INCLUDE, SITE, Listing, ListingOption, with_filter
    from webtable.repository.answers.results import Limited
    from webtable.repository.arguments import TIME_FORMS, duration_of, is_ago, parse_time, status_codes
    from webtable.repository.reading.scope import named_site

__all__ = [
    "EXCLUDE",
    "GROUPS",
    "INCLUDE",
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
    "status_codes",
    "with_filter",
]

if not TYPE_CHECKING:  # a type checker would assume that every name exists
    __getattr__, __dir__ = late(
        __name__,
        {
            "webtable.repository.answers.catalogue": ("GROUPS", "LISTINGS", "ListedQuestion"),
            "webtable.repository.answers.columns": ("PAGES", "Column", "Columns", "Form", "column", "read_for"),
            "webtable.repository.answers.listing": (
                "EXCLUDE",
                "INCLUDE",
                "SITE",
                "Listing",
                "ListingOption",
                "with_filter",
            ),
            "webtable.repository.answers.results": ("Limited",),
            "webtable.repository.arguments": ("TIME_FORMS", "duration_of", "is_ago", "parse_time", "status_codes"),
            "webtable.repository.reading.scope": ("named_site",),
        },
    )
