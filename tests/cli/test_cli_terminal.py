"""Tables on a terminal of 80 columns."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys

import pytest
from rich.console import Console

import webtable
from webtable import Page
from webtable.cli.output import print_table, url_cell
from webtable.questions import PAGES

LONG = "https://example.com/a/very/long/directory/with/much/in/it/and/a/page-name.html?q=1&r=2"


def printed(*pages: Page, width: int = 80) -> str:
    out = io.StringIO()
    target = Console(file=out, width=width, force_terminal=True, color_system="standard", markup=False)
    columns = PAGES.chosen(["url", "status", "size", "title"])
    print_table(target, pages, columns, asked_for=False, to_width=True)
    return out.getvalue()


def test_each_line_of_a_url_leads_to_the_whole_of_it():
    shown = printed(Page(url=LONG, title="A title " * 10), Page(url="https://example.com/"))

    pieces = re.findall(rf";{re.escape(LONG)}\x1b\\([^\x1b]*)", shown)
    assert "".join(map(str.strip, pieces)) == LONG
    assert len(pieces) > 1


def test_a_url_that_has_room_is_not_cut():
    shown = printed(Page(url=LONG, title="Short"), width=200)

    assert f"\x1b\\{LONG}\x1b]8;;" in shown


@pytest.mark.parametrize("url", ["https://example.com/\x1b]8;;", "https://example.com/\u202e", "javascript:alert(1)"])
def test_what_is_no_plain_url_is_no_link(url):
    assert not url_cell(url).style


def in_a_terminal(*arguments: str) -> str:
    """Return what a terminal is sent."""
    mine, its = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "80"}
    command = [sys.executable, "-m", "webtable.cli", *arguments]
    done = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env=environment)
    os.close(its)
    shown = b""
    try:
        while piece := os.read(mine, 65_536):
            shown += piece
    except OSError:  # the end of a terminal on Linux
        pass
    os.close(mine)
    assert done.wait() == 0
    return shown.decode()


@pytest.fixture
def two_pages() -> None:
    with webtable.open("webtable.db", create=True) as table:
        for url in (LONG, "https://example.com/"):
            table.put(Page(url=url, body=b"<title>Some page</title>"))


@pytest.mark.usefixtures("two_pages")
@pytest.mark.parametrize("word", ["page", "zxcvbn"])
def test_a_search_shows_how_far_it_is_until_it_has_found_something(word):
    shown = in_a_terminal("search", word, "all")

    assert re.search(r"\d+ rows? read", shown)
    _, _, behind = shown.rpartition("read")
    assert ("Some page" in re.sub(r"\x1b\[[0-9;]*m", "", behind)) == (word == "page")
    assert ("no pages with 'zxcvbn'" in behind) == (word == "zxcvbn")
