"""Commands that load pages wait for a store that is away when they begin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from running import Run

import webtable
from manual_clock import ManualClock
from webtable import Page
from webtable.errors import StoreUnavailable
from webtable.store.sqlite import SQLiteStore

LOADING = {
    "ingest": ["ingest", "pages.jsonl"],
    "ingest, continued": ["ingest", "--resume", "pages.jsonl"],
    "ingest, by workers": ["ingest", "--workers", "2", "pages.jsonl"],
    "import": ["import", "exported"],
    "import, continued": ["import", "--resume", "exported"],
    "copy": ["copy", "s.db", "webtable.db"],
    "copy, tried": ["copy", "s.db", "webtable.db", "--dry-run"],
}


@pytest.fixture
def given(run: Run) -> None:
    """A file of pages, a table with one, and its export."""
    Path("pages.jsonl").write_text(json.dumps({"url": "https://a.example/", "body": "<p>a"}) + "\n")
    with webtable.open("s.db", create=True) as table:
        table.put(Page(url="https://a.example/", body=b"<p>a"))
    run("-s", "s.db", "export", "exported", "all")


@pytest.fixture
def away(given: None, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The store does not answer for as many attempts to open it as the list says."""
    opened, left = SQLiteStore.from_url.__func__, [3]  # type: ignore[attr-defined]

    def from_url(cls: type[SQLiteStore], *arguments: Any, **options: Any) -> SQLiteStore:
        if left[0]:
            left[0] -= 1
            raise StoreUnavailable("the gateway is down")
        return opened(cls, *arguments, **options)

    monkeypatch.setattr(SQLiteStore, "from_url", classmethod(from_url))
    return left


@pytest.mark.usefixtures("manual_clock")
@pytest.mark.parametrize("case", LOADING)
def test_a_store_that_is_away_at_the_beginning_is_waited_for(run: Run, away: list[int], case: str) -> None:
    done = run(*LOADING[case], "--wait", "10m")

    assert (done.code, away) == (0, [0])
    assert done.out.startswith("1 page")
    assert done.err.count("waiting up to 600 s for the store: the gateway is down") == 1
    assert done.err.count("the store answers again") == 1


@pytest.mark.parametrize("case", LOADING)
def test_it_is_not_waited_for_longer_than_was_said(
    run: Run, away: list[int], case: str, manual_clock: ManualClock
) -> None:
    away[0] = 10_000

    done = run(*LOADING[case], "--wait", "1m")

    assert done.code == 3
    doctor = "webtable -s s.db doctor" if "copy" in case else "webtable doctor"
    assert [line for line in done.errors if not line.startswith("waiting")] == [
        f"webtable: the gateway is down; to see what is wrong: {doctor}"
    ]
    assert 50 < manual_clock.passed <= 60


@pytest.mark.parametrize("case", LOADING)
def test_a_store_that_is_away_at_the_beginning_may_be_a_wrong_name(run: Run, away: list[int], case: str) -> None:
    assert run(*LOADING[case]).code == 3
    assert away == [2]


def test_a_question_does_not_wait(run: Run, away: list[int]) -> None:
    assert run("-s", "s.db", "pages").code == 3
    assert away == [2]
