"""Every record of webtable's log has the fields that the docs promise, and the docs list every event."""

from __future__ import annotations

import ast
import logging
import re
from pathlib import Path

import pytest

import webtable
from webtable.errors import StoreError
from webtable.store.hbase.native.cluster import ClientLog
from webtable.store.memory import MemoryStore
from webtable.store.metrics import log_event
from webtable.store.observed import ObservedStore

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "webtable").rglob("*.py"))
METHODS = {"debug", "info", "warning", "error", "exception", "critical", "log"}
FIELDS = ("event", "store", "table", "seconds", "server")


def loggers(tree: ast.Module) -> set[str]:
    """Return the names in a module that are loggers."""
    made = [node for node in ast.walk(tree) if isinstance(node, ast.Assign | ast.AnnAssign) and node.value]
    return {
        ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
        for node in made
        if "getLogger" in ast.unparse(node.value)
    }


def test_records_are_made_in_two_places_alone_which_give_them_the_fields():
    found = []
    for path in SOURCES:
        if "logg" not in (text := path.read_text()):
            continue
        tree = ast.parse(text)
        names = loggers(tree) | {"logger", "self.logger", "logging"}
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in METHODS
                and ast.unparse(node.func.value) in names
            ):
                assert "extra" in {keyword.arg for keyword in node.keywords}, f"{path.name}:{node.lineno}"
                found.append(path.name)

    assert found == ["crawl_table.py", "metrics.py"]


def test_the_docs_list_every_event():
    table = (ROOT / "docs" / "stores.md").read_text().partition("### The log")[2].partition("### The metrics")[0]
    listed = set(re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE)) - {"event"}
    source = "\n".join(path.read_text() for path in SOURCES)
    made = set(re.findall(r"\b(?:DEBUG|INFO|WARNING|ERROR),\s+\"([a-z-]+)\",", source))
    made |= set(re.findall(r"\b_log\(\"([a-z-]+)\",", source))

    assert made == listed


def test_what_a_store_a_client_of_zookeeper_and_a_callback_log_has_the_fields(caplog, tmp_path):
    class Broken(MemoryStore):
        server = "hbase://gateway:9090"

        def _read(self, *_):
            raise StoreError("broken")

    caplog.set_level(logging.DEBUG, "webtable")
    with ObservedStore(Broken("memory")) as store, pytest.raises(StoreError):
        store.read("pages", [b"a"])
    ClientLog("zk1:2181").warning("Connection dropped: %s\nERROR forged", "gone")
    with webtable.open(tmp_path / "crawl.db", create=True) as table, table.writer() as writer:
        receipt = writer.put(webtable.Page(url="https://example.com/", body=b"x"))
        receipt.add_done_callback(lambda _: 1 / 0)
    log_event(logging.getLogger("webtable"), logging.INFO, "waited", "x", store="crawl.db", table=None, seconds=0.0)

    by_event = {record.event: record for record in caplog.records}
    assert set(by_event) == {"failed", "zookeeper", "callback", "waited"}
    assert all(hasattr(record, field) for record in caplog.records for field in FIELDS)
    assert by_event["failed"].server == "hbase://gateway:9090"
    assert by_event["callback"].exc_info
    zookeeper = by_event["zookeeper"]
    assert (zookeeper.levelname, zookeeper.server) == ("DEBUG", "ZooKeeper at zk1:2181")
    assert zookeeper.getMessage().isprintable()
