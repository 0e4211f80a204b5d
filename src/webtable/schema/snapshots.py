"""Snapshots of a web table as text for the HBase shell: no gateway has a call for them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from webtable.errors import InvalidArgument
from webtable.schema.indexes import queue_table
from webtable.schema.layout import meta_table
from webtable.schema.shell import quoted
from webtable.schema.table import FamilySchema, TableSchema

if TYPE_CHECKING:
    from collections.abc import Sequence

_LABEL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_RUN = "webtable … backup snapshot"


class Snapshots(NamedTuple):
    """One snapshot of each table of the web table *table*; *indexes* are the tables with the entries of its indexes.

    They are named for their table and the *label*, which tells those of one moment from others.
    """

    table: str
    indexes: tuple[str, ...]
    label: str

    @classmethod
    def of(cls, table: str, indexes: Sequence[str], label: str) -> Snapshots:
        """Return the snapshots; raises `InvalidArgument` for a label that no snapshot can have."""
        if not _LABEL.fullmatch(label):
            raise InvalidArgument(f"label={label!r} must be of letters, digits, '_', '-' and '.', up to 100 of them")
        return cls(table, tuple(sorted(indexes)), label)

    @property
    def tables(self) -> list[str]:
        """The tables in the order in which their snapshots are taken.

        The layout first: its mark of what is counted must not be later than the counts. The indexes before the pages:
        entries that are missing then are written by a repair. The other way round there would be fewer of them, but
        HBase would hide what is written again: a removal that is in the snapshot of an index is as late as the capture
        that made it, and later than a page that was snapshotted before. The queue last, so that no batch is missing
        whose links are in the pages.
        """
        return [self._meta, *self.indexes, self.table, queue_table(self.table).name]

    @property
    def _meta(self) -> str:
        return meta_table(self.table).name

    @property
    def _layout_last(self) -> list[str]:
        """The tables in the order in which they are made again: nobody opens a table that has no layout."""
        return [*self.tables[1:], self._meta]

    def name(self, table: str) -> str:
        """Return the name of the snapshot of *table*; a namespace cannot have its colon there."""
        return f"{table.replace(':', '.')}.{self.label}"

    def taken(self) -> str:
        """Return the lines that take them, and as remarks those that bring them back or elsewhere."""
        return "\n".join(
            [
                f"# Snapshots of the web table {self.table}, for the HBase shell: {_RUN} | hbase shell -n",
                "# A snapshot keeps the files that a table consists of now: it copies nothing, and nobody has to wait.",
                "# They are of one moment only if nothing is written meanwhile: see docs/backup.md. Keep this text.",
                *(f"snapshot {_text(table)}, {self._text(table)}" for table in self.tables),
                "# All of these must be listed:",
                f"list_snapshots {_text(f'.*[.]{re.escape(self.label)}')}",
                "",
                "# Back, in place of what is there now, while nobody writes or reads:",
                *(f"#   {line}" for line in self._restoring()),
                "# Back where the tables are gone, or beside them under other names:",
                *(f"#   {line}" for line in self._cloning(self.table)),
                "# To another cluster, in a terminal of this one, for each of them (it copies the files by MapReduce):",
                *(f"#   {self._exporting(table)}" for table in self.tables),
                "# Away with them, which gives back their space:",
                *(f"#   delete_snapshot {self._text(table)}" for table in self.tables),
                "",
            ]
        )

    def restored(self) -> str:
        """Return the lines that bring them back in place of the tables that are there."""
        heading = f"# Brings {self.table} back as it was snapshotted ({self.label}), in place of what is there now."
        return "\n".join([heading, "# Stop whoever writes or reads before that.", *self._restoring(), ""])

    def cloned(self, name: str) -> str:
        """Return the lines that make the web table *name* of them; raises `InvalidArgument` for no name of a table."""
        TableSchema(name, (FamilySchema("any"),))
        heading = f"# Makes the web table {name} of the snapshots of {self.table} ({self.label})."
        return "\n".join([heading, "# It takes no space until one of them is written to.", *self._cloning(name), ""])

    def _restoring(self) -> list[str]:
        # The layout goes first as well, so that nobody opens a table of which a part is gone.
        return [
            *(f"disable {_text(table)}" for table in (self._meta, *self._layout_last[:-1])),
            *(f"restore_snapshot {self._text(table)}" for table in self.tables),
            *(f"enable {_text(table)}" for table in self._layout_last),
        ]

    def _cloning(self, name: str) -> list[str]:
        return [
            f"clone_snapshot {self._text(table)}, {_text(name + table.removeprefix(self.table))}"
            for table in self._layout_last
        ]

    def _exporting(self, table: str) -> str:
        tool = "org.apache.hadoop.hbase.snapshot.ExportSnapshot"
        return f"hbase {tool} -snapshot {self.name(table)} -copy-to hdfs://OTHER:8020/hbase"

    def _text(self, table: str) -> str:
        return _text(self.name(table))


def _text(name: str) -> str:
    return quoted(name.encode())
