"""Copying a table into another one: everything that can be asked has the same answers there."""

from __future__ import annotations

import random
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from damaging import CAPTURE, HTML, PAGE, damage
from msgspec.structs import replace

import webtable
from nightly import some
from store_differences import with_thrift1
from webtable import Link, Page
from webtable._checksums import place, with_checksum
from webtable._clock import milliseconds
from webtable.errors import ExpiredCapture, HiddenByDelete, InvalidArgument, LayoutMismatch
from webtable.maintenance import Copied
from webtable.rowkey import Salt
from webtable.store import Delete, NewCell, Put
from webtable.testing import ListeningStore
from webtable.writing import PageOutcome

NOW = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
PATHS = ("/", "/a", "/b", "/c", "/d?q=1")
HOSTS = ("copy.example", "docs.copy.example", "other.example")
URLS = [f"https://{host}{path}" for host in HOSTS for path in PATHS]
LAYOUTS = (
    {"salt": Salt.url(), "names": "short"},
    {"salt": Salt.none(), "compression": "none", "plain_columns": ()},
    {"salt": Salt.domain(1), "versions": None, "ttl": None},
)


def random_page(rng: random.Random, url: str, moment: datetime) -> Page:
    links = tuple(Link(rng.choice(URLS), rng.choice(("", "text")), "") for _ in range(rng.randrange(4)))
    kind = rng.randrange(10)
    if kind == 0:
        return Page(url=url, fetched_at=moment, status=304, same_as=url)
    if kind == 1:
        return Page(url=url, fetched_at=moment, status=301, redirect_to=rng.choice(URLS))
    status = 404 if kind == 2 else 200
    body = b"<title>%d</title>" % rng.randrange(4) * (1 + rng.randrange(30))
    return Page(url=url, body=body, status=status, fetched_at=moment, outlinks=links, headers={"x": "y"})


def live(table: webtable.WebTable, rng: random.Random, steps: int, first: datetime) -> None:
    """Store, change, repeat and delete pages, some of them too late."""
    for step in range(steps):
        url, moment = rng.choice(URLS), first + timedelta(minutes=step)
        if rng.random() < 0.1:
            with pytest.MonkeyPatch.context() as patch:
                now = milliseconds(moment)
                patch.setattr("webtable.repository.maintenance.delete.now_in_milliseconds", lambda now=now: now)
                table.delete(url)
            continue
        if rng.random() < 0.2:
            moment -= timedelta(minutes=rng.randrange(1, 20))
        outcomes: list[PageOutcome] = []
        with table.writer(on_outcome=outcomes.append) as writer:
            writer.put(random_page(rng, url, moment))
        assert outcomes[0].error is None or isinstance(outcomes[0].error, HiddenByDelete)


def everything(table: webtable.WebTable) -> dict[str, object]:
    """All public answers: pages with bodies and links, versions, inlinks, and every index."""
    table.links.refresh()

    def plain(page: Page) -> Page:
        counts = page.link_counts
        return replace(page, link_counts=None if counts is None else replace(counts, counted_at=NOW))

    pages = list(table.pages(webtable.ALL, columns=["body", "outlinks", "link_counts"]))
    answers = {
        "pages": [plain(page) for page in pages],
        "versions": {url: list(table.history(url, columns=["body", "outlinks"])) for url in URLS},
        "inlinks": {url: [(one.source, one.anchor, one.at) for one in table.links.to(url)] for url in URLS},
        "past": {url: [(one.source, one.anchor) for one in table.links.to(url, past=True)] for url in URLS},
        "hosts": [(host.name, host.pages, host.bytes) for host in table.hosts()],
        "discovered": list(table.links.discovered(webtable.ALL)),
        "orphans": [page.url for page in table.links.orphans(webtable.ALL)],
        "dead ends": [page.url for page in table.links.dead_ends()],
        "broken": [(link.source, link.target) for link in table.links.broken()],
    }
    for index in ("fetched", "largest", "errors", "redirects"):
        answers[index] = [page.url for page in getattr(table, index)()]
    answers["most linked"] = [page.url for page in table.links.most_linked()]
    answers["duplicates"] = {page.url: [one.url for one in table.duplicates(page.url)] for page in pages if page.digest}
    return answers


@pytest.fixture
def tables(new_url):
    with webtable.open(new_url(), create=True, ttl=None, versions=3) as source:
        yield source, lambda **options: webtable.maintenance.copy_target(source, new_url(), **options)


@pytest.fixture
def plain_tables(new_url):
    """The same without indexes, of which each is a table in HBase."""
    with webtable.open(new_url(), create=True, ttl=None, versions=3, indexes=[]) as source:
        yield source, lambda **options: webtable.maintenance.copy_target(source, new_url(), **options)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS, ids=["short names", "no compression", "more versions"])
@pytest.mark.parametrize("seed", range(1))
def test_a_copy_answers_every_question_as_its_source_does(tables, layout, seed):
    source, make = tables
    live(source, random.Random(seed), 60, NOW - timedelta(days=3))

    with make(**layout) as target:
        copied = source.maintenance.copy(target)

        assert copied.is_whole
        assert everything(target) == everything(source)
        assert source.maintenance.check_copy(target, full=True).is_sound


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_what_was_written_and_deleted_meanwhile_is_copied_by_the_next_call(tables, seed):
    source, make = tables
    rng = random.Random(seed)
    with make(**LAYOUTS[seed % 2]) as target:
        for day in (4, 3, 2):
            live(source, rng, 40, NOW - timedelta(days=day))

            source.maintenance.copy(target)

        assert everything(target) == everything(source)
        assert source.maintenance.check_copy(target, full=True).is_sound


@with_thrift1
def test_copying_again_changes_nothing(tables):
    source, make = tables
    live(source, random.Random(1), 40, NOW - timedelta(days=3))
    with make() as target:
        first = source.maintenance.copy(target)
        calls = []
        listening = webtable.WebTable(ListeningStore(target.store, calls.append), target.table, target.layout)

        again = source.maintenance.copy(listening)

    assert (again.pages, again.versions, again.deleted, again.inlinks) == (0, 0, 0, 0)
    assert again.unchanged == first.pages
    assert not [call for call in calls if call.name == "write"]


def test_captures_that_the_target_has_of_its_own_stay_and_others_take_their_places_beside_them(plain_tables):
    source, make = plain_tables
    url = "https://copy.example/"
    captures = [Page(url=url, body=b"%d" % day, fetched_at=NOW - timedelta(days=day)) for day in (9, 8, 7, 6, 5)]
    for page in captures[:3]:
        source.put(page)
    with make(versions=5) as target:
        target.put(captures[4])
        target.put(captures[3])

        copied = source.maintenance.copy(target)
        again = source.maintenance.copy(target)

        assert (copied.pages, copied.merged) == (1, 1)
        assert [version.body for version in target.history(url, columns=["body"])] == [b"5", b"6", b"7", b"8", b"9"]
        assert target.get(url).body == b"5"
        assert target.get(url).first_seen == captures[0].fetched_at
        assert source.maintenance.check_copy(target).own == 1
        assert (again.is_whole, again.pages, again.unchanged) == (True, 0, 1)


def test_captures_that_the_target_would_not_keep_are_not_put_again_and_again(plain_tables):
    source, make = plain_tables
    url = "https://copy.example/"
    captures = [Page(url=url, body=b"%d" % day, fetched_at=NOW - timedelta(days=day)) for day in (9, 8, 7, 6)]
    for page in captures[:2]:
        source.put(page)
    with make(versions=2) as target:
        for page in captures[2:]:
            target.put(page)

        copied = source.maintenance.copy(target)

        assert (copied.is_whole, copied.pages, copied.unchanged) == (True, 0, 1)
        assert [version.body for version in target.history(url, columns=["body"])] == [b"6", b"7"]


def test_a_page_that_the_target_has_deleted_since_is_left_out_and_counted(plain_tables):
    source, make = plain_tables
    source.put(Page(url="https://copy.example/", body=b"x", fetched_at=NOW))
    with make() as target:
        source.maintenance.copy(target)
        target.delete("https://copy.example/")

        copied = source.maintenance.copy(target)

        assert (copied.pages, copied.hidden, copied.is_whole) == (0, 1, False)
        assert isinstance(copied.errors[0], HiddenByDelete)
        assert target.get("https://copy.example/") is None


def test_a_damaged_body_is_left_out_with_its_version_and_told_and_the_rest_is_copied(plain_tables):
    source, make = plain_tables
    url = "https://copy.example/"
    for age, body in ((2, b"older " * 50), (1, b"newer " * 50)):
        source.put(Page(url=url, body=body, fetched_at=NOW - timedelta(days=age)))
    source.put(Page(url=url + "sound", body=b"x", fetched_at=NOW))
    damage(source, url, HTML, None)

    with make(salt=Salt.none()) as target:
        copied = source.maintenance.copy(target)

        assert (copied.pages, copied.damaged, copied.examples[0].url) == (2, 1, url)
        assert [version.body for version in target.history(url, columns=["body"])] == [b"older " * 50]
        assert target.get(url + "sound").body == b"x"
        assert not source.maintenance.check_copy(target).is_sound


@pytest.mark.parametrize("column", [PAGE, CAPTURE])
def test_a_row_that_cannot_be_read_stops_nothing(plain_tables, column):
    source, make = plain_tables
    for path in PATHS:
        source.put(Page(url=f"https://copy.example{path}", body=b"x", fetched_at=NOW))
    damage(source, "https://copy.example/a", column)

    with make() as target:
        copied = source.maintenance.copy(target)

        assert copied.damaged == 1
        assert len(list(target.pages(webtable.ALL))) >= len(PATHS) - 1
        assert target.maintenance.verify(webtable.ALL).damaged == 0


def test_a_damaged_body_in_the_target_is_found_by_a_full_comparison(plain_tables):
    source, make = plain_tables
    url = "https://copy.example/"
    source.put(Page(url=url, body=b"a body " * 50, fetched_at=NOW))
    with make() as target:
        source.maintenance.copy(target)
        damage(target, url, HTML, None)

        assert source.maintenance.check_copy(target).is_sound
        assert source.maintenance.check_copy(target, full=True).examples == (url,)


@pytest.fixture
def linked(new_url):
    """Copy a page with its history, and one that links to it and did so to another."""
    with (
        webtable.open(new_url(), create=True, ttl=None, versions=3, indexes=["link"]) as source,
        webtable.maintenance.copy_target(source, new_url()) as target,
    ):
        for day, body in ((4, b"old"), (3, b"new")):
            source.put(Page(url=URLS[0], body=body, fetched_at=NOW - timedelta(days=day)))
        for day, there in ((2, URLS[1]), (1, URLS[0])):
            body = b"<a href=%s>text</a>" % there.encode()
            source.put(Page(url=URLS[2], body=body, fetched_at=NOW - timedelta(days=day)))
        source.maintenance.copy(target)
        yield source, target


def test_the_links_to_pages_are_looked_for_by_a_full_comparison(linked):
    source, target = linked

    check = source.maintenance.check_copy(target, full=True)

    assert check.is_sound
    assert check.links == 2


@pytest.mark.parametrize(("linked_to", "gone"), [(0, b""), (1, b"-")], ids=["that is there", "that went away"])
def test_a_link_to_a_page_that_the_target_lacks_is_found_by_a_full_comparison(linked, linked_to, gone):
    source, target = linked
    column = b"inlinks:" + gone + URLS[2].encode()
    row = target.key.encode(URLS[linked_to])
    (found,) = target.store.read(target.table, [row])
    target.store.write(target.table, [Delete(row, found.cells[column][0].timestamp, [column])])

    assert source.maintenance.check_copy(target).is_sound
    assert source.maintenance.check_copy(target, full=True).examples == (URLS[linked_to],)


def test_a_link_that_went_away_and_is_still_there_in_the_target_is_found_by_a_full_comparison(linked):
    source, target = linked
    row, column = target.key.encode(URLS[1]), b"inlinks:" + URLS[2].encode()
    past = target.store.read(target.table, [row])[0].cells[b"inlinks:-" + URLS[2].encode()][0]
    # Later than the delete that hides it, and not later than the date when it went away.
    target.store.write(target.table, [Put(row, [NewCell(column, past.timestamp, b"text")])])

    assert source.maintenance.check_copy(target, full=True).examples == (URLS[1],)


def test_another_anchor_of_a_link_is_found_by_a_full_comparison(linked):
    source, target = linked
    row, column = target.key.encode(URLS[0]), b"inlinks:" + URLS[2].encode()
    cell = target.store.read(target.table, [row])[0].cells[column][0]
    target.store.write(target.table, [Put(row, [NewCell(column, cell.timestamp, b"another")])])

    assert source.maintenance.check_copy(target, full=True).examples == (URLS[0],)


def test_links_of_the_targets_own_are_no_difference(linked):
    source, target = linked
    target.put(Page(url=URLS[2], body=b"<a href=/x>x</a>", fetched_at=NOW))

    assert source.maintenance.check_copy(target, full=True).is_sound


def test_the_links_of_a_row_with_many_are_compared_to_the_last(linked, monkeypatch):
    source, target = linked
    monkeypatch.setattr("webtable.repository.copying.NARROW", 2)
    monkeypatch.setattr("webtable.repository.copying.PIECE", 2)
    for number in range(9):  # in front of all others, so that the pieces of both sides are apart
        target.put(Page(url=f"https://a.example/{number}", outlinks=[Link(URLS[0])], body=b"x", fetched_at=NOW))
    for number in range(5):
        source.put(Page(url=f"https://b.example/{number}", outlinks=[Link(URLS[0])], body=b"x", fetched_at=NOW))
    source.maintenance.copy(target)
    whole = source.maintenance.check_copy(target, full=True)
    row, column = target.key.encode(URLS[0]), b"inlinks:https://b.example/4"
    target.store.write(target.table, [Delete(row, milliseconds(NOW), [column])])

    lacking = source.maintenance.check_copy(target, full=True)

    assert (whole.is_sound, whole.links) == (True, 7)
    assert lacking.examples == (URLS[0],)


@pytest.mark.parametrize(
    "changes", [{"first_seen": NOW}, {"change_count": 7}, {"changed_at": NOW}], ids=["first seen", "count", "changed"]
)
def test_what_is_counted_of_a_page_is_compared(linked, changes):
    source, target = linked
    row, column = target.key.encode(URLS[0]), b"metadata:page"
    cell = target.store.read(target.table, [row])[0].cells[column][0]
    page = {**msgspec.json.decode(cell.value), **msgspec.to_builtins(changes)}
    del page["crc32"]
    value = with_checksum(msgspec.json.encode(page), place(row, cell.timestamp))
    target.store.write(target.table, [Put(row, [NewCell(column, cell.timestamp, value)])])

    check = source.maintenance.check_copy(target)

    assert (check.different, check.examples) == (1, (URLS[0],))


def test_content_that_the_target_would_drop_is_refused_before_anything_is_written(plain_tables, new_url):
    source, _ = plain_tables
    source.put(Page(url="https://copy.example/", body=b"x", fetched_at=NOW - timedelta(days=40)))
    url = new_url()

    with pytest.raises(ExpiredCapture, match=r"copy\.example.*30 days"):
        webtable.maintenance.copy_target(source, url, ttl=30 * 86_400)

    with pytest.raises(webtable.WebTableError):
        webtable.open(url)
    with webtable.open(url, create=True, ttl=30 * 86_400, indexes=[]) as target:
        with pytest.raises(ExpiredCapture):
            source.maintenance.copy(target)
        assert not list(target.pages(webtable.ALL))


@pytest.mark.slow
def test_a_copy_goes_on_from_its_journal_where_it_was_interrupted(tables, tmp_path):
    source, make = tables
    live(source, random.Random(2), 60, NOW - timedelta(days=3))
    journal, interrupted = tmp_path / "copy", []

    def end(copied):
        interrupted.append(copied.resumed)
        raise KeyboardInterrupt

    with make() as target:
        for _ in range(100):
            try:
                done = source.maintenance.copy(target, resume=journal, rate=10_000, on_copied=end)
            except KeyboardInterrupt:
                assert journal.stat().st_size
                continue
            break

        assert done.resumed
        assert interrupted == [False, *[True] * (len(interrupted) - 1)]
        assert len(interrupted) > 1
        assert not journal.exists()
        assert everything(target) == everything(source)


def test_a_copy_into_a_target_that_was_created_again_starts_at_the_beginning(tmp_path):
    journal = tmp_path / "copy"
    with (
        webtable.open(tmp_path / "source.db", create=True, indexes=[]) as source,
        webtable.maintenance.copy_target(source, tmp_path / "target.db") as target,
    ):
        live(source, random.Random(2), 20, NOW - timedelta(days=3))
        with pytest.raises(ZeroDivisionError):
            source.maintenance.copy(target, resume=journal, on_copied=lambda _: 1 // 0)
        reached = journal.read_text()
        for page in list(target.pages(webtable.ALL)):
            target.delete(page.url)
        target.maintenance.compact()

        done = source.maintenance.copy(target, resume=journal)

        assert "pages" in reached
        assert not done.resumed
        assert list(target.pages(webtable.ALL)) == list(source.pages(webtable.ALL))


def test_the_journal_of_a_copy_to_another_target_is_refused(plain_tables, tmp_path):
    source, make = plain_tables
    journal = tmp_path / "copy"
    journal.write_text('{"job": "copy to another", "at": "2026-01-01T00:00:00Z", "found": {}}')
    with make() as target, pytest.raises(InvalidArgument, match=r"journal of another run \(copy to another\)"):
        source.maintenance.copy(target, resume=journal)


def test_a_table_is_not_copied_into_itself(new_url):
    url = new_url()
    with webtable.open(url, create=True, indexes=[]) as source, webtable.open(url) as same:
        for target in (source, same):
            with pytest.raises(InvalidArgument, match="is the source itself"):
                source.maintenance.copy(target)


def test_a_rate_that_is_none_is_refused(plain_tables):
    source, make = plain_tables
    with make() as target:
        for rate in (0, -1, float("nan"), float("inf"), "5"):
            with pytest.raises(InvalidArgument, match="rate="):
                source.maintenance.copy(target, rate=rate)


def test_a_target_that_is_there_keeps_its_layout_and_one_that_is_asked_for_otherwise_is_refused(tables, new_url):
    source, _ = tables
    url = new_url()
    with webtable.open(url, create=True, salt=Salt.url(), indexes=["time"]):
        pass

    with webtable.maintenance.copy_target(source, url) as target:
        assert (target.layout.salt, list(target.indexes.states())) == ("url", ["time"])
    with pytest.raises(LayoutMismatch):
        webtable.maintenance.copy_target(source, url, salt=Salt.none())


@with_thrift1
def test_a_new_target_has_the_layout_and_the_indexes_of_its_source(new_url):
    given = {"salt": Salt.url(3), "names": "short", "ttl": 86_400, "indexes": ["url"]}
    with (
        webtable.open(new_url(), create=True, **given) as source,
        webtable.maintenance.copy_target(source, new_url(), names="readable") as target,
    ):
        assert target.layout == replace(source.layout, names="readable")
        assert list(target.indexes.states()) == ["url"]


@pytest.mark.slow
def test_inlinks_are_made_where_the_source_keeps_none(new_url):
    with webtable.open(new_url(), create=True, ttl=None, indexes=[]) as source:
        rng = random.Random(5)
        with webtable.maintenance.copy_target(source, new_url(), indexes=["link"]) as target:
            for day in (4, 3):
                live(source, rng, 40, NOW - timedelta(days=day))
                source.maintenance.copy(target)

            assert target.indexes.verify("link", settle=0).is_empty


@pytest.mark.slow
def test_two_copies_at_once_make_one(tables):
    source, make = tables
    live(source, random.Random(3), 60, NOW - timedelta(days=3))
    with make() as target, ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda _: source.maintenance.copy(target), range(2)))

        assert everything(target) == everything(source)


@pytest.mark.slow
@pytest.mark.parametrize("seed", some(range(10, 16), 2))
def test_a_copy_between_stores_of_any_two_kinds_answers_as_its_source_does(seed, tmp_path):
    rng = random.Random(seed)
    urls = [f"memory:{uuid.uuid4().hex}", str(tmp_path / "a.db"), str(tmp_path / "b.db")]
    rng.shuffle(urls)
    with (
        webtable.open(urls[0], create=True, ttl=None, versions=rng.randrange(2, 4)) as source,
        webtable.maintenance.copy_target(source, urls[1], **LAYOUTS[seed % 2]) as target,
    ):
        for day in (4, 3):
            live(source, rng, 50, NOW - timedelta(days=day))
            assert source.maintenance.copy(target).is_whole

        assert everything(target) == everything(source)
        assert source.maintenance.check_copy(target, full=True).is_sound


def counts_of(copied: Copied) -> dict[str, object]:
    # Inlinks are compared when the pages are copied, which writes and removes some of them.
    return {name: one for name, one in asdict(copied).items() if name not in ("errors", "examples", "inlinks")}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_dry_run_reports_what_the_copy_does_and_writes_nothing(tmp_path, seed):
    rng = random.Random(seed)
    with (
        webtable.open(tmp_path / "source.db", create=True, ttl=None, versions=3) as source,
        webtable.maintenance.copy_target(source, tmp_path / "target.db") as target,
    ):
        live(source, rng, 30, NOW - timedelta(days=9))
        source.maintenance.copy(target)
        live(source, rng, 20, NOW - timedelta(days=5))
        live(target, rng, 3, NOW - timedelta(days=7))
        before = everything(target)

        would = source.maintenance.copy(target, dry_run=True)
        left = everything(target)
        done = source.maintenance.copy(target)

        assert left == before
        assert counts_of(would) == counts_of(done)
        assert list(map(str, would.errors)) == list(map(str, done.errors))
        assert counts_of(source.maintenance.copy(target, dry_run=True)) == counts_of(source.maintenance.copy(target))
        with pytest.raises(InvalidArgument, match="dry_run=True"):
            source.maintenance.copy(target, dry_run=True, resume=tmp_path / "copy")
