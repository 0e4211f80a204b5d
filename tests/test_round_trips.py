"""Out and in again: for every kind of capture, each format's round trip answers as the table that it was made of."""

from __future__ import annotations

import uuid

import pytest

import webtable
from capture_kinds import KINDS, answers, captures_of, indexed, moments_of, stored_kinds
from webtable.formats import read_backup, write_backup

FORMATS = ["jsonl", "parquet"]
CONTENT_AT = {"content_at"}


def new_table() -> webtable.WebTable:
    return webtable.open(f"memory:{uuid.uuid4().hex}", create=True, ttl=None, versions=None)


def out(table, folder, form):
    """Write all captures of *table* into *folder*, and return them as they are read again."""
    write_backup(table, folder, format=form, full_scan=True, file_bytes=20_000)
    return list(read_backup(folder))


def into(table, pages):
    with table.writer() as writer:
        receipts = [writer.put(page) for page in pages]
    assert [one.exception() for one in receipts if one.exception()] == []
    return table


@pytest.fixture(scope="module")
def source():
    with pytest.MonkeyPatch.context() as patch, new_table() as table:
        yield stored_kinds(table, patch)


@pytest.fixture(scope="module")
def read_again(source, tmp_path_factory):
    """Return the captures that a format gives, and the tables that they make."""
    known = {}

    def read(form):
        if form not in known:
            known[form] = out(source, tmp_path_factory.mktemp(form) / "out", form)
        return known[form]

    return read


@pytest.fixture(scope="module")
def imported(read_again):
    tables = {}

    def of(form, order):
        if (form, order) not in tables:
            pages = read_again(form)
            tables[form, order] = into(new_table(), pages if order == "oldest first" else reversed(pages))
        return tables[form, order]

    yield of
    for table in tables.values():
        table.close()


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("order", ["oldest first", "newest first"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_of_every_kind_answers_as_before(source, imported, form, order, kind):
    captures = captures_of(kind)
    url, moments = captures[0].url, moments_of(captures)

    again = imported(form, order)

    assert answers(again, url, moments, CONTENT_AT) == answers(source, url, moments, CONTENT_AT)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("order", ["oldest first", "newest first"])
def test_the_indexes_and_links_of_all_of_them_answer_as_before(source, imported, form, order):
    again = imported(form, order)

    assert indexed(again, CONTENT_AT) == indexed(source, CONTENT_AT)
