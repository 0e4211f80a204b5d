"""Reading of an answer: its partitions, and the Arrow batches of each."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import (
    DataSourceReader,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    LessThan,
    LessThanOrEqual,
    StringStartsWith,
)

import webtable
from webtable import ALL, HostOnly

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa

    from webtable.integrations._spark.options import SparkQuestion


class AnswerReader(DataSourceReader):
    """Reads some columns of the answer to a question; the driver divides it, and tasks read the parts."""

    def __init__(self, question: SparkQuestion, columns: Sequence[str]) -> None:
        self.question = question
        self.columns = columns

    def partitions(self) -> list[InputPartition]:
        """Return the parts of the answer."""
        with self.question.opened() as (_, answer):
            return [InputPartition(part) for part in answer.partitions(self.question.partitions)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the batches of a part."""
        yield from partition.value.to_arrow(self.columns)


# --- Conditions of Spark that a table answers by reading less: they become arguments of the question ------------------
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

    def pushFilters(self, filters: Sequence[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Narrow the question by *filters*, all of which must hold, and return those that Spark has to test."""
        self.question, left = narrowed(self.question, filters, _has_time_index)
        return left


def narrowed(
    question: SparkQuestion, filters: Sequence[Filter], has_time_index: Callable[[SparkQuestion], bool]
) -> tuple[SparkQuestion, list[Filter]]:
    """Return *question* narrowed by *filters*, and those that still have to be tested.

    A period of `fetched_at` is read from the index of time if the table has one, unless a site is named.
    """
    if question.name != "pages":
        return question, list(filters)
    arguments: dict[str, Any] = dict(question.arguments)
    left = [one for one in filters if not _takes_site(arguments, one)]
    period = {} if arguments != {"site": ALL} else _period(filters)
    if period and has_time_index(question):
        return replace(question, name="fetched", arguments=period), [one for one in left if not _bounds(one)]
    left = [one for one in left if not _takes_condition(arguments, one)]
    return replace(question, arguments=arguments), left


def _has_time_index(question: SparkQuestion) -> bool:
    with webtable.open(question.store) as table:
        state = table.indexes.states().get("time")
        return state is not None and state.phase == "ready"


def _takes_site(arguments: dict[str, Any], condition: Filter) -> bool:
    """Narrow the site by a *condition*, if none is named yet, and return whether nothing is left to test."""
    if arguments["site"] is not ALL:
        return False
    match condition:
        case EqualTo(("host",), str(host)) if _HOST.fullmatch(host):
            arguments["site"] = HostOnly(host)
            return True
        case EqualTo(("registered_domain",), str(domain)) if _HOST.fullmatch(domain):
            arguments["site"] = domain
        case StringStartsWith(("url",), str(start)) if found := _DIRECTORY.match(start):
            arguments["site"] = found[0]
    return False


def _period(filters: Sequence[Filter]) -> dict[str, datetime]:
    """Return the arguments of `fetched` for the bounds of `fetched_at`; none if nothing can be between them."""
    bounds = [bound for one in filters for bound in _bounds(one).items()]
    since = max((moment for name, moment in bounds if name == "since"), default=None)
    until = min((moment for name, moment in bounds if name == "until"), default=None)
    if since is not None and since > min(until or since, datetime.now(UTC)):
        return {}
    return {name: moment for name, moment in (("since", since), ("until", until)) if moment is not None}


def _bounds(condition: Filter) -> dict[str, datetime]:
    """Return the bound that a *condition* is for `fetched_at`, by its name in the question `fetched`."""
    match condition:
        case GreaterThanOrEqual(("fetched_at",), datetime() as moment) if moment.tzinfo:
            return {"since": moment}
        case GreaterThan(("fetched_at",), datetime() as moment) if moment.tzinfo:
            return {"since": moment + _NEXT}
        case LessThan(("fetched_at",), datetime() as moment) if moment.tzinfo:
            return {"until": moment}
        case LessThanOrEqual(("fetched_at",), datetime() as moment) if moment.tzinfo:
            return {"until": moment + _NEXT}
    return {}


def _takes_condition(arguments: dict[str, Any], condition: Filter) -> bool:
    """Add a *condition* to the arguments of `pages`, and return whether that has no such argument yet."""
    match condition:
        case EqualTo(("status",), int(status)) if status in _STATUSES:
            given: dict[str, Any] = {"status": [status]}
        case In(("status",), values) if all(one in _STATUSES for one in values):
            given = {"status": list(values)}
        case EqualTo(("content_type",), str(kind)) if _TYPE.fullmatch(kind):
            given = {"content_type": kind}
        case GreaterThanOrEqual(("size",), int(size)) if size >= 0:
            given = {"min_size": size}
        case GreaterThan(("size",), int(size)) if size >= 0:
            given = {"min_size": size + 1}
        case LessThanOrEqual(("size",), int(size)) if size >= 0:
            given = {"max_size": size}
        case LessThan(("size",), int(size)) if size > 0:
            given = {"max_size": size - 1}
        case _:
            return False
    sizes = {**arguments, **given}
    if arguments.keys() & given.keys() or int(sizes.get("min_size", 0)) > int(sizes.get("max_size", _LARGEST)):
        return False
    arguments.update(given)
    return True
