"""What questions declare of themselves, held against what they do and where they are found."""

from __future__ import annotations

import inspect
import pkgutil
import re
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import webtable
import webtable.aio
from listing_examples import ask_example
from webtable import repository
from webtable.aio import table as aio_groups
from webtable.cli.commands import COMMANDS
from webtable.errors import IndexNeeded, InvalidArgument
from webtable.questions import LISTINGS, Listing
from webtable.repository.table.groups import TableLinks

if TYPE_CHECKING:
    from collections.abc import Callable

DOCS = Path(__file__).parents[1] / "docs"
MODULES = [module.name for module in pkgutil.walk_packages(repository.__path__, f"{repository.__name__}.")]
DECLARED = [one for name in MODULES for one in vars(import_module(name)).values() if isinstance(one, Listing)]
LISTS = re.compile(r"Pages|Hosts|Results\[")


@pytest.fixture(scope="module")
def table():
    with webtable.open("memory:listings", create=True) as table:
        yield table


def method_of(table: type, links: type, listing: Listing) -> Callable[..., object]:
    return getattr(table if listing.of_links is None else links, listing.of_links or listing.name)


def annotated(method: Callable[..., object]) -> str:
    return getattr(method, "__annotations__", {}).get("return") or ""


def test_every_declaration_is_in_the_one_list_of_them():
    assert {id(one) for one in DECLARED} == {id(listing) for listing in LISTINGS.values()}


def test_every_answer_that_is_a_list_is_declared():
    groups = {"": webtable.WebTable, "links.": TableLinks}
    methods = {f"{of}{name}": one for of, group in groups.items() for name, one in inspect.getmembers(group, callable)}

    lists = {name for name, one in methods.items() if LISTS.match(annotated(one))}
    assert lists == {listing.method for listing in LISTINGS.values()}


@pytest.mark.parametrize("name", LISTINGS)
def test_a_question_is_a_method_a_command_and_a_line_of_the_docs(name):
    listing = LISTINGS[name]
    command = name.replace("_", "-")

    assert method_of(webtable.WebTable, TableLinks, listing), f"{name} is no method (repository/table)"
    assert method_of(webtable.aio.WebTable, aio_groups.TableLinks, listing), f"{name} is not in aio"
    assert COMMANDS[command].is_listing, f"{name} is not in repository/answers/catalogue.py"
    rows = re.findall(r"^\|.*\|.*\|(.*)\|.*\|$", (DOCS / "questions.md").read_text(), re.MULTILINE)
    assert any(f"`{command}`" in commands for commands in rows), f"{command} is not in docs/questions.md"


@pytest.mark.parametrize("name", LISTINGS)
def test_its_options_are_arguments_of_the_method(name):
    listing = LISTINGS[name]
    parameters = inspect.signature(method_of(webtable.WebTable, TableLinks, listing)).parameters

    known = set(parameters) | (set(webtable.answers.PageOptions.__annotations__) if "options" in parameters else set())
    takes = {option.part_of or option.name for option in listing.options}
    assert takes <= known
    assert known - takes - {"self", "options"} <= {"limit", "after", "order", "columns"}
    assert listing.is_of_pages == ("columns" in known)
    for option in listing.options:
        if option.default is not None and name != "crawls":  # whose gap is a `timedelta` in Python
            assert option.default == parameters[option.name].default


@pytest.mark.parametrize("name", LISTINGS)
def test_it_has_the_orders_that_it_declares_and_no_others(table, name):
    listing = LISTINGS[name]
    first = ask_example(table, listing)

    assert first.order == listing.orders[0]
    for order in listing.orders:
        to = {"to": "https://example.com/"} if (name, order) == ("redirects", "url") else {}
        assert ask_example(table, listing, order=order, **to).order == order
    with pytest.raises(InvalidArgument, match=r"order='colour' must be (one of|'[a-z]+', the only order)"):
        ask_example(table, listing, order="colour")


@pytest.mark.parametrize("name", [name for name, listing in LISTINGS.items() if listing.indexes])
def test_without_an_index_that_it_declares_it_names_that(name):
    listing = LISTINGS[name]

    for index in listing.indexes:
        others = {"time", "size", "link", "url", "status", "host", "digest"} - {index.name}
        url = f"memory:without-{index.name}"
        with (
            webtable.open(url, create=True, indexes=sorted(others)) as table,
            pytest.raises(IndexNeeded, match=index.name),
        ):
            list(ask_example(table, listing))


@pytest.mark.parametrize("name", [name for name, listing in LISTINGS.items() if listing.columns.noun != "page"])
def test_the_docs_list_its_columns_in_their_order(name):
    listing = LISTINGS[name]
    (line,) = re.findall(rf"^\| `{listing.method}` \| (.*) \|$", (DOCS / "frames.md").read_text(), re.MULTILINE)

    told = re.findall(r"`([a-z_]+(?:…|`))", line)
    columns = [[f"{one[:-1]}{side}" for side in ("before", "after")] if one[-1] == "…" else [one[:-1]] for one in told]
    assert tuple(chain.from_iterable(columns)) == listing.columns.usual


@pytest.mark.parametrize("name", LISTINGS)
def test_the_answer_has_the_columns_that_it_declares(table, name):
    listing = LISTINGS[name]

    columns = ask_example(table, listing)._columns
    assert columns.noun == listing.columns.noun
    assert columns.listed == listing.columns.listed
    assert set(columns.names) <= set(listing.columns.names)
