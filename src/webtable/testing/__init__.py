"""What users' tests need: a real HBase, a store in memory, and stores that tell what they are asked or fail.

In the `conftest.py` at the root of the tests:

    pytest_plugins = ["webtable.testing"]

and a test that asks for `hbase_url` gets the URL of a running HBase (`webtable.testing.hbase`), one that asks for
`memory_url` that of an empty store in memory, which is fast and keeps nothing. The wrappers take any store and are one
themselves (`webtable.testing.stores`); `WebTable(store, table, layout)` makes a web table of one.

PYTEST_DONT_REWRITE: there is no assert here, and a conftest.py may import from here what it names as a plugin.
"""

from webtable.store.counting import CountingStore
from webtable.store.memory import MemoryStore
from webtable.store.wrapped import Call, WrappedStore
from webtable.testing.hbase import NoHBase, hbase_server, hbase_url
from webtable.testing.memory import memory_url
from webtable.testing.pages import sample_pages
from webtable.testing.stores import FailingStore, ListeningStore
from webtable.testing.warc import MakeWarc, RawResponse, write_warc

__all__ = [
    "Call",
    "CountingStore",
    "FailingStore",
    "ListeningStore",
    "MakeWarc",
    "MemoryStore",
    "NoHBase",
    "RawResponse",
    "WrappedStore",
    "hbase_server",
    "hbase_url",
    "memory_url",
    "sample_pages",
    "write_warc",
]
