"""Questions, put to rows that are there: the values that they are asked with, and how many rows they want."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from webtable.rowkey.advice.questions import Question
from webtable.rowkey.fields.field import between

_ASKED = 24
_PART = 10
"""A range goes over a tenth of all rows, by the order of its value."""

ValueOf = Callable[[Any, str], Any]


class Inquiry(NamedTuple):
    """A question, asked with the values of some *items*: the conditions of each, and how many rows it wants.

    What a design is asked by a name of its own has no conditions. `wanted` is the mean over the items, None where it is
    not known; of a latest row it is one.
    """

    question: Question
    items: Sequence[Any]
    conditions: Sequence[Mapping[str, Any]] = ()
    wanted: float | None = None


def inquiries(
    questions: Sequence[Question], named: Collection[str], items: Sequence[Any], value_of: ValueOf
) -> list[Inquiry]:
    """Return *questions*, each to be asked with the values that *value_of* finds in some of *items*."""
    asked = items[:: max(1, len(items) // _ASKED)][:_ASKED]
    return [
        Inquiry(question, asked) if str(question) in named else _inquiry(question, asked, items, value_of)
        for question in questions
    ]


def _inquiry(question: Question, asked: Sequence[Any], items: Sequence[Any], value_of: ValueOf) -> Inquiry:
    ends = {name: _ends([value_of(item, name) for item in items]) for name in question.between}
    conditions = [
        {name: value_of(item, name) for name in question.given}
        | {name: between(since := value_of(item, name), _until(ends[name], since)) for name in question.between}
        for item in asked
    ]
    if question.latest:
        return Inquiry(question, asked, conditions, 1.0)
    return Inquiry(question, asked, conditions, _wanted(question, conditions, items, value_of))


def _ends(values: list[Any]) -> list[Any]:
    """Return *values* in their order; none where they have none, as those of no key can have."""
    try:
        return sorted(values)
    except TypeError:
        return []


def _until(ends: Sequence[Any], since: Any) -> Any:
    """Return the value that is a tenth of all rows behind *since*, None where there is none."""
    if not ends:
        return None
    place = max(bisect_left(ends, since) + len(ends) // _PART, bisect_right(ends, since))
    return ends[place] if place < len(ends) else None


def _wanted(
    question: Question, conditions: Sequence[Mapping[str, Any]], items: Sequence[Any], value_of: ValueOf
) -> float | None:
    """Return how many of *items* meet the conditions, on average; None where values cannot be compared."""
    if len(question.between) > 1:
        return None
    groups: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    name = question.between[0] if question.between else None
    try:
        for item in items:
            groups[tuple(value_of(item, given) for given in question.given)].append(
                0 if name is None else value_of(item, name)
            )
        for group in groups.values():
            group.sort()
    except TypeError:
        return None
    found = (_count(groups[tuple(one[given] for given in question.given)], name and one[name]) for one in conditions)
    return sum(found) / len(conditions)


def _count(group: Sequence[Any], condition: Any) -> int:
    if condition is None:
        return len(group)
    stop = len(group) if condition.until is None else bisect_left(group, condition.until)
    return stop - bisect_left(group, condition.since)
