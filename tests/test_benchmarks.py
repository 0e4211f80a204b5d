"""The benchmarks run, check that both sides came to the same, and say what they leave out."""

from __future__ import annotations

import logging
import socket
import socketserver
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import msgspec
import pytest

pytest.importorskip("w3lib")
pytest.importorskip("psutil")

from benchmarks import against, main_table, model, report, scale
from benchmarks.__main__ import NAMES, main
from benchmarks.bodies import real_bodies
from benchmarks.crawl import Crawl
from benchmarks.drain import drain, relay
from benchmarks.measuring import LeftOut, Result, Run, compare, compared, spending, stopwatch
from benchmarks.questions import QUESTIONS
from benchmarks.slow_link import BYTES_A_SECOND, ROUND_TRIP, slow_link

import webtable


@pytest.fixture(autouse=True)
def nothing_to_measure_with(monkeypatch: pytest.MonkeyPatch, tmp_path):
    """No corpus, and an HBase that is not asked for by these tests."""
    monkeypatch.setenv("WEBTABLE_CORPUS", str(tmp_path))
    monkeypatch.setenv("WEBTABLE_HBASE_URL", "hbase://127.0.0.1:1")
    yield
    logging.disable(logging.NOTSET)  # the benchmarks are for a process of their own


@pytest.mark.slow
@pytest.mark.parametrize("name", ["embedded_ingest", "embedded_scan", "writer_time", "index_time"])
def test_a_benchmark_of_the_embedded_store_needs_nothing_else(name: str, tmp_path, capsys):
    page = tmp_path / "benchmarks.md"

    assert main([name, "--quick", "--write", str(page)]) == 0

    assert "made-up pages" in capsys.readouterr().out
    assert f"python -m benchmarks {name} --quick" in page.read_text()


def test_a_benchmark_without_its_corpus_is_left_out_with_the_reason(capsys):
    assert main(["keys", "--quick"]) == 0

    assert "holds no" in " ".join(capsys.readouterr().out.split())


def test_every_benchmark_says_its_question_in_its_first_line():
    for name in NAMES:
        module = __import__(f"benchmarks.{name}", fromlist=["run"])

        assert module.__doc__
        assert module.__doc__.strip().endswith("?")


def test_a_fast_wrong_answer_does_not_win():
    with pytest.raises(AssertionError, match="not the same outcome"):
        compare("w", "a", target=1, ours=lambda: Run(0.1, 9, "x"), peer=lambda: Run(1.0, 10, "x"), pairs=1)


def test_a_ratio_is_the_median_of_the_pairs_without_the_first():
    ours = iter([Run(9.0, 10, ""), Run(1.0, 10, ""), Run(1.0, 10, ""), Run(2.0, 10, "")])
    peer = iter([Run(1.0, 10, ""), Run(3.0, 10, ""), Run(4.0, 10, ""), Run(2.0, 10, "")])

    result = compare("w", "a", target=3, ours=lambda: next(ours), peer=lambda: next(peer), pairs=3)

    assert (result.figure, result.met) == (3.0, True)


def test_of_three_sides_in_turn_two_are_compared_without_a_warm_up():
    runs = [(Run(seconds, 10, ""), Run(1.0, 10, "")) for seconds in (2.0, 4.0, 5.0)]

    result = compared("w", "a", runs, target=0.3, warm_up=False)

    assert (result.figure, result.met) == (0.25, False)


def test_a_made_up_crawl_knows_how_often_its_pages_are_linked():
    crawl = Crawl(400, datetime(2026, 1, 1, tzinfo=UTC))

    counts = crawl.inlinks()

    links = Counter(link.url for page in crawl.pages() for link in page.outlinks or ())
    assert list(counts) == [links.pop(page.url, 0) for page in crawl.pages()]
    assert not links


@pytest.mark.slow
def test_what_a_relay_has_seen_is_asked_again():
    asked = []

    class Answering(socketserver.BaseRequestHandler):
        def handle(self):
            while data := self.request.recv(100):
                asked.append(data)
                self.request.sendall(b"x" * int(data))

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answering) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with relay(server.server_address) as between, socket.create_connection(("127.0.0.1", between.port)) as client:
            for size in (b"5", b"2000000"):
                client.sendall(size)
                assert len(client.recv(int(size), socket.MSG_WAITALL)) == int(size)
        with socket.create_connection(server.server_address) as gateway:
            drain(gateway, between.exchanges)
            gateway.setblocking(False)
            with pytest.raises(BlockingIOError):  # nothing is left to take
                gateway.recv(1)
        server.shutdown()

    assert [(one.request, one.reply) for one in between.exchanges] == [(b"5", 5), (b"2000000", 2_000_000)]
    assert asked == [b"5", b"2000000"] * 2


def test_a_largest_table_that_is_no_whole_crawl_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["keys", "--quick", "--largest", "50"])

    assert "no multiple of 40" in capsys.readouterr().err


def test_no_two_pages_of_a_made_up_crawl_have_the_same_second():
    pages = list(Crawl(2_000, datetime(2026, 1, 1, tzinfo=UTC)).pages())

    assert len({page.fetched_at for page in pages}) == len({page.last_modified for page in pages}) == 2_000


def test_every_question_that_is_measured_finds_something_in_a_small_crawl(tmp_path):
    crawl = Crawl.until_now(200)
    with webtable.open(tmp_path / "crawl.db", create=True) as table:
        with table.writer() as writer:
            for page in crawl.pages():
                writer.put(page)
        table.links.refresh()

        found = {question.name: question.ours(table, crawl) for question in QUESTIONS}

    assert all(found.values())


def test_the_page_shows_what_was_missed_and_what_was_left_out():
    missed = Result("growth", "itself", "9 ms", "3 ms", 3.0, 1.5, at_most=True)

    page = report.markdown([missed, LeftOut("listing", "no HBase")], "command", "machine")

    assert "| growth; against itself | 9 ms | 3 ms | 3.00× | ≤ 1.5× | **no** |" in page
    assert "| listing | left out: no HBase |" in page


@pytest.mark.nightly
def test_every_row_of_the_main_table_is_one_figure_of_its_benchmark(tmp_path, capsys, monkeypatch):
    without_hbase = lambda made, *_: replace(made, missing={"hbase": "no HBase"})  # noqa: E731
    monkeypatch.setattr("benchmarks.setting._with_hbase", without_hbase)
    results = tmp_path / "main.json"

    main_table.main(["--quick", "--results", str(results)])

    assert "holds no" in capsys.readouterr().out
    embedded = [row for row in main_table.ROWS if "SQLite" in row.question or row.benchmark == "startup"]
    assert main_table.read(results).keys() == {main_table.key(row) for row in embedded}


@pytest.mark.slow
def test_a_benchmark_that_fails_keeps_its_older_figures_and_the_others_are_measured(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("benchmarks.setting._with_hbase", lambda made, *_: replace(made, missing={"hbase": "none"}))
    monkeypatch.setattr("benchmarks.embedded_scan.run", lambda _: 1 / 0)
    results = tmp_path / "main.json"

    assert main_table.main(["embedded_scan", "embedded_ingest", "--quick", "--results", str(results)]) == 1

    assert "ZeroDivisionError" in capsys.readouterr().err
    assert [key.partition(",")[0] for key in main_table.read(results)] == ["Write pages"]


def test_the_main_table_is_not_made_of_a_try(capsys):
    with pytest.raises(SystemExit):
        main_table.main(["--quick"])

    assert "another file" in capsys.readouterr().err


def test_an_hbase_that_ends_meanwhile_keeps_the_processor_time_it_had():
    program = "'org.apache.hadoop.hbase'; sum(range(10_000_000)); print(); input()"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", program], stdin=pipe, stdout=pipe) as server:
        spending.cache_clear()
        so_far = spending()
        server.stdout.readline()
        before = so_far()
        server.communicate(b"\n")

    assert before.hbase > 0
    assert so_far().hbase >= before.hbase
    spending.cache_clear()


def test_a_comparison_counts_the_processor_time_within_stopwatches():
    def side(work):
        with stopwatch() as watch:
            sum(range(work))
        return Run(watch.seconds, 10, "x")

    result = compare("w", "a", target=None, ours=lambda: side(3_000_000), peer=lambda: side(30_000), pairs=2)
    # The client's part is the first; beside it come gateways and HBase, where other tests have one.
    mine, other = (float(text.split()[0].replace(",", "")) for text in result.processor.split("; "))

    assert mine > 10 * other > 0
    assert compare("w", "a", target=None, ours=lambda: Run(1, 1, 1), peer=lambda: Run(1, 1, 1), pairs=1).processor == ""


def test_a_row_that_is_measured_again_has_its_new_date_and_the_others_keep_theirs(tmp_path):
    old = main_table.Figure("1", "2", 0.5, "2026-01-01", "old machine")
    first, second = (row for row in main_table.ROWS if row.benchmark == "embedded_scan")
    figures = {main_table.key(row): old for row in (first, second)}
    results = tmp_path / "main.json"
    results.write_bytes(msgspec.json.encode(figures))

    new = Result(first.what, "x", "3", "4", 2.0, None, processor="5 µs; 6 µs")
    main_table.keep([new], "embedded_scan", "new machine", results)
    table = main_table.table(main_table.read(results))

    assert "| 2.00 | 5 µs; 6 µs |" in table
    assert "| 0.50 | – | 2026-01-01, B |\n\nMachine A: new machine.\n\nMachine B: old machine." in table


def test_a_row_whose_sides_do_not_do_the_same_work_has_no_ratio(tmp_path):
    results = tmp_path / "main.json"

    main_table.keep([Result("title", "x", "400 µs", "200 µs", 400, 400, unit=" µs")], "extraction", "machine", results)

    assert "| 400 µs | 200 µs: selectolax, title and links alone | – |" in main_table.table(main_table.read(results))


@pytest.mark.nightly
@pytest.mark.parametrize("writers", [1, 2])
def test_a_table_is_measured_as_it_grows(tmp_path, monkeypatch, writers):
    monkeypatch.setattr(scale, "ASKS", 1)
    monkeypatch.setattr(scale, "WARM_UP", 0)
    monkeypatch.setattr(scale, "sizes", lambda most: [400, most])
    file, results = tmp_path / "scale.db", tmp_path / "scale.jsonl"

    scale.main([f"{file}", "--pages=800", f"--writers={writers}", "--walks-to=400", f"--results={results}"])

    first, second = scale.read(results)
    with webtable.open(str(file)) as table:
        assert (first.pages, second.pages, table.stats(webtable.ALL).pages) == (400, 800, 800)
    assert second.questions.keys() == second.calls.keys() == {question.name for question in QUESTIONS}
    assert all(first.bytes[what] <= size for what, size in second.bytes.items())
    assert (set(first.walks), set(second.walks)) == ({"refresh_links", "stats", "verify_index time"}, set())
    assert first.written > 1_000 or writers > 1 or not scale.COUNTS.exists()


def test_bodies_of_real_pages_are_the_same_for_a_digest_and_no_others(tmp_path):
    file = tmp_path / "two.warc"
    heads = [b"WARC/1.0", b"WARC-Type: response", b"WARC-Target-URI: http://a.example/", b"Content-Length: 25"]
    record = b"\r\n".join([*heads, b"", b"HTTP/1.1 200 OK\r\n\r\n<p>%s", b"", b""])
    file.write_bytes(record % b"one" + record % b"two")

    with real_bodies([file]) as body:
        made = [body(f"{number:064x}") for number in range(20)]
        again = [body(f"{number:064x}") for number in range(20)]

    assert made == again
    assert len(set(made)) == 20
    assert {text[:6] for text in made} == {b"<p>one", b"<p>two"}
    with pytest.raises(ValueError, match="no response"), real_bodies([]):
        pass


def test_sizes_that_were_measured_are_read_from_their_file(tmp_path):
    size = scale.Size(10_000, 30_000, datetime.now(UTC), 1000.0, 90.0, {"errors": (1.0, 2.0)}, {"stats": 0.5}, 16)
    file = tmp_path / "scale.jsonl"
    file.write_bytes(msgspec.json.encode(size) + b"\n")

    assert scale.read(file) == [size]
    assert scale.read(tmp_path / "none") == []


def measured_size(pages: int, *, page_bytes: int = 700) -> scale.Size:
    sizes = {"pages": 5_000 + page_bytes * pages}
    return scale.Size(pages, 1_000_000, datetime.now(UTC), 2_000.0, 90.0, {}, {}, 16, {"errors": 3}, sizes)


def results_file(tmp_path, last: scale.Size):
    file = tmp_path / "scale.jsonl"
    sizes = [measured_size(30_000), measured_size(100_000), last]
    file.write_bytes(b"".join(msgspec.json.encode(size) + b"\n" for size in sizes))
    return file


@pytest.mark.slow
def test_larger_crawls_are_predicted_from_what_was_measured(tmp_path, capsys):
    file = results_file(tmp_path, measured_size(1_000_000))

    assert model.main([str(file)]) == 0

    printed = capsys.readouterr().out
    assert "1,000,000 pages: bytes: 700,005,000 predicted, 700,005,000 measured (+0%)" in printed
    assert "| in HBase's files | 0.7 TB | 70.0 TB |" in printed
    assert "errors: 3 calls" in printed


@pytest.mark.slow
def test_a_size_that_came_out_otherwise_is_told(tmp_path, capsys):
    file = results_file(tmp_path, measured_size(1_000_000, page_bytes=1_400))

    assert model.main([str(file)]) == 1

    assert "measured (-50%)" in capsys.readouterr().out


@pytest.mark.slow
def test_what_goes_through_a_slow_link_comes_whole_and_late():
    class Echo(socketserver.BaseRequestHandler):
        def handle(self):
            while data := self.request.recv(2**16):
                self.request.sendall(data)

    sent = bytes(range(256)) * 2_000
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with slow_link(*server.server_address) as port, socket.create_connection(("127.0.0.1", port)) as client:
            start = time.monotonic()
            client.sendall(sent)
            came = client.recv(len(sent), socket.MSG_WAITALL)
            taken = time.monotonic() - start
        server.shutdown()

    assert came == sent
    # The first pieces come back while the last ones are still sent.
    assert taken >= ROUND_TRIP + len(sent) / BYTES_A_SECOND


def test_two_commits_are_compared_turn_by_turn():
    results = [Result("listing", "itself", "200 pages/s", "1 pages/s", 1, 1), LeftOut("scan", "no HBase 2.6")]
    new = against.rows_of(report.markdown(results, "command", "machine"))
    old = {"listing of once; against itself": "100 pages/s"}

    (rate,) = against.matched("scan", [(new, old), (new, old)])
    (time,) = against.matched("get", [({"p50": "p50 2.0 ms, 9 ms"}, {"p50": "p50 3.0 ms"})])

    assert (rate.what, rate.unit, rate.ratios) == ("scan: listing; against itself", "pages/s", [2.0, 2.0])
    assert (time.unit, time.ratios) == ("ms", [1.5])


def test_a_row_whose_text_has_a_number_of_its_turn_is_compared_all_the_same():
    turns = [
        ({"7 requests of 812 bytes": "10 ms"}, {"7 requests of 811 bytes": "20 ms", "gone": "1 ms"}),
        ({"8 requests of 1,020 bytes": "10 ms"}, {"8 requests of 99 bytes": "40 ms", "gone": "1 ms"}),
    ]

    (change,) = against.matched("scan", turns)

    assert (change.what, change.ratios) == ("scan: 7 requests of 812 bytes", [2.0, 4.0])


@pytest.mark.nightly
def test_a_benchmark_runs_with_this_code_and_with_another_commits(capsys):
    assert main(["keys", "embedded_scan", "--quick", "--against", "HEAD", "--turns", "1"]) == 0

    shown = " ".join(capsys.readouterr().out.split())
    assert "this code against HEAD" in shown
    assert "pages/s" in shown
