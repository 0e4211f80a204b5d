"""The questions that list records: a page and files of each, made of what it declares, and the menu of all."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webtable.errors import InvalidArgument, WebTableError
from webtable.explorer.page_model import Linker, PagePart, Rows, View, ViewRequest, words
from webtable.questions import GROUPS, LISTINGS, Limited, Listing, ListingOption, column, read_for
from webtable.store import cancelled_by

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from webtable import WebTable
    from webtable.explorer.counts import SiteCounts


# --- The menu: all questions, by what somebody wants ------------------------------------------------------------------


class QuestionLink(NamedTuple):
    """A question: what it is for, its name in words, one line about it, and the address of its page."""

    want: str
    question: str
    about: str
    href: str


# A question is where its group of the catalogue is; these few are elsewhere, and a new group has its own heading.
_WANTS: Final = {
    "pages of a site": "Find pages",
    "pages by an index": "Find pages",
    "a site as a whole": "Audit",
    "what is on pages": "Audit",
    **dict.fromkeys(("errors", "failed", "broken_links", "redirect_chains", "unresolved"), "Errors"),
    **dict.fromkeys(("changes", "crawls"), "Changes"),
    **dict.fromkeys(("duplicates", "near_duplicates", "duplicate_groups", "near_duplicate_groups"), "Duplicates"),
}
_OTHERS: Final = (
    ("Audit", "audit", "All findings on a site, by severity, and what to do", "/audit"),
    ("Audit", "statistics", "Counts and bytes by status, type, language, age, host and more", "/stats"),
    ("Changes", "compare", "What two crawls of a site have in common, and what not", "/compare"),
    ("The table", "storage", "Indexes, regions, crawls, and what the doctor says", "/storage"),
    ("The table", "archives", "CDX and Memento: for programs, with a form to try", "/archives"),
)


def menu(linker: Linker) -> dict[str, list[QuestionLink]]:
    """Return all questions by what they are for."""
    wants = ("Find pages", "Errors", "Links", "Changes", "Duplicates", "Audit")
    groups: dict[str, list[QuestionLink]] = {want: [] for want in wants}
    for want, name, about, path in _OTHERS:
        groups.setdefault(want, []).append(QuestionLink(want, name, about, linker.link(path)))
    for group, questions in GROUPS.items():
        for name, question in questions.items():
            want = _WANTS.get(name, _WANTS.get(group, group[:1].upper() + group[1:]))
            href = linker.link(f"/q/{name.replace('_', '-')}")
            groups.setdefault(want, []).append(QuestionLink(want, words(name), question.title, href))
    groups["The table"] = groups.pop("The table")
    return groups


def named(linker: Linker, text: str) -> list[QuestionLink]:
    """Return the question that is called *text*, or those with all of its words in their names or lines."""
    links = [link for group in menu(linker).values() for link in group]
    terms = text.lower().split()
    if exact := [link for link in links if link.question == " ".join(terms)]:
        return exact
    texts = {link: f"{link.question} {link.about}".lower() for link in links}
    return [link for link, about in texts.items() if terms and all(word in about for word in terms)]


def questions_view(request: ViewRequest) -> View:
    """Return the page with all questions."""

    def part() -> Rows:
        return Rows(LINKS, [link for group in menu(request).values() for link in group])

    return View("Questions", lambda _: [PagePart("questions", part, look="groups")], has_file=False)


LINKS: Final = tuple(map(column, ("want", "question", "about")))


# --- A question -------------------------------------------------------------------------------------------------------


# Rows of a page, and how many `limit=` may ask for; files have all.
ROWS: Final = 100
MOST_ROWS: Final = 1_000
# How many pages are counted for the choices of a question; of more a sample of as many. It is to be quick.
COUNTED: Final = 500
# What every question takes, beside its own options.
_COMMON = frozenset({"order", "limit", "after", "columns", "as_of", "part"})
_PLACE = frozenset({"back", "from"})
# How many rows after those of a page are counted, and for how long: enough to say how many there are of most answers.
FURTHER: Final = 2_000
FURTHER_SECONDS: Final = 0.3
# The columns by which the orders of answers sort, and the arrows of these; a listing has one of the columns.
_ORDERS: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "url": (("url",), "↑"),
    "newest": (("fetched_at", "last_modified", "begin"), "↓"),
    "oldest": (("fetched_at", "last_modified", "begin"), "↑"),
    "largest": (("size",), "↓"),
    "smallest": (("size",), "↑"),
    "status": (("status",), "↑"),
    "most": (("inlinks",), "↓"),
    "fewest": (("inlinks",), "↑"),
    "pages": (("pages",), "↓"),
    "bytes": (("bytes",), "↓"),
    "similarity": (("similarity",), "↓"),
    "relevance": (("matches",), "↓"),
    "problem": (("problem",), "↑"),
    "source": (("source",), "↑"),
}


def view(request: ViewRequest) -> View:
    """Return the page of a question; without what it needs, its form alone."""
    name = request.path_params["name"]
    if (listing := LISTINGS.get(name.replace("-", "_"))) is None:
        raise InvalidArgument(f"there is no question {name!r}: one of {', '.join(LISTINGS)}")
    question = ListingRequest(request, listing, request.query)
    view = View(words(listing.name).capitalize(), lambda table: [question.part(table, "results")], listing.help)
    view.status, view.is_now = (400 if question.problem else 200), "until" not in listing.takes
    view.has_file = question.is_complete
    if listing.name == "search" and (texts := request.option("text")):
        view.links = {f"Question: {link.question}": link.href for link in named(request, texts)[:5]}
    return view


class ListingRequest:
    """What a *query* asks of a *listing*, on its page or on that of a site, which gives the options *fixed*.

    `problem` says what is wrong with it on a page; for a file that is raised.
    """

    def __init__(
        self, request: ViewRequest, listing: Listing, query: Mapping[str, Sequence[str]], fixed: Mapping[str, str] = {}
    ) -> None:
        self.problem: str = ""
        self.counts: SiteCounts | None = None
        """The counts of the choices; those of the site, or of a sample of it, unless they are given."""
        self._request, self._listing = request, listing
        texts = {name: texts for name, texts in query.items() if any(texts)}
        texts |= {name: [text] for name, text in fixed.items()}
        columns = ListingOption("columns", f"Of these, with commas: {', '.join(listing.columns.names)}")
        order = ListingOption("order", "The order of the answer.", choices=listing.orders)
        options = (option for option in listing.options if option.name not in fixed)
        self.form: Sequence[ListingOption] = [*options, order, columns]
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
        if unknown := sorted(texts.keys() - listing.takes - _COMMON - _PLACE):
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

    def part(self, table: WebTable, name: str, title: str = "", sorts: Mapping[str, str] = {}) -> PagePart:
        """Return the part with the form and the answer of *table*; *sorts* are further orders, by their columns."""

        def make() -> Rows | None:
            if self._arguments is None:
                return None
            request, arguments = self._request, self._arguments
            # One result more shows whether there is a next page, which needs a token.
            limit = None if self._limit is None else self._limit + 1
            answer = self._listing.ask(table, {**arguments, "limit": limit})
            results = Limited(answer, self._limit)
            is_of_hosts = self._listing.name == "hosts"
            hrefs = {"name": lambda host: request.link(f"/site/{host.name}/")} if is_of_hosts else {}
            rows = Rows(self._columns, results, hrefs)
            if not request.is_file:
                part.facets = self._facets()
                rows.sorts = {**{name: (href, "") for name, href in sorts.items()}, **self._sorts()}
                rows.first, rows.size = request.first, self._limit or 0
                rows.further = lambda: self._further(table, results.next_token)
                if request.first == 1:
                    rows.empty = lambda: f"{answer.why_empty().rstrip('?')}."
            return rows

        part = PagePart(name, make, title, form=self.form, problem=self.problem)
        return part

    def _facets(self) -> list[tuple[str, str, str, bool]]:
        """Return the choices of statuses and types: their names, counts, addresses, and whether they are chosen."""
        facets = list[tuple[str, str, str, bool]]()
        options = [option for option in self.form if option.name in ("status", "content_type")]
        counts, site = self.counts, self._request.site() if options else None
        if counts is None and site is not None:
            counts = self._request.counts.of(site, most=COUNTED)
        if counts is None:
            return facets
        for option in options:
            chosen = self._request.query.get(option.name, [])
            for value, count in (counts.statuses if option.name == "status" else counts.types).most_common(6):
                others = [text for text in chosen if text not in ("", value)]
                texts = others if value in chosen else [*(others if option.is_many else ()), value]
                text = f"{count:,}" if counts.is_whole else f"{count / counts.all.pages:.0%}"
                facets.append((value, text, self._request.sorting(**{option.name: texts}), value in chosen))
        return facets

    def _sorts(self) -> dict[str, tuple[str | None, str]]:
        """Return the columns that an order sorts, with the address of that order, and the arrow of the order now."""
        orders, names = self._listing.orders, [column.name for column in self._columns]
        now, sorts = (self._arguments or {}).get("order", orders[0]), dict[str, tuple[str | None, str]]()
        for order in orders:
            columns, arrow = _ORDERS.get(order, ((), ""))
            for name in [name for name in columns if name in names][:1]:
                if order == now:
                    sorts[name] = sorts.get(name, (None, ""))[0], arrow
                else:
                    sorts[name] = self._request.sorting(order=order), sorts.get(name, (None, ""))[1]
        return sorts

    def _further(self, table: WebTable, after: str | None) -> tuple[int, bool]:
        """Return how many results follow a token, as far as they are counted soon, and whether these are all."""
        over, count = threading.Event(), 0
        timer = threading.Timer(FURTHER_SECONDS, over.set)
        timer.start()
        arguments = {**(self._arguments or {}), "after": after, "limit": FURTHER}
        if self._listing.is_of_pages:
            arguments["columns"] = ["url"]
        try:
            with cancelled_by(over):
                for _ in self._listing.ask(table, arguments):
                    count += 1
        except WebTableError:
            return max(count, 1), False
        finally:
            timer.cancel()
        return count, count < FURTHER
