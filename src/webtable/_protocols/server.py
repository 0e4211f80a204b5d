"""What the protocols share."""

from __future__ import annotations

from typing import NamedTuple

from webtable import WebTable
from webtable._protocols.cdx_blocks import Blocks
from webtable._serving.streaming import Streaming


class ArchiveServer(NamedTuple):
    """The `table` that is asked, the threads in which responses are made, and the pages of the last CDX answers."""

    table: WebTable
    streaming: Streaming
    blocks: Blocks
