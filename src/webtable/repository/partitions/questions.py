"""Questions that can be asked for again, by another process too: with other columns, or about a part of the table."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

import msgspec

from webtable._clock import clock
from webtable.errors import InvalidArgument
from webtable.repository.answers.results import Partition, Results
from webtable.repository.arguments import given_moment
from webtable.repository.context import TableContext, TablePart

if TYPE_CHECKING:
    from webtable.repository.partitions.processes import TableAddress


class HasContext(Protocol):
    """What has the methods that ask questions: a web table, or its links."""

    @property
    def _context(self) -> TableContext: ...


class PartOfTable(msgspec.Struct, frozen=True):
    """What asks questions about the part of a table."""

    _context: TableContext


P = ParamSpec("P")
R = TypeVar("R", bound=Results[Any])
S = TypeVar("S", bound=HasContext)
Method = Callable[Concatenate[S, P], R]


def repeatable(
    *, order: str | None = "storage", until_now: bool = False, by_source: bool = False, undivided: str = ""
) -> Callable[[Method[S, P, R]], Method[S, P, R]]:
    """Return a decorator for a method that asks a question, so that its answer can be asked for again.

    Its parts are asked for in this *order* (None: the first order that it has). With *until_now* the argument `until`
    is now by default. With *by_source* it is divided by the pages where links come from, whatever it reads. Answers in
    the order *undivided* have no parts.
    """

    def decorated(question: Method[S, P, R]) -> Method[S, P, R]:
        parameters = inspect.signature(question).parameters
        moments = [name for name, parameter in parameters.items() if "Moment" in str(parameter.annotation)]
        takes_columns = "columns" in parameters or "options" in parameters

        @wraps(question)
        def ask(self: S, *args: P.args, **kwargs: P.kwargs) -> R:
            answer = question(self, *args, **kwargs)
            # A time ago is another moment in another process.
            arguments: dict[str, Any] = kwargs
            options = arguments | {name: given_moment(name, arguments[name]) for name in moments if arguments.get(name)}
            now = clock.now() if until_now and arguments.get("until") is None else None
            is_whole = bool(undivided) and answer.order == undivided
            request = Request(ask, self, args, options, takes_columns, order, by_source, now, is_whole)
            return replace(answer, _again=request)

        return cast("Method[S, P, R]", ask)

    return decorated


class Request(msgspec.Struct, frozen=True):
    """How an answer was asked for; the fields after `options` are as in `repeatable`."""

    ask: Callable[..., Results[Any]]
    table: HasContext
    arguments: Sequence[Any]
    options: Mapping[str, Any]
    takes_columns: bool
    order: str | None
    by_source: bool
    until: datetime | None
    """When it was asked for, if that is the end of the period that it is about."""
    is_whole: bool
    """Whether it has no parts."""

    def again(self, **options: Any) -> Results[Any]:
        """Return the answer to the same question, with other *options*."""
        return self.ask(self.table, *self.arguments, **{**self.options, **options})

    def partitions(self, n: int) -> list[Partition[Any]]:
        """Return *n* parts of the answer."""
        from webtable.repository.partitions.processes import TableAddress, Whole, cut  # most answers stay whole

        if self.is_whole:
            raise InvalidArgument(f"order={self.options['order']!r}: an answer in this order cannot be divided")
        context = self.table._context
        fixed = {"order": self.order, "until": self.until}
        options = {**self.options, **{name: value for name, value in fixed.items() if value is not None}}
        answer = self.ask(self.table, *self.arguments, **options)
        place = TableAddress.of(context)
        whole = Whole.of(context, answer.explain(), by_source=self.by_source)
        return [
            Partition(
                question=answer.question,
                store=place.store,
                table=whole.table,
                keys=part.keys,
                rows=part.rows,
                bytes=part.bytes,
                ask=self.ask,
                arguments=self.arguments,
                options=options,
                fingerprint=place,
                opened=_opened,
            )
            for part in cut(context, whole, n)
        ]


@contextmanager
def _opened(part: Partition[Any]) -> Iterator[Results[Any]]:
    place = cast("TableAddress", part.fingerprint)._replace(store=part.store)
    # The store by the URL of the part, which its holder may have changed (`dataclasses.replace`).
    with place.opened(TablePart(part.table, part.keys)) as context:
        yield part.ask(PartOfTable(context), *part.arguments, **part.options)
