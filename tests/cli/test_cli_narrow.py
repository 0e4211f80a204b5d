"""Tables too wide for a terminal: what URLs share is left out, dates are shortened, and only then URLs are cut."""

from __future__ import annotations

import io
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from webtable import Page
from webtable._clock import clock, milliseconds
from webtable.cli.terminal.tables import CHUNK, print_table
from webtable.cli.terminal.urls import rests_of
from webtable.repository.answers.columns import columns_of
from webtable.repository.answers.page_columns import PAGES
from webtable.repository.questions.duplicate_groups import DuplicateGroup
from webtable.repository.questions.redirect_chains import RedirectChain

GUIDE = "https://docs.example.com/guide/"
NAMES = ["the-first-of-many-pages.html", "the-second-of-many-pages.html"]
TITLE = "A title that has more words than fit"


@pytest.fixture(autouse=True)
def _in_2026(monkeypatch: pytest.MonkeyPatch) -> None:
    now = milliseconds(datetime(2026, 11, 25, tzinfo=UTC)) * 1_000_000
    monkeypatch.setattr(clock, "nanoseconds", lambda: now)


def printed(*records: object, columns: str, width: int = 80, to_width: bool = True) -> list[str]:
    """Return the lines that are not empty, without codes."""
    out = io.StringIO()
    target = Console(file=out, width=width, markup=False, highlight=False)
    of = PAGES if isinstance(records[0], Page) else columns_of(records[0])
    print_table(target, records, of.chosen(columns.split(",")), asked_for=False, to_width=to_width)
    return [line.strip() for line in out.getvalue().splitlines() if line.strip()]


def pages(*urls: str, year: int = 2026) -> list[Page]:
    return [Page(url=url, title=TITLE, fetched_at=datetime(year, 11, 24, 10, 20, tzinfo=UTC)) for url in urls]


def test_the_directory_that_all_urls_share_is_told_once():
    told, _, _, *rows = printed(*pages(*(GUIDE + name for name in NAMES)), columns="url,status,title")

    assert told == f"url: {GUIDE}…"
    assert [row.split()[0] for row in rows] == NAMES


def test_below_a_host_urls_begin_with_a_slash():
    told, _, _, *rows = printed(*pages("https://docs.example.com/", GUIDE + NAMES[0]), columns="url,status,title")

    assert told == "url: https://docs.example.com/…"
    assert [row.split()[0] for row in rows] == ["/", f"/guide/{NAMES[0]}"]


def test_the_page_of_the_directory_itself_has_a_name_too():
    assert printed(*pages(GUIDE, GUIDE + NAMES[0]), columns="url,status,title")[3].startswith("./ ")


def test_of_several_hosts_only_https_is_left_out():
    urls = ["https://a.example/", "https://b.example/directory", "http://b.example/directory"]

    told, _, _, *rows = printed(*pages(*urls), columns="url,status,title", width=60)

    assert told == "url: https://…"
    assert [row.split()[0] for row in rows] == ["a.example/", "b.example/directory", "http://b.example/directory"]


def test_a_column_with_other_urls_has_its_own_beginning():
    found = [Page(url=GUIDE + name, redirect_to=f"https://a.example/x/{name}", status=301) for name in NAMES]

    told = printed(*found, columns="url,redirect_to,status", width=80)[:2]

    assert told == [f"url: {GUIDE}…", "leads to: https://a.example/x/…"]


def test_nothing_is_left_out_where_there_is_room_or_no_terminal():
    found = pages(*(GUIDE + name for name in NAMES))

    for shown in (
        printed(*found, columns="url,status,fetched_at,title", width=200),
        printed(*found, columns="url,status,fetched_at,title", width=100_000, to_width=False),
    ):
        assert [row.split()[0] for row in shown[2:]] == [page.url for page in found]
        assert all("2026-11-24 10:20" in row for row in shown[2:])


def test_what_is_left_out_is_told_again_where_it_changes():
    first = [f"https://a.example/docs/{number}" for number in range(CHUNK)]
    second = [f"https://a.example/docs/deep/{number}" for number in range(CHUNK)]  # of the same directory still
    third = [f"https://a.example/other/{number}" for number in range(CHUNK)]

    shown = printed(*pages(*first, *second, *third), columns="url,status,title", width=60)

    told = [(at, line) for at, line in enumerate(shown) if line.startswith("url: ")]
    assert told == [(0, "url: https://a.example/docs/…"), (2 * CHUNK + 3, "url: https://a.example/other/…")]
    assert [row.split()[0] for row in shown[CHUNK + 3 : CHUNK + 5]] == ["deep/0", "deep/1"]
    assert len(shown) == 3 * CHUNK + 4


def test_a_long_table_leaves_something_out_only_where_urls_have_too_little_room():
    short = [f"https://a.example/{number}" for number in range(CHUNK)]
    long = [f"https://a.example/{'long-' * 8}{number}" for number in range(CHUNK)]

    shown = printed(*pages(*short, *long), columns="url,status,title")

    assert shown[2].startswith("https://a.example/0 ")
    assert shown[CHUNK + 2] == "url: https://a.example/…"


def test_times_are_shortened_before_urls_are_cut():
    urls = [f"{GUIDE}{'long-' * 5}{number}" for number in range(2)]

    enough = printed(*pages(*urls), columns="url,status,fetched_at,title", width=85)
    little = printed(*pages(*urls), columns="url,status,fetched_at,title", width=70)

    assert all("2026-11-24 10:20" in row and "long-long-long-long-long-" in row for row in enough[3:])
    assert all(" 11-24 10:20 " in row and "long-long-long-long-long-" in row for row in little[3:])


def test_a_time_of_another_year_is_shortened_to_its_date():
    found = [*pages(GUIDE + "long-" * 20), *pages(GUIDE + "long-" * 21, year=2025)]

    rows = printed(*found, columns="url,status,fetched_at,title")[3:]

    assert re.findall(r" (\d[\d-]+-\d\d(?: [\d:]+)?)", "\n".join(rows)) == ["11-24 10:20", "2025-11-24"]


def test_a_cut_url_keeps_its_end_and_its_host_if_others_have_another():
    (one, other) = (f"https://{host}.example/{'directory/' * 9}page.html?id=1" for host in "ab")

    assert rests_of([one], "https://a.example/", 24) == {one: "…irectory/page.html?id=1"}
    assert rests_of([one, other], "https://", 30) == {
        one: "a.example/…tory/page.html?id=1",
        other: "b.example/…tory/page.html?id=1",
    }


def test_urls_that_differ_only_in_their_middle_look_different():
    urls = [f"https://a.example/{'x' * 40}{middle}{'y' * 40}" for middle in ("1", "2", "31", "32")]

    shown = rests_of(urls, "https://a.example/", 20)

    assert len(set(shown.values())) == len(urls)


@given(
    st.lists(st.text("ab/é日", max_size=40), min_size=1, max_size=8, unique=True),
    st.integers(3, 50),
)
def test_no_url_is_wider_than_its_column_and_a_short_one_is_whole(paths, width):
    urls = {f"https://a.example/{path}" for path in paths}

    shown = rests_of(urls, "https://a.example/", width)

    assert all(cell_len(line) <= width for text in shown.values() for line in text.split("\n"))
    assert all(_whole(text) == url.removeprefix("https://a.example") for url, text in shown.items() if "…" not in text)
    assert len(set(shown.values())) == len(urls)


def _whole(text: str) -> str:
    return text.replace("\n", "")


@given(
    st.lists(st.text("ab-/1", max_size=60), min_size=2, max_size=8, unique=True),
    st.integers(12, 50),
)
def test_what_is_shown_of_a_cut_url_is_in_it_in_this_order_and_only_once(paths, width):
    urls = {f"https://{'ab'[len(path) % 2]}.example/{path}" for path in paths}

    for url, text in rests_of(urls, "https://", width).items():
        assert re.fullmatch(".*".join(map(re.escape, _whole(text).split("…"))), url.removeprefix("https://"))
        assert text.startswith(url.removeprefix("https://")[:5])


def test_urls_of_a_group_are_cut_and_its_digest_is_short():
    urls = tuple(f"https://{host}.example.com/{'part/' * 12}{name}" for host in ("a", "b") for name in NAMES)
    group = DuplicateGroup("content", f"blake3:{'0123456789abcdef' * 4}", 4, 1_000, urls)

    _, _, _, *rows = printed(group, columns="value,pages,bytes,urls")

    assert rows[0].split()[0] == "0123456789ab"
    shown = [row.split()[-1] for row in rows]
    assert len(rows) == len(set(shown)) == 4
    assert all(text.startswith(f"{host}.example.com/…") for text, host in zip(shown, "aabb", strict=True))


def test_several_urls_in_a_cell_have_a_line_each():
    urls = tuple(f"{GUIDE}{'part/' * 8}{name}" for name in NAMES)

    told, _, _, *rows = printed(RedirectChain(urls, 1, is_loop=False, end=200), columns="urls,length,end", width=60)

    assert told.startswith(f"urls: {GUIDE}part/")
    assert [row.split()[0] for row in rows] == NAMES
