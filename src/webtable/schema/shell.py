"""Statements for the HBase shell that create and alter tables, and take and restore snapshots."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from webtable.errors import InvalidArgument
from webtable.schema.table import FAMILY_OPTIONS, FamilySchema, TableSchema, check_table_name
from webtable.schema.web import meta_table, queue_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_LABEL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_RUN = "webtable … backup snapshot"

SplitsForm = Literal["python", "shell", "file"]

# The attribute names of the HBase shell (ColumnFamilyDescriptorBuilder's constants) that are not ours in capitals.
_ATTRIBUTES: Mapping[str, str] = {
    "bloom": "BLOOMFILTER",
    "block_encoding": "DATA_BLOCK_ENCODING",
    "block_size": "BLOCKSIZE",
    "block_cache": "BLOCKCACHE",
}


def create_statement(schema: TableSchema) -> str:
    """Return the statement of the HBase shell that creates the table, with all options and split points."""
    parts = [quoted(schema.name.encode()), *map(family_text, schema.families)]
    if schema.split_keys:
        parts.append(splits_text(schema.split_keys, "shell"))
    return "create " + ", ".join(parts)


def alter_statement(table: str, family: FamilySchema, options: Sequence[str] = FAMILY_OPTIONS) -> str:
    """Return the statement of the HBase shell that adds the *family*, or changes only these *options* of it."""
    return f"alter {quoted(table.encode())}, {family_text(family, options)}"


def splits_text(points: Sequence[bytes], form: SplitsForm) -> str:
    r"""Return split points as text in one of three forms, without a newline at the end.

    `python` is a list of bytes; `shell` is `SPLITS => [...]` for `create` in the HBase shell; `file` has one point on
    each line, for its `SPLITS_FILE` (empty if there are no points). Raises `InvalidArgument` for another *form*, and
    for an empty point, which HBase would refuse.

    >>> splits_text([b"40", b"\xff "], "shell")
    "SPLITS => ['40', '\\xFF\\x20']"
    """
    if form not in get_args(SplitsForm):
        raise InvalidArgument(f"form={form!r} must be one of {', '.join(get_args(SplitsForm))}")
    if b"" in points:
        raise InvalidArgument("points must not have an empty one: every table's first region begins there")
    if form == "python":
        return repr(list(points))
    texts = map(binary_text, points)
    return "\n".join(texts) if form == "file" else "SPLITS => [" + ", ".join(f"'{text}'" for text in texts) + "]"


def binary_text(key: bytes) -> str:
    r"""Return a key in printable ASCII, with other bytes as `\xNN`, as HBase's `Bytes.toBytesBinary` reads it.

    Quotes and spaces are written as `\xNN` too, so that the text is safe in single quotes and at the end of a line.

    >>> binary_text(b"5a:com.example/\xff'")
    '5a:com.example/\\xFF\\x27'
    """
    # toBytesBinary accepts hex digits in upper case only, and silently drops the backslash of others.
    return "".join(chr(b) if 0x20 < b < 0x7F and b not in b"'\"\\" else f"\\x{b:02X}" for b in key)


def family_text(family: FamilySchema, options: Sequence[str] = FAMILY_OPTIONS) -> str:
    """Return the family with these *options* as the HBase shell writes it: `{NAME => 'content', VERSIONS => 3, …}`."""
    shown = (
        f"{_ATTRIBUTES.get(option, option.upper())} => {option_text(getattr(family, option))}" for option in options
    )
    return "{" + ", ".join([f"NAME => {quoted(family.name.encode())}", *shown]) + "}"


def option_text(value: object) -> str:
    """Return the value of an option as the HBase shell writes it (`'FOREVER'` for a TTL of None)."""
    match value:
        case None:
            return "'FOREVER'"
        case bool():  # before int, which it is too
            return f"'{str(value).lower()}'"
        case int():
            return str(value)
        case _:
            return f"'{value}'"


def quoted(value: bytes) -> str:
    """Return *value* as a text of the HBase shell, which is Ruby: nothing in it ends the text or is executed."""
    if all(0x20 <= byte < 0x7F and byte not in b"'\"\\#" for byte in value):
        return f"'{value.decode()}'"
    # Ruby reads \xNN in double quotes only, and "#" there may begin an interpolation.
    return '"' + "".join(chr(b) if chr(b).isalnum() and b < 0x7F else f"\\x{b:02x}" for b in value) + '"'


class ShellCommand(NamedTuple):
    """A command of the HBase shell for snapshots: its `verb` (`snapshot`) and the names of tables and snapshots."""

    verb: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.verb} {', '.join(map(_text, self.names))}"


class Snapshots(NamedTuple):
    """One snapshot of each table of the web table *table*; *indexes* are the tables with the entries of its indexes.

    They are named after their table and the *label*, which is common to the snapshots of one time.
    """

    table: str
    indexes: tuple[str, ...]
    label: str

    @classmethod
    def of(cls, table: str, indexes: Sequence[str], label: str) -> Snapshots:
        """Return the snapshots; raises `InvalidArgument` for a label that is not valid in a name."""
        if not _LABEL.fullmatch(label):
            raise InvalidArgument(f"label={label!r} must be of letters, digits, '_', '-' and '.', up to 100 of them")
        return cls(table, tuple(sorted(indexes)), label)

    @property
    def tables(self) -> list[str]:
        """The tables in the order in which their snapshots are taken.

        The layout comes first, because it says up to where links are counted, which must not be later than the counts.
        Indexes come before pages: entries that are missing then are written by a repair. In the other order fewer would
        be missing, but HBase would hide those that are written again: a removal in the snapshot of an index has the
        timestamp of the capture that caused it, which is later than a page in an earlier snapshot. The queue is last,
        so that no batch is missing whose links are in the pages.
        """
        return [self._meta, *self.indexes, self.table, queue_table(self.table).name]

    @property
    def _meta(self) -> str:
        return meta_table(self.table).name

    @property
    def _layout_last(self) -> list[str]:
        """The tables in the order in which they are restored: a table without a layout cannot be opened."""
        return [*self.tables[1:], self._meta]

    def name(self, table: str) -> str:
        """Return the name of the snapshot of *table*; the colon of a namespace is not valid there."""
        return f"{table.replace(':', '.')}.{self.label}"

    def create_lines(self) -> str:
        """Return the lines that take the snapshots, and as comments those that restore, copy or delete them."""
        return "\n".join(
            [
                f"# Snapshots of the web table {self.table}, for the HBase shell: {_RUN} | hbase shell -n",
                "# A snapshot keeps the files of which a table consists now: it copies nothing and blocks nobody.",
                "# They are consistent only if nothing is written meanwhile: see docs/backup.md. Keep this text.",
                *map(str, self.creating()),
                "# All of them must be in the list:",
                f"list_snapshots {_text(f'.*[.]{re.escape(self.label)}')}",
                "",
                "# Restore them in place of the current tables, while nobody writes or reads:",
                *(f"#   {command}" for command in self.restoring()),
                "# Restore them if the tables are gone, or under other names:",
                *(f"#   {command}" for command in self.cloning(self.table)),
                "# Copy each of them to another cluster, in a terminal of this one (MapReduce copies the files):",
                *(f"#   {self._exporting(table)}" for table in self.tables),
                "# Delete them, which frees their space:",
                *(f"#   delete_snapshot {self._text(table)}" for table in self.tables),
                "",
            ]
        )

    def restore_lines(self) -> str:
        """Return the lines that restore the snapshots in place of the current tables."""
        heading = f"# Restores {self.table} from its snapshots ({self.label}), in place of the current tables."
        return "\n".join([heading, "# Stop all writers and readers first.", *map(str, self.restoring()), ""])

    def clone_lines(self, name: str) -> str:
        """Return the lines that make the web table *name* of them; raises `InvalidArgument` for a wrong name."""
        heading = f"# Makes the web table {name} from the snapshots of {self.table} ({self.label})."
        return "\n".join(
            [heading, "# It takes no space until one of the two is written to.", *map(str, self.cloning(name)), ""]
        )

    def creating(self) -> list[ShellCommand]:
        """Return the commands that take the snapshots."""
        return [ShellCommand("snapshot", (table, self.name(table))) for table in self.tables]

    def restoring(self) -> list[ShellCommand]:
        """Return the commands that restore the snapshots in place of the current tables."""
        # The layout is dropped first, so that nobody opens a table of which a part is gone.
        return [
            *(ShellCommand("disable", (table,)) for table in (self._meta, *self._layout_last[:-1])),
            *(ShellCommand("restore_snapshot", (self.name(table),)) for table in self.tables),
            *(ShellCommand("enable", (table,)) for table in self._layout_last),
        ]

    def cloning(self, name: str) -> list[ShellCommand]:
        """Return the commands that make the web table *name* of them; raises `InvalidArgument` for a wrong name."""
        check_table_name(name)  # it is new, unlike those of the snapshots
        return [
            ShellCommand("clone_snapshot", (self.name(table), name + table.removeprefix(self.table)))
            for table in self._layout_last
        ]

    def _exporting(self, table: str) -> str:
        tool = "org.apache.hadoop.hbase.snapshot.ExportSnapshot"
        return f"hbase {tool} -snapshot {self.name(table)} -copy-to hdfs://OTHER:8020/hbase"

    def _text(self, table: str) -> str:
        return _text(self.name(table))


def _text(name: str) -> str:
    return quoted(name.encode())
