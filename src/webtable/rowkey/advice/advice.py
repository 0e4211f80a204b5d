"""Ranking of row key designs by measurements on real keys, with the reasons."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from webtable.display import Shown
from webtable.display.text import plural
from webtable.errors import FieldError, InvalidArgument, InvalidURL
from webtable.rowkey.advice.costs import CellSize, inquiries
from webtable.rowkey.advice.designs import WEB_DESIGNS, Design, in_time, key_design, web_design
from webtable.rowkey.advice.heat_map import heat_map
from webtable.rowkey.advice.questions import MOST_DERIVED, Question, QuestionSet, question_set
from webtable.rowkey.advice.ranking import (
    CrawlScope,
    Judgement,
    WrittenTable,
    judged,
    scope_of,
    sentences_of,
    share_text,
)
from webtable.rowkey.fields.field import is_count
from webtable.rowkey.key import RowKey
from webtable.rowkey.ranges import key_text

# --- Samples ----------------------------------------------------------------------------------------------------------


Item = TypeVar("Item")


class ArrivalSample(NamedTuple, Generic[Item]):
    """A sample of `total` items, in the order of arrival: one of every `stride`, drawn at random."""

    items: list[Item]
    total: int
    stride: int

    @property
    def is_whole(self) -> bool:
        """Whether it has all items."""
        return self.stride == 1

    @property
    def margin(self) -> float:
        """The largest error of a share of the sample, 95 times out of 100; 0 if it is whole.

        It is that of a simple random sample of this size (the normal approximation, at a share of one half); this
        sample is drawn evenly over time and therefore rather better.
        """
        return 0.0 if self.is_whole or not self.items else 1.96 * math.sqrt(0.25 / len(self.items))


def arrival_sample(items: Iterable[Item], size: int) -> ArrivalSample[Item]:
    """Return a sample of at most *size* of *items* (an even number), and at least half as many if there are more.

    Every block of items (the stride) gives one, chosen at random, so the sample is even over time. When it is full, one
    of every two neighbours is kept, and blocks get twice as long. The same items give the same sample.
    """
    # One key of each block: a sample of the whole stream at random would be uneven over time, and show no hot moment.
    draw = random.Random(0)  # noqa: S311 - not for security; the sample must be the same each time
    kept: list[Item] = []
    stride, chosen, total = 1, 0, 0
    for item in items:
        if len(kept) == size and total % stride == 0:
            kept = [kept[at + draw.getrandbits(1)] for at in range(0, size, 2)]
            stride *= 2
        place = total % stride
        if place == 0:
            chosen = draw.randrange(stride)
            kept.append(item)
        elif place == chosen:
            kept[-1] = item
        total += 1
    return ArrivalSample(kept, total, stride)


# --- Advice -----------------------------------------------------------------------------------------------------------


WINDOWS = 64
"""The default number of windows into which the writes are divided."""
LEAST_WINDOW = 100
"""The fewest keys in a window: with fewer, chance alone puts too many into one region."""
MOST = 2**31 - 1
MOST_REGIONS = 10_000
MOST_MEASURED = 65_536
"""The most keys that are measured; of more a sample is taken."""


class Advice(msgspec.Struct, frozen=True):
    """Designs for a row key, the best first, as measured on `keys` keys.

    `measured` keys were examined, evenly over time; if these are a sample, every share in the end is accurate to within
    `margin`, 95 times out of 100. `window` is the number of keys written "at a moment", of which the sample has fewer:
    with fewer keys chance alone makes a larger share, so shares at a moment are meaningful only beside their fair
    shares, which are computed for the same number of keys. `skipped` keys could not be encoded; `first_skipped` says
    why for the first. For URLs `scope` says from how many hosts they are, and `holds_for` says in words for which
    crawls the verdict holds. `not_asked` are derived questions beyond the limit.
    """

    designs: tuple[Judgement, ...]
    keys: int
    measured: int
    margin: float
    regions: int
    servers: int
    window: int
    column: str | None
    value_bytes: int
    skipped: int
    first_skipped: str
    scope: CrawlScope | None = None
    holds_for: tuple[str, ...] = ()
    not_asked: tuple[str, ...] = ()

    @property
    def best(self) -> Judgement:
        """The design with the lowest score."""
        return self.designs[0]

    @property
    def measure(self) -> str:
        """A line about the measured keys."""
        sampled = ""
        if self.margin:
            sampled = (
                f" ({self.measured:,} of them measured, evenly through time: shares in the end ±{self.margin:.1%})"
            )
        regions = f"{plural(self.regions, 'region')} on {plural(self.servers, 'server')}"
        return f"{plural(self.keys, 'key')}{sampled}, {regions}, {self.window:,} at a moment"

    @property
    def said_of_all(self) -> tuple[str, ...]:
        """Sentences about all designs: the crawls for which the verdict holds, and the questions not asked."""
        if not self.not_asked:
            return self.holds_for
        left_out = f"questions that were derived are {MOST_DERIVED} at most; left out: {'; '.join(self.not_asked)}"
        return (*self.holds_for, left_out)

    def __getitem__(self, name: str) -> Judgement:
        for design in self.designs:
            if design.name == name:
                return design
        raise KeyError(name)

    def to_json(self) -> bytes:
        """Return the advice as JSON, with keys as the HBase shell shows them."""
        # msgspec would write keys as base64, in which nobody recognises them.
        return msgspec.json.encode(_with_text(msgspec.to_builtins(self, builtin_types=(bytes,))))

    def _repr_html_(self) -> str:
        return f"{self._shown().html()}{heat_map(self.best, keys=self.keys)}"

    def __rich__(self) -> object:
        return self._shown().rich()

    def _shown(self) -> Shown:
        """Return the designs, the best first, with what counts for and against each."""
        rows = [
            (place, design.name, f"{design.score:.1f}", share_text(design.writes.hottest_at_once), design.verdict)
            for place, design in enumerate(self.designs, 1)
        ]
        note = " ".join(f"{sentence[:1].upper()}{sentence[1:]}." for sentence in self.said_of_all)
        return Shown(self.measure, ("", "design", "score", "hottest region, at a moment", "why"), rows, note)

    def __str__(self) -> str:
        lines = [self.measure, *self.said_of_all]
        for place, design in enumerate(self.designs, 1):
            lines.append(f"{place}. {design.name} (score {design.score:.1f}), {design.verdict}")
            lines += [f"   {reason}" for reason in design.why]
        return "\n".join(lines)


def advise(
    keys: Iterable[Any],
    designs: Sequence[str | Design] | Mapping[str, RowKey] = WEB_DESIGNS,
    *,
    regions: int = 16,
    servers: int = 4,
    window: int | None = None,
    questions: Sequence[str | Question] | None = None,
    column: str | None = None,
    value_bytes: int = 600,
    most: int = MOST_MEASURED,
) -> Advice:
    """Return *designs*, measured on *keys* in the order in which they would be written, the best first.

    *keys* are URLs, for designs by name (see `WEB_DESIGNS`) and declared keys as in `url_design`, or mappings of
    values, for declared keys under names that you choose. The table has *regions* regions on *servers* servers, in
    turn, split as each design suggests, or by the keys themselves if it suggests nothing. A moment is *window* keys, by
    default a 64th of them, but at least 100. A row key is compared with one of your cells: a value of *value_bytes*
    bytes, in *column* (`family:qualifier`) if that is given. At most *most* keys are held in memory, as a sample if
    there are more.

    All designs are asked the same questions: those for which each of them is made (its leading fields, one more at a
    time; these with a range of time; the latest row of these), and the named ones: point, and for URLs host, subtree,
    directory and latest. With *questions* of your own, as text (`"channel, sent between: 3"`) or as `Question`, only
    yours count for the score, and the others are shown in addition. They may use any value that the first row has.

    Raises `InvalidArgument` if there are no keys or designs, and for an unknown design or question.
    """
    stream = iter(keys)
    if not (first := list(islice(stream, 1))):
        raise InvalidArgument("keys must have a key to measure designs on; there is none")
    chosen = _designs(designs, first[0])
    _check_numbers(regions, servers, window, value_bytes, most)
    refused = _Refused()
    # Checked by the first design alone while they stream by; the sample is checked by the others.
    taken = refused.without(chain(first, stream), chosen[0])
    if not (first := list(islice(taken, 1))):
        raise InvalidArgument(f"keys must have a key to measure designs on: {refused.first}")
    requested = question_set(chosen, first[0], questions)
    sample = arrival_sample(chain(first, taken), most - most % 2)
    if any(design.takes_times for design in chosen):
        sample = sample._replace(items=in_time(sample.items))
    at_once = _at_once(sample, window)
    table = WrittenTable(regions, servers, at_once, CellSize(column, value_bytes))
    judgements, items = _judged_alike(chosen, sample.items, table, requested, refused)
    scope = scope_of(items, regions) if all(design.takes_urls for design in chosen) else None
    return Advice(
        designs=tuple(sorted(judgements, key=attrgetter("score"))),
        keys=sample.total - len(sample.items) + len(items),
        measured=len(items),
        margin=sample.margin,
        regions=regions,
        servers=servers,
        window=min(at_once * sample.stride, sample.total),
        column=column,
        value_bytes=value_bytes,
        skipped=refused.count,
        first_skipped=refused.first,
        scope=scope,
        not_asked=requested.left_out,
        holds_for=sentences_of(scope, regions, is_sampled=not sample.is_whole) if scope else (),
    )


def _check_numbers(regions: int, servers: int, window: int | None, value_bytes: int, most: int) -> None:
    """Raise `InvalidArgument` for values that are not numbers, or out of their limits."""
    numbers = {
        "regions": (regions, 1),
        "servers": (servers, 1),
        "window": (1 if window is None else window, 1),
        "value_bytes": (value_bytes, 0),
        "most": (most, 2),
    }
    for name, (value, least) in numbers.items():
        if not is_count(value, least, MOST):
            raise InvalidArgument(f"{name}={value!r} must be a whole number from {least} to {MOST:,}")
    # More make a table of counts that fills the memory: windows times regions.
    if regions > MOST_REGIONS:
        raise InvalidArgument(f"regions={regions!r} must be at most {MOST_REGIONS:,}, to be counted moment by moment")


def _judged_alike(
    designs: Sequence[Design], items: list[Any], table: WrittenTable, questions: QuestionSet, refused: _Refused
) -> tuple[list[Judgement], list[Any]]:
    """Return *designs*, judged on the *items* that all designs can encode, and these items."""
    try:
        queries = inquiries(questions.questions, questions.named, items, questions.value_of)
        return [judged(design, items, table, queries) for design in designs], items
    except (InvalidURL, FieldError):
        # An item that the first design encodes may fail in another one: a key may be too long with a salt.
        encodable = items
        for design in designs[1:]:
            encodable = list(refused.without(encodable, design))
        if len(encodable) in (0, len(items)):
            raise
        return _judged_alike(designs, encodable, table, questions, refused)


def _at_once(sample: ArrivalSample[Any], window: int | None) -> int:
    """Return the number of sampled keys that are written at a moment."""
    # In sampled keys: one stands for a whole block.
    if window is None:
        return max(-(-len(sample.items) // WINDOWS), LEAST_WINDOW)
    at_once = window // sample.stride
    if not sample.is_whole and at_once < LEAST_WINDOW:
        least = LEAST_WINDOW * sample.stride
        raise InvalidArgument(
            f"window={window:,} must be at least {least:,}: one of {sample.stride:,} keys is "
            f"measured, and fewer than {LEAST_WINDOW} of them say nothing about a moment"
        )
    return at_once


class _Refused:
    """Removes items from a stream that a design cannot encode, and counts them."""

    def __init__(self) -> None:
        self.count = 0
        self.first = ""

    def without(self, items: Iterable[Any], design: Design) -> Iterator[Any]:
        for item in items:
            try:
                design.encode(item)
            except (InvalidURL, FieldError) as exc:
                self.count += 1
                self.first = self.first or str(exc)
            else:
                yield item


def _designs(named: Sequence[str | Design] | Mapping[str, RowKey], first: Any) -> list[Design]:
    """Return the designs that the caller has *named*, for keys such as *first*."""
    if isinstance(named, Mapping):
        if not isinstance(first, Mapping):
            raise InvalidArgument(f"keys={first!r} … must be mappings of values, for keys that are declared")
        for name, key in named.items():
            if not isinstance(key, RowKey):
                raise InvalidArgument(f"designs[{name!r}]={key!r} must be a declared key (of a WebKey its `parts`)")
        # Values that no key takes are no questions: rows may have columns that are not part of any key.
        names = {name for key in named.values() for name in key.names}
        item = {name: value for name, value in first.items() if name in names}
        if named and not item:
            raise InvalidArgument(f"keys={first!r} … must have values of {', '.join(sorted(names))}")
        designs = [key_design(name, key, item) for name, key in named.items()]
    elif isinstance(named, str):
        raise InvalidArgument(f"designs={named!r} must be a list of names, or keys by name")
    else:
        designs = [web_design(design) if isinstance(design, str) else design for design in named]
        if wrong := [design for design in designs if not isinstance(design, Design)]:
            raise InvalidArgument(f"designs={wrong[0]!r} must be named, or be a Design; declared keys come by a name")
    if not designs or len({design.name for design in designs}) != len(designs):
        raise InvalidArgument(f"designs={named!r} must be one or more, each of them once")
    return designs


def _with_text(value: Any) -> Any:
    match value:
        case bytes():
            return key_text(value)
        case dict():
            return {name: _with_text(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_with_text(inner) for inner in value]
        case _:
            return value
