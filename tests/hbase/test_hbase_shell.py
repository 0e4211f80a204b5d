"""The lines that webtable prints for HBase's shell do there what they say; those for snapshots have their own file."""

from __future__ import annotations

import time
import uuid
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from shell import Shell
from typer.testing import CliRunner

import webtable
from webtable import Page
from webtable.cli import app

pytestmark = pytest.mark.hbase

PAGE = "https://shell.example/"


@pytest.fixture
def url(hbase_url):
    """The URL of a web table that is not there yet; what it is made of is dropped at the end."""
    name = f"shell_{uuid.uuid4().hex[:8]}"
    base, _, query = hbase_url.partition("?")
    yield f"{base.rstrip('/')}/{name}?{query}"
    with webtable.store.open_store(hbase_url)[0] as store:
        for one in store.tables():
            if one.startswith(name):
                store.drop_table(one)


def invoke(url, *args, exit_code=0):
    done = CliRunner().invoke(app, ["-s", url, *args])
    assert done.exit_code == exit_code, done.output
    return done.output


def lines_in(output):
    return output.partition("HBase shell:")[2]


def by_thrift1(url):
    return url.partition("?")[0]


def test_tables_that_its_lines_create_are_as_create_wants_them(url, shell):
    options = ["create", "--regions", "4", "--ttl", "30d", "--versions", "2", "--indexes", "host"]
    shell.run(lines_in(invoke(url, *options, "--dry-run")))

    assert "already exists as requested" in invoke(url, *options, "--dry-run")
    invoke(by_thrift1(url), *options)  # Thrift1 could create none of them

    with webtable.open(url) as table:
        assert len(table.store.regions(table.table)) == 4
        table.put(Page(url=PAGE, body=b"stored"))
        assert table.get(PAGE).body == b"stored"


def test_families_that_its_lines_alter_are_as_alter_wants_them(url, shell):
    webtable.create(url, indexes=[])
    options = ["alter", "--ttl", "30d", "--versions", "5"]
    lines = lines_in(invoke(url, *options, "--dry-run"))
    invoke(by_thrift1(url), *options, "--yes", exit_code=3)

    shell.run(lines)

    invoke(by_thrift1(url), *options, "--yes")  # Thrift1 alone stores the layout when the families are there
    with webtable.open(url) as table:
        assert (table.layout.ttl, table.layout.versions) == (30 * 86_400, 5)
    assert "as requested" in invoke(url, *options, "--dry-run")


def test_after_its_lines_have_compacted_a_delete_is_forgotten(url, shell):
    capture = Page(url=PAGE, body=b"older", fetched_at=datetime.now(UTC) - timedelta(days=1))
    with webtable.open(url, create=True, indexes=[]) as table:
        table.put(capture)
        table.delete(PAGE)
    name = url.rpartition("/")[2].partition("?")[0]

    shell.run(lines_in(invoke(url, "compact", exit_code=3)))
    while "NONE" not in shell.run(f"compaction_state '{name}'"):
        time.sleep(0.05)
    invoke(url, "compact", "--forget-deletes", "--yes")

    with webtable.open(url) as table:
        table.put(capture)
        assert table.get(PAGE).body == b"older"


def test_the_shell_ends_at_the_first_line_that_fails(container):
    with closing(Shell(container)) as shell:
        with pytest.raises(AssertionError, match="Table no_such does not exist") as failed:
            shell.run("list\ndisable 'no_such'\nputs 'this ' + 'line'")

        assert "this line" not in str(failed.value)
        assert shell.exit_code() not in (None, 0)


def test_the_command_has_no_other_part_than_the_shell(container):
    code, written = container.exec_run(["hbase", "hbck"])

    assert (code, b"hbase shell [-n] [FILE]" in written) == (2, True)
