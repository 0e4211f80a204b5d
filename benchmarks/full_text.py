"""How fast are pages put into full text and found there, by SQLite's FTS5 and by tantivy?"""

from __future__ import annotations

import random
import time
from itertools import accumulate, islice
from statistics import median, quantiles
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import zstandard

import webtable
from benchmarks.measuring import Result
from webtable.formats import read_pages
from webtable.repository.full_text.words import Analyzer
from webtable.schema import FamilySchema, TableSchema
from webtable.store.full_text import Document, TermPhrase, TermQuery
from webtable.store.full_text.tantivy_index import TantivyIndex
from webtable.store.sqlite import SQLiteStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from benchmarks.setting import Setting
    from webtable.store.full_text import SearchIndex

NEEDS: frozenset[str] = frozenset()
LIKES = {"corpus"}

AT_ONCE = 1_000
QUERIES = 300
VOCABULARY = 200_000
WRITTEN = 3_000


def run(setting: Setting) -> list[Result]:
    """Fill and ask both with the texts of the corpus, if it is there, and with those of `--largest` made-up pages."""
    results: list[Result] = []
    if setting.warc_files:
        documents, body_bytes = _of_corpus(setting)
        share = f"bodies take {body_bytes / len(documents):,.0f} bytes a page"
        results += _compared(setting, f"{len(documents):,} pages of the corpus", documents, share)
        results.append(_written(setting))
    count = setting.scaled(setting.largest)
    return results + _compared(setting, f"{count:,} made-up pages of some 300 words", _made_up(count), "")


def _of_corpus(setting: Setting) -> tuple[list[Document], int]:
    """Return the documents of the corpus' pages, and the bytes of their bodies as they are stored."""
    analyzer, packer = Analyzer(), zstandard.ZstdCompressor()
    documents: list[Document] = []
    body_bytes = 0
    pages = (page for file in setting.warc_files for page in read_pages(file))
    for number, page in enumerate(pages):
        if not page.body or (setting.quick and number % 100):
            continue
        body_bytes += len(packer.compress(page.body))
        address = urlsplit(page.url)
        texts = (page.title, page.h1, page.main_text, f"{address.hostname} {unquote(address.path)}")
        terms = tuple(" ".join(analyzer.terms(text or "")) for text in texts)
        documents.append(Document(f"{number:07}".encode(), number, str(number), 200, "text/html", "en", terms))
    return documents, body_bytes


def _written(setting: Setting) -> Result:
    """Return how fast pages are parsed and written into a file that keeps full text, beside one that keeps none."""
    rates: dict[bool, list[float]] = {True: [], False: []}
    for is_kept in (False, True) * 2:
        with webtable.open(setting.new_file(), create=True) as table:
            if is_kept:
                table.search_index.create()
            start = time.perf_counter()
            with table.writer() as writer:
                pages = (page for file in setting.warc_files for page in read_pages(file))
                for page in islice(pages, setting.scaled(WRITTEN)):
                    writer.put(page)
            rates[is_kept].append(writer.stored / (time.perf_counter() - start))
    ours, peer = (max(rates[is_kept]) for is_kept in (True, False))
    return _compared_as(
        f"{writer.stored:,} pages of the corpus a second into a file with full text", ours, peer, of="without it"
    )


def _made_up(count: int) -> Iterator[Document]:
    chance = random.Random(1)
    words = [f"w{number:x}" for number in range(VOCABULARY)]
    weights = list(accumulate(1 / (number + 10) for number in range(VOCABULARY)))
    for number in range(count):
        text = chance.choices(words, cum_weights=weights, k=chance.randint(100, 500))
        terms = (" ".join(text[:6]), " ".join(text[6:12]), " ".join(text), " ".join(text[12:18]))
        row = f"com.example.h{number % 997:03}/{number:07}".encode()
        yield Document(row, number, str(number), 200, "text/html", "en", terms)


def _compared(setting: Setting, what: str, documents: Iterable[Document], note: str) -> list[Result]:
    """Return the results of both engines for the same documents."""
    with SQLiteStore(setting.new_file(), create=True) as store:
        store.create_table(TableSchema("pages", (FamilySchema("one"),)))
        directory = TantivyIndex(setting.new_file())
        indexes: list[SearchIndex] = [directory, store.search_index("pages")]
        seconds = [0.0, 0.0]
        count = 0
        sample: list[list[str]] = []
        for index in indexes:
            index.create("{}")
        source = iter(documents)
        while some := list(islice(source, AT_ONCE)):
            count += len(some)
            sample += [(one.terms or ("",) * 4)[2].split() for one in some[:: max(1, AT_ONCE // 50)]]
            for number, index in enumerate(indexes):
                start = time.process_time()
                index.write(some)
                seconds[number] += time.process_time() - start
        for index in indexes:
            index.write([], filled=None)
        directory.close()
        ours, peer = (count / one for one in seconds)
        results = [
            _compared_as(f"{what} put into full text, pages a second of a core", ours, peer, note="in pieces of 1,000")
        ]
        ours, peer = (index.bytes() / count for index in indexes)
        results.append(_compared_as(f"{what}: bytes of full text a page", peer, ours, note=note, shown=(ours, peer)))
        asked = [_asked(f"{what}: the best 10 of {words} words", indexes, sample, words) for words in (1, 2, 3)]
        return results + asked


def _asked(what: str, indexes: list[SearchIndex], sample: list[list[str]], words: int) -> Result:
    """Return the result of asking both for words that a page has."""
    chance = random.Random(words)
    long_enough = [set(one) for one in sample if len(set(one)) >= words]
    times: list[list[float]] = [[], []]
    for _ in range(QUERIES):
        terms = chance.sample(sorted(chance.choice(long_enough)), words)
        query = TermQuery(tuple(TermPhrase((term,)) for term in terms))
        found = []
        for number, index in enumerate(indexes):
            start = time.perf_counter()
            found.append(len(index.matches(query, None, 10)))
            times[number].append((time.perf_counter() - start) * 1e3)
        assert found[0] == found[1] > 0, f"not the same for {terms}: {found}"
    ours, peer = (f"{median(one):,.1f} ms, p99 {quantiles(one, n=100)[98]:,.1f} ms" for one in times)
    return Result(what, "FTS5", ours, peer, median(times[1]) / median(times[0]), None)


def _compared_as(
    what: str, ours: float, peer: float, *, note: str = "", shown: tuple[float, float] | None = None, of: str = "FTS5"
) -> Result:
    ours_shown, peer_shown = (f"{one:,.0f}" for one in shown or (ours, peer))
    return Result(what, of, ours_shown, peer_shown, ours / peer, None, note=note)
