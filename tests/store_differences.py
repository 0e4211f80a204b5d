"""Where stores differ from what the port promises to most: each difference with its reason, for the tests to go by.

A test that meets one asks `differs` for it by its name, and asserts what is there instead; none is left out in silence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pytest

ADAPTERS: Final = ["sqlite", pytest.param("hbase-native", marks=pytest.mark.hbase)]
"""The stores that all tests of web tables run on, by the names that the tests give them: a file, and HBase by its own
protocol, which can do everything and takes the least time.
"""
THRIFT1: Final = pytest.param("hbase-thrift1", marks=pytest.mark.hbase)
"""HBase by HappyBase, with a Thrift1 gateway alone."""
THRIFT2: Final = pytest.param("hbase-thrift2", marks=pytest.mark.hbase)
"""The same with a Thrift2 gateway beside it, which takes over some readings."""

with_thrift1: Final = pytest.mark.parametrize("adapter", [*ADAPTERS, THRIFT1], indirect=True, scope="session")
"""For tests of what gateways do otherwise, and of what takes URLs of tables of their own."""
on_thrift1: Final = pytest.mark.parametrize("adapter", [THRIFT1], indirect=True, scope="session")
on_native: Final = pytest.mark.parametrize("adapter", ADAPTERS[1:], indirect=True, scope="session")
"""For what a table of several regions shows."""
on_thrift2: Final = pytest.mark.parametrize("adapter", [THRIFT2], indirect=True, scope="session")
"""For what Thrift2 reads: all else is the same as without it."""
on_every_store: Final = pytest.mark.parametrize(
    "adapter", [*ADAPTERS, THRIFT1, "sqlite-wrapped", "memory"], indirect=True, scope="session"
)
"""For the contract, and a selection of tests from one end to the other: that a store fulfils the contract is enough for
all others to hold."""

GATEWAYS: Final = frozenset({"hbase-thrift1", "hbase-thrift2", "hbase-https"})
HBASE: Final = GATEWAYS | {"hbase-native"}


@dataclass(frozen=True)
class Difference:
    """Something that `stores` do otherwise, and why."""

    stores: frozenset[str]
    reason: str


DIFFERENCES: Final = {
    "no split keys": Difference(
        frozenset({"hbase-thrift1"}),
        "Thrift1's createTable takes families alone; a CapabilityError has the line for the HBase shell",
    ),
    "no min_versions": Difference(
        frozenset({"hbase-thrift1"}),
        "Thrift1's ColumnDescriptor has no such field; a CapabilityError has the line for the HBase shell",
    ),
    "no change of a family": Difference(
        GATEWAYS, "Thrift1 has no call to alter a table; a CapabilityError has the line for the HBase shell"
    ),
    "no exact delete": Difference(
        GATEWAYS,
        "Thrift1 deletes all cells at or below a timestamp; the outcome is a CapabilityError, and nothing is deleted",
    ),
    "no transactions": Difference(
        HBASE | {"memory"},
        "HBase has transactions of one row; memory does as HBase, for tests: in `transaction` each call stands alone",
    ),
    "no check and put": Difference(
        frozenset({"hbase-thrift1"}),
        "Thrift1's checkAndPut takes one cell without a timestamp; a CapabilityError says what can",
    ),
    "slow calls": Difference(HBASE, "each example of a property is several calls of a gateway, so there are fewer"),
    "versions beyond the family's show in a time range": Difference(
        HBASE, "HBase drops them as it flushes and shows them until then; no test asserts either"
    ),
    "what a compacted delete hid can be written again": Difference(
        HBASE, "HBase forgets deletes in a major compaction, which tests cannot time; no test asserts either"
    ),
}


def differs(store: str, difference: str) -> bool:
    """Whether *store*, by the name that the tests give it, differs so."""
    return store.removesuffix("-wrapped") in DIFFERENCES[difference].stores
