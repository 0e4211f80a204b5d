"""The pages and files of the questions that list records: one for each, made of what it declares of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from webtable.errors import InvalidArgument, WebTableError
from webtable.explorer.page_model import PagePart, Rows, Sheet
from webtable.explorer.rendering import words
from webtable.questions import LISTINGS, Limited, ListingOption

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from webtable import WebTable
    from webtable.explorer.page_model import AskedPage
    from webtable.questions import Listing

ROWS: Final = 100
"""Rows of a page."""
MOST_ROWS: Final = 1_000
_PARTS = frozenset({"order", "limit", "after", "columns", "as_of", "part"})


def sheet(asked: AskedPage) -> Sheet:
    """Return the page of a question; without what it needs, its form alone."""
    listing = listing_named(asked.request.path_params["name"])
    question = AskedQuestion(asked, listing, asked.query)
    found = Sheet(words(listing.name).capitalize(), lambda table: iter([question.part(table, "results")]), listing.help)
    found.status, found.is_now = (400 if question.problem else 200), "until" not in listing.takes
    return found


def listing_named(name: str) -> Listing:
    """Return the question of that *name*; raises `InvalidArgument`."""
    listing = LISTINGS.get(name.replace("-", "_"))
    if listing is None:
        raise InvalidArgument(f"there is no question {name!r}: one of {', '.join(LISTINGS)}")
    return listing


class AskedQuestion:
    """What a *query* asks of a *listing*, on its page or on that of a site, which gives the options *fixed*.

    `problem` says what is wrong with it on a page; for a file that is raised.
    """

    def __init__(
        self, asked: AskedPage, listing: Listing, query: Mapping[str, Sequence[str]], fixed: Mapping[str, str] = {}
    ) -> None:
        self.problem: str = ""
        self._asked, self._listing = asked, listing
        given = {
            **{name: texts for name, texts in query.items() if any(texts)},
            **{one: [of] for one, of in fixed.items()},
        }
        columns = ListingOption("columns", f"Of these, with commas: {', '.join(listing.columns.names)}")
        order = ListingOption("order", "The order of the answer.", choices=listing.orders)
        self._form = [*(one for one in listing.options if one.name not in fixed), order, columns]
        self._arguments: dict[str, Any] | None = None
        needed = [one.name for one in listing.options if one.is_needed]
        if asked.is_file or all(name in given for name in needed):
            try:
                self._read(given)
            except WebTableError as exc:
                if asked.is_file:
                    raise
                self.problem = str(exc)

    def _read(self, given: Mapping[str, Sequence[str]]) -> None:
        listing = self._listing
        if unknown := sorted(given.keys() - listing.takes - _PARTS):
            known = ", ".join(sorted(listing.takes | _PARTS))
            raise InvalidArgument(f"{unknown[0]}: not an option of {listing.name}; these are: {known}")
        if "until" in listing.takes and "until" not in given:
            given = {**given, "until": given.get("as_of", ())}
        # A moment that a method needs, such as `since`, is no needed option: the method itself says what is missing.
        arguments: dict[str, Any] = {
            one.name: None for one in listing.options if one.default is None and one.kind == "time"
        }
        arguments |= listing.arguments(given) | {name: given[name][-1] for name in ("order", "after") if name in given}
        limit = ListingOption("limit", "", "number").value(given["limit"][-1]) if "limit" in given else None
        if limit is not None and limit < 1:
            raise InvalidArgument(f"limit={limit} must be a number of results, 1 or more")
        self._limit = limit if self._asked.is_file else min(limit or ROWS, MOST_ROWS)
        names = [name for name in ",".join(given.get("columns", ())).replace(" ", "").split(",") if name] or None
        if listing.is_of_pages and names:
            arguments["columns"] = names
        if names is None and not self._asked.is_file:
            names = list(listing.columns.listed)
        is_json = self._asked.ending.startswith("json")
        self._columns = listing.columns.in_json() if names is None and is_json else listing.columns.chosen(names)
        self._arguments = arguments

    def part(self, table: WebTable, name: str, title: str = "") -> PagePart:
        """Return the part with the form and the answer of *table*."""

        def make() -> Rows | None:
            if self._arguments is None:
                return None
            most = None if self._limit is None else self._limit + 1
            found = Limited(self._listing.ask(table, {**self._arguments, "limit": most}), self._limit)
            return Rows(self._columns, found, self._hrefs())

        return PagePart(name, make, title, form=self._form, problem=self.problem)

    def _hrefs(self) -> dict[str, Any]:
        is_of_hosts = self._listing.name == "hosts"
        return {"name": lambda host: self._asked.link(f"/site/{host.name}/")} if is_of_hosts else {}
