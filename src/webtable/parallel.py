"""Answers read by several processes of this machine."""

from webtable.repository.answers.results import Partition
from webtable.repository.partitions.processes import map

__all__ = ["Partition", "map"]
