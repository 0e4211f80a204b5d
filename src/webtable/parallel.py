"""Answers read by several processes of this machine."""

from webtable.repository.answers.results import Divisible, Partition
from webtable.repository.partitions.processes import map

__all__ = ["Divisible", "Partition", "map"]
