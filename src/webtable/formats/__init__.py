"""Files of crawled pages: WARC and JSON Lines in; WARC, WACZ and backups out, and answers in all of `FORMATS`."""

from typing import TYPE_CHECKING

from webtable._late import late

if TYPE_CHECKING:
    from webtable._limits import ReadLimits
    from webtable._page.json_lines import page_to_json
    from webtable.formats.archives.archive import Archived, write_wacz, write_warc
    from webtable.formats.backups.export import Exported, write_backup
    from webtable.formats.backups.manifest import BackupFile, CheckedBackup, Manifest, read_backup, verify_backup
    from webtable.formats.base import DEFAULT_TYPES, DamagedRecord, Place, ReadReport
    from webtable.formats.export import FORMATS, write, write_pages
    from webtable.formats.read import read_pages

__all__ = [
    "DEFAULT_TYPES",
    "FORMATS",
    "Archived",
    "BackupFile",
    "CheckedBackup",
    "DamagedRecord",
    "Exported",
    "Manifest",
    "Place",
    "ReadLimits",
    "ReadReport",
    "page_to_json",
    "read_backup",
    "read_pages",
    "verify_backup",
    "write",
    "write_backup",
    "write_pages",
    "write_wacz",
    "write_warc",
]

_HOMES = {
    "webtable._limits": ("ReadLimits",),
    "webtable._page.json_lines": ("page_to_json",),
    "webtable.formats.archives.archive": (
        "Archived",
        "write_wacz",
        "write_warc",
    ),
    "webtable.formats.backups.export": ("Exported", "write_backup"),
    "webtable.formats.backups.manifest": (
        "BackupFile",
        "CheckedBackup",
        "Manifest",
        "read_backup",
        "verify_backup",
    ),
    "webtable.formats.base": (
        "DEFAULT_TYPES",
        "DamagedRecord",
        "Place",
        "ReadReport",
    ),
    "webtable.formats.export": (
        "FORMATS",
        "write",
        "write_pages",
    ),
    "webtable.formats.read": ("read_pages",),
}

if not TYPE_CHECKING:  # a checker would take every name for one that is there
    __getattr__, __dir__ = late(__name__, _HOMES)
