"""What `WebTable.explore` returns, as a type below the explorer."""

from __future__ import annotations

from typing import Protocol


class RunningServer(Protocol):
    """A server in a thread of this process (`webtable.explorer.RunningExplorer`)."""

    @property
    def url(self) -> str:
        """The address to open, with its token."""

    def stop(self) -> None:
        """End the server; the table stays open."""
