"""What every declared row key can do, and the key that is a hash of another."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from webtable.errors import InvalidArgument, KeyFormatError, NoRange
from webtable.rowkey.conditions import Condition
from webtable.rowkey.digests import Algorithm, digest_of
from webtable.rowkey.ranges import KeyRange

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_KEY = 16_384
"""The longest row key in bytes. HBase's limit is 32,767, and its region lookup fails close to it."""


class Latest(NamedTuple):
    """Where the newest row is: the first row of each range, with `backwards` the last; the newest of these."""

    ranges: list[KeyRange]
    backwards: bool


class RowKey(abc.ABC):
    """A row key made of named values. `names` lists them, `declaration` is the key as text."""

    names: tuple[str, ...]
    encode: Callable[..., bytes]

    @property
    @abc.abstractmethod
    def declaration(self) -> str:
        """The declaration as text, the same in every process."""

    @abc.abstractmethod
    def decode(self, key: bytes) -> dict[str, Any]:
        """Return the values that *key* was made of; raises `KeyFormatError`."""

    @abc.abstractmethod
    def candidates(self, **values: Any) -> list[bytes]:
        """Return all keys that the values can have."""

    @abc.abstractmethod
    def ranges(self, **conditions: Any) -> list[KeyRange]:
        """Return the ranges of the keys that meet *conditions*; raises `NoRange`."""

    @abc.abstractmethod
    def latest(self, **values: Any) -> Latest:
        """Return where the newest row with these values is; raises `NoRange`."""

    @abc.abstractmethod
    def unsalted(self, key: bytes) -> bytes:
        """Return what scans over several ranges order *key* by."""


class HashedKey(RowKey):
    r"""The hash of another key, whole: spread evenly, of one length, and for point access only.

    Width: the digest's bytes (md5 16, sha1 20, sha256 32), twice as many as hex digits. Two keys share a row where
    their digests are the same, so murmur3 and crc32 (4 bytes) are refused. There are no ranges, and `decode` raises.

    >>> from webtable.rowkey import CompositeKey, Text
    >>> HashedKey(CompositeKey(Text("url")), algorithm="md5").encode(url="https://example.com/")
    b'182ccedb33a9e03fbf1079b209da1a31'
    """

    def __init__(self, key: RowKey, *, algorithm: Algorithm = "sha256", form: Literal["hex", "bytes"] = "hex") -> None:
        digest, size = digest_of(algorithm)
        if size < 16 or form not in ("hex", "bytes"):
            raise InvalidArgument(f"algorithm={algorithm!r}, form={form!r} must be md5, sha1 or sha256 as hex or bytes")
        self.key = key
        self.names = key.names
        self.algorithm = algorithm
        self.form = form
        inner = key.encode

        def in_hex(**values: Any) -> bytes:
            return digest(inner(**values)).hex().encode()

        def in_bytes(**values: Any) -> bytes:
            return digest(inner(**values))

        self._of = (lambda made: digest(made).hex().encode()) if form == "hex" else digest
        self.encode = in_hex if form == "hex" else in_bytes

    @property
    def declaration(self) -> str:
        """The declaration as text."""
        return f"HashedKey({self.key.declaration}, algorithm={self.algorithm!r}, form={self.form!r})"

    def __repr__(self) -> str:
        return self.declaration

    def decode(self, key: bytes) -> dict[str, Any]:
        """Raise `KeyFormatError`: a hash does not lead back. Store the values in a cell."""
        raise KeyFormatError(f"{key[:200]!r} is a {self.algorithm} hash, which does not lead back to its values")

    def candidates(self, **values: Any) -> list[bytes]:
        """Return the keys that the values can have."""
        return [self._of(key) for key in self.key.candidates(**values)]

    def ranges(self, **conditions: Any) -> list[KeyRange]:
        """Return a range that holds one key; raises `NoRange` where not all values are given."""
        missing = [name for name in self.names if name not in conditions or isinstance(conditions[name], Condition)]
        if missing:
            raise NoRange(
                f"the key is a hash of all its values, and there is not one value of {', '.join(missing)}",
                "give all values, or hash one field in front of the others instead of the whole key",
            )
        return [KeyRange(key, key + b"\x00") for key in self.candidates(**conditions)]

    def latest(self, **values: Any) -> Latest:
        """Raise `NoRange`: hashes have no order."""
        raise NoRange(f"the keys are hashes, so {', '.join(values) or 'nothing'} has no latest row among them",
                      "put a ReverseTimestamp behind the hash of the other fields")

    def unsalted(self, key: bytes) -> bytes:
        """Return *key* as it is."""
        return key
