"""Test support: fresh web tables, a real HBase, sample pages, WARC files, and stores that record calls or fail.

In the `conftest.py` at the root of the tests:

    pytest_plugins = ["webtable.testing"]

Then tests may use these fixtures; fixtures of the same names in your own `conftest.py` take precedence.

    table           an empty web table in a file for this test
    hbase_table     the same on a real HBase
    hbase_url       URL of a running HBase, one for all tests (`webtable.testing.hbase`)
    memory_url      URL of an empty store in memory, which is fast and keeps nothing
    sample_pages    a few pages of many kinds
    make_warc       a function that writes pages as a WARC file

The functions here do the same without pytest. The stores wrap any other store (`webtable.testing.stores`);
`WebTable(store, table, layout)` makes a web table of one.

PYTEST_DONT_REWRITE: there is no assert here, and a conftest.py may import names from this plugin.
"""

from webtable.store.memory import MemoryStore
from webtable.store.observed import Call, WrappedStore
from webtable.testing.hbase import NoHBase, fresh_table, hbase_native_url, hbase_server
from webtable.testing.pages import MakeWarc, RawResponse, sample_pages, write_warc
from webtable.testing.stores import CountingStore, FailingStore, ListeningStore

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
    "fresh_table",
    "hbase_native_url",
    "hbase_server",
    "sample_pages",
    "write_warc",
]

# By name, so that programs other than tests can import all of this without pytest.
pytest_plugins: list[str] = ["webtable.testing.fixtures"]
