"""The page of the stored format says what the code stores, cell by cell."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zlib import crc32

import msgspec
import pytest
import zstandard

import webtable
from webtable import Page
from webtable.indexes import Index
from webtable.repository.hosts.counts import HostPart
from webtable.repository.indexes.index import HostCounts
from webtable.repository.page_storage.state import Capture, Deleted
from webtable.repository.upkeep.queue import RecountQueue
from webtable.rowkey import KeyRange
from webtable.rowkey.examples import LATEST_KEY
from webtable.schema import ALL_VERSIONS, IndexState, KeyLayout, Layout, TypedColumn, meta_table
from webtable.store import Wanted
from webtable.store.sqlite.opening import APPLICATION_ID

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "stored.md").read_text()
PLACES = {
    "{source URL}": r"(?!-)https?://.*",
    "{row key}": r"[0-9a-f]{2}:.*",
    "{option}": r"[a-z_.]+",
    "{index}": r"[a-z0-9]+",
    "{number}": r"\d{6}",
    "{shard}": r"(?P<shard>[0-9a-f])",
    "{YYYYMMDDTHHMMSSmmm}": r"\d{8}T\d{9}",
    "{999999999999 - size}": r"\d{12}",
    "{99999999 - count}": r"\d{8}",
    "{status}": r"\d{3}",
    "{id}": r"(?P<id>[0-9a-f]{16})",
    "{digest}": r"(?P<digest>blake3:[0-9a-f]{64})",
    "{band}": r"(?P<band>\d\d[A-Za-z0-9+/]{8})",
    "{reversed host}": r"(?P<domain>[^.]+\.[^./]+)(?:\.[^/]+)?",
    "{term}": r"[^\0]+",
    "{key}": r"(?P<key>.+)",
}


def section(heading):
    return re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)[1]


def rows(text, heading):
    """Return the rows of the table whose first column has that *heading*, as lists of cells."""
    table = re.search(rf"^\| {heading} \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)[1]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()]


def codes(cell):
    return re.findall(r"`([^`]+)`", cell)


def pattern(code):
    """Return the pattern of what a *code* of the page stands for."""
    parts = re.split(r"(\{[^}]+\})", code.replace("\\0", "\0"))
    return "".join(PLACES[part] if part in PLACES else re.escape(part) for part in parts)


@dataclass
class Column:
    """A column as the page tells of it."""

    pattern: str
    value: str


def columns(text, *, names="readable", row=None):
    """Return the columns that a table of the page lists, those of one *row* where it has a column of rows."""
    found = rows(text, "row" if row else "column")
    if row:
        found = [line[1:] for line in found if codes(line[0]) == [row]]
    at = 1 if names == "short" else 0
    value = next(place for place, name in enumerate(found[0]) if not name.startswith("`"))
    return [Column(pattern(codes(line[at])[0]), line[value]) for line in found]


def stored(path, names, compression):
    """Make a table in which every kind of cell is stored, and return the rows and the schemas of its tables."""
    first = datetime(2026, 1, 1, tzinfo=UTC)
    options = {"names": names, "compression": compression}
    with webtable.open(path, create=True, **options) as table:
        table.indexes.add("test_stored_format:LANGUAGE")
        table.indexes.add("similarity")
        for day, html in enumerate(
            [b"<h1>Old</h1><a href=/b rel=nofollow>B</a>", b"<title>New</title><a href=/c>C</a> has five words now"]
        ):
            modified = first + timedelta(days=day)
            table.put(Page(url="https://docs.example.com/", body=html, fetched_at=modified, last_modified=modified))
        table.put(Page(url="https://example.com/x", status=301, redirect_to="https://docs.example.com/"))
        table.links.refresh()
        table.put(Page(url="https://example.com/gone", body=b"<a href=/d>D</a>"))
        table.delete("https://example.com/gone")
        queue = RecountQueue(table.store, table.table)  # as a run leaves it that is cut short
        queue.write([queue.counting([(table.key.encode("https://example.com/x"), 1)])])
        table.maintenance.alter(ttl=10**9, families={"content": {"block_size": 131_072}})
        every = Wanted(versions=9)
        held = {name: list(table.store.scan(name, [KeyRange()], every)) for name in table.store.tables()}
        schemas = {name: table.store.describe(name).schema for name in held}
    return held, schemas


LANGUAGE = Index("language", lambda page: [page.language or "none"])
INDEXES = ("time", "size", "link", "status", "url", "host", "digest", "similarity")


@pytest.fixture(scope="module", params=[("readable", "zstd"), ("short", "zstd"), ("readable", "none")], ids="-".join)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def held(kind, tmp_path_factory):
    return stored(tmp_path_factory.mktemp("stored") / "crawl.db", *kind)


def kind_of(name):
    """Return the name under which the page has the table *name*."""
    return re.sub(r"^pages_[a-z0-9]+_idx$", "{name}_{index}_idx", name).replace("pages", "{name}")


def test_the_tables_and_families_are_those_of_the_page(held, kind):
    _, schemas = held
    found = {kind_of(name): sorted(family.name for family in schema.families) for name, schema in schemas.items()}

    told = {codes(line[0])[0]: codes(line[1]) for line in rows(section("Tables"), "table")}

    if kind[0] == "short":
        told["{name}"] = re.findall(r"`(\w)`", PAGE.split("`{name}` are ")[1].split("\n")[0])
    assert found == {name: sorted(families) for name, families in told.items()}


def test_the_families_keep_what_the_page_says(held, kind):
    _, schemas = held
    long = {"c": "content", "m": "metadata", "o": "outlinks", "i": "inlinks"} if kind[0] == "short" else {}
    families = {long.get(one.name, one.name): one for schema in schemas.values() for one in schema.families}

    told = {name: line for line in rows(section("Tables"), "family") for name in codes(line[0])}

    assert sorted(told) == sorted(families)
    for name, (_, versions, kept) in told.items():
        assert families[name].versions == {"content": ALL_VERSIONS, "outlinks": ALL_VERSIONS, "inlinks": 2}.get(name, 1)
        assert versions[0] in "`a" or int(versions) == families[name].versions
        assert families[name].ttl == {"always": None, "`ttl` of the layout": 10**9, "twice the `ttl`": 2 * 10**9}[kept]


def told_of(name, row, names):
    """Return the columns that the page tells of, in a *row* of the table *name*."""
    match kind_of(name):
        case "{name}":
            return columns(section("Rows of pages"), names=names)
        case "{name}_meta":
            return columns(section("The meta table"), row=row.decode())
        case "{name}_queue":
            return columns(section("The queue"))
        case _:
            return columns(section("Entries of indexes"))


def cells_of(tables):
    for name, found in tables.items():
        for row in found:
            for column, cells in row.cells.items():
                for cell in cells:
                    yield name, row.key, column.decode(), cell


def is_value(value, said, name, row, cell, compression):
    """Whether *value* is of the kind that the page says it is."""
    match said:
        case "frame" if compression == "none" and name == "pages":
            return not value.startswith(b"\x28\xb5\x2f\xfd")
        case "frame":
            zstandard.ZstdDecompressor().decompress(value)
            return value.startswith(b"\x28\xb5\x2f\xfd") and zstandard.get_frame_parameters(value).has_checksum
        case "JSON":
            is_sealed = name == "pages_meta" and row != b"links"
            begin = 0 if is_sealed else crc32(row, (cell.timestamp ^ cell.timestamp >> 32) & 0xFFFFFFFF)
            return crc32(value, begin) == 0 and list(json.loads(value))[-1] == "crc32"
        case "text":
            return value.decode().isprintable()
        case "anchor":
            anchor, _, rel = value.decode().partition("\0")
            return (len(anchor) == 1 and rel in ("", "nofollow")) or value == b"\0\0redirect"
        case "empty":
            return value == b""


def test_every_stored_cell_is_as_the_page_says(held, kind):
    names, compression = kind

    wrong = []
    for name, row, column, cell in cells_of(held[0]):
        (said, *more) = [one for one in told_of(name, row, names) if re.fullmatch(one.pattern, column, re.DOTALL)]
        if more or not is_value(cell.value, said.value, name, row, cell, compression):
            wrong.append((name, row, column, cell, said))

    assert wrong == []


def test_every_column_of_the_page_is_stored(held, kind):
    told = {
        (kind_of(name), one.pattern)
        for name, found in held[0].items()
        for row in found
        for one in told_of(name, row.key, kind[0])
    }
    met = {
        (kind_of(name), one.pattern)
        for name, row, column, _ in cells_of(held[0])
        for one in told_of(name, row, kind[0])
        if re.fullmatch(one.pattern, column, re.DOTALL)
    }

    assert told - met == set()
    assert {row.key.decode() for row in held[0]["pages_meta"]} == {
        codes(line[0])[0] for line in rows(section("The meta table"), "row")
    }


def test_the_entries_of_an_index_have_the_keys_of_the_page(held):
    told = [
        (codes(index)[0] if "`" in index else "language", pattern(codes(key)[0]), of)
        for index, key, of in rows(section("Entries of indexes"), "index")
    ]
    assert {index for index, _, _ in told} == {*INDEXES, "language"}

    met = set()
    for index, form, of in told:
        for row in held[0][f"pages_{index}_idx"]:
            if found := re.fullmatch(form, row.key.decode("latin-1"), re.DOTALL):
                assert hashlib.md5(found[of].encode()).hexdigest()[0] == found["shard"]
                met.add((row.key, form))

    assert {form for _, form in met} == {form for _, form, _ in told}
    assert {key for key, _ in met} == {
        row.key for index in {*INDEXES, "language"} for row in held[0][f"pages_{index}_idx"]
    }


def test_the_rows_of_the_queue_have_the_keys_of_the_page(held):
    assert "`{digit}:{timestamp in 15 digits}_{12 hexadecimal digits}`" in section("The queue")

    keys = [row.key.decode() for row in held[0]["pages_queue"]]

    assert keys
    assert [key for key in keys if not re.fullmatch(r"[0-9a-f]:\d{15}_[0-9a-f]{12}", key)] == []


def test_the_layout_is_stored_under_the_timestamp_of_the_page(held):
    assert "The timestamp of `layout:json` is 2⁶² minus that of its creation" in section("The meta table")

    (cell,) = next(row.cells[b"layout:json"] for row in held[0]["pages_meta"] if row.key == b"layout")

    made = datetime.fromtimestamp((2**62 - cell.timestamp) / 1000, UTC)
    assert abs(made - datetime.now(UTC)) < timedelta(hours=1)


def test_the_members_of_the_objects_are_those_of_the_page():
    told = {codes(line[0])[0]: codes(line[1]) for line in rows(section("Values"), "cell")}

    page = [name for name in names_of(Page) if name not in ("body", "outlinks", "link_counts", "same_as")]
    assert told == {
        "content:capture": names_of(Capture),
        "metadata:page": page,
        "metadata:links": names_of(webtable.page.LinkCounts),
        "metadata:deleted": names_of(Deleted),
        "layout:json": [*names_of(Layout), *(name for name in names_of(KeyLayout) if name != "columns")],
        "layout:column.{column}": names_of(TypedColumn),
        "layout:altered.{option}": ["value"],
        "layout:{index}": names_of(IndexState),
        "layout:counted": ["until"],
        "ref:counts": names_of(HostCounts),
        "ref:part-{row key}": names_of(HostPart),
    }


def names_of(struct):
    return [field.encode_name for field in msgspec.structs.fields(struct)]


def test_open_revisits_are_stored_as_the_page_says(tmp_path):
    fetched_at = datetime(2026, 1, 1, tzinfo=UTC)
    with webtable.open(tmp_path / "x.db", create=True, salt=webtable.rowkey.Salt.none()) as table:
        page = Page(url="https://example.com/again", same_as="http://example.com/", fetched_at=fetched_at)
        table.put(page.with_stored(webtable.page.Bookkeeping(repeats_at=fetched_at)))
        held = {row.key: row.cells for row in table.store.scan("pages_queue", [KeyRange(b"revisit", b"revisiu")])}
        (mark,) = table.store.scan("pages_meta", [KeyRange(b"revisits", b"revisits\0")])

    assert [codes(line[0])[0] for line in rows(section("Open revisits"), "row")] == [
        r"revisit:{key}\0{date}",
        "revisit-of:{hash}",
    ]
    place = b"com.example/again\0%015d" % (fetched_at.timestamp() * 1000)
    hashed = hashlib.blake2b(b"example.com/\n2026-01-01T00:00:00", digest_size=16).hexdigest().encode()
    assert {row: list(cells) for row, cells in held.items()} == {
        b"revisit:" + place: [b"queue:capture"],
        b"revisit-of:" + hashed: [b"queue:" + place],
    }
    assert list(mark.cells) == [b"layout:entered"]


def test_a_table_of_records_has_the_cell_of_the_page(tmp_path):
    with webtable.KeyedTable.open(tmp_path / "x.db", LATEST_KEY, families=["d"], create=True) as table:
        (row,) = table.store.scan(meta_table("pages").name, [KeyRange()])

        assert list(row.cells) == [b"layout:json"]


def test_the_tables_of_the_file_are_those_of_the_page(tmp_path):
    with webtable.open(tmp_path / "x.db", create=True) as table:
        table.search_index.create()
    with sqlite3.connect(tmp_path / "x.db") as connection:
        found = {}
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            if not name.startswith("sqlite_") and not re.fullmatch(r"search_\d+_\w+", name):
                of = "table" if name.startswith(("search_", "documents_")) else "family"
                found[re.sub(r"\d+", f"{{{of} id}}", name)] = [
                    column for _, column, *_ in connection.execute(f"PRAGMA table_info({name})")
                ]
        (layout,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()

    text = section("The SQLite file")
    assert {codes(line[0])[0]: codes(line[1]) for line in rows(text, "table")} == found
    assert f"`application_id` is `0x{APPLICATION_ID:x}`, its `user_version` {layout}." in text
