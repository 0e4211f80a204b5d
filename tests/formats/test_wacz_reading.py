"""Reading of WACZ files: as the WARC files in them, wherever a zip may hold these."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path

import pytest
from test_warc import HTML, record, response

import webtable
from webtable.errors import FormatError
from webtable.formats import ReadReport, read_pages, write_wacz
from webtable.formats.read import FilePart, parts_of, whole_parts

BROWSERTRIX = Path(__file__).parents[1] / "data" / "browsertrix.wacz"


def warc(*numbers: int) -> bytes:
    return b"".join(gzip.compress(record(response(), f"https://example.com/{number}")) for number in numbers)


def wacz(path: Path, entries: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> str:
    with zipfile.ZipFile(path, "w", compression) as zipped:
        for name, data in entries.items():
            zipped.writestr(name, data)
    return str(path)


def in_memory(entries: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as zipped:
        for name, content in entries.items():
            zipped.writestr(name, content)
    return data.getvalue()


def urls(source, **options) -> list[str]:
    return [page.url for page in read_pages(source, **options)]


def numbered(*numbers: int) -> list[str]:
    return [f"https://example.com/{number}" for number in numbers]


def test_a_crawl_of_browsertrix_is_read():
    report = ReadReport()

    pages = list(read_pages(BROWSERTRIX, report=report))

    assert [(page.url, page.status) for page in pages] == [
        ("https://example.com/", 200),
        ("https://example.com/favicon.ico", 404),
    ]
    assert pages[0].title == "Example Domain"
    assert (report.damaged_count, dict(report.left_out)) == (0, {"request": 2})


def test_what_browsers_record_beside_pages_is_left_out(tmp_path):
    # The names of the resources that ArchiveWeb.page and Browsertrix add.
    resources = [
        "urn:pageinfo:https://example.com/1",
        "urn:text:https://example.com/1",
        "urn:view:https://example.com/1",
    ]
    records = [record(b"{}", url, kind="resource", media="application/json") for url in resources]
    data = b"".join(map(gzip.compress, [*records, record(response(), "https://example.com/1")]))
    report = ReadReport()

    found = urls(wacz(tmp_path / "a.wacz", {"pages/pages.jsonl": b"{}", "archive/data.warc.gz": data}), report=report)

    assert (found, dict(report.left_out)) == (numbered(1), {"urn": 3})


def test_all_warc_files_are_read_and_reading_goes_on_at_any_place(tmp_path):
    entries = {
        "archive/b.warc.gz": warc(1, 2, 3),
        "indexes/index.cdx": b"-",
        "archive/a.warc": gzip.decompress(warc(4, 5)),
    }
    file, report = wacz(tmp_path / "a.wacz", entries), ReadReport()
    places = []
    for _ in read_pages(file, report=report):
        places.append(report.place)

    assert urls(file) == numbered(1, 2, 3, 4, 5)
    assert [urls(file, start=place) for place in places] == [numbered(*range(n, 6)) for n in (2, 3, 4, 5, 6)]


def test_a_collection_of_wacz_files_is_read(tmp_path):
    inner = [in_memory({"archive/data.warc.gz": warc(number)}) for number in (1, 2)]
    package = json.dumps({"profile": "multi-wacz-package"}).encode()

    file = wacz(tmp_path / "all.wacz", {"datapackage.json": package, "1.wacz": inner[0], "2.wacz": inner[1]})

    assert urls(file) == numbered(1, 2)


@pytest.mark.slow
def test_what_was_written_is_read(small_web, tmp_path):
    with webtable.open(small_web.store) as table:
        archived = write_wacz(table, tmp_path / "a.wacz", webtable.ALL, file_bytes=20_000)
        stored = {page.url for page in table.pages()}

    assert len(archived.files) > 2
    assert set(urls(tmp_path / "a.wacz", types=None)) == stored
    assert len(urls(tmp_path / "a.wacz", types=None)) == archived.records


def test_each_warc_file_is_a_part_that_is_divided_as_a_file_is(tmp_path):
    entries = {"archive/a.warc.gz": warc(*range(40)), "archive/b.warc.gz": warc(*range(40, 50))}
    file = wacz(tmp_path / "a.wacz", entries)

    wholes, parts = whole_parts(file), list(parts_of(file, size=1_000))

    assert [part.stop - part.begin for part in wholes] == [len(data) for data in entries.values()]
    assert {parts[0].begin, parts[-1].stop} == {wholes[0].begin, wholes[1].stop}
    for some in (wholes, parts):
        found = []
        for part in some:
            with part.opened() as source:
                found += urls(source, start=webtable.formats.Place(part.begin))
        assert found == numbered(*range(50))


def flagged_as_encrypted(data: bytes) -> bytes:
    at = data.index(b"PK\x01\x02")
    return data[: at + 8] + b"\x01" + data[at + 9 :]


def overlapping() -> bytes:
    """Return a zip that lists its one entry twice."""
    data = in_memory({"a.warc": warc(1)})
    directory, end = data.index(b"PK\x01\x02"), data.index(b"PK\x05\x06")
    entry, size = data[directory:end], 2 * (end - directory)
    tail = data[end : end + 8] + b"\x02\x00\x02\x00" + size.to_bytes(4, "little") + data[end + 16 :]
    return data[:directory] + entry + entry + tail


HELD = in_memory({"archive/data.warc.gz": warc(1)})
REFUSED = {
    "a zip of something else": (in_memory({"a.txt": b"text"}), "without a WARC, ARC or HAR file"),
    "a list of WACZ files": (in_memory({"datapackage.json": b"{}"}), "needs these"),
    "cut": (HELD[:-30], "its zip cannot be read"),
    "encrypted": (flagged_as_encrypted(HELD), "unzip"),
    "one entry twice": (overlapping(), "overlap"),
    "nested deeply": (in_memory({"a.wacz": in_memory({"b.wacz": HELD})}), "without a WARC, ARC or HAR file"),
    "no zip in it": (in_memory({"a.wacz": b"PK"}), "its zip cannot be read"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_zip_that_cannot_be_read_says_why(tmp_path, case):
    data, reason = REFUSED[case]
    (tmp_path / "a.wacz").write_bytes(data)

    with pytest.raises(FormatError, match=reason):
        urls(tmp_path / "a.wacz")
    assert whole_parts(str(tmp_path / "a.wacz")) == [FilePart(str(tmp_path / "a.wacz"))]


def test_a_warc_file_that_the_zip_compresses_is_refused(tmp_path):
    file = wacz(tmp_path / "a.wacz", {"archive/a.warc": gzip.decompress(warc(1))}, zipfile.ZIP_DEFLATED)

    with pytest.raises(FormatError, match=r"'archive/a.warc' is compressed by the zip, .* unzip the file"):
        urls(file)


def test_a_pipe_is_refused_since_a_zip_is_read_from_its_end():
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    with pytest.raises(FormatError, match="give it as a file"):
        urls(Pipe(HELD))


@pytest.mark.parametrize("cut", range(1, len(HELD), 7))
def test_a_cut_file_is_an_error_or_has_no_pages(tmp_path, cut):
    (tmp_path / "a.wacz").write_bytes(HELD[:cut])

    with pytest.raises(FormatError):
        assert urls(tmp_path / "a.wacz") == []


def test_the_bodies_are_those_of_the_warc_file(tmp_path):
    (page,) = read_pages(wacz(tmp_path / "a.wacz", {"archive/data.warc.gz": warc(1)}))

    assert page.body == HTML
