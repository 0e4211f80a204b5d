"""Hashes and salts: parts of a key that are made of other values, and distribute it; and the hash functions."""

from __future__ import annotations

import hashlib
import itertools
import random
import threading
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from operator import index
from typing import Any, Literal, Protocol, runtime_checkable

import mmh3

from webtable.errors import FieldError, InvalidArgument
from webtable.rowkey.fields.field import Case, Condition, Field, Part, check_case, check_name, is_count, shown

Algorithm = Literal["md5", "sha1", "sha256", "murmur3", "crc32"]

Digest = Callable[[bytes], bytes]


_DIGESTS: dict[Algorithm, tuple[Digest, int]] = {
    "md5": (lambda data: hashlib.md5(data, usedforsecurity=False).digest(), 16),
    "sha1": (lambda data: hashlib.sha1(data, usedforsecurity=False).digest(), 20),
    "sha256": (lambda data: hashlib.sha256(data).digest(), 32),
    # MurmurHash3_x86_32 with seed 0, and zlib's CRC-32: as other programs compute them, the highest byte first.
    "murmur3": (lambda data: int(mmh3.hash(data, 0, signed=False)).to_bytes(4, "big"), 4),
    "crc32": (lambda data: zlib.crc32(data).to_bytes(4, "big"), 4),
}


def digest_of(algorithm: Algorithm) -> tuple[Digest, int]:
    """Return the hash function of that name, and the size of its result in bytes; raises `InvalidArgument`.

    md5 (16 bytes), sha1 (20), sha256 (32); murmur3 (4: MurmurHash3_x86_32 with seed 0, big-endian) and crc32 (4: that
    of zlib, big-endian). They distribute keys, and are not meant for security.
    """
    if not isinstance(algorithm, str) or algorithm not in _DIGESTS:
        raise InvalidArgument(f"algorithm={shown(algorithm)} must be one of {', '.join(_DIGESTS)}")
    return _DIGESTS[algorithm]


def number_of(algorithm: Algorithm) -> Callable[[bytes], int]:
    """Return the hash function of that name, as one that returns the whole digest as a number."""
    if algorithm == "crc32":
        return zlib.crc32
    digest, _ = digest_of(algorithm)
    return lambda data: int.from_bytes(digest(data))


def hash_input(name: str, value: Any) -> bytes:
    """Return the input for a hash of *value*: text as UTF-8, bytes as they are, integers in decimal."""
    try:
        match value:
            case str():
                return value.encode()
            case bytes():
                return value
            case bool():  # an int to Python, but what a caller means by it is not clear
                pass
            case _:
                return b"%d" % index(value)
    except (TypeError, ValueError):  # not an integer; halves of surrogate pairs; more than 4,300 digits
        pass
    raise FieldError(f"{name}={shown(value)} must be text, bytes or an integer to be hashed")


MOST_ALTERNATIVES = 65_536
"""The most values of a hash or a salt that are listed, so that a scan can read all of them (4 hex digits)."""


@runtime_checkable
class Shared(Protocol):
    """A function with the same result for many values, which knows for which: the registered domain of a host."""

    def __call__(self, value: Any, /) -> Any:
        """Return the result for *value*."""

    def of_all(self, condition: Condition, /) -> Any:
        """Return the common result for all values that meet *condition*; None if there are several."""


@dataclass(frozen=True)
class Hash(Part):
    """A hash of one or more values, as hex digits or as bytes; whole, or its `first` or `last` digits (bytes).

    Its input is the text of the values in UTF-8 or, for numbers and timestamps, their decimal digits in the unit of the
    field; several values are joined with NULs; with *through* it is the result of that function for the values. The
    values may be fields of the key or not; `decode` does not return values that are not fields of the key.

    Width: the digest's bytes (md5 16, sha1 20, sha256 32, murmur3 and crc32 4), twice as many as hex digits, or *first*
    or *last* of them. Order: none. Ranges: if the values are given, or if it has at most 65,536 values (4 hex digits, 2
    bytes), all of which are read. Errors: `FieldError` for a value that is not text, bytes or an integer,
    `InvalidArgument` for an impossible hash, such as one with more digits than there are. Source: HBase reference
    guide, "Schema design: Hashing".
    """

    of: str | tuple[str, ...]
    algorithm: Algorithm = "md5"
    form: Literal["hex", "bytes"] = "hex"
    case: Case = "lower"
    first: int | None = None
    last: int | None = None
    through: Callable[..., Any] | None = None
    _fields: Mapping[str, Field] = field(default_factory=dict, repr=False, compare=False)
    _inputs: tuple[Callable[[Any], bytes], ...] = field(init=False, repr=False, compare=False)
    takes: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _width: int = field(init=False, repr=False, compare=False)
    _hash: Digest = field(init=False, repr=False, compare=False)
    _shown: Digest = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        takes = (self.of,) if isinstance(self.of, str) else self.of
        if not isinstance(takes, tuple | list) or not takes:
            raise InvalidArgument(f"of={shown(self.of)} must be the name of a field, or several")
        takes = tuple(takes)
        for name in takes:
            check_name(name)
        check_case(self.case)
        algorithm, (digest, size) = self.algorithm, digest_of(self.algorithm)
        if self.form not in ("hex", "bytes"):
            raise InvalidArgument(f"form={shown(self.form)} must be hex or bytes")
        whole = size * 2 if self.form == "hex" else size
        unit = "digits" if self.form == "hex" else "bytes"
        if self.first is not None and self.last is not None:
            raise InvalidArgument(f"first={self.first!r} and last={self.last!r}: give at most one of them")
        for name, count in (("first", self.first), ("last", self.last)):
            if count is not None and not is_count(count, 1, whole):
                raise InvalidArgument(f"{name}={shown(count)} must be from 1 to {whole}, the {unit} of {algorithm}")
        if self.through is not None and not callable(self.through):
            raise InvalidArgument(f"through={shown(self.through)} must be a function of the values")
        set_ = object.__setattr__
        set_(self, "of", self.of if isinstance(self.of, str) else takes)  # a list is not hashable, as keys must be
        set_(self, "takes", takes)
        set_(self, "_width", self.first or self.last or whole)
        set_(self, "_inputs", tuple(_input_of(name, self._fields, self.through) for name in takes))
        set_(self, "_hash", digest)
        set_(self, "_shown", self._showing(slice(-self.last, None) if self.last else slice(self.first)))

    @property
    def width(self) -> int:
        """The number of digits or bytes that are kept."""
        return self._width

    @property
    def is_whole(self) -> bool:
        """Whether no two values are known to share it: it is of one value, and at least 16 bytes of it are kept."""
        return self.through is None and len(self.takes) == 1 and self.width >= (32 if self.form == "hex" else 16)

    def bound(self, fields: Mapping[str, Field]) -> Hash:
        """Return the hash for these *fields*."""
        return Hash(self.of, self.algorithm, self.form, self.case, self.first, self.last, self.through, fields)

    def encode(self, *values: Any) -> bytes:
        """Return the digits or bytes for the values of `of`."""
        return self._shown(self.digest(*values))

    def encoder(self) -> Callable[..., bytes]:
        """Return a faster `encode` for one value."""
        material = self.material_encoder()
        if material is None:
            return self.encode
        digest, shown = self._hash, self._shown
        return lambda value: shown(digest(material(value)))

    def material_encoder(self) -> Callable[[Any], bytes] | None:
        """Return the function that encodes the input of a hash of one value; None for several values."""
        if self.through is not None or len(self.takes) > 1:
            return None
        (name,) = self.takes
        return self._fields[name].hash_encoder() if name in self._fields else self._inputs[0]

    def alternatives(self, conditions: Mapping[str, Any]) -> Sequence[bytes] | None:
        """Return the hash of the values, or all hashes if the values are not given and the hashes are few."""
        encodings = super().alternatives(conditions)
        condition = conditions.get(self.takes[0])
        if encodings is None and isinstance(self.through, Shared) and isinstance(condition, Condition):
            shared = self.through.of_all(condition)
            encodings = None if shared is None else [self._shown(self._hash(hash_input(self.takes[0], shared)))]
        return self._all() if encodings is None else encodings

    def has_form(self, encoded: bytes) -> bool:
        """Whether *encoded* has the form of this hash."""
        if self.form == "bytes":
            return len(encoded) == self.width
        digits = b"0123456789abcdef" if self.case == "lower" else b"0123456789ABCDEF"
        return len(encoded) == self.width and not encoded.strip(digits)

    def digest(self, *values: Any) -> bytes:
        """Return the whole digest of the values of `of`, as bytes."""
        taken = [of(value) for of, value in zip(self._inputs, values, strict=True)]
        if self.through is None:
            # A separator, or "ab" and "c" would have the hash of "a" and "bc".
            return self._hash(b"\x00".join(taken))
        try:
            made = self.through(*taken)
        except Exception as exc:
            shown_values = ", ".join(f"{name}={shown(value)}" for name, value in zip(self.takes, values, strict=True))
            raise FieldError(f"{shown_values} must be what {self.through!r} takes: {exc}") from exc
        return self._hash(hash_input(self.takes[0], made))

    # Made once for all keys: choosing the form for every key takes as long as hashing.
    def _showing(self, kept: slice) -> Digest:
        if self.form == "bytes":
            return lambda digest: digest[kept]
        if self.case == "lower":
            return lambda digest: digest.hex()[kept].encode()
        return lambda digest: digest.hex()[kept].upper().encode()

    def _all(self) -> Sequence[bytes] | None:
        # All of them are scanned together, so few enough for that.
        base = 16 if self.form == "hex" else 256
        if base**self.width > MOST_ALTERNATIVES:
            return None
        if self.form == "bytes":
            return [number.to_bytes(self.width, "big") for number in range(base**self.width)]
        template = b"%0*x" if self.case == "lower" else b"%0*X"
        return [template % (self.width, number) for number in range(base**self.width)]


def _input_of(name: str, fields: Mapping[str, Field], through: Callable[..., Any] | None) -> Callable[[Any], Any]:
    """Return the function that converts a value to the input of the hash, or of *through*: the part the key keeps."""
    if through is not None:
        return fields[name].kept if name in fields else lambda value: value
    return fields[name].hash_input if name in fields else lambda value: hash_input(name, value)


# --- Salts ------------------------------------------------------------------------------------------------------------


def checked_buckets(buckets: int | Sequence[str] | Sequence[bytes]) -> tuple[bytes, ...]:
    r"""Return the salts of *buckets*: this number of single bytes from 0 on, or an alphabet; sorted.

    Raises `InvalidArgument` for no salts, for more than 65,536 (256 as a number), and for salts of different lengths.

    >>> checked_buckets(3), checked_buckets(["a-", "b-"])
    ((b'\x00', b'\x01', b'\x02'), (b'a-', b'b-'))
    """
    if isinstance(buckets, int) and not isinstance(buckets, bool):
        if not 1 <= buckets <= 256:
            raise InvalidArgument(f"buckets={shown(buckets)} must be from 1 to 256, the values of a byte, or be salts")
        return tuple(bytes([number]) for number in range(buckets))
    try:
        salts = tuple(salt.encode() if isinstance(salt, str) else salt for salt in buckets)  # type: ignore[union-attr]
    except (TypeError, UnicodeEncodeError):
        salts = ()
    if isinstance(buckets, str | bytes) or not salts or not all(isinstance(salt, bytes) for salt in salts):
        raise InvalidArgument(f"buckets={shown(buckets)} must be a number, or a list of salts, as in ['a-', 'b-']")
    if len(salts) > MOST_ALTERNATIVES or len(set(salts)) != len(salts):
        limit = f"{MOST_ALTERNATIVES:,}"
        raise InvalidArgument(f"buckets={shown(buckets)} must be from 1 to {limit} salts, each of them once")
    if len({len(salt) for salt in salts}) != 1 or not salts[0]:
        raise InvalidArgument(f"buckets={shown(buckets)} must be salts of the same length")
    return tuple(sorted(salts))  # by bytes, so that ranges come in the order of keys


def _listed(buckets: Any) -> Any:
    """Return *buckets* as a comparable value with the same text in every process."""
    if isinstance(buckets, str | bytes) or not isinstance(buckets, Iterable):
        return buckets
    return tuple(sorted(buckets, key=repr)) if isinstance(buckets, Set) else tuple(buckets)


class Spread(Part):
    """Base class of salts: one of `salts`, which have the same width."""

    salts: tuple[bytes, ...]

    @property
    def width(self) -> int:
        """The bytes of a salt."""
        return len(self.salts[0])


@dataclass(frozen=True)
class HashSalt(Spread):
    """A salt that follows from other values: their whole hash modulo the number of *buckets*.

    *buckets* is a number (one byte each, from 0, like Phoenix's SALT_BUCKETS) or an alphabet, as in `["a-", "b-"]`.
    Width: the bytes of a salt. Order: none. Ranges: one if the values are given, else one for each bucket. Errors:
    `FieldError` for a value that is not text, bytes or an integer. Source: HBase reference guide, "Schema design:
    Salting".
    """

    of: str | tuple[str, ...]
    buckets: int | Sequence[str] | Sequence[bytes]
    algorithm: Algorithm = "md5"
    _fields: Mapping[str, Field] = field(default_factory=dict, repr=False, compare=False)
    takes: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _hash: Hash = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        whole = Hash(self.of, self.algorithm, "bytes").bound(self._fields)
        object.__setattr__(self, "_hash", whole)
        object.__setattr__(self, "buckets", _listed(self.buckets))
        object.__setattr__(self, "takes", whole.takes)
        object.__setattr__(self, "salts", checked_buckets(self.buckets))

    def bound(self, fields: Mapping[str, Field]) -> Part:
        """Return the salt for these *fields*."""
        return HashSalt(self.of, self.buckets, self.algorithm, fields)

    def encode(self, *values: Any) -> bytes:
        """Return the salt for the values of `of`."""
        return self.salts[int.from_bytes(self._hash.digest(*values)) % len(self.salts)]

    def encoder(self) -> Callable[..., bytes]:
        """Return a faster `encode` for one value."""
        material = self._hash.material_encoder()
        if material is None:
            return self.encode
        number, salts, count = number_of(self.algorithm), self.salts, len(self.salts)
        return lambda value: salts[number(material(value)) % count]

    def alternatives(self, conditions: Mapping[str, Any]) -> Sequence[bytes]:
        """Return the salt of the values, or all salts if they are not given."""
        return super().alternatives(conditions) or self.salts


@dataclass(frozen=True)
class RandomSalt(Spread):
    """A salt drawn at random: writes are perfectly distributed, and a get must read every bucket (`candidates`).

    A row that is put twice may be stored twice, below two salts, so it is for rows that are written once. *buckets* is
    a number (one byte each, from 0) or an alphabet. Width: the bytes of a salt. Order: none. Ranges: one for each
    bucket. Source: HBase reference guide, "Schema design: Salting".
    """

    buckets: int | Sequence[str] | Sequence[bytes]

    def __post_init__(self) -> None:
        object.__setattr__(self, "buckets", _listed(self.buckets))
        object.__setattr__(self, "salts", checked_buckets(self.buckets))

    def encode(self) -> bytes:
        """Return a salt."""
        return random.choice(self.salts)  # noqa: S311 - for distribution, not for security

    def alternatives(self, conditions: Mapping[str, Any]) -> Sequence[bytes]:  # noqa: ARG002 - they depend on nothing
        """Return all salts."""
        return self.salts


@dataclass(frozen=True)
class RoundRobinSalt(RandomSalt):
    """A salt that cycles through the buckets, key by key of this process; otherwise like `RandomSalt`.

    Width, order, ranges and source are those of `RandomSalt`.
    """

    _numbers: itertools.count[int] = field(default_factory=itertools.count, repr=False, compare=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def encode(self) -> bytes:
        """Return the next salt."""
        with self._lock:
            number = next(self._numbers)
        return self.salts[number % len(self.salts)]
