"""The command that a question becomes, and how its results are listed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar

import typer

from webtable.cli.exit_codes import NOT_DONE, note
from webtable.cli.options.questions import (
    check_scan,
    dashed,
    is_time,
    parameters_of,
    parse_asked_times,
    shared_options,
    sign,
)
from webtable.cli.session import session
from webtable.cli.suggestions import why_nothing
from webtable.cli.terminal.damage import tell_damage
from webtable.cli.terminal.output import TABLE, Format, chosen_format, write_records
from webtable.cli.terminal.text import parse_names, plural
from webtable.repository.answers.page_columns import PAGES, read_for

if TYPE_CHECKING:
    from webtable.repository import Results, WebTable
    from webtable.repository.answers.columns import Columns

T = TypeVar("T")
Question = Callable[..., "Results[Any]"]
Writer = Callable[..., int]
"""Writes the records of a listing as `write_records` does."""


def question(
    commands: typer.Typer,
    known: Columns = PAGES,
    *,
    orders: Sequence[str],
    epilog: str,
    panel: str | None = None,
    has_counts: bool = False,
    table_writer: Writer = write_records,
) -> Callable[[Question], Question]:
    """Make the function a command that lists the results of a question, whose columns are those *known*.

    The function takes a table, its own options, and as keywords what the question shares with others: which those are
    is told by the annotation, as in `**asking: Unpack[Paging]`. Options that are datetimes are written as `parse_time`
    reads them; where it has --full-scan, the table is read without a domain only with that. Its docstring is the help
    text. *orders* are those that the question has, its default first. With *has_counts* it says what waits to be
    counted.
    """

    def made(function: Question) -> Question:
        own, keys = parameters_of(function)
        times = [one.name for one in own if is_time(one)]

        def command(ctx: typer.Context, **given: Any) -> None:
            goes_on = parse_asked_times(times, given)
            listed = _Listed.taken_from(given)
            limit = given["limit"]
            _complete(given, orders[0], listed if "columns" in keys else None)
            with session(ctx).open() as table:
                if "full_scan" in given:
                    check_scan(given["domain"], given["full_scan"])
                results = function(table, **given)
                if listed.is_explained:
                    typer.echo(str(results.explain()))
                    return
                listing = Limited(results, limit)
                found = listed.write(listing, results._columns, known.listed, table_writer)
                if has_counts:
                    tell_freshness(ctx, table)
                damaged = table.metrics.damaged
            if listing.next_token:
                note(f"more: {goes_on}--after {listing.next_token}")
            if not found and limit != 0:
                note(f"no {results.question}{why_nothing(given)}")
            if damaged:
                tell_damage(results.damaged, damaged)
                raise typer.Exit(NOT_DONE)

        sign(command, [*own, *shared_options(keys, orders)])
        command.__doc__ = function.__doc__
        commands.command(dashed(function.__name__), epilog=epilog, rich_help_panel=panel)(command)
        return function

    return made


def _complete(given: dict[str, Any], order: str, listed: _Listed | None) -> None:
    """Make of the options that are *given* what the question takes: an order, the columns to read, a limit."""
    given["order"] = given["order"].value if given["order"] else order
    if listed is not None:
        given["columns"] = read_for([*(listed.columns or ()), *(["html"] if listed.has_bodies else [])])
    limit = given["limit"]
    # One more tells whether a token is worth showing.
    given["limit"] = limit + 1 if limit and limit > 0 else limit


class _Listed(NamedTuple):
    """How the results are to be written."""

    columns: Sequence[str] | None
    has_bodies: bool
    format: Format
    is_explained: bool

    @classmethod
    def taken_from(cls, given: dict[str, Any]) -> Self:
        """Return what the options say of it, and remove those from *given*."""
        text = given.pop("columns", None)
        names = None if text is None else parse_names(text)
        return cls(names, given.pop("html", False), chosen_format(given.pop("format")), given.pop("explain"))

    def write(self, records: Iterable[object], known: Columns, listed: Sequence[str], table_writer: Writer) -> int:
        """Write *records* that have the columns *known*, and return how many they were; raises `UnknownColumn`."""
        is_asked_for = self.columns is not None or self.has_bodies
        default = [one.name for one in known.in_json()] if self.format == "jsonl" else listed
        names = [*(default if self.columns is None else self.columns), *(["html"] if self.has_bodies else [])]
        write = table_writer if self.format == TABLE and not is_asked_for else write_records
        return write(records, known.chosen(names), self.format, asked_for=is_asked_for)


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
