"""Indexes of WARC files and WACZ files: each line leads to its record, and each digest is that of its entry."""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import json
import zipfile

import pytest
from test_warc_out import START, URL, new_table, stored
from warc_folder import write_warc
from warcio.archiveiterator import ArchiveIterator

import webtable
from webtable import Page
from webtable.formats import surt, write_wacz


@pytest.fixture(scope="module")
def sample(small_web):
    with webtable.open(small_web.store) as table:
        yield table


def parsed(line):
    key, timestamp, fields = line.split(b" ", 2)
    return key.decode(), timestamp.decode(), json.loads(fields)


def record_at(stream, fields):
    """Return the record that a line of an index leads to, read from so many bytes there alone."""
    stream.seek(int(fields["offset"]))
    member = io.BytesIO(stream.read(int(fields["length"])))
    (record,) = ArchiveIterator(member, check_digests="raise")
    record.content_stream().read()
    return record


def check_line(line, record):
    key, timestamp, fields = parsed(line)
    headers = record.rec_headers
    assert key == surt(fields["url"])
    assert headers.get_header("WARC-Target-URI") == fields["url"]
    assert headers.get_header("WARC-Date").translate({ord(c): None for c in "-:TZ"})[:14] == timestamp
    assert headers.get_header("WARC-Payload-Digest") == fields.get("digest")
    assert record.http_headers.get_statuscode() == fields["status"]
    assert (record.rec_type == "revisit") == (fields["mime"] == "warc/revisit")


@pytest.mark.slow
def test_each_line_of_the_index_leads_to_its_record_and_they_are_sorted_as_bytes(sample, tmp_path):
    archived = write_warc(sample, tmp_path / "out", webtable.ALL, file_bytes=20_000)

    lines = (tmp_path / "out" / "index.cdxj").read_bytes().splitlines(keepends=True)

    assert lines == sorted(lines)
    assert len(lines) == archived.records
    assert {parsed(line)[2]["filename"] for line in lines} == set(archived.files)
    for line in lines:
        fields = parsed(line)[2]
        with (tmp_path / "out" / fields["filename"]).open("rb") as stream:
            check_line(line, record_at(stream, fields))


def test_a_wacz_file_has_stored_entries_with_their_digests(sample, tmp_path):
    archived = write_wacz(sample, tmp_path / "a.wacz", webtable.ALL, file_bytes=20_000)

    with zipfile.ZipFile(tmp_path / "a.wacz") as package:
        names = package.namelist()
        assert package.testzip() is None
        assert {entry.compress_type for entry in package.infolist()} == {zipfile.ZIP_STORED}
        listed = json.loads(package.read("datapackage.json"))
        assert (listed["profile"], listed["wacz_version"]) == ("data-package", "1.1.1")
        for resource in listed["resources"]:
            data = package.read(resource["path"])
            assert resource["hash"] == f"sha256:{hashlib.sha256(data).hexdigest()}"
            assert resource["bytes"] == len(data)
        digest = json.loads(package.read("datapackage-digest.json"))
        assert digest["hash"] == f"sha256:{hashlib.sha256(package.read(digest['path'])).hexdigest()}"
    own = {"datapackage.json", "datapackage-digest.json"}
    warcs = {f"archive/{file}" for file in archived.files}
    assert len(warcs) > 2
    assert (
        {one["path"] for one in listed["resources"]}
        == set(names) - own
        == warcs
        | {
            "indexes/index.cdx",
            "pages/pages.jsonl",
        }
    )


@pytest.mark.slow
def test_each_line_of_a_wacz_index_leads_to_its_record_in_the_zip(sample, tmp_path):
    archived = write_wacz(sample, tmp_path / "a.wacz", webtable.ALL)

    with zipfile.ZipFile(tmp_path / "a.wacz") as package:
        lines = package.read("indexes/index.cdx").splitlines(keepends=True)
        assert lines == sorted(lines)
        assert len(lines) == archived.records
        for line in lines:
            fields = parsed(line)[2]
            with package.open(f"archive/{fields['filename']}") as stream:
                check_line(line, record_at(stream, fields))


def test_the_pages_of_a_wacz_file_are_those_that_a_reader_would_open(tmp_path):
    pages = [
        Page(url=URL, body=b"<title>A page</title>", title="A page", content_type="text/html", fetched_at=START),
        Page(url=f"{URL}/gone", body=b"", status=404, fetched_at=START),
        Page(url=f"{URL}/image", body=b"x", content_type="image/png", fetched_at=START),
    ]

    write_wacz(stored(new_table(), pages), tmp_path / "a.wacz", webtable.ALL)

    with zipfile.ZipFile(tmp_path / "a.wacz") as package:
        heading, *lines = map(json.loads, package.read("pages/pages.jsonl").splitlines())
    assert heading["format"] == "json-pages-1.0"
    assert [(line["url"], line["ts"], line["title"]) for line in lines] == [(URL, "2026-03-01T10:20:30Z", "A page")]


@pytest.mark.slow
def test_a_wacz_file_takes_the_place_of_another_when_it_is_whole(sample, tmp_path):
    file = tmp_path / "a.wacz"
    file.write_bytes(b"the one before")

    def broken(pages):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_wacz(sample, file, webtable.ALL, on_progress=broken)

    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"the one before"]
    write_wacz(sample, file, webtable.ALL)
    assert zipfile.is_zipfile(file)


def test_a_checkout_without_metadata_writes_archives_too(tmp_path, monkeypatch):
    def unknown(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", unknown)

    write_wacz(stored(new_table(), [Page(url=URL, body=b"x", fetched_at=START)]), tmp_path / "a.wacz", webtable.ALL)

    with zipfile.ZipFile(tmp_path / "a.wacz") as package:
        assert json.loads(package.read("datapackage.json"))["software"] == "webtable"
