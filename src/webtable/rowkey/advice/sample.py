"""A sample of a stream in the order in which it came, in bounded memory."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

Item = TypeVar("Item")


class Sample(NamedTuple, Generic[Item]):
    """Some of `total` items, in the order in which they came: one of every `stride`, drawn at random among them."""

    items: list[Item]
    total: int
    stride: int

    @property
    def is_whole(self) -> bool:
        """Whether it is all of them."""
        return self.stride == 1

    @property
    def margin(self) -> float:
        """How far a share of the sample is from the truth at most, 95 times of 100; 0 where it is whole.

        That of a simple random sample of as many (the normal approximation, at a share of one half); drawn evenly over
        time, this one is rather better.
        """
        return 0.0 if self.is_whole or not self.items else 1.96 * math.sqrt(0.25 / len(self.items))


def arrival_sample(items: Iterable[Item], most: int) -> Sample[Item]:
    """Return a sample of *items* of at most *most* (an even number), and at least half as many where there are more.

    Every block of so many items (the stride) gives one, chosen at random, so the sample goes evenly through time. When
    it is full, one of every two neighbours is kept, and blocks are twice as long. The same items give the same sample.
    """
    draw = random.Random(0)  # noqa: S311 - it keeps no secret, and the same sample each time is what is wanted
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
    return Sample(kept, total, stride)
