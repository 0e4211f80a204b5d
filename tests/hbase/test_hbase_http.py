"""Gateways in HTTP mode: a call is a POST on a connection that is kept open, and only its own answer is believed."""

from __future__ import annotations

from contextlib import closing

import pytest
from gateways import HOST, RowsThrift1, RowsThrift2, Server
from http_gateways import HTTPGateway, chunked, fixed, status

from webtable.errors import InvalidArgument, StoreRefused, StoreUnavailable
from webtable.rowkey import KeyRange
from webtable.store import StoreURL, Wanted
from webtable.store.deadline import Deadline
from webtable.store.hbase import HBaseStore, HTTPMode
from webtable.store.hbase.shared.failures import WrongReply
from webtable.store.hbase.thrift.connection import LARGEST
from webtable.store.hbase.thrift.store import address_of

ROWS = [b"%05d" % number for number in range(300)]


def http_pair(servers: list[Server], answer=fixed) -> tuple[HTTPGateway, HTTPGateway]:
    pair = HTTPGateway(RowsThrift1(pages=ROWS), answer), HTTPGateway(RowsThrift2(pages=ROWS), answer)
    servers.extend(pair)
    return pair


def http_store(pair: tuple[HTTPGateway, HTTPGateway], with_thrift2: bool = True, **options) -> HBaseStore:
    options = {"timeout": 5.0, "http": HTTPMode()} | options
    return HBaseStore(HOST, pair[0].port, thrift2=pair[1].port if with_thrift2 else None, **options)


# --- calls -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [fixed, chunked])
def test_rows_are_read_from_answers_of_a_fixed_length_and_in_chunks(servers, with_thrift2, answer):
    with http_store(http_pair(servers, answer), with_thrift2) as store:
        read = store.read("pages", [ROWS[3], b"none", ROWS[200]])
        scanned = [row.key for row in store.scan("pages", [KeyRange()], Wanted())]

    assert [row and row.key for row in read] == [ROWS[3], None, ROWS[200]]
    assert scanned == ROWS


def test_the_calls_of_a_thread_go_over_one_connection(servers):
    pair = http_pair(servers)
    with http_store(pair, pool_size=1) as store:
        for row in ROWS[:20]:
            store.read("pages", [row])

    assert pair[0].connections == 2  # the look at the gateway, and the calls
    assert len(pair[0].heads) >= 20


def test_a_request_says_that_it_is_thrift_and_for_which_host(servers):
    pair = http_pair(servers)
    with http_store(pair):
        pass

    head = pair[0].heads[0]
    assert (head["Content-Type"], head["Accept"]) == ("application/x-thrift", "application/x-thrift")
    assert head["Host"] == f"{HOST}:{pair[0].port}"


def test_the_store_is_named_by_the_scheme_of_its_url(servers):
    pair = http_pair(servers)
    url = StoreURL.parse(f"hbase+http://{HOST}:{pair[0].port}/crawl?thrift2={pair[1].port}&timeout=5")

    with HBaseStore.from_url(url) as store:
        assert store.name == f"hbase+http://{HOST}:{pair[0].port}"


@pytest.mark.parametrize("option", ["ca=x.pem", "registry=master"])
def test_options_that_http_has_no_use_for_are_refused(option):
    with pytest.raises(InvalidArgument, match="unknown option"):
        address_of(StoreURL.parse(f"hbase+http://g/crawl?{option}"))


@pytest.mark.parametrize("scheme", ["hbase", "hbase+http", "hbase+https"])
@pytest.mark.parametrize("host", ["a b", "a\x00b", "a..b", "\u2603..b", "x" * 70])
def test_what_can_be_no_host_is_a_wrong_url(scheme, host):
    with pytest.raises(InvalidArgument, match="cannot be a host"):
        address_of(StoreURL.parse(f"{scheme}://{host}:9090/crawl"))


# --- answers that are none -------------------------------------------------------------------------------------------


def closed_after(body: bytes) -> bytes:
    return fixed(body).replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1)


WRONG = {
    "no length, no chunks": lambda body: b"HTTP/1.1 200 OK\r\n\r\n" + body,
    "a length over all bounds": lambda body: b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (LARGEST + 1) + body,
    "a length that is too short": lambda body: fixed(body[:-3]),
    "a length that is too long": lambda body: fixed(body + b"xyz"),
    "an answer behind the answer": lambda body: fixed(body) * 2,
    "no HTTP": lambda body: b"\x16\x03\x01 what?\r\n\r\n" + body,
    "a chunk without a length": lambda body: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n" + body,
    "a head without an end": lambda _: b"HTTP/1.1 200 OK\r\n" + b"X-Y: z\r\n" * 500,
    "a line without an end": lambda _: b"HTTP/1.1 200 OK\r\nX-Y: " + b"z" * 200_000,
    "an empty body": lambda _: fixed(b""),
    "another reply": lambda body: fixed(body.replace(b"get", b"got")),
}


@pytest.mark.usefixtures("manual_clock")
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_an_answer_that_is_not_its_own_is_believed_by_nobody(servers, with_thrift2, wrong):
    pair = http_pair(servers)
    versions = Wanted(versions=2)  # which Thrift2 reads where it is there
    with http_store(pair, with_thrift2, timeout=1.0) as store:
        asked = pair[1 if with_thrift2 else 0]
        asked.answer = wrong

        with pytest.raises(StoreUnavailable):
            store.read("pages", ROWS[:2], versions)

        asked.answer = fixed
        assert [row.key for row in store.read("pages", ROWS[:2], versions)] == ROWS[:2]


def test_a_connection_is_never_used_again_after_a_wrong_answer(servers):
    pair = http_pair(servers)
    with http_store(pair, pool_size=1) as store:
        store.read("pages", ROWS[:1])
        before = pair[0].connections
        answers = [WRONG["a length that is too long"], fixed, fixed]
        pair[0].answer = lambda body: answers.pop(0)(body) if answers else fixed(body)

        assert [row.key for row in store.read("pages", ROWS[:1])] == ROWS[:1]

    assert pair[0].connections == before + 1


@pytest.mark.slow
def test_an_answer_that_drips_in_ends_by_the_deadline(servers):
    def head_alone(body: bytes) -> bytes:
        return fixed(body)[:-1]

    pair = http_pair(servers)
    with http_store(pair, timeout=1.0) as store:
        pair[0].answer = head_alone

        with pytest.raises(StoreUnavailable, match="no answer within"):
            store.read("pages", ROWS[:1])


def test_a_server_that_closes_after_each_answer_is_told_at_the_door(servers):
    pair = http_pair(servers, closed_after)

    with pytest.raises(StoreUnavailable, match="must keep connections open"):
        http_store(pair)


def test_a_connection_whose_end_is_announced_is_replaced(servers):
    pair = http_pair(servers)
    with http_store(pair, pool_size=1) as store:
        store.read("pages", ROWS[:1])
        pair[0].answer = lambda body: (setattr(pair[0], "answer", fixed), closed_after(body))[1]
        before = pair[0].connections

        read = [store.read("pages", [row])[0].key for row in ROWS[:3]]

    assert read == ROWS[:3]
    assert pair[0].connections == before + 1


def test_nothing_is_sent_while_an_answer_is_not_read_to_its_end(servers):
    pair = http_pair(servers)
    with closing(HTTPMode().socket(HOST, pair[0].port)) as sock:
        sock.deadline = Deadline(5.0)
        sock.open()
        for _ in range(2):
            sock.write(b"\x80\x01\x00\x01\x00\x00\x00\x0dgetTableNames\x00\x00\x00\x01\x00")
        sock.flush()
        sock.read(1)

        with pytest.raises(WrongReply, match="after its reply"):
            sock.flush()

    assert len(pair[0].heads) == 1


# --- statuses --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", ["401 Unauthorized", "403 Forbidden", "404 Not Found", "302 Found", "405 No POST"])
def test_a_status_that_stays_is_refused_at_once(servers, line):
    pair = http_pair(servers, status(line))

    with pytest.raises(StoreRefused, match=f"HTTP {line}"):
        http_store(pair)


@pytest.mark.parametrize("line", ["502 Bad Gateway", "503 Service Unavailable", "429 Too Many Requests"])
def test_a_status_that_passes_is_waited_out(servers, line):
    pair = http_pair(servers)
    with http_store(pair) as store:
        answers = [status(line)] * 3
        pair[0].answer = lambda body: answers.pop(0)(body) if answers else fixed(body)

        assert [row.key for row in store.read("pages", ROWS[:1])] == ROWS[:1]


def test_the_page_of_a_proxy_is_in_no_error(servers):
    pair = http_pair(servers, status("502 Bad Gateway"))

    with pytest.raises(StoreUnavailable, match="502") as caught:
        http_store(pair)

    assert "<html>" not in str(caught.value)


# --- several gateways, and forks -------------------------------------------------------------------------------------


def test_calls_go_on_with_another_gateway_in_http_mode(servers):
    first, second = (HTTPGateway(RowsThrift1(pages=ROWS)) for _ in range(2))
    servers.extend((first, second))
    with HBaseStore(HOST, first.port, others=[(HOST, second.port)], timeout=5.0, http=HTTPMode()) as store:
        first.answer = status("503 Service Unavailable")

        for _ in range(10):
            assert [row.key for row in store.read("pages", ROWS[:2])] == ROWS[:2]


def test_a_plain_url_of_a_gateway_in_http_mode_says_which_scheme_it_needs(servers):
    servers.append(Server(lambda client: (client.recv(100), client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"))))

    with pytest.raises(Exception, match=r"use hbase\+http://"):
        HBaseStore(HOST, servers[-1].port, timeout=8.0)
