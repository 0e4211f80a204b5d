"""Scans by HBase's own protocol, forwards and backwards, of a table that does not change while its regions do."""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import contextmanager

from webtable.errors import StoreError
from webtable.rowkey import KeyRange
from webtable.schema import FamilySchema, TableSchema
from webtable.store import NewCell, Put, StoreURL
from webtable.store.hbase import NativeStore

KEYS = [b"%02x%05d" % (number * 256 // 12_000, number) for number in range(12_000)]
"""In order; the first two signs are those by which the tables of the tests are split."""
SPLITS = (b"40", b"80", b"c0")
EXPECTED = {"forwards": KEYS, "backwards": KEYS[::-1]}
PAUSE = 0.002
"""How long a scan waits after some rows, so that what happens to the regions happens in its middle."""


class Scans:
    """Threads that scan *table* over and over: every scan must give all rows, once and in order."""

    def __init__(self, store, table):
        self._store = store
        self._table = table
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._go_on, args=(one,), daemon=True) for one in EXPECTED]
        self.done = Counter()
        """How many ended well, by their direction, and how many with an error of the store, by its kind."""
        self.wrong = []

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        for thread in self._threads:
            thread.join(120)
            if thread.is_alive():
                self.wrong.append("a scan did not end within 120 s")

    def _go_on(self, direction):
        while not self._over.is_set():
            found, outcome = [], direction
            try:
                self._scan(direction, found)
            except StoreError as exc:
                outcome = type(exc).__name__
            except Exception as exc:  # noqa: BLE001 - it is shown where the scans are looked at
                self.wrong.append(repr(exc))
                return
            self.done[outcome] += 1
            expected = EXPECTED[direction]
            if found != (expected if outcome == direction else expected[: len(found)]):
                at = next(
                    (n for n, (one, other) in enumerate(zip(found, expected, strict=False)) if one != other), None
                )
                many = f"{len(found):,} rows, {len(set(found)):,} of them distinct"
                self.wrong.append(f"{outcome} after {many}; the first other one is {at}")

    def _scan(self, direction, found):
        for row in self._store.scan(self._table, [KeyRange()], reverse=direction == "backwards"):
            if row.cells[b"f:q"][0].value != row.key * 100:
                self.wrong.append(f"{row.key} has another value")
            found.append(row.key)
            if not len(found) % 20:
                time.sleep(PAUSE)


def fill(store, table):
    """Make *table* with the rows of KEYS, several answers of a scan."""
    store.create_table(TableSchema(table, (FamilySchema("f"),), SPLITS))
    for at in range(0, len(KEYS), 2_000):
        puts = [Put(key, [NewCell(b"f:q", 1, key * 100)]) for key in KEYS[at : at + 2_000]]
        assert store.write(table, puts) == [None] * len(puts)


@contextmanager
def scanned(url, table):
    """Scan a new *table* while the block runs, which is given what is done, and assert that no scan was wrong."""
    with NativeStore.from_url(StoreURL.parse(url.format(table=table))) as store:
        fill(store, table)
        with Scans(store, table) as scans:
            yield scans.done
        store.drop_table(table)
    print(f"\n{table}: scans of {len(KEYS):,} rows: {dict(scans.done)}")
    assert scans.wrong == []
    assert all(scans.done[direction] for direction in EXPECTED)
