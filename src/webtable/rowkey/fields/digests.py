"""The hash functions that keys are made with."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from operator import index
from typing import Any, Literal

import mmh3

from webtable.errors import FieldError, InvalidArgument
from webtable.rowkey.fields.conditions import shown

Algorithm = Literal["md5", "sha1", "sha256", "murmur3", "crc32"]

Digest = Callable[[bytes], bytes]


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()


def _sha1(data: bytes) -> bytes:
    return hashlib.sha1(data, usedforsecurity=False).digest()


def _sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _murmur3(data: bytes) -> bytes:
    return int(mmh3.hash(data, 0, signed=False)).to_bytes(4, "big")


def _crc32(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(4, "big")


_DIGESTS: dict[Algorithm, tuple[Digest, int]] = {
    "md5": (_md5, 16),
    "sha1": (_sha1, 20),
    "sha256": (_sha256, 32),
    "murmur3": (_murmur3, 4),
    "crc32": (_crc32, 4),
}


def digest_of(algorithm: Algorithm) -> tuple[Digest, int]:
    """Return the hash function of that name, and how many bytes it returns; raises `InvalidArgument`.

    md5 (16 bytes), sha1 (20), sha256 (32); murmur3 (4: MurmurHash3_x86_32 with seed 0, big-endian) and crc32 (4: that
    of zlib, big-endian). None of them is here to keep a secret: they spread keys.
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
    """Return what a hash of *value* is taken of: text as UTF-8, bytes as they are, whole numbers in decimal."""
    try:
        match value:
            case str():
                return value.encode()
            case bytes():
                return value
            case bool():
                pass
            case _:
                return b"%d" % index(value)
    except (TypeError, ValueError):  # no whole number; halves of surrogate pairs; more than 4,300 digits
        pass
    raise FieldError(f"{name}={shown(value)} must be text, bytes or a whole number, for a hash to be taken of it")
