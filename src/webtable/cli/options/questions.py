"""The options of the commands that ask questions: those that several share, and how a command comes by its own."""

from __future__ import annotations

import inspect
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, get_args

import typer

from webtable.cli.terminal.output import ColumnsOption, FormatOption
from webtable.cli.terminal.text import parse_size
from webtable.errors import InvalidArgument
from webtable.repository.times import is_ago, parse_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


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
MinSizeOption = Annotated[
    str | None, typer.Option("--min-size", metavar="SIZE", help="At least so many bytes, as in 5MB.")
]
MaxSizeOption = Annotated[str | None, typer.Option("--max-size", metavar="SIZE", help="At most so many bytes.")]
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


def check_scan(domain: str | None, full_scan: bool) -> None:
    """Raise `InvalidArgument` where the whole table would be read unasked."""
    if domain is None and not full_scan:
        raise InvalidArgument("without a domain the whole table is read: name a domain, or give --full-scan")


def parse_wanted_size(name: str, text: str | None) -> int | None:
    """Return the bytes that the option *name* tells, None where it is not given."""
    return None if text is None else parse_size(name, text)


def parameters_of(function: Callable[..., Any]) -> tuple[list[inspect.Parameter], frozenset[str]]:
    """Return the options that are *function*'s own, and which of the shared ones it takes."""
    _, *own, asking = inspect.signature(function, eval_str=True).parameters.values()
    (taken,) = get_args(asking.annotation)
    return own, frozenset(taken.__required_keys__ | taken.__optional_keys__)


def shared_options(keys: frozenset[str], orders: Sequence[str]) -> Iterator[inspect.Parameter]:
    """Yield the options that a question shares with others, those of *keys* among them."""
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


def parse_asked_times(names: Sequence[str], given: dict[str, Any]) -> str:
    """Parse the times of *given*, and return the options with which a listing goes on that is to have the same ones."""
    fixed = ""
    for name in names:
        if (text := given[name]) is None:
            continue
        moment = given[name] = parse_time(dashed(name), text)
        if is_ago(text):
            fixed += f"--{dashed(name)} {moment:%Y-%m-%dT%H:%M:%SZ} "
    return fixed


def is_time(parameter: inspect.Parameter) -> bool:
    """Whether an option is a moment."""
    return bool(get_args(parameter.annotation)[0] == datetime | None)


def _as_text(parameter: inspect.Parameter) -> inspect.Parameter:
    _, option = get_args(parameter.annotation)
    return parameter.replace(annotation=Annotated[str | None, option])


def dashed(name: str) -> str:
    """Return the name of an argument as commands and options have it."""
    return name.replace("_", "-")


def sign(command: Callable[..., None], parameters: Sequence[inspect.Parameter]) -> None:
    """Give *command* the signature from which typer takes its options."""
    context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    keywords = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    keywords = [_as_text(one) if is_time(one) else one for one in keywords]
    command.__signature__ = inspect.Signature([context, *keywords])  # type: ignore[attr-defined]
    command.__annotations__ = {}
