"""Files of crawled pages: readers of WARC, WACZ, ARC, HAR, JSON Lines and Parquet; exports, archives, answers."""

from typing import TYPE_CHECKING

from webtable._late import late

if TYPE_CHECKING:
    from webtable._limits import ReadLimits
    from webtable.formats.answer_files import ENDINGS, FORMATS, format_of, row_pieces, write, write_rows
    from webtable.formats.archives import Archived, write_wacz
    from webtable.formats.compressed import lines_of
    from webtable.formats.exports import (
        CAPTURE_ENDINGS,
        CheckedExport,
        Exported,
        ExportFile,
        Manifest,
        capture_format,
        read_export,
        read_manifest,
        verify_export,
        write_captures,
        write_export,
    )
    from webtable.formats.parquet_dataset import DatasetExport, DatasetManifest, WrittenDataset, write_dataset
    from webtable.formats.read import read_failed, read_pages
    from webtable.formats.read_report import DamagedRecord, Place, ReadReport
    from webtable.formats.record_lines import read_records
    from webtable.formats.urlkey import surt
    from webtable.page.headers import DEFAULT_TYPES
    from webtable.page.json_lines import page_to_json
    from webtable.page.methods import DEFAULT_METHODS, wanted_methods

__all__ = [
    "CAPTURE_ENDINGS",
    "DEFAULT_METHODS",
    "DEFAULT_TYPES",
    "ENDINGS",
    "FORMATS",
    "Archived",
    "CheckedExport",
    "DamagedRecord",
    "DatasetExport",
    "DatasetManifest",
    "ExportFile",
    "Exported",
    "Manifest",
    "Place",
    "ReadLimits",
    "ReadReport",
    "WrittenDataset",
    "capture_format",
    "format_of",
    "lines_of",
    "page_to_json",
    "read_export",
    "read_failed",
    "read_manifest",
    "read_pages",
    "read_records",
    "row_pieces",
    "surt",
    "verify_export",
    "wanted_methods",
    "write",
    "write_captures",
    "write_dataset",
    "write_export",
    "write_rows",
    "write_wacz",
]

_HOMES = {
    "webtable._limits": ("ReadLimits",),
    "webtable.formats.answer_files": ("ENDINGS", "FORMATS", "format_of", "row_pieces", "write", "write_rows"),
    "webtable.formats.archives": ("Archived", "write_wacz"),
    "webtable.formats.compressed": ("lines_of",),
    "webtable.formats.exports": (
        "CAPTURE_ENDINGS",
        "CheckedExport",
        "ExportFile",
        "Exported",
        "Manifest",
        "capture_format",
        "read_export",
        "read_manifest",
        "verify_export",
        "write_captures",
        "write_export",
    ),
    "webtable.formats.parquet_dataset": (
        "DatasetExport",
        "DatasetManifest",
        "WrittenDataset",
        "write_dataset",
    ),
    "webtable.formats.read": ("read_failed", "read_pages"),
    "webtable.formats.read_report": ("DamagedRecord", "Place", "ReadReport"),
    "webtable.formats.record_lines": ("read_records",),
    "webtable.formats.urlkey": ("surt",),
    "webtable.page.headers": ("DEFAULT_TYPES",),
    "webtable.page.json_lines": ("page_to_json",),
    "webtable.page.methods": ("DEFAULT_METHODS", "wanted_methods"),
}

if not TYPE_CHECKING:  # a checker would take every name for one that is there
    __getattr__, __dir__ = late(__name__, _HOMES)
