"""The numbers of what is stored: which this version writes, and what becomes of a table or a file with another one.

A number goes up where a webtable that knows the one before would misread what is stored, or spoil it by writing. Older
ones are read, as docs/upgrades.md tells; of a newer one nothing is guessed.
"""

from __future__ import annotations

from typing import Final

from webtable.errors import NewerFormat

LAYOUT_FORMAT: Final = 1
"""The `format` of a layout, and with it of all cells of its table."""
KEY_FORMAT: Final = "web/1"
"""The `key` of a layout: how the row keys of a web table are made."""
FILE_FORMAT: Final = 2
"""The `user_version` of an SQLite file. Of 1 the delete markers did not know when they were made."""


def check_format(name: str, kind: str, found: int, known: int) -> None:
    """Raise `NewerFormat` where *name* has a later format of this *kind* than the *known* one."""
    if found > known:
        raise NewerFormat(
            f"{name} has {kind} format {found}, of a later webtable; this one reads up to {known}: use one that knows "
            f"{kind} format {found}. Nothing was changed"
        )
