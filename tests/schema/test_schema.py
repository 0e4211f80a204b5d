"""Schemas, plans and layouts: values that say no to what HBase would refuse."""

from __future__ import annotations

from dataclasses import replace

import pytest

from webtable.errors import InvalidArgument, LayoutMismatch
from webtable.rowkey import Salt
from webtable.schema import (
    DEFAULT_TTL,
    LAYOUT_COLUMN,
    FamilySchema,
    Layout,
    TableSchema,
    alter_statement,
    create_statement,
    option_column,
    option_json,
    plan,
    queue_table,
    web_columns,
    web_table_schema,
)
from webtable.schema.table import check_table_name


@pytest.mark.parametrize(
    "options",
    [
        {"name": ""},
        {"name": "a:b"},
        {"name": ".a"},
        {"name": "a\n"},
        {"versions": 0},
        {"min_versions": -1},
        {"min_versions": 2, "ttl": 5},
        {"ttl": 0},
        {"ttl": 2**31},
        {"compression": "zip"},
        {"bloom": "COLUMN"},
        {"block_encoding": "FAST"},
        {"block_size": 10},
        {"replication_scope": 2},
    ],
)
def test_a_family_that_hbase_would_refuse_is_refused_with_the_option_named(options):
    (option,) = [name for name in options if name != "ttl" or len(options) == 1]

    with pytest.raises(InvalidArgument, match=option):
        FamilySchema(**{"name": "f", **options})


@pytest.mark.parametrize(
    "options",
    [
        {"name": ""},
        {"name": "a:b:c"},
        {"families": ()},
        {"families": (FamilySchema("f"), FamilySchema("f"))},
        {"split_keys": (b"b", b"a")},
        {"split_keys": (b"a", b"a")},
        {"split_keys": (b"",)},
    ],
)
def test_a_table_that_hbase_would_refuse_is_refused(options):
    with pytest.raises(InvalidArgument):
        TableSchema(**{"name": "t", "families": (FamilySchema("f"),), **options})


def test_the_web_table_has_the_families_of_the_design():
    schema = web_table_schema("crawl")

    assert [(family.name, family.versions, family.ttl) for family in schema.families] == [
        ("content", 3, 90 * 86_400),
        ("metadata", 1, None),
        ("outlinks", 3, 180 * 86_400),
        ("inlinks", 2, 180 * 86_400),
    ]


def test_without_ttl_everything_is_kept():
    assert {family.ttl for family in web_table_schema("crawl", ttl=None).families} == {None}


def test_short_names_are_short_everywhere():
    short = web_columns("short")

    assert [family.name for family in web_table_schema("crawl", names="short").families] == ["c", "m", "o", "i"]
    assert (short.body, short.page, short.plain["title"]) == (b"c:h", b"m:p", b"m:t")
    with pytest.raises(InvalidArgument, match="names='long'"):
        web_columns("long")


def test_a_table_as_wanted_needs_no_change():
    schema = web_table_schema("crawl")

    assert plan(schema, schema).is_empty
    assert plan(schema, replace(schema, split_keys=(b"80",))).is_empty


def test_a_missing_table_is_created_whole():
    steps = plan(web_table_schema("crawl", split_keys=[b"80"]), None)

    assert steps.create
    assert str(steps) == "create table 'crawl': families content, metadata, outlinks, inlinks; 2 regions"
    assert steps.shell() == create_statement(steps.wanted)


@pytest.mark.parametrize("name", ["pages", "crawls:pages", "_a-b.c", "1", "n_1:ü"])
def test_a_name_that_hbase_takes_is_one(name):
    check_table_name(name)


@pytest.mark.parametrize("name", ["", "a b", "-x", ".x", "ns:", ":x", "n-s:x", "a:b:c", "a/b", "a\n"])
def test_a_name_that_hbase_refuses_is_an_error_with_the_rule(name):
    with pytest.raises(InvalidArgument, match="a name in HBase has letters, digits"):
        check_table_name(name)


def test_a_plan_names_the_namespace_that_a_table_needs():
    steps = plan(web_table_schema("crawls:pages"), None)

    assert str(steps).endswith("; 1 region; and namespace 'crawls', if it is missing (not by a gateway)")


def test_a_plan_has_the_regions_of_a_table_that_has_another_number():
    four, two = (web_table_schema("crawl", split_keys=keys) for keys in ([b"4", b"8", b"c"], [b"8"]))

    assert plan(four, two).regions == 2
    assert plan(four, four).regions is plan(web_table_schema("crawl"), two).regions is None


def test_a_plan_names_what_differs_and_keeps_what_is_there_besides():
    wanted = TableSchema("t", (FamilySchema("a", versions=3, ttl=60), FamilySchema("b")))
    found = TableSchema("t", (FamilySchema("a", versions=1), FamilySchema("c")))

    steps = plan(wanted, found)

    assert str(steps) == (
        "table 't': change family 'a': versions 1 -> 3, ttl for ever -> 60 seconds\ntable 't': add family 'b'"
    )
    _, added = wanted.families
    assert steps.shell().splitlines() == [
        "alter 't', {NAME => 'a', VERSIONS => 3, TTL => 60}",
        alter_statement("t", added),
    ]


def test_a_plan_says_in_words_what_will_be_kept_no_longer():
    day = 86_400
    found = FamilySchema("a", versions=3, min_versions=2, ttl=90 * day)

    def losses(**options):
        return plan(TableSchema("t", (replace(found, **options),)), TableSchema("t", (found,))).losses

    assert losses(ttl=30 * day) == ("removes from table 't', family 'a': what is older than 30 days",)
    assert losses(versions=2) == ("removes from table 't', family 'a': of each column all but the newest 2",)
    assert losses(min_versions=1) == (
        "removes from table 't', family 'a': what was kept beyond its time as one of the newest 2",
    )
    assert losses(ttl=None, versions=5, min_versions=3, block_size=8192) == ()


def test_options_that_could_not_be_read_back_are_not_compared():
    wanted = TableSchema("t", (FamilySchema("a", block_size=8192),))

    assert plan(wanted, TableSchema("t", (FamilySchema("a"),)), frozenset({"block_size"})).is_empty
    assert not plan(wanted, TableSchema("t", (FamilySchema("a"),))).is_empty


def test_the_shell_statement_spells_out_every_option():
    family = FamilySchema("f", 3, 1, 60, "GZ", "NONE", "FAST_DIFF", 8192, True, False, 1)

    assert create_statement(TableSchema("ns:t", (family,), (b"40", b"\xffx"))) == (
        "create 'ns:t', {NAME => 'f', VERSIONS => 3, MIN_VERSIONS => 1, TTL => 60, COMPRESSION => 'GZ', "
        "BLOOMFILTER => 'NONE', DATA_BLOCK_ENCODING => 'FAST_DIFF', BLOCKSIZE => 8192, IN_MEMORY => 'true', "
        "BLOCKCACHE => 'false', REPLICATION_SCOPE => 1}, SPLITS => ['40', '\\xFFx']"
    )


def test_a_layout_comes_back_from_json_as_it_was():
    layout = Layout.of(Salt.domain(digits=3), names="short", ttl=None, versions=7, plain_columns=["title"])

    assert Layout.from_json("crawl", layout.to_json()) == layout
    assert layout.suffix_list
    assert layout.web_key().salt == Salt.domain(digits=3)
    assert Layout().ttl == DEFAULT_TTL


def test_a_layout_has_the_options_that_were_altered_since():
    created = Layout(versions=3, ttl=None)
    cells = {
        LAYOUT_COLUMN: created.to_json(),
        option_column("ttl"): option_json(60),
        option_column("content.block_size"): option_json(8192),
        option_column("indexes.compression"): option_json("SNAPPY"),
    }

    layout = Layout.from_cells("crawl", cells)

    assert (layout.ttl, layout.versions) == (60, 3)
    content, metadata, outlinks, _ = layout.table_schema("crawl").families
    assert (content.block_size, content.ttl, outlinks.ttl, metadata.block_size) == (8192, 60, 120, 65536)
    assert layout.index_schema("crawl", "time").families[0].compression == "SNAPPY"
    assert layout.queue_schema("crawl") == queue_table("crawl")
    assert Layout.from_json("crawl", layout.to_json()) == layout


@pytest.mark.parametrize(
    "options",
    [
        {"ttl": 0},
        {"versions": 0},
        {"versions": "3"},
        {"body.block_size": 8192},
        {"content.versions": 2},
        {"content.colour": "red"},
        {"content.block_size": 10},
        {"content.block_size": "8192"},
        {"content.in_memory": 1},
        {"content.min_versions": 9},
        {"queue.bloom": "COLUMN"},
    ],
)
def test_an_option_that_no_layout_can_have_is_refused(options):
    with pytest.raises(InvalidArgument):
        Layout().altered(options)


@pytest.mark.parametrize("column", [b"layout:altered.salt", b"layout:other", b"layout:altered.ttl"])
def test_what_a_later_version_has_altered_is_a_mismatch(column):
    with pytest.raises(LayoutMismatch):
        Layout.from_cells("crawl", {LAYOUT_COLUMN: Layout().to_json(), column: b'{"value":"x"}'})


def test_a_layout_whose_column_has_another_name_is_one_that_cannot_be_read():
    with pytest.raises(LayoutMismatch, match="lacks its column 'layout:json'"):
        Layout.from_cells("table", {b"layout:jsom": b"{}"})


def test_a_table_is_the_same_whatever_sequence_its_families_and_split_keys_come_in():
    families, splits = [FamilySchema("a"), FamilySchema("b")], [b"4", b"8"]

    given = TableSchema("t", families, splits)

    assert given == TableSchema("t", tuple(families), tuple(splits))
    assert hash(given) == hash(TableSchema("t", tuple(families), tuple(splits)))
