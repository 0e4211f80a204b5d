"""How much alike main texts are: the signatures by which near duplicates are found, and what two texts really share.

The words of a text are its runs of letters and digits, in lower case; a character of a script that is written without
spaces (Chinese, Japanese, Thai, …) is a word. A shingle is a hash of five words that follow each other, and a signature
has 112 minima of different hashes of all shingles: two texts agree in each of them with the probability that is the
Jaccard similarity of their shingles. Eight minima are a band, and two texts with one band in common are candidates.

Signatures are stored, and compared for years: no value here may change (`tests/page/test_similarity.py` holds them).
"""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from typing import TYPE_CHECKING, Any

from webtable._importable import needed
from webtable.page.parts import BAND

if TYPE_CHECKING:
    from webtable.page.page import Page

with needed("numpy", "similarity"):
    import numpy as np

if TYPE_CHECKING:
    Hashes = np.ndarray[Any, np.dtype[np.uint64]]

WORDS = 5
"""How many words a shingle has; a text with fewer has no shingles, and is not like any other."""
BANDS, MINIMA = 14, 8
"""How many bands a signature has, and how many minima a band."""
MOST_CHARACTERS = 2**20
"""A longer text is compared by its first characters."""
_AT_ONCE = 2_048
"""For how many shingles at once all hashes are made: so that they stay in the cache of a processor."""
_BASE = 0x9E3779B97F4A7C15
_ALONE = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x3400, 0x9FFF),  # Han, with the next two
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)


def signature_of(page: Page) -> str:
    """Return the signature of the main text of *page*, which has its body; "" if it is no text."""
    return signature(page.main_text or "")


def signature(text: str) -> str:
    """Return the signature of *text*: 14 bands of 8 characters in base64; "" if it has fewer than five words."""
    low = (_hashes(text) >> np.uint64(32)).astype(np.uint32)
    if not len(low):
        return ""
    factors = _factors(2, BANDS * MINIMA).astype(np.uint32)[:, None]
    pieces = [(factors * low[at : at + _AT_ONCE]).min(axis=1) for at in range(0, len(low), _AT_ONCE)]
    minima = np.minimum.reduce(pieces).astype(np.uint64).reshape(BANDS, MINIMA)
    bands = _mixed(((minima + np.uint64(1)) * _factors(3, MINIMA)).sum(axis=1, dtype=np.uint64))
    # Six bytes of each are the eight characters of a band.
    return b64encode(bands.astype(">u8").view(np.uint8).reshape(BANDS, 8)[:, : BAND * 3 // 4].tobytes()).decode()


def shingles(text: str) -> Hashes:
    """Return the shingles of *text*, in order and each once.

    >>> len(shingles("a rose is a rose is a rose is a rose"))
    3
    """
    return np.unique(_hashes(text))


def _hashes(text: str) -> Hashes:
    """Return the shingles of *text* as they follow each other."""
    chars = np.frombuffer(
        (text[:MOST_CHARACTERS].lower()[:MOST_CHARACTERS]).encode("utf-32-le", "surrogatepass"), "<u4"
    )
    kinds = np.zeros(len(chars) + 2, np.uint8)
    kinds[1:-1] = _kinds()[chars]
    here, before, after = kinds[1:-1], kinds[:-2], kinds[2:]
    starts = np.flatnonzero((here == 2) | ((here == 1) & (before != 1)))
    stops = np.flatnonzero((here == 2) | ((here == 1) & (after != 1))) + 1
    count = len(starts) - WORDS + 1
    if count < 1:
        return np.empty(0, np.uint64)
    # A word is a polynomial of its characters: the difference of two sums, divided by the power that it begins with.
    powers, inverses = _powers((len(chars) - 1).bit_length())
    sums = np.zeros(len(chars) + 1, np.uint64)
    np.cumsum(chars * powers[: len(chars)], out=sums[1:])
    words = _mixed((sums[stops] - sums[starts]) * inverses[starts])
    joined = np.zeros(count, np.uint64)
    for at, factor in enumerate(_factors(1, WORDS)):
        joined += words[at : at + count] * factor
    return _mixed(joined)


def similarity(first: Hashes, other: Hashes) -> float:
    """Return the Jaccard similarity of two texts by their shingles: what both have, of what either has.

    >>> similarity(shingles("one two three four five six"), shingles("zero one two three four five"))
    0.3333333333333333
    """
    common = len(np.intersect1d(first, other, assume_unique=True))
    either = len(first) + len(other) - common
    return common / either if either else 0.0


def _mixed(values: Hashes) -> Hashes:
    """Return other values for these *values*, each bit of which depends on all of theirs (the mixer of degski)."""
    for _ in range(2):
        values = (values ^ (values >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return values ^ (values >> np.uint64(32))


@cache
def _factors(seed: int, count: int) -> Hashes:
    """Return *count* odd numbers (a multiplication by one of them can be undone)."""
    return _mixed(np.arange(seed << 32, (seed << 32) + count, dtype=np.uint64) * np.uint64(_BASE)) | np.uint64(1)


@cache
def _powers(bits: int) -> tuple[Hashes, Hashes]:
    """Return the first 2**bits powers of the base of the polynomials, and what undoes a multiplication by each."""
    bases = (_BASE, pow(_BASE, -1, 2**64))
    ones = [np.full(2**bits, base, np.uint64) for base in bases]
    for row in ones:
        row[0] = 1
    first, second = (np.cumprod(row, dtype=np.uint64) for row in ones)
    return first, second


@cache
def _kinds() -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return for each character whether it is none of a word (0), one of a word (1), or a word (2)."""
    kinds = np.fromiter(map(str.isalnum, map(chr, range(0x110000))), np.uint8, 0x110000)
    for first, last in _ALONE:
        kinds[first : last + 1] *= 2
    return kinds
