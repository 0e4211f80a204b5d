"""Loads of crawled files into a table, by one process or several: `WebTable.ingest`, and its report."""

from typing import TYPE_CHECKING

from webtable._late import late

if TYPE_CHECKING:
    from webtable.ingest.engine import IngestInterrupted
    from webtable.ingest.report import Failures, IngestReport

__all__ = ["Failures", "IngestInterrupted", "IngestReport"]

_HOMES = {
    "webtable.ingest.engine": ("IngestInterrupted",),
    "webtable.ingest.report": ("Failures", "IngestReport"),
}

if not TYPE_CHECKING:  # a checker would take every name for one that is there
    __getattr__, __dir__ = late(__name__, _HOMES)
