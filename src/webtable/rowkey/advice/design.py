"""Designs of row keys: a key with its questions, its initial split points, and remedies for hot regions."""

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
"""The question for one row, by all values of its key."""
_SAME_ROWS = "these are repeated writes of the same rows, which no salt or hash distributes"


@dataclass(frozen=True)
class Design:
    """A row key to be judged.

    `encode` makes the key of an item (a URL, or a mapping of values). `questions` are the named questions, each asked
    with an item; it raises `NoRange` if the key cannot answer it. All other questions are asked of `key`, with
    `conditions` converting conditions on the values of an item. `owner` returns the name of the owner of an item, one
    of the `owners` ("host"), by which a hot region is described. `splits` returns the split points for a number of
    regions and a sample of keys. `remedy` is for one owner that makes a region hot, `remedy_of_order` for keys that
    come in (or against) their sort order, and `note` is anything else to know.
    """

    name: str
    declaration: str
    encode: Callable[[Any], bytes]
    questions: Mapping[str, Ask]
    owners: str
    owner: Callable[[Any], str]
    splits: Splits
    remedy: str
    remedy_of_order: str = "a salt or a hash at the beginning would distribute them"
    note: str = ""
    gets: frozenset[str] = frozenset({"point", "latest"})
    """The questions that are gets of whole keys, many in a call, instead of scans."""
    takes_urls: bool = False
    """Whether the items are URLs."""
    takes_times: bool = False
    """Whether the URLs must have times of arrival (`url_design`)."""
    key: RowKey | None = None
    conditions: Callable[[Mapping[str, Any]], dict[str, Any]] = dict


def key_design(name: str, key: RowKey, item: Mapping[str, Any]) -> Design:
    """Return the design of a declared key for mappings of values such as *item*; values that the key lacks are ignored.

    Its named question is for a row with all its values (point), unless a value has that name.
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
    """The split points of a new table: `points` returns them for a number of regions and a sample of its keys.

    `by_sample` says that they follow from the sample only, because the beginning of the key is not distributed.
    """

    points: Callable[[int, Sequence[bytes]], list[bytes]]
    by_sample: bool = False


def natural_splits(key: RowKey) -> Splits:
    """Return the splits of a new table for *key*: by its leading hash or salt, else by a sample of its keys."""
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
        # The last digit comes first, and the last digits of sequential ids are evenly distributed.
        return Splits(lambda regions, _: [b"%03d" % (at * 1000 // regions) for at in range(1, min(regions, 1000))])
    if isinstance(first, Spread):
        salts = first.salts
        return Splits(lambda regions, _: _salt_splits(salts, regions))
    return Splits(lambda regions, keys: sample_split_points(keys, regions), by_sample=True)


def _salt_splits(salts: Sequence[bytes], regions: int) -> list[bytes]:
    regions = min(regions, len(salts))
    return [salts[region * len(salts) // regions] for region in range(1, regions)]


class Remedies(NamedTuple):
    """The remedies for keys that come in their sort order, and for one owner that makes a region hot.

    `owners` are the names of the values that make an owner: those that decide where a row goes.
    """

    of_order: str
    of_owner: str
    owners: tuple[str, ...]


def remedies_of(key: RowKey) -> Remedies:
    """Return the remedies for *key*."""
    if not isinstance(key, CompositeKey):
        return Remedies("", _SAME_ROWS, key.names)
    # Constant parts are the same for all rows, and decide nothing.
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
    """Return the remedies for a key that begins with a time: all current writes go to one end of the table."""
    end = "first" if first.newest == "first" else "last"
    other = "last" if end == "first" else "first"
    entities = _entities(key)
    lead = f", or lead with {entities[0]}" if entities else ""
    remedy = (
        f"{first.name!r} leads the key, so what is written now goes to the {end} region: put a salt or a hash before "
        f"it{lead}; reversing the time would only make it the {other} region"
    )
    return Remedies(remedy, remedy, entities[:1] or key.names[:1])


def _of_entity(key: CompositeKey, parts: list[Part]) -> Remedies:
    """Return the remedies for a key that begins with an entity: a name, a number, a host."""
    first = parts[0]
    (name, *_), others = first.takes, _others(key, first)
    field: Any = first.field if isinstance(first, Reversed) else first
    order = (
        f"a hash or a salt of {name} at the beginning distributes them: one {name} stays one range, several become one "
        "for each salt"
    )
    if isinstance(field, UInt | Int | Digits | Hex) and not isinstance(first, Reversed):
        order += f"; Reversed({type(field).__name__}({name!r}, …)) distributes them too, but leaves no ranges of {name}"
    if not others:
        return Remedies(order, _SAME_ROWS, first.takes)
    owner = (
        f"a hash of {name} alone would keep them together: a salt of {_listed((name, others[0]))} at the beginning "
        f"distributes them, and reads one {name} by a range for each bucket"
    )
    last = parts[-1]
    if isinstance(last, Field) and last.newest is not None:
        owner += f"; the order of {last.name} after it does not matter, newest first or last"
    return Remedies(order, owner, first.takes)


def _entities(key: CompositeKey) -> tuple[str, ...]:
    """Return the names of the fields that do not hold a time."""
    times = {name for name, field in key.fields.items() if field.newest is not None}
    return tuple(name for name in key.names if name not in times)


def _others(key: CompositeKey, first: Part) -> list[str]:
    """Return the names that are not in *first*, times last: rows differ more by entities than by times."""
    entities = _entities(key)
    return sorted((name for name in key.names if name not in first.takes), key=lambda name: name not in entities)


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(names)
