"""Designs: a row key with the questions for it, its first regions, and what helps where it is hot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from webtable.rowkey.composite import CompositeKey
from webtable.rowkey.fields.field import Constant, Field
from webtable.rowkey.fields.hashes import Hash
from webtable.rowkey.fields.modifiers import Reversed
from webtable.rowkey.fields.numbers import Digits, Hex, Int, UInt
from webtable.rowkey.fields.salts import RandomSalt, Spread
from webtable.rowkey.key import HashedKey, RowKey
from webtable.rowkey.ranges import KeyRange, hex_split_points, sample_split_points, split_points, uniform_split_points

if TYPE_CHECKING:
    from webtable.rowkey.fields.field import Part

Ask = Callable[[Any], list[KeyRange]]

POINT = "point"
"""The question for one row, by all that its key is made of."""
_SAME_ROWS = "these are writes of the same rows again and again, which no salt or hash parts"


@dataclass(frozen=True)
class Design:
    """A row key to be judged.

    `encode` makes the key of an item (a URL, or a mapping of values), `questions` are what is asked of the table by a
    name of its own, each by an item that stands for it; a question raises `NoRange` where the key cannot answer it. All
    others are asked of `key`, with what `conditions` makes of conditions on the values of an item. `owner` tells what a
    hot region is to be named by, one of the `owners` ("host"). `splits` are the split points for a number of regions
    and a sample of keys. `remedy` is what helps where one owner makes a region hot, `remedy_of_order` where keys come
    in the order in which they sort (or the reverse of it), `note` what else should be known.
    """

    name: str
    declaration: str
    encode: Callable[[Any], bytes]
    questions: Mapping[str, Ask]
    owners: str
    owner: Callable[[Any], str]
    splits: Splits
    remedy: str
    remedy_of_order: str = "a salt or a hash in front would part them"
    note: str = ""
    gets: frozenset[str] = frozenset({"point", "latest"})
    """The questions that are gets of whole keys, of which a call reads many, and not scans."""
    takes_urls: bool = False
    """Whether the items are URLs."""
    takes_times: bool = False
    """Whether the URLs must have come at some time (`url_design`)."""
    key: RowKey | None = None
    conditions: Callable[[Mapping[str, Any]], dict[str, Any]] = dict


def key_design(name: str, key: RowKey, item: Mapping[str, Any]) -> Design:
    """Return the design of a declared key, for mappings of values such as *item*; what the key does not take is left.

    By its name a row with all its values is asked for (point), unless a value has that name.
    """

    def known(values: Mapping[str, Any]) -> dict[str, Any]:
        return {field: values[field] for field in key.names if field in values}

    remedies = remedies_of(key)
    owners = [name for name in remedies.owners if name in item] or list(item)[:1]
    return Design(
        name,
        key.declaration,
        lambda values: key.encode(**known(values)),
        {} if POINT in item else {POINT: lambda values: key.ranges(**known(values))},
        " and ".join(owners),
        lambda values: ", ".join(f"{name}={values[name]!r}" for name in owners),
        natural_splits(key),
        remedies.of_owner,
        remedies.of_order,
        gets=frozenset({POINT} - item.keys()),
        key=key,
    )


class Splits(NamedTuple):
    """How a new table for a key is split: `points` of a number of regions and a sample of its keys.

    `by_sample` says that they follow from the sample alone, since the key begins with nothing that is spread.
    """

    points: Callable[[int, Sequence[bytes]], list[bytes]]
    by_sample: bool = False


def natural_splits(key: RowKey) -> Splits:
    """Return how a new table for *key* is split: where its hashes or salts begin, else by a sample of its keys."""
    if isinstance(key, HashedKey):
        in_bytes = key.form == "bytes"
        return Splits(lambda regions, _: uniform_split_points(regions) if in_bytes else split_points(regions, 8))
    first = key.parts[0] if isinstance(key, CompositeKey) else None
    if isinstance(first, Hash) and first.form == "bytes":
        return Splits(lambda regions, _: uniform_split_points(min(regions, 256**first.width)))
    if isinstance(first, Hash):
        last = ("f" if first.case == "lower" else "F") * min(first.width, 8)
        return Splits(lambda regions, _: hex_split_points("0" * len(last), last, min(regions, 16 ** len(last))))
    if isinstance(first, Reversed) and isinstance(first.field, Digits):
        # The last digit comes first, and of ids that count up all last digits are equally often.
        return Splits(lambda regions, _: [b"%03d" % (at * 1000 // regions) for at in range(1, min(regions, 1000))])
    if isinstance(first, Spread):
        salts = first.salts
        return Splits(lambda regions, _: _salt_splits(salts, regions))
    return Splits(lambda regions, keys: sample_split_points(keys, regions), by_sample=True)


def _salt_splits(salts: Sequence[bytes], regions: int) -> list[bytes]:
    regions = min(regions, len(salts))
    return [salts[region * len(salts) // regions] for region in range(1, regions)]


class Remedies(NamedTuple):
    """What helps where keys come in the order in which they sort, and where one owner makes a region hot.

    `owners` are the names whose values an owner is: those that decide where a row goes.
    """

    of_order: str
    of_owner: str
    owners: tuple[str, ...]


def remedies_of(key: RowKey) -> Remedies:
    """Return what helps *key*."""
    if not isinstance(key, CompositeKey):
        return Remedies("", _SAME_ROWS, key.names)
    # Parts of constant bytes are the same for all rows, and decide nothing.
    parts = [part for part in key.parts if not isinstance(part, Constant)]
    first = parts[0] if parts else None
    if isinstance(first, RandomSalt):
        return Remedies("", f"more than its {len(first.salts)} buckets", _entities(key) or key.names)
    if isinstance(first, Hash | Spread):
        return _of_hashed(key, first)
    if isinstance(first, Field) and first.newest is not None:
        return _of_time(key, first)
    return _of_entity(key, parts)


def _of_hashed(key: CompositeKey, first: Part) -> Remedies:
    """Return what helps a key that begins with a hash or a salt of some of its values."""
    kind = "hash" if isinstance(first, Hash) else "salt"
    others = _others(key, first)
    taken = _listed(first.takes)
    if not others:
        return Remedies("", _SAME_ROWS, first.takes)
    more = (
        f"the {kind} is of {taken} alone: a salt of {_listed((*first.takes, others[0]))} in its place spreads them, "
        f"and reads one {taken} by a range for each bucket"
    )
    return Remedies(more, more, first.takes)


def _of_time(key: CompositeKey, first: Field) -> Remedies:
    """Return what helps a key that begins with a time: all that is written now goes to one end of the table."""
    end = "first" if first.newest == "first" else "last"
    other = "last" if end == "first" else "first"
    entities = _entities(key)
    lead = f", or lead with {entities[0]}" if entities else ""
    remedy = (
        f"{first.name!r} leads the key, so what is written now goes to the {end} region: put a salt or a hash in front "
        f"of it{lead}; to turn the time round would only make it the {other} region"
    )
    return Remedies(remedy, remedy, entities[:1] or key.names[:1])


def _of_entity(key: CompositeKey, parts: list[Part]) -> Remedies:
    """Return what helps a key that begins with what its rows are of: a name, a number, a host."""
    first = parts[0]
    (name, *_), others = first.takes, _others(key, first)
    field: Any = first.field if isinstance(first, Reversed) else first
    order = (
        f"a hash or a salt of {name} in front parts them: one {name} stays one range, several become one for each salt"
    )
    if isinstance(field, UInt | Int | Digits | Hex) and not isinstance(first, Reversed):
        order += f"; Reversed({type(field).__name__}({name!r}, …)) parts them too, and leaves no ranges of {name}"
    if not others:
        return Remedies(order, _SAME_ROWS, first.takes)
    owner = (
        f"a hash of {name} alone would keep them together: a salt of {_listed((name, others[0]))} in front spreads "
        f"them, and reads one {name} by a range for each bucket"
    )
    last = parts[-1]
    if isinstance(last, Field) and last.newest is not None:
        owner += f"; the order of {last.name} behind it has no part in this, newest first or last"
    return Remedies(order, owner, first.takes)


def _entities(key: CompositeKey) -> tuple[str, ...]:
    """Return the names of the fields that hold no time."""
    times = {name for name, field in key.fields.items() if field.newest is not None}
    return tuple(name for name in key.names if name not in times)


def _others(key: CompositeKey, first: Part) -> list[str]:
    """Return the names that *first* is not made of, times last: two rows differ rather by what they are of."""
    entities = _entities(key)
    return sorted((name for name in key.names if name not in first.takes), key=lambda name: name not in entities)


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(names)
