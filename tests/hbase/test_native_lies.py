"""Answers of HBase's own protocol that are whole, and say what cannot be: never another row, nor one more or less."""

from __future__ import annotations

import contextlib
import random
import time
import uuid

import pytest

from webtable.errors import StoreError, StoreRefused, StoreUnavailable, TableNotFound
from webtable.rowkey import KeyRange
from webtable.schema import FamilySchema, TableSchema
from webtable.store import NewCell, Put, StoreURL
from webtable.store.hbase import NativeStore
from webtable.store.hbase.native import connection
from webtable.store.hbase.native import hbase_pb2 as pb
from webtable.store.hbase.native.cluster import LocatedRegion
from webtable.store.hbase.native.connection import RpcConnection, decoded
from webtable.store.hbase.native.store import address_of
from webtable.store.url import HostPort

pytestmark = pytest.mark.hbase

KEYS = [b"%05d" % number for number in range(300)]


@pytest.fixture(scope="module")
def store(native_url):
    with NativeStore(**{**address_of(StoreURL.parse(native_url)).settings(), "timeout": 1.0}) as store:
        yield store


@pytest.fixture(scope="module")
def table(store):
    name = f"lies_{uuid.uuid4().hex[:12]}"
    store.create_table(TableSchema(name, (FamilySchema("f"),)))
    assert store.write(name, [Put(key, [NewCell(b"f:a", 1, b"x" * 20_000)]) for key in KEYS]) == [None] * len(KEYS)
    store.read(name, KEYS[:1])  # the regions are known
    yield name
    store.drop_table(name)


@pytest.fixture
def lie(monkeypatch):
    """Have *alter* change the answers of a kind, the first *times* of them."""

    def altered(kind, alter, times=1):
        wait, told = RpcConnection.wait, []

        def lying(self, call, deadline):
            answer = wait(self, call, deadline)
            if isinstance(answer.message, kind) and len(told) < times:
                found = alter(answer)
                if found is not None:
                    told.append(found)
                    return found
            return answer

        monkeypatch.setattr(RpcConnection, "wait", lying)
        return told

    return altered


def results(answer):
    return answer.message.regionActionResult[0].resultOrException


def first_twice(answer):
    results(answer)[1].index = results(answer)[0].index
    return answer


def one_less(answer):
    del results(answer)[-1]
    return answer


def beyond(answer):
    results(answer)[0].index = 1_000_000
    return answer


def no_region(answer):
    del answer.message.regionActionResult[:]
    return answer


def more_cells(answer):
    results(answer)[0].result.associated_cell_count += 1
    return answer


def cells_below_zero(answer):
    results(answer)[0].result.associated_cell_count = -1
    return answer


def of_another_row(answer):
    data = answer.data[: answer.start] + answer.data[answer.start :].replace(KEYS[0], KEYS[1], 1)
    return answer._replace(data=data)


ALL = [first_twice, one_less, beyond, no_region, more_cells, cells_below_zero, of_another_row]


@pytest.mark.parametrize("alter", ALL, ids=lambda alter: alter.__name__)
def test_a_read_that_is_answered_wrongly_once_is_made_again(store, table, lie, alter):
    told = lie(pb.MultiResponse, alter)

    found = store.read(table, KEYS[:5])

    assert [row.key for row in found] == KEYS[:5]
    assert told


@pytest.mark.parametrize("alter", ALL, ids=lambda alter: alter.__name__)
def test_a_read_that_is_always_answered_wrongly_is_an_error(store, table, lie, alter):
    lie(pb.MultiResponse, alter, 1000)

    with pytest.raises(StoreUnavailable):
        store.read(table, KEYS[:5])


@pytest.mark.parametrize("alter", [first_twice, one_less, beyond, no_region], ids=lambda alter: alter.__name__)
def test_a_write_is_stored_only_if_the_answer_says_so_of_each_row(store, table, lie, alter):
    lie(pb.MultiResponse, alter, 1000)

    outcomes = store.write(table, [Put(key, [NewCell(b"f:a", 1, b"x" * 20_000)]) for key in KEYS[:3]])

    assert all(isinstance(outcome, StoreUnavailable) for outcome in outcomes)


def no_scanner(answer):
    if not (answer.message.scanner_id and answer.message.more_results_in_region):
        return None
    answer.message.ClearField("scanner_id")
    return answer


def one_row_more(answer):
    answer.message.cells_per_result.append(1)
    return answer


def rows_missing_in_the_count(answer):
    if not answer.message.cells_per_result:
        return None
    del answer.message.cells_per_result[:]
    return answer


def a_row_larger_than_memory(answer):
    answer.message.cells_per_result[:] = [2**32 - 1]
    return answer


def partial_of_others(answer):
    answer.message.partial_flag_per_result[:] = [True]
    return answer


LIES = [no_scanner, one_row_more, rows_missing_in_the_count, a_row_larger_than_memory, partial_of_others]


@pytest.mark.parametrize("alter", LIES, ids=lambda alter: alter.__name__)
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_that_is_answered_wrongly_has_each_row_once(store, table, lie, alter, reverse):
    told = lie(pb.ScanResponse, alter)

    rows = [row.key for row in store.scan(table, [KeyRange()], reverse=reverse)]

    assert rows == sorted(KEYS, reverse=reverse)
    assert told


@pytest.mark.parametrize("reverse", [False, True])
def test_rows_that_came_before_are_not_taken_again(store, table, lie, reverse):
    answers = []

    def again(answer):
        answers.append(answer)
        message = answer.message
        if len(answers) < 2 or not message.more_results_in_region or len(message.cells_per_result) < 2:
            return None
        return answers[0]._replace(message=answers[0].message)

    told = lie(pb.ScanResponse, again)

    rows = [row.key for row in store.scan(table, [KeyRange()], reverse=reverse)]

    assert rows == sorted(KEYS, reverse=reverse)
    assert told


def test_a_name_that_is_no_text_is_shown_as_far_as_it_is_one(store, lie):
    def altered(answer):
        answer.message.table_names.add(namespace=b"default", qualifier=b"name\xff")
        return answer

    lie(pb.GetTableNamesResponse, altered)

    assert "name\ufffd" in store.tables()


@pytest.mark.parametrize("value", [b"many", b"-1", b"\xff"])
def test_an_option_that_is_no_number_is_told(store, table, lie, value):
    def altered(answer):
        family = answer.message.table_schema[0].column_families[0]
        del family.attributes[:]
        family.attributes.add(first=b"VERSIONS", second=value)
        return answer

    lie(pb.GetTableDescriptorsResponse, altered)

    with pytest.raises(StoreRefused, match="an option that webtable does not know"):
        store.describe(table)


@pytest.mark.parametrize(("host", "port"), [("x" * 300, 1), ("a\u0300..b\ufffd", 1), ("127.0.0.1", 2**20), ("", 5)])
def test_a_server_that_cannot_be_is_an_error_of_the_store(native_url, table, monkeypatch, host, port):
    with NativeStore(**{**address_of(StoreURL.parse(native_url)).settings(), "timeout": 0.5}) as store:
        monkeypatch.setattr(
            store._cluster, "_read_regions", lambda *_: [LocatedRegion(b"", b"", b"x", HostPort(host, port), None)]
        )

        with pytest.raises(StoreUnavailable):
            store.read(table, KEYS[:1])


def test_a_procedure_that_the_master_has_forgotten_is_an_error(store, table, lie):
    def altered(answer):
        answer.message.Clear()
        return answer

    lie(pb.GetProcedureResultResponse, altered)

    with pytest.raises(StoreUnavailable, match="the master knows nothing of procedure"):
        store.set_family(table, FamilySchema("g"))


def test_bytes_that_were_changed_on_their_way_are_answers_or_errors_of_the_store(native_url, table, monkeypatch):
    chance, share, told = random.Random(4), [0.0], []

    def changed(data, response_of):
        if chance.random() < share[0] and len(data) > 8:
            told.append(data)
            place = 4 + chance.randrange(min(len(data) - 4, 200))  # behind the number of the call
            data = data[:place] + bytes([chance.randrange(256)]) + data[place + chance.choice([0, 1, 1, 1, 9]) :]
        return decoded(data, response_of)

    monkeypatch.setattr(connection, "decoded", changed)
    with NativeStore(**{**address_of(StoreURL.parse(native_url)).settings(), "timeout": 0.3}) as store:
        calls = [
            lambda: store.read(table, KEYS[:100]),
            lambda: list(store.scan(table, [KeyRange()])),
            lambda: store.first_rows(table, [KeyRange(b"000", b"001"), KeyRange(b"002")], 3),
            lambda: list(store.scan(table, [KeyRange()], reverse=True)),
            lambda: store.write(table, [Put(KEYS[0], [NewCell(b"f:a", 1, b"x" * 20_000)])]),
            lambda: store.regions(table),
            store.tables,
        ]
        until = time.monotonic() + 3
        while time.monotonic() < until:
            share[0] = chance.choice([0.1, 0.5])
            store._cluster.forget(table)
            with contextlib.suppress(StoreError, TableNotFound):
                chance.choice(calls)()
    assert told
