"""The address by which another process opens a store, to read a part of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable.errors import InvalidArgument
from webtable.store.url import HIDDEN

if TYPE_CHECKING:
    from webtable.store import Store


def address_of(store: Store, name: str) -> str:
    """Return the address of the *store* of the table *name*; raises `InvalidArgument` if partitions may not have it."""
    address = store.address
    if address is None:
        raise InvalidArgument(f"{name} cannot be opened by another process: partitions need a file or an HBase")
    if HIDDEN in address:
        raise InvalidArgument(
            f"{name}: partitions hold no secrets, and its URL has options that may be some: {address}; open it "
            "without them, and let the store take them from the environment"
        )
    return address
