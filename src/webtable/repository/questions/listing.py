"""The declaration of a question that lists records, next to its function, as data for the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from webtable.repository.answers.columns import Columns
from webtable.repository.indexes.index import Index
from webtable.repository.scanning.site import named_site

if TYPE_CHECKING:
    from webtable.repository.answers.results import Slice


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


@dataclass(frozen=True, slots=True)
class Listing:
    """A question whose answer is a list: what its method takes and returns, as far as others need to know that.

    `name` is that of its command, with `_` for `-`. `help` is that of its command, `examples` are command lines. The
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
    has_counts: bool = False
    """Whether its answer has counts made by `links.refresh`."""
    of_links: str | None = None
    """The name of its method, if that is one of `WebTable.links`."""

    def check(self, part: Slice) -> None:
        """Raise `InvalidArgument` for an order that the question does not have, or a limit below 0."""
        part.check(*self.orders)

    @property
    def method(self) -> str:
        """The name of its method, from the table on: `pages`, `links.to`."""
        return self.name if self.of_links is None else f"links.{self.of_links}"

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
)
MIN_SIZE = ListingOption("min_size", "At least this many bytes, as in 5MB.", "size", metavar="SIZE")
MAX_SIZE = ListingOption("max_size", "At most this many bytes.", "size", metavar="SIZE")
URL = ListingOption("url", "The page's URL.", is_argument=True, is_needed=True)
