"""Reading of an answer: its partitions, and the Arrow batches of each."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pyspark.sql import datasource as spark

import webtable
from webtable import ALL, HostOnly
from webtable.integrations._spark.options import SparkQuestion, moment_of, number_of
from webtable.integrations._spark.writing import RowStore, StoredRows, check_stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa


# --- Streams ----------------------------------------------------------------------------------------------------------


MARGIN_SECONDS = 60
"""How old a capture must be by default: writers store it some seconds after it was fetched."""
OPTIONS = ("since", "margin")
_FIRST = "1970-01-01T00:00:00+00:00"

Offset = dict[str, str]


class FetchedReader(spark.DataSourceStreamReader):
    """Reads the pages that were fetched in a period, batch by batch; the offset is the end of the period."""

    def __init__(self, options: Mapping[str, str], columns: Sequence[str]) -> None:
        self._question = SparkQuestion.of(options, name="fetched", also=OPTIONS)
        self._columns = columns
        self._since = moment_of("since", options.get("since", _FIRST))
        self._margin = timedelta(seconds=number_of("margin", options.get("margin", str(MARGIN_SECONDS))))

    def initialOffset(self) -> Offset:  # noqa: N802 - the names of Spark, here and below
        """Return the option `since`."""
        return {"until": self._since.isoformat()}

    def latestOffset(self, start: Offset | None = None, limit: object = None) -> Offset:  # noqa: ARG002, N802
        """Return the moment up to which captures are stored by now, or *start* if none came after it."""
        now = datetime.now(UTC) - self._margin
        end = {"until": now.replace(microsecond=now.microsecond // 1_000 * 1_000).isoformat()}
        # Spark before 4.2 does not say where it starts.
        return end if start is None or self._has_pages(start, end) else start

    def _has_pages(self, start: Offset, end: Offset) -> bool:
        if datetime.fromisoformat(end["until"]) <= datetime.fromisoformat(start["until"]):
            return False
        with self._between(start, end).opened() as (_, answer):
            return bool(answer)

    def _between(self, start: Offset, end: Offset) -> SparkQuestion:
        arguments: dict[str, Any] = {**self._question.arguments, "since": start["until"], "until": end["until"]}
        return replace(self._question, arguments=arguments)

    def partitions(self, start: Offset, end: Offset) -> list[spark.InputPartition]:
        """Return the parts of the pages that were fetched from *start* on and before *end*."""
        if start == end:
            return []
        with self._between(start, end).opened() as (_, answer):
            return [spark.InputPartition(part) for part in answer.partitions(self._question.partitions)]

    def read(self, partition: spark.InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the batches of a part."""
        yield from partition.value.to_arrow(self._columns)


class PageStreamWriter(spark.DataSourceStreamArrowWriter):
    """Appends the rows of each batch of a stream to a table."""

    def __init__(self, storing: RowStore) -> None:
        self.storing = storing

    def write(self, iterator: Iterator[pa.RecordBatch]) -> StoredRows:
        """Store the rows of a task."""
        return self.storing.stored(iterator)

    def commit(self, messages: list[StoredRows | None], batchId: int) -> None:  # noqa: ARG002, N803
        """Raise `WriteFailed` if any row was refused."""
        check_stored(messages)


# --- Answers ----------------------------------------------------------------------------------------------------------


class AnswerReader(spark.DataSourceReader):
    """Reads some columns of the answer to a question; the driver divides it, and tasks read the parts."""

    def __init__(self, question: SparkQuestion, columns: Sequence[str]) -> None:
        self.question = question
        self.columns = columns

    def partitions(self) -> list[spark.InputPartition]:
        """Return the parts of the answer."""
        with self.question.opened() as (_, answer):
            return [spark.InputPartition(part) for part in answer.partitions(self.question.partitions)]

    def read(self, partition: spark.InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the batches of a part."""
        yield from partition.value.to_arrow(self.columns)


# --- Conditions -------------------------------------------------------------------------------------------------------
#
# A condition is taken over whole, and then Spark does not test it again; or it narrows what is read and Spark tests
# it nevertheless, where the site that is read may have a few pages more; or it is left to Spark.


_HOST = re.compile(r"(?!(?:.*\.)?xn--)(?:[a-z0-9_-]+\.)*[a-z][a-z0-9-]*")
"""A host in the form in which URLs are stored: any other text is equal to none."""
_DIRECTORY = re.compile(r"https?://[^/?#@]+/(?:[^?#]*/)?")
_TYPE = re.compile(r"[a-z0-9.+-]+/[a-z0-9.+-]+")
_STATUSES = range(1_000)
_LARGEST = 2**63
_NEXT = timedelta(microseconds=1)
"""The step of Spark's timestamps."""


class FilteringReader(AnswerReader):
    """Reads what the conditions leave; only for a session with `spark.sql.python.filterPushdown.enabled`."""

    def pushFilters(self, filters: Sequence[spark.Filter]) -> Iterable[spark.Filter]:  # noqa: N802 - Spark's name
        """Narrow the question by *filters*, all of which must hold, and return those that Spark has to test."""
        self.question, remaining = narrowed(self.question, filters, _has_time_index)
        return remaining


def narrowed(
    question: SparkQuestion, filters: Sequence[spark.Filter], has_time_index: Callable[[SparkQuestion], bool]
) -> tuple[SparkQuestion, list[spark.Filter]]:
    """Return *question* narrowed by *filters*, and those that still have to be tested.

    A period of `fetched_at` is read from the index of time if the table has one, unless a site is named.
    """
    if question.name != "pages":
        return question, list(filters)
    arguments: dict[str, Any] = dict(question.arguments)
    remaining = [condition for condition in filters if not _takes_site(arguments, condition)]
    period = {} if arguments != {"site": ALL} else _period(filters)
    if period and has_time_index(question):
        return replace(question, name="fetched", arguments=period), [
            condition for condition in remaining if not _bounds(condition)
        ]
    remaining = [condition for condition in remaining if not _takes_condition(arguments, condition)]
    return replace(question, arguments=arguments), remaining


def _has_time_index(question: SparkQuestion) -> bool:
    with webtable.open(question.store) as table:
        state = table.indexes.states().get("time")
        return state is not None and state.phase == "ready"


def _takes_site(arguments: dict[str, Any], condition: spark.Filter) -> bool:
    """Narrow the site by a *condition*, if none is named yet, and return whether nothing is left to test."""
    if arguments["site"] is not ALL:
        return False
    match condition:
        case spark.EqualTo(("host",), str(host)) if _HOST.fullmatch(host):
            arguments["site"] = HostOnly(host)
            return True
        case spark.EqualTo(("registered_domain",), str(domain)) if _HOST.fullmatch(domain):
            arguments["site"] = domain
        case spark.StringStartsWith(("url",), str(start)) if directory := _DIRECTORY.match(start):
            arguments["site"] = directory[0]
    return False


def _period(filters: Sequence[spark.Filter]) -> dict[str, datetime]:
    """Return the arguments of `fetched` for the bounds of `fetched_at`; none if nothing can be between them."""
    bounds = [bound for condition in filters for bound in _bounds(condition).items()]
    since = max((moment for name, moment in bounds if name == "since"), default=None)
    until = min((moment for name, moment in bounds if name == "until"), default=None)
    if since is not None and since > min(until or since, datetime.now(UTC)):
        return {}
    return {name: moment for name, moment in (("since", since), ("until", until)) if moment is not None}


def _bounds(condition: spark.Filter) -> dict[str, datetime]:
    """Return the bound that a *condition* is for `fetched_at`, by its name in the question `fetched`."""
    match condition:
        case spark.GreaterThanOrEqual(("fetched_at",), datetime() as moment) if moment.tzinfo:
            return {"since": moment}
        case spark.GreaterThan(("fetched_at",), datetime() as moment) if moment.tzinfo:
            return {"since": moment + _NEXT}
        case spark.LessThan(("fetched_at",), datetime() as moment) if moment.tzinfo:
            return {"until": moment}
        case spark.LessThanOrEqual(("fetched_at",), datetime() as moment) if moment.tzinfo:
            return {"until": moment + _NEXT}
    return {}


def _takes_condition(arguments: dict[str, Any], condition: spark.Filter) -> bool:
    """Add a *condition* to the arguments of `pages`, and return whether that has no such argument yet."""
    match condition:
        case spark.EqualTo(("status",), int(status)) if status in _STATUSES:
            taken: dict[str, Any] = {"status": [status]}
        case spark.In(("status",), values) if all(value in _STATUSES for value in values):
            taken = {"status": list(values)}
        case spark.EqualTo(("content_type",), str(kind)) if _TYPE.fullmatch(kind):
            taken = {"content_type": kind}
        case spark.GreaterThanOrEqual(("size",), int(size)) if size >= 0:
            taken = {"min_size": size}
        case spark.GreaterThan(("size",), int(size)) if size >= 0:
            taken = {"min_size": size + 1}
        case spark.LessThanOrEqual(("size",), int(size)) if size >= 0:
            taken = {"max_size": size}
        case spark.LessThan(("size",), int(size)) if size > 0:
            taken = {"max_size": size - 1}
        case _:
            return False
    sizes = {**arguments, **taken}
    if arguments.keys() & taken.keys() or int(sizes.get("min_size", 0)) > int(sizes.get("max_size", _LARGEST)):
        return False
    arguments.update(taken)
    return True
