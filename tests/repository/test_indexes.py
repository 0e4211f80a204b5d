"""The questions that indexes answer: the same answers in the same order on every store, with every salt."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from answers import Expected, check_counts, check_questions
from deaths import Deadly, Town, listening

import webtable
from store_differences import on_every_store
from webtable import Link, Page
from webtable.errors import IndexNeeded, InvalidArgument, InvalidToken, InvalidURL, UnknownColumn, UnknownIndex
from webtable.indexes import WEB_INDEXES, page_id
from webtable.metrics import IndexMetrics
from webtable.rowkey import Salt
from webtable.schema import INDEX_COLUMN
from webtable.store import NewCell, Put

Asked = Callable[..., Any]

QUESTIONS: dict[str, Asked] = {
    "fetched": lambda table, **asking: table.fetched(**asking),
    "modified": lambda table, **asking: table.modified(**asking),
    "outdated": lambda table, **asking: table.outdated(not_fetched_since=datetime(9000, 1, 1, tzinfo=UTC), **asking),
    "largest": lambda table, **asking: table.largest(**asking),
    "with_status": lambda table, **asking: table.with_status(200, **asking),
    "errors": lambda table, **asking: table.errors(**asking),
    "redirects": lambda table, **asking: table.redirects(**asking),
    "most_linked": lambda table, **asking: table.links.most_linked(**asking),
    "dead_ends": lambda table, **asking: table.links.dead_ends(**asking),
}
"""The questions that list pages and take a domain."""
ORDERS = [
    ("fetched", "oldest"),
    ("modified", "oldest"),
    ("outdated", "newest"),
    ("largest", "smallest"),
    ("most_linked", "fewest"),
]


def urls(found: Any) -> list[str]:
    return [page.url for page in found]


@pytest.fixture(scope="module")
def town(shared_table):
    """A town of some forty pages, whose links are counted."""
    town = Town(shared_table).build()
    statuses, hosts = (200, 200, 200, 301, 404, 500), ("", "www", "a.b")

    def links(number):
        return tuple(Link(town.url(f"/{other:02}", hosts[other % 3]), f"{other}") for other in range(0, number, 5))

    town.store(
        *(
            town.page(
                f"/{number:02}",
                days=1 + number / 10,
                body=b"x" * (number % 7 * 400),
                status=statuses[number % 6],
                redirect_to=town.url("/a") if number % 6 == 3 else None,
                host=hosts[number % 3],
                last_modified=town.now - timedelta(days=number % 5) if number % 2 else None,
                outlinks=links(number) if number % 4 else (),
            )
            for number in range(36)
        )
    )
    town.table.links.refresh(also_unfinished=True)
    return town


@pytest.fixture
def own(tmp_path):
    """A town in an embedded table of its own."""
    with webtable.open(tmp_path / "own.db", create=True) as table:
        yield Town(table).build()


@on_every_store
def test_every_question_is_answered_as_the_pages_say(town):
    expected = check_questions(town.table, town.domain)

    assert len(expected.pages) == 43
    check_counts(town.table, town.domain)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_limit_is_exact_and_takes_the_first(town, question):
    everything = urls(QUESTIONS[question](town.table, site=town.domain))

    assert len(everything) > 3
    assert urls(QUESTIONS[question](town.table, site=town.domain, limit=3)) == everything[:3]
    assert urls(QUESTIONS[question](town.table, site=town.domain, limit=0)) == []
    assert urls(QUESTIONS[question](town.table, site=town.domain, limit=1_000)) == everything


@pytest.mark.parametrize(("question", "order"), ORDERS)
def test_the_other_order_is_the_reverse(town, question, order):
    there = urls(QUESTIONS[question](town.table, site=town.domain))

    back = urls(QUESTIONS[question](town.table, site=town.domain, order=order))

    assert back == there[::-1]


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_order_of_the_store_has_the_same_pages(town, question):
    wanted = urls(QUESTIONS[question](town.table, site=town.domain))

    found = urls(QUESTIONS[question](town.table, site=town.domain, order="storage"))

    assert sorted(found) == sorted(wanted)
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("order", [None, "storage"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_tokens_lead_through_all_pages(town, question, order):
    ask = QUESTIONS[question]
    everything = urls(ask(town.table, site=town.domain, order=order))

    token, found = None, []
    while token or not found:
        batch = ask(town.table, site=town.domain, order=order, after=token).page(4)
        found += urls(batch)
        token = batch.next_token

    assert found == everything


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_token_goes_on_after_inserts_and_deletes(site, question):
    town = Town(site.table, now=site.now)
    status = {"errors": 404, "redirects": 302}.get(question, 200)
    paths = [f"/{number:02}" for number in range(12)]
    for number, path in enumerate(paths):
        town.store(town.page(path, days=50 - number, body=b"x" * (number + 1), status=status))
        town.store(town.page(f"/to{path[1:]}", days=60, outlinks=town.links(*paths[:number])))
    town.table.links.refresh()
    ask = QUESTIONS[question]
    before = urls(ask(town.table, site=town.domain))

    first = ask(town.table, site=town.domain).page(5)
    town.table.delete(first[-1].url)
    town.table.delete(before[7])
    town.store(town.page("/000", days=1.5, body=b"y" * 5, status=status))
    rest = ask(town.table, site=town.domain, after=first.next_token)

    assert urls(first) == before[:5]
    new = town.url("/000")
    assert [url for url in urls(rest) if url != new] == [url for url in before[5:] if url != before[7]]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_domain_is_the_host_and_all_below_it(town, question):
    ask = QUESTIONS[question]
    everything = urls(ask(town.table, site=town.domain))

    for host in ("www", "a.b", "b", "shop", "none"):
        below = [url for url in everything if f"/{host}.{town.domain}/" in url or f".{host}.{town.domain}/" in url]
        assert urls(ask(town.table, site=f"{host}.{town.domain}")) == below
    assert urls(ask(town.table, site=f"x{town.domain}")) == []


@pytest.mark.parametrize("question", QUESTIONS)
def test_columns_bring_bodies_links_and_counts(town, question):
    ask = QUESTIONS[question]

    for page in ask(town.table, site=town.domain, limit=5, columns=["body", "outlinks", "link_counts"]):
        whole = town.table.get(page.url, columns=["body", "outlinks", "link_counts"])
        assert page == whole
    for page in ask(town.table, site=town.domain, limit=5):
        assert page.body is None
        assert page.outlinks is None


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_asks_nothing_before_it_is_iterated(town, question):
    deadly = Deadly(0)
    table = listening(town.table, deadly)

    answer = QUESTIONS[question](table, site=town.domain)

    assert deadly.calls == []
    deadly.left = None
    assert urls(answer) == urls(answer) == urls(QUESTIONS[question](town.table, site=town.domain))


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_explanation_reads_no_page_and_names_the_index(town, question):
    deadly = Deadly()
    table = listening(town.table, deadly)

    explained = QUESTIONS[question](table, site=town.domain).explain()

    assert explained.index in WEB_INDEXES
    assert explained.ranges
    assert f"index: {explained.index}" in str(explained)
    assert [call for call in deadly.calls if call.endswith(table.table) or "_idx" in call] == []


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_first_results_take_few_calls(town, question):
    deadly = Deadly()

    list(QUESTIONS[question](listening(town.table, deadly), site=town.domain, limit=5))

    assert len(deadly.calls) <= 5


def test_times_are_from_since_on_and_before_until(town):
    asked = Expected(town.table, town.domain)
    since, until = town.now - timedelta(days=3), town.now - timedelta(days=1.5)
    for when in (town.now - timedelta(days=1 + number / 10) for number in (5, 20)):
        assert any(page.fetched_at == when for page in asked.pages)

    fetched = town.table.fetched(town.domain, since=since, until=until)
    modified = town.table.modified(town.domain, since=since, until=until, order="oldest")

    assert urls(fetched) == asked.urls(
        lambda page: page.fetched_at, backwards=True, chosen=lambda page: since <= page.fetched_at < until
    )
    assert urls(modified) == asked.urls(
        lambda page: page.last_modified or page.changed_at,
        chosen=lambda page: since <= (page.last_modified or page.changed_at) < until,
    )
    assert urls(town.table.fetched(town.domain, since=until, until=until)) == []


def test_sizes_are_given_as_classes_or_in_bytes(town):
    asked = Expected(town.table, town.domain)

    def sized(low, high):
        return asked.urls(
            lambda page: -page.size, chosen=lambda page: page.size is not None and low <= page.size <= high
        )

    largest = town.table.largest
    assert urls(largest(town.domain, size_class="small")) == sized(0, 999)
    assert urls(largest(town.domain, size_class="medium")) == sized(1_000, 9_999)
    assert urls(largest(town.domain, size_class="huge")) == []
    assert urls(largest(town.domain, min_size=400, max_size=800)) == sized(400, 800)
    assert urls(largest(town.domain, min_size=401)) == sized(401, 10**9)
    assert urls(largest(town.domain, max_size=0)) == sized(0, 0) != []


@on_every_store
def test_redirects_are_followed_to_their_end(site):
    town = Town(site.table)
    hops = [town.page(f"/{n}", status=301, redirect_to=town.url(f"/{n + 1}"), outlinks=None) for n in range(25)]
    town.store(
        *hops,
        town.page("/loop", status=302, redirect_to=town.url("/pool"), outlinks=None),
        town.page("/pool", status=302, redirect_to=town.url("/loop"), outlinks=None),
        town.page("/self", status=302, redirect_to=town.url("/self"), outlinks=None),
        town.page("/odd", status=302, redirect_to="mailto:x@example.com", outlinks=None),
        town.page("/25", body=b"end"),
    )

    resolve = town.table.resolve
    assert (resolve(town.url("/20")).url, resolve(town.url("/20")).page.url) == (town.url("/25"), town.url("/25"))
    assert len(resolve(town.url("/20")).hops) == 6
    assert resolve(town.url("/0")).problem == "too many"
    assert resolve(town.url("/loop")).problem == resolve(town.url("/self")).problem == "loop"
    assert resolve(town.url("/nowhere")) == webtable.answers.Resolution((town.url("/nowhere"),), None, "not stored")
    assert resolve(town.url("/odd")).page.url == town.url("/odd")
    assert resolve(page_id(town.url("/24"))).url == town.url("/25")
    assert urls(town.table.redirects(to=town.url("/7"))) == [town.url("/6")]
    assert urls(town.table.redirects(to=town.url("/self"))) == [town.url("/self")]
    assert town.table.by_id(page_id(town.url("/25"))).url == town.url("/25")
    assert town.table.by_id(page_id(town.url("/nowhere"))) is None


def test_hosts_are_those_of_the_domain_in_the_order_of_their_pages(town):
    hosts = list(town.table.hosts(town.domain))

    assert [host.name for host in hosts] == [f"{name}.{town.domain}" for name in ("a.b", "shop", "www")] + [town.domain]
    stats = {
        host: len([page for page in Expected(town.table, town.domain).pages if f"//{host}/" in page.url])
        for host in (one.name for one in hosts)
    }
    assert {host.name: host.pages for host in hosts} == stats
    assert [host.name for host in town.table.hosts(f"b.{town.domain}")] == [f"a.b.{town.domain}"]

    first = town.table.hosts(town.domain).page(2)
    rest = town.table.hosts(town.domain, after=first.next_token, limit=1)
    assert [host.name for host in [*first, *rest]] == [host.name for host in hosts[:3]]


def test_a_host_without_a_page_any_more_is_none(own):
    own.table.delete(own.url("/", "shop"))

    assert [host.name for host in own.table.hosts(own.domain)] == [own.domain]
    assert own.table.metrics.indexes["host"].dropped == 1


@on_every_store
def test_broken_links_go_on_behind_a_token(town):
    everything = list(town.table.links.broken(town.domain))

    token, found = None, []
    while token or not found:
        batch = town.table.links.broken(town.domain, after=token).page(3)
        found += batch
        token = batch.next_token

    assert found == everything
    assert len(everything) > 6
    assert list(town.table.links.broken(town.domain, limit=4)) == everything[:4]


@pytest.fixture(scope="module")
def salted(new_url):
    """The same pages in tables with each kind of salt."""
    tables = [
        webtable.open(new_url(), create=True, salt=salt)
        for salt in (Salt.host(), Salt.domain(), Salt.url(), Salt.none())
    ]
    first = Town(tables[0])
    towns = [Town(table, first.domain, first.now) for table in tables]
    for town in towns:
        town.build()
        town.store(town.page("/moved", status=302, redirect_to=town.url("/b"), outlinks=None))
        town.store(
            *(
                town.page(
                    f"/{number}",
                    host=f"h{number % 4}",
                    days=3,
                    body=b"x" * (number % 3),
                    status=(200, 404, 500)[number % 3],
                    outlinks=town.links("/a", f"/{number - 1}"),
                )
                for number in range(20)
            )
        )
        town.table.links.refresh()
    yield towns
    for table in tables:
        table.close()


def test_the_answers_are_the_same_with_every_salt(salted):
    for town in salted:
        check_questions(town.table, town.domain)

    for name, ask in QUESTIONS.items():
        first, *others = [urls(ask(town.table, site=town.domain)) for town in salted]
        assert others == [first] * 3, name
        assert len(first) > 1, name
    first, *others = [list(town.table.links.broken(town.domain)) for town in salted]
    assert others == [first] * 3


def test_a_token_of_one_salt_goes_on_with_every_other(salted):
    for name, ask in QUESTIONS.items():
        first = ask(salted[0].table, site=salted[0].domain).page(1)

        for town in salted:
            rest = ask(town.table, site=town.domain, after=first.next_token)
            assert urls(first) + urls(rest) == urls(ask(town.table, site=town.domain)), name


def test_a_hint_that_does_not_hold_is_dropped_and_counted(own):
    page = own.table.get(own.url("/a"), columns=())
    entry = own.table._context.indexes.recent()["status"]
    key = own.table.key.unsalted(own.table.key.encode(page.url))
    (wrong,) = entry.index.entries(Page(url=page.url, status=599, fetched_at=page.fetched_at), key)
    own.table.store.write(entry.table, [Put(wrong, [NewCell(INDEX_COLUMN, 1, b"")])])
    before = own.table.metrics.indexes.get("status", IndexMetrics(0, 0))

    assert urls(own.table.with_status(599)) == []

    assert own.table.metrics.indexes["status"] == IndexMetrics(before.read + 1, before.dropped + 1)


@pytest.mark.parametrize(
    ("name", "ask"),
    [
        *zip(["time"] * 3 + ["size"] + ["status"] * 3 + ["link"] * 2, QUESTIONS.values(), strict=True),
        ("url", lambda table: table.redirects(to="https://example.com/")),
        ("digest", lambda table: table.duplicates("https://example.com/")),
        ("host", lambda table: table.hosts("example.com")),
        ("link", lambda table: table.links.to("https://example.com/")),
        ("link", lambda table: table.links.broken()),
    ],
)
def test_a_question_without_its_index_names_the_command_that_adds_it(tmp_path, name, ask):
    with webtable.open(tmp_path / "bare.db", create=True, indexes=[]) as table:
        answer = ask(table)

        with pytest.raises(IndexNeeded, match=f"webtable index add {name}"):
            list(answer)


def test_a_table_without_indexes_is_written_and_listed(tmp_path):
    with webtable.open(tmp_path / "bare.db", create=True, indexes=[]) as table:
        town = Town(table).build()

        assert len(list(table.pages(town.domain))) == 7
        assert table.delete(town.url("/a"))
        assert table.indexes.states() == {}
        assert table.links.refresh().pages == 0
        for name in WEB_INDEXES:
            table.indexes.add(name)
        check_questions(table, town.domain)
        check_counts(table, town.domain)


def test_what_is_stored_nowhere_is_an_empty_answer(site):
    nowhere = site.url("/nowhere")

    assert list(site.table.duplicates(nowhere)) == []
    assert list(site.table.links.to(nowhere)) == []
    assert list(site.table.links.to(nowhere, past=True)) == []
    assert list(site.table.links.of(nowhere)) == []
    assert list(site.table.redirects(to=nowhere)) == []
    assert list(site.table.hosts(site.domain)) == []
    assert list(site.table.links.discovered(site.domain)) == []
    for ask in QUESTIONS.values():
        assert list(ask(site.table, site=site.domain)) == []


NAIVE = datetime(2026, 1, 1)
LATER = datetime(2026, 2, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ask", "named"),
    [
        (lambda table: table.fetched(since=LATER, until=LATER - timedelta(1)), "until=.*since="),
        (lambda table: table.modified(since=LATER, until=LATER - timedelta(1)), "until=.*since="),
        (lambda table: table.fetched(since=NAIVE), "since=.*timezone"),
        (lambda table: table.modified(until=NAIVE), "until=.*timezone"),
        (lambda table: table.fetched(since="tomorrow"), "since='tomorrow'"),
        (lambda table: table.outdated(not_fetched_since=NAIVE), "not_fetched_since=.*timezone"),
        (lambda table: table.outdated(), "not_fetched_since= or not_modified_since="),
        (lambda table: table.outdated(not_fetched_since=LATER, not_modified_since=LATER), "one of the two"),
        (lambda table: table.largest(size_class="tiny"), "size_class='tiny'"),
        (lambda table: table.largest(size_class="huge", min_size=1), "without min_size"),
        (lambda table: table.largest(min_size=5, max_size=4), "min_size=5.*max_size=4"),
        (lambda table: table.largest(min_size=-1), "min_size=-1"),
        (lambda table: table.with_status(1_000), "status=1000"),
        (lambda table: table.with_status("404"), "status='404'"),
        (lambda table: table.with_status(True), "status=True"),
        (lambda table: table.by_id("xyz"), "id='xyz'"),
        (lambda table: table.by_id(page_id("https://a/") + "\n"), "id="),
        (lambda table: table.errors(limit=-1), "limit=-1"),
        (lambda table: table.errors(limit=1.5), "limit=1.5"),
        (lambda table: table.errors(order="url"), "order='url'.*status, storage"),
        (lambda table: table.links.to("https://example.com/", order="storage"), "order='storage'"),
        (lambda table: table.errors().page(0), "size=0"),
    ],
)
def test_bad_input_is_refused_by_name(own, ask, named):
    with pytest.raises(InvalidArgument, match=named):
        ask(own.table)


def test_bad_names_are_refused_by_name(own):
    with pytest.raises(UnknownColumn, match="'bodies'"):
        own.table.errors(columns=["bodies"])
    with pytest.raises(UnknownIndex, match=r"'nothing'.*status"):
        own.table.indexed("nothing")
    with pytest.raises(UnknownIndex, match="hosts"):
        own.table.indexed("host")
    with pytest.raises(UnknownIndex, match="'nothing'"):
        own.table.indexes.add("nothing")
    with pytest.raises(UnknownIndex, match="'nothing'"):
        own.table.indexes.verify("nothing")
    with pytest.raises(InvalidArgument, match="ready"):
        own.table.indexes.add("size")
    for ask in (own.table.duplicates, own.table.links.to, own.table.links.of, own.table.resolve):
        with pytest.raises(InvalidURL):
            ask("no url")
    with pytest.raises(InvalidURL):
        own.table.errors("no host")


@pytest.mark.parametrize("token", ["", "x", "eA", "\u00fc", "A" * 5_000])
def test_a_token_that_is_none_is_refused(own, token):
    with pytest.raises(InvalidToken, match="after="):
        own.table.errors(after=token)


def test_a_token_of_another_question_is_refused(own):
    token = own.table.fetched().page(2).next_token

    for ask in (
        lambda: own.table.modified(after=token),
        lambda: own.table.fetched(after=token, order="oldest"),
        lambda: own.table.fetched(own.domain, after=token),
        lambda: own.table.fetched(since=LATER, after=token),
    ):
        with pytest.raises(InvalidToken, match="another question"):
            ask()


def test_an_index_is_asked_by_its_name(own):
    assert urls(own.table.indexed("status", term="404")) == [own.url("/gone")]
    assert urls(own.table.indexed("link", term=("outlinks", "99999999"))) == urls(own.table.links.dead_ends())
    assert urls(own.table.indexed("url", term=page_id(own.url("/a")))) == [own.url("/a"), own.url("/old")]
    assert urls(own.table.indexed("size", order="reverse")) == urls(own.table.largest(order="smallest"))
    with pytest.raises(InvalidArgument, match="2 texts"):
        own.table.indexed("time", term="fetched")


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (lambda table: table.modified("7d"), "site='7d' is a time: name it, as in since='7d'"),
        (lambda table: table.fetched("today"), "site='today' is a time: name it, as in since='today'"),
        (lambda table: table.largest("huge"), "site='huge' is a class of sizes: name it, as in size_class='huge'"),
    ],
)
def test_what_another_argument_means_is_not_taken_for_a_site(own, question, message):
    with pytest.raises(InvalidArgument, match=re.escape(message)):
        question(own.table)


def test_the_term_of_an_index_is_the_second_argument(own):
    assert urls(own.table.indexed("status", "404")) == [own.url("/gone")]
    assert urls(own.table.indexed("status", "404", site="elsewhere.example")) == []
