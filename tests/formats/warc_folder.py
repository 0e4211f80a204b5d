"""The captures of a table as WARC files in a folder, and the counts of them."""

from __future__ import annotations

from types import SimpleNamespace

from webtable.formats import write_export


def write_warc(table, folder, site=None, **options):
    """Export *table* into *folder*, and return what the manifest counts."""
    exported = write_export(table, folder, site, format="warc", **options)
    manifest = exported.manifest
    return SimpleNamespace(
        pages=manifest.pages,
        records=manifest.captures,
        files=[file.name for file in manifest.files],
        damaged=manifest.damaged,
        incomplete=manifest.incomplete,
        examples=exported.examples,
    )
