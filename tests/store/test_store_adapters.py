"""How a URL leads to its adapter: those of webtable, found without any metadata, and those of other packages."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import webtable
from webtable import store
from webtable.errors import InvalidArgument, StoreRefused
from webtable.store import Store, adapter_of, open_store, table_of
from webtable.store.hbase import HBaseStore
from webtable.store.memory import MemoryStore
from webtable.store.sqlite import SQLiteStore
from webtable.store.url import StoreURL

ANOTHER = """
from webtable.store import Capabilities, Store
from webtable.store.sqlite import SQLiteStore

class ShelfStore(SQLiteStore):
    '''shelf:FOLDER/TABLE, a file in a folder.'''

    capabilities = Capabilities(default_versions=5)

    @classmethod
    def table_of(cls, url):
        url.options(url.rest.partition("?")[2], {"timeout"})
        return url.rest.partition("?")[0].rpartition("/")[2]

    @classmethod
    def from_url(cls, url, *, create=False):
        return cls(url.rest.partition("?")[0].rpartition("/")[0] + "/shelf.db", create=create)

no_store = dict
"""

URLS = ("crawl.db", "hbase://localhost/crawl", "memory:crawl")


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a package that declares entry points for stores, as `{scheme: value}`."""

    def installed(points: dict[str, str]) -> None:
        info = tmp_path / "site" / "shelf_store-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shelf-store\nVersion: 1.0\n")
        lines = [f"{scheme} = {value}" for scheme, value in points.items()]
        (info / "entry_points.txt").write_text("\n".join(["[webtable.stores]", *lines, ""]))
        (tmp_path / "site" / "shelf_store.py").write_text(ANOTHER)
        (tmp_path / "site" / "shelf_broken.py").write_text("import no_such_module_anywhere\n")
        monkeypatch.syspath_prepend(str(tmp_path / "site"))
        monkeypatch.delitem(sys.modules, "shelf_store", raising=False)

    return installed


def test_a_store_of_another_package_is_opened_by_its_scheme(install, tmp_path):
    install({"shelf": "shelf_store:ShelfStore"})
    (tmp_path / "crawls").mkdir()
    url = f"shelf:{tmp_path}/crawls/mine?timeout=5"

    with webtable.open(url, create=True, indexes=[]) as table:
        assert table.table == "mine"
        assert type(table.store.wrapped).__name__ == "ShelfStore"
        assert table.layout.versions == 5

    assert (tmp_path / "crawls" / "shelf.db").exists()
    assert table_of(url) == "mine"
    with pytest.raises(InvalidArgument, match="unknown option 'pool'; shelf has timeout"):
        webtable.open(f"shelf:{tmp_path}/crawls/mine?pool=5")


def test_an_unknown_scheme_is_refused_with_those_that_there_are(install):
    install({"shelf": "shelf_store:ShelfStore"})

    with pytest.raises(InvalidArgument, match=r"redis://localhost/crawl.*HOST:PORT/TABLE.*hbase, .*shelf, sqlite"):
        webtable.open("redis://localhost/crawl")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("shelf_broken:ShelfStore", "no_such_module_anywhere"),
        ("shelf_store:NoSuchStore", "NoSuchStore"),
        ("shelf_store:no_store", "not a subclass of"),
        ("shelf_store no module", "(AttributeError|ValueError)"),
    ],
)
def test_a_store_that_cannot_be_loaded_is_named_and_keeps_nobody_from_the_others(install, tmp_path, value, reason):
    install({"shelf": value})

    with pytest.raises(StoreRefused, match=f"'shelf'.*{value}.*shelf-store.*{reason}"):
        open_store("shelf:x")
    with pytest.raises(InvalidArgument, match="memory, shelf, sqlite"):
        open_store("redis:x")
    open_store(tmp_path / "crawl.db", create=True)[0].close()


def test_no_other_package_takes_the_schemes_of_webtable(install):
    install({"sqlite": "shelf_store:ShelfStore", "hbase": "shelf_broken:Nothing"})

    assert adapter_of("sqlite:crawl.db") is adapter_of("crawl.db") is SQLiteStore
    assert adapter_of("hbase://localhost/crawl") is HBaseStore


def test_the_adapters_of_webtable_are_declared_as_another_package_declares_its_own():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]

    assert project["entry-points"][store.GROUP] == store.BUILT_IN


def test_the_adapters_of_webtable_are_found_where_nothing_is_installed(monkeypatch):
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: pytest.fail("asked for metadata"))

    assert [adapter_of(url) for url in URLS] == [SQLiteStore, HBaseStore, MemoryStore]


def test_the_embedded_store_loads_neither_thrift_nor_what_other_packages_declare(tmp_path):
    code = (
        "import sys, webtable\n"
        "webtable.open(sys.argv[1], create=True).close()\n"
        "wrong = {'happybase', 'thriftpy2', 'webtable.store.hbase'} & set(sys.modules)\n"
        "sys.exit(', '.join(wrong) or 0)"
    )

    run = subprocess.run([sys.executable, "-c", code, str(tmp_path / "crawl.db")], capture_output=True, text=True)

    assert (run.returncode, run.stderr) == (0, "")


def test_a_store_without_a_url_says_so():
    with pytest.raises(InvalidArgument, match="Store has no URL"):
        Store.from_url(StoreURL.parse("shelf:x"))


def test_what_a_store_can_do_is_not_said_in_attributes_of_its_class():
    with pytest.raises(TypeError, match=r"max_cell, default_ttl must be given as capabilities = Capabilities\(…\)"):
        type("OlderStore", (SQLiteStore,), {"max_cell": 1_000, "default_ttl": None})
