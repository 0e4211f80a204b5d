"""What helps a declared key that is hot: by the part that it begins with, for that decides where its rows go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from webtable.rowkey.composite import CompositeKey
from webtable.rowkey.fields.field import Field
from webtable.rowkey.fields.hashes import Hash
from webtable.rowkey.fields.modifiers import Reversed
from webtable.rowkey.fields.numbers import Digits, Hex, Int, UInt
from webtable.rowkey.fields.salts import RandomSalt, Spread
from webtable.rowkey.fields.text import Constant

if TYPE_CHECKING:
    from webtable.rowkey.fields.field import Part
    from webtable.rowkey.key import RowKey


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
        return Remedies("", _same_row(), key.names)
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
        return Remedies("", _same_row(), first.takes)
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
        return Remedies(order, _same_row(), first.takes)
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


def _same_row() -> str:
    return "these are writes of the same rows again and again, which no salt or hash parts"


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(names)
