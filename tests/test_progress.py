"""Progress bars: in a terminal, in a notebook, and where nobody looks."""

from __future__ import annotations

import gc
import io
import os
import pty
import subprocess
import sys
from types import SimpleNamespace

import pytest

import webtable
from webtable import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Make standard error a terminal, and return it: what was written to it. Not before the test, for pytest's sake."""
    monkeypatch.setattr(progress, "SECONDS_BETWEEN", 1e-9)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")

    def made():
        monkeypatch.setattr(sys, "stderr", Terminal())
        return sys.stderr

    return made


@pytest.fixture
def notebook(monkeypatch):
    """A notebook, as IPython shows things in one: what was displayed, one behind the other."""
    shown = []

    def display(line, *, display_id):
        shown.append(line)
        return SimpleNamespace(update=shown.append)

    ipython = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()), __path__=[])
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    monkeypatch.setattr(progress, "SECONDS_BETWEEN", 1e-9)
    return shown


def test_a_bar_shows_how_many_there_are_in_all_where_that_is_known(terminal):
    written = terminal()

    with webtable.progress.progress_bar("export", total=3_000) as told:
        told(1_000)

    assert "1,000 of 3,000 pages" in written.getvalue()


def test_in_a_terminal_a_bar_shows_how_many_there_are_and_goes_away(terminal):
    written = terminal()

    with webtable.progress.progress_bar("counting") as told:
        told(1_000)

    shown = written.getvalue()
    assert "counting" in shown
    assert shown.index("1,000 pages") < shown.rindex("\x1b[2K")  # the line is emptied at the end
    assert "pages" not in shown[shown.rindex("\x1b[2K") :]


@pytest.mark.slow
def test_a_bar_that_is_just_given_is_drawn_as_it_is_told_and_goes_with_the_question(terminal):
    written = terminal()

    def question(on_progress):
        on_progress(1_000)
        on_progress(2_000)
        return written.getvalue()

    during = question(webtable.progress.progress_bar("stats"))
    gc.collect()

    assert "1,000 pages" in during
    assert "2,000 pages" in during
    assert "\x1b[?25l" in during  # the cursor is hidden
    assert "\x1b[?25h" not in during
    assert "\x1b[?25h" in written.getvalue()


def test_a_bar_is_drawn_a_few_times_a_second_however_often_it_is_told(terminal, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN", 60)
    written = terminal()

    told = webtable.progress.progress_bar("stats")
    for so_far in range(10_000):
        told(so_far)
    drawn = written.getvalue().count("stats")
    told.close()

    assert 1 <= drawn <= 3


def test_in_a_pipe_nothing_is_shown(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())

    told = webtable.progress.progress_bar("stats")
    told(1_000)
    told.close()
    with webtable.progress.progress_bar() as again:
        again(5)

    assert sys.stderr.getvalue() == ""


def test_in_a_notebook_a_line_is_kept_up_to_date_and_stays_without_its_bar(notebook):
    with webtable.progress.progress_bar("<b>") as told:
        told(1)
        told(1_234)

    shown = [line._repr_html_() for line in notebook]
    assert "<progress></progress> &lt;b&gt;: 1 page" in shown
    assert "<progress></progress> &lt;b&gt;: 1,234 pages" in shown
    assert shown[-1] == "&lt;b&gt;: 1,234 pages"
    assert repr(notebook[-1]) == "<b>: 1,234 pages"


def test_a_question_that_fails_takes_the_bar_away(notebook):
    with pytest.raises(RuntimeError), webtable.progress.progress_bar("stats") as told:
        told(7)
        raise RuntimeError

    assert notebook[-1]._repr_html_() == "stats: 7 pages"


@pytest.mark.slow
def test_questions_take_a_bar_as_it_is(notebook):
    with webtable.open("memory:progress", create=True) as table:
        table.put(webtable.Page(url="https://a.example/", body=b"x", fetched_at=_now()))

        table.stats("a.example", on_progress=webtable.progress.progress_bar("stats"))
        table.maintenance.verify("a.example", on_progress=webtable.progress.progress_bar("verify"))

    gc.collect()
    assert [repr(line) for line in notebook if line.is_done] == ["stats: 1 page", "verify: 1 page"]


def _now():
    from datetime import UTC, datetime

    return datetime.now(UTC)


def test_a_terminal_has_its_cursor_again_after_an_error_that_ends_the_process():
    code = (
        "import webtable\n"
        "def question(on_progress):\n"
        "    on_progress(5)\n"
        "    raise SystemExit(3)\n"
        "question(webtable.progress.progress_bar('stats'))\n"
    )
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm"}
    )
    code = process.wait(60)
    shown = os.read(ours, 65_536).decode()
    os.close(ours)
    os.close(theirs)

    assert code == 3
    assert "5 pages" in shown
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")
