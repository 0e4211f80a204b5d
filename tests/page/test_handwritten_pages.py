"""Pages that are written by hand say what the code has: errors, exit codes, store URLs; and what was measured."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import webtable.errors
from webtable.cli import exit_codes as exits
from webtable.errors import WebTableError
from webtable.store import BUILT_IN, open_store
from webtable.store.hbase.native import store as native
from webtable.store.hbase.thrift import store as hbase
from webtable.store.sqlite import file as sqlite
from webtable.store.url import StoreURL

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
ERRORS = (REFERENCE / "errors.md").read_text()
URLS = (REFERENCE / "urls.md").read_text()
CLASSES = {
    name: value
    for name, value in vars(webtable.errors).items()
    if isinstance(value, type) and issubclass(value, WebTableError)
}
TOLD = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", ERRORS, re.MULTILINE))
OPTIONS = re.findall(r"^\| `([\w+]+)` \| `(\w+)` \| (?:`([\w/]+)`|none) \|", URLS, re.MULTILINE)


def test_every_error_is_told_with_its_cause_and_its_remedy():
    cells = re.findall(r"^\| `(\w+)` \| \d \| ([^|]+) \| ([^|]+) \|$", ERRORS, re.MULTILINE)

    assert sorted(name for name, *_ in cells) == sorted(CLASSES)
    assert all(len(cause.split()) > 2 and len(fix.split()) > 2 for _, cause, fix in cells)


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_an_error_ends_a_command_with_the_code_of_the_page(name):
    error = CLASSES[name].__new__(CLASSES[name])

    assert exits.exit_code(error) == int(TOLD[name])


def test_every_exit_code_is_told():
    told = {int(code) for code in re.findall(r"^\| (\d+) \|", ERRORS, re.MULTILINE)}

    assert told == {exits.DONE, exits.NOT_DONE, exits.USAGE, exits.STORE, exits.INTERRUPTED}


def test_every_option_of_a_store_url_is_told():
    told = {scheme: {option for of, option, _ in OPTIONS if of == scheme} for scheme, *_ in OPTIONS}

    of_hbase = set().union(*hbase.OPTIONS.values())
    of_native = {"hbase+native": set(native.OPTIONS["hbase+native"])}
    assert told == {"sqlite": set(sqlite.OPTIONS), "hbase": of_hbase, "memory": {"table"}} | of_native
    assert told.keys() | hbase.OPTIONS.keys() | native.OPTIONS.keys() == BUILT_IN.keys()
    assert all(f"`{scheme}://" in URLS for scheme in hbase.OPTIONS | native.OPTIONS)


def test_the_options_of_a_store_in_memory_are_those_of_the_page():
    with pytest.raises(webtable.errors.InvalidArgument, match=r"unknown option 'other'; memory has table$"):
        open_store("memory:x?other=1")


def test_the_defaults_of_store_urls_are_those_of_the_page(tmp_path):
    told = {(scheme, option): default or None for scheme, option, default in OPTIONS}

    of_hbase = hbase.address_of(StoreURL.parse("hbase://host"))
    settings = {**of_hbase.settings(), "pool": of_hbase.settings()["pool_size"]}
    for option in set().union(*hbase.OPTIONS.values()):
        default = settings.get(option)
        assert told["hbase", option] == (None if default is None else f"{default}".removesuffix(".0"))
    store, _ = open_store(f"sqlite:{tmp_path}/x.db", create=True)
    with store:
        assert store.timeout == float(told["sqlite", "timeout"])
    assert {told["sqlite", "table"], told["memory", "table"], of_hbase.table} == {"pages"}
    assert of_hbase.gateways[0].port == 9090


def test_the_figures_on_the_page_of_performance_are_those_of_the_benchmarks():
    told, measured = ((REFERENCE.parent / name).read_text() for name in ("performance.md", "benchmarks.md"))

    figure = r"(?<![\d.,])(?:\d+\.\d+|\d{1,3}(?:,\d{3})+|\d{3,})(?![\d.,]*\d)"
    figures = set(re.findall(figure, told))
    assert figures - set(re.findall(figure, measured)) == set()
    assert len(figures) > 15
