"""The command that a question becomes: the options that all listings share, and how a listing is written."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Generic, NamedTuple, Self, TypedDict, TypeVar, get_args

import typer

from webtable.cli.damage import tell_damage
from webtable.cli.exits import NOT_DONE, note
from webtable.cli.output import ColumnsOption, Format, FormatOption, chosen_format, on_terminal, write_records
from webtable.cli.records import ALL_COLUMNS, PAGES, Kind
from webtable.cli.session import session
from webtable.cli.text import plural
from webtable.cli.times import is_ago, parse_time
from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from webtable.repository import Results, WebTable

T = TypeVar("T")
Question = Callable[..., "Results[Any]"]
Writer = Callable[..., int]
"""Writes the records of a listing as `write_records` does."""


class Paging(TypedDict):
    """What questions take whose answers are no pages."""

    limit: int | None
    after: str | None
    order: str


class InDomain(Paging):
    """The same, of one domain."""

    domain: str | None


class OfPages(Paging):
    """What questions take whose domain is an argument."""

    columns: Sequence[str] | None


class OfPagesInDomain(OfPages):
    """The same, where it is an option."""

    domain: str | None


DomainArgument = Annotated[
    str | None, typer.Argument(help="A host name: its pages, and those of all hosts below it.", show_default=False)
]
FullScanOption = Annotated[bool, typer.Option("--full-scan", help="Read the whole table where no domain is named.")]
HostOnlyOption = Annotated[bool, typer.Option("--host-only", help="Leave out the hosts below.")]
PathOption = Annotated[
    str | None, typer.Option("--path", help="Only this directory of the host, as in /docs/.", show_default=False)
]
_SHARED: dict[str, Any] = {
    "domain": Annotated[
        str | None, typer.Option("--domain", metavar="HOST", help="Only pages of this host and of all hosts below it.")
    ],
    "limit": Annotated[int | None, typer.Option("--limit", help="The most results to list.", show_default=False)],
    "after": Annotated[
        str | None, typer.Option("--after", metavar="TOKEN", help="Go on where a listing with --limit has ended.")
    ],
    "columns": ColumnsOption,
}
_HTML = Annotated[bool, typer.Option("--html", help="Add the bodies.")]
_EXPLAIN = Annotated[bool, typer.Option("--explain", help="Show how it would be answered, and do not ask.")]


def question(
    commands: typer.Typer,
    kind: Kind = PAGES,
    *,
    orders: Sequence[str],
    epilog: str,
    panel: str | None = None,
    has_counts: bool = False,
    table_writer: Writer = write_records,
) -> Callable[[Question], Question]:
    """Make the function a command that lists the results of a question, which are of this *kind*.

    The function takes a table, its own options, and as keywords what the question shares with others: which those are
    is told by the annotation, as in `**asking: Unpack[Paging]`. Options that are datetimes are written as `parse_time`
    reads them. Its docstring is the help text. *orders* are those that the question has, its default first. With
    *has_counts* it is told what waits to be counted.
    """

    def made(function: Question) -> Question:
        own, keys = _parameters(function)
        times = [one.name for one in own if _is_time(one)]

        def command(ctx: typer.Context, **given: Any) -> None:
            goes_on = _parse_times(times, given)
            listed = _Listed.taken_from(given, kind)
            if "columns" in keys:
                given["columns"] = [name for name in listed.columns if name in ALL_COLUMNS]
            given["order"] = given["order"].value if given["order"] else orders[0]
            limit = given["limit"]
            # One more tells whether a token is worth showing.
            given["limit"] = limit + 1 if limit and limit > 0 else limit
            with session(ctx).open() as table:
                results = function(table, **given)
                if listed.is_explained:
                    typer.echo(str(results.explain()))
                    return
                listing = Limited(results, limit)
                found = listed.write(map(kind.record, listing), table_writer)
                if has_counts:
                    tell_freshness(ctx, table)
                damaged = table.metrics["damaged"]
            if listing.next_token:
                note(f"more: {goes_on}--after {listing.next_token}")
            if not found and limit != 0 and on_terminal():
                note(f"no {results.question}")
            if damaged:
                tell_damage(results.damaged, damaged)
                raise typer.Exit(NOT_DONE)

        _sign(command, [*own, *_shared(keys, orders)])
        command.__doc__ = function.__doc__
        commands.command(_dashed(function.__name__), epilog=epilog, rich_help_panel=panel)(command)
        return function

    return made


class _Listed(NamedTuple):
    """How the results are to be written."""

    columns: tuple[str, ...]
    is_asked_for: bool
    format: Format
    is_explained: bool

    @classmethod
    def taken_from(cls, given: dict[str, Any], kind: Kind) -> Self:
        """Return what the options say of it, and remove those from *given*."""
        text, html, form = given.pop("columns", None), given.pop("html", False), chosen_format(given.pop("format"))
        columns = kind.chosen(text, html=html, json=form is Format.jsonl)
        return cls(columns, text is not None or html, form, given.pop("explain"))

    def write(self, records: Iterable[object], table_writer: Writer) -> int:
        """Write *records*, and return how many they were."""
        write = table_writer if self.format is Format.table and not self.is_asked_for else write_records
        return write(records, self.columns, self.format, asked_for=self.is_asked_for)


class Limited(Generic[T]):
    """The first *limit* results of a question; behind them `next_token` goes on, None where there are no more."""

    def __init__(self, results: Results[T], limit: int | None) -> None:
        self._results = results
        self._limit = limit
        self.next_token: str | None = None

    def __iter__(self) -> Iterator[T]:
        last: T | None = None
        for number, result in enumerate(self._results):
            if number == self._limit:
                if last is not None:
                    self.next_token = self._results.token_behind(last)
                return
            yield result
            last = result


def tell_freshness(ctx: typer.Context, table: WebTable) -> None:
    """Tell how fresh the counts of links and hosts are, where any wait to be made anew."""
    waiting, since = table.links_freshness()
    if waiting:
        moment = f" since {since:%Y-%m-%d %H:%M} UTC" if since else ""
        waits = "waits" if waiting == 1 else "wait"
        note(f"counts: {plural(waiting, 'batch', 'es')} {waits}{moment}: {session(ctx).command('links refresh')}")


def check_scan(domain: str | None, full_scan: bool) -> None:
    """Raise `InvalidArgument` where the whole table would be read unasked."""
    if domain is None and not full_scan:
        raise InvalidArgument("without a domain the whole table is read: name a domain, or give --full-scan")


def _parameters(function: Question) -> tuple[list[inspect.Parameter], frozenset[str]]:
    """Return the options that are *function*'s own, and which of the shared ones it takes."""
    _, *own, asking = inspect.signature(function, eval_str=True).parameters.values()
    (taken,) = get_args(asking.annotation)
    return own, frozenset(taken.__required_keys__ | taken.__optional_keys__)


def _shared(keys: frozenset[str], orders: Sequence[str]) -> Iterator[inspect.Parameter]:
    found = {name: option for name, option in _SHARED.items() if name in keys}
    # typer takes choices as an enum only.
    choice: Any = StrEnum("Order", list(orders))  # type: ignore[misc]
    found["order"] = Annotated[
        choice | None, typer.Option("--order", help=f"Default: {orders[0]}.", show_default=False)
    ]
    if "columns" in keys:
        found["html"] = _HTML
    else:
        found["columns"] = ColumnsOption
    found |= {"format": FormatOption, "explain": _EXPLAIN}
    for name, option in found.items():
        default = False if name in ("html", "explain") else None
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=option)


def _parse_times(names: Sequence[str], given: dict[str, Any]) -> str:
    """Parse the times of *given*, and return the options with which a listing goes on that is to have the same ones."""
    fixed = ""
    for name in names:
        if (text := given[name]) is None:
            continue
        moment = given[name] = parse_time(_dashed(name), text)
        if is_ago(text):
            fixed += f"--{_dashed(name)} {moment:%Y-%m-%dT%H:%M:%SZ} "
    return fixed


def _is_time(parameter: inspect.Parameter) -> bool:
    return bool(get_args(parameter.annotation)[0] == datetime | None)


def _as_text(parameter: inspect.Parameter) -> inspect.Parameter:
    _, option = get_args(parameter.annotation)
    return parameter.replace(annotation=Annotated[str | None, option])


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def _sign(command: Callable[..., None], parameters: Sequence[inspect.Parameter]) -> None:
    """Give *command* the signature from which typer takes its options."""
    context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    keywords = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    keywords = [_as_text(one) if _is_time(one) else one for one in keywords]
    command.__signature__ = inspect.Signature([context, *keywords])  # type: ignore[attr-defined]
    command.__annotations__ = {}
