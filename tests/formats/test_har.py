"""HAR files, as browsers and proxies write them: an entry is a page as a WARC record is one."""

from __future__ import annotations

import base64
import gzip
import io
import json
import random
from datetime import UTC, datetime

import pytest

from webtable.errors import FormatError
from webtable.formats import ReadLimits, ReadReport, read_pages

URL = "https://example.com/"
HTML = "<!doctype html><title>A page</title>"


def entry(
    path: str = "", text: str | None = HTML, headers: dict[str, str] | None = None, method: str = "GET", **fields
):
    """Return an entry; *fields* are those of its parts."""
    content = {"size": len((text or "").encode()), "mimeType": "text/html"} | ({} if text is None else {"text": text})
    sent = {"Content-Type": "text/html"} if headers is None else headers
    return {
        "startedDateTime": fields.get("date", "2026-03-01T10:20:30.123Z"),
        "time": 12.5,
        "_resourceType": "document",
        "_initiator": {"type": "other", "stack": {"callFrames": [{"url": "x"}]}},
        "request": {
            "method": method,
            "url": path if ":" in path else URL + path,
            "httpVersion": "h2",
            "headers": [{"name": "Cookie", "value": "session=secret"}, {"name": "Authorization", "value": "secret"}],
            "queryString": [],
            "cookies": [{"name": "session", "value": "secret"}],
            "headersSize": -1,
            "bodySize": 0,
        }
        | fields.get("request", {}),
        "response": {
            "status": 200,
            "statusText": "",
            "httpVersion": "h2",
            "headers": [{"name": name, "value": value} for name, value in sent.items()],
            "cookies": [{"name": "a", "value": "secret"}],
            "content": content | fields.get("content", {}),
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": -1,
        }
        | fields.get("response", {}),
        "cache": {},
        "timings": {"send": 0, "wait": 1, "receive": 1},
    }


def har(*entries: object, indent: int | None = None) -> bytes:
    pages = [{"id": "page_1", "title": 'brackets ] } in "quotation marks" \\', "pageTimings": {}}]
    log = {
        "version": "1.2",
        "creator": {"name": "x", "version": "1"},
        "pages": pages,
        "entries": entries,
        "comment": "]",
    }
    return json.dumps({"log": log}, indent=indent).encode()


def read(data: bytes, **options):
    report = ReadReport()
    return list(read_pages(io.BytesIO(data), report=report, **options)), report


@pytest.mark.parametrize(
    "data",
    [
        har(entry("a"), entry("b")),
        har(entry("a"), entry("b"), indent=4),
        b"\xef\xbb\xbf" + har(entry("a"), entry("b")),
        gzip.compress(har(entry("a"), entry("b"))),
        har(entry("a"), entry("b")).replace(b'"1.2"', b'"1.1"'),
        har(entry("a", "x" * 100_000 + HTML), entry("b", '\\"' * 50_000)),
    ],
    ids=["plain", "indented", "byte order mark", "gzip", "1.1", "long texts"],
)
def test_the_entries_of_a_har_file_are_its_pages(data):
    pages, report = read(data)

    assert [page.url for page in pages] == [f"{URL}a", f"{URL}b"]
    assert pages[0].fetched_at == datetime(2026, 3, 1, 10, 20, 30, 123_000, tzinfo=UTC)
    assert (pages[0].status, pages[0].content_type) == (200, "text/html")
    assert (report.records, report.pages, report.damaged_count) == (2, 2, 0)


def test_nothing_of_a_request_is_in_its_page():
    (page,), _ = read(
        har(entry("a", headers={"Content-Type": "text/html", ":status": "200", "Set-Cookie": "a=1\nb=2"}))
    )

    assert dict(page.headers) == {"Content-Type": "text/html", "Set-Cookie": "a=1, b=2"}
    assert "secret" not in repr(page)


@pytest.mark.parametrize(
    ("entries", "left_out"),
    [
        ([entry(response={"status": status}) for status in (0, -1, -999, None)], {"failed request": 4}),
        ([entry() | {"response": None}], {"failed request": 1}),
        ([entry("wss://example.com/"), entry("data:text/html,x"), entry("blob:x")], {"wss": 1, "data": 1, "blob": 1}),
        ([entry(response={"status": 101})], {"status 101": 1}),
        ([entry(text=None, content={"size": size}) for size in (9, -1, None)], {"without content": 3}),
        ([entry(text="", content={"size": 9}), entry(text=None, response={"bodySize": 9})], {"without content": 2}),
        ([entry(text=None, response={"content": None})], {"without content": 1}),
        ([entry(headers={"Content-Type": "image/png"})], {"image/png": 1}),
    ],
)
def test_what_has_no_answer_or_no_content_is_no_page(entries, left_out):
    pages, report = read(har(*entries))

    assert (pages, report.left_out, report.damaged_count) == ([], left_out, 0)


@pytest.mark.parametrize(
    ("fields", "status", "body"),
    [
        ({"text": None, "content": {"size": 0}}, 200, b""),
        ({"text": None, "response": {"status": 204}}, 204, b""),
        ({"text": None, "response": {"status": 404}}, 404, b""),
        ({"text": None, "response": {"status": 302, "redirectURL": f"{URL}there"}}, 302, b""),
        ({"response": {"status": 304}}, 304, None),
        ({"response": {"status": "200"}}, 200, HTML.encode()),
    ],
)
def test_an_answer_without_content_that_had_none_is_a_page(fields, status, body):
    (page,), _ = read(har(entry(**fields)))

    assert (page.status, page.body) == (status, body)
    assert page.redirect_to == (f"{URL}there" if status == 302 else None)
    assert page.same_as == (URL if status == 304 else None)


B64 = base64.b64encode(HTML.encode()).decode()


@pytest.mark.parametrize(
    ("fields", "body", "is_truncated"),
    [
        ({"text": B64, "content": {"encoding": "base64", "size": len(HTML)}}, HTML.encode(), False),
        ({"text": B64, "content": {"size": len(HTML)}}, HTML.encode(), False),  # as 1.1 has it
        ({"content": {"size": 36, "compression": 26}, "response": {"bodySize": 10}}, HTML.encode(), False),
        (
            {"headers": {"Content-Type": "text/html", "Content-Encoding": "br", "Content-Length": "999"}},
            HTML.encode(),
            False,
        ),
        ({"headers": {"Content-Type": "text/html", "Content-Length": "999"}}, HTML.encode(), True),
        ({"content": {"size": 999}}, HTML.encode(), True),
        ({"text": "caf\u00e9", "headers": {"Content-Type": "text/html; charset=iso-8859-1"}}, b"caf\xe9", False),
        ({"text": "<meta charset=shift_jis>\u65e5"}, b"<meta charset=shift_jis>\x93\xfa", False),
        ({"text": "\u65e5", "headers": {"Content-Type": "text/html; charset=latin1"}}, "\u65e5".encode(), False),
    ],
)
def test_the_body_is_what_the_server_sent_without_its_encodings(fields, body, is_truncated):
    (page,), _ = read(har(entry(**fields)))

    assert (page.body, page.truncated) == (body, is_truncated)
    assert page.text is not None
    assert page.text.encode() == HTML.encode() or "\ufffd" not in page.text


def test_answers_to_other_methods_follow_the_rule_of_warc_files():
    form = {"postData": {"mimeType": "application/x-www-form-urlencoded", "text": "a=b"}}
    params = {"postData": {"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "c", "value": "d"}]}}
    data = har(entry(method="POST", request=form), entry(method="POST", request=params), entry(method="OPTIONS"))

    pages, report = read(data)
    every, _ = read(data, methods=None)

    assert (pages, report.other_methods) == ([], {"POST": 2, "OPTIONS": 1})
    assert [page.url.partition("__wb_method=")[2] for page in every] == ["POST&a=b", "POST&c=d", "OPTIONS"]


@pytest.mark.parametrize(
    ("date", "moment"),
    [
        ("2020-05-09T18:07:29.896+08:00", "2020-05-09T10:07:29.896"),
        ("2020-05-09T18:07:29.896+0800", "2020-05-09T10:07:29.896"),
        ("2017-09-02T10:00:00.1234567Z", "2017-09-02T10:00:00.123"),
        ("2013-05-14 07:31:55", "2013-05-14T07:31:55.000"),
        (1577934245678, "2020-01-02T03:04:05.678"),
    ],
)
def test_dates_are_read_as_programs_write_them(date, moment):
    (page,), _ = read(har(entry(date=date)))

    assert page.fetched_at.isoformat(timespec="milliseconds") == f"{moment}+00:00"


@pytest.mark.parametrize("date", ["", None, {}, "NaN", "yesterday", [], 1e300])
def test_without_a_date_that_of_the_server_counts(date):
    dated = {"Content-Type": "text/html", "Date": "Sun, 06 Nov 1994 08:49:37 GMT"}

    pages, report = read(har(entry(date=date, headers=dated), entry(date=date)))

    assert [page.fetched_at for page in pages] == [datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)]
    assert [damaged.reason.partition(":")[0] for damaged in report.damaged] == ["its startedDateTime is no date"]


def test_an_entry_that_cannot_be_read_is_named_and_the_others_are_read():
    damaged = [3, None, [], {}, {"request": {}}, entry(text="%", content={"encoding": "base64"})]

    pages, report = read(har(entry("a"), *damaged, entry("z")))

    assert [page.url for page in pages] == [f"{URL}a", f"{URL}z"]
    assert (report.damaged_count, report.records) == (6, 8)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (har(entry("a"), entry("b"))[:-40], "the file ends inside its JSON"),
        (har(entry("a"))[:-1], "the file ends inside its JSON"),
        (har(entry("a")) + b"{}", "something follows its JSON"),
        (har(entry("a")).replace(b', {"name"', b' {"name"'), None),
        (b'{"log":{"version":"1.2"}}', "without the entries"),
        (b'{"log":{"entries":{}}}', "where b'\\['"),
        (b'{"log":{"entries":[}}}', "where ','"),
        (b'{"log":{3:1}}', "a member has no name"),
    ],
)
def test_a_file_that_is_cut_or_no_json_is_an_error_after_its_pages(data, reason):
    if reason is None:
        assert read(data)[1].damaged_count == (data != har(entry("a")))
        return
    with pytest.raises(FormatError, match=reason):
        read(data)


def value(chance: random.Random, depth: int = 6):
    """Return any JSON value, with brackets and escapes in its texts."""
    kind = chance.randrange(5) if depth else 4
    if kind < 2:
        return [value(chance, depth - 1) for _ in range(chance.randrange(6))]
    if kind < 4:
        return {text(chance): value(chance, depth - 1) for _ in range(chance.randrange(6))}
    return chance.choice([text(chance), 1.5, None, True])


def text(chance: random.Random) -> str:
    return "".join(chance.choice('[]{}"\\,:ab\n') for _ in range(chance.choice([0, 1, 5, 60, 200])))


def test_an_entry_ends_where_its_brackets_do_whatever_is_in_it():
    chance = random.Random(5)
    entries = [entry(str(number)) | {"_any": value(chance)} for number in range(300)]

    pages, report = read(har(*entries))

    assert [page.url for page in pages] == [f"{URL}{number}" for number in range(300)]
    assert report.damaged_count == 0


def test_a_name_over_its_limit_is_an_error():
    with pytest.raises(FormatError, match="a name of over"):
        read(b'{"log":{"' + b"x" * 2_000 + b'":1,"entries":[]}}')


@pytest.mark.parametrize(
    ("bad", "limit", "value"),
    [
        (entry(text="x" * 20_000), "record", 10_000),
        (entry(headers={"A": "x" * 3_000}), "head", 1_000),
        (entry(headers={f"A{number}": "" for number in range(30)}), "fields", 20),
    ],
)
def test_an_entry_over_a_limit_is_skipped_and_counted_by_its_name(bad, limit, value):
    pages, report = read(har(bad, entry("good")), limits=ReadLimits(**{limit: value}))

    assert ([page.url for page in pages], report.skipped) == ([f"{URL}good"], {limit: 1})


def test_half_a_character_is_replaced_as_in_json_lines():
    (page,), report = read(har(entry()).replace(b"A page", b"\\ud83dA page"))

    assert (page.title, report.replaced) == ("\ufffdA page", 1)


def test_reading_goes_on_after_any_entry():
    data = har(*map(entry, "abc"))
    report = ReadReport()

    first = next(read_pages(io.BytesIO(data), report=report))

    assert first.url == f"{URL}a"
    assert [page.url for page in read_pages(io.BytesIO(data), start=report.place)] == [f"{URL}b", f"{URL}c"]


@pytest.mark.parametrize(
    ("fields", "fetch"),
    [
        ({}, (12, None, "h2")),
        ({"serverIPAddress": "[2001:db8::1]", "time": 1015.8240000000105}, (1016, "2001:db8::1", "h2")),
        ({"serverIPAddress": "", "time": -1}, (None, None, "h2")),
        ({"serverIPAddress": 7, "time": "x"}, (None, None, "h2")),
        ({"serverIPAddress": "192.0.2.1", "time": None}, (None, "192.0.2.1", "h2")),
    ],
)
def test_an_entry_says_how_long_it_took_which_server_answered_and_how(fields, fetch):
    (page,), _ = read(har(entry() | fields))

    assert (page.duration, page.server_address, page.protocol) == fetch


@pytest.mark.parametrize(
    ("version", "protocol"), [("HTTP/1.1", "http/1.1"), ("http/2.0", "h2"), ("h3", "h3"), ("unknown", None), (2, None)]
)
def test_the_protocol_has_the_name_that_tls_negotiates(version, protocol):
    (page,), _ = read(har(entry(response={"httpVersion": version})))

    assert page.protocol == protocol
