"""Several writers, whose calls to the store come in any order and who are killed, against a plain model."""

from __future__ import annotations

import os
import random
import threading
import uuid
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from answers import Expected, check_counts, check_questions, missing
from deaths import Killed, Town, listening
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import webtable
from nightly import examples
from store_differences import with_thrift1
from webtable import Page
from webtable.errors import HiddenByDelete
from webtable.repository.upkeep import cells

EXAMPLES = int(os.environ.get("WEBTABLE_MODEL_EXAMPLES", "0"))
"""How many runs the machine gets, each another one every time; by default a few that are always the same."""
PHASES = (Phase.generate,) if os.environ.get("WEBTABLE_MODEL_QUICK") else (Phase.generate, Phase.shrink)
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
PATHS = ("/", "/a", "/b", "/c")


class Actor:
    """A writer with one batch, which goes on by one call to the store whenever it is told to."""

    def __init__(self, table: webtable.WebTable, pages: list[Page]) -> None:
        self.pages = pages
        self.outcomes: list[webtable.writing.PageOutcome] = []
        self.is_done = False
        self.at = ""
        self._is_killed = False
        self._turn = threading.Condition()
        self._is_waiting = False
        self._table = listening(table, self._wait)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._until_it_waits()

    def step(self) -> None:
        """Let the call through at which it waits, and return when it waits at the next one, or is done."""
        with self._turn:
            self._is_waiting = False
            self._turn.notify_all()
        self._until_it_waits()

    def finish(self) -> None:
        while not self.is_done:
            self.step()
        self._thread.join()

    def kill(self) -> None:
        self._is_killed = True
        self.finish()

    def _until_it_waits(self) -> None:
        with self._turn:
            assert self._turn.wait_for(lambda: self._is_waiting or self.is_done, 30), "it neither waits nor ends"

    def _wait(self, call: str, table: str, *_: object) -> None:
        with self._turn:
            self.at = f"{call} {table}"
            if not self._is_killed:
                self._is_waiting = True
                self._turn.notify_all()
                self._turn.wait_for(lambda: not self._is_waiting)
            if self._is_killed:
                raise Killed

    def _run(self) -> None:
        try:
            with self._table.writer(on_outcome=self.outcomes.append, max_age=3_600) as writer:
                for page in self.pages:
                    writer.put(page)
        except Killed:
            pass
        finally:
            with self._turn:
                self.is_done = True
                self._turn.notify_all()


bodies = st.sampled_from([None, b"x", b"yy", b"yy", b"zzz"])
captures = st.fixed_dictionaries(
    {
        "path": st.sampled_from(PATHS),
        "hours": st.sampled_from([-20, -10, *range(1, 20)]),
        "body": bodies,
        "status": st.sampled_from([200, 200, 200, 301, 404]),
        "links": st.lists(st.sampled_from((*PATHS, "/never")), unique=True),
        "is_304": st.sampled_from([False, False, False, True]),
    }
)
batches = st.lists(captures, min_size=1, max_size=3, unique_by=lambda capture: capture["path"])


class Crawl(RuleBasedStateMachine):
    """Writers on one file, and what each has been told is stored."""

    WRITERS = 2
    FOLDER: Path

    @initialize()
    def begin(self) -> None:
        self.url = self.FOLDER / f"{uuid.uuid4().hex}.db"
        self.table = webtable.open(self.url, create=True)
        self.town = Town(self.table)
        self.tables = [webtable.open(self.url) for _ in range(self.WRITERS)]
        self.actors: dict[int, Actor] = {}
        self.put: dict[str, set] = defaultdict(set)
        self.acknowledged: dict[str, set] = defaultdict(set)
        self.unsure: set[str] = set()
        # Whether there may be inlinks that nobody removes, but counts: those of a capture whose writer was killed, or
        # that came behind another one of the same millisecond, or behind a delete that hides it.
        self.has_extra = False
        self.hidden: dict[str, datetime] = {}
        self.gone: dict[str, set] = defaultdict(set)

    def teardown(self) -> None:
        try:
            for number in list(self.actors):
                self._finished(number)
            self.check_when_all_is_quiet()
            check_counts_at_least(self.table, self.town.domain)
            self.table.indexes.repair("link", settle=0)
            if not self.unsure and not self.has_extra:
                check_counts(self.table, self.town.domain)
        finally:
            for actor in self.actors.values():
                actor.kill()
            for table in (*self.tables, self.table):
                table.close()

    @rule(number=st.integers(0, 3), batch=batches)
    def start(self, number: int, batch: list[dict]) -> None:
        number %= self.WRITERS
        if number not in self.actors:
            pages = [self._page(**capture) for capture in batch]
            for page in pages:
                self.has_extra |= page.fetched_at in self.put[page.url]
                self.put[page.url].add(page.fetched_at)
            self.actors[number] = Actor(self.tables[number], pages)

    @rule(number=st.integers(0, 3), steps=st.integers(1, 6))
    def go_on(self, number: int, steps: int) -> None:
        number %= self.WRITERS
        for _ in range(steps):
            if number in self.actors:
                self.actors[number].step()
                if self.actors[number].is_done:
                    self._finished(number)

    @rule(number=st.integers(0, 3))
    def finish(self, number: int) -> None:
        if number % self.WRITERS in self.actors:
            self._finished(number % self.WRITERS)

    @rule(number=st.integers(0, 3))
    def kill(self, number: int) -> None:
        if (actor := self.actors.pop(number % self.WRITERS, None)) is not None:
            actor.kill()
            self._told(actor)
            left = {page.url for page in actor.pages} - {outcome.url for outcome in actor.outcomes}
            self.unsure |= left
            self.has_extra |= bool(left)

    @precondition(lambda self: not self.actors)
    @rule(path=st.sampled_from(PATHS))
    def delete(self, path: str) -> None:
        url = self.town.url(path)
        page = self.table.get(url, columns=())
        assert self.table.delete(url) == (page is not None)
        if page is not None:
            # A delete hides what is older than it; what was dated later is gone, and hidden under its own date.
            self.hidden[url] = datetime.now(UTC)
            self.gone[url] |= {date for date in self.put[url] if date > self.hidden[url]}
            self.acknowledged[url].clear()

    @rule()
    def count(self) -> None:
        self.table.links.refresh()

    @rule(index=st.sampled_from(["time", "size", "link", "status", "digest"]))
    def rebuild(self, index: str) -> None:
        self.table.indexes.rebuild(index)

    @rule(index=st.sampled_from(["time", "size", "link", "status", "digest"]))
    def repair(self, index: str) -> None:
        self.table.indexes.repair(index, settle=0)

    @invariant()
    def check_entries(self) -> None:
        # Entries come before their pages, so these hold at any moment; links are right once a writer is told so.
        check_questions(self.table, self.town.domain, without=("linking_to", "broken_links", "discovered"))

    @invariant()
    @precondition(lambda self: not self.actors)
    def check_when_all_is_quiet(self) -> None:
        expected = Expected(self.table, self.town.domain)
        for url, dates in self.acknowledged.items():
            assert not dates or expected.by_url[url].fetched_at >= max(dates), f"{url} was stored"
        for page in expected.pages:
            assert page.fetched_at in self.put[page.url], f"{page.url} was put"
            assert page.fetched_at > self.hidden.get(page.url, LONG_AGO), f"{page.url} was deleted"
        if not self.unsure:
            check_questions(self.table, self.town.domain)
            assert missing(self.table) == {}

    def _page(self, path, hours, html, status, links, is_304) -> Page:
        if is_304:
            url = self.town.url(path)
            return Page(url=url, status=304, same_as=url, fetched_at=self.town.now - timedelta(hours=hours))
        redirect = self.town.url("/b") if status == 301 else None
        return self.town.page(
            path,
            days=hours / 24,
            body=html,
            status=status,
            redirect_to=redirect,
            outlinks=self.town.links(*links),
        )

    def _finished(self, number: int) -> None:
        actor = self.actors.pop(number)
        actor.finish()
        self._told(actor)
        for outcome in actor.outcomes:
            is_hidden = outcome.fetched_at <= self.hidden.get(outcome.url, LONG_AGO)
            may_be_hidden = is_hidden or outcome.fetched_at in self.gone[outcome.url]
            assert isinstance(outcome.error, HiddenByDelete) if is_hidden else outcome.error is None or may_be_hidden

    def _told(self, actor: Actor) -> None:
        for outcome in actor.outcomes:
            self.unsure.discard(outcome.url)
            if outcome.error is None:
                self.acknowledged[outcome.url].add(outcome.fetched_at)


def check_counts_at_least(table: webtable.WebTable, domain: str) -> None:
    table.links.refresh(also_unfinished=True)
    counts = {page.url: page.link_counts.inlinks for page in table.links.most_linked(domain)}
    expected = Expected(table, domain).counts()
    assert {url: count for url, count in expected.items() if counts.get(url, 0) < count} == {}


class CrawlByFour(Crawl):
    WRITERS = 4


@pytest.fixture(autouse=True)
def one_call_at_a_time(monkeypatch):
    """Let a writer ask the store one thing after another, so that a run can be had again."""
    threads = cells.Threads
    monkeypatch.setattr(cells, "Threads", lambda _, name: threads(1, name))


@pytest.mark.slow
@pytest.mark.parametrize("machine", [Crawl, CrawlByFour])
@pytest.mark.timeout(36_000)
def test_writers_that_cross_each_other_leave_the_questions_right(machine, tmp_path):
    machine.FOLDER = tmp_path
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=EXAMPLES or examples(by_day=2, by_night=60),
            stateful_step_count=30,
            derandomize=not EXAMPLES,
            suppress_health_check=list(HealthCheck),
            database=None,
            phases=PHASES,
        ),
    )


@pytest.fixture
def town(tmp_path):
    with webtable.open(tmp_path / "own.db", create=True) as table:
        yield Town(table)


def upto(actor: Actor, wanted: str) -> Actor:
    """Let *actor* go on to the call before which it is to wait, and return it."""
    while not actor.is_done and actor.at != wanted:
        actor.step()
    assert not actor.is_done, f"{actor.at} and no {wanted}"
    return actor


def test_a_link_survives_three_writers_that_cross_each_other(town):
    def capture(days, body, *paths):
        return [town.page("/", days=days, body=body, outlinks=town.links(*paths))]

    town.store(*capture(9, b"x", "/a"))
    second = upto(Actor(town.table, capture(7, b"x", "/a")), "write pages")
    first = upto(Actor(town.table, capture(8, b"y", "/b")), "write pages")
    first.step()  # its inlinks
    upto(first, "write pages").step()
    third = upto(Actor(town.table, capture(6, b"y", "/b")), "write pages")

    second.step()
    first.finish()
    third.finish()
    second.finish()

    assert missing(town.table) == {}
    check_questions(town.table, town.domain)


def test_a_date_of_change_survives_three_writers_that_cross_each_other(town):
    def capture(days, body):
        return [town.page("/", days=days, body=body)]

    town.store(*capture(9, b"x"))
    town.store(*capture(1, b"y"))
    third = upto(Actor(town.table, capture(5, b"x")), "write pages")
    first = upto(Actor(town.table, capture(2, b"y")), "write pages")  # the page has been as it is for two days
    first.finish()
    third.step()  # its metadata say one day
    fourth = upto(Actor(town.table, capture(6, b"z")), "write pages")
    third.finish()  # it reads what the first one has written, and mends the page
    fourth.finish()  # it has read the page before that

    check_questions(town.table, town.domain)
    assert town.table.get(town.url("/")).changed_at == town.now - timedelta(days=2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
@with_thrift1
def test_two_threads_that_write_the_same_pages_leave_the_questions_right(site, seed):
    town = Town(site.table, now=site.now)
    chances = [random.Random(f"{seed} {number}") for number in range(2)]
    acknowledged: list[webtable.writing.PageOutcome] = []

    def crawl(chance: random.Random) -> None:
        with site.table.writer(on_outcome=acknowledged.append, buffer_pages=3) as writer:
            for _ in range(40):
                paths = chance.sample((*PATHS, "/never"), chance.randrange(4))
                body = chance.choice([b"x", b"yy", b"zzz"])
                writer.put(
                    town.page(
                        chance.choice(PATHS),
                        days=chance.randrange(1, 10_000) / 1_000,
                        body=body,
                        status=chance.choice([200, 301, 404]),
                        outlinks=town.links(*paths),
                    )
                )

    threads = [threading.Thread(target=crawl, args=(chance,)) for chance in chances]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [outcome.error for outcome in acknowledged] == [None] * 80
    expected = check_questions(site.table, town.domain)
    newest = {url: max(one.fetched_at for one in acknowledged if one.url == url) for url in expected.by_url}
    assert {page.url: page.fetched_at for page in expected.pages} == newest
    site.table.links.refresh(also_unfinished=True)
    counted = {page.url: page.link_counts.inlinks for page in site.table.links.most_linked(town.domain)}
    assert all(counted[url] >= count for url, count in expected.counts().items())
