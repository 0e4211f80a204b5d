"""The commands that list the answers to a question, each built from what the question declares (`Listing`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self

import typer

from webtable._files import atomic_file
from webtable.cli import completion, output
from webtable.cli.exit_codes import end_if_damaged, note
from webtable.cli.messages import examples, impossible_status
from webtable.cli.progress import interruptible, with_progress
from webtable.cli.session import session
from webtable.display import harmless
from webtable.display.text import parse_size, plural
from webtable.errors import InvalidArgument
from webtable.formats import ENDINGS, FORMATS, format_of, write_rows
from webtable.questions import (
    LISTINGS,
    Column,
    Columns,
    Limited,
    Listing,
    ListingOption,
    is_ago,
    parse_time,
    read_for,
    with_filter,
)

if TYPE_CHECKING:
    from webtable import WebTable

# The type that typer parses for each kind of option.
_TYPES: dict[str, Any] = {"text": str, "number": int, "fraction": float, "flag": bool, "time": str, "size": str}


def app_of(name: str) -> typer.Typer:
    """Return an app with the command *name*, for the question of that name."""
    listing = LISTINGS[name.replace("-", "_")]
    app = typer.Typer()
    app.command(name, epilog=examples(*listing.examples))(_command(listing))
    return app


def _command(listing: Listing) -> Callable[..., None]:
    """Return the function that asks the question of a *listing* and lists the answers."""

    def command(ctx: typer.Context, **options: Any) -> None:
        listed, goes_on = _Listed.taken_from(options), _goes_on(listing, options)
        with session(ctx).open() as table:
            results = attrgetter(listing.method)(table)(**_asked(listing, options, listed))
            if listed.is_explained:
                typer.echo(str(results.explain()))
                return
            listing_ = Limited(results, options["limit"])
            # Few of the pages that a search reads are results: it may take long until there is one to be seen.
            records = with_progress("search", table, listing_) if listing.name == "search" else listing_
            count = listed.write(records, results.columns, _WRITERS.get(listing.name, output.write_records))
            if listing.has_counts:  # what they count may have changed since the last refresh
                report_freshness(ctx, table)
            damaged = table.metrics.damaged
            if not count and options["limit"] != 0:
                note("; ".join(filter(None, (results.why_empty(), impossible_status(options)))))
        if listing_.next_token:
            note(f"more: {goes_on}--after {listing_.next_token}")
        end_if_damaged(results.damaged, damaged)

    # Typer reads the signature of a function for its options; the annotations of this one are those of **options.
    command.__signature__ = inspect.Signature(list(_parameters(listing)))  # type: ignore[attr-defined]
    command.__annotations__ = {}
    command.__doc__ = f"{inspect.cleandoc(listing.help)}\n\n{listing.of_command}"
    return command


def _parameters(listing: Listing) -> Iterator[inspect.Parameter]:
    """Yield the parameters that typer turns into options: those of a *listing*, and those that all listings have."""
    yield inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    options = {option.name: _option(option) for option in listing.options}
    limit = typer.Option("--limit", help="The most results to list.")
    after = typer.Option("--after", metavar="TOKEN", help="Continue where a listing with --limit ended.")
    # typer accepts choices only as an enum.
    orders: Any = StrEnum("Order", list(listing.orders))  # type: ignore[misc]
    order = typer.Option("--order", help=f"Default: {listing.orders[0]}.")
    body = typer.Option("--body", help="Add the bodies.")
    explain = typer.Option("--explain", help="Show how the question would be answered, without asking it.")
    options |= {"limit": (Annotated[int | None, limit], None), "after": (Annotated[str | None, after], None)}
    options["columns"] = (output.columns_option(listing.columns.names), None)
    options["order"] = (Annotated[orders | None, order], None)
    if listing.is_of_pages:
        options["body"] = (Annotated[bool, body], False)
    out = typer.Option("--out", metavar="FILE", help=f"Write this file, as its name says: {', '.join(ENDINGS)}.")
    options |= {"format": (output.FormatOption, None), "out": (Annotated[Path | None, out], None)}
    options["explain"] = (Annotated[bool, explain], False)
    for name, (annotation, default) in options.items():
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _option(option: ListingOption) -> tuple[Any, Any]:
    """Return an *option* as typer takes it: its annotation and its default."""
    kind: Any = StrEnum(option.name, list(option.choices)) if option.choices else _TYPES[option.kind]
    if option.is_many:
        kind = list[kind]
    more: dict[str, Any] = {"help": option.help, "metavar": option.metavar}
    if option.default is None:
        more["show_default"] = False
    if option.is_index:
        more["autocompletion"] = completion.indexes
    if option.is_argument:
        made = typer.Argument(**more)
    else:
        made = typer.Option(f"--{_dashed(option.flag or option.name)}", **more)
    if option.kind == "flag":
        return Annotated[kind, made], False
    if option.is_needed:
        return Annotated[kind, made], inspect.Parameter.empty
    return (Annotated[kind, made] if option.default is not None else Annotated[kind | None, made]), option.default


def _asked(listing: Listing, options: dict[str, Any], listed: _Listed) -> dict[str, Any]:
    """The *options* of the command line as arguments of the question."""
    arguments = with_filter({option.name: _value(option, options[option.name]) for option in listing.options})
    if options["order"] is not None:
        arguments["order"] = options["order"].value
    if listing.is_of_pages:
        arguments["columns"] = read_for([*(listed.columns or ()), *(["body"] if listed.has_bodies else [])])
    limit = options["limit"]
    # One result more shows whether there is a next page, which needs a token.
    return arguments | {"after": options["after"], "limit": limit + 1 if limit and limit > 0 else limit}


def _value(option: ListingOption, value: Any) -> Any:
    if value is None or (option.is_many and not value):
        return None
    if option.kind == "size":
        return parse_size(_dashed(option.name), value)
    if option.choices:
        value = [choice.value for choice in value] if option.is_many else getattr(value, "value", value)
    return value if option.read is None else option.read(value)


def _goes_on(listing: Listing, options: dict[str, Any]) -> str:
    """Parse the times in *options* in place, and return the options that fix relative ones when a listing continues."""
    fixed = ""
    for name in (option.name for option in listing.options if option.kind == "time"):
        if (text := options[name]) is None:
            continue
        # "7d" is another moment on the next page: the token holds for the question with the moment that was meant.
        moment = options[name] = parse_time(_dashed(name), text)
        if is_ago(text):
            fixed += f"--{_dashed(name)} {moment:%Y-%m-%dT%H:%M:%SZ} "
    return fixed


def _dashed(name: str) -> str:
    """Return the name of an argument as commands and options spell it."""
    return name.replace("_", "-")


class _Listed(NamedTuple):
    """How the results are to be written."""

    columns: Sequence[str] | None
    has_bodies: bool
    format: output.Format
    out: Path | None
    is_explained: bool

    @classmethod
    def taken_from(cls, options: dict[str, Any]) -> Self:
        """Return it from the options in *options*, which are removed there."""
        text = options.pop("columns", None)
        names = None if text is None else output.parse_names(text)
        format, out = options.pop("format"), options.pop("out")
        if out is not None and (out.is_dir() or not out.parent.is_dir()):
            raise InvalidArgument(f"out={out}: name a file in a directory that exists")
        if out is not None and format not in FORMATS:
            format = format_of(out)
        return cls(names, options.pop("body", False), output.chosen_format(format), out, options.pop("explain"))

    def write(self, records: Iterable[object], columns_known: Columns, table_writer: Callable[..., int]) -> int:
        """Write *records* that have the columns *columns_known*, and return their number; raises `UnknownColumn`."""
        is_asked_for = self.columns is not None or self.has_bodies
        default = [column.name for column in output.default_columns(columns_known, self.format)]
        names = [*(default if self.columns is None else self.columns), *(["body"] if self.has_bodies else [])]
        columns = columns_known.chosen(names)
        if self.out is not None:
            return write_file(self.out, records, columns, self.format)
        write = table_writer if self.format == output.TABLE and not is_asked_for else output.write_records
        return write(records, columns, self.format, asked_for=is_asked_for)


def write_file(path: Path, records: Iterable[object], columns: Sequence[Column], format: str) -> int:
    """Write *records* to a file that appears when it is complete; report it, and return their number."""
    with interruptible(), atomic_file(path) as part, part.open("wb") as file:
        count = write_rows(records, columns, file, format)
    note(f"written: {path}, {plural(count, 'row')}")
    return count


def report_freshness(ctx: typer.Context, table: WebTable) -> None:
    """Report how many batches wait for links and hosts to be counted, and since when, if any do."""
    waiting, since = table.links.freshness()
    if waiting:
        moment = f" since {since:%Y-%m-%d %H:%M} UTC" if since else ""
        waits = "waits" if waiting == 1 else "wait"
        note(f"counts: {plural(waiting, 'batch', 'es')} {waits}{moment}: {session(ctx).command('links refresh')}")


def _write_hits(
    records: Iterable[Any],
    columns: Sequence[Column],  # noqa: ARG001
    format: output.Format | None,  # noqa: ARG001
    *,
    asked_for: bool,  # noqa: ARG001
) -> int:
    """Write search results to a terminal, each URL with its title and excerpts below, and return their number."""
    from rich.padding import Padding
    from rich.text import Text

    target, count = output.console(), 0
    for count, hit in enumerate(records, 1):  # noqa: B007 - it is returned
        matches = Text(f"  {plural(hit.matches, 'match', 'es')}", style="dim")
        target.print(Text.assemble((harmless(hit.page.url), "bold"), matches), soft_wrap=True)
        for excerpt in (*([hit.title] if hit.title else []), *hit.excerpts):
            target.print(Padding(output.highlighted(excerpt.marked()), (0, 0, 0, 2), expand=False))
    return count


# The functions that write the answers to a question to a terminal, if not as a table.
_WRITERS: dict[str, Callable[..., int]] = {"search": _write_hits}
