"""The options of the data source, which are texts: which table, and which question with which arguments."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self

import webtable
from webtable import ALL, WebTable
from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from webtable.answers import Results, Site

QUESTIONS = (
    *("pages", "hosts", "edges", "search", "changes"),
    *("fetched", "modified", "outdated", "largest", "with_status", "errors", "redirects", "duplicates", "indexed"),
    *("links.to", "links.most_linked", "links.dead_ends", "links.broken", "links.orphans", "links.discovered"),
)
"""The questions whose answers can be divided into partitions, by the names of their methods."""
PARTITIONS_A_CORE = 3
"""How many partitions there are for each core: a core that is done with a small one takes another."""
_OWN = {"store", "question", "columns", "partitions", "strict", "pushdown"}
_NOT_TAKEN = {"columns", "options", "limit", "after", "order"}
"""Parameters of questions that are no options: a partition has an order of its own, and no limit."""
_TRUTHS = {"true": True, "false": False}


# Spark pickles it, and asks it again in each of its processes, some of which only plan the query.
@dataclass(frozen=True)
class SparkQuestion:
    """A question to a table, with *arguments* as texts or as values, which can be pickled."""

    store: str
    name: str = "pages"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None
    partitions: int = 1
    is_strict: bool = False

    @classmethod
    def of(cls, options: Mapping[str, str], *, name: str | None = None, also: Collection[str] = ()) -> Self:
        """Return the question that *options* describe, except for those named in *also*; raises `InvalidArgument`."""
        question = options.get("question", name or "pages")
        if question not in ((name,) if name else QUESTIONS):
            raise InvalidArgument(f"question={question!r} must be one of {', '.join([name] if name else QUESTIONS)}")
        columns = options.get("columns")
        arguments = {name: value for name, value in options.items() if name not in {*_OWN, *also, "site"}}
        return cls(
            store_of(options),
            question,
            {"site": _site(options.get("site", "all")), **arguments},
            None if columns is None else tuple(_listed(columns)),
            number_of("partitions", options.get("partitions", str(PARTITIONS_A_CORE * (os.cpu_count() or 1)))),
            truth_of("strict", options.get("strict", "false")),
        )

    @contextmanager
    def opened(self) -> Iterator[tuple[WebTable, Results[Any]]]:
        """Give the table and the answer until the end of the block; raises what opening and the question do."""
        with webtable.open(self.store, strict=self.is_strict) as table:
            yield table, self.answer(table)

    def answer(self, table: WebTable) -> Results[Any]:
        """Return the answer of *table*; raises `InvalidArgument` for an option that the question does not take."""
        # The options are those of the method, whatever a later version adds to it.
        ask: Callable[..., Results[Any]] = attrgetter(self.name)(table)
        taken = inspect.signature(ask).parameters.keys() - _NOT_TAKEN
        check_names(self.arguments, taken, f"the question {self.name!r}")
        values = {name: _value(self.name, name, value) for name, value in self.arguments.items()}
        return ask(**values)


def store_of(options: Mapping[str, str]) -> str:
    """Return the option `store`; raises `InvalidArgument` without one."""
    if "store" not in options:
        raise InvalidArgument("option('store', …) is missing: a file, or a URL such as hbase+native://host:16000/table")
    return options["store"]


def check_names(names: Collection[str], taken: Collection[str], what: str) -> None:
    """Raise `InvalidArgument` for a name among *names* that *what* does not have."""
    for name in names:
        if name not in taken:
            meant = "; it is called 'site' here" if name == "domain" else ""
            raise InvalidArgument(f"there is no option {name!r} for {what}{meant}: {', '.join(sorted(taken))}")


def number_of(name: str, text: str) -> int:
    """Return a whole number of 0 or more; raises `InvalidArgument`."""
    if not (text.strip().isascii() and text.strip().isdigit()):
        raise InvalidArgument(f"{name}={text!r} must be a whole number")
    return int(text)


def truth_of(name: str, text: str) -> bool:
    """Return a truth value; raises `InvalidArgument`."""
    if text.lower() not in _TRUTHS:
        raise InvalidArgument(f"{name}={text!r} must be true or false")
    return _TRUTHS[text.lower()]


def moment_of(name: str, text: str) -> datetime:
    """Return a moment, in UTC if *text* has no offset; raises `InvalidArgument`."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as exc:
        raise InvalidArgument(f"{name}={text!r} must be a date or a time, as in 2026-11-20T10:00") from exc
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _listed(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _site(text: str) -> Site:
    return ALL if text.lower() == ALL.value else text


def _value(question: str, name: str, value: Any) -> Any:
    """Return the argument *name* of *question*, which may be a text, as the method takes it."""
    if not isinstance(value, str):
        return value
    match name:
        case "status" if question == "pages":
            return [number_of(name, item) for item in _listed(value)]
        case "status" | "min_size" | "max_size":
            return number_of(name, value)
        case "past" | "substring" | "within_host":
            return truth_of(name, value)
        case "kind":
            return _listed(value)
    return value
