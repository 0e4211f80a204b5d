"""Files of crawled pages: WARC and JSON Lines in; WARC and WACZ out, and answers in every format of `FORMATS`."""

from webtable._limits import ReadLimits
from webtable._page_json import page_to_json
from webtable.formats.archives.archive import Archived, write_wacz, write_warc
from webtable.formats.base import DEFAULT_TYPES, DamagedRecord, Place, ReadReport
from webtable.formats.export import FORMATS, write, write_pages
from webtable.formats.read import read_pages

__all__ = [
    "DEFAULT_TYPES",
    "FORMATS",
    "Archived",
    "DamagedRecord",
    "Place",
    "ReadLimits",
    "ReadReport",
    "page_to_json",
    "read_pages",
    "write",
    "write_pages",
    "write_wacz",
    "write_warc",
]
