"""The declaration of a question that lists records, next to its function, as data for the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from webtable.display.text import parse_size
from webtable.errors import InvalidArgument
from webtable.repository.answers.columns import Columns
from webtable.repository.arguments import parse_time
from webtable.repository.indexes.index import Index
from webtable.repository.reading.scope import named_site

if TYPE_CHECKING:
    from webtable.repository.answers.results import Results


@dataclass(frozen=True, slots=True)
class ListingOption:
    """An argument of a question, as the command line takes it; `name` is that of the method's argument."""

    name: str
    help: str
    kind: Literal["text", "number", "fraction", "flag", "time", "size"] = "text"
    default: Any = None
    flag: str | None = None
    """What it is called on the command line, if not by its name."""
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    is_argument: bool = False
    """Whether it is given on the command line without a name."""
    is_needed: bool = False
    is_many: bool = False
    """Whether it may be given more than once."""
    is_index: bool = False
    """Whether it names an index, which a shell completes."""
    read: Callable[[Any], Any] | None = None
    """The function that converts a value of the command line to that of the method."""
    example: str | None = None
    """A text of it for an example of the question, about https://example.com/, as tests of all questions ask it."""

    def value(self, text: str) -> Any:
        """Return the value of one *text*, before it is `read`; raises `InvalidArgument`.

        >>> MIN_SIZE.value("5MB"), URL.value("https://example.com/")
        (5000000, 'https://example.com/')
        """
        if self.choices and text not in self.choices:
            raise InvalidArgument(f"{self.name}={text!r} must be one of {', '.join(self.choices)}")
        match self.kind:
            case "time":
                return parse_time(self.name, text)
            case "size":
                return parse_size(self.name, text)
            case "flag":
                return text.lower() not in {"", "0", "false", "no"}
            case "number" | "fraction" as kind:
                try:
                    return (int if kind == "number" else float)(text)
                except ValueError:
                    raise InvalidArgument(f"{self.name}={text!r} must be a number") from None
        return text


@dataclass(frozen=True, slots=True)
class Listing:
    """A question whose answer is a list: what its method takes and returns, as far as others need to know that.

    `name` is that of its command, with `_` for `-`. `help` says what is asked, `examples` are command lines. The
    first of `orders` is the default. `indexes` are those that the table must have.
    """

    name: str
    columns: Columns
    orders: tuple[str, ...]
    options: tuple[ListingOption, ...]
    examples: tuple[str, ...]
    help: str
    indexes: tuple[Index, ...] = ()
    is_of_pages: bool = False
    """Whether its results are pages, or have one, and it takes the page columns to be read."""
    of_command: str = ""
    """What the help of its command says besides, in the words of the command line."""
    has_counts: bool = False
    """Whether its answer has counts made by `links.refresh`."""
    of_links: str | None = None
    """The name of its method, if that is one of `WebTable.links`."""

    def arguments(self, given: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """Return the texts *given* for options, by their names, as arguments of the method; empty ones are left out.

        Raises `InvalidArgument` for a value that an option cannot have, for two where it takes one, and for one that is
        needed and not given.
        """
        arguments: dict[str, Any] = {}
        for option in self.options:
            texts = [text for text in given.get(option.name, ()) if text.strip()]
            if len(texts) > 1 and not option.is_many:
                raise InvalidArgument(f"{option.name}: {len(texts)} values were given, and it takes one")
            if texts:
                values = list(map(option.value, texts))
                value = values if option.is_many else values[0]
                arguments[option.name] = value if option.read is None else option.read(value)
            elif option.is_needed:
                raise InvalidArgument(f"{option.name} is needed: {option.help}")
        return arguments

    def ask(self, table: object, arguments: Mapping[str, Any]) -> Results[Any]:
        """Return the answer of *table* for the *arguments* of the method."""
        answer: Results[Any] = attrgetter(self.method)(table)(**arguments)
        return answer

    @property
    def method(self) -> str:
        """The name of its method, from the table on: `pages`, `links.to`."""
        return self.name if self.of_links is None else f"links.{self.of_links}"

    @property
    def example(self) -> dict[str, str]:
        """Texts of its options that ask an example of the question, by their names."""
        return {option.name: option.example for option in self.options if option.example is not None}

    @property
    def takes(self) -> frozenset[str]:
        """The names of its options."""
        return frozenset(option.name for option in self.options)


BY_URL = ("url", "storage")
"""The orders of answers that are read as rows."""
SITE = ListingOption(
    "site",
    "Which pages: example.com (with all hosts below it), https://example.com/ (that host alone), "
    "https://example.com/docs/ (that directory), localhost:3000 (that port), or all.",
    is_argument=True,
    metavar="SITE",
    read=named_site,
    example="example.com",
)
MIN_SIZE = ListingOption("min_size", "At least this many bytes, as in 5MB.", "size", metavar="SIZE")
MAX_SIZE = ListingOption("max_size", "At most this many bytes.", "size", metavar="SIZE")
URL = ListingOption("url", "The page's URL.", is_argument=True, is_needed=True, example="https://example.com/")


# --- The questions that list records, in groups: where each is declared, and one line that says what it lists ---------
#
# The help of the command line, the commands and the explorer's first page are made of this. It imports no question:
# to import all of them takes longer than most commands run.


class ListedQuestion(NamedTuple):
    """A question: the module of the repository that declares its `Listing`, and what it lists, in a few words."""

    module: str
    title: str


GROUPS: Final[Mapping[str, Mapping[str, ListedQuestion]]] = {
    "pages of a site": {
        "pages": ListedQuestion("questions.pages", "Pages of a site"),
        "hosts": ListedQuestion("hosts.hosts", "Hosts that have pages, with their counts"),
        "discovered": ListedQuestion("links.unlinked", "Linked URLs that are not stored yet"),
        "changes": ListedQuestion("questions.changes", "Pages added, removed or changed since a time"),
        "search": ListedQuestion("full_text.search", "Pages with some words in their title or body"),
    },
    "a site as a whole": {
        "duplicate_groups": ListedQuestion("duplicates.exact", "Pages with the same content, or title"),
        "near_duplicate_groups": ListedQuestion("duplicates.near", "Pages with nearly the same text"),
        "titles": ListedQuestion("questions.titles", "Titles that are missing, used again, or too long"),
        "redirect_chains": ListedQuestion("questions.redirect_chains", "Redirect chains and loops"),
        "crawls": ListedQuestion("questions.captures", "When a site was crawled, and how much of it"),
        "unresolved": ListedQuestion("questions.captures", "Revisits whose original is not stored"),
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

        module = import_module(f"webtable.repository.{self._modules[name]}")
        return next(value for value in vars(module).values() if isinstance(value, Listing) and value.name == name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


LISTINGS: Final[Mapping[str, Listing]] = _Listings()
"""What each question takes and returns, by its name."""
