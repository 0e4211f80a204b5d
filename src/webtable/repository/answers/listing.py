"""The declaration of a question that lists records, next to its function, as data for the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

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
    part_of: str | None = None
    """The argument of the method that is made of it and of others, if it is not one itself."""
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

    def __post_init__(self) -> None:
        if self.has_urls:
            object.__setattr__(self, "options", (*self.options, INCLUDE, EXCLUDE))

    @property
    def has_urls(self) -> bool:
        """Whether its results are addresses, or of one address each, and it takes a filter of them."""
        return self.is_of_pages or "url" in self.columns.listed

    def arguments(self, values: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """Return the texts *values* of options, by their names, as arguments of the method; empty ones are left out.

        Raises `InvalidArgument` for a value that an option cannot have, for two where it takes one, and for one that is
        needed and not given.
        """
        arguments: dict[str, Any] = {}
        for option in self.options:
            texts = [text for text in values.get(option.name, ()) if text.strip()]
            if len(texts) > 1 and not option.is_many:
                raise InvalidArgument(f"{option.name}: {len(texts)} values were given, and it takes one")
            if texts:
                parsed = list(map(option.value, texts))
                value = parsed if option.is_many else parsed[0]
                arguments[option.name] = value if option.read is None else option.read(value)
            elif option.is_needed:
                raise InvalidArgument(f"{option.name} is needed: {option.help}")
        return with_filter(arguments)

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


def with_filter(options: dict[str, Any]) -> dict[str, Any]:
    """Return *options* with a filter of addresses, `urls`, in place of the patterns `include` and `exclude`.

    Raises `InvalidArgument` for a pattern that is none.
    """
    patterns = {name: options[name] for name in ("include", "exclude") if options.get(name)}
    others = {name: value for name, value in options.items() if name not in {"include", "exclude"}}
    if not patterns:
        return others
    from webtable.url_filter import URLFilter  # it imports RE2

    return {**others, "urls": URLFilter(**patterns)}


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
INCLUDE = ListingOption(
    "include",
    "Only URLs that match this: a path with all below it, as in /docs; a glob, as in '/docs/**.html' (* within a "
    "segment, ** anything); //host/path; or a regular expression of RE2 after re:. Repeatable.",
    metavar="PATTERN",
    is_many=True,
    part_of="urls",
)
"""The option for the patterns of a filter of URLs, one of which wanted ones match."""
EXCLUDE = ListingOption(
    "exclude",
    "No URLs that match this, written as for --include, which it overrides. Repeatable.",
    metavar="PATTERN",
    is_many=True,
    part_of="urls",
)
"""The option for those that no wanted URL matches."""
