"""Captures in the form in which they are put again, and the field of a WARC record with the rest of its page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from webtable.formats.read_report import Damaged
from webtable.page.facts import html_facts
from webtable.page.json_lines import TYPES, page_with, values_of
from webtable.repository.page_storage.state import GIVEN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from webtable.page.page import Page

NOT_MODIFIED = 304


def as_given(page: Page) -> Page:
    """Return the capture *page*, which `kept` has returned, in the form in which it must be put to become the same.

    It names what its HTML says, so that nothing more is looked for in that. An open revisit says what it repeats. Where
    that does not follow otherwise, the `content_at` of another capture says whether it is a separate version or repeats
    the content of a date: the two must not be confused, nor taken for a repeat of older content.
    """
    given = replace(page_with(values_of(page, GIVEN)), _html_facts=html_facts(page))
    if page.stored.content_at == page.fetched_at or page.same_as is not None:
        return given
    if page.body is not None:
        return replace(given, _content_at=None)
    return replace(given, same_as=page.url, truncated=False, outlinks=None)


FIELD = "WebTable-Page"
"""The name of the field."""
MOST = 200_000
"""Bytes of its value: readers skip a record with a head over `ReadLimits.head`."""
NAMES = tuple(name for name in GIVEN if name not in ("url", "fetched_at"))
"""The fields of a page that it may have; `body` is null if no body is stored, not even an empty one."""

_Told = msgspec.defstruct(
    "_Told",
    [(name, kind | UnsetType, UNSET) for name, kind in TYPES.items() if name in NAMES],
)
_decode = msgspec.json.Decoder(_Told).decode


def extra_fields(fields: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of the page from the *fields* of a record, by their names in lower case; raises `Damaged`."""
    value = fields.get(FIELD.lower())
    if value is None:
        return {}
    try:
        found = msgspec.structs.asdict(_decode(value))
    except (ValueError, RecursionError) as exc:
        raise Damaged(f"its {FIELD} cannot be read: {exc}") from exc
    extra = {name: value for name, value in found.items() if value is not UNSET}
    for name in ("last_modified", "content_at", "repeats_at"):
        if extra.get(name) is not None and extra[name].tzinfo is None:
            raise Damaged(f"its {FIELD} has a {name} without a time zone")
    return extra


def field_value(extra: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return the value of the field, and the names of page fields that are too long for it, the longest first."""
    parts = {name: msgspec.json.encode(value) for name, value in extra.items()}
    left_out = []
    while sum(map(len, parts.values())) > MOST:
        left_out.append(max(parts, key=lambda name: len(parts[name])))
        del parts[left_out[-1]]
    return msgspec.json.encode({name: msgspec.Raw(value) for name, value in parts.items()}).decode(), left_out
