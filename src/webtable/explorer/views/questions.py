"""The pages and files of the questions that list records: one for each, made of what it declares of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from webtable.errors import InvalidArgument, WebTableError
from webtable.explorer.page_model import PagePart, Rows, View, ViewRequest
from webtable.explorer.rendering import words
from webtable.questions import LISTINGS, Limited, Listing, ListingOption, read_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from webtable import WebTable

# Rows of a page, and how many `limit=` may ask for; files have all.
ROWS: Final = 100
MOST_ROWS: Final = 1_000
# What every question takes, beside its own options.
_COMMON = frozenset({"order", "limit", "after", "columns", "as_of", "part"})


def view(request: ViewRequest) -> View:
    """Return the page of a question; without what it needs, its form alone."""
    listing = listing_named(request.path_params["name"])
    question = ListingRequest(request, listing, request.query)
    view = View(words(listing.name).capitalize(), lambda table: [question.part(table, "results")], listing.help)
    view.status, view.is_now = (400 if question.problem else 200), "until" not in listing.takes
    view.has_file = question.is_complete
    return view


def listing_named(name: str) -> Listing:
    """Return the question of that *name*; raises `InvalidArgument`."""
    listing = LISTINGS.get(name.replace("-", "_"))
    if listing is None:
        raise InvalidArgument(f"there is no question {name!r}: one of {', '.join(LISTINGS)}")
    return listing


class ListingRequest:
    """What a *query* asks of a *listing*, on its page or on that of a site, which gives the options *fixed*.

    `problem` says what is wrong with it on a page; for a file that is raised.
    """

    def __init__(
        self, request: ViewRequest, listing: Listing, query: Mapping[str, Sequence[str]], fixed: Mapping[str, str] = {}
    ) -> None:
        self.problem: str = ""
        self._request, self._listing = request, listing
        texts = {name: texts for name, texts in query.items() if any(texts)}
        texts |= {name: [text] for name, text in fixed.items()}
        columns = ListingOption("columns", f"Of these, with commas: {', '.join(listing.columns.names)}")
        order = ListingOption("order", "The order of the answer.", choices=listing.orders)
        self._form = [*(option for option in listing.options if option.name not in fixed), order, columns]
        self._arguments: dict[str, Any] | None = None
        # Without what it needs, a page is its form; a file of nothing would look like an answer.
        self.is_complete: bool = all(option.name in texts for option in listing.options if option.is_needed)
        if request.is_file or self.is_complete:
            try:
                self._read(texts)
            except WebTableError as exc:
                if request.is_file:
                    raise
                self.problem = str(exc)

    def _read(self, texts: Mapping[str, Sequence[str]]) -> None:
        listing = self._listing
        if unknown := sorted(texts.keys() - listing.takes - _COMMON):
            options = ", ".join(sorted(listing.takes | _COMMON))
            raise InvalidArgument(f"{unknown[0]}: not an option of {listing.name}; these are: {options}")
        if "until" in listing.takes and "until" not in texts:
            texts = {**texts, "until": texts.get("as_of", ())}
        # A moment that a method needs, such as `since`, is no needed option: the method itself says what is missing.
        arguments: dict[str, Any] = {
            option.name: None for option in listing.options if option.default is None and option.kind == "time"
        }
        arguments |= listing.arguments(texts) | {name: texts[name][-1] for name in ("order", "after") if name in texts}
        limit = ListingOption("limit", "", "number").value(texts["limit"][-1]) if "limit" in texts else None
        if limit is not None and limit < 1:
            raise InvalidArgument(f"limit={limit} must be a number of results, 1 or more")
        self._limit = limit if self._request.is_file else min(limit or ROWS, MOST_ROWS)
        names = [name for name in ",".join(texts.get("columns", ())).replace(" ", "").split(",") if name] or None
        if listing.is_of_pages and names:
            arguments["columns"] = read_for(names)  # the others are not read
        if names is None and not self._request.is_file:
            names = list(listing.columns.listed)
        is_json = self._request.ending.startswith("json")
        self._columns = listing.columns.in_json() if names is None and is_json else listing.columns.chosen(names)
        self._arguments = arguments

    def part(self, table: WebTable, name: str, title: str = "") -> PagePart:
        """Return the part with the form and the answer of *table*."""

        def make() -> Rows | None:
            if self._arguments is None:
                return None
            # One result more shows whether there is a next page, which needs a token.
            limit = None if self._limit is None else self._limit + 1
            results = Limited(self._listing.ask(table, {**self._arguments, "limit": limit}), self._limit)
            is_of_hosts = self._listing.name == "hosts"
            hrefs = {"name": lambda host: self._request.link(f"/site/{host.name}/")} if is_of_hosts else {}
            return Rows(self._columns, results, hrefs)

        return PagePart(name, make, title, form=self._form, problem=self.problem)
