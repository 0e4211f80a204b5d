"""The store port and its adapters: sqlite (embedded, the default) and hbase."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from webtable._importable import install_of
from webtable._late import late
from webtable.errors import CapabilityError, InvalidArgument, StoreRefused
from webtable.store.capabilities import Capabilities
from webtable.store.deadline import CallCancelled, Deadline, attempts, cancelled_by, of_call
from webtable.store.observed import Call, WrappedStore
from webtable.store.port import Store
from webtable.store.rows import (
    EVERYTHING,
    MAX_CELL,
    MAX_ROW_KEY,
    Cell,
    Containing,
    Delete,
    Mutation,
    NewCell,
    Put,
    Region,
    Row,
    TableDescription,
    TimeRange,
    Wanted,
)
from webtable.store.url import StoreURL, without_secrets

if TYPE_CHECKING:
    import os
    from importlib.metadata import EntryPoint

    from webtable.store.health import Check, Space

# Who only reads and writes needs none of the checks of a store.
if not TYPE_CHECKING:  # otherwise type checkers would accept any name
    __getattr__, __dir__ = late(__name__, {"webtable.store.health": ("Check", "Space")})

__all__ = [
    "EVERYTHING",
    "MAX_CELL",
    "MAX_ROW_KEY",
    "Call",
    "CallCancelled",
    "Capabilities",
    "Cell",
    "Check",
    "Containing",
    "Deadline",
    "Delete",
    "Mutation",
    "NewCell",
    "Put",
    "Region",
    "Row",
    "Space",
    "Store",
    "StoreURL",
    "TableDescription",
    "TimeRange",
    "Wanted",
    "WrappedStore",
    "adapter_of",
    "attempts",
    "cancelled_by",
    "of_call",
    "open_store",
    "table_of",
    "without_secrets",
]


# --- Adapters ---------------------------------------------------------------------------------------------------------
#
# An adapter is an entry point of the group `webtable.stores`, named after its scheme, for a subclass of `Store`:
#
#     [project.entry-points."webtable.stores"]
#     redis = "crawl_redis:RedisStore"
#
# Those of webtable are declared like that too, but also listed here: in a source checkout nothing may be installed,
# or an older version. No other package can take their schemes.


GROUP: Final = "webtable.stores"
BUILT_IN: Final = {
    **dict.fromkeys(("hbase", "hbase+http", "hbase+https"), "webtable.store.hbase:HBaseStore"),
    **dict.fromkeys(("hbase+native", "hbases+native"), "webtable.store.hbase.native.store:NativeStore"),
    "memory": "webtable.store.memory:MemoryStore",
    "sqlite": "webtable.store.sqlite:SQLiteStore",
}
"""The adapters of webtable, as in pyproject.toml. They are imported on demand, so that the embedded store loads no
Thrift."""
_EXTRAS: Final = {"hbase+native": "native", "hbases+native": "native"}
"""The extras that the adapters of some schemes need."""
_OTHER_NAMES: Final = {"file": "sqlite"}
"""SQLite has URLs of its own; its adapter says what to give instead."""


def adapter_for(scheme: str, url: str) -> type[Store]:
    """Return the adapter for *scheme*; *url* is quoted in messages.

    Raises `InvalidArgument` that lists the known schemes, and `StoreRefused` that names an entry point of another
    package which refers to no store.
    """
    scheme = _OTHER_NAMES.get(scheme, scheme)
    if scheme in BUILT_IN:
        module, _, name = BUILT_IN[scheme].partition(":")
        try:
            adapter: type[Store] = getattr(import_module(module), name)
        except ModuleNotFoundError as exc:
            if scheme not in _EXTRAS or (exc.name or "").startswith("webtable"):
                raise
            hint = install_of(_EXTRAS[scheme])
            raise CapabilityError(f"store={url!r}: this needs {exc.name}: {hint}") from exc
        return adapter
    if scheme == "hbases":
        instead = f"hbase+https{url.removeprefix(scheme)}"
        raise InvalidArgument(
            f"store={url!r}: gateways have TLS in HTTP mode alone: {instead}; HBase's own protocol has it as "
            "hbases+native://ZOOKEEPER:2181/TABLE"
        )
    # Importing it takes as long as a small query, and only stores of other packages need it.
    from importlib.metadata import entry_points

    # If two packages have the same scheme, the first on the path wins, as with modules.
    for point in entry_points(group=GROUP, name=scheme):
        return _loaded(point)
    raise InvalidArgument(
        f"store={url!r} must be a path, sqlite:PATH or hbase://HOST:PORT/TABLE (schemes: {', '.join(schemes())})"
    )


def schemes() -> list[str]:
    """Return the schemes of all installed adapters, sorted, without importing them."""
    from importlib.metadata import entry_points

    return sorted({*BUILT_IN, *entry_points(group=GROUP).names})


def _loaded(point: EntryPoint) -> type[Store]:
    try:
        adapter = point.load()
    except Exception as exc:
        raise _broken(point, f"{type(exc).__name__}: {exc}") from exc
    if not (isinstance(adapter, type) and issubclass(adapter, Store)):
        raise _broken(point, f"it refers to {adapter!r:.200}, which is not a subclass of webtable.store.Store")
    return adapter


def _broken(point: EntryPoint, why: str) -> StoreRefused:
    package = f" of {point.dist.name}" if point.dist is not None else ""
    return StoreRefused(f"the store {point.name!r} cannot be used: entry point {point.value!r}{package}: {why}")


# --- Opening stores ---------------------------------------------------------------------------------------------------


def adapter_of(url: str | os.PathLike[str]) -> type[Store]:
    """Return the class of the store that *url* names, without opening it; raises `InvalidArgument` for a wrong URL."""
    return _target(url)[1]


def table_of(url: str | os.PathLike[str]) -> str:
    """Return the name of the table that *url* names; raises `InvalidArgument` for a wrong URL."""
    return _target(url)[2]


def open_store(url: str | os.PathLike[str], *, create: bool = False) -> tuple[Store, str]:
    """Return the store that *url* names, opened, and the name of the table in *url*.

    With *create* a missing SQLite file is made. Raises `InvalidArgument` for a wrong URL, `TableNotFound` for a missing
    file, `NotAStore` and `StoreUnavailable` if no such store answers, and `StoreRefused` if the adapter of another
    package cannot be used.
    """
    target, adapter, table = _target(url)
    store = adapter.from_url(target, create=create)
    store.address = adapter.address_of(target)
    return store, table


def _target(url: str | os.PathLike[str]) -> tuple[StoreURL, type[Store], str]:
    """Return the parsed *url*, its adapter, and the table that it names."""
    target = StoreURL.parse(url)
    adapter = adapter_for(target.scheme, target.text)
    return target, adapter, adapter.table_of(target)
