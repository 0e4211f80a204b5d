"""Sums of links, by which two sides are compared of which neither fits into memory."""

from __future__ import annotations

from array import array
from typing import Final

GROUPS: Final = 2**20
"""How many sums there are, of 8 bytes each."""


class LinkSums:
    """What is left of the links of two sides, in groups by their hash: 0 in each group in which both have the same.

    A side adds each of its links once. What both have added is as if nobody had, so only links that one side alone has
    leave something, and a few that happen to be in a group with them. That two such links leave nothing takes hashes of
    64 bits that are the same.

    >>> sums = LinkSums()
    >>> for row, column in [(b"a", b"x"), (b"b", b"x"), (b"a", b"x")]:
    ...     sums.add(row, column)
    >>> sums.are_even(), sums.is_odd(b"b", b"x")
    (False, True)
    """

    def __init__(self) -> None:
        self._left = array("q", bytes(8 * GROUPS))

    def add(self, row: bytes, column: bytes) -> None:
        """Add an inlink: the *column* of the page that links to *row*."""
        link = hash((row, column))
        self._left[link % GROUPS] ^= link

    def is_odd(self, row: bytes, column: bytes) -> bool:
        """Whether this inlink may be one that one side alone has."""
        return self._left[hash((row, column)) % GROUPS] != 0

    def are_even(self) -> bool:
        """Whether both sides have the same links."""
        return not any(self._left)
