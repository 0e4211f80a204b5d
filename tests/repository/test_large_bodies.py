"""Bodies over 10 MiB: as large as the store takes, refused with its limit in the message, and always read again."""

from __future__ import annotations

import os

import pytest
from sites import with_limit

import webtable
from webtable import Page, WebTable
from webtable.errors import CellTooLarge, DamagedRow, WriteFailed
from webtable.repository.page_storage import cells as values
from webtable.repository.page_storage.cells import MOST_UNPACKED, most_unpacked, pack, unpack
from webtable.rowkey import KeyRange
from webtable.store import NewCell, Put

MB = 1_000_000
URL = "https://example.com/report.pdf"
in_a_file = pytest.mark.parametrize("adapter", ["sqlite"], indirect=True, scope="session")


@in_a_file
@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_a_body_of_20_megabytes_is_stored_in_a_file_and_read_again(new_url, compression):
    body = os.urandom(20 * MB)
    with webtable.open(new_url(), create=True, compression=compression, indexes=[]) as table:
        table.put(Page(url=URL, body=body, content_type="application/pdf"))

        page, [version] = table.get(URL), table.history(URL, columns=["body"])

        assert page.body == version.body == body
        assert (page.size, page.content_type, page.truncated) == (20 * MB, "application/pdf", False)
        assert not table.maintenance.verify(webtable.ALL).damaged


def test_a_body_over_the_limit_is_refused_and_the_message_names_it(new_url):
    with webtable.open(with_limit(new_url()), create=True, indexes=[]) as table:
        writer = table.writer()
        writer.put(Page(url=URL, body=os.urandom(11 * MB)))
        writer.put(Page(url=f"{URL}?2", body=b"x"))

        with pytest.raises(WriteFailed, match=r"the limit is 10,420,224; max_body= cuts") as raised:
            writer.close()

        assert [type(failure.error) for failure in raised.value.failures] == [CellTooLarge]
        assert [page.url for page in table.pages(webtable.ALL)] == [f"{URL}?2"]


@in_a_file
def test_a_body_that_compresses_well_is_read_again_however_long_it_is(new_url, monkeypatch):
    monkeypatch.setattr(values, "MOST_UNPACKED", MB)
    with webtable.open(new_url(), create=True, indexes=[]) as table:
        table.put(Page(url=URL, body=bytes(30 * MB)))

        assert table.get(URL).body == bytes(30 * MB)


@in_a_file
def test_a_frame_that_holds_far_more_than_a_writer_makes_of_it_is_not_unpacked(new_url, monkeypatch):
    monkeypatch.setattr(values, "MOST_UNPACKED", MB)
    with webtable.open(new_url(), create=True, indexes=[]) as table:
        table.put(Page(url=URL, body=b"x"))
        plant(table, values.zstandard.ZstdCompressor(write_checksum=True).compress(bytes(30 * MB)))

        with pytest.raises(DamagedRow, match="claims to hold 30,000,000; at most 1,000,000 are unpacked"):
            table.get(URL)


@in_a_file
def test_a_frame_is_not_unpacked_beyond_the_limit_of_the_file(new_url, monkeypatch):
    monkeypatch.setattr(values, "MOST_UNPACKED", MB)
    with webtable.open(f"sqlite:{new_url()}?max_cell=2MB", create=True, indexes=[]) as table:
        table.put(Page(url=URL, body=b"x"))
        plant(table, pack([bytes(3 * MB)])[0])

        with pytest.raises(DamagedRow, match="at most 2,000,000 are unpacked"):
            table.get(URL)


def plant(table: WebTable, frame: bytes) -> None:
    """Put *frame* in the place of the body of the only page."""
    [row] = table.store.scan(table.table, [KeyRange()])
    [(column, [cell])] = [(name, cells) for name, cells in row.cells.items() if name.endswith(b":html")]
    table.store.write(table.table, [Put(row.key, [NewCell(column, cell.timestamp, frame)])])


@pytest.mark.slow
def test_no_frame_that_a_writer_makes_is_over_what_a_reader_unpacks():
    body = bytes(MOST_UNPACKED + 1)

    (frame,) = pack([body])

    assert len(body) <= most_unpacked(len(frame))
    assert unpack(frame) == body
