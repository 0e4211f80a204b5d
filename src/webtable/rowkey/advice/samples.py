"""Samples of a stream of keys: reproducible, and in limited memory."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

Item = TypeVar("Item")


class ArrivalSample(NamedTuple, Generic[Item]):
    """A sample of `total` items, in the order of arrival: one of every `stride`, drawn at random."""

    items: list[Item]
    total: int
    stride: int

    @property
    def is_whole(self) -> bool:
        """Whether it has all items."""
        return self.stride == 1

    @property
    def margin(self) -> float:
        """The largest error of a share of the sample, 95 times out of 100; 0 if it is whole.

        It is that of a simple random sample of this size (the normal approximation, at a share of one half); this
        sample is drawn evenly over time and therefore rather better.
        """
        return 0.0 if self.is_whole or not self.items else 1.96 * math.sqrt(0.25 / len(self.items))


def arrival_sample(items: Iterable[Item], most: int) -> ArrivalSample[Item]:
    """Return a sample of at most *most* of *items* (an even number), and at least half as many if there are more.

    Every block of items (the stride) gives one, chosen at random, so the sample is even over time. When it is full, one
    of every two neighbours is kept, and blocks get twice as long. The same items give the same sample.
    """
    draw = random.Random(0)  # noqa: S311 - not for security; the sample must be the same each time
    kept: list[Item] = []
    stride, chosen, total = 1, 0, 0
    for item in items:
        if len(kept) == most and total % stride == 0:
            kept = [kept[at + draw.getrandbits(1)] for at in range(0, most, 2)]
            stride *= 2
        place = total % stride
        if place == 0:
            chosen = draw.randrange(stride)
            kept.append(item)
        elif place == chosen:
            kept[-1] = item
        total += 1
    return ArrivalSample(kept, total, stride)
