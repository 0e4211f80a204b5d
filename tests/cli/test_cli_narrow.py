"""Tables too wide for a terminal: URLs are wrapped, so that they can be copied whole, and other texts are cut."""

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
from webtable.answers import DuplicateGroup, RedirectChain
from webtable.cli.output import CHUNK, print_table
from webtable.questions import PAGES
from webtable.repository.answers.columns import columns_of

GUIDE = "https://docs.example.com/guide/"
NAMES = ["the-first-of-many-pages.html", "the-second-of-many-pages.html"]
TITLE = "A title that has more words than fit"
LISTED = "url,status,size,fetched_at,title"


def printed(*records: object, columns: str, width: int = 80, to_width: bool = True) -> list[str]:
    """Return the lines of the table below its heading, without codes."""
    out = io.StringIO()
    target = Console(file=out, width=width, markup=False, highlight=False)
    of = PAGES if isinstance(records[0], Page) else columns_of(records[0])
    print_table(target, records, of.chosen(columns.split(",")), asked_for=False, to_width=to_width)
    return [line for line in out.getvalue().splitlines()[3:] if line.strip()]


def first_column(lines: list[str]) -> str:
    """Return the texts of the first column, put together, as people do who copy a URL of several lines."""
    return "".join(line[1:].split(" ", 1)[0] for line in lines)


def pages(*urls: str) -> list[Page]:
    fetched_at = datetime(2026, 11, 24, 10, 20, tzinfo=UTC)
    return [Page(url=url, title=TITLE, size=12_345, fetched_at=fetched_at) for url in urls]


def test_in_80_columns_urls_and_times_are_whole_and_titles_are_cut():
    lines = printed(*pages(GUIDE + NAMES[0]), columns=LISTED)

    assert first_column(lines) == GUIDE + NAMES[0]
    assert re.search(r" 200 +12\.3 kB +2026-11-24 10:20 +A title that …", lines[0])
    assert len(lines) == 3


def test_two_columns_of_urls_share_the_width():
    moved = Page(url=GUIDE + NAMES[0], redirect_to=GUIDE + NAMES[1], status=301)

    lines = printed(moved, columns="url,redirect_to,status")

    assert len(lines) == 2
    assert "".join(line.split()[0] for line in lines) == moved.url
    assert "".join(line.split()[1] for line in lines) == moved.redirect_to


def test_nothing_is_wrapped_where_there_is_room_or_no_terminal():
    records = pages(*(GUIDE + name for name in NAMES))

    for lines in (
        printed(*records, columns=LISTED, width=200),
        printed(*records, columns=LISTED, width=100_000, to_width=False),
    ):
        assert [line.split()[0] for line in lines] == [page.url for page in records]
        assert all(TITLE in line for line in lines)


def test_the_columns_of_a_long_table_begin_at_the_same_place_in_all_its_chunks():
    records = pages(*(f"https://a.example/{'long-' * (number // CHUNK)}{number}" for number in range(3 * CHUNK)))

    lines = [line for line in printed(*records, columns=LISTED) if "2026-11-24 10:20" in line]

    assert len(lines) == 3 * CHUNK
    assert len({line.index("2026-11-24 10:20") for line in lines}) == 1


@pytest.mark.slow
@given(st.lists(st.text("ab/é日", max_size=90), min_size=1, max_size=8), st.integers(60, 100))
def test_no_line_is_wider_than_the_terminal_and_every_url_is_whole(paths, width):
    records = pages(*(f"https://a.example/{path}" for path in paths))

    lines = printed(*records, columns=LISTED, width=width)

    assert all(cell_len(line) <= width for line in lines)
    assert first_column(lines) == "".join(page.url for page in records)


def test_urls_of_a_group_have_lines_of_their_own_and_its_digest_is_short():
    urls = tuple(f"https://{host}.example.com/{'part/' * 12}{name}" for host in ("a", "b") for name in NAMES)
    group = DuplicateGroup("content", f"blake3:{'0123456789abcdef' * 4}", 4, 1_000, urls)

    lines = printed(group, columns="value,pages,bytes,urls")

    assert lines[0].split()[0] == "0123456789ab"
    shown = [line.split()[-1] for line in lines]
    assert "".join(shown) == "".join(urls)
    assert [text[:15] for text in shown if text.startswith("https")] == [url[:15] for url in urls]


def test_several_urls_in_a_cell_have_a_line_each():
    urls = tuple(GUIDE + name for name in NAMES)

    lines = printed(RedirectChain(urls, 1, is_loop=False, end=200), columns="urls,length,end")

    assert [line.split()[0] for line in lines] == list(urls)
