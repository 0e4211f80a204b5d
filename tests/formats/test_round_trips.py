"""Out and in again: for every kind of capture, each format's round trip answers as the table that it was made of."""

from __future__ import annotations

import io
import subprocess
import sys
import uuid
import zipfile
from datetime import timedelta

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_warc_out import checked_by_warcio
from warc_folder import write_warc

import webtable
from capture_kinds import KINDS, START, answers, captures_of, fields_of, indexed, moments_of, stored_kinds
from nightly import examples, some
from webtable import Page
from webtable._clock import milliseconds
from webtable.formats import read_export, read_pages, write_export, write_wacz
from webtable.page.body import digest_of
from webtable.store import Delete

FORMATS = ["jsonl", "parquet", "warc", "wacz"]
# By day each format in one of the orders, and each order with some of them.
IN_ORDER = some([(form, order) for order in ("oldest first", "newest first") for form in FORMATS], 2)
# Where a body lies is a matter of the table that has it, and so is in which order captures came.
CONTENT_AT = {"content_at", "unchanged", "has_late"}


def new_table() -> webtable.WebTable:
    return webtable.open(f"memory:{uuid.uuid4().hex}", create=True, ttl=None, versions=None)


def out(table, folder, form):
    """Write all captures of *table* into *folder*, and return them as they are read again."""
    options = {"site": webtable.ALL, "file_bytes": 20_000}
    if form in ("warc", "jsonl", "parquet"):
        write_export(table, folder, format=form, **options)
        return list(read_export(folder))
    write_wacz(table, folder.with_suffix(".wacz"), **options)
    zipfile.ZipFile(folder.with_suffix(".wacz")).extractall(folder)
    files = sorted(folder.rglob("*.warc.gz"))
    return [page for file in files for page in read_pages(file, types=None, verify_digests=True)]


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


@pytest.fixture(scope="module")
def answered(source):
    """What the pages of all kinds answer, but for where their bodies lie, which is asked once."""
    return {kind: answers(source, *asked_of(kind), CONTENT_AT) for kind in KINDS}


@pytest.mark.slow
@pytest.mark.parametrize(("form", "order"), IN_ORDER)
def test_a_page_of_every_kind_answers_as_before(answered, imported, form, order):
    again = imported(form, order)

    for kind in KINDS:
        assert answers(again, *asked_of(kind), CONTENT_AT) == answered[kind], kind


@pytest.mark.parametrize(("form", "order"), IN_ORDER)
def test_the_indexes_and_links_of_all_of_them_answer_as_before(source, imported, form, order):
    again = imported(form, order)

    assert indexed(again, CONTENT_AT) == indexed(source, CONTENT_AT)


@pytest.fixture(scope="module")
def copied(source):
    with new_table() as target:
        source.maintenance.copy(target)
        yield target


@pytest.mark.slow
def test_a_copy_of_a_page_of_every_kind_answers_as_its_source(source, copied):
    for kind in KINDS:
        assert answers(copied, *asked_of(kind)) == answers(source, *asked_of(kind)), kind


def test_the_indexes_and_links_of_a_copy_answer_as_those_of_its_source(source, copied):
    assert indexed(copied) == indexed(source)


def test_other_programs_read_a_record_for_each_capture_and_find_no_wrong_digest(source, tmp_path):
    archived = write_warc(source, tmp_path / "out", webtable.ALL)

    records = [
        (one.record_type, one.headers["WARC-Target-URI"], one.http_headers.status_code)
        for file in archived.files
        for one in ArchiveIterator(io.BytesIO((tmp_path / "out" / file).read_bytes()), verify_digests=True)
        if one.record_type in (WarcRecordType.response, WarcRecordType.revisit)
    ]
    assert len(records) == archived.records
    assert [one[:2] for one in records] == [
        (getattr(WarcRecordType, kind), url) for kind, url in checked_by_warcio(tmp_path / "out") if url is not None
    ]


@pytest.mark.slow
def test_several_workers_make_the_same_table_of_archives(source, answered, tmp_path):
    write_warc(source, tmp_path / "out", webtable.ALL, file_bytes=10_000)
    command = [sys.executable, "-m", "webtable.cli", "-s", str(tmp_path / "again.db"), "ingest", str(tmp_path / "out")]

    done = subprocess.run([*command, "--types", "all", "--workers", "3"], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    with webtable.open(tmp_path / "again.db") as again:
        assert differing(answered, again) == []
        assert indexed(again, CONTENT_AT) == indexed(source, CONTENT_AT)


@pytest.mark.hbase
@pytest.mark.parametrize("form", [pytest.param("jsonl", marks=pytest.mark.nightly), "warc"])
def test_a_table_on_hbase_made_of_an_export_answers_as_before(source, answered, read_again, hbase_url, form):
    base, _, query = hbase_url.partition("?")
    url = f"{base.rstrip('/')}/round_{uuid.uuid4().hex[:8]}?{query}"
    with webtable.open(url, create=True, ttl=None, versions=None) as again:
        try:
            into(again, read_again(form))

            assert differing(answered, again) == []
            assert indexed(again, CONTENT_AT) == indexed(source, CONTENT_AT)
        finally:
            for name in again.store.tables():
                if name.startswith(again.table):
                    again.store.drop_table(name)


def asked_of(kind):
    """Return the URL of a page of that kind, and the moments at which it is asked for."""
    captures = captures_of(kind)
    return captures[0].url, moments_of(captures)


def differing(answered, again):
    """Return the kinds of captures whose pages answer otherwise."""
    return [kind for kind in KINDS if answers(again, *asked_of(kind), CONTENT_AT) != answered[kind]]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("order", ["oldest first", "newest first"])
def test_a_page_whose_content_has_expired_has_no_body_and_not_an_older_one(tmp_path, form, order):
    url, bodies = "https://expired.example/", [b"<p>old", b"<p>lost", b"<p>lost"]
    captures = [
        Page(url=url, body=body, content_type="text/html", fetched_at=START + timedelta(minutes=minute))
        for minute, body in enumerate(bodies)
    ]
    with new_table() as table, new_table() as again:
        into(table, captures)
        names = table._context.codec.columns
        row, at = table.key.encode(url), milliseconds(captures[1].fetched_at)
        table.store.write(table.table, [Delete(row, at, (names.capture, names.body, names.urls), exact=True)])
        table.maintenance.alter(ttl=10**9)  # for how long it was kept before, nobody knows

        pages = out(table, tmp_path / "out", form)
        into(again, pages if order == "oldest first" else reversed(pages))

        found, was = (fields_of(one.get(url), CONTENT_AT | {"has_body", "outlink_count"}) for one in (again, table))
        assert found == was
        assert (found["body"], found["digest"], again.get(url).has_body) == (None, digest_of(b"<p>lost"), False)
        assert again.get(url, as_of=captures[0].fetched_at).body == b"<p>old"


BODIES = st.sampled_from([None, b"", b"<title>a</title>", b"<title>b</title><a href=/x>x</a>", b"\x00pdf"])
CAPTURES = st.lists(
    st.builds(
        lambda minute, body, status, digest, headers, repeats: Page(
            url="https://any.example/",
            body=None if repeats else body,
            status=status,
            digest=digest if body is None and not repeats else None,
            headers=headers,
            same_as="https://any.example/" if repeats else None,
            fetched_at=START + timedelta(minutes=minute),
        ),
        st.integers(0, 8),
        BODIES,
        st.sampled_from([200, 200, 203, 301, 304, 404, 500]),
        st.sampled_from([None, "blake3:" + "cd" * 32]),
        st.sampled_from([{"X-A": "1"}, {"X-A": "2", "X-B": "é"}, {"Content-Language": "de", "ETag": '"1"'}]),
        st.booleans(),
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda page: page.fetched_at,
)


@pytest.mark.slow
@settings(
    max_examples=examples(by_day=25, by_night=60),
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
@given(CAPTURES, st.sampled_from(["jsonl", "warc"]), st.randoms(use_true_random=False))
def test_whatever_became_of_a_page_comes_back_in_any_order(tmp_path_factory, captures, form, random):
    with new_table() as table, new_table() as again:
        for page in captures:
            table.put(page)
        pages = out(table, tmp_path_factory.mktemp("any") / "out", form)
        random.shuffle(pages)

        into(again, pages)

        told = [answers(one, "https://any.example/", moments_of(captures), CONTENT_AT) for one in (again, table)]
        for one in told:
            del one["first seen"]  # that of a repeat which no table keeps
        assert told[0] == told[1]
