"""The fixtures of the contract of stores: the store, a table that its tests share, and tables of their own.

Those who run the contract have a fixture `open_store`, for the session: a function that opens the same store once more.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from webtable.rowkey import KeyRange, prefix_stop
from webtable.schema import FamilySchema, TableSchema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from webtable.store import Store


@dataclass(frozen=True)
class Space:
    """A part of the shared table that belongs to one test: all its keys begin with the same random *prefix*."""

    prefix: bytes = field(default_factory=lambda: uuid.uuid4().hex.encode() + b"/")

    def __call__(self, suffix: bytes) -> bytes:
        """Return the key of this test that ends with *suffix*."""
        return self.prefix + suffix

    def range(self, start: bytes = b"", stop: bytes = b"") -> KeyRange:
        """Return the range of the test's keys from *start* to *stop*, or to its last one."""
        return KeyRange(self.prefix + start, self.prefix + stop if stop else prefix_stop(self.prefix))


@pytest.fixture(scope="session")
def store(open_store: Callable[[], Store]) -> Iterator[Store]:
    """The store, opened once for all tests."""
    with open_store() as opened:
        yield opened


@pytest.fixture(scope="session")
def table(store: Store) -> Iterator[str]:
    """A table with a family for each rule: one version, three versions, three versions for an hour."""
    name = f"contract_{uuid.uuid4().hex[:12]}"
    families = (FamilySchema("one"), FamilySchema("three", versions=3), FamilySchema("hour", versions=3, ttl=3600))
    store.create_table(TableSchema(name, families))
    yield name
    store.drop_table(name)


@pytest.fixture
def space() -> Space:
    """The keys of this test in the shared table."""
    return Space()


@pytest.fixture
def new_table(store: Store) -> Iterator[Callable[..., str]]:
    """A function that creates a table of the test's own; it is dropped at the end, if the test has not done so."""
    names: list[str] = []

    def create(*families: FamilySchema, split_keys: tuple[bytes, ...] = ()) -> str:
        name = f"contract_{uuid.uuid4().hex[:12]}"
        store.create_table(TableSchema(name, families or (FamilySchema("f"),), split_keys))
        names.append(name)
        return name

    yield create
    for name in set(names) & set(store.tables()):
        store.drop_table(name)


@pytest.fixture(scope="session")
def property_examples() -> int:
    """How many examples each property of the contract is tried with: 40; define it anew for a slow store."""
    return 40
