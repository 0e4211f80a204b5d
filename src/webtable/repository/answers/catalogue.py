"""The questions that list records, in groups: where each is declared, and one line that says what it lists.

The help of the command line, the commands and the explorer's first page are made of this. It imports no question: to
import all of them takes longer than most commands run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from webtable.repository.answers.listing import Listing


class ListedQuestion(NamedTuple):
    """A question: the module of the repository that declares its `Listing`, and what it lists, in a few words."""

    module: str
    title: str


GROUPS: Final[Mapping[str, Mapping[str, ListedQuestion]]] = {
    "pages of a site": {
        "pages": ListedQuestion("questions.pages", "Pages of a site"),
        "hosts": ListedQuestion("hosts.hosts", "Hosts that have pages, with their counts"),
        "discovered": ListedQuestion("links.unlinked", "Linked URLs that are not stored yet"),
        "failed": ListedQuestion("failed_fetches", "URLs whose last fetch failed, and why"),
        "changes": ListedQuestion("questions.changes", "Pages added, removed or changed since a time"),
        "search": ListedQuestion("full_text.search", "Pages with some words in their title or body"),
    },
    "a site as a whole": {
        "duplicate_groups": ListedQuestion("duplicates.exact", "Pages with the same content, or title"),
        "near_duplicate_groups": ListedQuestion("duplicates.near", "Pages with nearly the same text"),
        "titles": ListedQuestion("questions.titles", "Titles that are missing, used again, or too long"),
        "indexability": ListedQuestion("questions.indexability", "Whether a bot may index each page, and why not"),
        "redirect_chains": ListedQuestion("questions.redirect_chains", "Redirect chains and loops"),
        "canonicals": ListedQuestion("questions.canonicals", "Where canonical URLs lead, and what is wrong there"),
        "hreflang": ListedQuestion("questions.hreflang", "Versions in other languages, and where they disagree"),
        "pagination": ListedQuestion("questions.pagination", "Lists over several pages, and where they break"),
        "soft_404s": ListedQuestion("questions.soft_404s", "Errors with status 200, by title or text"),
        "depths": ListedQuestion("links.depths", "How many clicks lead to each page"),
        "sitemaps": ListedQuestion("questions.sitemaps", "URLs of sitemaps, compared with the crawl"),
        "crawls": ListedQuestion("questions.captures", "When a site was crawled, and how much of it"),
        "unresolved": ListedQuestion("questions.captures", "Revisits whose original is not stored"),
    },
    "what is on pages": {
        "headings": ListedQuestion("questions.elements", "Headings of all pages of a site"),
        "images": ListedQuestion("questions.elements", "Images, with alternative texts and sizes"),
        "structured_data": ListedQuestion("questions.elements", "JSON-LD, microdata, Open Graph; empty or broken"),
        "insecure_content": ListedQuestion("questions.elements", "Mixed content, and forms by http"),
    },
    "pages by an index": {
        "fetched": ListedQuestion("indexes.questions", "Pages fetched in a period"),
        "modified": ListedQuestion("indexes.questions", "Pages modified in a period"),
        "outdated": ListedQuestion("indexes.questions", "Pages to fetch again"),
        "largest": ListedQuestion("indexes.questions", "Pages by the size of their bodies"),
        "with_status": ListedQuestion("indexes.questions", "Pages whose last capture has a status"),
        "errors": ListedQuestion("indexes.questions", "Pages whose last capture is an error"),
        "redirects": ListedQuestion("indexes.questions", "Pages that redirect"),
        "duplicates": ListedQuestion("duplicates.exact", "Other pages with exactly the content of a page"),
        "near_duplicates": ListedQuestion("duplicates.near", "Near-duplicates of a page"),
        "indexed": ListedQuestion("indexes.questions", "Pages by any index, custom ones included"),
    },
    "links": {
        "linking_to": ListedQuestion("links.inlinks", "Links that lead to a URL"),
        "links_of": ListedQuestion("links.links", "Links of a page"),
        "edges": ListedQuestion("links.links", "Links of all pages of a site: the link graph"),
        "broken_links": ListedQuestion("links.links", "Links that lead to an error page"),
        "most_linked": ListedQuestion("links.links", "Pages ranked by inlinks"),
        "orphans": ListedQuestion("links.unlinked", "Pages that no other page links to"),
        "dead_ends": ListedQuestion("links.links", "Pages that have no links to others"),
    },
}
"""The questions by their names, which are those of their commands with `_` for `-`, in groups."""


class _Listings(Mapping[str, "Listing"]):
    """The declarations of the questions by their names; each is imported when it is looked up."""

    def __init__(self) -> None:
        self._modules = {name: question.module for group in GROUPS.values() for name, question in group.items()}

    def __getitem__(self, name: str) -> Listing:
        from webtable.repository.answers.listing import Listing

        module = import_module(f"webtable.repository.{self._modules[name]}")
        return next(value for value in vars(module).values() if isinstance(value, Listing) and value.name == name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


LISTINGS: Final[Mapping[str, Listing]] = _Listings()
"""What each question takes and returns, by its name."""
