"""How a question that lists records is declared, beside its function: as data for the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from webtable.repository.answers.columns import Columns
from webtable.repository.indexes.index import Index

if TYPE_CHECKING:
    from webtable.repository.answers.results import Slice


@dataclass(frozen=True, slots=True)
class ListingOption:
    """An argument of a question, as the command line takes it; `name` is that of the method's own."""

    name: str
    help: str
    kind: Literal["text", "number", "flag", "time", "size"] = "text"
    default: Any = None
    flag: str | None = None
    """What it is called on the command line, where that is not its name."""
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    is_argument: bool = False
    """Whether it stands on the command line without a name."""
    is_needed: bool = False
    is_many: bool = False
    """Whether it may be given more than once."""
    is_index: bool = False
    """Whether it names an index, which a shell completes."""
    read: Callable[[Any], Any] | None = None
    """What makes of a value of the command line that of the method."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A question whose answer is a list: what `WebTable.{name}` takes and gives, as far as others need to know that.

    `help` is the text of its command, `examples` are lines of it. The first of `orders` is the default. `indexes` are
    those that the table must have.
    """

    name: str
    columns: Columns
    orders: tuple[str, ...]
    options: tuple[ListingOption, ...]
    examples: tuple[str, ...]
    help: str
    indexes: tuple[Index, ...] = ()
    is_of_pages: bool = False
    """Whether it gives pages, or what has a page, and takes the names of what is read of them."""
    has_counts: bool = False
    """Whether it tells of counts that `WebTable.refresh_links` makes."""

    def check(self, part: Slice) -> None:
        """Raise `InvalidArgument` for an order that the question does not have, or a limit below 0."""
        part.check(*self.orders)

    @property
    def takes(self) -> frozenset[str]:
        """The names of its options."""
        return frozenset(option.name for option in self.options)


BY_URL = ("url", "storage")
"""The orders of answers that are read as rows."""
DOMAIN = ListingOption("domain", "A host name: its pages, and those of all hosts below it.", is_argument=True)
OF_DOMAIN = ListingOption("domain", "Only pages of this host and of all hosts below it.", metavar="HOST")
HOST_ONLY = ListingOption("host_only", "Leave out the hosts below.", "flag")
PATH = ListingOption("path", "Only this directory of the host, as in /docs/.")
FULL_SCAN = ListingOption("full_scan", "Read the whole table where no domain is named.", "flag")
MIN_SIZE = ListingOption("min_size", "At least so many bytes, as in 5MB.", "size", metavar="SIZE")
MAX_SIZE = ListingOption("max_size", "At most so many bytes.", "size", metavar="SIZE")
URL = ListingOption("url", "The page's URL.", is_argument=True, is_needed=True)
SITE = (HOST_ONLY, PATH, FULL_SCAN)
"""What questions take, beside a domain, that read a range of rows."""
