"""The lines of `webtable backup snapshot`, run as they are: what comes back is what was there."""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner

import webtable
from webtable import Link, Page
from webtable.cli import app
from webtable.errors import WebTableError

NOW = datetime.now(UTC).replace(microsecond=0)
DOMAIN = "snap.example"

pytestmark = pytest.mark.hbase


@pytest.fixture
def url(hbase_url):
    """The URL of a web table of the test's own, which is dropped at the end with all that begins with its name."""
    name = f"snap_{uuid.uuid4().hex[:8]}"
    base, _, query = hbase_url.partition("?")
    indexes = ["host", "link", "time"]  # those that `answers` asks: each takes seconds to be snapshotted and restored
    with webtable.open(f"{base.rstrip('/')}/{name}?{query}", create=True, indexes=indexes) as table:
        with table.writer() as writer:
            for number in range(20):
                links = (Link(f"https://{DOMAIN}/{(number + 1) % 20}"), Link("https://other.example/"))
                for age in (2, 1):
                    body = b"<title>%d</title>%d days ago" % (number, age)
                    at = NOW - timedelta(days=age)
                    writer.put(Page(url=f"https://{DOMAIN}/{number}", body=body, outlinks=links, fetched_at=at))
        table.links.refresh()
    yield f"{base.rstrip('/')}/{name}?{query}"
    with webtable.store.open_store(hbase_url)[0] as store:
        for one in store.tables():
            if one.startswith(name):
                store.drop_table(one)


def webtable_command(*args):
    done = CliRunner().invoke(app, list(map(str, args)))
    assert done.exit_code == 0, done.output
    return done.stdout


def remarks(text, command):
    """Return the lines with a *command* that are remarks in *text*."""
    lines = (line.removeprefix("#   ") for line in text.splitlines() if line.startswith(f"#   {command}"))
    return "".join(f"{line}\n" for line in lines)


def answers(url):
    """Return what a table says to one question of each kind."""
    with webtable.open(url) as table:
        return {
            "pages": list(table.pages(webtable.ALL, columns=["body", "outlinks", "link_counts"])),
            "history": [page.body for page in table.history(f"https://{DOMAIN}/3", columns=["body"])],
            "inlinks": list(table.links.to("https://other.example/")),
            "fetched": [page.url for page in table.fetched(since=NOW - timedelta(days=1.5))],
            "linked": [page.url for page in table.links.most_linked()],
            "hosts": list(table.hosts()),
            "states": table.indexes.states(),
            "sound": table.maintenance.verify(webtable.ALL).is_sound,
            "drift": [drift(table, name) for name in table.indexes.states()],
        }


def drift(table, index):
    found = table.indexes.verify(index, settle=0)
    return index, found.pages, found.missing, found.damaged


def harm(url):
    """Delete pages, change others and add some."""
    with webtable.open(url) as table:
        for number in range(7):
            table.delete(f"https://{DOMAIN}/{number}")
        with table.writer() as writer:
            for number in range(7, 30):
                writer.put(Page(url=f"https://{DOMAIN}/{number}", body=b"changed", fetched_at=NOW))
        table.links.refresh()


def test_all_answers_are_as_before_when_the_snapshots_are_restored(url, shell):
    before, label = answers(url), uuid.uuid4().hex[:8]

    taken = webtable_command("-s", url, "backup", "snapshot", label)

    listed = shell.run(taken)
    harm(url)
    assert answers(url) != before
    shell.run(webtable_command("-s", url, "backup", "snapshot", label, "--restore"))

    assert answers(url) == before
    assert len(re.findall(rf"^ \S+\.{label} ", listed, re.MULTILINE)) == len(before["states"]) + 3
    shell.run(remarks(taken, "delete_snapshot"))


def test_the_remarks_bring_a_dropped_table_back_and_one_under_another_name(url, shell):
    before, label = answers(url), uuid.uuid4().hex[:8]
    taken = webtable_command("-s", url, "backup", "snapshot", label)
    other = url.replace("?", "_again?")

    lines = webtable_command("-s", url, "backup", "snapshot", label, "--clone", other.rpartition("/")[2].split("?")[0])
    shell.run(taken + lines)
    with webtable.open(url) as table:
        name, store = table.table, table.store
        for one in store.tables():
            if one == name or (one.startswith(f"{name}_") and "_again" not in one):
                store.drop_table(one)
    with pytest.raises(WebTableError):
        webtable.open(url)
    shell.run(remarks(taken, "clone_snapshot"))

    assert answers(other) == before
    assert answers(url) == before
    shell.run(remarks(taken, "delete_snapshot"))


def test_what_is_written_between_the_snapshots_is_mended_by_repairs(url, shell):
    label = uuid.uuid4().hex[:8]
    taken = webtable_command("-s", url, "backup", "snapshot", label)
    lines = taken.splitlines(keepends=True)
    pages = [at for at, line in enumerate(lines) if line.startswith("snapshot")][-2]

    shell.run("".join(lines[:pages]))  # the layout and the indexes
    harm(url)
    restored = webtable_command("-s", url, "backup", "snapshot", label, "--restore")
    shell.run("".join(lines[pages:]) + restored)  # the pages and the queue

    with webtable.open(url) as table:
        assert len(list(table.pages(webtable.ALL))) == 23
        assert sum(drift(table, name)[2] for name in table.indexes.states()) > 0
        for name in table.indexes.states():
            table.indexes.repair(name, settle=0)
        table.links.refresh()
        assert [drift(table, name)[2] for name in table.indexes.states()] == [0] * len(table.indexes.states())
    shell.run(remarks(taken, "delete_snapshot"))


def test_snapshots_are_taken_cloned_and_restored_without_a_shell(url, native_url):
    base, _, query = native_url.partition("?")
    name = webtable.store.table_of(url)
    native = f"{base.rstrip('/')}/{name}" + (f"?{query}" if query else "")
    before = answers(native)

    taken = webtable_command("-s", native, "backup", "snapshot", "label", "--apply")
    harm(native)
    cloned = f"{name}_clone"
    webtable_command("-s", native, "backup", "snapshot", "label", "--clone", cloned, "--apply")
    webtable_command("-s", native, "backup", "snapshot", "label", "--restore", "--apply", "--yes")

    assert f"snapshot '{name}', '{name}.label'" in taken
    assert answers(native) == before
    assert answers(native.replace(f"/{name}", f"/{cloned}")) == before


def test_no_gateway_takes_snapshots(url):
    done = CliRunner().invoke(app, ["-s", url, "backup", "snapshot", "label", "--apply"])

    assert done.exit_code != 0
    assert "hbase+native://" in done.output
