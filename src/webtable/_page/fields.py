"""The fields of a page by the names that exports have for them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, get_args

import msgspec
from msgspec.structs import replace

from webtable._page.page import BLANK, Page

if TYPE_CHECKING:
    from collections.abc import Iterable

ATTRIBUTES = {name.removeprefix("_"): name for name in Page.__struct_fields__}
"""The attribute with the value of each field, bookkeeping included, by its name."""

TYPES: dict[str, Any] = {
    name: Mapping[str, str] if name == "headers" else field.type  # they are JSON until they are asked for
    for name, field in zip(ATTRIBUTES, msgspec.structs.fields(Page), strict=True)
}
"""The type of each field, by the name of the field."""

TIMES = tuple(name for name, kind in TYPES.items() if datetime in (kind, *get_args(kind)))
"""The fields that are times."""


def values_of(page: Page, names: Iterable[str]) -> dict[str, Any]:
    """Return the values of *page* by these *names* of fields."""
    return {name: getattr(page, ATTRIBUTES[name]) for name in names}


def attributes(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return *values* by names of fields as `Page` and `replace` take them."""
    return {ATTRIBUTES[name]: value for name, value in values.items()}


def page_with(values: Mapping[str, Any]) -> Page:
    """Return the page with these *values* by names of fields, its URL and its date among them."""
    return replace(BLANK, **attributes(values))
