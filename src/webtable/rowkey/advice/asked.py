"""What all designs of a comparison are asked: the same questions, so that their scores can be compared."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from webtable.rowkey.advice.questions import Question, derived_questions, own_questions
from webtable.rowkey.advice.url_values import URL_VALUES, normal_question, times_of, url_value
from webtable.rowkey.composite import CompositeKey

if TYPE_CHECKING:
    from webtable.rowkey.advice.design import Design


class Asked(NamedTuple):
    """The questions, the names by which designs are asked some of them, and what finds the value of a name in an item.

    `left_out` are the questions that were too many, in words.
    """

    questions: list[Question]
    named: Collection[str]
    value_of: Callable[[Any, str], Any]
    left_out: tuple[str, ...]


def asked_of(designs: Sequence[Design], example: Any, own: Sequence[str | Question] | None) -> Asked:
    """Return what *designs* are asked, about items such as *example*; *own* are the questions of the user.

    Where there are such, they alone have a weight. Raises `InvalidArgument` for a question that cannot be asked.
    """
    named = tuple(dict.fromkeys(name for design in designs for name in design.questions))
    is_of_urls = designs[0].takes_urls
    values = _url_values(designs) if is_of_urls else _row_values(designs, example)
    asked = [] if own is None else own_questions(own, list(values), named)
    derived, left_out = derived_questions(
        [design.key for design in designs if isinstance(design.key, CompositeKey)],
        [name for name, kind in values.items() if issubclass(kind, date)],
        [name for name, kind in values.items() if issubclass(kind, datetime)],
        normal_question([name for name, kind in values.items() if kind is datetime]) if is_of_urls else lambda one: one,
    )
    # Where a value has the name of the question for one row, that is asked for by its values.
    rows = [] if named else [Question(design.key.names) for design in designs if design.key is not None]
    found = {question.meaning: question for question in asked}
    for question in (*map(Question.of, named), *derived, *rows):
        found.setdefault(question.meaning, replace(question, weight=0.0 if asked else 1.0))
    return Asked(list(found.values()), named, url_value if is_of_urls else _row_value, left_out)


def _row_value(values: Mapping[str, Any], name: str) -> Any:
    return values.get(name)


def _row_values(designs: Sequence[Design], example: Mapping[str, Any]) -> dict[str, type]:
    """Return the values of rows by name, and of which type the *example* has them; a time is one that a key takes."""
    names = {name for design in designs if design.key is not None for name in design.key.names}
    return {name: type(value) if name in names else object for name, value in example.items()}


def _url_values(designs: Sequence[Design]) -> dict[str, type]:
    """Return the values of URLs by name, the times of *designs* among them."""
    times = (name for design in designs if design.key is not None for name in sorted(times_of(design.key)))
    return dict.fromkeys(URL_VALUES, str) | dict.fromkeys(times, datetime)
