"""Creating and opening: the layout is stored, checked and never guessed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

import webtable
from store_differences import with_thrift1
from webtable.errors import (
    CapabilityError,
    InvalidArgument,
    LayoutMismatch,
    NewerFormat,
    NotAStore,
    SchemaDrift,
    StoreUnavailable,
    TableNotFound,
    WriteFailed,
)
from webtable.repository.maintenance.create import StoredWebTable
from webtable.rowkey import KeyRange, Salt
from webtable.schema import ALL_VERSIONS, LAYOUT_COLUMN, LAYOUT_ROW, STATES_ROW, FamilySchema, Layout, TableSchema
from webtable.store import NewCell, Put, open_store


def test_what_is_not_there_is_not_created_unasked(new_url):
    url = new_url()

    with pytest.raises(TableNotFound, match="create"):
        webtable.open(url)
    with pytest.raises(TableNotFound):
        webtable.open(url)


@with_thrift1
def test_a_table_is_opened_as_it_was_created(new_url, site):
    url = new_url()
    options = {"salt": Salt.url(digits=1), "names": "short", "versions": 5, "ttl": 1_000_000, "plain_columns": ()}
    with webtable.open(url, create=True, **options) as table:
        table.put(site.page(body=b"x"))

    with webtable.open(url) as table:
        assert table.layout == Layout.of(**options)
        assert table.get(site.url()).body == b"x"
        (row,) = table.store.read(table.table, [table.key.encode(site.url())])
        assert set(row.cells) == {b"c:c", b"c:h", b"m:p", b"o:u"}
        content = table.store.describe(table.table).schema.family("c")
        assert (content.versions, content.ttl) == (5, 1_000_000)


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"salt": Salt.url()}, "salt: the table has 'host', this call has 'url'"),
        ({"salt": Salt.host(digits=3)}, "digits: the table has 2, this call has 3"),
        ({"names": "short"}, "names: the table has 'readable', this call has 'short'"),
        ({"versions": 2}, "this call has 2; to change it: table.maintenance.alter(…)"),
        ({"ttl": 60}, "this call has 60"),
    ],
)
def test_another_layout_is_an_error_that_shows_both(shared_table, new_url, options, shown, adapter):
    url = new_url()
    webtable.create(url, indexes=[])

    for attempt in (
        lambda: webtable.open(url, **options),
        lambda: webtable.open(url, create=True, **options),
        lambda: webtable.create(url, **{"indexes": [], **options}),
    ):
        with pytest.raises(LayoutMismatch) as raised:
            attempt()
        assert shown in str(raised.value)


def test_a_file_keeps_everything_and_hbase_what_is_not_older_than_90_days(new_url, adapter):
    url = new_url()

    webtable.create(url, indexes=[])

    with webtable.open(url) as table:
        kept = {family.name: family.ttl for family in table.store.describe(table.table).schema.families}
        days = (None, None) if adapter == "sqlite" else (90 * 86_400, 180 * 86_400)
        assert (table.layout.ttl, kept["content"], kept["outlinks"], kept["inlinks"]) == (days[0], *days, days[1])
        assert kept["metadata"] is None


def test_a_file_that_was_created_with_a_time_to_live_keeps_it(tmp_path):
    webtable.create(tmp_path / "old.db", indexes=[], ttl=90 * 86_400)

    webtable.create(tmp_path / "old.db", indexes=[])

    with webtable.open(tmp_path / "old.db", create=True) as table:
        assert table.layout.ttl == 90 * 86_400


def test_the_plan_for_a_file_that_is_not_there_keeps_everything(tmp_path):
    steps = webtable.create(tmp_path / "new.db", dry_run=True)

    assert {family.ttl for family in steps.wanted.families} == {None}


def test_opening_with_the_options_of_the_table_is_no_error(new_url):
    url = new_url()
    webtable.create(url, indexes=[], salt=Salt.domain(), versions=2)

    with webtable.open(url, salt=Salt.domain(), versions=2) as table:
        assert table.layout.suffix_list is not None


def test_another_list_of_public_suffixes_is_an_error_that_says_which_to_install(new_url, monkeypatch):
    url = new_url()
    webtable.create(url, indexes=[], salt=Salt.domain())
    monkeypatch.setattr("webtable.schema.layout.suffix_list_version", lambda: "9.9.9")

    with pytest.raises(LayoutMismatch, match=r"install publicsuffixlist==\d"):
        webtable.open(url)


@pytest.mark.parametrize(
    "stored", [b"{", b"{}x", b'{"format":2}', b'{"key":"web/2"}', b'{"colour":"red"}', b'{"salt":"x"}']
)
def test_a_layout_of_another_version_is_an_error(new_url, stored):
    url = new_url()
    webtable.create(url, indexes=[])
    store, table = open_store(url)
    with store:
        store.write(f"{table}_meta", [Put(LAYOUT_ROW, [NewCell(LAYOUT_COLUMN, 2**62, stored)])])

    with pytest.raises(LayoutMismatch):
        webtable.open(url)


def test_of_a_layout_of_a_later_format_nothing_is_guessed(new_url):
    url = new_url()
    webtable.create(url, indexes=["time"])
    store, table = open_store(url)
    with store:
        layout = b'{"format":2,"key":"web/2","colour":"red"}'
        store.write(f"{table}_meta", [Put(LAYOUT_ROW, [NewCell(LAYOUT_COLUMN, 2**62, layout)])])
        state = NewCell(b"layout:time", 2**62, b'{"phase":"dreaming"}')
        store.write(f"{table}_meta", [Put(STATES_ROW, [state])])

    with pytest.raises(NewerFormat, match="layout format 2, of a later webtable; this one reads 1"):
        webtable.open(url)


def test_a_table_with_dictionaries_of_sites_is_refused_with_what_to_do(new_url):
    url = new_url()
    webtable.create(url, indexes=[])
    store, table = open_store(url)
    with store:
        layout = b'{"compression":"zstd-site"}'
        store.write(f"{table}_meta", [Put(LAYOUT_ROW, [NewCell(LAYOUT_COLUMN, 2**62, layout)])])

    with pytest.raises(LayoutMismatch, match=r"with the version that made it: table\.maintenance\.copy"):
        webtable.open(url)


def test_who_has_a_table_open_stops_when_a_later_webtable_takes_it_over(new_url, site):
    url = new_url()
    with webtable.open(url, create=True, indexes=[]) as table:
        layout = b'{"format":2,"colour":"red"}'
        table.store.write(f"{table.table}_meta", [Put(LAYOUT_ROW, [NewCell(LAYOUT_COLUMN, 2**62, layout)])])

        with pytest.raises(WriteFailed) as raised:
            table.put(site.page(body=b"x"))

        assert isinstance(raised.value.failures[0].error, NewerFormat)
        assert list(table.store.scan(table.table, [KeyRange()])) == []


def test_creating_is_idempotent(new_url, site):
    url = new_url()

    first = webtable.create(url, indexes=[])
    with webtable.open(url) as table:
        table.put(site.page(body=b"x"))
    second = webtable.create(url, indexes=[])

    assert first.create
    assert second.is_empty
    assert str(second) == ""
    with webtable.open(url) as table:
        assert table.get(site.url()).body == b"x"


def test_a_dry_run_says_what_is_to_be_done_and_does_nothing(new_url):
    url = new_url()

    steps = webtable.create(url, indexes=[], regions=4, dry_run=True)

    assert steps.create
    assert "SPLITS => ['40', '80', 'c0']" in steps.shell()
    with pytest.raises(TableNotFound):
        webtable.open(url)
    webtable.create(url, indexes=[])
    assert webtable.create(url, indexes=[], dry_run=True).is_empty


@with_thrift1
def test_a_creation_that_was_cut_short_is_completed(new_url):
    url = new_url()
    store, table = open_store(url, create=True)
    with store:
        store.create_table(
            Layout.of(
                Salt.host(), ttl=store.capabilities.default_ttl, versions=store.capabilities.default_versions
            ).table_schema(table)
        )

    with pytest.raises(TableNotFound):
        webtable.open(url)
    assert webtable.create(url, indexes=[]).is_empty
    webtable.open(url).close()


@with_thrift1
def test_regions_begin_at_the_split_points(new_url, adapter):
    url = new_url()
    if adapter == "hbase-thrift1":
        with pytest.raises(CapabilityError, match="create 'web_"):
            webtable.create(url, indexes=[], regions=4)
        return

    webtable.create(url, indexes=[], regions=4)

    with webtable.open(url) as table:
        regions = table.store.regions(table.table)
        assert [region.keys.start for region in regions] == [b"", b"40", b"80", b"c0"]


@with_thrift1
def test_drift_is_reported_and_applied_only_when_asked(new_url, adapter):
    url = new_url()
    store, table = open_store(url, create=True)
    with store:
        store.create_table(
            TableSchema(table, (FamilySchema("content", versions=1), FamilySchema("metadata"), FamilySchema("other")))
        )

    with pytest.raises(SchemaDrift) as raised:
        webtable.create(url, indexes=[])

    kept, shown = ("2147483647", "all") if adapter == "sqlite" else ("3", "3")
    assert f"VERSIONS => {kept}" in str(raised.value)
    assert f"change family 'content': versions 1 -> {shown}" in str(raised.value)
    assert "add family 'outlinks'" in str(raised.value)
    assert len(webtable.create(url, indexes=[], dry_run=True).changes) == 3
    if adapter == "hbase-thrift1":
        with pytest.raises(CapabilityError, match="alter"):
            webtable.create(url, indexes=[], alter_families=True)
        return
    webtable.create(url, indexes=[], alter_families=True)
    assert webtable.create(url, indexes=[]).is_empty
    with webtable.open(url) as opened:
        assert {family.name for family in opened.store.describe(table).schema.families} >= {"other", "inlinks"}


@pytest.mark.parametrize(
    "options",
    [{"versions": 0}, {"ttl": 0}, {"ttl": -5}, {"names": "long"}, {"salt": "host"}, {"compression": "gzip"}, {"x": 1}],
)
def test_an_impossible_layout_is_refused_and_nothing_is_created(new_url, options):
    url = new_url()

    with pytest.raises(InvalidArgument):
        webtable.create(url, **{"indexes": [], **options})
    with pytest.raises(TableNotFound):
        webtable.open(url)


@pytest.mark.parametrize("regions", [0, 257, -1])
def test_an_impossible_number_of_regions_is_refused(new_url, regions):
    with pytest.raises(InvalidArgument, match="regions"):
        webtable.create(new_url(), regions=regions)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "sqlite:",
        "redis://localhost/crawl",
        "hbase:///crawl",
        "hbase://h:x/crawl",
        "hbase://h:99999/crawl",
        "hbase://h/crawl?thrift=1",
        "hbase://h/crawl?timeout=-1",
        "hbase://h/crawl?pool=many",
        "sqlite:x.db?names=short",
    ],
)
def test_a_store_url_that_is_none_is_refused(url):
    with pytest.raises(InvalidArgument, match="store"):
        webtable.open(url)


def test_a_gateway_that_does_not_answer_is_an_error_that_names_it():
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:1"):
        webtable.open("hbase://127.0.0.1:1/crawl?timeout=2")


def test_a_file_that_is_no_store_is_an_error_that_names_it_and_stays_as_it_was(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("not a database, and longer than a header of one\n" * 100)
    before = file.read_bytes()

    with pytest.raises(NotAStore, match=r"notes\.txt"):
        webtable.open(file, create=True)

    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_one_file_holds_several_tables(tmp_path, site):
    for name in ("one", "two"):
        with webtable.open(f"sqlite:{tmp_path}/crawls.db?table={name}", create=True) as table:
            table.put(site.page(body=name.encode()))

    with webtable.open(f"sqlite:{tmp_path}/crawls.db?table=one") as table:
        assert table.get(site.url()).body == b"one"


@pytest.mark.slow
def test_several_may_create_the_same_table_at_once(tmp_path):
    def open_and_close(number):
        with webtable.open(tmp_path / f"{number // 8}.db", create=True) as table:
            return table.layout

    with ThreadPoolExecutor(8) as threads:
        layouts = list(threads.map(open_and_close, range(40)))

    assert layouts == [Layout(ttl=None, versions=ALL_VERSIONS)] * 40


def test_of_two_layouts_that_are_written_at_once_the_first_stays(tmp_path, monkeypatch):
    url = tmp_path / "crawl.db"
    read = StoredWebTable.read

    def somebody_is_faster(store, table):
        monkeypatch.setattr(StoredWebTable, "read", read)
        webtable.open(url, create=True, salt=Salt.none()).close()
        return

    monkeypatch.setattr(StoredWebTable, "read", somebody_is_faster)

    with pytest.raises(LayoutMismatch):
        webtable.open(url, create=True)
    with webtable.open(url) as table:
        assert table.layout.salt == "none"


def test_a_table_that_was_made_anew_with_another_layout_is_no_longer_the_one_that_was_opened(tmp_path, site):
    url = tmp_path / "crawl.db"
    with webtable.open(url, create=True, indexes=[]) as table:
        for name in table.store.tables():
            table.store.drop_table(name)
        webtable.create(url, indexes=[], names="short")

        with pytest.raises(WriteFailed) as raised:
            table.put(site.page(body=b"x"))

        assert isinstance(raised.value.failures[0].error, LayoutMismatch)
