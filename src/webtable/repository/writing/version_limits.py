"""What the limit of versions drops as captures are stored: counted as it is decided, for no store says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from webtable.repository.stored.captures import NEWEST, brought
from webtable.repository.stored.page_state import Capture, Version
from webtable.schema import ALL_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from webtable.repository.frame import Frame
    from webtable.repository.stored.page_state import Stored
    from webtable.repository.writing.plan import PlannedWrite


class Drop(NamedTuple):
    """What is dropped for one page of a batch: older contents that it pushes out, or its own."""

    pushed_out: int = 0
    is_kept: bool = True


NOTHING_DROPPED = Drop()


def dropped(frame: Frame, writes: Sequence[PlannedWrite], stored: Mapping[bytes, Stored]) -> dict[int, Drop]:
    """Return what *writes* drop, by the places of their pages in the batch, beside what was *stored* of these.

    An older content that is there under a later date as well, where it was renewed, is not dropped.
    """
    most = frame.layouts.known.versions
    if most == ALL_VERSIONS:
        return {}
    contents = [one for one in writes if one.write.with_content]
    kept = _kept(frame, contents, stored, most)
    found: dict[int, Drop] = {}
    for one in contents:
        versions, page = kept[one.row], one.write.page
        place = next((at for at, version in enumerate(versions) if version.at <= page.fetched_at), len(versions))
        if place < len(versions) and versions[place].at == page.fetched_at:
            continue
        capture = Capture(page.digest, status_code=page.status_code, redirect_to=page.redirect_to)
        versions.insert(place, Version(page.fetched_at, capture))
        if len(versions) <= most:
            continue
        last, before = versions.pop(), found.get(one.index, NOTHING_DROPPED)
        if last.at == page.fetched_at:
            found[one.index] = before._replace(is_kept=False)
        elif not versions or brought(last.capture) != brought(versions[-1].capture):
            found[one.index] = before._replace(pushed_out=before.pushed_out + 1)
    return found


def _kept(
    frame: Frame, writes: Sequence[PlannedWrite], stored: Mapping[bytes, Stored], most: int
) -> dict[bytes, list[Version]]:
    """Return all versions of the pages that are written, newest first, by their rows."""
    kept = {one.row: list(stored[one.row].versions) for one in writes}
    # Of what was stored the newest are known, or for a late capture the one before it.
    some = [row for row in kept if most > NEWEST and (len(kept[row]) >= NEWEST or _is_late(row, writes, stored))]
    if some:
        kept.update((row, list(one.versions)) for row, one in zip(some, frame.pages.stored(some, most), strict=True))
    return kept


def _is_late(row: bytes, writes: Sequence[PlannedWrite], stored: Mapping[bytes, Stored]) -> bool:
    page = stored[row].page
    return page is not None and any(one.row == row and one.write.page.fetched_at < page.fetched_at for one in writes)
