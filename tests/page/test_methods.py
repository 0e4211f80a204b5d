"""Which method a response of a WARC file answers, and the URL under which one to another than GET is stored."""

from __future__ import annotations

import gzip
import io
import json
import random
import tracemalloc
import uuid
from pathlib import Path

import pytest
from warc_folder import write_warc

import webtable
from webtable.errors import InvalidArgument
from webtable.formats import Place, ReadReport, read_pages, surt
from webtable.formats.read import parts_of
from webtable.formats.warc import MOST_BYTES, MOST_RECORDS
from webtable.page.methods import Request, request_of, split_request, stored_url

URL = "https://example.com/a"
FORM = "application/x-www-form-urlencoded"


def record(
    kind: str, block: bytes, *, url: str = URL, second: int = 0, identity: str = "", to: str = "", **fields: str
) -> bytes:
    lines = {
        "WARC-Type": kind,
        "WARC-Target-URI": url,
        "WARC-Date": f"2026-11-01T00:{second // 60:02}:{second % 60:02}Z",
        "WARC-Record-ID": f"<urn:uuid:{identity or uuid.uuid4()}>",
        **({"WARC-Concurrent-To": f"<urn:uuid:{to}>"} if to else {}),
        **{name.replace("_", "-"): value for name, value in fields.items()},
        "Content-Length": str(len(block)),
    }
    return ("WARC/1.1\r\n" + "".join(f"{n}: {v}\r\n" for n, v in lines.items()) + "\r\n").encode() + block + b"\r\n\r\n"


def request(method: str = "GET", content: bytes = b"", media: str = "", **fields: str) -> bytes:
    head = f"{method} /a HTTP/1.1\r\n" + (f"Content-Type: {media}\r\n" if media else "")
    return record("request", head.encode() + f"Content-Length: {len(content)}\r\n\r\n".encode() + content, **fields)


def response(title: str = "A page", *, kind: str = "response", size: int = 0, **fields: str) -> bytes:
    body = f"<title>{title}</title>".encode() + b" " * size
    return record(kind, b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + body, **fields)


def read(*records: bytes, **options):
    report = ReadReport()
    return list(read_pages(io.BytesIO(b"".join(records)), report=report, **options)), report


@pytest.mark.parametrize("method", ["POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE", "PURGE", "post"])
@pytest.mark.parametrize("order", ["request first", "response first"])
@pytest.mark.parametrize("named", ["by the request", "by the response", "not at all"])
def test_a_response_to_another_method_is_left_out_and_counted(method, order, named):
    asked = request(method, identity="q", to="s" if named == "by the request" else "", second=1)
    answer = response("Thanks", identity="s", to="q" if named == "by the response" else "", second=1)
    pair = (asked, answer) if order == "request first" else (answer, asked)

    pages, report = read(request(second=0), response("The page", second=0), *pair)

    assert [page.title for page in pages] == ["The page"]
    assert report.other_methods == {method.upper(): 1}
    assert report.left_out == {"request": 2}
    assert (report.records, report.pages, report.damaged_count) == (4, 1, 0)


def test_a_form_does_not_replace_its_page(tmp_path):
    posted = request("POST", b"name=J", FORM, second=60), response("Thanks, J", second=60)
    (tmp_path / "crawl.warc").write_bytes(request() + response("The page") + b"".join(posted))

    with webtable.open(tmp_path / "crawl.db", create=True) as table, table.writer() as writer:
        writer.put_many(read_pages(tmp_path / "crawl.warc", methods=None))
        writer.flush()
        found = {page.url: page.title for page in table.pages("example.com")}

    assert found == {URL: "The page", f"{URL}?__wb_method=POST&name=J": "Thanks, J"}


def test_a_request_in_another_place_of_the_file_is_found_by_the_ids():
    methods = ["GET", "POST", "OPTIONS", "GET", "HEAD"]
    responses = [response(str(n), identity=f"s{n}") for n in range(5)]
    requests = [request(method, identity=f"q{n}", to=f"s{n}") for n, method in enumerate(methods)]

    behind, _ = read(*responses, *reversed(requests))
    before, report = read(*reversed(requests), *responses)

    assert [page.title for page in behind] == [page.title for page in before] == ["0", "3"]
    assert report.other_methods == {"POST": 1, "OPTIONS": 1, "HEAD": 1}


def test_a_request_in_another_place_is_found_by_its_url_and_date_where_no_ids_are():
    others = [response(str(n), url=f"https://example.com/{n}", second=1) for n in range(20)]

    behind, _ = read(response("Thanks"), *others, request("POST"))
    before, report = read(request("POST"), *others, response("Thanks"))

    assert [page.title for page in behind] == [page.title for page in before] == [str(n) for n in range(20)]
    assert report.other_methods == {"POST": 1}


def test_a_preflight_and_its_page_of_one_second_are_told_apart():
    pairs = [request("OPTIONS"), response("nothing"), request("GET"), response("The page")]
    turned = [pairs[1], pairs[0], pairs[3], pairs[2]]

    found = [[page.title for page in read(*records)[0]] for records in (pairs, turned)]

    assert found == [["The page"], ["The page"]]


def test_a_request_that_names_another_response_says_nothing_of_its_neighbour():
    lost = request("POST", to="lost")

    pages, report = read(lost, response("The page"), request("POST", to="lost as well"))

    assert [page.title for page in pages] == ["The page"]
    assert report.other_methods == {}


def test_a_response_without_a_request_counts_as_one_to_get_unless_a_field_says_another_method():
    hinted = response("Thanks", second=2, WARC_Request_Method="POST")

    pages, report = read(response("The page"), hinted, response("Same", second=3, WARC_Method="get"))

    assert [page.title for page in pages] == ["The page", "Same"]
    assert report.other_methods == {"POST": 1}


def test_a_request_is_looked_for_among_so_many_records_and_bytes_and_what_is_held_is_bounded():
    def between(number: int, size: int = 0) -> list[bytes]:
        return [record("metadata", b" " * size, url=f"https://example.com/{n}") for n in range(number)]

    near, _ = read(response(identity="s"), *between(MOST_RECORDS - 2), request("POST", to="s"))
    far, _ = read(response(identity="s"), *between(MOST_RECORDS), request("POST", to="s"))
    large, _ = read(response(identity="s"), *between(17, MOST_BYTES // 16), request("POST", to="s"))
    tracemalloc.start()
    count = sum(1 for _ in read_pages(io.BytesIO(response(size=1 << 20) * 60), extract=False))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert [len(near), len(far), len(large), count] == [0, 1, 1, 60]
    assert peak < 2 * MOST_BYTES + 60 * (1 << 20)  # the file itself is in memory as well


def test_pages_of_a_pipe_do_not_wait_for_a_request_that_never_comes():
    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.given = 0

        def readable(self) -> bool:
            return True

        def read(self, size: int = -1) -> bytes:
            self.given += 1
            return response(str(self.given), second=self.given) if self.given < 1_000 else b""

    pipe = Pipe()

    first = next(read_pages(pipe))

    assert (first.title, pipe.given < 40) == ("1", True)


def test_methods_that_are_wanted_are_stored_under_their_key():
    data = [request("POST", b'{"a": 1}', "application/json"), response("Posted"), request("HEAD"), response("")]

    everything, _ = read(*data, methods=None)
    starred, _ = read(*data, methods={"*"})
    posts, report = read(*data, methods={"post"})

    assert [page.url for page in everything] == [f"{URL}?__wb_method=POST&a=1", f"{URL}?__wb_method=HEAD"]
    assert [page.url for page in starred] == [page.url for page in everything]
    assert ([page.title for page in posts], report.other_methods) == (["Posted"], {"HEAD": 1})


def test_a_head_has_no_body_whatever_its_headers_say():
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 99\r\nContent-Encoding: gzip\r\n\r\n"

    [page], report = read(record("response", answer), request("HEAD"), methods=None)

    assert (page.body, page.truncated, page.headers["content-length"]) == (b"", False, "99")
    assert report.truncated == {}


def test_a_revisit_of_an_answer_repeats_that_answer_and_not_the_page():
    same = {"WARC_Refers_To_Target_URI": URL, "WARC_Profile": "http://netpreserve.org/warc/1.1/revisit/x"}

    [page], _ = read(request("POST", b"a=1", FORM), response(kind="revisit", **same), methods=None)

    assert page.url == page.same_as == f"{URL}?__wb_method=POST&a=1"


@pytest.mark.parametrize(
    ("methods", "told"), [("GET", "one string"), ([], "empty"), (["GET POST"], "names of methods")]
)
def test_methods_that_are_none_are_refused(methods, told):
    with pytest.raises(InvalidArgument, match=told):
        read_pages(io.BytesIO(), methods=methods)


# Made by cdxj-indexer 1.5.0 (--post-append) and surt 0.3.1.
KEYS = json.loads((Path(__file__).parents[1] / "data" / "request_keys.json").read_text())


@pytest.mark.parametrize("case", KEYS, ids=lambda case: f"{case['method']} {case['media']} {case['content'][:20]}")
def test_keys_are_those_of_cdxj_indexer(case):
    asked = request_of(case["method"], case["media"], case["length"], case["content"].encode("latin-1"))

    keys = [surt(stored_url(url, asked)) for url in (URL, f"{URL}?x=1")]

    assert asked.query == case["query"]
    assert keys == case["keys"]


@pytest.mark.parametrize("url", [URL, f"{URL}?x=1", "https://example.com/"])
@pytest.mark.parametrize("asked", [Request(), Request("HEAD"), Request("POST", "a=1&b=2"), Request("PUT", "x")])
def test_a_key_leads_back_to_the_request(url, asked):
    assert split_request(stored_url(url, asked)) == (url, asked)


@pytest.mark.parametrize(
    "content", [b"[" * 100_000, b'{"a":' * 100_000, b'{"a": 1' + b"0" * 5_000 + b"}", b'"\\ud800"']
)
def test_json_that_cannot_be_read_has_no_query(content):
    assert request_of("POST", "application/json", None, content).query == ""


def test_a_key_is_bounded():
    for media in (FORM, "application/json", "application/octet-stream", "multipart/form-data; boundary=x"):
        asked = request_of("POST", media, str(1 << 24), b'{"a":"' + b"x" * (1 << 20) + b'"}')
        assert len(asked.query) <= 4_096


@pytest.mark.parametrize("media", ["multipart/x", "multipart/x; boundary=X", 'multipart/x; boundary=""'])
def test_a_form_that_is_not_well_formed_counts_as_bytes(media):
    for content in (b"--Y\r\n", b"--X\r\nno head--X--", b"--X\r\n\r\n\r\nx\r\n--X--"):
        assert request_of("POST", media, None, content).query.startswith("__wb_post_data=")


def mixed(seed: int, exchanges: int = 40) -> list[bytes]:
    """Return records of exchanges in any order: with and without requests, named or not, of few URLs and dates."""
    chance = random.Random(seed)
    placed: list[tuple[float, bytes]] = []
    for number in range(exchanges):
        fields = {"url": f"https://example.com/{number % 7}", "second": number // 5}
        named = chance.choice(["", "", "request", "response"])
        asked = request(
            chance.choice(["GET", "GET", "POST", "HEAD"]), identity=f"q{number}",
            to=f"s{number}" if named == "request" else "", **fields
        )  # fmt: skip
        kind = chance.choice(["response", "response", "response", "resource", "metadata"])
        answer = response(str(number), kind=kind, identity=f"s{number}",
                          to=f"q{number}" if named == "response" else "", **fields)  # fmt: skip
        apart = chance.choice([*[0.1] * 7, 3.0]) * chance.choice([1, -1])
        placed.append((number, answer))
        if chance.random() < 0.8:
            placed.append((number + apart, asked))
    return [data for _, data in sorted(placed, key=lambda pair: pair[0])]


PACKED = {
    "plain": b"".join,
    "a member a record": lambda records: b"".join(map(gzip.compress, records)),
    "one member": lambda records: gzip.compress(b"".join(records)),
    "members of three records": lambda records: b"".join(
        gzip.compress(b"".join(records[at : at + 3])) for at in range(0, len(records), 3)
    ),
}


def known(page):
    return page.url, page.title


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("seed", range(6))
def test_reading_goes_on_behind_any_page_with_the_same_methods(packed, seed):
    data = PACKED[packed](mixed(seed))
    report = ReadReport()
    found = [(known(page), report.place, report.records) for page in
             read_pages(io.BytesIO(data), types=None, methods=None, report=report)]  # fmt: skip
    pages = [page for page, _, _ in found]

    for number, (_, place, records) in enumerate(found):
        again = ReadReport()
        rest = list(map(known, read_pages(io.BytesIO(data), types=None, methods=None, start=place, report=again)))
        assert rest == pages[number + 1 :]
        assert again.records + records == report.records


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("seed", range(6))
def test_parts_of_a_file_have_the_methods_of_the_whole(packed, seed, tmp_path):
    file = tmp_path / "crawl.warc.gz"
    file.write_bytes(PACKED[packed](mixed(seed)))
    whole, parts = ReadReport(), ReadReport()
    pages = list(map(known, read_pages(file, methods=None, report=whole)))

    found = []
    for part in parts_of(str(file), size=1):
        with part.opened() as source:
            start = Place(part.begin)
            found += map(known, read_pages(source, methods=None, report=parts, start=start))

    assert found == pages
    assert (parts.records, parts.left_out) == (whole.records, whole.left_out)


def test_a_file_of_exchanges_is_divided_between_them(tmp_path):
    file = tmp_path / "crawl.warc.gz"
    pairs = [(response(str(n), second=n), request("POST" if n % 2 else "GET", second=n)) for n in range(40)]
    file.write_bytes(b"".join(gzip.compress(data) for pair in pairs for data in pair))

    parts = list(parts_of(str(file), size=1))

    assert len(parts) == 40


def test_an_export_has_the_keys_and_restores_them(tmp_path):
    data = request("POST", b"name=J", FORM), response("Thanks"), request("HEAD", second=1), response("", second=1)
    with webtable.open(tmp_path / "a.db", create=True) as table, table.writer() as writer:
        writer.put_many(read(*data, methods=None)[0])
        writer.flush()
        write_warc(table, tmp_path / "out", webtable.ALL)
    lines = (tmp_path / "out" / "index.cdxj").read_text().splitlines()

    entries = [(line.split(" ")[0], json.loads(line.split(" ", 2)[2])) for line in lines]
    restored = [page.url for page in read_pages(tmp_path / "out" / "webtable-00001.warc.gz", types=None)]

    assert [key for key, _ in entries] == [
        "com,example)/a?__wb_method=head",
        "com,example)/a?__wb_method=post&name=j",
    ]
    assert [(entry["url"], entry["method"], entry["requestBody"]) for _, entry in entries] == [
        (URL, "HEAD", ""),
        (URL, "POST", "name=J"),
    ]
    assert sorted(restored) == [f"{URL}?__wb_method=HEAD", f"{URL}?__wb_method=POST&name=J"]
