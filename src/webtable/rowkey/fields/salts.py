"""Salts: parts of a key that distribute it over buckets."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from webtable.errors import InvalidArgument
from webtable.rowkey.fields.field import Field, Part, shown
from webtable.rowkey.fields.hashes import MOST_ALTERNATIVES, Algorithm, Hash, number_of


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
    return tuple(sorted(salts))


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

    def alternatives(self, given: Mapping[str, Any]) -> Sequence[bytes]:
        """Return the salt of the values, or all salts if they are not given."""
        return super().alternatives(given) or self.salts


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

    def alternatives(self, given: Mapping[str, Any]) -> Sequence[bytes]:  # noqa: ARG002 - they depend on nothing
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
