"""What all pages of the explorer share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webtable.explorer.protocols.cdx_blocks import Blocks
from webtable.explorer.rendering import Pages
from webtable.explorer.streaming import Streaming

if TYPE_CHECKING:
    from webtable import WebTable


class Explorer:
    """What the pages share: the *table*, the templates, and the threads in which responses are made."""

    def __init__(self, table: WebTable) -> None:
        self.table: Final = table
        self.pages: Final = Pages(table.name)
        self.streaming: Final = Streaming()
        self.blocks: Final = Blocks()
