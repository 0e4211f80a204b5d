"""A real HBase for the tests of those who use webtable.

In the `conftest.py` at the root of the tests:

    pytest_plugins = ["webtable.testing"]

and a test that asks for `hbase_url` gets the URL of a running HBase (`webtable.testing.hbase`).
"""

from webtable.testing.hbase import NoHBase, hbase_server, hbase_url

__all__ = ["NoHBase", "hbase_server", "hbase_url"]
