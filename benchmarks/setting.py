"""Where the benchmarks run: the HBase, the corpus, a folder for files, and whether it is only a try."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import happybase

import webtable
from webtable.errors import WebTableError
from webtable.schema import Layout
from webtable.store import Store, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

REGIONS = 16
NATIVE = "WEBTABLE_HBASE_NATIVE_URL"
"""The variable with the URL of the same HBase by its own protocol, for an HBase that is not in a container here."""
BUILD_CORPUS = Path(__file__).parents[2] / "shared" / "corpus" / "build_corpus.py"


@dataclass(frozen=True, slots=True)
class Setting:
    """What there is to measure with. A resource that is missing is None, and `missing` says why.

    `hbase` is the URL of its gateways, `native` that of the same HBase by its own protocol, by which webtable is
    measured `by_native`. `largest` is how many pages the largest table has, in benchmarks that measure tables of
    several sizes, and `most_pairs` how often both sides of a comparison run at most.
    """

    folder: Path
    quick: bool
    hbase: str | None
    corpus: Path | None
    missing: dict[str, str]
    largest: int
    most_pairs: int = 15
    native: str | None = None
    by_native: bool = False

    @property
    def warc_files(self) -> list[Path]:
        """The corpus' files, or none."""
        return sorted(self.corpus.glob("*.warc.gz")) if self.corpus else []

    def pairs(self, wanted: int) -> int:
        """How many times both sides of a comparison run."""
        return 1 if self.quick else min(wanted, self.most_pairs)

    def scaled(self, count: int) -> int:
        """Return *count*, or a fiftieth of it for a try."""
        return max(1, count // 50) if self.quick else count

    def new_file(self) -> Path:
        """Return the path of a file that is not there yet."""
        return self.folder / f"{uuid.uuid4().hex[:8]}.db"

    @contextmanager
    def hbase_table_url(self) -> Iterator[str]:
        """Lend the store URL of an HBase table that does not exist yet; it is dropped at the end."""
        name = f"bench_{uuid.uuid4().hex[:8]}"
        try:
            yield self.url_of(name)
        finally:
            with self._store() as store, ThreadPoolExecutor(4) as executor:
                list(executor.map(store.drop_table, _of(name, store)))

    def url_of(self, table: str, *, by_native: bool | None = None) -> str:
        """Return the store URL of a *table* on HBase, by the protocol that webtable is measured by, or another one."""
        url = self.native if (self.by_native if by_native is None else by_native) else self.hbase
        assert url is not None
        base, _, query = url.partition("?")
        return f"{base.rstrip('/')}/{table}?{query}"

    @contextmanager
    def hbase_table(self, indexes: Sequence[str] = ()) -> Iterator[webtable.WebTable]:
        """Lend a fresh web table of 16 regions, which has no indexes but those that are named."""
        with (
            self.hbase_table_url() as url,
            webtable.open(url, create=True, regions=REGIONS, indexes=indexes) as table,
        ):
            yield table

    @contextmanager
    def happybase_table(self) -> Iterator[happybase.Table]:
        """Lend HappyBase's view of a fresh table with the same families, options and regions as a web table has."""
        name = f"bench_{uuid.uuid4().hex[:8]}"
        with self._store() as store:
            splits = webtable.rowkey.split_points(REGIONS)
            store.create_table(Layout().table_schema(name, splits))
            try:
                with self.happybase() as connection:
                    yield connection.table(name)
            finally:
                store.drop_table(name)

    def flush(self, table: str) -> None:
        """Have HBase write *table*, and those beside it (`{table}_…`), from its memory to files.

        A region does that when it is closed; Thrift has no call for it.
        """

        def reopen(name: str) -> None:
            with self.happybase() as connection:
                connection.disable_table(name)
                connection.enable_table(name)

        with self._store() as store, ThreadPoolExecutor(4) as executor:
            list(executor.map(reopen, _of(table, store)))

    @contextmanager
    def happybase(self) -> Iterator[happybase.Connection]:
        """Lend a HappyBase connection."""
        host, port = self.happybase_address
        connection = happybase.Connection(host, port)
        try:
            yield connection
        finally:
            connection.close()

    @property
    def happybase_address(self) -> tuple[str, int]:
        """The Thrift1 gateway."""
        parts = urlsplit(self.hbase or "")
        return parts.hostname or "localhost", parts.port or 9090

    def _store(self) -> Store:
        assert self.hbase is not None
        return open_store(self.hbase)[0]


def _of(table: str, store: Store) -> list[str]:
    """Return *table* and those that belong to it."""
    return [name for name in store.tables() if name == table or name.startswith(f"{table}_")]


@contextmanager
def setting(
    *, hbase: str | None, corpus: Path | None, quick: bool, largest: int, needs: frozenset[str]
) -> Iterator[Setting]:
    """Lend a setting with what *needs* names, found or started as the README of the benchmarks says."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="webtable-bench-")))
        made = Setting(folder, quick, None, None, {}, largest)
        if "hbase" in needs:
            made = _with_hbase(made, hbase, stack)
        if "corpus" in needs:
            made = _with_corpus(made, corpus)
        yield made


def _with_hbase(made: Setting, url: str | None, stack: ExitStack) -> Setting:
    url = url or os.environ.get("WEBTABLE_HBASE_URL")
    if url:
        return replace(made, hbase=url, native=os.environ.get(NATIVE))
    try:
        from webtable.testing import hbase_native_url, hbase_server

        # With the 1 GB and 256 MB of the image, three crawls and a peer's table of 100,000 rows at once ran out.
        os.environ.setdefault("HBASE_HEAP", "3g")
        os.environ.setdefault("THRIFT_HEAP", "768m")
        gateways = stack.enter_context(hbase_server())
        return replace(made, hbase=gateways, native=hbase_native_url(gateways))
    except (ImportError, WebTableError) as exc:
        return replace(made, missing={**made.missing, "hbase": str(exc)})


def _with_corpus(made: Setting, folder: Path | None) -> Setting:
    given = folder or (Path(os.environ["WEBTABLE_CORPUS"]) if os.environ.get("WEBTABLE_CORPUS") else None)
    if given is not None:
        if any(given.glob("*.warc.gz")):
            return replace(made, corpus=given)
        return replace(made, missing={**made.missing, "corpus": f"{given} holds no .warc.gz files"})
    if not BUILD_CORPUS.is_file():
        why = f"neither WEBTABLE_CORPUS is set, nor is there {BUILD_CORPUS.name} beside the checkout"
        return replace(made, missing={**made.missing, "corpus": why})
    target = made.folder / "corpus"
    command = [sys.executable, str(BUILD_CORPUS), "--out", str(target)]
    sites = ["--site", "debian-policy", "--site", "git-doc"] if made.quick else []
    built = subprocess.run([*command, *sites], capture_output=True, text=True, check=False)
    if built.returncode:
        why = f"{BUILD_CORPUS.name} failed: {built.stderr.strip().splitlines()[-1:]}"
        return replace(made, missing={**made.missing, "corpus": why})
    return replace(made, corpus=target)
