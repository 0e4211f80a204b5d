"""The contract of the port of full text: what `webtable.store.full_text.port` promises, on both of its adapters."""

from __future__ import annotations

import fcntl
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from nightly import examples
from plain_ranking import by_field, by_table, matching
from webtable._checksums import with_checksum
from webtable.errors import (
    InvalidArgument,
    NewerFormat,
    NotAStore,
    StoreError,
    StoreFull,
    StoreRefused,
    StoreUnavailable,
)
from webtable.rowkey import KeyRange
from webtable.schema import FamilySchema, TableSchema
from webtable.store.full_text import FIELDS, Document, Match, TermPhrase, TermQuery
from webtable.store.full_text.tantivy_index import TantivyIndex, translated
from webtable.store.sqlite import SQLiteStore
from webtable.store.sqlite.connections import meaning

RANKING = {"file": by_table, "directory": by_field}


class InFile:
    """Full text in an SQLite file."""

    kind = "file"
    seconds = 0.005
    """How long some writes take."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stores = []
        store = self._store()
        store.create_table(TableSchema("pages", (FamilySchema("one"),)))

    def _store(self):
        self._stores.append(SQLiteStore(self.folder / "pages.db", create=True))
        return self._stores[-1]

    def open(self):
        return self._store().search_index("pages")

    def stored(self) -> bytes:
        """Return the bytes of all files, without what the file as a whole frees."""
        self._stores[-1].compact(["pages"])
        return b"".join(path.read_bytes() for path in self.folder.iterdir())

    def close(self) -> None:
        for store in self._stores:
            store.close()


class InDirectory:
    """Full text in a directory."""

    kind = "directory"
    seconds = 0.1

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._opened = []

    def open(self):
        for one in self._opened:
            one.close()
        self._opened.append(TantivyIndex(self.folder / "text"))
        return self._opened[-1]

    def stored(self) -> bytes:
        """Return the bytes of all files; those of documents are packed, one by one."""
        files = [path.read_bytes() for path in (self.folder / "text").rglob("*") if path.is_file()]
        read = b""
        for file in files:
            at = file.find(zstandard.FRAME_HEADER)
            while at >= 0:
                with suppress(zstandard.ZstdError):
                    read += zstandard.ZstdDecompressor().decompressobj().decompress(file[at:])
                at = file.find(zstandard.FRAME_HEADER, at + 1)
        return b"".join(files) + read

    def close(self) -> None:
        for one in self._opened:
            one.close()


@pytest.fixture(params=[InFile, InDirectory], ids=["file", "directory"])
def place(request, tmp_path):
    one = request.param(tmp_path)
    yield one
    one.close()


@pytest.fixture
def directory(tmp_path):
    one = InDirectory(tmp_path)
    yield one
    one.close()


@pytest.fixture
def index(place):
    made = place.open()
    made.create("settings")
    return made


def page(row: bytes, text: str = "", *, title: str = "", headings: str = "", links: str = "", **others) -> Document:
    given = {"captured": 1000, "digest": f"of {text}", "status": 200, "content_type": "text/html", "language": "en"}
    return Document(row, **{**given, **others}, terms=(title, headings, text, links))


def word(term: str, **others) -> TermQuery:
    return TermQuery((TermPhrase((term,)),), **others)


def phrase(*terms: str, **others) -> TermQuery:
    return TermQuery((TermPhrase(terms, **others),))


def rows(index, query: TermQuery) -> set[bytes]:
    return {found.row for found in index.matches(query, None, 1_000)}


def test_a_table_without_full_text_has_no_settings(place):
    index = place.open()

    assert (index.settings(), index.filled(), index.searched(), index.cursor()) == (None, None, None, "")


def test_a_new_index_has_its_settings_and_no_documents(index):
    assert (index.settings(), index.filled(), index.searched()) == ("settings", b"", None)
    assert index.documents(b"", 10) == []
    assert index.matches(word("salt"), None, 10) == []


def test_an_index_is_searched_once_it_is_filled(index):
    index.write([page(b"a", "salt")], filled=b"a")
    first = index.filled(), index.searched()
    index.write([], filled=None)

    assert first == (b"a", None)
    assert (index.filled(), index.searched()) == (None, "settings")


def test_a_write_that_says_nothing_of_the_place_leaves_it(index):
    index.write([page(b"a", "salt")], filled=b"a")
    index.write([page(b"b", "salt")])

    assert index.filled() == b"a"


def test_a_new_index_has_no_documents_of_the_one_before(index):
    index.write([page(b"a", "salt")], filled=b"a")

    index.create("others")

    assert (index.settings(), index.filled(), index.documents(b"", 10)) == ("others", b"", [])


def test_a_dropped_index_is_gone_and_dropping_it_again_does_nothing(index):
    index.write([page(b"a", "salt")], filled=None)

    index.drop()
    index.drop()

    assert (index.settings(), index.filled()) == (None, None)


def test_a_dropped_index_can_be_created_again(index):
    index.write([page(b"a", "salt")])
    index.drop()

    index.create("again")

    assert (index.settings(), index.documents(b"", 10)) == ("again", [])


def test_writing_without_an_index_is_an_error(place):
    with pytest.raises(StoreError):
        place.open().write([page(b"a", "salt")])


def test_a_document_replaces_that_of_its_row(index):
    index.write([page(b"a", "salt")])
    index.write([page(b"a", "row", captured=2000)])

    assert index.documents(b"", 10) == [(b"a", 2000)]
    assert (rows(index, word("salt")), rows(index, word("row"))) == (set(), {b"a"})


def test_of_two_documents_of_a_row_in_a_write_the_later_one_stays(index):
    index.write([page(b"a", "salt"), page(b"a", "row")])

    assert (rows(index, word("salt")), rows(index, word("row"))) == (set(), {b"a"})
    assert len(index.documents(b"", 10)) == 1


def test_what_is_gone_is_removed_before_documents_are_put(index):
    index.write([page(b"a", "salt"), page(b"b", "salt")])
    index.write([page(b"b", "row")], [b"a", b"b", b"never there"])

    assert index.documents(b"", 10) == [(b"b", 1000)]


def test_a_document_without_terms_keeps_those_of_its_digest(index):
    index.write([page(b"a", "salt", title="key")])

    lacking = index.write([page(b"a", "salt", captured=2000, status=404, language="de")._replace(terms=None)])

    assert lacking == []
    assert index.documents(b"", 10) == [(b"a", 2000)]
    assert rows(index, TermQuery((TermPhrase(("salt",)), TermPhrase(("key",))), status=404, language="de")) == {b"a"}


def test_a_document_without_terms_that_has_another_digest_is_lacking(index):
    index.write([page(b"a", "salt")])

    others = [page(b"a", "other")._replace(terms=None), page(b"b", "salt")._replace(terms=None)]

    assert index.write(others) == [b"a", b"b"]
    assert index.documents(b"", 10) == [(b"a", 1000)]


def test_a_document_without_terms_keeps_those_that_the_same_write_puts(index):
    later = page(b"a", "salt", captured=3000)._replace(terms=None)

    assert index.write([page(b"a", "salt"), later]) == []
    assert index.documents(b"", 10) == [(b"a", 3000)]
    assert rows(index, word("salt")) == {b"a"}


def test_the_dates_of_documents_are_read_by_their_rows(index):
    index.write([page(b"a", "salt", captured=1), page(b"b\xff", "salt", captured=2)])

    assert index.captured([b"b\xff", b"none", b"a"]) == [2, None, 1]
    assert index.captured([]) == []


def test_documents_come_in_the_order_of_rows_after_a_row(index):
    names = [bytes([number]) + b"/x" for number in (0, 9, 34, 40, 42, 92, 93, 125, 127, 128, 255)]
    index.write([page(name, "salt", captured=number) for number, name in enumerate(reversed(names))])

    assert [row for row, _ in index.documents(b"", 100)] == names
    assert [row for row, _ in index.documents(names[3], 3)] == names[4:7]
    assert index.documents(names[-1], 5) == []
    assert dict(index.documents(b"", 100))[names[0]] == len(names) - 1


def test_a_phrase_is_found_where_its_terms_follow_each_other_in_one_field(index):
    index.write([page(b"a", "row key salt"), page(b"b", "key row"), page(b"c", "row", title="key")])

    assert rows(index, phrase("row", "key")) == {b"a"}
    assert rows(index, phrase("row", "key", "salt")) == {b"a"}
    assert rows(index, TermQuery((TermPhrase(("row",)), TermPhrase(("key",))))) == {b"a", b"b", b"c"}


def test_a_beginning_is_found_in_all_terms_that_begin_so(index):
    index.write([page(b"a", "salt"), page(b"b", "salted row"), page(b"c", "row salt"), page(b"d", "sa")])

    assert rows(index, phrase("salt", is_prefix=True)) == {b"a", b"b", b"c"}
    assert rows(index, phrase("row", "sal", is_prefix=True)) == {b"c"}
    assert rows(index, phrase("pepper", is_prefix=True)) == set()


def test_a_beginning_of_very_many_terms_finds_them_all(index):
    index.write([page(b"%03d" % number, f"w{number:03}") for number in range(300)])

    assert len(rows(index, phrase("w", is_prefix=True))) == 300


def test_terms_outside_of_ascii_are_found(index):
    index.write([page(b"a", "表格 格 größe"), page(b"b", "größer")])

    assert rows(index, word("表格")) == {b"a"}
    assert rows(index, phrase("größ", is_prefix=True)) == {b"a", b"b"}


def test_a_phrase_is_sought_in_its_fields_alone(index):
    index.write([page(b"a", "salt"), page(b"b", title="salt"), page(b"c", links="salt"), page(b"d", headings="salt")])

    assert rows(index, phrase("salt", fields=("title",))) == {b"b"}
    assert rows(index, phrase("salt", fields=("text", "links"))) == {b"a", b"c"}
    assert rows(index, word("salt")) == {b"a", b"b", b"c", b"d"}


def test_documents_with_a_phrase_of_without_are_left_out(index):
    index.write([page(b"a", "salt key"), page(b"b", "salt row"), page(b"c", "salt", title="key")])

    assert rows(index, TermQuery((TermPhrase(("salt",)),), (TermPhrase(("key",)),))) == {b"b"}
    assert rows(index, TermQuery((TermPhrase(("salt",)),), (TermPhrase(("key",), fields=("title",)),))) == {b"a", b"b"}
    assert rows(index, TermQuery((TermPhrase(("salt",)),), (TermPhrase(("ro",), is_prefix=True),))) == {b"a", b"c"}


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ({"status": 404}, {b"b"}),
        ({"content_type": "text/plain"}, {b"c"}),
        ({"content_type": ""}, {b"d"}),
        ({"language": "de"}, {b"b", b"c"}),
        ({"language": "de-at"}, {b"c"}),
        ({"language": "d"}, set()),
        ({"language": ""}, {b"d"}),
        ({"captured": (1000, 2000)}, {b"a"}),
        ({"captured": (1001, 3001)}, {b"b", b"c"}),
        ({"rows": KeyRange(b"b", b"d")}, {b"b", b"c"}),
        ({"rows": KeyRange(b"c", b"")}, {b"c", b"d"}),
        ({"rows": KeyRange(b"", b"b")}, {b"a"}),
        ({"rows": KeyRange(b"b", b"d"), "language": "de", "status": 404}, {b"b"}),
    ],
)
def test_each_condition_leaves_out_what_does_not_have_it(index, condition, found):
    index.write(
        [
            page(b"a", "salt"),
            page(b"b", "salt", status=404, language="de", captured=2000),
            page(b"c", "salt", content_type="text/plain", language="de-at-1996", captured=3000),
            page(b"d", "salt", content_type="", language="", captured=4000),
        ]
    )

    assert rows(index, word("salt", **condition)) == found


def test_a_range_of_rows_with_any_bytes_is_exact(index):
    names = [b"com.example/" + bytes([number]) for number in range(256)]
    index.write([page(name, "salt") for name in names])

    for start, stop in ((0, 33), (32, 35), (40, 42), (91, 94), (123, 126), (200, 255)):
        assert rows(index, word("salt", rows=KeyRange(names[start], names[stop]))) == set(names[start:stop])


def test_matches_come_by_falling_score_and_equal_ones_by_row(index):
    index.write([page(name, "salt row row row") for name in (b"d", b"b")])
    index.write([page(name, "salt row row row") for name in (b"c", b"a")])
    index.write([page(b"e", "salt", title="salt"), page(b"f", "row")])

    found = index.matches(word("salt"), None, 10)

    assert [one.row for one in found] == [b"e", b"a", b"b", b"c", b"d"]
    assert found[0].score > found[1].score == found[4].score > 0


def test_matches_after_one_continue_the_answer_without_gap_or_repeat(index):
    documents = [page(b"%03d" % number, "salt" + " row" * (number % 7)) for number in range(700)]
    for start in range(0, 700, 175):
        index.write(documents[start : start + 175])

    whole = index.matches(word("salt"), None, 10_000)
    pieces, after = [], None
    while some := index.matches(word("salt"), after, 23):
        pieces += some
        after = some[-1]

    assert len(whole) == 700
    assert pieces == whole


def test_the_cut_between_equal_scores_is_by_row_however_many_there_are(index):
    names = [b"%04d" % number for number in range(1500)]
    for start in (3, 1, 2, 0):
        index.write([page(name, "salt") for name in names[start::4]])

    first = index.matches(word("salt"), None, 10)

    assert [one.row for one in first] == names[:10]
    assert [one.row for one in index.matches(word("salt"), first[-1], 5)] == names[10:15]
    assert [one.row for one in index.matches(word("salt"), Match(names[1498], first[0].score), 5)] == names[1499:]


def test_the_best_that_meet_a_condition_are_found_among_thousands_however_few_meet_it(index):
    # The shorter, the better: 6,000 documents of 6 lengths, every other one with the status, and 6 in the language.
    documents = [
        page(
            b"%04d" % number,
            "salt" + " more" * (number % 6),
            status=200 if number % 2 else 404,
            language="de" if number % 1000 == 7 else "en",
        )
        for number in range(6000)
    ]
    index.write(documents, filled=None)
    ranked = sorted(documents, key=lambda document: (len(document.terms[2]), document.row))
    expected = [document.row for document in ranked if document.status == 200]
    german = [document.row for document in ranked if document.language == "de"]

    first = index.matches(TermQuery(word("salt").wanted, status=200), None, 990)
    second = index.matches(TermQuery(word("salt").wanted, status=200), first[-1], 990)
    few = index.matches(TermQuery(word("salt").wanted, language="de"), None, 4)
    last = index.matches(TermQuery(word("salt").wanted, language="de"), few[-1], 4)

    assert [match.row for match in first + second] == expected[:1980]
    assert [match.row for match in few + last] == german


def test_matches_after_one_that_is_gone_go_on_at_its_place(index):
    index.write([page(name, "salt") for name in (b"a", b"c")])
    score = index.matches(word("salt"), None, 1)[0].score

    assert [one.row for one in index.matches(word("salt"), Match(b"b", score), 5)] == [b"c"]


def test_a_compacted_index_has_no_removed_terms_in_its_files(place):
    index = place.open()
    index.create("settings")
    index.write([page(b"a%d" % number, f"secretword{number} salt") for number in range(20)])
    index.write([page(b"a1", "pepper salt")], [b"a%d" % number for number in range(2, 20)])

    index.compact()

    assert b"secretword1" not in place.stored()
    assert rows(index, word("salt")) == {b"a0", b"a1"}
    assert rows(index, word("pepper")) == {b"a1"}
    assert rows(index, word("secretword0")) == {b"a0"}


def test_compacting_a_directory_writes_all_of_its_files_again(directory):
    index = directory.open()
    index.create("settings")
    index.write([page(b"a", "salt"), page(b"b", "pepper")], filled=None)
    index.write([], [b"b"])
    folder = directory.folder / "text"
    before = {path.relative_to(folder) for path in folder.glob("*/*")}

    index.compact()

    after = {path.relative_to(folder) for path in folder.glob("*/*")}
    assert after
    assert not before & after
    assert b"pepper" not in directory.stored()


def test_a_compacted_index_has_its_place_and_its_documents(index):
    index.write([page(b"%04d" % number, "salt", captured=number) for number in range(100)], filled=b"0099")
    index.write([], [b"%04d" % number for number in range(50)])
    before = index.bytes()

    index.compact()

    assert (index.filled(), index.settings()) == (b"0099", "settings")
    assert index.documents(b"", 1000) == [(b"%04d" % number, number) for number in range(50, 100)]
    assert 0 < index.bytes() <= before


def test_what_was_written_is_there_when_it_is_opened_again(place):
    index = place.open()
    index.create("settings")
    index.write([page(b"a", "salt")], filled=None)

    again = place.open()

    assert (again.settings(), again.filled()) == ("settings", None)
    assert rows(again, word("salt")) == {b"a"}


def test_an_open_index_sees_what_another_one_writes(place):
    index = place.open()
    index.create("settings")
    index.write([page(b"a", "salt")], filled=None)
    first = rows(index, word("salt"))

    place.open().write([page(b"b", "salt")], [b"a"])

    assert (first, rows(index, word("salt"))) == ({b"a"}, {b"b"})


def test_threads_search_while_one_writes(index):
    index.write([page(b"%04d" % number, "salt") for number in range(100)], filled=None)
    errors, is_done = [], threading.Event()

    def search() -> None:
        while not is_done.is_set():
            found = index.matches(word("salt"), None, 1000)
            if len(found) % 100:
                errors.append(len(found))

    threads = [threading.Thread(target=search) for _ in range(3)]
    for one in threads:
        one.start()
    for start in range(100, 600, 100):
        index.write([page(b"%04d" % number, "salt") for number in range(start, start + 100)])
    is_done.set()
    for one in threads:
        one.join()

    assert errors == []
    assert len(index.matches(word("salt"), None, 1000)) == 600


def test_an_index_that_was_used_before_a_fork_is_used_in_the_child(index):
    index.write([page(b"a", "salt")], filled=None)
    index.matches(word("salt"), None, 10)
    index.close()

    child = os.fork()
    if child == 0:
        try:
            index.write([page(b"b", "salt")])
            is_right = rows(index, word("salt")) == {b"a", b"b"}
            index.close()
        finally:
            os._exit(0 if is_right else 1)

    assert os.waitpid(child, 0)[1] == 0
    assert rows(index, word("salt")) == {b"a", b"b"}


WORDS = ["salt", "salted", "sal", "row", "rows", "key", "k", "表格", "größe"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)
LONG_TEXTS = st.one_of(TEXTS, st.lists(st.sampled_from(WORDS), min_size=30, max_size=150).map(" ".join))
ROWS = st.binary(min_size=1, max_size=3)


@st.composite
def stored_pages(draw):
    names = draw(st.lists(ROWS, min_size=1, max_size=12, unique=True))
    return [
        Document(
            name,
            draw(st.integers(0, 9)),
            "digest",
            draw(st.sampled_from([200, 404])),
            draw(st.sampled_from(["text/html", "text/plain", ""])),
            draw(st.sampled_from(["en", "de", "de-at", ""])),
            (draw(TEXTS), draw(TEXTS), draw(LONG_TEXTS), draw(TEXTS)),
        )
        for name in names
    ]


@st.composite
def phrases(draw):
    terms = tuple(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3)))
    fields = tuple(one for one in FIELDS if draw(st.booleans())) or tuple(FIELDS)
    return TermPhrase(terms, draw(st.booleans()), fields)


@st.composite
def queries(draw):
    return TermQuery(
        tuple(draw(st.lists(phrases(), min_size=1, max_size=3, unique=True))),
        tuple(draw(st.lists(phrases(), max_size=1))),
        KeyRange(draw(st.one_of(st.just(b""), ROWS)), draw(st.one_of(st.just(b""), ROWS))),
        draw(st.sampled_from([(0, 2**63 - 1), (3, 8)])),
        draw(st.sampled_from([None, None, 200])),
        draw(st.sampled_from([None, None, "text/html"])),
        draw(st.sampled_from([None, None, "de", "de-at"])),
    )


@pytest.mark.slow
def test_queries_find_what_the_formula_finds_in_its_order(place):
    index = place.open()

    @settings(max_examples=examples(25, 3_000))
    @given(stored_pages(), st.lists(queries(), min_size=1, max_size=8))
    def check(documents, asked):
        index.create("settings")
        index.write(documents, filled=None)
        for query in asked:
            expected = RANKING[place.kind](documents, query)
            found = index.matches(query, None, 100)
            assert {one.row for one in found} == {one.row for one in matching(documents, query)}
            for one in found:
                assert one.score == pytest.approx(expected[one.row], rel=1e-4, abs=1e-9)
            assert [(-one.score, one.row) for one in found] == sorted((-one.score, one.row) for one in found)

    check()


def test_both_engines_find_the_same_and_rank_alike_on_pages_of_ordinary_words(tmp_path):
    chance = random.Random(3)
    vocabulary = [f"w{number}" for number in range(400)]
    weights = [1 / (number + 1) for number in range(400)]
    texts = [" ".join(chance.choices(vocabulary, weights, k=chance.randint(20, 300))) for _ in range(400)]
    documents = [page(b"%03d" % number, text, title=text[:20].rpartition(" ")[0]) for number, text in enumerate(texts)]
    in_file, in_directory = InFile(tmp_path), InDirectory(tmp_path)
    indexes = [in_file.open(), in_directory.open()]
    for one in indexes:
        one.create("settings")
        one.write(documents, filled=None)

    shared = []
    for number in range(40, 120):
        first, second = (one.matches(word(f"w{number}"), None, 1000) for one in indexes)
        assert {one.row for one in first} == {one.row for one in second}
        shared.append(len({one.row for one in first[:10]} & {one.row for one in second[:10]}) / len(first[:10] or [0]))

    assert sum(shared) / len(shared) > 0.7
    in_file.close()
    in_directory.close()


KILLS = examples(9, 22)
MOST = examples(600, 1200)


def page_of(number: int) -> Document:
    chance = random.Random(number)
    return page(b"%05d" % (number * 7919 % 100_000), " ".join(chance.choices(WORDS, k=30)), captured=number)


def writer_of(place, written: int) -> int:
    """Return the process id of a child that goes on writing, and tells the descriptor *written* of each write."""
    child = os.fork()
    if child:
        return child
    try:
        index = place.open()
        for start in range(int(index.filled() or b"0"), MOST, 20):
            index.write([page_of(number) for number in range(start, start + 20)], filled=b"%d" % (start + 20))
            os.write(written, b".")
        index.write([], filled=None)
        os._exit(0)
    finally:
        os._exit(1)


@pytest.mark.slow
def test_an_index_whose_writers_were_killed_equals_one_built_at_once(place, tmp_path_factory):
    first = place.open()
    first.create("settings")
    first.close()
    chance, killed, is_done = random.Random(5), 0, False
    while killed < KILLS and not is_done:
        told, written = os.pipe()
        child = writer_of(place, written)
        os.close(written)
        # Nothing is read from one that ends before it writes, as all was written and only not said to be complete.
        if os.read(told, 1):
            threading.Event().wait(chance.random() * place.seconds)
            os.kill(child, signal.SIGKILL)
        os.close(told)
        ended = os.waitpid(child, 0)[1]
        assert ended in (0, signal.SIGKILL)
        killed += ended != 0
        index = place.open()
        filled = index.filled()
        is_done = filled is None
        # What is called filled is there.
        documents = dict(index.documents(b"", 10_000))
        assert all(page_of(number).row in documents for number in range(MOST if is_done else int(filled or b"0")))
        index.close()
    assert killed >= KILLS // 3
    if not is_done:
        told, written = os.pipe()
        assert os.waitpid(writer_of(place, written), 0)[1] == 0
        os.close(told)
        os.close(written)

    other = type(place)(tmp_path_factory.mktemp("other"))
    whole, index = other.open(), place.open()
    whole.create("settings")
    whole.write([page_of(number) for number in range(MOST)], filled=None)
    index.compact()
    whole.compact()
    assert index.filled() is None
    assert index.documents(b"", 10_000) == whole.documents(b"", 10_000)
    for query in (word("salt"), word("rows"), phrase("row", "key"), phrase("sal", is_prefix=True)):
        found, expected = index.matches(query, None, 5000), whole.matches(query, None, 5000)
        assert {one.row: one.score for one in found} == pytest.approx({one.row: one.score for one in expected})
    other.close()


# What the directory has beyond the file.


def test_a_complete_index_is_searched_while_another_one_is_built(directory):
    index = directory.open()
    index.create("old")
    index.write([page(b"a", "salt")], filled=None)

    index.create("new")
    index.write([page(b"b", "salt")], filled=b"b")

    assert (index.searched(), index.settings(), index.filled()) == ("old", "new", b"b")
    assert rows(index, word("salt")) == {b"a"}
    index.compact()
    assert (index.searched(), index.settings(), index.filled()) == ("old", "new", b"b")
    assert rows(index, word("salt")) == {b"a"}
    index.write([page(b"c", "salt")], filled=None)
    assert (index.searched(), rows(index, word("salt"))) == ("new", {b"b", b"c"})


def test_the_replaced_index_is_removed_and_an_open_reader_goes_over_to_the_new_one(directory):
    reader = TantivyIndex(directory.folder / "text")
    index = directory.open()
    index.create("old")
    index.write([page(b"a", "salt")], filled=None)
    first = rows(reader, word("salt"))
    folders = set((directory.folder / "text").glob("index-*"))

    index.create("new")
    index.write([page(b"b", "salt")], filled=None)

    assert (first, rows(reader, word("salt"))) == ({b"a"}, {b"b"})
    assert not folders & set((directory.folder / "text").glob("index-*"))
    assert len(list((directory.folder / "text").glob("index-*"))) == 1


def test_what_killed_writers_have_left_is_removed_by_the_next_one(directory):
    index = directory.open()
    index.create("settings")
    folder = directory.folder / "text"
    (folder / "index-0123456789abcdef").mkdir()
    (folder / "index-0123456789abcdef" / "meta.json").write_text("{}")
    (folder / "search.json.12345.part").write_text("{")
    (folder / "index-of-mine").mkdir()

    index.write([page(b"a", "salt")], filled=None)

    names = {path.name for path in folder.iterdir()}
    assert len(names) == 4
    assert names > {"search.json", "writer.lock", "index-of-mine"}
    assert "index-0123456789abcdef" not in names
    assert rows(index, word("salt")) == {b"a"}


@pytest.mark.slow
def test_readers_search_while_indexes_are_replaced(directory):
    index = directory.open()
    index.create("one")
    index.write([page(b"a", "salt")], filled=None)
    reader, is_done, found = TantivyIndex(directory.folder / "text"), threading.Event(), []

    def search() -> None:
        while not is_done.is_set():
            found.append(rows(reader, word("salt")))

    thread = threading.Thread(target=search)
    thread.start()
    for _ in range(10):
        index.create("again")
        index.write([page(b"a", "salt")], filled=None)
    is_done.set()
    thread.join()

    assert found
    assert all(one == {b"a"} for one in found)


def test_how_far_a_refresh_is_stays_with_the_index(directory):
    moment = datetime(2026, 11, 1, tzinfo=UTC)
    index = directory.open()
    index.create("settings")
    index.write([page(b"a", "salt")], filled=None)
    index.reach("from here", moment)
    index.reach("and from there")

    again = directory.open()

    assert (again.cursor(), again.as_of, again.filled()) == ("and from there", moment, None)


def test_a_second_writer_is_told_who_writes(directory):
    index = directory.open()
    index.create("settings")
    other = TantivyIndex(directory.folder / "text")

    with pytest.raises(StoreUnavailable, match=f"process {os.getpid()} is writing"):
        other.write([page(b"a", "salt")])
    index.close()
    other.write([page(b"a", "salt")])

    assert rows(index, word("salt")) == {b"a"}
    other.close()


def test_a_failed_write_leaves_what_was_there(directory):
    index = directory.open()
    index.create("settings")
    index.write([page(b"a", "salt")], filled=b"a")

    def broken():
        yield page(b"b", "salt")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.write(broken(), [b"a"], filled=b"b")
    wrong = page(b"c", "salt")._replace(terms=("too", "few"))
    with pytest.raises(StoreError):
        index.write([page(b"b", "salt"), wrong], [b"a"], filled=b"b")

    assert (rows(index, word("salt")), index.filled()) == ({b"a"}, b"a")
    index.write([page(b"d", "salt")])
    assert rows(index, word("salt")) == {b"a", b"d"}


def test_the_child_of_a_fork_does_not_hold_the_lock(directory):
    index = directory.open()
    index.create("settings")
    index.matches(word("salt"), None, 1)
    child = os.fork()
    if child == 0:
        signal.pause()
    try:
        index.close()
        other = TantivyIndex(directory.folder / "text")
        other.write([page(b"a", "salt")])
        other.close()

        assert rows(index, word("salt")) == {b"a"}
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_fork_while_tantivy_holds_its_own_lock_does_not_block_the_child(directory):
    index = directory.open()
    index.create("settings")
    index.write([page(b"a", "salt")], filled=None)
    index.close()
    (lock,) = (directory.folder / "text").glob("*/.tantivy-meta.lock")
    # As a thread of tantivy does that looks for new commits: after a fork, closing it here is not enough.
    held = os.open(lock, os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)

    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if rows(directory.open(), word("salt")) == {b"a"} else 1)
    os.close(held)

    assert os.waitpid(child, 0)[1] == 0


def test_a_directory_of_something_else_is_not_written(tmp_path):
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "notes.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")

    with pytest.raises(NotAStore, match=r"notes\.txt"):
        TantivyIndex(tmp_path / "text").create("settings")
    with pytest.raises(NotAStore):
        TantivyIndex(tmp_path / "file").create("settings")
    with pytest.raises(NotAStore):
        TantivyIndex(tmp_path / "file").settings()
    assert [path.name for path in (tmp_path / "text").iterdir()] == ["notes.txt"]


def replace_file(path, content):
    """Write another file in its place: tantivy maps files into memory, and to cut one there ends the process."""
    other = path.with_suffix(".other")
    other.write_bytes(content)
    other.replace(path)


def test_a_damaged_directory_is_an_error_that_says_what_to_do(directory):
    index = directory.open()
    index.create("settings")
    index.write([page(b"%d" % number, "salt " * number) for number in range(50)], filled=None)
    index.close()
    state = directory.folder / "text" / "search.json"
    whole = state.read_bytes()

    for wrong in (b"", b"{}", whole[:-9], whole.replace(b"settings", b"sattings"), with_checksum(b'{"format":1}')):
        state.write_bytes(wrong)
        with pytest.raises(StoreError, match="webtable search-index create"):
            directory.open().settings()
    state.write_bytes(with_checksum(b'{"format":2}'))
    with pytest.raises(NewerFormat):
        directory.open().settings()
    state.write_bytes(with_checksum(b'{"format":1,"current":{"folder":"../../x","settings":""}}'))
    with pytest.raises(StoreError):
        directory.open().matches(word("salt"), None, 1)
    state.write_bytes(whole)
    chance = random.Random(1)
    for path in sorted((directory.folder / "text").glob("index-*/*")):
        good = path.read_bytes()
        for bad in (b"", good[: len(good) // 2], bytes(chance.randbytes(len(good)))):
            replace_file(path, bad)
            with suppress(StoreError):  # some files are not needed for it
                directory.open().matches(word("salt"), None, 100)
        replace_file(path, good)
    assert len(directory.open().matches(word("salt"), None, 100)) == 49


@pytest.mark.parametrize("said", ["no such module: fts5", 'unrecognized option: "contentless_delete"'])
def test_an_sqlite_that_cannot_keep_full_text_is_an_error_that_says_what_to_do(said):
    error = sqlite3.OperationalError(said)
    error.sqlite_errorcode = sqlite3.SQLITE_ERROR

    refused = meaning("crawl.db", error, closed=False)

    assert type(refused) is StoreRefused
    assert re.search(r"crawl\.db: .*FTS5.*SQLite 3\.\d+.*webtable search-index drop", str(refused))


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ('IoError(Os { code: 28, kind: StorageFull, message: "No space left on device" })', StoreFull),
        ('IoError(Os { code: 13, kind: PermissionDenied, message: "Permission denied" })', StoreRefused),
        ('IoError(Os { code: 24, kind: Uncategorized, message: "Too many open files" })', StoreUnavailable),
        ("anything else", StoreError),
    ],
)
def test_an_error_of_tantivy_is_one_of_the_store_that_says_what_helps(said, error, tmp_path):
    with pytest.raises(error) as raised, translated(tmp_path):
        raise ValueError(said)

    assert type(raised.value) is error


def test_a_phrase_that_ends_with_too_short_a_beginning_says_so(directory):
    index = directory.open()
    index.create("settings")
    index.write([page(b"a", " ".join(f"the w{number}" for number in range(17_000)))])

    with pytest.raises(InvalidArgument, match="write more letters"):
        index.matches(phrase("the", "w", is_prefix=True), None, 1)


def test_without_tantivy_the_error_says_what_to_install():
    code = """
import sys
sys.modules["tantivy"] = None
from webtable.errors import MissingExtra
try:
    import webtable.store.full_text.tantivy_index
except MissingExtra as exc:
    print(exc)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert "hbase-webtable[search]" in said
