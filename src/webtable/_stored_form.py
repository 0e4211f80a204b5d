"""The numbers of stored formats: which ones this version writes, and the errors for tables and files with other ones.

A number goes up if a webtable that knows the earlier one would misread what is stored, or corrupt it by writing.
"""

from __future__ import annotations

from typing import Final

from webtable.errors import NewerFormat, OlderFormat

LAYOUT_FORMAT: Final = 1
"""The `format` of a layout, and with it of all cells of its table."""
KEY_FORMAT: Final = "web/1"
"""The `key` of a layout: how the row keys of a web table are made."""
FILE_FORMAT: Final = 2
"""The `user_version` of an SQLite file."""


def check_format(name: str, kind: str, found: int, known: int) -> None:
    """Raise `NewerFormat` or `OlderFormat` if *name* has another format of this *kind* than the *known* one.

    The first upgrade belongs here: once a release has stored an older format, that is read, or converted, instead of
    the error.
    """
    if found > known:
        raise NewerFormat(
            f"{name} has {kind} format {found}, of a later webtable; this one reads {known}: use a version that knows "
            f"{kind} format {found}. Nothing was changed"
        )
    if found < known:
        raise OlderFormat(
            f"{name} has {kind} format {found}, which no release has written; this one reads {known}: export it with "
            "the version that made it, and import that. Nothing was changed"
        )
