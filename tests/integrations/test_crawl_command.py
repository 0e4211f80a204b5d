"""The command `crawl`: from an address to a stored site, and on from where it ended."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from benchmarks.crawl_site import Answer, CrawlSite, serving

import webtable
from nightly import some
from trap_site import HOME, HOST, STORED, trap_site

pytestmark = pytest.mark.slow

SITE = "http://site.example"
HTML = {"Content-Type": "text/html"}


class Site(CrawlSite):
    """A site that keeps the headers of the requests."""

    def __init__(self, answers):
        super().__init__({f"{SITE}/robots.txt": Answer(404), **answers})
        self.headers = []

    def answer(self, url, headers):
        self.headers.append({name.lower(): value for name, value in headers.items()})
        return super().answer(url, headers)

    def requested(self) -> Counter[str]:
        """How often each path was asked for, robots.txt aside."""
        return Counter(asked.url.removeprefix(SITE) for asked in self.asked if not asked.url.endswith("robots.txt"))


def page(*paths: str) -> Answer:
    return Answer(200, HTML, "".join(f"<a href='{path}'>x</a>" for path in paths).encode() or b"<p>x")


TREE = {
    f"{SITE}/": page("/a", "/b", "/private/1"),
    f"{SITE}/a": page("/a/1", "/a/2", "http://other.example/"),
    f"{SITE}/b": page("/b/1", "/"),
    **{f"{SITE}{path}": page() for path in ("/a/1", "/a/2", "/b/1", "/private/1", "/alone", "/alone/2")},
}
LINKED = ["/", "/a", "/a/1", "/a/2", "/b", "/b/1"]


def begin(folder: Path, site: CrawlSite, *words: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "webtable", "-s", "crawl.db", "crawl", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "http_proxy": site.proxy, "no_proxy": "", "WEBTABLE_CONTACT": "me@example.org"},
    )


def crawl(folder: Path, site: CrawlSite, *words: str, code: int = 0) -> str:
    with begin(folder, site, *words) as process:
        out, errors = process.communicate()
    assert process.returncode == code, errors
    return errors + out


def stored(folder: Path, host: str = "site.example") -> dict[str, webtable.Page]:
    with webtable.open(folder / "crawl.db") as table:
        return {page.url.partition(host)[2]: page for page in table.pages(host)}


def test_the_pages_of_a_site_are_fetched_once_each_and_no_others(tmp_path):
    with serving(Site(TREE)) as site:
        out = crawl(tmp_path, site, SITE, "--exclude", "/private/**")

    assert out == "6 pages stored in crawl.db\n"
    assert [*stored(tmp_path)] == LINKED
    assert site.requested() == Counter(LINKED)
    assert {headers["user-agent"].partition("/")[0] for headers in site.headers} == {"webtable"}
    assert all(headers["user-agent"].endswith("(+me@example.org)") for headers in site.headers)


def moved(target: str) -> Answer:
    return Answer(301, HTML | {"Location": target})


@pytest.mark.parametrize("options", some([["--depth", "3"], []], 2))
def test_a_target_of_many_redirects_is_fetched_once_and_a_loop_once_around(tmp_path, options):
    old = {f"{SITE}/old/{number}": moved("/new") for number in range(9)}
    around = {f"{SITE}/a": moved("/b"), f"{SITE}/b": moved("/a"), f"{SITE}/away": moved("http://other.example/")}
    home = page(*old, "/a", "/away")
    with serving(
        Site({f"{SITE}/": home, **old, **around, f"{SITE}/new": page(), "http://other.example/": page()})
    ) as site:
        out = crawl(tmp_path, site, SITE, *options)

    fetched = ["/", "/a", "/away", "/b", "/new", *(f"/old/{number}" for number in range(9))]
    assert site.requested() == Counter(fetched)
    assert [*stored(tmp_path)] == fetched
    assert out == "14 pages stored in crawl.db\n"


def test_a_start_that_redirects_is_followed(tmp_path):
    with serving(Site({f"{SITE}/": moved("/home"), f"{SITE}/home": page("/a"), f"{SITE}/a": page()})) as site:
        crawl(tmp_path, site, SITE)

    assert [*stored(tmp_path)] == ["/", "/a", "/home"]


def test_robots_txt_is_obeyed(tmp_path):
    robots = Answer(200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /private/\nDisallow: /a")
    with serving(Site(TREE | {f"{SITE}/robots.txt": robots})) as site:
        out = crawl(tmp_path, site, SITE)

    assert [*stored(tmp_path)] == ["/", "/b", "/b/1"]
    assert out == "not fetched: 2 pages, robots\n3 pages stored in crawl.db\n"
    with webtable.open(tmp_path / "crawl.db") as table:
        assert [(failure.url, failure.reason) for failure in table.failed()] == [
            (f"{SITE}/a", "robots"),
            (f"{SITE}/private/1", "robots"),
        ]


def test_robots_txt_is_obeyed_by_all_requests_that_wait_for_it(tmp_path):
    other = "http://www.site.example"
    links = {f"{other}/{number}": page() for number in range(12)}
    robots = Answer(200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /")
    answers = {f"{SITE}/": page(*links), **links, f"{other}/robots.txt": robots}
    with serving(Site(answers)) as site:
        out = crawl(tmp_path, site, SITE)

    assert out == "not fetched: 12 pages, robots\n1 page stored in crawl.db\n"
    assert site.requested() == Counter(["/"])


@pytest.mark.parametrize(("answer", "reason"), [(Answer(503), "robots"), (Answer(0), "closed")])
def test_nothing_is_requested_of_a_host_whose_robots_txt_cannot_be_read(tmp_path, answer, reason):
    with serving(Site(TREE | {f"{SITE}/robots.txt": answer})) as site:
        out = crawl(tmp_path, site, SITE, code=1)

    assert out == f"not fetched: 1 page, {reason}\n0 pages stored in crawl.db\n"
    assert site.requested() == Counter()


def test_a_page_that_does_not_come_is_requested_again_when_it_is_due(tmp_path):
    with serving(Site(TREE | {f"{SITE}/a/1": Answer(0)})) as site:
        crawl(tmp_path, site, SITE, "--exclude", "/private/")
        tries = site.requested()["/a/1"]
        crawl(tmp_path, site, SITE, "--exclude", "/private/")
        again = site.requested()["/a/1"] - tries
        with webtable.open(tmp_path / "crawl.db") as table:
            (failure,) = table.failed()
            past = datetime.now(UTC) - timedelta(hours=5)
            table.delete(failure.url)
            table.put_failed(failure.url, "timeout", at=datetime.now(UTC), backoff=lambda _: past - datetime.now(UTC))
        crawl(tmp_path, site, SITE, "--exclude", "/private/")

    # Scrapy tries it twice again, and a connection that was used before once; another pass would do all that again.
    assert 3 <= tries < 6
    assert (again, failure.attempts, failure.reason) == (0, 1, "closed")
    assert 3 <= site.requested()["/a/1"] - tries < 6
    assert "/a/1" not in stored(tmp_path)


def test_a_crawl_goes_on_where_its_limit_ended_it(tmp_path):
    with serving(Site(TREE)) as site:
        crawl(tmp_path, site, SITE, "--limit", "3", "--exclude", "/private/")
        first = site.requested()
        crawl(tmp_path, site, SITE, "--exclude", "/private/")

    assert first.total() == 3
    assert [*stored(tmp_path)] == LINKED
    assert site.requested() == Counter([*LINKED, "/"])  # where it begins


CHAIN = {
    # By their keys the long way to /z comes before the short one.
    f"{SITE}/": page("/a", "/y"),
    f"{SITE}/a": page("/b"),
    f"{SITE}/b": page("/z"),
    f"{SITE}/y": page("/z"),
    f"{SITE}/z": page("/z/1"),
    f"{SITE}/z/1": page("/z/2"),
    f"{SITE}/z/2": page(),
}
DEPTHS = {"/": 0, "/a": 1, "/y": 1, "/b": 2, "/z": 2, "/z/1": 3, "/z/2": 4}


@pytest.mark.parametrize("depth", some(range(4), 2))
def test_a_depth_ends_the_crawl_so_many_links_from_where_it_began(depth, tmp_path):
    with serving(Site(CHAIN)) as site:
        crawl(tmp_path, site, SITE, "--depth", f"{depth}")

    near = {path: far for path, far in DEPTHS.items() if far <= depth}
    assert {path: fetched.depth for path, fetched in stored(tmp_path).items()} == near
    assert site.requested() == Counter([*near])


@pytest.mark.parametrize("depth", some([1, 0, 2], 3))
def test_a_redirect_is_no_level_of_a_depth(depth, tmp_path):
    answers = {
        f"{SITE}/": moved("/home"),
        f"{SITE}/home": page("/old"),
        f"{SITE}/old": moved("/older"),
        f"{SITE}/older": moved("/new"),
        f"{SITE}/new": page("/deep"),
        f"{SITE}/deep": page(),
    }
    depths = {"/": 0, "/home": 0, "/old": 1, "/older": 1, "/new": 1, "/deep": 2}
    with serving(Site(answers)) as site:
        crawl(tmp_path, site, SITE, "--depth", f"{depth}")

    near = {path: far for path, far in depths.items() if far <= depth}
    assert {path: fetched.depth for path, fetched in stored(tmp_path).items()} == near
    assert site.requested() == Counter([*near])


def test_a_crawl_with_a_depth_goes_on_from_what_the_table_has(tmp_path):
    with serving(Site(CHAIN)) as site:
        crawl(tmp_path, site, SITE, "--depth", "3", "--limit", "3")
        crawl(tmp_path, site, SITE, "--depth", "1")
        crawl(tmp_path, site, SITE, "--depth", "3")

    assert {path: fetched.depth for path, fetched in stored(tmp_path).items()} == {
        path: far for path, far in DEPTHS.items() if far <= 3
    }
    assert site.requested() == Counter([*(path for path, far in DEPTHS.items() if far <= 3), "/", "/"])


def test_a_page_that_is_fetched_again_keeps_its_depth(tmp_path):
    before = datetime.now(UTC) - timedelta(days=8)
    with webtable.open(tmp_path / "crawl.db", create=True) as table:
        for path, far in (("/y", 1), ("/z", None)):
            table.put(
                webtable.Page(url=f"{SITE}{path}", body=b"x", headers={"ETag": '"1"'}, fetched_at=before, depth=far)
            )
    answers = {f"{SITE}{path}": Answer(200, {**HTML, "ETag": '"1"'}, b"x") for path in ("/y", "/z")}
    with serving(Site(CHAIN | answers)) as site:
        out = crawl(tmp_path, site, SITE, "--older-than", "7d", "--depth", "0")

    assert "2 of them not modified" in out
    assert {path: fetched.depth for path, fetched in stored(tmp_path).items()} == {"/": 0, "/y": 1, "/z": None}


def test_pages_of_sitemaps_are_fetched_that_no_page_links_to(tmp_path):
    def sitemap(kind: str, entry: str, *paths: str) -> bytes:
        entries = "".join(f"<{entry}><loc>{SITE}{path}</loc></{entry}>" for path in paths)
        return f'<{kind} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</{kind}>'.encode()

    answers = TREE | {
        f"{SITE}/robots.txt": Answer(200, {}, f"Sitemap: {SITE}/index.xml\nSitemap: {SITE}/broken.xml".encode()),
        f"{SITE}/index.xml": Answer(200, {}, sitemap("sitemapindex", "sitemap", "/pages.xml.gz", "/index.xml")),
        f"{SITE}/pages.xml.gz": Answer(200, {}, gzip.compress(sitemap("urlset", "url", "/alone", "/a", "/alone/2"))),
        f"{SITE}/broken.xml": Answer(200, {}, b"no XML"),
    }
    with serving(Site(answers)) as site:
        crawl(tmp_path, site, SITE, "--sitemaps")

    assert stored(tmp_path).keys() >= {*LINKED, "/private/1", "/alone", "/alone/2"}
    assert max(site.requested().values()) == 1
    with webtable.open(tmp_path / "crawl.db") as table:
        entries = {entry.url.removeprefix(SITE): entry for entry in table.sitemaps("site.example")}
    assert {path: entry.problems for path, entry in entries.items()} == {
        **dict.fromkeys((*LINKED, "/private/1"), ("unlisted",)),
        **dict.fromkeys(("/a", "/alone", "/alone/2"), ()),
        "/broken.xml": ("unreadable",),
    }
    assert {entry.sitemap for entry in entries.values()} == {None, f"{SITE}/pages.xml.gz", f"{SITE}/robots.txt"}


def test_what_has_not_changed_comes_as_a_304_when_it_is_fetched_again(tmp_path):
    before = datetime.now(UTC) - timedelta(days=8)
    with webtable.open(tmp_path / "crawl.db", create=True) as table:
        for url, answer in TREE.items():
            table.put(webtable.Page(url=url, body=answer.body, headers={**HTML, "ETag": '"1"'}, fetched_at=before))
    answers = {url: Answer(200, {**HTML, "ETag": '"1"'}, answer.body) for url, answer in TREE.items()}
    with serving(Site(answers | {f"{SITE}/a/2": page("/new")})) as site:
        out = crawl(tmp_path, site, SITE, "--older-than", "7d")

    assert out == f"{len(TREE) + 1} pages stored in crawl.db, {len(TREE) - 1} of them not modified\n"
    assert all(page.fetched_at > before for page in stored(tmp_path).values())
    assert "/new" in stored(tmp_path)


def test_a_site_of_traps_is_crawled_to_its_end(tmp_path):
    with trap_site() as site:
        crawl(tmp_path, site, HOME, "--exclude", "/calendar/**")

    pages = {path.removeprefix("/"): page for path, page in stored(tmp_path, HOST).items()}
    assert {path: pages[path].status for path in STORED.keys() & pages.keys()} == {
        path: answer.status for path, answer in STORED.items()
    }
    assert site.days_asked() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stores_what_was_fetched_and_the_same_command_goes_on(number, tmp_path):
    with trap_site() as site:
        with begin(tmp_path, site, f"{HOME}calendar/1") as process:
            while site.days_asked() < 3:
                assert process.poll() is None
            process.send_signal(number)
            _, errors = process.communicate()
        days = site.days_asked()
        crawl(tmp_path, site, f"{HOME}calendar/1", "--limit", "3")

    assert process.returncode == 128 + number
    assert "the same command goes on from there" in errors
    assert stored(tmp_path, HOST).keys() >= {f"/calendar/{day}" for day in range(1, days)}
    assert len(stored(tmp_path, HOST)) > days


def test_a_store_that_cannot_be_opened_ends_the_command_before_anything_is_requested(tmp_path):
    (tmp_path / "crawl.db").write_text("no database")
    with serving(Site(TREE)) as site:
        out = crawl(tmp_path, site, SITE, code=3)

    assert out.startswith("webtable: crawl.db: not an SQLite database")
    assert site.asked == []


def test_nobody_crawls_without_a_contact_but_on_this_machine(tmp_path, monkeypatch):
    monkeypatch.delenv("WEBTABLE_CONTACT", raising=False)
    words = [sys.executable, "-m", "webtable", "crawl", "https://example.com/"]

    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "--contact" in done.stderr
    assert not (tmp_path / "webtable.db").exists()
