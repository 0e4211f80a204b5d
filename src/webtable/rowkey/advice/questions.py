"""The questions by which all designs are judged: derived from the keys, or asked by the user."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from difflib import get_close_matches
from typing import Any, NamedTuple

from webtable.errors import InvalidArgument
from webtable.rowkey.advice.designs import URL_VALUES, Design, times_of, url_value
from webtable.rowkey.composite import CompositeKey
from webtable.rowkey.fields.field import Field, shown
from webtable.rowkey.fields.hashes import Hash

MOST_DERIVED = 24
"""The most questions that are derived from the keys; those with the fewest values take precedence."""
_ALIKE = 0.7
"""The similarity (of `difflib`) from which a name is suggested."""
_LATEST = re.compile(r"latest(?:\s+of)?(?:\s+|$)")
# By whether the newest row is asked for.
_ASKED_BY_NAME = {False: ({"host"}, {"domain"}), True: ({"url"},)}
"""The named questions for URLs."""
_PART = re.compile(r"([^\s,]+)(\s+between)?")


@dataclass(frozen=True)
class Question:
    """Rows with one value of each of *given*, in a range of each of *between*; with *latest*, the newest of them.

    It counts *weight* times for the score. As text it has the names with commas, as in `channel, sent between` and
    `latest of channel`.

    >>> Question.of("channel, sent between: 3")
    Question(given=('channel',), between=('sent',), latest=False, weight=3.0)
    >>> str(Question(("channel",), latest=True))
    'latest of channel'
    """

    given: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    latest: bool = False
    weight: float = 1.0

    @classmethod
    def of(cls, text: str) -> Question:
        """Return the question in *text*, with its weight after a colon; raises `InvalidArgument`."""
        words, colon, weight = text.partition(":")
        latest = _LATEST.match(words.strip())
        names = words.strip()[latest.end() :] if latest else words.strip()
        if not names and not latest:
            raise InvalidArgument(f"questions={text!r} is empty: name a field, as in 'channel, sent between'")
        single, between = _names(text, names) if names else ((), ())
        return cls(single, between, latest is not None, _weight(text, weight) if colon else 1.0)

    def __str__(self) -> str:
        names = ", ".join((*self.given, *(f"{name} between" for name in self.between)))
        return " of ".join(filter(None, ["latest", names])) if self.latest else names

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all values in the question."""
        return (*self.given, *self.between)

    @property
    def meaning(self) -> tuple[object, ...]:
        """The part of a question without its wording and weight, for comparisons."""
        # The order of names makes no other question.
        return frozenset(self.given), frozenset(self.between), self.latest


def _names(text: str, names: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    single: list[str] = []
    between: list[str] = []
    for part in map(str.strip, names.split(",")):
        field = _PART.fullmatch(part)
        if not part:
            raise InvalidArgument(f"questions={text!r} has nothing between two commas, or after the last one")
        if ";" in part:
            raise InvalidArgument(f"questions={text!r} must be one question")
        if field is None:
            raise InvalidArgument(
                f"questions={text!r}: {part!r} must be a field, or a field and between, as in 'sent between'"
            )
        (between if field[2] else single).append(field[1])
    return tuple(single), tuple(between)


def _weight(text: str, weight: str) -> float:
    try:
        number = float(weight)
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise InvalidArgument(f"questions={text!r}: the weight must be a number above 0, as in 'channel: 3'")
    return number


def own_questions(own: Sequence[str | Question], values: Collection[str], named: Collection[str]) -> list[Question]:
    """Return the questions of the user, without repetitions; *values* and *named* are the names that they may use.

    Raises `InvalidArgument` for no questions, an invalid one, or an unknown name, with the closest known one.
    """
    if isinstance(own, str):
        raise InvalidArgument(f"questions={own!r} must be a list of questions, as in ['channel, sent between: 3']")
    if not own:
        raise InvalidArgument(f"questions={own!r} must be one or more of {', '.join([*named, *values])}")
    questions: dict[object, Question] = {}
    for item in own:
        question = Question.of(item) if isinstance(item, str) else item
        _check(question, values, named)
        # Said twice, it counts twice.
        before = questions.get(question.meaning)
        questions[question.meaning] = replace(question, weight=question.weight + (before.weight if before else 0.0))
    return list(questions.values())


def _check(question: Question, values: Collection[str], named: Collection[str]) -> None:
    if not isinstance(question, Question):
        raise InvalidArgument(f"questions={shown(question)} must be a question as text, or a Question")
    if not question.names and not question.latest:
        raise InvalidArgument(f"questions={question!r}: a question must have a value that is given, or a range")
    if not 0 < question.weight < math.inf:
        raise InvalidArgument(f"questions={question!r}: weight={question.weight!r} must be a number above 0")
    if question.latest and question.between:
        raise InvalidArgument(
            f"questions='{question}': the latest row is one of given values, not of a range; ask for the range alone"
        )
    if str(question) in named:  # such as host, which a key of other values need not have
        return
    for at, name in enumerate(question.names):
        if name in question.names[:at]:
            raise InvalidArgument(f"questions='{question}' names {name!r} twice")
        if name not in values:
            raise InvalidArgument(f"questions='{question}': {_unknown(name, len(question.names), values, named)}")


def _unknown(name: str, count: int, values: Collection[str], named: Collection[str]) -> str:
    if name in named and count > 1:
        return f"{name!r} is a separate question; separate questions by ';'"
    names = list(dict.fromkeys([*values, *(named if count == 1 else ())]))
    if close := get_close_matches(name, names, 1, _ALIKE):
        return f"there is no field {name!r}; the closest is {close[0]}"
    return f"there is no field {name!r}; there are {', '.join(names)}"


def derived_questions(
    keys: Iterable[CompositeKey],
    times: Sequence[str],
    moments: Collection[str],
    normal: Callable[[Question], Question | None],
) -> tuple[list[Question], tuple[str, ...]]:
    """Return the questions that *keys* are made to answer, without repetitions, and in words those beyond the limit.

    For each key these are its leading values, one more at a time; each of these with a range of the *times*; and the
    latest row of them. Nothing follows after a time: who knows its *moment* knows the row. *normal* returns the normal
    form of a question, None for one that is asked anyway.
    """
    derived: dict[object, Question] = {}
    for key in keys:
        for question in map(normal, _made_for(leading_names(key), times, moments)):
            if question is not None:
                derived.setdefault(question.meaning, question)
    # Questions about few values read the most rows, so they are the last to be left out.
    shortest = sorted(derived.values(), key=lambda question: len(question.names))
    kept = shortest[:MOST_DERIVED]
    return [question for question in derived.values() if question in kept], tuple(map(str, shortest[MOST_DERIVED:]))


def leading_names(key: CompositeKey) -> list[str]:
    """Return the names of *key* in the order in which its rows sort by them.

    A whole hash counts as its value; other hashes, and salts, count only for values that are not fields.
    """
    names: dict[str, None] = {}
    for part in key.parts:
        is_hash = isinstance(part, Hash) and part.is_whole
        names |= dict.fromkeys(
            name for name in part.takes if isinstance(part, Field) or is_hash or name not in key.fields
        )
    return list(names)


def _made_for(names: Sequence[str], times: Sequence[str], moments: Collection[str]) -> Iterator[Question]:
    """Yield the questions that a key with these *names*, in this order, is made to answer."""
    # All names together are one row, which the named question or that for all values asks for.
    for count, last in enumerate(names, 1):
        prefix = tuple(names[:count])
        if last not in moments and count < len(names):
            yield Question(prefix)
        if last in times:
            yield from _in_time(prefix[:-1], (last,))
        elif count < len(names) and not set(prefix) & set(times):
            yield from _in_time(prefix, times)
        if last in moments:
            return


def _in_time(prefix: tuple[str, ...], times: Sequence[str]) -> Iterator[Question]:
    for time in times:
        yield Question(prefix, (time,))
    if times:
        yield Question(prefix, latest=True)


def normal_question(times: Collection[str]) -> Callable[[Question], Question | None]:
    """Return a function that returns the normal form of a question about URLs; None if a named question is the same.

    All *times* mean the arrival, and values that follow from another one are left out.
    """

    def normal(question: Question) -> Question | None:
        names = set(question.given)
        # Who knows a URL knows all of its values, and who knows a host its domain.
        if names & {"url"} or names >= {"host", "rest"}:
            names = {"url"}
        elif "host" in names:
            names -= {"domain"}
        if not question.between and names in _ASKED_BY_NAME[question.latest]:
            return None
        if not question.between and names == {"url"} and not times:
            return None
        single = tuple(name for name in URL_VALUES if name in names)
        return replace(question, given=single, between=tuple(times)[:1] if question.between else ())

    return normal


class QuestionSet(NamedTuple):
    """The questions, the names of named questions of designs, and the function that finds a value of an item by name.

    `left_out` are the questions beyond the limit, in words.
    """

    questions: list[Question]
    named: Collection[str]
    value_of: Callable[[Any, str], Any]
    left_out: tuple[str, ...]


def question_set(designs: Sequence[Design], example: Any, own: Sequence[str | Question] | None) -> QuestionSet:
    """Return the questions for *designs*, about items such as *example*; *own* are the questions of the user.

    If there are such, only they have a weight. Raises `InvalidArgument` for a question that cannot be asked.
    """
    named = tuple(dict.fromkeys(name for design in designs for name in design.questions))
    is_of_urls = designs[0].takes_urls
    values = _url_values(designs) if is_of_urls else _row_values(designs, example)
    weighed = [] if own is None else own_questions(own, list(values), named)
    derived, left_out = derived_questions(
        [design.key for design in designs if isinstance(design.key, CompositeKey)],
        [name for name, kind in values.items() if issubclass(kind, date)],
        [name for name, kind in values.items() if issubclass(kind, datetime)],
        normal_question([name for name, kind in values.items() if kind is datetime]) if is_of_urls else lambda q: q,
    )
    # If a value has the name of the question for one row, that row is asked for by its values.
    rows = [] if named else [Question(design.key.names) for design in designs]
    questions = {question.meaning: question for question in weighed}
    for question in (*map(Question.of, named), *derived, *rows):
        questions.setdefault(question.meaning, replace(question, weight=0.0 if weighed else 1.0))
    value_of = url_value if is_of_urls else lambda values, name: values.get(name)
    return QuestionSet(list(questions.values()), named, value_of, left_out)


def _row_values(designs: Sequence[Design], example: Mapping[str, Any]) -> dict[str, type]:
    """Return the names of the values of rows, with their types in *example*; times are those that a key takes."""
    names = {name for design in designs for name in design.key.names}
    return {name: type(value) if name in names else object for name, value in example.items()}


def _url_values(designs: Sequence[Design]) -> dict[str, type]:
    """Return the names of the values of URLs with their types, including the times of *designs*."""
    times = (name for design in designs for name in sorted(times_of(design.key)))
    return dict.fromkeys(URL_VALUES, str) | dict.fromkeys(times, datetime)
