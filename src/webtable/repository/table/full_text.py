"""The full text of a table: `table.search_index`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from webtable.repository import full_text

if TYPE_CHECKING:
    from webtable.repository.arguments import Progress
    from webtable.repository.context import Frame
    from webtable.repository.full_text.upkeep import TextIndexState, TextRefresh


class TableSearchIndex:
    """The full text of a `WebTable`, by which `search` ranks pages. A table has none until it is created."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def create(
        self,
        *,
        text: Literal["main", "all"] = "main",
        stemming: str | None = None,
        max_text: int = 65_536,
        on_progress: Progress | None = None,
    ) -> TextRefresh:
        """Create the full text, from all stored pages, in place of one that the table may have.

        What is indexed of a page is its `main` text or `all` of it, up to *max_text* characters, its title, its first
        heading, the anchor texts of links to it, and the words of its URL. With *stemming*, a language of Snowball
        (`"english"`, with the extra `search`), words are found by their stems. The table may be in use. A call that was
        interrupted is continued by `refresh`. *on_progress* is called with the number of pages so far.

        An SQLite file has it inside, other stores in a directory of this machine: below the one that the variable
        WEBTABLE_SEARCH names, else among the data of the user's programs. That needs the extra `search`, and `refresh`.

        Raises `InvalidArgument`, `MissingExtra`, and `CapabilityError` for a table in memory.
        """
        settings = full_text.documents.TextSettings(text, stemming, max_text)
        return full_text.upkeep.create(self._frame, settings, on_progress)

    def refresh(self, *, every: bool = False, on_progress: Progress | None = None) -> TextRefresh:
        """Bring the full text to the state of the stored pages, or go on with a `create` that was interrupted.

        In a file whoever writes or deletes pages keeps it so, and only expired pages go here. In a directory, as of a
        table of HBase, the pages that were fetched since the last refresh are added, by the time index: those that are
        stored an hour after they were fetched or later, and deleted ones, are found with *every*, which compares all
        pages, as it is done without that index. Raises `IndexNeeded` if the table has none, and `StoreUnavailable` if
        another process is writing to the directory.
        """
        return full_text.upkeep.refresh(self._frame, on_progress, every=every)

    def state(self) -> TextIndexState | None:
        """Return what is indexed, whether it is complete, and its size; None if the table has no full text."""
        return full_text.upkeep.state(self._frame)

    def drop(self) -> bool:
        """Remove the full text; returns whether there was any."""
        return full_text.upkeep.drop(self._frame)
