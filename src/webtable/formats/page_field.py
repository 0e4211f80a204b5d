"""How a capture is given to a table again, and what a WARC record says of its page in a field of webtable's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from webtable._page.page import Page
from webtable.formats.base import Damaged
from webtable.repository.stored.page_state import GIVEN

if TYPE_CHECKING:
    from collections.abc import Mapping

NOT_MODIFIED = 304


def as_given(page: Page) -> Page:
    """Return the capture *page*, one of those that `kept` has, as it is to be put to become what it is.

    Its `content_at` says, where that does not follow, whether it is a version of its own or repeats the content of a
    date: one must not be taken for the other, nor for a repeat of older content.
    """
    given = Page(**{name: getattr(page, name) for name in GIVEN})
    if page.content_at == page.fetched_at:
        return given
    if page.body is not None:
        return replace(given, content_at=None)
    return replace(given, same_as=page.url, truncated=False, outlinks=None)


FIELD = "WebTable-Page"
"""The name of the field."""
MOST = 200_000
"""Bytes of its value: readers take no head of a record that is over `ReadLimits.head`."""
NAMES = tuple(name for name in GIVEN if name not in ("url", "fetched_at"))
"""The fields of a page that it may have; `body` is null where no body is stored, not even an empty one."""

_Told = msgspec.defstruct(
    "_Told",
    [(one.name, one.type | UnsetType, UNSET) for one in msgspec.structs.fields(Page) if one.name in NAMES],
)
_decode = msgspec.json.Decoder(_Told).decode


def told_in(fields: Mapping[str, str]) -> dict[str, Any]:
    """Return what a record with these *fields*, by their names in lower case, says of its page; raises `Damaged`."""
    value = fields.get(FIELD.lower())
    if value is None:
        return {}
    try:
        found = msgspec.structs.asdict(_decode(value))
    except (ValueError, RecursionError) as exc:
        raise Damaged(f"its {FIELD} cannot be read: {exc}") from exc
    told = {name: value for name, value in found.items() if value is not UNSET}
    for name in ("last_modified", "content_at"):
        if told.get(name) is not None and told[name].tzinfo is None:
            raise Damaged(f"its {FIELD} has a {name} without a time zone")
    return told


def told_text(told: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return the value of the field, and the names of what is too long to be in it, the longest left out first."""
    parts = {name: msgspec.json.encode(value) for name, value in told.items()}
    left_out = []
    while sum(map(len, parts.values())) > MOST:
        left_out.append(max(parts, key=lambda name: len(parts[name])))
        del parts[left_out[-1]]
    return msgspec.json.encode({name: msgspec.Raw(value) for name, value in parts.items()}).decode(), left_out
