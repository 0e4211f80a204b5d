"""What the tests of those who use webtable need: a real HBase, and stores that tell what they are asked or fail.

In the `conftest.py` at the root of the tests:

    pytest_plugins = ["webtable.testing"]

and a test that asks for `hbase_url` gets the URL of a running HBase (`webtable.testing.hbase`). The stores take any
store and are one themselves (`webtable.testing.stores`); `WebTable(store, table, layout)` makes a web table of one.
"""

from webtable.store.counting import CountingStore
from webtable.store.wrapped import Call, WrappedStore
from webtable.testing.hbase import NoHBase, hbase_server, hbase_url
from webtable.testing.stores import FailingStore, ListeningStore

__all__ = [
    "Call",
    "CountingStore",
    "FailingStore",
    "ListeningStore",
    "NoHBase",
    "WrappedStore",
    "hbase_server",
    "hbase_url",
]
