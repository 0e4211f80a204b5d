"""The base class of declared row keys, and the key that is a hash of another key."""

from __future__ import annotations

import abc
import functools
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from webtable.errors import InvalidArgument, KeyFormatError, NoRange
from webtable.rowkey.fields.field import Condition, shown
from webtable.rowkey.fields.hashes import Algorithm, digest_of
from webtable.rowkey.ranges import KeyRange

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_KEY = 16_384
"""The longest row key in bytes. HBase's limit is 32,767, and its region lookup fails close to it."""


class Latest(NamedTuple):
    """The ranges with the newest row: the newest of the first rows of each, or with `backwards` of the last rows."""

    ranges: list[KeyRange]
    backwards: bool


class RowKey(abc.ABC):
    """Base class of row keys made of named values, listed in `names`; `declaration` is the key as text."""

    names: tuple[str, ...]
    encode: Callable[..., bytes]
    """Return the row key of the values, which are given by name, at most 16,384 bytes long.

    Raises `FieldError` for a value that a field cannot hold or that is missing, and `UnknownField`.
    """

    @abc.abstractmethod
    def encoder(self, then: Callable[[bytes], bytes]) -> Callable[..., bytes]:
        """Return a function like `encode` that returns `then(key)`."""

    @property
    @abc.abstractmethod
    def declaration(self) -> str:
        """The declaration as text, the same in every process."""

    @abc.abstractmethod
    def decode(self, key: bytes) -> dict[str, Any]:
        """Return the values of *key*; raises `KeyFormatError`."""

    @abc.abstractmethod
    def candidates(self, /, **values: Any) -> list[bytes]:
        """Return all keys that the values can have."""

    @abc.abstractmethod
    def ranges(self, /, **conditions: Any) -> list[KeyRange]:
        """Return the ranges of the keys that meet *conditions*; raises `NoRange`."""

    @abc.abstractmethod
    def latest(self, /, **values: Any) -> Latest:
        """Return where the newest row with these values is; raises `NoRange`."""

    @property
    def is_random(self) -> bool:
        """Whether a row can have several keys, so that `candidates` are many."""
        return False

    def are_wide(self, conditions: Mapping[str, Any]) -> bool:  # noqa: ARG002 - used by subclasses
        """Whether the ranges for *conditions* can hold rows that `meets` leaves out."""
        return False

    def meets(self, values: Mapping[str, Any], conditions: Mapping[str, Any]) -> bool:  # noqa: ARG002 - see above
        """Whether decoded *values* meet *conditions*, in case the ranges are wider."""
        return True

    @abc.abstractmethod
    def unsalted(self, key: bytes) -> bytes:
        """Return the part of *key* by which scans over several ranges are ordered."""


class HashedKey(RowKey):
    r"""The whole hash of another key: evenly distributed, of one length, and for point access only.

    Width: the digest's bytes (md5 16, sha1 20, sha256 32), twice as many as hex digits. Two keys share a row if
    their digests are the same, so murmur3 and crc32 (4 bytes) are refused (`InvalidArgument`). There are no ranges, and
    `decode` raises.
    Source: HBase reference guide, "Schema design: Hashing".

    >>> from webtable.rowkey import CompositeKey, Text
    >>> HashedKey(CompositeKey(Text("url")), algorithm="md5").encode(url="https://example.com/")
    b'182ccedb33a9e03fbf1079b209da1a31'
    """

    def __init__(self, key: RowKey, *, algorithm: Algorithm = "sha256", form: Literal["hex", "bytes"] = "hex") -> None:
        if not isinstance(key, RowKey):
            raise InvalidArgument(f"key={shown(key)} must be a row key, as in HashedKey(CompositeKey(Text('url')))")
        digest, size = digest_of(algorithm)
        # With 4 bytes, two of 77,000 keys would probably share a row (the birthday problem).
        if size < 16 or form not in ("hex", "bytes"):
            raise InvalidArgument(
                f"algorithm={algorithm!r}, form={shown(form)} must be md5, sha1 or sha256 as hex or bytes"
            )
        self.key = key
        self.names: tuple[str, ...] = key.names
        self.algorithm = algorithm
        self.form = form
        self._of = (lambda made: digest(made).hex().encode()) if form == "hex" else digest
        self.encode: Callable[..., bytes] = key.encoder(self._of)

    @property
    def is_random(self) -> bool:
        """Whether the hashed key has a random salt."""
        return self.key.is_random

    def encoder(self, then: Callable[[bytes], bytes]) -> Callable[..., bytes]:
        """Return a function like `encode` that returns `then(key)`."""
        return self.key.encoder(lambda made: then(self._of(made)))

    @property
    def declaration(self) -> str:
        """The declaration as text."""
        return f"HashedKey({self.key.declaration}, algorithm={self.algorithm!r}, form={self.form!r})"

    def __repr__(self) -> str:
        return self.declaration

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HashedKey):
            return NotImplemented
        return (self.key, self.algorithm, self.form) == (other.key, other.algorithm, other.form)

    def __hash__(self) -> int:
        return hash((self.key, self.algorithm, self.form))

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(HashedKey, algorithm=self.algorithm, form=self.form), (self.key,)

    def decode(self, key: bytes) -> dict[str, Any]:
        """Raise `KeyFormatError`: a hash cannot be decoded. Store the values in a cell."""
        raise KeyFormatError(f"{shown(key)} is a {self.algorithm} hash, which cannot be decoded to its values")

    def candidates(self, /, **values: Any) -> list[bytes]:
        """Return the keys that the values can have."""
        return [self._of(key) for key in self.key.candidates(**values)]

    def ranges(self, /, **conditions: Any) -> list[KeyRange]:
        """Return a range that holds one key; raises `NoRange` unless all values are given."""
        missing = [name for name in self.names if name not in conditions or isinstance(conditions[name], Condition)]
        if missing:
            raise NoRange(
                f"the key is a hash of all its values, and a single value is missing for {', '.join(missing)}",
                "give all values, or hash one field before the others instead of the whole key",
            )
        return sorted(KeyRange(key, key + b"\x00") for key in self.candidates(**conditions))

    def latest(self, /, **values: Any) -> Latest:  # noqa: ARG002 - the same signature as in other keys
        """Raise `NoRange`: hashes have no order."""
        raise NoRange(
            "the keys are hashes, which do not sort by time",
            "put a ReverseTimestamp after the hash of the other fields",
        )

    def unsalted(self, key: bytes) -> bytes:
        """Return *key* unchanged."""
        return key
