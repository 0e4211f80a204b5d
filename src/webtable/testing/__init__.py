"""What users' tests need: fresh web tables, a real HBase, sample pages, WARC files, and stores that tell or fail.

In the `conftest.py` at the root of the tests:

    pytest_plugins = ["webtable.testing"]

Then tests may ask for these fixtures; those that your own `conftest.py` has by the same names go before them.

    table           an empty web table in a file of the test's own
    hbase_table     the same on a real HBase
    hbase_url       URL of a running HBase, one for all tests (`webtable.testing.hbase`)
    memory_url      URL of an empty store in memory, which is fast and keeps nothing
    sample_pages    a few pages of many kinds
    make_warc       a function that writes pages as a WARC file

The functions here do the same without pytest, and so do the stores: these take any store and are one themselves
(`webtable.testing.stores`); `WebTable(store, table, layout)` makes a web table of one.

PYTEST_DONT_REWRITE: there is no assert here, and a conftest.py may import from here what it names as a plugin.
"""

from webtable.store.memory import MemoryStore
from webtable.store.wrapped import Call, WrappedStore
from webtable.testing.hbase import NoHBase, fresh_table, hbase_server
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
    "hbase_server",
    "sample_pages",
    "write_warc",
]

# Named, so that what is not a test may import all of this where there is no pytest.
pytest_plugins = ["webtable.testing.fixtures"]
