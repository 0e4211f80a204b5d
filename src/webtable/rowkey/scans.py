"""Ranges of a composite key for conditions on its values, or the reason why there are none, with a remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn

from webtable.errors import NoRange
from webtable.rowkey.fields.declarations import declaration_of
from webtable.rowkey.fields.field import NOT_GIVEN, Condition, Field, Part
from webtable.rowkey.fields.hashes import MOST_ALTERNATIVES, Hash
from webtable.rowkey.key import Latest
from webtable.rowkey.ranges import KeyRange, prefix_range

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from webtable.rowkey.fields.field import Newest


class Scans:
    """The scans that keys of these *parts* support.

    A scan begins at the *heads*: all prefixes that keys with the given values can have, as far as the values go.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts
        self.fields: Final = {part.name for part in parts if isinstance(part, Field)}

    def ranges(self, conditions: Mapping[str, Any]) -> list[KeyRange]:
        """Return the ranges of the keys that meet *conditions*; see `CompositeKey.ranges`."""
        heads, place = self._heads(conditions)
        left = self._open(conditions, place)
        if not left:
            if place == len(self.parts):
                return [KeyRange(head, head + b"\x00") for head in heads]
            return [prefix_range(head) for head in heads]
        part = self.parts[place]
        condition = conditions.get(part.takes[0]) if isinstance(part, Field) else None
        if not isinstance(part, Field) or not isinstance(condition, Condition):
            self._no_range(part, left[0])
        if later := self._open(conditions, place + 1):
            raise NoRange(
                f"{later[0]!r} comes after {part.name!r}, for which there is a range and not a single value",
                f"ask for one value of {part.name!r}, or put {later[0]!r} before it",
            )
        inner = part.ranges(condition)
        return [_behind(head, keys) for head in heads for keys in inner]

    def latest(self, values: Mapping[str, Any]) -> Latest:
        """Return where the newest row with *values* is; see `CompositeKey.latest`."""
        if asked := [name for name, value in values.items() if isinstance(value, Condition)]:
            raise NoRange(
                f"the latest row needs single values, and {asked[0]}={values[asked[0]]} is a condition",
                f"give one value of {asked[0]!r}, or leave it out",
            )
        heads, place = self._heads(values)
        left = self._open(values, place)
        if left:
            self._no_range(self.parts[place], left[0])
        heads, place = self._fanned(heads, place)
        newest = self._newest(place)
        if newest is None:
            known = f"with {', '.join(values)} " if values else ""
            raise NoRange(
                f"the key does not show which row {known}is the latest: the next part is not a time",
                "put a ReverseTimestamp there",
            )
        return Latest([prefix_range(head) for head in heads], newest == "last")

    def _heads(self, conditions: Mapping[str, Any]) -> tuple[list[bytes], int]:
        """Return the prefixes of the keys, and the first part that is not in them."""
        heads = [b""]
        for place, part in enumerate(self.parts):
            needed = bool(self._open(conditions, place))
            if isinstance(part, Field):
                value = conditions.get(part.name, NOT_GIVEN)
                given = value is not NOT_GIVEN and not isinstance(value, Condition)
                found: Sequence[bytes] | None = [part.encode(value)] if given else None
            else:
                found = part.alternatives(conditions)
                if found is not None and len(found) > 1 and not needed:
                    found = None  # no later part matters for the scan
            if found is None:
                return heads, place
            heads = self.product(heads, found, part)
        return heads, len(self.parts)

    def _newest(self, place: int) -> Newest | None:
        part = self.parts[place] if place < len(self.parts) else None
        if not isinstance(part, Field) or not part.ordered:
            return None
        # A date here and its time of day later: the last row here need not be the newest.
        later = [other.name for other in self.parts[place + 1 :] if isinstance(other, Field)]
        return None if part.name in later else part.newest

    def _fanned(self, heads: list[bytes], place: int) -> tuple[list[bytes], int]:
        while place < len(self.parts) and not isinstance(self.parts[place], Field):
            found = self.parts[place].alternatives({})
            if found is None:
                break
            heads = self.product(heads, found, self.parts[place])
            place += 1
        return heads, place

    def product(self, heads: list[bytes], found: Sequence[bytes], part: Part) -> list[bytes]:
        """Return all combinations of *heads* and *found*; raises `NoRange` for more than 65,536."""
        if len(heads) * len(found) > MOST_ALTERNATIVES:
            raise NoRange(
                f"it would take {len(heads) * len(found):,} ranges to get past {declaration_of(part)}",
                f"keep fewer buckets or digits: {MOST_ALTERNATIVES:,} ranges are the limit",
            )
        return [head + one for head in heads for one in found]

    def _open(self, conditions: Mapping[str, Any], place: int) -> list[str]:
        """Return the names in *conditions* that are not yet settled before *place*: fields, and hashed values.

        A name is settled if a field of that name comes before, or a hash that no other value has.
        """
        heard = {name for part in self.parts[:place] for name in part.takes if _settles(part)}
        return [
            name
            for part in self.parts[place:]
            for name in part.takes
            if name in conditions and name not in heard and (isinstance(part, Field) or name not in self.fields)
        ]

    def _no_range(self, part: Part, name: str) -> NoReturn:
        if isinstance(part, Field):
            raise NoRange(
                f"{name!r} comes after {part.name!r}, for which nothing is given",
                f"give a value of {part.name!r} too, or put {name!r} before it",
            )
        missing = ", ".join(part.takes)
        raise NoRange(
            f"{name!r} comes after {declaration_of(part)}, and a scan cannot read all of its possible values",
            f"give a value of {missing} too, or keep only its first digits (first=2), so that a scan can read all",
        )


def _settles(part: Part) -> bool:
    return isinstance(part, Field) or (isinstance(part, Hash) and part.is_whole)


def _behind(head: bytes, keys: KeyRange) -> KeyRange:
    return KeyRange(head + keys.start, head + keys.stop if keys.stop else prefix_range(head).stop)
