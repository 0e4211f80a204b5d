"""Answers as data sources of Ray Data, whose tasks read them from the store (extra `[ray]`)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from webtable._importable import needed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ray.data import Datasource

    from webtable.parallel import Divisible

__all__ = ["datasource"]


def datasource(
    answer: Divisible[Any], *, columns: Sequence[str] | None = None, partitions: int | None = None
) -> Datasource:
    """Return *answer*, of any question or a scan, as a source of Ray Data, for `ray.data.read_datasource`.

    Its blocks have the *columns* of `answer.to_arrow(columns)`. Only row keys are read now. Each task of Ray then opens
    the store itself, and reads one of the *partitions* (by default four a core of this machine), or several where Ray
    wants fewer tasks. Raises what `answer.partitions` and `to_arrow` do.
    """
    with needed("ray", "ray"):
        from webtable.integrations._ray_source import AnswerSource
    parts = answer.partitions(4 * (os.cpu_count() or 1) if partitions is None else partitions)
    return AnswerSource(parts, parts[0].to_arrow(columns).schema)
