"""An explorer that runs in a thread, as `WebTable.explore` returns it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webtable.display.markup import tag

if TYPE_CHECKING:
    from collections.abc import Callable


class RunningExplorer:
    """An explorer that a thread serves on this machine: open its `url`; `stop()`, or the end of the process, ends it.

    In a notebook it is shown as a link.
    """

    def __init__(self, url: str, stop: Callable[[], object]) -> None:
        self.url: Final[str] = url
        self._stop = stop

    def stop(self) -> None:
        """End the server; the table stays open."""
        self._stop()

    def __repr__(self) -> str:
        return f"<explorer at {self.url}>"

    def _repr_html_(self) -> str:
        text = "Open the explorer in the browser"
        return tag("a", text, href=self.url, target="_blank", rel="noopener noreferrer")
