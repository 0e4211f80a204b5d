"""A dictionary of a site as a value: its bytes, and the number that frames name it by."""

from __future__ import annotations

from typing import NamedTuple, Self

import zstandard

from webtable._digests import digest_of
from webtable.repository.bodies import LEVEL

# Below and above are numbers that RFC 8878 keeps for a registry (section 5).
_FIRST_NUMBER, _LAST_NUMBER = 2**15, 2**31 - 1
_NUMBER_AT = slice(4, 8)


class Dictionary(NamedTuple):
    """A dictionary: its number, the site whose pages it was trained on, its bytes, and these as zstd takes them."""

    number: int
    site: str
    data: bytes
    ready: zstandard.ZstdCompressionDict

    @classmethod
    def of(cls, site: str, data: bytes) -> Self:
        """Return the dictionary with the number that its bytes say; raises `ValueError` where they are none."""
        try:
            ready = zstandard.ZstdCompressionDict(data, dict_type=zstandard.DICT_TYPE_FULLDICT)
            ready.precompute_compress(level=LEVEL)
        except zstandard.ZstdError as exc:
            raise ValueError(f"it is no dictionary: {exc}") from exc
        return cls(ready.dict_id(), site, data, ready)

    @classmethod
    def numbered(cls, site: str, data: bytes, attempt: int) -> Self:
        """Return the dictionary with a number made from its digest, another one for each *attempt*."""
        rest = data[_NUMBER_AT.stop :]
        _, _, digest = digest_of(b"%d:%b:%b" % (attempt, site.encode(), rest)).partition(":")
        number = _FIRST_NUMBER + int(digest[:16], 16) % (_LAST_NUMBER - _FIRST_NUMBER)
        return cls.of(site, data[: _NUMBER_AT.start] + number.to_bytes(4, "little") + rest)
