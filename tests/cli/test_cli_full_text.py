"""The commands of full text: `search-index …`, and `search --order relevance`."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from running import Run

import webtable
from webtable.errors import MissingExtra
from webtable.repository.full_text import upkeep


@pytest.fixture
def store() -> str:
    with webtable.open("webtable.db", create=True) as table, table.writer() as writer:
        for number in range(100):
            body = f"<title>Page {number}</title><p>salted keys {'and salt' * number}".encode()
            at = datetime(2026, 11, 20, tzinfo=UTC)
            writer.put(webtable.Page(url=f"https://example.com/{number:02}", body=body, fetched_at=at))
    return "webtable.db"


@pytest.mark.usefixtures("store")
def test_it_is_created_searched_and_dropped(run: Run) -> None:
    created = run("search-index", "create")
    searched = run("search", "salt* 7", "all", "--order", "relevance", "--limit", "3")
    state = run("search-index", "state")
    refused = run("search-index", "drop")
    dropped = run("search-index", "drop", "--yes")

    assert created.out == "full text created, with 100 pages\n"
    assert [cells[0] for cells in searched.cells][:1] == ["https://example.com/07"]
    assert state.out.startswith("main text, up to 65,536 characters of a page: ")
    assert refused.code != 0
    assert dropped.out == "full text dropped\n"
    assert run("search-index", "drop", "--yes").out == "the table has no full text\n"


@pytest.mark.usefixtures("store")
def test_without_full_text_the_command_that_creates_it_is_named(run: Run) -> None:
    searched = run("search", "salt", "all", "--order", "relevance")
    state = run("search-index", "state")

    assert "webtable search-index create" in searched.err
    assert searched.code != 0
    assert "webtable search-index create" in state.err


@pytest.mark.usefixtures("store")
def test_an_interrupted_creation_names_the_command_that_goes_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    documents_of, calls = upkeep.documents_of, []

    def interrupt(*given: object) -> object:
        calls.append(given)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return documents_of(*given)

    with monkeypatch.context() as patch:
        patch.setattr(upkeep, "documents_of", interrupt)
        created = run("search-index", "create")
    state, doctor, info = run("search-index", "state"), run("doctor"), run("info")
    assert 'webtable_full_text_ready{table="./webtable.db/pages"} 0.0' in run("metrics").out
    refreshed = run("search-index", "refresh")

    assert "to go on: webtable search-index refresh" in created.err
    assert "it is not complete" in state.err
    assert "webtable search-index refresh" in doctor.out
    assert "full text\tbuilding" in info.out
    assert refreshed.out == "36 pages compared: 36 written, 0 removed\n"
    assert "full text\tready" in run("info").out


@pytest.mark.usefixtures("store")
def test_settings_are_shown_and_wrong_ones_refused(run: Run) -> None:
    run("search-index", "create", "--all-text", "--stemming", "english", "--max-text", "1000")

    assert run("search-index", "state").out.startswith("all text, up to 1,000 characters of a page, stems of english: ")
    assert "'klingon' must be one of" in run("search-index", "create", "--stemming", "klingon").err


def test_what_else_a_table_has_is_shown_where_its_full_text_cannot_be_read(
    run: Run, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: object) -> None:
        raise MissingExtra("this needs tantivy")

    monkeypatch.setattr(upkeep, "state", fails)

    info, metrics = run("info"), run("metrics")

    assert "full text\tunusable\tthis needs tantivy" in info.out
    assert 'webtable_full_text_ready{table="./webtable.db/pages"} 0.0' in metrics.out
    assert 'webtable_up{table="./webtable.db/pages"} 1.0' in metrics.out
